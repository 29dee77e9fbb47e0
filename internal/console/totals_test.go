package console_test

import (
	"encoding/json"
	"fmt"
	"net/url"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/net/html"

	"github.com/sotto-llm/sotto/internal/console"
	"github.com/sotto-llm/sotto/internal/console/consoletest"
	"github.com/sotto-llm/sotto/internal/console/explore"
	"github.com/sotto-llm/sotto/internal/console/view"
	"github.com/sotto-llm/sotto/internal/lab/runview"
	"github.com/sotto-llm/sotto/internal/lab/scoreview"
	"github.com/sotto-llm/sotto/internal/lab/screens"
	"github.com/sotto-llm/sotto/internal/lab/study"
	"github.com/sotto-llm/sotto/internal/lab/studyreport/studytest"
	"github.com/sotto-llm/sotto/internal/recorded/sidecar"
)

// agreeing walks the pages of a console that count the same things.
type agreeing struct {
	t        *testing.T
	base     string
	compared int
}

func (a *agreeing) equal(what string, got, want any) {
	a.t.Helper()
	a.compared++
	if fmt.Sprint(got) != fmt.Sprint(want) {
		a.t.Errorf("%s: %v, and %v elsewhere", what, got, want)
	}
}

// read reads a page as JSON.
func (a *agreeing) read(path string, into any) {
	a.t.Helper()
	sep := "?"
	if strings.Contains(path, "?") {
		sep = "&"
	}
	resp, text := get(a.t, a.base+path+sep+"format=json")
	if err := json.Unmarshal([]byte(text), into); err != nil || resp.StatusCode != 200 {
		a.t.Fatalf("%s: %s: %v: %.200s", path, resp.Status, err, text)
	}
}

// text is what a page says.
func (a *agreeing) text(path string) (text string) {
	a.t.Helper()
	_, page := get(a.t, a.base+path)
	walk(a.t, page, func(n *html.Node) {
		if n.Data == "main" {
			text = words(n)
		}
	})
	return text
}

// says compares a number that a page says, in the place of the group of a pattern.
func (a *agreeing) says(path, pattern string, want any) {
	a.t.Helper()
	text := a.text(path)
	m := regexp.MustCompile(pattern).FindStringSubmatch(text)
	if m == nil {
		a.t.Errorf("%s does not say %s: %.400s", path, pattern, text)
		return
	}
	a.equal(path+" says "+pattern, m[1], want)
}

// all are the exchanges that a list has on all of its pages.
func (a *agreeing) all(query string) (rows []view.Row, head uint64) {
	for at := ""; ; {
		var p view.Page
		a.read("exchanges?"+query+at, &p)
		rows, head = append(rows, p.Rows...), p.Head
		if at = "&before=" + strconv.FormatUint(p.Older, 10); p.Older == 0 {
			return rows, head
		}
	}
}

// exchanges compares the list with its totals, its filters, Explore by each key, its first line
// and the health.
func (a *agreeing) exchanges() {
	rows, head := a.all("limit=")
	var sum view.Totals
	for _, r := range rows {
		sum.Rows++
		if view.FailedOutcome(r.Outcome) {
			sum.Failed++
		}
		if r.Leaked > 0 {
			sum.Leaked++
		}
		sum.Thought += int64(r.Reasoning)
		sum.Millis += r.Millis
		if u := r.Usage; u != nil {
			sum.Input, sum.Output = sum.Input+int64(u.Input), sum.Output+int64(u.Output)
		}
	}
	for _, list := range []string{"exchanges?sum=1", "exchanges?sort=took"} {
		var p view.Page
		a.read(list, &p)
		if p.Totals == nil {
			a.t.Fatalf("%s has no totals", list)
		}
		got := *p.Totals
		for what, pair := range map[string][2]any{
			"exchanges": {got.Rows, sum.Rows}, "failed": {got.Failed, sum.Failed}, "leaked": {got.Leaked, sum.Leaked}, "thoughts": {got.Thought, sum.Thought},
			"time": {got.Millis, sum.Millis}, "input": {got.Input, sum.Input}, "output": {got.Output, sum.Output},
		} {
			a.equal(list+" "+what, pair[0], pair[1])
		}
		a.says(list, `^(?:.*?)(\d+) exchanges?\b`, sum.Rows)
	}
	failed, _ := a.all("outcome=failed")
	refused, _ := a.all("outcome=refused")
	leaked, _ := a.all("leaked=1")
	a.equal("the filter by outcome", len(failed)+len(refused), sum.Failed)
	a.equal("the filter by leaks", len(leaked), sum.Leaked)
	var asked explore.Answer // both count replies
	a.read("explore?of=took", &asked)
	replied := asked.Events
	for _, key := range explore.Failed.Keys() {
		for of, want := range map[explore.Measure][2]int{explore.Failed: {sum.Rows, sum.Failed}, explore.Leaks: {replied, sum.Leaked}, explore.Took: {replied, 0}} {
			var x explore.Answer
			a.read("explore?"+url.Values{"of": {string(of)}, "by": {string(key)}}.Encode(), &x)
			n, count := 0, 0
			for _, s := range x.Series {
				points, stretches := 0, 0
				for _, p := range s.Points {
					points += p.N
				}
				for _, p := range s.Stretches {
					stretches += p.N
				}
				a.equal(fmt.Sprintf("%s of %s by %s: the parts of the time", s.Name, of, key), [2]int{points, stretches}, [2]int{s.Total.N, s.Total.N})
				n, count = n+s.Total.N, count+s.Total.Count
			}
			a.equal(fmt.Sprintf("%s by %s: all", of, key), n, x.Events)
			a.equal(fmt.Sprintf("%s by %s: events", of, key), n, want[0])
			a.equal(fmt.Sprintf("%s by %s: counted", of, key), count, want[1])
		}
	}
	var h struct{ Record struct{ Head uint64 } }
	a.read("health", &h)
	a.equal("the newest event of the health", h.Record.Head, head)
	onPage := 0
	for _, r := range rows[:min(len(rows), view.Rows)] {
		if view.FailedOutcome(r.Outcome) {
			onPage++
		}
	}
	if onPage == 0 {
		a.says("exchanges", `^(?:.*?)None of these (\d+) exchanges failed`, min(len(rows), view.Rows))
	} else {
		a.says("exchanges", `(\d+) of these \d+ exchanges failed`, onPage)
	}
}

// runs compares the list of runs with its totals, and with the page of each run.
func (a *agreeing) runs() {
	var list, sorted runview.List
	a.read("runs?below=1", &list)
	a.read("runs?below=1&sort=took", &sorted)
	if len(list.Rows) == 0 {
		return
	}
	cycles, millis, thought := 0, int64(0), int64(0)
	for _, r := range list.Rows {
		cycles, millis = cycles+r.Cycles, millis+r.Millis
		if r.Metrics != nil {
			thought += int64(r.Metrics.ThoughtBytes)
		}
		var one struct{ Run runview.Run }
		a.read("runs/"+console.RunToken(r.Run), &one)
		a.equal("the run "+r.Run, []any{one.Run.Status, one.Run.Cycles, one.Run.Millis, one.Run.Agent}, []any{r.Status, r.Cycles, r.Millis, r.Agent})
	}
	a.equal("runs", sorted.Totals.Runs, len(list.Rows))
	a.equal("cycles", sorted.Totals.Cycles, cycles)
	a.equal("the time of runs", sorted.Totals.Millis, millis)
	a.equal("the thoughts of runs", sorted.Totals.Thought, thought)
	if sorted.Totals.Failed == 0 {
		a.says("runs?below=1", `None of these (\d+) runs failed`, len(list.Rows))
	} else {
		a.says("runs?below=1", `(\d+) of these \d+ runs failed`, sorted.Totals.Failed)
	}
}

// memory compares the first line and the counts of the memory with its table, and its curve.
func (a *agreeing) memory() {
	var m runview.Memory
	a.read("memory", &m)
	templates, solved, failed := 0, int64(0), int64(0)
	for _, e := range m.Earned {
		if e.Kind == "template" {
			templates, solved, failed = templates+1, solved+e.Solved, failed+e.Failed
		}
	}
	a.equal("templates", m.Templates, templates)
	a.says("memory", `(\d+) templates`, templates)
	a.says("memory", `Templates solved (\d+) problems`, solved)
	a.says("memory", `and failed at (\d+)`, failed)
}

// TestTotalsAgree walks the pages that count the same things, and compares: the list of
// exchanges with its totals, its filters, Explore and the health, read line by line and from
// sidecars; the list of runs with its totals and the page of each; the memory with itself.
func TestTotalsAgree(t *testing.T) {
	runs, _ := consoletest.Runs(t)
	for name, dir := range map[string]string{"traced": consoletest.Traced(t), "runs": runs, "explored": consoletest.Explored(t, 250)} {
		t.Run(name, func(t *testing.T) {
			for _, indexed := range []bool{false, true} {
				if indexed {
					if _, err := sidecar.Make(t.Context(), dir, sidecar.Options{}); err != nil {
						t.Fatal(err)
					}
				}
				a := agreeing{t: t, base: serve(t, withLab(console.Config{Record: consoletest.Store(t, dir), Dir: dir}, screens.Config{}), "/")}
				a.exchanges()
				a.runs()
				if name == "runs" {
					a.memory()
				}
				if a.compared < 40 {
					t.Errorf("%d numbers were compared", a.compared)
				}
			}
		})
	}
}

// TestVerdictsAgree: the verdicts, the facets and the differences of an evaluation add up, and
// each filter shows as many lines as its link says.
func TestVerdictsAgree(t *testing.T) {
	files := scored(t, verdicts(strings.Fields("a b c d e f g a b c")), verdicts(strings.Fields("g a c b e a d a b f")))
	a := agreeing{t: t, base: serve(t, withLab(console.Config{}, screens.Config{Scores: &scoreview.Files{Scores: files}}), "/")}
	var whole scoreview.Page
	a.read("evaluation?with=1", &whole)
	right := 0
	for _, r := range whole.Rows {
		if r.OK {
			right++
		}
	}
	a.equal("right", whole.Right.Count, right)
	a.says("evaluation", `(\d+) of 10 right`, right)
	for _, f := range whole.Facets {
		lines, ok := 0, 0
		for _, v := range f.Values {
			lines, ok = lines+v.Lines, ok+v.Right
			var p scoreview.Page
			a.read("evaluation?"+url.Values{f.Name: {v.Value}}.Encode(), &p)
			a.equal(f.Name+" "+v.Value, []int{p.Selected, p.Right.Count}, []int{v.Lines, v.Right})
		}
		a.equal("the facet "+f.Name, []int{lines, ok}, []int{whole.Lines, right})
	}
	c := whole.Compared
	for change, want := range map[string]int{"gained": c.Gained, "lost": c.Lost} {
		var p scoreview.Page
		a.read("evaluation?with=1&change="+change, &p)
		a.equal(change, p.Selected, want)
	}
	if a.compared < 20 {
		t.Errorf("%d numbers were compared", a.compared)
	}
}

// TestStudiesAgree: the list of studies says of the cells of each what its own page says.
func TestStudiesAgree(t *testing.T) {
	dir := t.TempDir()
	m := studytest.Streams(t, filepath.Join(dir, "one"), studytest.Grid{Models: []string{"a"}, Modes: []string{"io", "template"}, Repetitions: 3, Size: 6})
	studytest.State(t, filepath.Join(dir, "one"), &m.Cells[0], study.Failed, nil)
	a := agreeing{t: t, base: serve(t, withLab(console.Config{}, screens.Config{Studies: &screens.Studies{Dir: dir}}), "/")}
	a.says("studies", `(\d+) streams of problems`, len(m.Cells))
	a.says("studies", `(\d+) done`, len(m.Cells)-1)
	a.says("studies", `(\d+) with cells that failed`, 1)
	a.says("studies/one", `(\d+) streams of problems`, len(m.Cells))
	a.says("studies/one", `(\d+) done`, len(m.Cells)-1)
	_, page := get(t, a.base+"studies/one")
	a.equal("cells of the grid", strings.Count(page, `class="cell done"`), len(m.Cells)-1)
}
