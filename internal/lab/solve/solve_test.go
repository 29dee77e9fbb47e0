package solve_test

import (
	"bytes"
	"context"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/answer"
	"github.com/sotto-llm/sotto/internal/data/prices"
	"github.com/sotto-llm/sotto/internal/lab/metagraph"
	"github.com/sotto-llm/sotto/internal/lab/solve"
	"github.com/sotto-llm/sotto/model"
	"github.com/sotto-llm/sotto/record"
)

var game24 = solve.TaskOf(answer.Game24)

func each(problems []solve.Problem) func(func(solve.Problem, error) bool) {
	return func(yield func(solve.Problem, error) bool) {
		for _, p := range problems {
			if !yield(p, nil) {
				return
			}
		}
	}
}

func memory(t testing.TB) *metagraph.Graph {
	t.Helper()
	g, err := metagraph.Open(filepath.Join(t.TempDir(), "memory.db"), metagraph.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { g.Close() })
	return g
}

func solver(t testing.TB, o solve.Options) *solve.Solver {
	t.Helper()
	s, err := solve.New(o)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// stream returns the results of a stream, and its error.
func stream(s *solve.Solver, problems []solve.Problem, done []solve.Result, b solve.Budget) (results []solve.Result, err error) {
	err = s.Stream(context.Background(), each(problems), done, b, func(r solve.Result) error {
		results = append(results, r)
		return nil
	})
	return results, err
}

// A listener notes the requests to a model.
type listener struct {
	model.Model
	asked []model.Request
}

func (l *listener) Invoke(ctx context.Context, q model.Request, on func(model.Delta) error) (model.Reply, error) {
	l.asked = append(l.asked, q)
	return l.Model.Invoke(ctx, q, on)
}

func script(t testing.TB, text string) *listener {
	t.Helper()
	s, err := model.ReadScript(strings.NewReader(text), "test.yaml")
	if err != nil {
		t.Fatal(err)
	}
	return &listener{Model: model.NewScripted("written", s)}
}

func prompts(l *listener) string {
	var b strings.Builder
	for i, q := range l.asked {
		for _, m := range q.Messages {
			fmt.Fprintf(&b, "%d %s: %s\n", i+1, m.Role, m.Text)
		}
	}
	return b.String()
}

const wrongThenRight = `
- when: {call: 1}
  text: "<think>SECRET: it may be 3*8, leave the ones.</think>I say <answer>3*8</answer>"
- when: {call: 2}
  text: "<think>SECRET again</think><answer>3*8*1*1</answer>"
`

// A retry contains the answer and why it is wrong, and no reasoning. Memory gets no
// reasoning either. Everything is in the record.
func TestRetry(t *testing.T) {
	ctx := context.Background()
	dir := filepath.Join(t.TempDir(), "audit")
	w, err := record.Open(dir, record.Options{})
	if err != nil {
		t.Fatal(err)
	}
	m, g := script(t, wrongThenRight), memory(t)
	s := solver(t, solve.Options{Task: game24, Mode: solve.Graph, Model: m, Memory: g, Record: w, Run: "run-1", Temperatures: []float64{0, 0.7}})
	results, err := stream(s, []solve.Problem{{ID: "a", Problem: answer.Problem{Input: "8 1 3 1"}}}, nil, solve.Budget{})
	if err != nil || len(results) != 1 {
		t.Fatal(results, err)
	}
	r := results[0]
	if !r.Solved || len(r.Attempts) != 2 || r.Attempts[0].Reason != "wrong_numbers" || r.Candidate != "3*8*1*1" || !r.Memory.NewTrace || !r.Memory.NewTemplate {
		t.Errorf("%+v", r)
	}
	text := prompts(m)
	if strings.Contains(text, "SECRET") {
		t.Errorf("reasoning went into a prompt:\n%s", text)
	}
	for _, want := range []string{"2 assistant: I say ", "2 user: The answer 3*8 is wrong: it does not use exactly what was given (3 8)", "Make 24 of the numbers 1 1 3 8", "1 system: Work the problem out step by step"} {
		if !strings.Contains(text, want) {
			t.Errorf("no prompt has %q:\n%s", want, text)
		}
	}
	if t0, t1 := *m.asked[0].Temperature, *m.asked[1].Temperature; t0 != 0 || t1 != 0.7 {
		t.Errorf("temperatures %v, %v", t0, t1)
	}
	var b bytes.Buffer
	if err := g.Export(ctx, &b); err != nil || strings.Contains(b.String(), "SECRET") {
		t.Errorf("%v: memory holds reasoning:\n%s", err, b.String())
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	checkRecord(t, dir, r)
}

// checkRecord looks for the events of wrongThenRight.
func checkRecord(t *testing.T, dir string, r solve.Result) {
	reader, err := record.OpenReader(dir, record.ReadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var types []string
	replies := map[uint64]record.Digest{}
	var used record.Usage
	for e, err := range reader.Events(record.Query{Run: "run-1", NoCheckpoints: true}) {
		if err != nil {
			t.Fatal(err)
		}
		types = append(types, string(e.Type))
		switch p := e.Payload.(type) {
		case record.Invocation:
			replies[e.Seq] = p.Replies[0].Digest
			used.Input, used.Output, used.Estimated = used.Input+p.Usage.Input, used.Output+p.Usage.Output, p.Usage.Estimated
			if !strings.HasPrefix(string(p.Replies[0].Raw.Text), "<think>SECRET") || e.Cycle != 1 {
				t.Errorf("the record has %q in cycle %d", p.Replies[0].Raw.Text, e.Cycle)
			}
		case record.Extraction:
			if replies[p.Of.Seq] != p.Of.Digest || p.Verdict == nil {
				t.Errorf("%+v", p)
			}
		case record.CycleEnd:
			if p.Of == nil || replies[p.Of.Seq] != p.Of.Digest || len(replies) != 2 {
				t.Errorf("the end of the cycle refers to %+v", p.Of)
			}
		case record.Memory:
			if !p.Solved || p.Of == nil || !p.Template.New || p.Query.Text != "Solve 24 with 1 1 3 8" || p.Traces != 1 {
				t.Errorf("%+v", p)
			}
		}
	}
	if want := (record.Usage{Input: r.Input, Output: r.Output, Estimated: true}); used != want || !r.Estimated {
		t.Errorf("the record has the tokens %+v, the result %+v", used, want)
	}
	want := "RUN_START CYCLE_START LLM_INVOCATION EXTRACTION LLM_INVOCATION EXTRACTION MEMORY CYCLE_END RUN_END"
	if got := strings.Join(types, " "); got != want {
		t.Errorf("events %s, want %s", got, want)
	}
}

// No prompt contains the right answer, whatever the candidate.
func TestGoldIsNotTold(t *testing.T) {
	m := script(t, `[{text: "<answer>71</answer>"}]`)
	task, err := solve.TaskNamed("mgsm")
	if err != nil {
		t.Fatal(err)
	}
	s := solver(t, solve.Options{Task: task, Mode: solve.CoT, Model: m})
	results, err := stream(s, []solve.Problem{{ID: "1", Problem: answer.Problem{Input: "How many?", Gold: "98765"}}}, nil, solve.Budget{})
	if err != nil || results[0].Solved || len(results[0].Attempts) != 3 || results[0].Reason != "different" {
		t.Fatalf("%+v, %v", results, err)
	}
	if text := prompts(m); strings.Contains(text, "98765") || !strings.Contains(text, "The answer 71 is wrong") {
		t.Errorf("prompts:\n%s", text)
	}
}

// What the modes read, write and put into prompts.
func TestModes(t *testing.T) {
	g := memory(t)
	first := []solve.Problem{{ID: "1", Problem: answer.Problem{Input: "3 5 8 11"}}}
	like := []solve.Problem{{ID: "2", Problem: answer.Problem{Input: "1 4 7 9"}}, {ID: "3", Problem: answer.Problem{Input: "3 5 8 12"}}}
	right := `
- when: {user: "3 5 8 11\\. Use"}
  text: "<answer>(8-5)*(11-3)</answer>"
- text: "<answer>1</answer>"
`
	teach := solver(t, solve.Options{Task: game24, Mode: solve.Graph, Model: script(t, right), Memory: g})
	if r, err := stream(teach, first, nil, solve.Budget{}); err != nil || !r[0].Solved {
		t.Fatal(r, err)
	}
	for _, tt := range []struct {
		mode    solve.Mode
		hits    [2]string
		asks    int
		example bool
	}{
		{solve.IO, [2]string{}, 2, false}, {solve.CoT, [2]string{}, 2, false},
		{solve.BoT, [2]string{"", solve.HitPaths}, 2, true},
		{solve.Graph, [2]string{"", solve.HitPaths}, 2, true}, {solve.Template, [2]string{solve.HitTemplate, solve.HitPaths}, 1, true}} {
		m := script(t, right)
		o := solve.Options{Task: game24, Mode: tt.mode, Model: m, Temperatures: []float64{0}, Floor: 0.5}
		if tt.mode.Remembers() {
			o.Memory = g
		}
		s := solver(t, o)
		r, err := stream(s, like, nil, solve.Budget{})
		if err != nil || r[0].Hit != tt.hits[0] || r[1].Hit != tt.hits[1] || len(m.asked) != tt.asks {
			t.Errorf("%s: %+v, %v, %d calls", tt.mode, r, err, len(m.asked))
		}
		text := prompts(m)
		if strings.Contains(text, "Template: (d-a)*(c-b)\nTask: Game24\nInput: 3 5 8 11\nSolution: (8-5)*(11-3)\n") != tt.example {
			t.Errorf("%s: prompts:\n%s", tt.mode, text)
		}
		if strings.Contains(text, "step by step") == (tt.mode == solve.IO) {
			t.Errorf("%s: prompts:\n%s", tt.mode, text)
		}
		if tt.mode == solve.Template && (!r[0].Solved || r[0].Candidate != "(9-1)*(7-4)" || r[0].Input != 0 || r[0].Memory == nil) {
			t.Errorf("%+v", r[0])
		}
		if (r[0].Memory == nil) != (tt.mode == solve.IO || tt.mode == solve.CoT) {
			t.Errorf("%s wrote to memory, or did not", tt.mode)
		}
	}
}

// A stream that is cut short anywhere and resumed gives the same results as one
// that is not, and so does memory.
func TestResume(t *testing.T) {
	problems := solve.Games(3)[:40]
	run := func(g *metagraph.Graph) *solve.Solver {
		return solver(t, solve.Options{Task: game24, Mode: solve.Template, Model: solve.Scripted{Task: game24}, Memory: g, Run: "one"})
	}
	straight := memory(t)
	want, err := stream(run(straight), problems, nil, solve.Budget{})
	if err != nil {
		t.Fatal(err)
	}
	r := rand.New(rand.NewPCG(1, 1))
	for range 5 {
		g := memory(t)
		var got []solve.Result
		for len(got) < len(problems) {
			stop, lose := r.IntN(8), r.IntN(2) == 0
			err := run(g).Stream(context.Background(), each(problems), got, solve.Budget{}, func(x solve.Result) error {
				if stop--; stop < 0 {
					if !lose { // otherwise it was learned, and the line is lost
						got = append(got, x)
					}
					return errKilled
				}
				got = append(got, x)
				return nil
			})
			if err != nil && !errors.Is(err, errKilled) {
				t.Fatal(err)
			}
		}
		if !reflect.DeepEqual(timeless(got), timeless(want)) {
			t.Errorf("cut short: %+v\nin one go: %+v", timeless(got), timeless(want))
		}
		a, _ := straight.Nodes(context.Background(), "")
		b, _ := g.Nodes(context.Background(), "")
		if len(a) != len(b) {
			t.Fatalf("%d nodes, want %d", len(b), len(a))
		}
		for i := range a {
			if a[i].Ref != b[i].Ref || a[i].Seen != b[i].Seen || a[i].Used != b[i].Used || a[i].Solved != b[i].Solved {
				t.Errorf("%+v, want %+v", b[i], a[i])
			}
		}
	}
}

var errKilled = errors.New("killed")

// timeless returns results without the values that come from a clock.
func timeless(results []solve.Result) []string {
	var list []string
	for _, r := range results {
		r.Millis, r.ModelMillis = 0, 0
		tries := append([]solve.Try(nil), r.Attempts...)
		for i := range tries {
			tries[i].Millis = 0
		}
		r.Attempts = tries
		line, _ := r.Line()
		var fields map[string]any
		json.Unmarshal(line, &fields)
		text, _ := json.Marshal(fields)
		list = append(list, string(text))
	}
	return list
}

// A budget ends the stream with the call that crosses it. What was spent before
// counts.
func TestBudgets(t *testing.T) {
	problems := solve.Games(5)[:30]
	price := &prices.Price{Input: 1e6, Output: 2e6} // per token: 1 and 2
	o := solve.Options{Task: game24, Mode: solve.CoT, Model: solve.Scripted{Task: game24}, Price: price}
	all, err := stream(solver(t, o), problems, nil, solve.Budget{})
	if err != nil || len(all) != 30 || !all[0].Priced || all[0].Cost != float64(all[0].Input+2*all[0].Output) {
		t.Fatal(len(all), err)
	}
	tokens := func(list []solve.Result) (n int64) {
		for _, r := range list {
			n += r.Input + r.Output
		}
		return n
	}
	for _, b := range []solve.Budget{{Tokens: 3000}, {Money: 4000}, {Time: time.Nanosecond}} {
		got, err := stream(solver(t, o), problems, nil, b)
		var spent *solve.BudgetError
		if !errors.As(err, &spent) || spent.Finished != len(got) || len(got) >= 30 {
			t.Fatalf("%+v: %d results, %v", b, len(got), err)
		}
		if b.Tokens > 0 && (tokens(got[:len(got)-1]) >= b.Tokens || tokens(all[:len(got)+1]) < b.Tokens) {
			t.Errorf("%d tokens of %d", tokens(got), b.Tokens)
		}
		// After a resume it is still spent.
		if more, err := stream(solver(t, o), problems, all[:20], b); !errors.As(err, &spent) || len(more) != 0 {
			t.Errorf("%+v: %d more, %v", b, len(more), err)
		}
	}
	if got, err := stream(solver(t, o), problems, all[:2], solve.Budget{Problems: 5}); err != nil || len(got) != 3 {
		t.Errorf("%d results, %v", len(got), err)
	}
	o.Price = nil
	if _, err := stream(solver(t, o), problems, nil, solve.Budget{Money: 1}); err == nil {
		t.Error("a budget of money without a price")
	}
}

// A problem fails if it takes too long, or if the model refuses it. A model that
// cannot be reached ends the stream, and leaves the problem to the next run.
func TestModelFails(t *testing.T) {
	problems := solve.Games(5)[:3]
	run := func(text string, timeout time.Duration) ([]solve.Result, error) {
		return stream(solver(t, solve.Options{Task: game24, Mode: solve.CoT, Model: script(t, text), Timeout: timeout}), problems, nil, solve.Budget{})
	}
	for _, tt := range []struct {
		script, reason string
		timeout        time.Duration
	}{
		{`[{text: "Answer: 1", wait: 1h}]`, "timeout", 20 * time.Millisecond},
		{`[{text: "too long", error: {status: 400, message: too long}}]`, "model_error", 0},
		{`[{text: "<think>x", error: {kind: broken_off}}]`, "model_error", 0},
	} {
		got, err := run(tt.script, tt.timeout)
		if err != nil || len(got) != 3 || got[2].Reason != tt.reason || got[2].Solved {
			t.Errorf("%s: %+v, %v", tt.script, got, err)
		}
	}
	for _, text := range []string{`[{text: "x", error: {status: 503}}]`, `[{text: "x", error: {status: 401}}]`} {
		got, err := run(text, 0)
		var e *model.Error
		if !errors.As(err, &e) || len(got) != 0 {
			t.Errorf("%s: %+v, %v", text, got, err)
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	s := solver(t, solve.Options{Task: game24, Model: script(t, `[{text: x}]`)})
	if err := s.Stream(ctx, each(problems), nil, solve.Budget{}, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
}

// Each logged reply goes to the problem it belongs to, in order.
func TestRecorded(t *testing.T) {
	build := func() *solve.Recorded {
		m := solve.NewRecorded("log", game24)
		for i, raw := range []string{"Answer: 1+1", "Answer: 3*8*1*1", "Answer: 8*3*1*1"} {
			m.Add(solve.Problem{ID: fmt.Sprint("log-", i), Problem: answer.Problem{Input: "1 1 3 8"}}, raw, sotto.EndStopped)
		}
		return m
	}
	one := func(m solve.Replier, id string, attempts int, done ...solve.Result) solve.Result {
		s := solver(t, solve.Options{Task: game24, Model: m, Temperatures: make([]float64, attempts)})
		got, err := stream(s, []solve.Problem{{ID: "x", Problem: answer.Problem{Input: "8 3 1 1"}}, {ID: id, Problem: answer.Problem{Input: "8 1 3 1"}}}, done, solve.Budget{})
		if err != nil {
			t.Fatal(err)
		}
		return got[len(got)-1]
	}
	if r := one(build(), "y", 1); r.Candidate != "3*8*1*1" {
		t.Errorf("the second problem got %q", r.Candidate)
	}
	if r := one(build(), "log-0", 1); r.Candidate != "1+1" {
		t.Errorf("its own reply is not %q", r.Candidate)
	}
	if r := one(build(), "y", 3); r.Candidate != "8*3*1*1" || len(r.Attempts) != 1 {
		t.Errorf("after a retry: %+v", r)
	}
	skipped := solve.Result{ID: "x", Attempts: make([]solve.Try, 2)}
	if r := one(build(), "y", 1, skipped); r.Candidate != "8*3*1*1" {
		t.Errorf("gone on with: %+v", r)
	}
	if r := one(solve.NewRecorded("empty", game24), "y", 2); r.Solved || r.Reason != "no_reply" || len(r.Attempts) != 0 || r.Input != 0 {
		t.Errorf("no reply: %+v", r)
	}
	// If the log ends within a problem, its last verdict stands.
	if r := one(build(), "log-0", 3); r.Reason != string(answer.WrongNumbers) || r.Candidate != "1+1" || len(r.Attempts) != 1 {
		t.Errorf("the log ends: %+v", r)
	}
}

// With an audit, wrong answers that a weak validator accepts are counted.
func TestContamination(t *testing.T) {
	s := solver(t, solve.Options{Task: weak{answer.Game24}, Mode: solve.Graph, Model: script(t, `[{text: "Answer: 4*6"}]`), Memory: memory(t), Audit: answer.Game24})
	got, err := stream(s, solve.Games(5)[:10], nil, solve.Budget{})
	if err != nil || !got[0].Wrong || !got[0].Solved {
		t.Fatal(got, err)
	}
	if row := solve.Summarise(got).Rows[0]; row.Wrong != 10 || row.Solved != 10 {
		t.Errorf("%+v", row)
	}
}

// weak lets everything pass, and is a task that the user defines.
type weak struct{ answer.Task }

func (weak) Ask(p answer.Problem) string { return p.Input }
func (weak) Validate(string, answer.Problem) answer.Verdict {
	return answer.Verdict{OK: true, Reason: answer.ReasonOK}
}

func TestWordSort(t *testing.T) {
	p := answer.Problem{Input: "Sort these words: pear Apple fig, fig"}
	for candidate, want := range map[string]answer.Reason{
		"apple fig fig pear": answer.ReasonOK, "Apple, fig, fig, pear.": answer.ReasonOK, "**apple fig fig pear**": answer.ReasonOK,
		"apple fig pear": answer.WrongNumbers, "apple fig fig fig pear": answer.WrongNumbers, "fig apple fig pear": answer.Different, "": answer.Empty,
	} {
		if v := answer.WordSort.Validate(answer.WordSort.Normalise(candidate), p); v.Reason != want {
			t.Errorf("%q: %s, want %s", candidate, v.Reason, want)
		}
	}
	a, trace := answer.WordSort.Distil(p, "apple fig fig pear")
	b, _ := answer.WordSort.Distil(answer.Problem{Input: "fig fig apple pear"}, "")
	if a != b || trace == "" {
		t.Errorf("queries %q and %q, trace %q", a, b, trace)
	}
	problems := []solve.Problem{{ID: "1", Problem: p}, {ID: "2", Problem: answer.Problem{Input: "Sort: b a c"}}}
	s := solver(t, solve.Options{Task: solve.TaskOf(answer.WordSort), Mode: solve.Graph, Model: solve.Scripted{Task: solve.TaskOf(answer.WordSort)}, Memory: memory(t), Temperatures: make([]float64, 12)})
	got, err := stream(s, problems, nil, solve.Budget{})
	if err != nil || !got[0].Solved || !got[1].Solved {
		t.Errorf("%+v, %v", got, err)
	}
}

// Each problem that comes with the package has a right answer that its task accepts, and
// no other problem of the task has its query.
func TestShipped(t *testing.T) {
	for _, name := range []string{"game24", "mgsm", "wordsort", "checkmate"} {
		task, err := solve.TaskNamed(name)
		if err != nil {
			t.Fatal(err)
		}
		problems := solve.Shipped(name, 0)
		if len(problems) < 20 {
			t.Errorf("%s has %d problems", name, len(problems))
		}
		seen := map[string]bool{}
		for _, p := range problems {
			query := metagraph.Query(task, p.Problem)
			if v := task.Validate(task.Normalise(p.Gold), p.Problem); name != "game24" && !v.OK || seen[query] || query == "" {
				t.Errorf("%s %s: %+v, query %q", name, p.ID, v, query)
			}
			seen[query] = true
		}
	}
	if list := solve.Shipped("../problems/mgsm", 0); list != nil {
		t.Errorf("%d problems", len(list))
	}
}

// The right answers of mgsm are what their working gives.
func TestShippedWorking(t *testing.T) {
	data, err := os.ReadFile("problems/mgsm.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(data)) {
		var p struct{ ID, Gold, Working string }
		if err := json.Unmarshal([]byte(line), &p); err != nil {
			t.Fatal(err)
		}
		numbers := strings.FieldsFunc(p.Working, func(r rune) bool { return r < '0' || r > '9' })
		if v := answer.Countdown.Validate(p.Working, answer.Problem{Input: strings.Join(numbers, " "), Gold: p.Gold}); !v.OK {
			t.Errorf("%s: %s is not %s: %+v", p.ID, p.Working, p.Gold, v)
		}
	}
}

// With Verify a template solves a game only when memory has two games that it solves. It
// is not shown before either, and without Verify it is used at once.
func TestVerify(t *testing.T) {
	games := []solve.Problem{{ID: "1", Problem: answer.Problem{Input: "3 5 8 11"}}, {ID: "2", Problem: answer.Problem{Input: "1 4 7 9"}}, {ID: "3", Problem: answer.Problem{Input: "1 2 5 7"}}}
	written := `
- when: {user: "3 5 8 11\\. Use"}
  text: "<answer>(8-5)*(11-3)</answer>"
- when: {user: "1 4 7 9\\. Use"}
  text: "<answer>(9-1)*(7-4)</answer>"
- text: "<answer>1</answer>"
`
	for _, tt := range []struct {
		verify bool
		hits   string
		shown  int // prompts with a template
	}{{false, "1:,2:template,3:", 1}, {true, "1:,2:,3:", 1}} {
		m := script(t, written)
		s := solver(t, solve.Options{Task: game24, Mode: solve.Template, Model: m, Memory: memory(t), Temperatures: []float64{0}, Verify: tt.verify})
		r, err := stream(s, games, nil, solve.Budget{})
		if err != nil {
			t.Fatal(err)
		}
		var hits []string
		for _, x := range r {
			hits = append(hits, x.ID+":"+strings.TrimSuffix(x.Hit, solve.HitPaths))
		}
		shown := 0
		for _, q := range m.asked {
			for _, text := range q.Messages {
				if strings.Contains(text.Text, "Template: (d-a)*(c-b)") {
					shown++
					break
				}
			}
		}
		if got := strings.Join(hits, ","); got != tt.hits || shown != tt.shown {
			t.Errorf("verify %v: %s, %d prompts with the template; want %s, %d", tt.verify, got, shown, tt.hits, tt.shown)
		}
	}
}

// Work that a model shows is kept as steps, without the reasoning around it.
func TestWorkIsKept(t *testing.T) {
	task, _ := solve.TaskNamed("gsm8k")
	g := memory(t)
	m := script(t, `[{text: "<think>SECRET <<1+1=2>></think>First 16-3 = <<16-3=13>>13, then <<13*2=26>>26.\nA: 26"}]`)
	s := solver(t, solve.Options{Task: task, Mode: solve.Graph, Model: m, Memory: g})
	if r, err := stream(s, []solve.Problem{{ID: "1", Problem: answer.Problem{Input: "How much?", Gold: "26"}}}, nil, solve.Budget{}); err != nil || !r[0].Solved {
		t.Fatal(r, err)
	}
	nodes, err := g.Nodes(context.Background(), "gsm8k")
	if err != nil || len(nodes) != 1 || nodes[0].Text() != "Task: gsm8k\nInput: How much?\nWork: 16-3=13; 13*2=26\nSolution: 26\n" {
		t.Errorf("%+v, %v", nodes, err)
	}
}

// The table does not depend on the order of the results.
func TestSummary(t *testing.T) {
	results, err := stream(solver(t, solve.Options{Task: game24, Mode: solve.Template, Model: solve.Scripted{Task: game24}, Memory: memory(t)}), solve.Games(2)[:60], nil, solve.Budget{})
	if err != nil {
		t.Fatal(err)
	}
	sum := solve.Summarise(results)
	rand.New(rand.NewPCG(1, 1)).Shuffle(len(results), func(i, j int) { results[i], results[j] = results[j], results[i] })
	if again := solve.Summarise(results); !reflect.DeepEqual(sum, again) {
		t.Error("the order of the results matters")
	}
	var at []int
	for _, r := range sum.Rows {
		at = append(at, r.Problems)
	}
	if !reflect.DeepEqual(at, []int{10, 25, 50, 60}) {
		t.Errorf("rows after %v", at)
	}
	last := sum.Rows[len(sum.Rows)-1]
	solved, hits, tokens, templates := 0, 0, int64(0), 0
	for _, r := range results {
		tokens += r.Input + r.Output
		if r.Solved {
			solved++
		}
		if r.Hit == solve.HitTemplate {
			hits++
		}
		templates = max(templates, r.Memory.Size.Templates)
	}
	if last.Solved != solved || last.ByTemplate != hits || last.Tokens != tokens || last.Templates != templates || hits == 0 || last.TokensPerSolved != float64(tokens)/float64(solved) {
		t.Errorf("%+v", last)
	}
	sum.Name = "=cmd()"
	table := solve.Table([]solve.Summary{sum})
	data, err := table.CSV()
	if err != nil {
		t.Fatal(err)
	}
	rows, err := csv.NewReader(bytes.NewReader(data)).ReadAll()
	if err != nil || len(rows) != 5 || rows[1][0] != "'=cmd()" || rows[4][4] != "60" {
		t.Errorf("%v, %v", rows, err)
	}
}

func TestNewRefuses(t *testing.T) {
	m := solve.Scripted{Task: game24}
	for _, o := range []solve.Options{{}, {Task: game24}, {Model: m}, {Task: game24, Model: m, Mode: "got24"}, {Task: game24, Model: m, Mode: solve.Graph}} {
		if _, err := solve.New(o); err == nil {
			t.Errorf("%+v was accepted", o)
		}
	}
	s := solver(t, solve.Options{Task: game24, Model: m})
	twice := []solve.Problem{solve.Games(0)[0], solve.Games(0)[0]}
	if _, err := stream(s, twice, nil, solve.Budget{}); err == nil {
		t.Error("one id twice")
	}
}
