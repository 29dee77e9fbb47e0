package cli

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sotto-llm/sotto/internal/base/lazyregexp"
	"github.com/sotto-llm/sotto/internal/base/stats"
	"github.com/sotto-llm/sotto/internal/cli/shell"
	"github.com/sotto-llm/sotto/internal/data/jsonpath"
	"github.com/sotto-llm/sotto/internal/data/jsontext"
	"github.com/sotto-llm/sotto/internal/lab/scoring"
)

var update = flag.Bool("update", false, "rewrite the generated parts of the documents")

// An evaluation says how to score a data file.
type evaluation struct {
	file   string
	args   []string
	logged string // the field of the logged verdict
	paper  map[string]string
}

var evaluations = []evaluation{
	{"tot_game24", []string{"--task", "game24", "--by-field", "arm", "--k", "--group-field", "gold"}, "logged_verdict",
		map[string]string{"IO": "7.3 %, best of 100: 33", "CoT": "4.0 %, best of 100: 49", "ToT": "74 of 100 by any of 5"}},
	{"tot_crosswords", []string{"--task", "crossword5x5", "--by-field", "arm"}, "logged_verdict.r_game", nil},
	{"gsm8k_openai", []string{"--task", "gsm8k", "--by-field", "arm"}, "logged_verdict", nil},
	{"countdown_qwen", []string{"--task", "countdown", "--by-field", "arm"}, "logged_verdict", nil},
	{"qwen25_math_cot", []string{"--task", "math"}, "logged_verdict", nil},
	{"think_r1_math500", []string{"--task", "math"}, "logged_verdict", nil},
	{"think_r1_math500", []string{"--task", "math"}, "audited_verdict", nil},
}

// TestEvaluation scores the data files and compares docs/evidence/verdicts.md with the
// results.
func TestEvaluation(t *testing.T) {
	dir := os.Getenv("SOTTO_DATA")
	if dir == "" {
		t.Skip("SOTTO_DATA names no folder of data files")
	}
	var text strings.Builder
	text.WriteString("| data | arm | replies | right | right in the log | agree | right only here | right only there | the paper |\n")
	text.WriteString("| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: | --- |\n")
	var differences, problems, reasons strings.Builder
	var crosswords string
	for _, e := range evaluations {
		name := filepath.Join(dir, e.file+".jsonl")
		if _, err := os.Stat(name); err != nil {
			t.Skipf("%s is not in SOTTO_DATA", e.file)
		}
		sum, scored := e.score(t, name)
		for _, arm := range arms(sum) {
			e.row(&text, arm)
			problemRow(&problems, e.file, arm)
			reasonRow(&reasons, e, arm)
		}
		e.differences(t, &differences, name, scored)
		if e.file == "tot_crosswords" {
			crosswords = grids(t, name, scored)
		}
	}
	const head = "| data | arm | best of 1 | 2 | 5 | 10 | 20 | 50 | 100 | majority of answers |\n| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |\n"
	holdDocument(t, "../../docs/evidence/verdicts.md", map[string]string{
		"table":       text.String(),
		"crosswords":  crosswords,
		"problems":    head + problems.String() + wholeReplies(t, dir),
		"reasons":     "| data | arm | found by | why |\n| --- | --- | --- | --- |\n" + reasons.String(),
		"differences": "| data | log | here | there | replies |\n| --- | --- | --- | --- | ---: |\n" + differences.String(),
	})
}

// score runs the command over a file.
func (e *evaluation) score(t *testing.T, name string) (sum *scoring.Summary, scored [][]byte) {
	t.Helper()
	out := filepath.Join(t.TempDir(), "scored.jsonl")
	args := slices.Concat([]string{"score", "--jsonl", "--json", "-o", out, "--logged-field", e.logged}, e.args, []string{name})
	report, errs, status := runSotto(t, "", args...)
	if status != shell.StatusDone {
		t.Fatalf("%s: status %d: %.2000s", e.file, status, errs)
	}
	if err := json.Unmarshal([]byte(report), &sum); err != nil {
		t.Fatal(err)
	}
	objects, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	return sum, bytes.Split(bytes.TrimSuffix(objects, []byte("\n")), []byte("\n"))
}

// arms returns the summary of each arm, or of the whole.
func arms(sum *scoring.Summary) []*scoring.Summary {
	if len(sum.By) > 0 {
		return sum.By
	}
	return []*scoring.Summary{sum}
}

func (e *evaluation) row(b *strings.Builder, arm *scoring.Summary) {
	l := arm.Logged
	if l == nil {
		l = &scoring.Logged{}
	}
	fmt.Fprintf(b, "| %s | %s | %d | %d (%.2f %%) | %d | %d of %d | %d | %d | %s |\n", e.label(), arm.Name, arm.Lines, arm.Solved.Count, 100*arm.Solved.Rate,
		l.Both+l.OnlyLogged, l.Agree.Count, l.Agree.Of, l.OnlyOurs, l.OnlyLogged, e.paper[arm.Name])
}

// label names a data file, and its log if it is not the authors' verdict.
func (e *evaluation) label() string {
	if e.logged == "audited_verdict" {
		return e.file + ", read by hand"
	}
	return e.file
}

func problemRow(b *strings.Builder, file string, arm *scoring.Summary) {
	if len(arm.BestOf) == 0 {
		return
	}
	fmt.Fprintf(b, "| %s | %s |", file, arm.Name)
	for i := range stats.Ks {
		if i < len(arm.BestOf) {
			fmt.Fprintf(b, " %.2f |", 100*arm.BestOf[i].Rate)
		} else {
			b.WriteString(" |")
		}
	}
	fmt.Fprintf(b, " %.2f |\n", 100*arm.Majority.Rate)
}

func reasonRow(b *strings.Builder, e evaluation, arm *scoring.Summary) {
	if e.logged == "audited_verdict" {
		return
	}
	var methods, reasons []string
	for _, m := range arm.Methods {
		methods = append(methods, fmt.Sprintf("%s %d", m.Name, m.Of))
	}
	for _, r := range arm.Reasons {
		reasons = append(reasons, fmt.Sprintf("%s %d", r.Name, r.Count))
	}
	fmt.Fprintf(b, "| %s | %s | %s | %s |\n", e.file, arm.Name, strings.Join(methods, ", "), strings.Join(reasons, ", "))
}

// differences counts, by class, the replies whose verdict differs from the log.
// Each reply is compared with its own line.
func (e *evaluation) differences(t *testing.T, b *strings.Builder, name string, scored [][]byte) {
	t.Helper()
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	classes := map[string]int{}
	replies := bytes.Split(bytes.TrimSuffix(data, []byte("\n")), []byte("\n"))
	if len(replies) != len(scored) {
		t.Fatalf("%s: %d objects of %d replies", e.file, len(scored), len(replies))
	}
	logged, _ := jsonpath.Parse(e.logged)
	for i, line := range replies {
		var f jsonpath.Finder
		if err := f.Find(line, logged); err != nil {
			t.Fatal(err)
		}
		was, err := scoring.ReadResult(scored[i])
		if err != nil {
			t.Fatal(err)
		}
		if f.Last(0) == nil {
			continue
		}
		right, readable := scoring.ReadVerdict(f.Last(0))
		if !readable || right == was.OK {
			continue
		}
		there := map[bool]string{true: "right", false: "wrong"}[right]
		classes[fmt.Sprintf("| %s | %s |", classOf(line, was), there)]++
	}
	for _, class := range slices.Sorted(maps.Keys(classes)) {
		fmt.Fprintf(b, "| %s | %s %s %d |\n", e.file, e.logged, class, classes[class])
	}
}

// classOf names the property of a reply that may explain a different verdict.
func classOf(line []byte, was *scoring.Result) string {
	class := was.Method + ", " + string(was.Reason)
	if was.OK && was.By != "" {
		class += " by " + was.By
	}
	var f jsonpath.Finder
	raw, _ := jsonpath.Parse("raw")
	if was.Span == nil || f.Find(line, raw) != nil {
		return class
	}
	written := jsontext.Unquote(f.Last(0))[was.Span.Start:was.Span.End]
	if strings.ContainsAny(written, "−–×÷·") {
		class += ", written with × ÷ −"
	}
	if strings.Contains(written, "=") {
		class += ", written with = value"
	}
	return class
}

// A grid is the result for a crossword, as computed here and as in the log.
var grid = lazyregexp.New(`letters (\d+)/25, words (\d+)/10`)

// grids counts the crosswords with as many right letters and words as in the log.
func grids(t *testing.T, name string, scored [][]byte) string {
	t.Helper()
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	same, all := 0, 0
	for line := range bytes.Lines(data) {
		var reply struct {
			Verdict struct {
				Letter float64 `json:"r_letter"`
				Word   float64 `json:"r_word"`
			} `json:"logged_verdict"`
		}
		was, err := scoring.ReadResult(scored[all])
		if err = errors.Join(err, json.Unmarshal(line, &reply)); err != nil {
			t.Fatal(err)
		}
		all++
		logged := fmt.Sprintf("letters %.0f/25, words %.0f/10", 25*reply.Verdict.Letter, 10*reply.Verdict.Word)
		if here := cmp.Or(grid.FindString(was.Detail), "letters 0/25, words 0/10"); here == logged || was.OK {
			same++
		} else {
			t.Logf("%s: %s, logged %s", was.ID, here, logged)
		}
	}
	return fmt.Sprintf("%d of %d crosswords have as many right letters and right words here as in the log.\n", same, all)
}

// wholeReplies returns the result of a majority vote over whole replies.
func wholeReplies(t *testing.T, dir string) string {
	t.Helper()
	report, _, _ := runSotto(t, "", "score", "--task", "game24", "--jsonl", "--json", "--k", "--group-field", "gold", "--by-field", "arm", "--vote", "reply", filepath.Join(dir, "tot_game24.jsonl"))
	var sum scoring.Summary
	if err := json.Unmarshal([]byte(lastLine(report)), &sum); err != nil {
		t.Fatal(err)
	}
	text := "\nA majority of whole replies:"
	for i, arm := range sum.By {
		text += fmt.Sprintf("%s %s %.2f %%", strings.Repeat(",", min(i, 1)), arm.Name, 100*arm.Majority.Rate)
	}
	return text + ".\n"
}

// holdDocument compares the generated parts of a document, each between <!-- NAME
// --> and <!-- /NAME -->. With -update it writes them.
func holdDocument(t *testing.T, name string, parts map[string]string) {
	t.Helper()
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	text := string(data)
	for _, part := range slices.Sorted(maps.Keys(parts)) {
		opener, closer := "<!-- "+part+" -->\n", "<!-- /"+part+" -->"
		before, rest, ok := strings.Cut(text, opener)
		was, after, closed := strings.Cut(rest, closer)
		if !ok || !closed {
			t.Fatalf("%s has no part %s", name, part)
		}
		if was != parts[part] && !*update {
			t.Errorf("%s: the part %s is\n%s\nwant (go test -run TestEvaluation ./internal/cli -update)\n%s", name, part, was, parts[part])
		}
		text = before + opener + parts[part] + closer + after
	}
	if *update {
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}
