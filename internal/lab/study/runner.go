package study

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"filippo.io/age"

	"github.com/sotto-llm/sotto/internal/base/filelock"
)

// A Runner runs the cells of a study: each as a process of its own.
type Runner struct {
	Dir   string
	File  *File
	Plans *Plans
	// Program is the sotto that runs the cells.
	Program string
	// Outcome says how a cell ended, by what its command wrote and left.
	Outcome func(*Cell, Exit) Outcome
	// Cost returns what a cell cost so far; nil if there are no prices.
	Cost func(*Cell, *State) float64
	// RerunChanged runs cells again that finished with other settings. Their outputs
	// are moved aside.
	RerunChanged bool
	// Identity names files of age identities, with which cells of a sealed study are resumed.
	Identity []string
	// OnChange is called when the state of a cell has changed, by one goroutine.
	OnChange func(*Study)
	// Log says what happens besides the cells' ends.
	Log func(format string, args ...any)

	study   *Study
	to      []age.Recipient // of a sealed study
	jobs    []*job
	slots   map[int]bool // numbers of the workers that are busy
	servers map[string]int
	running int
	results chan result
}

// A job is a cell that does not have its result yet.
type job struct {
	cell    *Cell
	plan    *Plan
	state   *State
	busy    bool
	retries int
	after   time.Time // it does not begin before
}

// A result is how the process of a job ended.
type result struct {
	*job
	exit Exit
}

// Waits of cells that an outage suspended.
const (
	outageRetries = 5
	outageWait    = time.Minute
	maxOutageWait = time.Hour
)

// A StoppedError is the error of a study that ended before its last cell.
type StoppedError struct {
	Why  string
	Left int // cells
}

func (e *StoppedError) Error() string {
	return fmt.Sprintf("%s: %d cells are left", e.Why, e.Left)
}

// Run runs the cells that are not done. Another call goes on where one ended.
func (r *Runner) Run(ctx context.Context) error {
	unlock, err := lock(r.Dir)
	if err != nil {
		return err
	}
	defer unlock()
	if err := r.prepare(); err != nil {
		return err
	}
	return r.loop(ctx)
}

// ErrBusy is in the error of a study that another process runs.
var ErrBusy = errors.New("another process runs this study")

// lock makes sure that one process runs the study.
func lock(dir string) (func(), error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(filepath.Join(dir, "LOCK"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	err = filelock.Try(f)
	for range 5 { // Busy holds it for a moment
		if !errors.Is(err, filelock.ErrHeld) {
			break
		}
		time.Sleep(20 * time.Millisecond)
		err = filelock.Try(f)
	}
	if err != nil {
		f.Close()
		if errors.Is(err, filelock.ErrHeld) {
			return nil, fmt.Errorf("%s: %w", dir, ErrBusy)
		}
		return nil, err
	}
	return func() { f.Close() }, nil
}

// Busy reports whether a process runs the study in dir.
func Busy(dir string) bool {
	f, err := os.OpenFile(filepath.Join(dir, "LOCK"), os.O_RDWR, 0)
	if err != nil {
		return false
	}
	defer f.Close()
	return errors.Is(filelock.Try(f), filelock.ErrHeld)
}

// prepare writes the manifest, and finds out which cells are left.
func (r *Runner) prepare() error {
	if old, err := Open(r.Dir); err == nil {
		if err := r.sameSeal(old); err != nil {
			return err
		}
		r.Plans.Manifest.Began = old.Began
		r.sayRemoved(old)
	} else if !errors.Is(err, ErrNone) {
		return err
	}
	if r.Plans.Manifest.Began.IsZero() {
		r.Plans.Manifest.Began = time.Now().UTC().Truncate(time.Second)
	}
	r.Plans.Commands(r.Dir)
	var err error
	if r.to, err = r.File.recipients(); err != nil {
		return err
	}
	if err := WriteManifest(r.Dir, r.Plans.Manifest, r.to...); err != nil {
		return err
	}
	if r.study, err = Open(r.Dir); err != nil {
		return err
	}
	r.study.Manifest = *r.Plans.Manifest // also what is sealed
	r.slots, r.servers, r.results = map[int]bool{}, map[string]int{}, make(chan result)
	for i := range r.study.Cells {
		c := &r.study.Cells[i]
		state := r.study.State(c)
		if state.Status == Changed && r.RerunChanged {
			if err := r.moveAside(c, state); err != nil {
				return err
			}
		}
		if state.Status == Done || state.Status == Changed {
			continue
		}
		r.jobs = append(r.jobs, &job{cell: c, plan: r.Plans.Of[c.ID], state: state})
	}
	r.OnChange(r.study)
	return nil
}

// sayRemoved says which cells the study had, and has no more.
func (r *Runner) sayRemoved(old *Study) {
	for i := range old.Cells {
		c := &old.Cells[i]
		if r.Plans.Of[c.ID] == nil && old.State(c).Status != Waiting {
			r.Log("cell %s is no longer in the grid: its files stay, and the study does not count them", c.ID)
		}
	}
}

// moveAside keeps what a cell left with its old settings in the folder old, and makes
// the cell a new one. Its run gets another name, because the record keeps the old run.
func (r *Runner) moveAside(c *Cell, state *State) error {
	generation := state.Generation + 1
	old := filepath.Join(r.Dir, "old", fmt.Sprintf("%s.%d", c.ID, generation))
	// The state goes last: if this is interrupted, the cell is still a changed one.
	if err := moveTo(old, StreamFile(r.Dir, c.ID), MemoryFile(r.Dir, c.ID), LogFile(r.Dir, c.ID), StateFile(r.Dir, c.ID)); err != nil {
		return err
	}
	*state = State{V: 1, Cell: c.ID, Status: Waiting, Settings: c.Settings, Generation: generation}
	return WriteState(r.Dir, state, r.to...)
}

// loop begins cells and takes their results until none is left, or none can begin.
func (r *Runner) loop(ctx context.Context) error {
	stopped := ""
	for {
		var wake time.Time
		if ctx.Err() == nil && stopped == "" {
			var err error
			if wake, stopped, err = r.begin(ctx); err != nil {
				stopped = err.Error()
			}
		}
		idle := wake.IsZero() || ctx.Err() != nil || stopped != ""
		if r.running == 0 && idle {
			break
		}
		r.wait(ctx, wake)
	}
	left := 0
	for _, j := range r.jobs {
		if j.state.Status != Done {
			left++
		}
	}
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case stopped != "" && left > 0:
		return &StoppedError{stopped, left}
	}
	return nil
}

// wait waits for a result, a time, or the end.
func (r *Runner) wait(ctx context.Context, wake time.Time) {
	var timer <-chan time.Time
	if !wake.IsZero() {
		timer = time.After(time.Until(wake))
	}
	done := ctx.Done()
	if ctx.Err() != nil { // only results are of interest
		done, timer = nil, nil
	}
	select {
	case end := <-r.results:
		r.settle(ctx, end.job, end.exit)
		r.ended(end.job)
	case <-timer:
	case <-done:
	}
}

// begin begins all cells that can begin now. It returns when to look again, or why no
// further cell begins.
func (r *Runner) begin(ctx context.Context) (wake time.Time, stopped string, err error) {
	now := time.Now()
	if wait := r.File.Opens(now); wait > 0 {
		if r.running == 0 && r.pending() {
			r.Log("cells begin at %s", r.File.Start)
		}
		if r.pending() {
			return now.Add(wait), "", nil
		}
		return time.Time{}, "", nil
	}
	for _, j := range r.jobs {
		if r.running >= r.File.Workers {
			break
		}
		if !j.waits() || r.full(j.plan.Server) {
			continue
		}
		if j.after.After(now) {
			if wake.IsZero() || j.after.Before(wake) {
				wake = j.after
			}
			continue
		}
		if why := r.spent(); why != "" {
			return time.Time{}, why, nil
		}
		slot := r.slotFor(j)
		if slot == 0 {
			continue
		}
		if err := r.start(ctx, j, slot); err != nil {
			return wake, "", err
		}
	}
	return wake, "", nil
}

// waits reports whether the job is still to be run by this process.
func (j *job) waits() bool {
	return !j.busy && (j.state.Status == Waiting || j.state.Status == Running || j.retries == 0 && (j.state.Status == Failed || j.state.Status == Bounded))
}

func (r *Runner) pending() bool { return slices.ContainsFunc(r.jobs, (*job).waits) }

// full reports whether a server has all the work that the file allows it.
func (r *Runner) full(server string) bool {
	most, bounded := r.File.Servers[server]
	return server != "" && bounded && r.servers[server] >= most
}

// slotFor returns the worker for a cell; 0 if it is busy. A run continues in the
// record where it began, which belongs to one worker.
func (r *Runner) slotFor(j *job) int {
	if own := j.state.Worker; own > 0 && r.File.Kind == Runs {
		if r.slots[own] {
			return 0
		}
		return own
	}
	for n := 1; ; n++ {
		if !r.slots[n] {
			return n
		}
	}
}

// start starts a cell.
func (r *Runner) start(ctx context.Context, j *job, slot int) error {
	s := j.state
	s.Status, s.Worker, s.Settings, s.Reason = Running, slot, j.cell.Settings, ""
	s.Attempts++
	s.Ended = time.Time{}
	if s.Began.IsZero() {
		s.Began = time.Now().UTC()
	}
	if err := WriteState(r.Dir, s, r.to...); err != nil {
		return err
	}
	if err := r.beginAgain(j.cell, s); err != nil {
		return err
	}
	j.busy = true
	r.slots[slot] = true
	r.servers[j.plan.Server]++
	r.running++
	r.OnChange(r.study)
	p := r.process(j.cell, s)
	go func() {
		began := time.Now()
		exit := p.run(ctx)
		exit.Took = time.Since(began)
		r.results <- result{j, exit}
	}()
	return nil
}

// settle notes how a cell ended. A cell that was interrupted stays a running one.
func (r *Runner) settle(ctx context.Context, j *job, exit Exit) {
	s := j.state
	s.Millis += exit.Took.Milliseconds()
	o := r.Outcome(j.cell, exit)
	interrupted := ctx.Err() != nil && o.Status != Done
	s.Measures, s.Reason = o.Measures, o.Reason
	switch {
	case interrupted:
		s.Reason = "interrupted"
	case o.Suspended && j.retries < r.retries():
		j.retries++
		j.after = time.Now().Add(r.outageWait(o.Wait, j.retries))
		s.Reason = o.Reason + "; it is tried again"
	default:
		j.retries = max(j.retries, 1)
		s.Status, s.Ended = o.Status, time.Now().UTC()
	}
}

func (r *Runner) retries() int {
	if n := r.File.Outages.Retries; n != nil {
		return *n
	}
	return outageRetries
}

func (r *Runner) outageWait(wait time.Duration, retry int) time.Duration {
	wait = cmp.Or(wait, r.File.Outages.Wait, outageWait)
	for range retry - 1 {
		if wait *= 2; wait > maxOutageWait {
			return maxOutageWait
		}
	}
	return wait
}

// ended takes the result of a cell.
func (r *Runner) ended(j *job) {
	j.busy = false
	delete(r.slots, j.state.Worker)
	r.servers[j.plan.Server]--
	r.running--
	if err := WriteState(r.Dir, j.state, r.to...); err != nil {
		r.Log("cell %s: %v", j.cell.ID, err)
	}
	r.OnChange(r.study)
}

// spent says which budget is spent; "" if none is.
func (r *Runner) spent() string {
	b := r.File.Budget
	var tokens, cost float64
	var millis int64
	for i := range r.study.Cells {
		c := &r.study.Cells[i]
		s := r.study.State(c)
		tokens += s.Measures["tokens"] + s.Measures["input_tokens"] + s.Measures["output_tokens"]
		millis += s.Millis
		if r.Cost != nil {
			cost += r.Cost(c, s)
		}
	}
	switch {
	case b.Tokens > 0 && tokens >= float64(b.Tokens):
		return fmt.Sprintf("the budget of tokens is spent: %.0f of %d", tokens, b.Tokens)
	case b.Cost > 0 && cost >= b.Cost:
		return fmt.Sprintf("the budget of money is spent: %.4g of %.4g", cost, b.Cost)
	case b.Time > 0 && time.Duration(millis)*time.Millisecond >= b.Time:
		return fmt.Sprintf("the budget of time is spent: %v of %v", time.Duration(millis)*time.Millisecond, b.Time)
	}
	return ""
}
