package solve

import (
	"cmp"
	"context"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/answer"
	"github.com/sotto-llm/sotto/internal/lab/metagraph"
	"github.com/sotto-llm/sotto/model"
	"github.com/sotto-llm/sotto/record"
)

// note records an event of a problem.
func (a *attempt) note(ctx context.Context, p record.Payload) error {
	_, err := a.s.append(ctx, a.result.N, p)
	return err
}

func (s *Solver) append(ctx context.Context, cycle int, p record.Payload) (record.Receipt, error) {
	if s.o.Record == nil {
		return record.Receipt{}, nil
	}
	return s.o.Record.Append(context.WithoutCancel(ctx), record.Event{Run: s.o.Run, Cycle: cycle, Payload: p})
}

// recordCall records a call of the model, and returns where the record keeps the
// reply.
func (a *attempt) recordCall(ctx context.Context, number int, q model.Request, r model.Reply, reading *sotto.Reply, t Try, failed error) (*record.Ref, error) {
	if a.s.o.Record == nil {
		return nil, nil
	}
	x := record.Invocation{
		Model: a.s.o.Model.Name(), Purpose: cmp.Or(t.Step, "solve"), Attempt: number, Millis: int64(t.Millis),
		Usage: &record.Usage{Input: t.Input, Output: t.Output, Reasoning: r.Usage.Reasoning, CacheRead: r.Usage.CacheRead, CacheWrite: r.Usage.CacheWrite, Estimated: t.Estimated},
	}
	if failed != nil {
		x.Error = failed.Error()
	}
	reply := record.ReplyOf(reading)
	for _, thought := range r.Thoughts {
		reply.Reasoning = append(reply.Reasoning, record.Thought{Field: thought.Field, Text: record.Say(thought.Text), Sealed: thought.Sealed})
	}
	if failed == nil || r.Raw != "" || len(r.Thoughts) > 0 {
		x.Replies = []record.Reply{reply}
	}
	for _, m := range q.Messages {
		x.Messages = append(x.Messages, record.Message{Role: string(m.Role), Text: record.Say(m.Text)})
	}
	receipt, err := a.s.append(ctx, a.result.N, x)
	if err != nil || len(receipt.Replies) == 0 {
		return nil, err
	}
	return &record.Ref{Seq: receipt.Seq, Digest: receipt.Replies[0]}, nil
}

func (a *attempt) recordExtraction(ctx context.Context, of *record.Ref, x answer.Extraction, v answer.Verdict) error {
	if of == nil {
		return nil
	}
	e := record.Extraction{
		Of: *of, Task: a.result.Task, Method: x.Method, Status: string(x.Status), Rules: x.Rules,
		Candidate: record.Say(x.Candidate), Written: record.Say(x.Written),
		Verdict: &record.Verdict{OK: v.OK, Reason: string(v.Reason), By: v.By, Detail: record.Say(v.Detail)},
	}
	if x.Span != nil {
		e.Span = &record.Span{Start: x.Span.Start, End: x.Span.End}
	}
	return a.note(ctx, e)
}

func (a *attempt) recordMemory(ctx context.Context, l metagraph.Learned) error {
	m := record.Memory{Task: a.result.Task, Solved: a.result.Solved, Of: a.of, Query: record.Say(a.query), Traces: l.Size.Traces, Templates: l.Size.Templates}
	for _, r := range a.result.Used {
		m.Used = append(m.Used, *memoryNode(&r, false))
	}
	m.Trace, m.Template = memoryNode(l.Trace, l.NewTrace), memoryNode(l.Template, l.NewTemplate)
	return a.note(ctx, m)
}

func memoryNode(r *metagraph.Ref, fresh bool) *record.MemoryNode {
	if r == nil {
		return nil
	}
	return &record.MemoryNode{Kind: string(r.Kind), Key: record.Say(r.Key), New: fresh}
}
