package scoreview

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/tidwall/gjson"

	"github.com/sotto-llm/sotto/internal/data/foreignjson"
	"github.com/sotto-llm/sotto/internal/recorded/sidecar"
	"github.com/sotto-llm/sotto/record"
)

// OfRecord returns the verdicts of a record as a scored file: those of sotto score
// with a record, and of streams of problems. The place of a line is the number of
// its event.
func OfRecord(name string, r *sidecar.Store) *File { return &File{Name: name, record: r} }

// A judged is a verdict of a record as a line of sotto score.
type judged struct {
	ID        string `json:"id"`
	Event     uint64 `json:"event"` // of the reply
	Task      string `json:"task"`
	Candidate string `json:"candidate"`
	Method    string `json:"method"`
	Status    string `json:"status"`
	Rules     string `json:"rules"`
	OK        bool   `json:"ok"`
	Reason    string `json:"reason"`
	By        string `json:"by"`
	Detail    string `json:"detail"`
	Span      []int  `json:"span,omitempty"`
	Thought   bool   `json:"thought,omitempty"` // the candidate was found in reasoning
	Model     string `json:"model,omitempty"`
	Input     string `json:"input,omitempty"`
	Dialect   string `json:"dialect,omitempty"`
	Raw       string `json:"raw,omitempty"`
}

// judgedOf returns the line of an event. ok is false if it has no verdict.
func judgedOf(e *record.Event) (j judged, of record.Ref, ok bool) {
	x, is := e.Payload.(record.Extraction)
	if !is || x.Verdict == nil {
		return j, of, false
	}
	j = judged{
		ID: fmt.Sprintf("%s/%d", e.Run, e.Cycle), Event: x.Of.Seq, Task: x.Task, Candidate: string(x.Candidate.Text), Method: x.Method, Status: x.Status, Rules: x.Rules,
		OK: x.Verdict.OK, Reason: x.Verdict.Reason, By: x.Verdict.By, Detail: string(x.Verdict.Detail.Text), Thought: x.FromReasoning,
	}
	if x.Span != nil {
		j.Span = []int{x.Span.Start, x.Span.End}
	}
	return j, x.Of, true
}

// indexRecord indexes the verdicts of a record.
func (x *index) indexRecord(ctx context.Context, r *sidecar.Store) error {
	for e, err := range r.Events(sidecar.Query{Query: record.Query{Types: []record.Type{record.TypeExtraction}}}) {
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case errors.Is(err, record.ErrSealed):
			return err
		case isLine(err):
			x.unreadable++
			continue
		case err != nil:
			return err
		case len(x.at) >= MaxLines:
			x.cut = true
			return nil
		}
		j, _, ok := judgedOf(&e)
		if !ok {
			continue
		}
		line, err := json.Marshal(j)
		if err != nil {
			return err
		}
		x.add(int64(e.Seq), line)
	}
	return nil
}

// judgedAfter reports whether there may be verdicts after an event. A gateway adds
// other events all the time, for which nothing has to be indexed again.
func judgedAfter(r *sidecar.Store, seq uint64) bool {
	for range r.Events(sidecar.Query{Query: record.Query{Types: []record.Type{record.TypeExtraction}, After: seq, Limit: 1}}) {
		return true
	}
	return false
}

// judgedLine returns the line of an event, with its reply.
func judgedLine(r *sidecar.Store, seq uint64) (v gjson.Result, err error) {
	e, err := eventOf(r, seq)
	if err != nil {
		return v, err
	}
	j, of, ok := judgedOf(&e)
	if !ok {
		return v, fmt.Errorf("event %d has no verdict: %w", seq, ErrNotFound)
	}
	asked, err := eventOf(r, of.Seq)
	if err != nil && !errors.Is(err, ErrNotFound) { // it may have been pruned
		return v, err
	}
	if x, is := asked.Payload.(record.Invocation); is {
		j.with(x, of)
	}
	line, err := json.Marshal(j)
	if err != nil {
		return v, err
	}
	return foreignjson.Parse(line)
}

// with adds the reply, what was asked, and the place of the candidate.
func (j *judged) with(x record.Invocation, of record.Ref) {
	j.Model = x.Model
	if n := len(x.Messages); n > 0 {
		j.Input = string(x.Messages[n-1].Text.Text)
	}
	for _, reply := range x.Replies {
		if reply.Choice != of.Choice {
			continue
		}
		j.Dialect, j.Raw = reply.Dialect, string(reply.Raw.Text)
		if !reply.Raw.Whole() {
			j.Span = nil // the places are those of the whole reply
		}
	}
}

func isLine(err error) bool {
	_, ok := errors.AsType[*record.LineError](err)
	return ok
}

func eventOf(r *sidecar.Store, seq uint64) (record.Event, error) {
	e, found, err := r.Event(seq)
	if err == nil && !found {
		err = fmt.Errorf("event %d: %w", seq, ErrNotFound)
	}
	return e, err
}
