package agent

import (
	"cmp"
	"context"
	"maps"
	"sync"

	"github.com/sotto-llm/sotto/internal/base/lazyregexp"
	"github.com/sotto-llm/sotto/internal/base/tracecontext"
	"github.com/sotto-llm/sotto/record"
)

// traced returns a context that has a trace: its own, or one that follows from the identity
// of the run or the conversation, so that it is the same after a crash.
func traced(ctx context.Context, id string) context.Context {
	if tracecontext.From(ctx).Trace != "" {
		return ctx
	}
	return tracecontext.With(ctx, tracecontext.Of("run", id))
}

// tracedAs is traced for a run of which the record has the beginning: its trace goes on.
func (r *run) tracedAs(ctx context.Context) context.Context {
	if !r.journal.live() {
		start, _ := r.journal.past[0].Payload.(record.RunStart)
		ctx = tracecontext.With(ctx, tracecontext.Within(start.IDs[record.IDTrace], start.IDs[record.IDParentSpan]))
	}
	return traced(ctx, cmp.Or(r.proto.id, r.name)) // earlier versions gave no id
}

// below returns the context of a call of the turn, and what the record has of it.
func (t *turn) below(ctx context.Context, what string, number int) (context.Context, map[string]string) {
	return CallIDs(ctx, t.id, t.Run, t.Cycle, what, number)
}

// CallIDs makes a call a span of its own in the trace of a context, if that has one: its
// server is told so by the context that is returned, and the record by the identifiers. call
// distinguishes it from other calls of the trace.
func CallIDs(ctx context.Context, call ...any) (context.Context, map[string]string) {
	p := tracecontext.From(ctx).Child(call...)
	if p.Span == "" {
		return ctx, nil
	}
	return tracecontext.With(ctx, p), map[string]string{record.IDTrace: p.Trace, record.IDSpan: p.Span}
}

// TraceIDs adds the trace that a context belongs to, if it does, to the identifiers of a run
// or a cycle, for programs that record these themselves.
func TraceIDs(ctx context.Context, ids map[string]string) map[string]string {
	p := tracecontext.From(ctx)
	if p.Trace == "" {
		return ids
	}
	ids = maps.Clone(ids)
	if ids == nil {
		ids = map[string]string{}
	}
	if ids[record.IDTrace] = p.Trace; p.Span != "" {
		ids[record.IDParentSpan] = p.Span
	}
	return ids
}

// peerName matches the names of tasks and contexts that are recorded. A peer chooses them: a
// name with white space may be a text.
var peerName = lazyregexp.New(`^[A-Za-z0-9][A-Za-z0-9._:@+/=-]{0,127}$`)

type peerKey struct{}

// A peerNote is what a tool says of the agent elsewhere that it called.
type peerNote struct {
	left Allowance // what that agent may take
	mu   sync.Mutex
	peer *record.Peer
}

// notesPeer begins the note of a call.
func (t *turn) notesPeer() *peerNote { return &peerNote{left: t.left.allowance(t)} }

// NotePeer says which task of an agent elsewhere a tool has called, so that the record of
// this call has it. ctx is that of [Tool.Call]. The last one counts. Names of more than 128
// bytes, or of other characters than those of identifiers, are not recorded. What the task
// spent, if the agent reports it, is the sum over all its messages. It counts toward the limits
// of the turn; an impossible one does not, and is not recorded.
func NotePeer(ctx context.Context, p record.Peer) {
	n, ok := ctx.Value(peerKey{}).(*peerNote)
	if !ok || !peerName.MatchString(p.Task) {
		return
	}
	if !peerName.MatchString(p.Context) {
		p.Context = ""
	}
	if p.Spent != nil && (!believable(p.Spent) || p.Spent.Currency != "" && !currencyName.MatchString(p.Spent.Currency)) {
		p.Spent = nil
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.peer = &p
}

func (n *peerNote) taken() *record.Peer {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.peer
}
