package agent

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"

	"github.com/sotto-llm/sotto/record"
)

// errEnd means that a replay reached the end of the record of an unfinished run.
var errEnd = errors.New("the record ends here")

// A journal holds a run's recorded events, and appends new ones. The machine passes
// the recorded events one by one, as it comes to them again. After the last one the
// machine is live, and its events are appended. A nil journal keeps nothing.
type journal struct {
	past   []record.Event // events of the run and of its agents that were not passed yet
	w      *record.Writer // nil in a replay, and where nothing is recorded
	log    TurnLog        // nil for none
	passed uint64         // the number of the last event that was passed
	once   bool           // nobody resumes it, so a reply that is cut off is recorded as far as it came
}

// readPast reads the events of a run and of the runs below it. Of a record with many
// runs, it reads the lines from the first of these events to the last.
func readPast(dir, run string, o record.ReadOptions) ([]record.Event, error) {
	r, err := record.OpenReader(dir, o)
	if err != nil {
		return nil, err
	}
	of := func(name string) bool { return name == run || strings.HasPrefix(name, run+childMark) }
	q, sealed := record.Query{NoCheckpoints: true}, false
	for e, err := range r.Entries(q) {
		if err != nil {
			return nil, err
		}
		if e.Type == record.TypeSealed { // the index does not know which runs are in it
			q.After, q.Before, sealed = 0, 0, true
			break
		}
		if !of(e.Run) {
			continue
		}
		if q.Before == 0 {
			q.After = e.Seq - 1
		}
		q.Before = e.Seq + 1
	}
	if q.Before == 0 && !sealed {
		return nil, nil
	}
	var past []record.Event
	for e, err := range r.Events(q) {
		if err != nil {
			return nil, err
		}
		if e.Type == record.TypeSealed { // the run may be in it
			return nil, record.ErrSealed
		}
		if of(e.Run) {
			past = append(past, e)
		}
	}
	return past, nil
}

// live reports whether all of the past has been passed.
func (j *journal) live() bool { return j == nil || len(j.past) == 0 }

// cutOff reports whether a reply is recorded that the end of the context cut off.
func (j *journal) cutOff() bool { return j != nil && j.once }

// id returns the identifier of the recorded run.
func (j *journal) id() string {
	start, _ := j.past[0].Payload.(record.RunStart)
	return start.ID
}

// tools returns what the recorded run was told of tools of other programs.
func (j *journal) tools() string {
	if j.live() {
		return ""
	}
	start, _ := j.past[0].Payload.(record.RunStart)
	return start.Config["tools"]
}

// start returns the start of a run if it is the next recorded event.
func (j *journal) start(run string) *record.RunStart {
	if !j.live() && j.past[0].Run == run {
		if start, ok := j.past[0].Payload.(record.RunStart); ok {
			return &start
		}
	}
	return nil
}

// endedAs reports whether the next recorded event is the end of a run with a status.
func (j *journal) endedAs(s Status) bool {
	if j.live() {
		return false
	}
	end, ok := j.past[0].Payload.(record.RunEnd)
	return ok && end.Status == string(s)
}

// recall returns the next recorded event if there is one. Except for its outcome it
// must be the wanted event, else the error is a [*Difference].
func (j *journal) recall(run string, cycle int, want record.Payload) (record.Payload, *record.Event, error) {
	if j == nil {
		return nil, nil, nil
	}
	if len(j.past) == 0 {
		if j.w == nil && j.log == nil {
			return nil, nil, errEnd
		}
		return nil, nil, nil
	}
	e := &j.past[0]
	if err := same(e, run, cycle, want, j.view(e, asked)); err != nil {
		return nil, nil, err
	}
	past := e.Payload
	if j.log != nil {
		past = completed(past, want)
	}
	e, err := j.pass(past)
	return past, e, err
}

// put passes or appends an event.
func (j *journal) put(ctx context.Context, run string, cycle int, p record.Payload) (*record.Ref, error) {
	if j == nil {
		return nil, nil
	}
	if len(j.past) > 0 {
		e := &j.past[0]
		if err := same(e, run, cycle, p, j.view(e, whole)); err != nil {
			return nil, err
		}
		e, err := j.pass(p)
		if err != nil {
			return nil, err
		}
		return refOf(e), nil
	}
	if j.w == nil && j.log == nil {
		return nil, errEnd
	}
	point("before " + string(p.Type()))
	if err := j.keep(ctx, record.Event{Run: run, Cycle: cycle, Payload: p}); err != nil {
		return nil, err
	}
	if j.w == nil {
		point("behind " + string(p.Type()))
		return nil, nil
	}
	receipt, err := j.w.Append(context.WithoutCancel(ctx), record.Event{Run: run, Cycle: cycle, Payload: p})
	if err != nil {
		return nil, fmt.Errorf("record %s: %w", p.Type(), err)
	}
	point("behind " + string(p.Type()))
	if len(receipt.Replies) == 0 {
		return nil, nil
	}
	return &record.Ref{Seq: receipt.Seq, Digest: receipt.Replies[0]}, nil
}

// view is how a recorded event and the wanted one are compared. What is only
// counted must not keep a run from being resumed by a version that counts
// differently, so a run that is resumed is compared without it. Records of earlier
// versions do not say which reply a summary comes from, what was thought in a cycle, nor
// which run an agent's result comes from.
func (j *journal) view(recorded *record.Event, parts func(record.Payload) record.Payload) func(record.Payload) record.Payload {
	was, _ := recorded.Payload.(record.CycleEnd)
	called, _ := recorded.Payload.(record.ToolCall)
	return func(p record.Payload) record.Payload {
		p = parts(p)
		switch x := p.(type) {
		case record.Invocation:
			if j.log != nil {
				x.Messages = nil
			}
			return x
		case record.CycleEnd:
			if was.Of == nil {
				x.Of = nil
			}
			if was.Reasoning == nil {
				x.Reasoning = nil
			}
			if j.w != nil {
				x.Metrics = nil
			}
			return x
		case record.ToolCall:
			if called.Child == nil || j.log != nil {
				x.Child = nil
			}
			if j.log != nil { // where the record of another process has the reply
				x.Of = nil
			}
			x.Peer = nil
			return x
		case record.RunEnd:
			if j.w != nil || j.log != nil {
				x.Metrics = nil
			}
			return x
		}
		return p
	}
}

// consent passes the next recorded event if it is a receipt about a use.
func (j *journal) consent(run string, cycle, number int) *record.Consent {
	if j.live() {
		return nil
	}
	e := &j.past[0]
	x, ok := e.Payload.(record.Consent)
	if !ok || e.Run != run || e.Cycle != cycle || x.Number != number {
		return nil
	}
	if _, err := j.pass(x); err != nil {
		return nil // the next event cannot be recorded either
	}
	return &x
}

// declined reports whether the next recorded event is the end of this call, to which
// nobody agreed.
func (j *journal) declined(x record.ToolCall) bool {
	if j.live() {
		return false
	}
	was, ok := j.past[0].Payload.(record.ToolCall)
	return ok && was.Phase == "end" && was.Number == x.Number && was.Error == declined
}

// nextMillis returns the recorded time of the call whose end is next in the past, or
// the given time if there is none.
func (j *journal) nextMillis(otherwise int64) int64 {
	if !j.live() {
		if x, ok := j.past[0].Payload.(record.ToolCall); ok {
			return x.Millis
		}
	}
	return otherwise
}

// refOf names the reply that an event holds, if it holds one.
func refOf(e *record.Event) *record.Ref {
	if x, ok := e.Payload.(record.Invocation); ok && len(x.Replies) > 0 {
		return &record.Ref{Seq: e.Seq, Digest: x.Replies[0].Digest}
	}
	return nil
}

// asked returns the parts of an event that are known before its outcome.
func asked(p record.Payload) record.Payload {
	switch x := p.(type) {
	case record.Invocation:
		x = whole(x).(record.Invocation)
		x.Error, x.Final, x.Usage, x.Replies = "", false, nil, nil
		return x
	case record.ToolCall:
		x.Millis, x.Error, x.Result, x.Reasoning, x.Child, x.IDs = 0, "", record.Content{}, nil, nil, nil
		return x
	case record.CycleEnd:
		x = whole(x).(record.CycleEnd)
		if x.Metrics != nil {
			m := *x.Metrics
			m.Similarity, m.SimilarTo, m.Method = 0, 0, ""
			x.Metrics = &m
		}
		return x
	}
	return whole(p)
}

// whole returns an event except for its times, identifiers and settings. The record writes
// settings without what may be a credential, but keeps their digest. Digests of
// texts follow from the texts.
func whole(p record.Payload) record.Payload {
	switch x := p.(type) {
	case record.RunStart:
		x.ID, x.Window, x.Config, x.IDs = "", 0, maps.Clone(x.Config), nil
		delete(x.Config, "experiment")
		delete(x.Config, "tools") // a run takes them from here
		delete(x.Config, "overflow")
		return x
	case record.Invocation:
		x.Millis, x.FirstThought, x.FirstAnswer, x.IDs = 0, 0, 0, nil
		x.Parameters, x.Tools = record.Content{}, nil
		return x
	case record.ToolCall:
		x.Millis, x.IDs = 0, nil
		return x
	case record.Consent:
		x.Question = ""
		return x
	case record.CycleEnd:
		x.Millis = 0
		return x
	case record.RunEnd:
		x.Millis = 0
		return x
	}
	return p
}
