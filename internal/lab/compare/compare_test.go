package compare

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sotto-llm/sotto/internal/lab/inputfiles"
)

// readLog adds a log of some text to a set.
func readLog(s *Set, name, text string, f Fields) error {
	fields, err := NewFields(f)
	if err != nil {
		return err
	}
	rows, err := Open(inputfiles.Input{Reader: strings.NewReader(text), Name: name}, inputfiles.Auto)
	if err != nil {
		return err
	}
	defer rows.Close()
	return s.Read(Log{Name: name, Source: rows}, fields)
}

func resultOf(t *testing.T, s *Set, o Options) *Result {
	t.Helper()
	r, err := s.Result(o)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestPublishedArms reproduces the order of the four arms that OpenAI published for
// grade-school problems: 286, 515, 458 and 742 of 1,319.
func TestPublishedArms(t *testing.T) {
	data := os.Getenv("SOTTO_DATA")
	if data == "" {
		t.Skip("SOTTO_DATA is not set")
	}
	text, err := os.ReadFile(filepath.Join(data, "gsm8k_openai.jsonl"))
	if err != nil {
		t.Skip(err)
	}
	s := new(Set)
	if err := readLog(s, "gsm8k.jsonl", string(text), Fields{Arm: "arm"}); err != nil {
		t.Fatal(err)
	}
	r := resultOf(t, s, Options{})
	got := map[string]string{}
	for _, x := range r.Rates {
		got[x.Arm] = fmt.Sprintf("%v of %d", x.Right, x.Problems)
	}
	for arm, want := range map[string]string{"6b_finetuning": "286 of 1319", "6b_verification": "515 of 1319", "175b_finetuning": "458 of 1319", "175b_verification": "742 of 1319"} {
		if got[arm] != want {
			t.Errorf("%s: %s, want %s", arm, got[arm], want)
		}
	}
	if len(r.Differences) != 6 {
		t.Fatalf("%d differences, want 6", len(r.Differences))
	}
	order := map[string]int{"6b_finetuning": 0, "175b_finetuning": 1, "6b_verification": 2, "175b_verification": 3}
	for _, d := range r.Differences {
		better := order[d.Arm] > order[d.Than]
		if (d.Mean > 0) != better || d.Problems != 1319 || d.Method != methodMcNemar || *d.Holm < *d.P || *d.Holm > 0.05 || (d.Interval.Low > 0) != better {
			t.Errorf("%+v", d)
		}
	}
}

// logs are rows of each kind of log, of which two problems of three are right, and one has no
// verdict.
var logs = map[string]string{
	"scored.jsonl": `{"v":1,"id":"1","candidate":"4","method":"m","span":null,"ok":true,"reason":"ok"}
{"v":1,"id":"2","candidate":"4","method":"m","span":null,"ok":false,"reason":"wrong"}
{"v":1,"id":"3","candidate":"4","method":"m","span":null,"ok":true,"reason":"ok"}
{"v":1,"line":4,"error":"not JSON"}`,
	"stream.jsonl": `{"v":1,"type":"run","run":"r","task":"t","mode":"cot","model":"m"}
{"v":1,"type":"problem","n":1,"id":"1","solved":true}
{"v":1,"type":"problem","n":2,"id":"2","solved":false}
{"v":1,"type":"problem","n":3,"id":"3","solved":true}
{"v":1,"type":"problem","n":4,"id":"4","solved":null}`,
	"inspect.json": `{
  "version": 2, "status": "success",
  "samples": [
    {"id": 1, "epoch": 1, "target": "4", "output": {"choices": []}, "scores": {"match": {"value": "C", "answer": "4"}}},
    {"id": 2, "epoch": 1, "target": "4", "output": {"choices": []}, "scores": {"match": {"value": "I", "answer": "5"}}},
    {"id": 3, "epoch": 1, "target": "4", "output": {"choices": []}, "scores": {"match": {"value": "C"}}},
    {"id": 4, "epoch": 1, "target": "4", "output": {"choices": []}, "error": {"message": "timeout"}}
  ]
}`,
	"samples_gsm8k_2026-11-29T10-00-00.000000.jsonl": `{"doc_id":1,"filter":"strict-match","resps":[["4"]],"exact_match":1.0,"metrics":["exact_match"]}
{"doc_id":1,"filter":"flexible-extract","resps":[["4"]],"exact_match":0.0,"metrics":["exact_match"]}
{"doc_id":2,"filter":"strict-match","resps":[["4"]],"exact_match":0.0,"metrics":["exact_match"]}
{"doc_id":3,"filter":"strict-match","resps":[["4"]],"exact_match":1.0}
{"doc_id":4,"filter":"strict-match","resps":[["4"]],"exact_match":null}`,
	"per_instance_stats.json": `[{"instance_id":"id1","stats":[{"name":{"name":"num_tokens","split":"test"},"mean":7},{"name":{"name":"exact_match","split":"test"},"mean":1.0}]},
{"instance_id":"id2","stats":[{"name":{"name":"exact_match"},"mean":0.0}]},{"instance_id":"id3","stats":[{"name":{"name":"exact_match"},"mean":1.0}]},
{"instance_id":"id4","error":"no reply"}]`,
	"display_predictions.json": `[{"instance_id":"id1","predicted_text":"4","stats":{"num_tokens":7,"exact_match":1.0}},
{"instance_id":"id2","stats":{"exact_match":0}},{"instance_id":"id3","stats":{"exact_match":1}},{"instance_id":"id4","error":"no reply"}]`,
	"zeroeval.json": `[{"session_id":"1","chat_history":["q"],"output":["4"],"matched":true},{"session_id":"2","output":["5"],"matched":false},
{"session_id":"3","output":["4"],"matched":true},{"session_id":"4","output":[],"matched":null}]`,
	"evals.jsonl": `{"spec":{"completion_fns":["gpt-4"],"eval_name":"e","base_eval":"b"}}
{"run_id":"r","event_id":0,"sample_id":"e.dev.1","type":"sampling","data":{"prompt":[],"sampled":["4"]}}
{"run_id":"r","event_id":1,"sample_id":"e.dev.1","type":"match","data":{"correct":true,"expected":"4"}}
{"run_id":"r","event_id":2,"sample_id":"e.dev.2","type":"match","data":{"correct":false,"expected":"4"}}
{"run_id":"r","event_id":3,"sample_id":"e.dev.3","type":"match","data":{"correct":true,"expected":"4"}}
{"run_id":"r","event_id":4,"sample_id":"e.dev.4","type":"match","error":"rate limit"}
{"final_report":{"accuracy":0.5}}`,
	"table.csv": "id,correct,error\n1,yes,\n2,no,\n3,1,\n",
}

// TestLogs reads each kind of log.
func TestLogs(t *testing.T) {
	for name, text := range logs {
		s := new(Set)
		if err := readLog(s, "folder/"+name, text, Fields{}); err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		x := resultOf(t, s, Options{}).Rates[0]
		failed := 1
		if name == "table.csv" {
			failed = 0
		}
		if x.Right != 2 || x.Problems != 3 || x.Failed != failed {
			t.Errorf("%s: %+v", name, x)
		}
		if strings.HasPrefix(name, "samples_") && (x.Arm != "folder" || x.Task != "gsm8k") {
			t.Errorf("%s: arm %q, task %q", name, x.Arm, x.Task)
		}
	}
}

// TestRefused says what is missing.
func TestRefused(t *testing.T) {
	for text, want := range map[string]string{
		`{"id":1,"raw":"4"}`: "no verdict", `{"id":1,"ok":"maybe"}`: "not a verdict", `{"id":1,"score":7}`: "not a verdict", `not JSON`: "row 1",
		``: "no row",
		`{"epoch":1,"scores":{"a":{"value":"C"},"b":{"value":"I"}}}`: "--metric",
		strings.Repeat("[", 100_000):                                 "",
	} {
		err := readLog(new(Set), "x.jsonl", text, Fields{})
		if err == nil || !strings.Contains(err.Error()+hintOf(err), want) {
			t.Errorf("%.40q: %v, want %q", text, err, want)
		}
	}
}

// TestEpochs: epochs of Inspect are replies to one problem.
func TestEpochs(t *testing.T) {
	var text strings.Builder
	for i := range 20 {
		for epoch := range 5 {
			value := "I"
			if epoch < i%6 {
				value = "C"
			}
			fmt.Fprintf(&text, `{"id":%d,"epoch":%d,"target":"x","output":{},"scores":{"m":{"value":%q}}}`+"\n", i, epoch+1, value)
		}
	}
	s := new(Set)
	if err := readLog(s, "a.jsonl", text.String(), Fields{}); err != nil {
		t.Fatal(err)
	}
	x := resultOf(t, s, Options{}).Rates[0]
	if x.Problems != 20 || x.Replies != 100 || len(x.AtK) != 2 || x.Clusters != 20 {
		t.Fatalf("%+v", x)
	}
	// Three problems have five of five right, four have none: pass^5 and pass@5.
	if at := x.AtK[1]; at.K != 5 || at.All.Rate != 3.0/20 || at.Pass.Rate != 16.0/20 {
		t.Errorf("%+v", at)
	}
}

// pairOf compares two arms with these scores, with clusters of so many problems.
func pairOf(t *testing.T, a, b []float64, cluster int, o Options) Difference {
	t.Helper()
	s := new(Set)
	for i := range a {
		c := ""
		if cluster > 1 {
			c = fmt.Sprint(i / cluster)
		}
		for arm, score := range map[string]float64{"a": a[i], "b": b[i]} {
			if err := s.Add(Verdict{Arm: arm, Problem: fmt.Sprint(i), Cluster: c, Score: score}); err != nil {
				t.Fatal(err)
			}
		}
	}
	o.Baseline = "b"
	return resultOf(t, s, o).Differences[0]
}

// TestClusteredCovers counts how often the interval of a difference holds the true one, where
// the problems of a cluster are alike.
func TestClusteredCovers(t *testing.T) {
	r := rand.New(rand.NewPCG(21, 22))
	// The mean of min(1, 1.5x) - x for x from 0.2 to 0.8.
	const truth = 0.5*0.5 - 0.75*(0.8-2.0/3)*(0.8-2.0/3)/0.6
	held, small := 0, 0
	const trials = 600
	for range trials {
		var a, b []float64
		for range 15 {
			easier := 0.2 + 0.6*r.Float64()
			for range 8 {
				draw := func(p float64) float64 {
					if r.Float64() < p {
						return 1
					}
					return 0
				}
				a, b = append(a, draw(min(1, 1.5*easier))), append(b, draw(easier)) // arms differ more where problems are easier
			}
		}
		d := pairOf(t, a, b, 8, Options{})
		if d.Interval.Low <= truth && truth <= d.Interval.High {
			held++
		}
		if *d.P < 0.05 {
			small++
		}
	}
	if share := float64(held) / trials; share < 0.92 || share > 0.98 {
		t.Errorf("%.3f of the intervals hold the difference, want about 0.95", share)
	}
	if small < trials*9/10 {
		t.Errorf("%d of %d differences are found", small, trials)
	}
}

// TestPower: with as many problems as are needed, about 80 % of comparisons tell the
// difference.
func TestPower(t *testing.T) {
	r := rand.New(rand.NewPCG(23, 24))
	draw := func(n int) (a, b []float64) {
		for range n {
			x, y := 0.0, 0.0
			switch u := r.Float64(); {
			case u < 0.17:
				x = 1
			case u < 0.22:
				y = 1
			case u < 0.6:
				x, y = 1, 1
			}
			a, b = append(a, x), append(b, y)
		}
		return a, b
	}
	a, b := draw(20_000)
	needed := *pairOf(t, a, b, 1, Options{Points: 0.12}).Needed
	found := 0
	const trials = 400
	for range trials {
		a, b := draw(needed)
		if d := pairOf(t, a, b, 1, Options{Points: 0.12}); *d.P < 0.05 {
			found++
		}
	}
	if share := float64(found) / trials; share < 0.70 || share > 0.88 {
		t.Errorf("with %d problems, %.2f of comparisons find the difference, want about 0.8", needed, share)
	}
}

// TestKappa has Cohen's example of 1960 (kappa 0.4 of 70 % agreement), and weights computed
// by hand.
func TestKappa(t *testing.T) {
	judge := func(counts map[[2]string]int, w Weights) Agreement {
		s, n := new(Set), 0
		for pair, times := range counts {
			for range times {
				n++
				for i, arm := range []string{"people", "judge"} {
					if err := s.Add(Verdict{Arm: arm, Problem: fmt.Sprint(n), Score: math.NaN(), Label: pair[i]}); err != nil {
						t.Fatal(err)
					}
				}
			}
		}
		r := resultOf(t, s, Options{Agreement: w})
		if len(r.Rates)+len(r.Differences) > 0 {
			t.Error("labels that are no scores have rates")
		}
		return r.Agreement[0]
	}
	x := judge(map[[2]string]int{{"yes", "yes"}: 20, {"yes", "no"}: 5, {"no", "yes"}: 10, {"no", "no"}: 15}, Nominal)
	if math.Abs(*x.Kappa-0.4) > 1e-12 || x.Same.Rate != 0.7 || x.Interval.Low > 0.16 || x.Interval.Low < 0.12 || x.Interval.High < 0.64 || x.Interval.High > 0.68 {
		t.Errorf("%+v %v %v", x, *x.Kappa, *x.Interval)
	}
	grades := map[[2]string]int{{"1", "1"}: 4, {"1", "2"}: 2, {"2", "2"}: 3, {"3", "1"}: 1, {"3", "3"}: 5, {"2", "3"}: 1}
	for w, want := range map[Weights]float64{Nominal: 1 - 4.0/16/(170.0/256), Linear: 1 - 5.0/16/(236.0/256), Quadratic: 1 - 7.0/16/(368.0/256)} {
		if x := judge(grades, w); math.Abs(*x.Kappa-want) > 1e-12 {
			t.Errorf("%s: %v, want %v", w, *x.Kappa, want)
		}
	}
	if x := judge(map[[2]string]int{{"yes", "yes"}: 9}, Nominal); x.Kappa != nil || x.Same.Rate != 1 {
		t.Errorf("%+v", x)
	}
}

// TestJudges reads the verdicts of several judges in one row.
func TestJudges(t *testing.T) {
	s := new(Set)
	text := "id,judge,people\n1,3,3\n2,5,4\n3,1,1\n4,2,\n"
	if err := readLog(s, "x.csv", text, Fields{Verdicts: []string{"judge", "people"}}); err != nil {
		t.Fatal(err)
	}
	r := resultOf(t, s, Options{Agreement: Quadratic})
	if !slices.Equal(r.Arms, []string{"judge", "people"}) || r.Agreement[0].Replies != 3 || *r.Agreement[0].Kappa < 0.8 {
		t.Errorf("%+v", r)
	}
}

// TestAllTasks adds tasks up, and corrects within each.
func TestAllTasks(t *testing.T) {
	s := new(Set)
	for i := range 40 {
		for arm, score := range map[string]float64{"a": 1, "b": float64(i % 2), "c": 0} {
			if err := s.Add(Verdict{Arm: arm, Task: fmt.Sprint("t", i%2), Problem: fmt.Sprint(i / 2), Score: score}); err != nil {
				t.Fatal(err)
			}
		}
	}
	r := resultOf(t, s, Options{Baseline: "c"})
	if len(r.Rates) != 9 || len(r.Differences) != 6 || !slices.Contains(r.Tasks, AllTasks) {
		t.Fatalf("%+v", r)
	}
	for _, d := range r.Differences {
		if d.Task == AllTasks && (d.Problems != 40 || *d.Holm < *d.P) || d.Task != AllTasks && d.Problems != 20 {
			t.Errorf("%+v", d)
		}
	}
	if _, err := s.Result(Options{Baseline: "d"}); err == nil {
		t.Error("an arm that is not there is a baseline")
	}
}

// TestPageEscapes: names are text on the page.
func TestPageEscapes(t *testing.T) {
	s := new(Set)
	for _, arm := range []string{`<script>alert(1)</script>`, "b"} {
		for i := range 3 {
			if err := s.Add(Verdict{Arm: arm, Problem: fmt.Sprint(i), Score: 1}); err != nil {
				t.Fatal(err)
			}
		}
	}
	page, err := resultOf(t, s, Options{Agreement: Nominal}).Page()
	if err != nil || strings.Contains(string(page), "<script") || !strings.Contains(string(page), "&lt;script&gt;") {
		t.Errorf("%v\n%s", err, page)
	}
}

func hintOf(err error) string {
	var hinted interface{ Hint() string }
	if errors.As(err, &hinted) {
		return hinted.Hint()
	}
	return ""
}
