package agent

import (
	"errors"
	"time"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/model"
	"github.com/sotto-llm/sotto/record"
)

// An Invocation is one call of a model. A turn records its invocations itself; this
// is for programs that call a model without one.
type Invocation struct {
	Model   model.Model
	API     string // see [Turn.API]
	Purpose string
	Attempt int
	// IDs are the trace and the span of the call: see [CallIDs].
	IDs      map[string]string
	Messages []model.Message

	Reply   model.Reply
	Reading *sotto.Reply // of Reply; nil if nothing came
	Took    time.Duration
	// FirstThought and FirstAnswer are how long after the request the first thought and
	// the first visible text came; zero if none came.
	FirstThought, FirstAnswer time.Duration
	Err                       error // why the reply is not whole, or did not come
}

// Payload returns what the record keeps of an invocation.
func (i *Invocation) Payload() record.Invocation {
	x := record.Invocation{
		Model: i.Model.Name(), Provider: i.API, Purpose: i.Purpose, Attempt: i.Attempt, IDs: i.IDs,
		Messages: recordMessages(i.Messages), Millis: millis(i.Took),
		FirstThought: millis(i.FirstThought), FirstAnswer: millis(i.FirstAnswer),
	}
	if i.Err != nil {
		var refused *model.Error
		x.Error = i.Err.Error()
		x.Final = errors.As(i.Err, &refused) && !refused.Retryable && refused.Status != 0 || errors.Is(i.Err, model.ErrNoReply)
	}
	if i.Reading != nil {
		x.Replies = []record.Reply{recordReply(i.Reply, i.Reading)}
	}
	x.Usage = usageOf(i.Reply, x)
	return x
}

// Metrics returns the counts of an invocation that is all of a turn.
func (i *Invocation) Metrics() record.Metrics {
	m := record.Metrics{Invocations: 1}
	for _, x := range i.Messages {
		m.PromptBytes += weight(x)
	}
	x := i.Payload()
	if len(x.Replies) == 0 {
		m.Unanswered = 1
	} else {
		countReply(&m, i.Reply, x.Replies[0].Segments)
	}
	if x.Usage != nil {
		m.InputTokens, m.OutputTokens = x.Usage.Input, x.Usage.Output
	}
	return m
}

// Usage returns what an invocation took that is all of a turn. It has no cost.
func (i *Invocation) Usage() Usage {
	x, m := i.Payload(), i.Metrics()
	t := turn{took: Usage{Calls: 1, Time: i.Took}}
	if x.Usage != nil {
		t.spend(x.Usage, m.ThoughtBytes, m.ReplyBytes)
	}
	return t.took
}
