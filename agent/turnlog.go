package agent

import (
	"context"
	"fmt"

	"github.com/sotto-llm/sotto/record"
)

// A TurnLog keeps the events of one turn of a conversation where another process can read them. If
// the process of the turn is killed, another one answers the same message with the same log: the
// replies and results that it has are taken from it, and are not asked for again. A call whose
// end it lacks is repeated only if its tool is a [Repeater], with the same [Use.Key].
type TurnLog interface {
	// ID distinguishes the turn from every other one, and is the same in every process.
	ID() string
	// Past returns what was kept, in order.
	Past(ctx context.Context) ([]record.Event, error)
	// Keep keeps an event: its run, its cycle and its payload. An error ends the turn, which
	// somebody else may have taken over.
	Keep(ctx context.Context, e record.Event) error
}

// pass notes that the next recorded event has been passed, which is p except for what only
// the record of another process knows. The record of this process gets it too: so it has the
// whole turn.
func (j *journal) pass(p record.Payload) (*record.Event, error) {
	e := j.past[0]
	j.past, j.passed = j.past[1:], e.Seq
	if j.log == nil || j.w == nil {
		return &e, nil
	}
	e.Payload = p
	receipt, err := j.w.Append(context.Background(), record.Event{Run: e.Run, Cycle: e.Cycle, Payload: p})
	if err != nil {
		return nil, fmt.Errorf("record %s: %w", p.Type(), err)
	}
	e.Seq = receipt.Seq
	if x, ok := p.(record.Invocation); ok && len(x.Replies) > 0 && len(receipt.Replies) > 0 {
		x.Replies[0].Digest = receipt.Replies[0]
	}
	return &e, nil
}

// keep keeps an event before it is recorded. A reply that the end of the context cut off is asked
// for again by whoever goes on with the turn.
func (j *journal) keep(ctx context.Context, e record.Event) error {
	if j.log == nil {
		return nil
	}
	if _, ok := e.Payload.(record.Invocation); ctx.Err() != nil {
		if ok {
			return nil
		}
		return ctx.Err()
	}
	if x, ok := e.Payload.(record.Invocation); ok { // the prompt follows from what came before
		x.Messages = nil
		e.Payload = x
	}
	if err := j.log.Keep(context.WithoutCancel(ctx), e); err != nil {
		return fmt.Errorf("keep %s: %w", e.Payload.Type(), err)
	}
	return nil
}

// completed returns a kept event with what is not kept, as it is in the wanted one.
func completed(past, want record.Payload) record.Payload {
	switch x := past.(type) {
	case record.ToolCall:
		x.Of = want.(record.ToolCall).Of
		return x
	case record.Invocation:
		x.Messages = want.(record.Invocation).Messages
		return x
	}
	return past
}
