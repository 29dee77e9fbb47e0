package judge

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/agent"
	"github.com/sotto-llm/sotto/internal/base/retry"
	"github.com/sotto-llm/sotto/internal/base/sleep"
	"github.com/sotto-llm/sotto/model"
	"github.com/sotto-llm/sotto/record"
)

// errRequest is in the error of a request that the server did not process, although it
// may process others.
var errRequest = errors.New("the request failed")

// ask asks the judge, and waits for a server that is away, if the judge does.
func (x *working) ask(ctx context.Context, t task, number int, fault string) (try, error) {
	var series *retry.Series
	for {
		r, err := x.ask1(ctx, t, number, fault)
		e, known := errors.AsType[*model.Error](err)
		if err == nil || x.Outages == nil || !known || ctx.Err() != nil {
			return r, err
		}
		switch e.Kind() {
		case model.KindRefused:
			return r, err
		case model.KindOther:
			return r, fmt.Errorf("%w: %w", errRequest, err)
		}
		if series == nil {
			series = x.Outages.Start()
		}
		wait, again := series.Next(retry.Verdict{Again: true, After: e.RetryAfter})
		if !again {
			return r, err
		}
		if x.Waits != nil {
			x.Waits(err, wait)
		}
		if sleep.For(ctx, wait) != nil {
			return r, context.Cause(ctx)
		}
	}
}

// ask1 asks the judge once, and records what it replies.
func (x *working) ask1(ctx context.Context, t task, number int, fault string) (try, error) {
	seed := int64(t.repeat)
	q := model.Request{
		Messages: x.Rubric.messages(t.subject, x.order(t.key), fault), MaxTokens: x.Rubric.MaxTokens, Temperature: x.Rubric.Temperature, Seed: &seed, Think: x.Rubric.Think,
	}
	i := agent.Invocation{Model: x.Model, API: x.Provider, Purpose: "judge", Attempt: number, Messages: q.Messages}
	began := time.Now()
	i.Reply, i.Err = x.Model.Invoke(ctx, q, nil)
	i.Took = time.Since(began)
	if i.Err != nil && ctx.Err() != nil {
		return try{}, context.Cause(ctx)
	}
	if i.Err == nil {
		start := sotto.BeginAuto
		if len(i.Reply.Thoughts) > 0 {
			start = sotto.BeginOutside
		}
		var err error
		if i.Reading, err = x.Grammar.ParseWith(i.Reply.Raw, sotto.Options{Start: start, Tools: []string{}}, i.Reply.End); err != nil {
			return try{}, fmt.Errorf("read the reply of the judge: %w", err)
		}
	}
	p := i.Payload()
	p.Messages = x.recorded(t, fault)
	p.Parameters = record.Say(t.parameters(x.Rubric))
	receipt, err := x.w.Append(context.WithoutCancel(ctx), record.Event{Run: x.out.Run, Payload: p})
	if err = cmp.Or(i.Err, err); err != nil {
		return try{}, fmt.Errorf("judge: %w", err)
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	x.out.Asked++
	x.out.Tokens += p.Usage.Input + p.Usage.Output
	x.out.Estimated = x.out.Estimated || p.Usage.Estimated
	r := &p.Replies[0]
	return try{of: record.Ref{Seq: receipt.Seq, Digest: receipt.Replies[0]}, raw: string(r.Raw.Text), start: r.Start, end: r.End}, nil
}

// shuffle puts tasks into the order of the seed.
func (j *Judge) shuffle(list []task) {
	if j.Order != nil {
		j.chance("tasks").Shuffle(len(list), func(a, b int) { list[a], list[b] = list[b], list[a] })
	}
}

// order is the order of the criteria in the requests for a score; nil without a seed.
func (j *Judge) order(key string) []int {
	if j.Order == nil {
		return nil
	}
	return j.chance(key).Perm(len(j.Rubric.Criteria))
}

// chance returns random numbers that depend on the seed and on what they are for.
func (j *Judge) chance(purpose string) *rand.Rand {
	sum := sha256.Sum256(fmt.Appendf(nil, "%d %s %s", *j.Order, j.identity(), purpose))
	return rand.New(rand.NewPCG(binary.BigEndian.Uint64(sum[:]), binary.BigEndian.Uint64(sum[8:])))
}
