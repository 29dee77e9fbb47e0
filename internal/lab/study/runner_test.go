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
	if os.Getenv(EndVariable) != "" {
		fmt.Fprintln(os.Stderr, "sotto: error: what a cell starts would end with its input")
		os.Exit(1)
	}
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
	reasons := map[string]int{}
	x.OnChange = func(s *Study) {
		if state := s.State(&s.Cells[1]); state.Reason != "" {
			reasons[fmt.Sprint(state.Attempts, " ", state.Status, ": ", state.Reason)]++
		}
	}
	if err := x.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	want(t, dir, "done 3", "failed 3", "done 1")
	for _, reason := range []string{"1 running: suspend; it is tried again", "2 running: suspend; it is tried again", "3 failed: suspend"} {
		if reasons[reason] == 0 {
			t.Errorf("reasons %v, want %q among them", reasons, reason)
		}
	}
}

// A study whose only cell is suspended waits for it.
func TestOutageOfAll(t *testing.T) {
	dir := t.TempDir()
	x := newTrial(t, dir, 1, "outages: {retries: 1, wait: 20ms}\n")
	x.script(t, 0, "suspend")
	began := time.Now()
	if err := x.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	want(t, dir, "done 2")
	if took := time.Since(began); took < 20*time.Millisecond {
		t.Errorf("tried again after %v, want 20ms", took)
	}
}

// Each wait is twice as long as the one before, up to an hour. That of the outcome counts
// before that of the file.
func TestOutageWait(t *testing.T) {
	for _, c := range []struct {
		outcome, file time.Duration
		retry         int
		want          time.Duration
	}{
		{0, 0, 1, time.Minute},
		{0, 0, 2, 2 * time.Minute},
		{0, 0, 3, 4 * time.Minute},
		{0, 0, 7, time.Hour},
		{0, 10 * time.Second, 2, 20 * time.Second},
		{5 * time.Second, 10 * time.Second, 2, 10 * time.Second},
		{0, 15 * time.Minute, 3, time.Hour},
		{0, 15*time.Minute + 1, 3, time.Hour},
		{3 * time.Hour, 0, 1, 3 * time.Hour},
		{3 * time.Hour, 0, 2, time.Hour},
	} {
		r := &Runner{File: &File{Outages: Outages{Wait: c.file}}}
		if got := r.outageWait(c.outcome, c.retry); got != c.want {
			t.Errorf("%v, %v, retry %d: %v, want %v", c.outcome, c.file, c.retry, got, c.want)
		}
	}
	x := newTrial(t, t.TempDir(), 1, "outages: {wait: 1h}\n")
	if err := x.prepare(); err != nil {
		t.Fatal(err)
	}
	x.settle(t.Context(), x.jobs[0], Exit{Err: errors.New("exit 1"), Reason: "suspend"})
	if wait := time.Until(x.jobs[0].after); wait < 59*time.Minute || wait > time.Hour {
		t.Errorf("the cell waits %v, want an hour", wait)
	}
	zero := 0
	if n := (&Runner{File: &File{}}).retries(); n != 5 {
		t.Errorf("%d retries, want 5", n)
	}
	if n := (&Runner{File: &File{Outages: Outages{Retries: &zero}}}).retries(); n != 0 {
		t.Errorf("%d retries, want 0", n)
	}
}

// A cell that has to wait does not keep others from their work, and the study wakes up
// for the first one. Without work it does not wake up.
func TestBegin(t *testing.T) {
	x := newTrial(t, t.TempDir(), 3, "servers: {a: 1, b: 1}\n")
	if err := x.prepare(); err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	for _, order := range [][]time.Duration{{3, 1, 2}, {1, 2, 3}, {3, 2, 1}} {
		for i, hours := range order {
			x.jobs[i].after = now.Add(hours * time.Hour)
		}
		wake, stopped, err := x.begin(t.Context())
		if !wake.Equal(now.Add(time.Hour)) || stopped != "" || err != nil {
			t.Errorf("waits %v: wakes in %v, %q, %v", order, wake.Sub(now), stopped, err)
		}
	}
	for server, want := range map[string]time.Duration{"a": 1, "b": 2} { // the cell of 2 hours is that of a
		x.servers = map[string]int{server: 1}
		if wake, _, err := x.begin(t.Context()); !wake.Equal(now.Add(want*time.Hour)) || err != nil {
			t.Errorf("%s is busy: wakes in %v, want %v hours", server, wake.Sub(now), want)
		}
	}
	x.servers = map[string]int{}
	x.File.Start, x.File.Stop = now.Add(2*time.Hour).Format("15:04"), now.Add(3*time.Hour).Format("15:04")
	wake, _, err := x.begin(t.Context())
	if wait := wake.Sub(now); wait < 119*time.Minute || wait > 121*time.Minute || err != nil {
		t.Errorf("outside its hours: wakes in %v", wait)
	}
	if want := []string{"cells begin at " + x.File.Start}; !slices.Equal(x.said, want) {
		t.Errorf("said %q, want %q", x.said, want)
	}
	x.running = 1
	if wake, _, _ := x.begin(t.Context()); !wake.Equal(now) && wake.Sub(now) < 119*time.Minute || len(x.said) != 1 {
		t.Errorf("outside its hours, while a cell runs: said %q", x.said)
	}
	for _, j := range x.jobs {
		j.state.Status = Done
	}
	for range 2 { // outside its hours, and within them
		if wake, stopped, err := x.begin(t.Context()); !wake.IsZero() || stopped != "" || err != nil {
			t.Errorf("no work: wakes at %v, %q, %v", wake, stopped, err)
		}
		x.File.Start = ""
	}
}

// A study that ends waits for its cells alone, and one that goes on for a time as well.
func TestWait(t *testing.T) {
	x := newTrial(t, t.TempDir(), 1, "")
	if err := x.prepare(); err != nil {
		t.Fatal(err)
	}
	x.wait(t.Context(), time.Now()) // ends
	ending, cancel := context.WithCancel(t.Context())
	cancel()
	j := x.jobs[0]
	for range 20 {
		j.busy, j.state.Status = true, Running
		go func() { x.results <- result{j, Exit{Took: 3 * time.Millisecond}} }()
		x.wait(ending, time.Now())
		if j.busy || j.state.Status != Done {
			t.Fatal("the cell did not end")
		}
	}
	if j.state.Millis != 60 {
		t.Errorf("all attempts took %d ms, want 60", j.state.Millis)
	}
}

// A study says which cells it lost that had begun.
func TestRemoved(t *testing.T) {
	dir := t.TempDir()
	x := newTrial(t, dir, 3, "")
	x.File.Budget.Tokens = 20 // the last one does not begin
	var stopped *StoppedError
	if err := x.Run(t.Context()); !errors.As(err, &stopped) {
		t.Fatal(err)
	}
	var want []string
	for _, c := range x.Plans.Manifest.Cells[:2] {
		want = append(want, "cell "+c.ID+" is no longer in the grid: its files stay, and the study does not count them")
	}
	y := newTrial(t, dir, 1, "")
	other := parse(t, "v: 1\nname: s\nbase: {run: x}\ngrid: {k: [other]}\n")
	plans, err := other.Plan(func(Case) (*Plan, error) { return &Plan{Args: []string{"cell"}}, nil })
	if err != nil {
		t.Fatal(err)
	}
	y.File, y.Plans = other, plans
	if err := y.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(y.said, want) {
		t.Errorf("said %q, want %q", y.said, want)
	}
}

// Each budget ends the study when it is reached, and says so. None of them has no end.
func TestSpent(t *testing.T) {
	x := newTrial(t, t.TempDir(), 2, "")
	if err := x.prepare(); err != nil {
		t.Fatal(err)
	}
	for i, ms := range []int64{1500, 500} {
		s := x.study.State(&x.study.Cells[i])
		s.Millis = ms
		s.Measures = map[string]float64{"tokens": 1, "input_tokens": 10, "output_tokens": 100}
	}
	for _, c := range []struct {
		budget Budget
		want   string
	}{
		{Budget{}, ""},
		{Budget{Tokens: 223, Cost: 3.1, Time: 2001 * time.Millisecond}, ""},
		{Budget{Tokens: 222}, "the budget of tokens is spent: 222 of 222"},
		{Budget{Cost: 3}, "the budget of money is spent: 3 of 3"},
		{Budget{Time: 2 * time.Second}, "the budget of time is spent: 2s of 2s"},
		{Budget{Tokens: 1, Cost: 1, Time: 1}, "the budget of tokens is spent: 222 of 1"},
	} {
		x.File.Budget = c.budget
		x.Cost = func(*Cell, *State) float64 { return 1.5 }
		if got := x.spent(); got != c.want {
			t.Errorf("%+v: %q, want %q", c.budget, got, c.want)
		}
	}
	x.Cost, x.File.Budget = nil, Budget{Cost: 3}
	if got := x.spent(); got != "" {
		t.Errorf("without prices: %q", got)
	}
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

// The estimate takes the median time of cells with the same model, or else of all.
func TestRemaining(t *testing.T) {
	s := &Study{Manifest: Manifest{Kind: Runs}, states: map[string]*State{}}
	add := func(model string, status Status, ms ...int64) {
		for _, n := range ms {
			id := fmt.Sprint("c", len(s.Cells))
			s.Cells = append(s.Cells, Cell{ID: id, Values: []Value{{"model.name", model}, {"arm", id}}})
			s.states[id] = &State{Status: status, Millis: n}
		}
	}
	want := func(workers int, want time.Duration) {
		t.Helper()
		if got, ok := s.Remaining(workers); got != want || ok != (want > 0) {
			t.Errorf("%v, %v, want %v", got, ok, want)
		}
	}
	add("small", Waiting, 0)
	add("small", Failed, 5)
	want(1, 0)
	add("small", Done, 1000)
	want(1, time.Second)
	add("large", Done, 60000)
	add("large", Waiting, 0)
	add("large", Running, 0)
	want(2, 60500*time.Millisecond)
	add("small", Bounded, 3000, 2000)
	want(1, 122*time.Second)
	want(0, 122*time.Second)
	add("other", Waiting, 0) // all times are 1, 2, 3 and 60 s
	want(1, 125*time.Second)
}
