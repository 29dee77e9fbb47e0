package agent

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/sotto-llm/sotto/internal/base/retry"
	"github.com/sotto-llm/sotto/internal/base/sleep"
	"github.com/sotto-llm/sotto/model"
	"github.com/sotto-llm/sotto/record"
)

// A run waits while its model cannot be reached: nothing of a reply has come, and the
// fault is not in the request. The time is bounded by Limits.Outage, and by what is
// left of Limits.Time. When it is over, or if the server refuses the run for good,
// the run is suspended, in the middle of its cycle. A conversation, for which
// somebody waits, does not wait: an outage is a failed attempt.
//
// The record has an outage as two events of type ERROR, before the invocation that
// succeeded or the end of the run. A process that is killed in between leaves only
// the first one.
const (
	outageBegins = "start"
	outageEnds   = "end"
)

// An OutageReport tells an observer that a run waits for its model.
type OutageReport struct {
	Run   string
	Cycle int
	// Bound is BoundOutage, BoundRateLimit or BoundRefused.
	Bound Bound
	// Error is what went wrong last; "" if the outage is over.
	Error string
	// Failures counts the requests that failed, from 1, and Waited is the time since
	// the first one began.
	Failures int
	Waited   time.Duration
	// Next is when the model is asked again; 0 if it is not.
	Next time.Duration
	// Over says that the model answers again.
	Over bool
}

var bounds = map[model.Kind]Bound{model.KindOutage: BoundOutage, model.KindRateLimit: BoundRateLimit, model.KindRefused: BoundRefused}

// errSlow is the cause of a reply that took longer than Limits.ReplyTime.
var errSlow = errors.New("no whole reply in time")

// unreachable returns why a model to which nothing of a reply came cannot be
// reached, or "" if the failure is one of the request.
func unreachable(err error) Bound {
	if e, ok := errors.AsType[*model.Error](err); ok {
		return bounds[e.Kind()]
	}
	if errors.Is(err, errSlow) {
		return BoundOutage
	}
	return ""
}

// An outage is what a turn knows of the outage that it waits for.
type outage struct {
	*turn
	open     bool // its begin is in the record
	bound    Bound
	failures int
	began    time.Time
	series   *retry.Series
}

// through calls ask until it reaches the model. ask returns a failure, and whether
// anything of a reply came. open says that the begin of an outage is in the record,
// and not its end. The error is one of the context or the record, or errSuspended.
func (t *turn) through(ctx context.Context, open bool, ask func() (heard bool, failure error)) (failure, err error) {
	o := outage{turn: t, open: open, bound: BoundOutage, began: time.Now()}
	for {
		heard, failure := ask()
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		bound := Bound("")
		if failure != nil && !heard && t.top != nil {
			bound = unreachable(failure)
		}
		if bound == "" {
			return failure, o.over(ctx)
		}
		if err := o.wait(ctx, bound, failure); err != nil {
			return nil, err
		}
	}
}

// wait waits for the next request, or suspends the run.
func (o *outage) wait(ctx context.Context, b Bound, cause error) error {
	o.failures++
	o.bound = b
	if !o.open {
		if err := o.put(ctx, record.Failure{Code: string(b), Phase: outageBegins, Message: cause.Error()}); err != nil {
			return err
		}
		o.open = true
	}
	if o.series == nil {
		o.series = retry.Policy{First: o.Limits.RetryWait, Longest: o.Limits.RetryWait << maxDoubled, Total: o.patience()}.Start()
	}
	v := retry.Verdict{Again: b != BoundRefused}
	if e, ok := errors.AsType[*model.Error](cause); ok {
		v.After = e.RetryAfter
	}
	next, ok := o.series.Next(v)
	report := OutageReport{Run: o.Run, Cycle: o.Cycle, Bound: b, Error: cause.Error(), Failures: o.failures, Waited: time.Since(o.began), Next: next}
	if f := o.Observer.OnOutage; f != nil {
		f(report)
	}
	if !ok {
		if err := o.put(ctx, o.ended(cause.Error())); err != nil {
			return err
		}
		return o.top.suspend(ctx, b)
	}
	point("outage")
	return sleep.For(ctx, next)
}

// patience returns how long the outage may last from now.
func (o *outage) patience() time.Duration {
	limit := o.Limits.Outage
	switch {
	case limit == 0:
		limit = defaultOutage
	case limit < 0:
		limit = 0
	}
	if left := o.left.time(o.turn); left > 0 {
		left = max(left-time.Since(o.began), 1)
		if limit == 0 || left < limit {
			limit = left
		}
	}
	return limit
}

// ended returns the event of its end; message is "" if the model answers again.
func (o *outage) ended(message string) record.Failure {
	return record.Failure{Code: string(o.bound), Phase: outageEnds, Count: uint64(o.failures), Millis: millis(time.Since(o.began)), Message: message}
}

// over records that the model answers again. The time of the outage counts as time
// of the run.
func (o *outage) over(ctx context.Context) error {
	if !o.open {
		return nil
	}
	x := o.ended("")
	if err := o.put(ctx, x); err != nil {
		return err
	}
	o.took.Time += time.Duration(x.Millis) * time.Millisecond
	if f := o.Observer.OnOutage; f != nil {
		f(OutageReport{Run: o.Run, Cycle: o.Cycle, Bound: o.bound, Failures: o.failures, Waited: time.Since(o.began), Over: true})
	}
	return nil
}

func (o *outage) put(ctx context.Context, x record.Failure) error {
	_, err := o.journal.put(ctx, o.Run, o.Cycle, x)
	return err
}

// passOutages passes recorded outages, and with them the suspensions of the run in
// the middle of a cycle. open says that the last outage has not ended. If the record
// ends with a suspension, the run begins again.
func (t *turn) passOutages(ctx context.Context) (open bool, err error) {
	if t.top == nil {
		return false, nil
	}
	var pending time.Duration
	suspended := false
	for !t.journal.live() {
		e := &t.journal.past[0]
		switch p := e.Payload.(type) {
		case record.Failure:
			if p.Phase == "" {
				break
			}
			if _, err := t.journal.put(ctx, t.Run, t.Cycle, p); err != nil {
				return false, err
			}
			open, pending = p.Phase == outageBegins, time.Duration(p.Millis)*time.Millisecond
			continue
		case record.RunEnd:
			if e.Run != t.top.name || p.Status != string(Suspended) {
				break
			}
			if err := t.top.suspend(ctx, Bound(p.Bound)); !errors.Is(err, errSuspended) {
				return false, err
			}
			suspended, pending = true, 0
			continue
		case record.RunStart:
			if !suspended {
				break
			}
			if err := t.top.begin(ctx, true); err != nil {
				return false, err
			}
			suspended = false
			continue
		}
		break
	}
	t.took.Time += pending
	switch {
	case suspended && t.journal.w == nil:
		return false, errSuspended
	case suspended:
		return false, t.top.begin(ctx, true)
	}
	return open, nil
}

// errSuspended ends a process's part of a run that can be resumed.
var errSuspended = errors.New("the run is suspended")

// suspend records the end of a run that can be resumed. It returns errSuspended.
func (r *run) suspend(ctx context.Context, b Bound) error {
	r.summary.Status, r.summary.Bound = Suspended, b
	if err := r.end(ctx); err != nil {
		return err
	}
	return fmt.Errorf("%w: %s", errSuspended, b)
}
