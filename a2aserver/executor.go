package a2aserver

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"runtime/debug"
	"strings"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2asrv"

	"github.com/sotto-llm/sotto/internal/data/transact"
)

// answerID is the id of a task's only artifact.
const answerID a2a.ArtifactID = "answer"

// stopWait is how long a mind may take to end after it was told to.
const stopWait = 5 * time.Second

// The executor turns what a mind does into the events of a task.
type executor struct{ s *Server }

var (
	_ a2asrv.AgentExecutor         = (*executor)(nil)
	_ a2asrv.AgentExecutionCleaner = (*executor)(nil)
)

// Execute works on one message.
func (x *executor) Execute(ctx context.Context, ec *a2asrv.ExecutorContext) iter.Seq2[a2a.Event, error] {
	return func(yield func(a2a.Event, error) bool) {
		r := &run{s: x.s, ec: ec, emit: func(e a2a.Event) bool { return yield(e, nil) }, lose: func(why error) { yield(nil, errors.Join(errLost, why)) }}
		place, err := x.s.begin(ctx, ec)
		if errors.Is(err, errClosing) && x.s.leases != nil {
			r.leave(visitFrom(ctx).caller, err)
			return
		}
		if ec.StoredTask == nil && !r.emit(a2a.NewSubmittedTask(ec, ec.Message)) {
			return
		}
		if err != nil {
			e := ended{ending: Refused, state: a2a.TaskStateRejected, message: err.Error()}
			if errors.Is(err, errClosing) {
				e.ending, e.message = Interrupted, interruptedMessage
			}
			r.emit(e.status(ec))
			return
		}
		defer place.Release()
		r.run(ctx)
	}
}

// Cancel ends a task. The context of its work ends, and whatever that still reports
// is ignored.
func (x *executor) Cancel(_ context.Context, ec *a2asrv.ExecutorContext) iter.Seq2[a2a.Event, error] {
	return func(yield func(a2a.Event, error) bool) {
		yield(ended{ending: Canceled, state: a2a.TaskStateCanceled}.status(ec), nil)
	}
}

// Cleanup is called when the last event of an execution is stored.
func (x *executor) Cleanup(_ context.Context, ec *a2asrv.ExecutorContext, _ a2a.SendMessageResult, _ error) {
	x.s.done(ec)
}

// A run is the work on one message.
type run struct {
	s    *Server
	ec   *a2asrv.ExecutorContext
	emit func(a2a.Event) bool
	lose func(why error) // says that the task is no longer this process's

	reasoning, chunks bool // the client asked for

	progress        progress
	updates, pieces pace
	text            strings.Builder // the visible text so far
	sent            int             // bytes of it that were sent in pieces
	tools           int             // tools that are running
}

// An answer is what a mind returns.
type answer struct {
	out Outcome
	err error
}

func (r *run) run(ctx context.Context) {
	owner := visitFrom(ctx).caller
	ctx = r.s.leases.work(ctx, owner, r.ec.TaskID)
	now := time.Now()
	r.updates, r.pieces = pace{begun: now, least: r.s.gaps.progress}, pace{begun: now, least: r.s.gaps.chunk}
	r.progress.previews = r.s.previews
	r.reasoning, r.chunks = r.s.asked(ctx, ReasoningExtension), r.s.asked(ctx, ChunksExtension)
	if !r.emit(a2a.NewStatusUpdateEvent(r.ec, a2a.TaskStateWorking, nil)) {
		return
	}
	switch err := r.s.store.resumed(ctx, r.ec.TaskID, r.s.closing.Done()); {
	case r.isLost(ctx, err):
		r.leave(owner, err)
		return
	case errors.Is(err, errClosing):
		r.finish(answer{err: err})
		return
	case err != nil:
		return
	}
	ctx = traced(ctx, r.ec.Message)
	turn, err := r.s.turn(ctx, r.ec)
	if r.isLost(ctx, err) {
		r.leave(owner, err)
		return
	}
	if err != nil {
		r.s.log.Error("the conversation cannot be read", "task", string(r.ec.TaskID), "error", err)
		r.finish(answer{err: err})
		return
	}
	turn.Record = r.s.store.runs.writer()
	if err := r.s.store.runs.begin(ctx, &turn); err != nil {
		r.finish(answer{err: err})
		return
	}
	a, ok := r.listen(ctx, turn)
	switch {
	case r.isLost(ctx, a.err):
		r.leave(owner, a.err)
		return
	case !ok:
		return
	}
	if turn.Memo != nil || a.out.Memo != nil {
		if err := r.s.store.keepMemo(owner, r.ec.TaskID, turn.Cycle, a.out.Memo); err != nil {
			r.s.log.Error("the state of the mind cannot be stored", "task", string(r.ec.TaskID), "error", err)
		}
	}
	r.finish(a)
}

// isLost reports whether another process has to go on with the task: it has the task already, or
// this one shuts down, or cannot reach the store.
func (r *run) isLost(ctx context.Context, err error) bool {
	if r.s.leases == nil {
		return false
	}
	return errors.Is(context.Cause(ctx), errLost) || errors.Is(err, errLost) || errors.Is(err, errClosing) || errors.Is(err, transact.ErrUnreachable)
}

// leave leaves a task to other processes, as it is. The SDK would fail it, which no longer counts.
func (r *run) leave(owner string, why error) {
	r.s.leases.lose(owner, r.ec.TaskID)
	r.s.store.giveUp(owner, r.ec.TaskID)
	r.s.leases.space.Release([]transact.Job{workOn(owner, r.ec.TaskID)})
	if row, err := r.s.store.row(owner, r.ec.TaskID); err == nil && row.Task.Status.State.Terminal() { // it was canceled elsewhere
		r.s.store.runs.ended(row)
	}
	r.lose(why)
}

// listen lets the mind answer and reports its progress. It returns false if the end
// is no longer wanted.
func (r *run) listen(parent context.Context, turn Turn) (answer, bool) {
	ctx, stop := context.WithCancelCause(parent)
	defer stop(nil)
	events, done := make(chan Event), make(chan answer, 1)
	r.s.minds.Go(func() { done <- r.think(ctx, turn, events) })

	silence := time.NewTimer(r.s.silence)
	defer silence.Stop()
	tick := time.NewTimer(time.Hour)
	defer tick.Stop()
	for {
		select {
		case e := <-events:
			silence.Reset(r.s.silence)
			r.notice(e)
			if r.text.Len() > r.s.limits.Answer {
				return r.stop(errTooLong, stop, done), true
			}
		case a := <-done:
			return a, parent.Err() == nil
		case <-silence.C:
			if r.tools > 0 { // their own limit ends them
				silence.Reset(r.s.silence)
				continue
			}
			return r.stop(errSilent, stop, done), true
		case <-r.s.closing.Done():
			return r.stop(errClosing, stop, done), true
		case <-parent.Done():
			return answer{}, false
		case <-tick.C:
		}
		wait, ok := r.tell()
		if !ok {
			return answer{}, false
		}
		tick.Reset(wait)
	}
}

// think calls the mind, and records how it ended.
func (r *run) think(ctx context.Context, turn Turn, events chan<- Event) answer {
	began := time.Now()
	var shown strings.Builder
	a := r.answer(ctx, turn, func(e Event) error {
		select {
		case events <- e:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		if v, ok := e.(Visible); ok {
			shown.WriteString(v.Text)
		}
		return nil
	})
	why := a.err
	if ctx.Err() != nil {
		why = context.Cause(ctx)
	}
	e := end(a.out, why, shown.String(), r.s.silence)
	if ctx.Err() != nil && e.ending == Aborted { // not by the server, so it was the client
		e.ending = Canceled
	}
	e.limit(r.s.limits.Answer)
	if err := r.s.store.runs.end(turn, e, a.out, time.Since(began)); err != nil {
		return answer{err: err}
	}
	return a
}

// answer calls the mind. A panic is an error.
func (r *run) answer(ctx context.Context, turn Turn, on func(Event) error) (a answer) {
	defer func() {
		if v := recover(); v != nil {
			a.err = fmt.Errorf("the mind panicked: %v", v)
			r.s.log.Error("a mind panicked", "task", turn.Task, "panic", fmt.Sprint(v), "stack", string(debug.Stack()))
		}
	}()
	a.out, a.err = r.s.mind.Answer(ctx, turn, on)
	return a
}

// stop ends the mind and waits for it, but not forever.
func (r *run) stop(why error, stop context.CancelCauseFunc, done <-chan answer) answer {
	stop(why)
	a := answer{err: why}
	select {
	case late := <-done:
		a.out = late.out
	case <-time.After(stopWait):
		r.s.log.Warn("a mind does not stop although its context ended", "task", string(r.ec.TaskID))
	}
	return a
}

func (r *run) notice(e Event) {
	switch e := e.(type) {
	case Visible:
		r.text.WriteString(e.Text)
	case Reasoning:
		if r.reasoning {
			r.progress.gather(e)
		}
	default:
		switch e.(type) {
		case ToolStart:
			r.tools++
		case ToolEnd:
			r.tools--
		}
		r.progress.gather(e)
	}
}

// tell sends the updates that are due, and returns how long the rest may wait.
func (r *run) tell() (wait time.Duration, ok bool) {
	now, wait := time.Now(), time.Hour
	if r.progress.pending() {
		due := r.updates.due()
		if at := r.progress.dueAt(r.updates.least); at.After(due) {
			due = at
		}
		if due.After(now) {
			wait = min(wait, due.Sub(now))
		} else if !r.report(now, false) {
			return 0, false
		}
	}
	if r.chunks && r.text.Len() > r.sent {
		if due := r.pieces.due(); due.After(now) {
			wait = min(wait, due.Sub(now))
		} else if !r.piece(now) {
			return 0, false
		}
	}
	return wait, true
}

// report sends the progress of the work.
func (r *run) report(now time.Time, last bool) bool {
	parts := r.progress.unsent(last)
	if len(parts) == 0 {
		return true
	}
	r.updates.last = now
	m := a2a.NewMessageForTask(a2a.MessageRoleAgent, r.ec, parts...)
	m.SetMeta(ProgressKey, true)
	return r.emit(a2a.NewStatusUpdateEvent(r.ec, a2a.TaskStateWorking, m))
}

// piece sends the visible text that was not sent yet, cut between characters.
func (r *run) piece(now time.Time) bool {
	text := r.text.String()[r.sent:]
	text = text[:len(text)-cutRune(text)]
	if text == "" || r.sent == 0 && blank(text) {
		return true
	}
	r.pieces.last = now
	e := a2a.NewArtifactUpdateEvent(r.ec, answerID, a2a.NewTextPart(valid(text)))
	e.Append = r.sent > 0
	r.sent += len(text)
	return r.emit(e)
}

// finish sends the end: the remaining progress, the artifact, the state.
func (r *run) finish(a answer) {
	if a.err != nil {
		r.s.log.Warn("a task was not finished", "task", string(r.ec.TaskID), "error", a.err)
	}
	e := end(a.out, a.err, r.text.String(), r.s.silence)
	if blank(e.text) && r.sent > 0 {
		e.text = r.text.String() // text that was sent in pieces must be sent as a whole at the end
	}
	e.limit(r.s.limits.Answer)
	if !r.report(time.Now(), true) {
		return
	}
	if !blank(e.text) && !r.emit(r.artifact(e)) {
		return
	}
	r.emit(e.status(r.ec))
}

func (r *run) artifact(e ended) *a2a.TaskArtifactUpdateEvent {
	u := a2a.NewArtifactEvent(r.ec, a2a.NewTextPart(valid(e.text)))
	u.Artifact.ID, u.Artifact.Name, u.LastChunk = answerID, "answer", true
	if e.spent != nil {
		u.Artifact.SetMeta(UsageKey, spending(e.spent))
	}
	if e.ending != Answered {
		u.Artifact.SetMeta(OutcomeKey, string(e.ending))
	}
	return u
}
