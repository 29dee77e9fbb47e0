package agent

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sotto-llm/sotto/record"
)

// The first experiment shows each tool and each fault, cycle by cycle.
func TestFirst(t *testing.T) {
	dir := t.TempDir()
	var reports []string
	o := in(dir)
	o.Observer.OnCycle = func(c CycleReport) {
		reports = append(reports, fmt.Sprintf("%d %s/%s calls %d errors %d text %d retries %d", c.Cycle, c.Status, c.Bound, c.Metrics.ToolCalls, c.Metrics.ToolErrors, c.Metrics.TextCalls, c.Metrics.Retries))
	}
	person := &deaf{}
	s, err := Run(t.Context(), first(t, person), o)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"1 answered/ calls 2 errors 0 text 0 retries 0",
		"2 answered/ calls 3 errors 0 text 0 retries 0",
		"3 answered/ calls 1 errors 0 text 1 retries 1",
		"4 answered/ calls 0 errors 0 text 0 retries 1",
		"5 answered/ calls 4 errors 3 text 0 retries 0",
		"6 answered/ calls 2 errors 0 text 0 retries 0",
		"7 answered/ calls 1 errors 0 text 0 retries 0",
		"8 answered/ calls 1 errors 0 text 0 retries 0",
		"9 answered/invocations calls 5 errors 0 text 0 retries 0",
		"10 failed/attempts calls 0 errors 0 text 0 retries 0",
	}
	if d := cmp.Diff(want, reports); d != "" {
		t.Error(d)
	}
	if s.Status != Done || s.Cycles != 10 {
		t.Errorf("ended as %s after %d cycles", s.Status, s.Cycles)
	}
	if d := cmp.Diff([]string{"The rule for leap years is done: 4, but not 100, unless 400."}, person.told); d != "" {
		t.Error(d)
	}
	if n := len(events(t, dir, record.Query{Diagnostic: "repetition"})); n != 1 {
		t.Errorf("%d advisories, want 1, in cycle 7", n)
	}
	below := events(t, dir, record.Query{Run: "first+librarian.14"})
	if len(below) == 0 || below[0].Payload.(record.RunStart).Parent != "first" {
		t.Errorf("the agent's run is not under its parent: %d events", len(below))
	}
}

// A run that has ended is only read; nothing is asked or called or written.
func TestEndedRun(t *testing.T) {
	dir := t.TempDir()
	once := run1(t, first(t, &deaf{}), dir)
	before := plain(t, dir)
	person := &deaf{}
	twice := run1(t, first(t, person), dir)
	if d := cmp.Diff(before, plain(t, dir)); d != "" {
		t.Error(d)
	}
	once.Passed, twice.Passed = 0, 0
	if d := cmp.Diff(once, twice); d != "" {
		t.Error(d)
	}
	if len(person.told) > 0 {
		t.Error("the operator was told again")
	}
}

// A replay repeats the record, and says at which event it differs.
func TestReplay(t *testing.T) {
	dir := t.TempDir()
	run1(t, first(t, &deaf{}), dir)
	p, err := Replay(t.Context(), first(t, &deaf{}), in(dir).Record, Options{})
	if err != nil || p.Difference != nil || p.Unfinished || p.Events != len(events(t, dir, record.Query{NoCheckpoints: true})) {
		t.Fatalf("%+v, %v", p, err)
	}
	x := first(t, &deaf{})
	x.Goal = "Something else."
	p, err = Replay(t.Context(), x, in(dir).Record, Options{})
	if err != nil || p.Difference == nil || p.Difference.Seq != 1 {
		t.Fatalf("%+v, %v", p.Difference, err)
	}
	x = first(t, &deaf{})
	x.ReflectionBudget = 60
	p, err = Replay(t.Context(), x, in(dir).Record, Options{})
	if err != nil || p.Difference == nil || p.Difference.Type != record.TypeInvocation || !strings.Contains(p.Difference.Field, "messages[0].text") {
		t.Fatalf("%+v, %v", p.Difference, err)
	}
}

// Other settings than those of the record are refused, and named.
func TestChanged(t *testing.T) {
	dir := t.TempDir()
	run1(t, first(t, &deaf{}), dir)
	x := first(t, &deaf{})
	x.Settings["goal"] = "Something else."
	_, err := Run(t.Context(), x, in(dir))
	var changed *ChangedError
	if !asError(err, &changed) || !strings.Contains(changed.What, "settings.goal") {
		t.Errorf("%v", err)
	}
}

// Settings that the record writes in another form, for they may hold a credential,
// are the same settings.
func TestScrubbedSettings(t *testing.T) {
	dir := t.TempDir()
	x := Experiment{Name: "s", Cycles: 1, System: "See https://u:p@example.com/?token=abcdef.", Model: scripted(t, "- text: Seen.")}
	run1(t, x, dir)
	if s := run1(t, x, dir); s.Passed != 5 || s.Status != Done {
		t.Errorf("%+v", s)
	}
}

// A second process on the same record is refused.
func TestLocked(t *testing.T) {
	dir := t.TempDir()
	w, err := record.Open(in(dir).Record, record.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	if _, err := Run(t.Context(), first(t, &deaf{}), in(dir)); !isError(err, record.ErrLocked) {
		t.Errorf("%v", err)
	}
}
