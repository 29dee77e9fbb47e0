// Package scheduler gives agents their tasks when they are due.
//
// What is known of a schedule is kept by a [Keeper]: the time up to which all is dealt with, the
// run that is going, and the last runs. A run that is due and the time are kept in one change
// before the run begins. So no time has two runs, whatever is killed, and none is forgotten. A
// run whose process ends goes on in the next one that has the schedule, by the log of its events:
// what was asked and called is not asked and called again.
//
// One process at a time works on a schedule. Of the others each tries again and again to become
// that one.
package scheduler

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/sotto-llm/sotto/agent"
	"github.com/sotto-llm/sotto/internal/agents/schedule"
	"github.com/sotto-llm/sotto/record"
)

// A Job is a schedule of an agent.
type Job struct {
	Agent *agent.Agent
	agent.Schedule
}

func (j Job) name() name { return name{j.Agent.Name, j.Schedule.Name} }

func (j Job) form() *schedule.Schedule {
	form, err := schedule.Parse(j.When, j.Zone)
	if err != nil {
		panic("scheduler: " + err.Error()) // the file was checked
	}
	return form
}

// Options are what a scheduler uses.
type Options struct {
	Keeper Keeper
	// Record, if set, gets each run.
	Record *record.Writer
	Log    *slog.Logger
}

// A Scheduler works on schedules until it is closed.
type Scheduler struct {
	o Options

	ctx     context.Context // ends with Close
	stop    context.CancelFunc
	drained chan struct{} // closed when no run begins any more
	drain   sync.Once

	mu      sync.Mutex
	workers map[name]*worker
	working sync.WaitGroup
}

// New makes a scheduler without jobs.
func New(o Options) *Scheduler {
	s := &Scheduler{o: o, drained: make(chan struct{}), workers: map[name]*worker{}}
	s.ctx, s.stop = context.WithCancel(context.Background())
	return s
}

// Set replaces the jobs. A run that is going ends as it began, also if its schedule is gone.
func (s *Scheduler) Set(jobs []Job) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ctx.Err() != nil {
		return
	}
	stay := map[name]bool{}
	for _, j := range jobs {
		id := j.name()
		stay[id] = true
		if w := s.workers[id]; w != nil {
			w.change(&j)
			continue
		}
		w := &worker{s: s, id: id, job: &j, changed: make(chan struct{}, 1)}
		s.workers[id] = w
		s.working.Go(w.work)
	}
	for id, w := range s.workers {
		if !stay[id] {
			w.change(nil)
		}
	}
}

// Drain begins no run any more, and waits until those that are going have ended.
func (s *Scheduler) Drain(ctx context.Context) error {
	s.drain.Do(func() { close(s.drained) })
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		s.working.Wait()
	}()
	select {
	case <-ended:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Close interrupts the runs that are going. The next process goes on with them.
func (s *Scheduler) Close() {
	s.stop()
	s.working.Wait()
}

// draining reports whether no run begins any more.
func (s *Scheduler) draining() bool {
	select {
	case <-s.drained:
		return true
	default:
		return false
	}
}

// Status returns what is known of the schedules, in the order of their names.
func (s *Scheduler) Status(now time.Time) ([]schedule.Status, error) {
	s.mu.Lock()
	var jobs []Job
	for _, w := range s.workers {
		if j := w.plan(); j != nil {
			jobs = append(jobs, *j)
		}
	}
	s.mu.Unlock()
	return StatusOf(s.o.Keeper, jobs, now)
}

// shownNext is how many of the next times are shown.
const shownNext = 3

// StatusOf returns what a keeper knows of jobs, whichever process works on them.
func StatusOf(k Keeper, jobs []Job, now time.Time) ([]schedule.Status, error) {
	all := map[string]schedule.Status{}
	for _, j := range jobs {
		form := j.form()
		st := schedule.Status{Agent: j.Agent.Name, Name: j.Schedule.Name, When: form.String(), Zone: form.Zone().String(), Next: form.Following(now, shownNext), Past: []schedule.Run{}}
		kept, err := k.read(j.name())
		if err != nil {
			return nil, err
		}
		if kept != nil {
			if kept.Current != nil {
				st.Past = append(st.Past, kept.Current.Run)
			}
			for _, r := range slices.Backward(kept.Past) {
				st.Past = append(st.Past, r)
			}
		}
		all[j.name().String()] = st
	}
	list := []schedule.Status{}
	for _, key := range slices.Sorted(maps.Keys(all)) {
		list = append(list, all[key])
	}
	return list, nil
}

// A worker works on one schedule.
type worker struct {
	s  *Scheduler
	id name

	mu      sync.Mutex
	job     *Job          // nil if the schedule is gone
	changed chan struct{} // has room for one
}

func (w *worker) plan() *Job {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.job
}

func (w *worker) change(j *Job) {
	w.mu.Lock()
	w.job = j
	w.mu.Unlock()
	select {
	case w.changed <- struct{}{}:
	default:
	}
}

// again is how long a process waits before it tries again to have a schedule.
const again = time.Second

// work has the schedule as often as it can.
func (w *worker) work() {
	said := false
	for {
		h, err := w.s.o.Keeper.take(w.id)
		switch {
		case err == nil:
			said = false
			err = w.serve(h)
			h.release()
		case errors.Is(err, errElsewhere):
			err = nil
		}
		if err != nil && !errors.Is(err, errLost) && !said {
			said = true
			w.s.o.Log.Error("a schedule does not run: what is known of it cannot be read or written", "schedule", w.id.String(), "error", err.Error())
		}
		if w.left() {
			return
		}
		select {
		case <-time.After(again):
		case <-w.s.drained:
			return
		case <-w.s.ctx.Done():
			return
		}
	}
}

// left removes a worker whose schedule is gone.
func (w *worker) left() bool {
	w.s.mu.Lock()
	defer w.s.mu.Unlock()
	if w.plan() != nil {
		return w.s.ctx.Err() != nil || w.s.draining()
	}
	delete(w.s.workers, w.id)
	return true
}
