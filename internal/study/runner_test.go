package study

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

const fakeVariable = "SOTTO_TEST_CELL"

// TestMain makes the test program the command of cells: what it does is the first
// word of the file that its cell has in a folder, which it takes out of there.
func TestMain(m *testing.M) {
	dir := os.Getenv(fakeVariable)
	if dir == "" {
		os.Exit(m.Run())
	}
	EndWithInput()
	name := ""
	for _, arg := range os.Args {
		if s, ok := strings.CutPrefix(arg, "--name="); ok {
			name = s // the last one counts
		}
	}
	script := filepath.Join(dir, name)
	data, _ := os.ReadFile(script)
	word, rest, _ := strings.Cut(string(data), " ")
	if err := os.WriteFile(script, []byte(rest), 0o600); err != nil {
		panic(err)
	}
	fmt.Println(strings.Join(os.Args[1:], " "))
	switch word {
	case "fail", "suspend":
		fmt.Fprintln(os.Stderr, "sotto: error: "+word)
		os.Exit(1)
	case "hang":
		if err := os.WriteFile(filepath.Join(dir, "hangs"), nil, 0o600); err != nil {
			panic(err)
		}
		select {}
	}
	os.Exit(0)
}

// A trial is a study whose cells do what the test says.
type trial struct {
	*Runner
	scripts string
	most    map[string]int // the largest number of cells at a time, by server; "" is all
	said    []string
}

// newTrial makes a study of n cells, whose servers are a and b in turn.
func newTrial(t *testing.T, dir string, n int, more string) *trial {
	t.Helper()
	var values []string
	for i := range n {
		values = append(values, fmt.Sprint("v", i))
	}
	f, err := ParseFile("s.yaml", fmt.Appendf(nil, "v: 1\nname: s\nbase: {run: x}\ngrid: {k: [%s]}\n%s", strings.Join(values, ", "), more))
	if err != nil {
		t.Fatal(err)
	}
	i := 0
	plans, err := f.Plan(func(c Case) (*Plan, error) {
		i++
		return &Plan{Args: []string{"cell"}, Settings: c.Values, Server: []string{"a", "b"}[i%2]}, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	x := &trial{scripts: t.TempDir(), most: map[string]int{}}
	t.Setenv(fakeVariable, x.scripts)
	x.Runner = &Runner{Dir: dir, File: f, Plans: plans, Program: program, Outcome: fakeOutcome, OnChange: x.look,
		Log: func(format string, args ...any) { x.said = append(x.said, fmt.Sprintf(format, args...)) }}
	return x
}

func fakeOutcome(_ *Cell, e Exit) Outcome {
	if e.Err == nil {
		return Outcome{Status: Done, Measures: map[string]float64{"tokens": 10}}
	}
	return Outcome{Status: Failed, Suspended: e.Reason == "suspend", Reason: e.Reason}
}

func (x *trial) look(s *Study) {
	running := map[string]int{}
	for i := range s.Cells {
		if s.State(&s.Cells[i]).Status == Running {
			running[""]++
			running[x.Plans.Of[s.Cells[i].ID].Server]++
		}
	}
	for server, n := range running {
		x.most[server] = max(x.most[server], n)
	}
}

func (x *trial) script(t *testing.T, i int, words string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(x.scripts, x.Plans.Manifest.Cells[i].ID), []byte(words), 0o600); err != nil {
		t.Fatal(err)
	}
}

// statuses returns the state of each cell and how often it was begun.
func statuses(t *testing.T, dir string) (list []string) {
	t.Helper()
	s, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	for i := range s.Cells {
		state := s.State(&s.Cells[i])
		list = append(list, fmt.Sprint(state.Status, " ", state.Attempts))
	}
	return list
}

func want(t *testing.T, dir string, want ...string) {
	t.Helper()
	if got := statuses(t, dir); !slices.Equal(got, want) {
		t.Errorf("cells %q, want %q", got, want)
	}
}

// Workers and servers bound what runs at the same time. A further run finds nothing
// to do; a failed cell is tried again by the next one, and by no other.
func TestRunner(t *testing.T) {
	dir := t.TempDir()
	x := newTrial(t, dir, 6, "workers: 3\nservers: {a: 1}\n")
	x.script(t, 2, "fail")
	if err := x.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	want(t, dir, "done 1", "done 1", "failed 1", "done 1", "done 1", "done 1")
	if x.most["a"] != 1 || x.most[""] != 3 || x.most["b"] < 2 {
		t.Errorf("at the same time: %v", x.most)
	}
	y := newTrial(t, dir, 7, "")
	if err := y.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	want(t, dir, "done 1", "done 1", "done 2", "done 1", "done 1", "done 1", "done 1")
	if y.most[""] != 1 {
		t.Errorf("one worker runs %d cells at the same time", y.most[""])
	}
}

// A study began when its first run did, and a cell with its first attempt, however often
// they are run again.
func TestBegan(t *testing.T) {
	dir := t.TempDir()
	x := newTrial(t, dir, 2, "")
	x.script(t, 1, "fail")
	if err := x.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	first, err := Open(dir)
	if err != nil || time.Since(first.Began) > time.Minute {
		t.Fatalf("the study began at %v, %v", first.Began, err)
	}
	// As if all this had been yesterday.
	yesterday := func(at time.Time) time.Time { return at.Add(-24 * time.Hour).Truncate(time.Second) }
	m := first.Manifest
	m.Began = yesterday(m.Began)
	if err := WriteManifest(dir, &m); err != nil {
		t.Fatal(err)
	}
	failed := first.State(&first.Cells[1])
	failed.Began = yesterday(failed.Began)
	if err := WriteState(dir, failed); err != nil {
		t.Fatal(err)
	}
	if err := newTrial(t, dir, 2, "").Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	again, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	if s := again.State(&again.Cells[1]); s.Status != Done || !s.Began.Equal(failed.Began) || !s.Ended.After(failed.Began.Add(time.Hour)) {
		t.Errorf("the cell began at %v, want %v, and ended at %v", s.Began, failed.Began, s.Ended)
	}
	if !again.Began.Equal(m.Began) {
		t.Errorf("the study began at %v, want %v", again.Began, m.Began)
	}
}

// A cell that an outage suspended is tried again, while others go on, and not without
// end.
func TestOutages(t *testing.T) {
	dir := t.TempDir()
	x := newTrial(t, dir, 3, "outages: {retries: 2, wait: 1ms}\n")
	x.script(t, 0, "suspend suspend")
	x.script(t, 1, "suspend suspend suspend suspend")
	if err := x.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	want(t, dir, "done 3", "failed 3", "done 1")
}

// A cell does not begin when a budget is spent, also in a further run.
func TestBudget(t *testing.T) {
	dir := t.TempDir()
	for range 2 {
		x := newTrial(t, dir, 4, "budget: {tokens: 15}\n")
		err := x.Run(t.Context())
		var stopped *StoppedError
		if !errors.As(err, &stopped) || stopped.Left != 2 || !strings.Contains(err.Error(), "tokens is spent: 20 of 15") {
			t.Errorf("error %v", err)
		}
		want(t, dir, "done 1", "done 1", "waiting 0", "waiting 0")
	}
	x := newTrial(t, dir, 4, "budget: {tokens: 100}\n")
	x.Cost = func(_ *Cell, s *State) float64 { return s.Measures["tokens"] / 5 }
	x.File.Budget.Cost = 6
	if err := x.Run(t.Context()); err == nil || !strings.Contains(err.Error(), "money is spent: 6 of 6: 1 cells are left") {
		t.Errorf("error %v", err)
	}
	want(t, dir, "done 1", "done 1", "done 1", "waiting 0")
}

// A finished cell with other settings is left, unless it is to be run again: then
// what it left is kept, and its run has another name in the record.
func TestChanged(t *testing.T) {
	dir := t.TempDir()
	if err := newTrial(t, dir, 2, "").Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	changed := func() *trial {
		x := newTrial(t, dir, 2, "")
		x.Plans.Manifest.Cells[1].Settings = "others"
		return x
	}
	if err := changed().Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	want(t, dir, "done 1", "changed 1")
	x := changed()
	x.RerunChanged = true
	var args string
	x.Outcome = func(c *Cell, e Exit) Outcome { args = string(e.Out); return fakeOutcome(c, e) }
	if err := x.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	want(t, dir, "done 1", "done 1")
	id := x.Plans.Manifest.Cells[1].ID
	if !strings.Contains(args, "--name="+id+"-g1 ") {
		t.Errorf("the run's name: %s", args)
	}
	if kept, _ := os.ReadDir(filepath.Join(dir, "old", id+".1")); len(kept) != 2 { // the state and the log
		t.Errorf("kept: %v", kept)
	}
}

// An interrupted cell stays a running one, and is resumed by the same worker.
// Nobody else runs the study meanwhile.
func TestInterrupted(t *testing.T) {
	dir := t.TempDir()
	x := newTrial(t, dir, 2, "")
	x.script(t, 0, "hang")
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- x.Run(ctx) }()
	for {
		if _, err := os.Stat(filepath.Join(x.scripts, "hangs")); err == nil {
			break
		}
		time.Sleep(time.Millisecond)
	}
	if err := (&Runner{Dir: dir}).Run(ctx); !errors.Is(err, ErrBusy) {
		t.Errorf("a second process: %v", err)
	}
	if !Busy(dir) {
		t.Error("no process seems to run the study")
	}
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	want(t, dir, "running 1", "waiting 0")
	if Busy(dir) {
		t.Error("a process seems to run the study")
	}
	if err := newTrial(t, dir, 2, "").Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	want(t, dir, "done 2", "done 1")
}

// The estimate takes the times of cells with the same model.
func TestRemaining(t *testing.T) {
	s := &Study{Manifest: Manifest{Kind: Runs}, states: map[string]*State{}}
	add := func(id, model string, status Status, ms int64) {
		s.Cells = append(s.Cells, Cell{ID: id, Values: []Value{{"model.name", model}}})
		s.states[id] = &State{Status: status, Millis: ms}
	}
	add("a", "small", Waiting, 0)
	if _, ok := s.Remaining(1); ok {
		t.Error("an estimate from nothing")
	}
	add("b", "small", Done, 1000)
	add("c", "large", Done, 60000)
	add("d", "large", Waiting, 0)
	add("e", "large", Running, 0)
	if got, ok := s.Remaining(2); !ok || got != 60500*time.Millisecond {
		t.Errorf("%v", got)
	}
}
