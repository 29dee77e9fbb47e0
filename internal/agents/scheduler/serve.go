package scheduler

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"strings"
	"time"

	"github.com/sotto-llm/sotto/agent"
	"github.com/sotto-llm/sotto/internal/agents/schedule"
	"github.com/sotto-llm/sotto/internal/base/shorttext"
	"github.com/sotto-llm/sotto/model"
	"github.com/sotto-llm/sotto/record"
)

const (
	// grace is how long after its time a run is not late: a gateway that was restarted within
	// it has missed nothing.
	grace = time.Minute
	// look is how long a worker sleeps at most: clocks are set, and machines sleep.
	look = 30 * time.Second
	// touch is how often what is known of a schedule is written at least.
	touch = 24 * time.Hour
	// maxCounted bounds how many times are counted that were skipped or missed at once.
	maxCounted = 1000
	// maxProcesses is how many processes may work on a run: one that ends each of them must
	// not end the next.
	maxProcesses = 20
	// maxShown bounds what is kept of an answer and of a fault, in bytes.
	maxShown = 1 << 10
)

// A session is the time in which this process has a schedule.
type session struct {
	w    *worker
	hold hold
	done chan ending // of the run that is going; nil if none is
}

// An ending is how a run ended.
type ending struct {
	schedule.Run
	// cut says that the run has not ended: this process has ended its work on it, because of
	// err if it is not nil.
	cut bool
	err error
}

// serve begins what is due until this process must not any more.
func (w *worker) serve(h hold) error {
	ctx, cancel := context.WithCancelCause(w.s.ctx)
	x := &session{w: w, hold: h}
	err := x.serve(ctx)
	if err != nil {
		cancel(err) // what another process has is not ours to change
	}
	cancel(nil)
	if x.done == nil {
		return err
	}
	if e := <-x.done; err == nil { // it may have ended meanwhile
		err = x.ended(e)
	}
	return err
}

func (x *session) serve(ctx context.Context) error {
	if s := x.hold.state(); s != nil && s.Current != nil {
		if err := x.resume(ctx); err != nil {
			return err
		}
	}
	drained := x.w.s.drained
	for {
		wait, err := x.step(ctx, time.Now())
		if err != nil {
			return err
		}
		if x.done == nil && (x.w.plan() == nil || x.w.s.draining()) {
			return nil
		}
		timer := time.NewTimer(wait)
		select {
		case <-timer.C:
		case <-x.w.changed:
		case <-drained:
			drained = nil
		case e := <-x.done:
			x.done = nil
			if err := x.ended(e); err != nil || e.cut {
				timer.Stop()
				return cmp.Or(err, e.err)
			}
		case <-x.hold.lost():
			timer.Stop()
			return errLost
		case <-ctx.Done():
			timer.Stop()
			return nil
		}
		timer.Stop()
	}
}

// step deals with what is due, and says how long nothing more is.
func (x *session) step(ctx context.Context, now time.Time) (wait time.Duration, err error) {
	job := x.w.plan()
	if job == nil || x.w.s.draining() {
		return look, nil
	}
	form := job.form()
	s := x.hold.state()
	if s == nil || s.When != form.String() || s.Zone != form.Zone().String() {
		if s, err = x.begins(s, form, now); err != nil {
			return 0, err
		}
	}
	if last := form.Latest(s.After, now); !last.IsZero() {
		if err := x.due(ctx, job, form, last, now); err != nil {
			return 0, err
		}
	} else if now.Sub(s.Touched) > touch {
		if err := x.put(*s); err != nil {
			return 0, err
		}
	}
	next := form.Next(x.hold.state().After)
	return max(0, min(look, next.Sub(now))), nil
}

// begins notes that a schedule is new, or has another form: what was due before does not count.
func (x *session) begins(old *state, form *schedule.Schedule, now time.Time) (*state, error) {
	s := state{Agent: x.w.id.agent, Schedule: x.w.id.schedule}
	if old != nil {
		s = *old
	}
	s.When, s.Zone, s.After = form.String(), form.Zone().String(), now.UTC()
	return &s, x.put(s)
}

// put keeps a state.
func (x *session) put(s state) error {
	point("before put")
	defer point("after put")
	return x.hold.put(&s)
}

// due deals with the times up to the last one that is due.
func (x *session) due(ctx context.Context, job *Job, form *schedule.Schedule, last, now time.Time) error {
	s := *x.hold.state()
	s.Past = append([]schedule.Run(nil), s.Past...)
	without := func(after, until time.Time, outcome string) {
		if n := form.Count(after, until, maxCounted); n > 0 {
			s.ended(schedule.Run{Due: form.Next(after).UTC(), Until: until.UTC(), Times: n, Outcome: outcome})
		}
	}
	after := s.After
	s.After = last.UTC()
	switch late := now.Sub(last) > grace; {
	case s.Current != nil:
		without(after, last, schedule.Skipped)
		return x.put(s)
	case late && job.SkipMissed:
		without(after, last, schedule.Missed)
		return x.put(s)
	}
	before := last.Add(-time.Second) // times are whole seconds
	if previous := form.Latest(after, before); !previous.IsZero() {
		without(after, previous, schedule.Missed)
	}
	s.Current = &current{
		Run:  schedule.Run{Due: last.UTC(), Outcome: schedule.Running, Began: now.UTC(), Run: job.Agent.Name + ":" + strings.ToLower(rand.Text()[:16])},
		Task: job.Task, Time: job.Time, ID: rand.Text(),
	}
	return x.begin(ctx, job.Agent, s)
}

// begin begins the run of a state, or goes on with it.
func (x *session) begin(ctx context.Context, a *agent.Agent, s state) error {
	run := *s.Current
	run.Processes++
	if w := x.w.s.o.Record; w != nil {
		run.Record = w.ID()
	}
	s.Current = &run
	if err := x.put(s); err != nil {
		return err
	}
	done := make(chan ending, 1)
	x.done = done
	x.w.s.o.Log.Info("a scheduled run begins", "schedule", x.w.id.String(), "due", run.Due.Format(time.RFC3339), "run", run.Run.Run, "process", run.Processes)
	go func() { done <- x.run(ctx, a, &run) }()
	return nil
}

// resume goes on with the run of a process that has ended.
func (x *session) resume(ctx context.Context) error {
	s := *x.hold.state()
	job := x.w.plan()
	if job == nil || s.Current.Processes >= maxProcesses {
		r := s.Current.Run
		r.Outcome, r.Ended, r.Fault = schedule.Interrupted, time.Now().UTC(), "the processes that worked on it ended before it did"
		return x.ended(ending{Run: r})
	}
	return x.begin(ctx, job.Agent, s)
}

// errTime is the error of a run that took too long.
var errTime = errors.New("the run took longer than its time")

// run lets the agent work on the task.
func (x *session) run(ctx context.Context, a *agent.Agent, of *current) (e ending) {
	e.Run = of.Run
	log, _, err := openLog(x.hold, of)
	if err != nil {
		e.cut, e.err = true, err
		return e
	}
	within, cancel := context.WithTimeoutCause(ctx, of.Time-log.spent, errTime)
	defer cancel()
	start := record.RunStart{
		Agent: a.Name, Resumed: of.Processes > 1, Goal: record.Say(of.Task),
		IDs: map[string]string{"schedule": x.w.id.schedule, "due": of.Due.UTC().Format(time.RFC3339)},
	}
	out, err := a.Answer(within, agent.Conversation{
		Messages: []model.Message{{Role: model.User, Text: of.Task}},
		Record:   x.w.s.o.Record, Run: of.Run.Run, Cycle: 1, Log: log, Start: &start, Last: true,
	}, func(agent.Event) error { return nil })
	switch {
	case ctx.Err() != nil || log.fault != nil:
		e.cut, e.err = true, log.fault
		return e
	case errors.Is(context.Cause(within), errTime):
		e.Outcome, e.Fault = schedule.Late, record.Text(errTime.Error())
	case err != nil:
		return x.failed(e, err)
	default:
		e.Outcome = string(out.Status)
		e.Answer = record.Text(shorttext.Ellipsis(record.NewSecrets(a.Secrets...).Redact(out.Answer), maxShown))
		if out.Status == agent.Failed {
			e.Fault = "the agent's model could not be asked"
		}
	}
	e.Ended = time.Now().UTC()
	return e
}

// failed ends a run that cannot be recorded, or that cannot be resumed.
func (x *session) failed(e ending, err error) ending {
	x.w.s.o.Log.Error("a scheduled run failed", "schedule", x.w.id.String(), "run", e.Run.Run, "error", err.Error())
	e.Outcome, e.Ended, e.Fault = string(agent.Failed), time.Now().UTC(), "the run could not be recorded; the log of the server says why"
	if _, ok := errors.AsType[*agent.Difference](err); ok {
		e.Fault = "the agent is not the one that began the run: its file was changed between"
	}
	return e
}

// ended notes how a run ended. What was cut goes on in another process.
func (x *session) ended(e ending) error {
	if e.cut {
		return nil
	}
	s := *x.hold.state()
	due := s.Current.Due
	s.Past = append([]schedule.Run(nil), s.Past...)
	s.Current = nil
	s.ended(e.Run)
	if err := x.put(s); err != nil {
		return err
	}
	x.w.s.o.Log.Info("a scheduled run has ended", "schedule", x.w.id.String(), "run", e.Run.Run, "outcome", e.Outcome)
	return x.hold.drop(due)
}
