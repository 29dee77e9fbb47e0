package a2aserver

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/agent"
	"github.com/sotto-llm/sotto/model"
	"github.com/sotto-llm/sotto/record"
)

// A ChatMind answers with one reply of a chat model, which gets the conversation
// before it. Only visible text goes back to the model: its thoughts are not
// remembered.
type ChatMind struct {
	Model model.Model
	// System, if set, is the system message.
	System string
	// Grammar reads the replies. If nil, the model's name chooses it.
	Grammar *sotto.Grammar
	// Start says where every reply begins. If empty, it is outside if the provider
	// itself separates reasoning, and else auto: nothing is visible before the
	// reply shows how it began. A reply that is cut or breaks off before that has
	// no answer, because it may all be reasoning. If no reply begins inside its
	// reasoning, set Outside.
	Start sotto.Beginning
	// Request holds the other settings of each request: limits, temperature,
	// thinking. Its Messages and Tools are not used.
	Request model.Request
}

// Answer implements [Mind].
func (m *ChatMind) Answer(ctx context.Context, t Turn, on func(Event) error) (Outcome, error) {
	r := chatReading{mind: m, on: on}
	q := m.request(t)
	began := time.Now()
	asking, ids := agent.CallIDs(ctx, t.Run, t.Cycle)
	reply, err := m.Model.Invoke(asking, q, r.delta)
	took := time.Since(began)
	if err != nil {
		reply.End = sotto.EndAborted
	}
	out, closing := r.close(reply.End)
	if err == nil {
		err = closing
	}
	if cause := context.Cause(ctx); err != nil && cause != nil {
		err = cause
	}
	x := agent.Invocation{
		Model: m.Model, Purpose: "answer", Attempt: 1, IDs: ids, Messages: q.Messages, Reply: reply, Took: took, Err: err,
	}
	if unrecorded := r.record(ctx, t, &out, &x); unrecorded != nil {
		return Outcome{}, unrecorded
	}
	out.Spent = x.Usage().Spent("")
	return out, err
}

// noTools says that a model may call no tool.
var noTools = []string{}

func (*ChatMind) resumes() {} // it asks again: a reply changes nothing

func (m *ChatMind) modelName() string { return m.Model.Name() }

// record records the invocation of the model, as agents do. The reply is recorded
// as it was read here: if nobody can know whether it is an answer, it is reasoning.
func (r *chatReading) record(ctx context.Context, t Turn, out *Outcome, x *agent.Invocation) error {
	if x.Err == nil || x.Reply.Raw != "" || len(x.Reply.Thoughts) > 0 || len(x.Reply.Calls) > 0 {
		if err := r.open(); err != nil {
			return err
		}
		start := r.start
		if r.hidden {
			start = sotto.BeginInsideFirst
		}
		var err error
		if x.Reading, err = r.grammar.ParseWith(x.Reply.Raw, sotto.Options{Start: start, Tools: noTools}, x.Reply.End); err != nil {
			return err
		}
	}
	if x.Reading != nil {
		out.Thoughts = x.Reading.Reasoning()
		for _, thought := range x.Reply.Thoughts {
			out.Thoughts = append(out.Thoughts, thought.Text)
		}
	}
	if t.Record == nil {
		return nil
	}
	metrics := x.Metrics()
	receipt, err := t.Record.Append(context.WithoutCancel(ctx), record.Event{Run: t.Run, Cycle: t.Cycle, Payload: x.Payload()})
	if err != nil {
		return fmt.Errorf("%w: %w", errUnrecorded, err)
	}
	if out.Metrics = &metrics; len(receipt.Replies) > 0 {
		out.Of = &record.Ref{Seq: receipt.Seq, Digest: receipt.Replies[0]}
	}
	return nil
}

func (m *ChatMind) request(t Turn) model.Request {
	q := m.Request
	q.Messages, q.Tools = nil, nil
	if m.System != "" {
		q.Messages = append(q.Messages, model.Message{Role: model.System, Text: m.System})
	}
	for _, s := range t.Earlier {
		role := model.User
		if s.ByAgent {
			role = model.Assistant
		}
		q.Messages = append(q.Messages, model.Message{Role: role, Text: s.Text})
	}
	q.Messages = append(q.Messages, model.Message{Role: model.User, Text: t.Text})
	return q
}

// A chatReading reads one reply as it comes.
type chatReading struct {
	mind    *ChatMind
	on      func(Event) error
	grammar *sotto.Grammar
	filter  *sotto.Filter
	start   sotto.Beginning
	native  bool // the provider separated reasoning
	auto    bool // where the reply begins is not known
	hidden  bool // the reply ended before it showed how it began
	block   int  // block of the last event
	text    strings.Builder
	closing bool    // events wait
	waiting []Event // … here
	failed  error   // of on
}

func (r *chatReading) delta(d model.Delta) error {
	if d.Thought != "" {
		r.native = true
		r.tell(Reasoning{Text: d.Thought})
	}
	if d.Text != "" {
		if err := r.open(); err != nil {
			return err
		}
		r.filter.Feed(d.Text)
	}
	r.tell(Alive{})
	return r.failed
}

// open begins the reading as late as possible: where the text begins depends on
// whether reasoning came in a separate member.
func (r *chatReading) open() (err error) {
	if r.filter != nil {
		return nil
	}
	g, start := r.mind.Grammar, r.mind.Start
	if g == nil {
		g, _ = sotto.ForModel(r.mind.Model.Name())
	}
	switch {
	case start != "":
	case r.native:
		start = sotto.BeginOutside
	default:
		start = sotto.BeginAuto
	}
	r.grammar, r.start, r.auto = g, start, start == sotto.BeginAuto
	if r.filter, err = g.NewFilter(sotto.Options{Start: start, MaxHold: -1, Tools: noTools}); err != nil {
		return err
	}
	r.filter.OnText = func(text string) { r.tell(Visible{Text: text}) }
	r.filter.OnReasoning = func(block int, text string) { r.tell(Reasoning{Text: r.parted(block, text)}) }
	r.filter.OnNarration = func(block int, text string) { r.tell(Narration{Text: r.parted(block, text)}) }
	return nil
}

// parted puts a blank line between two blocks.
func (r *chatReading) parted(block int, text string) string {
	if r.block != 0 && r.block != block {
		text = "\n\n" + text
	}
	r.block = block
	return text
}

func (r *chatReading) tell(e Event) {
	if r.closing {
		r.waiting = append(r.waiting, e)
		return
	}
	if v, ok := e.(Visible); ok {
		r.text.WriteString(v.Text)
	}
	if r.failed == nil {
		r.failed = r.on(e)
	}
}

// close ends the reading. Whatever happens, it gives what was held.
func (r *chatReading) close(end sotto.Ending) (Outcome, error) {
	if r.filter == nil {
		return Outcome{End: end}, r.failed
	}
	r.closing = true
	r.filter.Close(end)
	r.closing = false
	r.hidden = r.auto && r.text.Len() == 0 && undecided(r.grammar, r.filter.Marked(), end)
	for _, e := range r.waiting {
		if v, ok := e.(Visible); ok && r.hidden { // nothing in it is marked, so it may all be reasoning
			e = Reasoning(v)
		}
		r.tell(e)
	}
	if r.hidden {
		return Outcome{End: end, Diagnostics: unclosed(r.filter.Diagnostics())}, r.failed
	}
	return Outcome{Text: r.text.String(), End: end, Diagnostics: r.filter.Diagnostics()}, r.failed
}
