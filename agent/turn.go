package agent

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/history"
	"github.com/sotto-llm/sotto/model"
	"github.com/sotto-llm/sotto/record"
)

// A turn is a [Turn] in progress: what the machine knows between load and finalize.
type turn struct {
	Turn
	box     *toolbox
	rule    history.Rule
	journal *journal
	id      string // of the run or the conversation, in the keys of uses
	used    *int   // uses of tools, of the run
	purpose string
	// keeps reports whether a reply's thoughts go back within the turn; nil means
	// Keep.
	keeps func(said) bool
	// template says that the answer is a reflection of three parts.
	template bool

	messages []model.Message
	given    int // how many of the messages it began with
	// extra is how many bytes longer the prompt would have been with all thoughts
	// in it.
	extra    int
	reply    model.Reply
	reading  *sotto.Reply
	fresh    []string // thoughts of reply
	ref      *record.Ref
	visible  string // of reply
	calls    []model.Call
	fromText bool
	child    *record.Child // of the last call, if its tool is an agent
	peer     *peerNote     // … or an agent elsewhere
	answer   *string       // to the question that the turn waited for: the result of the first call
	// agreement is the answer to whether the first call is made. unanswered says that it was
	// asked by an earlier version, whose question cannot be answered any more.
	agreement  *exchange
	unanswered bool
	passed     *passing        // the question of the first call's tool, with the answer
	receipt    *record.Consent // the last one that was recorded before
	waited     time.Duration   // for answers, during the last call
	waiting    *Waiting
	carried    *carried // calls for later cycles; nil if none are carried
	thoughts   []string // of all replies
	marked     []string // thoughts of the replies whose thoughts are kept
	metrics    record.Metrics
	took       Usage
	peers      map[string]Usage // what was counted of tasks of agents elsewhere; the run's, or the conversation's
	left       *budget          // of the run or the answer; nil for none
	window     *window          // of the model; nil if it is not known
	full       int              // how near to the window a prompt came
	draft      *draft           // of the first messages; nil in a conversation
	cut        fitting
	top        *run          // that waits through outages; nil in a conversation
	after      time.Duration // that the server asked to wait after the last attempt

	failure string // of the last invocation
	closing bool   // the reply is the last, asked for without tools
	status  Status
	bound   Bound
}

// said is a reply as it was read, and the thoughts in it.
type said struct {
	visible string
	calls   []model.Call
}

func (t *turn) begin(messages []model.Message) {
	t.messages, t.given = messages, len(messages)
}

func (t *turn) end(s Status, b Bound) { t.status, t.bound = s, b }

// ask gets a reply; again says that it must be asked for once more.
func (t *turn) ask(ctx context.Context) (again bool, err error) {
	if b := t.left.hit(t); b != "" {
		t.end(Bounded, b)
		return false, nil
	}
	q := t.Request
	q.Messages = t.messages
	t.closing = t.last()
	if t.Calls != TextCalls {
		for _, tool := range t.box.list {
			q.Tools = append(q.Tools, tool.Spec())
		}
		q.NoCalls = t.closing
	}
	purpose := t.purpose
	if purpose == "" {
		purpose = "act"
	}
	if err := t.fit(ctx, &q); err != nil {
		return false, err
	}
	t.metrics.SavedBytes += t.extra
	if err := t.invocation(ctx, q, purpose); err != nil {
		if errors.Is(err, errFailed) {
			t.end(Failed, BoundAttempts)
			return false, nil
		}
		return false, err
	}
	return false, nil
}

// last reports whether the next reply is the last that may be asked for.
func (t *turn) last() bool {
	return t.left.extends().reached(func() bool {
		return t.metrics.Invocations >= t.most().Invocations-1 || t.metrics.ToolCalls >= t.most().Calls
	})
}

// most returns the limits of the turn with the extension.
func (t *turn) most() Limits { return t.left.extends().now().Limits(t.Limits) }

// splitReply separates thought, answer and calls, and decides what comes next: the calls,
// an end, or another reply.
func (t *turn) splitReply() error {
	t.visible = deliverable(t.Grammar, t.reading)
	t.think()
	t.calls, t.fromText = t.reply.Calls, false
	if len(t.calls) == 0 {
		t.calls = t.box.textCalls(t.visible, t.reading)
		t.fromText = len(t.calls) > 0
	}
	if t.fromText {
		t.metrics.TextCalls += len(t.calls)
	} else if t.template {
		t.parts()
	}
	answer := len(t.calls) == 0 && strings.TrimSpace(t.visible) != ""
	t.show(answer)
	t.messages = append(t.messages, t.back()...)
	switch {
	case answer:
		t.end(Answered, t.spentBound())
	case len(t.calls) > 0 && t.closing:
		if t.calls = nil; t.fromText {
			t.visible = "" // a call is not an answer
		}
		t.end(Bounded, t.spentBound())
	case t.fromText && t.Calls == NativeCalls:
		names := t.calls[0].Name
		t.calls = nil
		t.again(TextCall, fmt.Sprintf("Your reply held a call of %s, written as text. It was not made. Call tools through the interface for tools, or answer without a call.", names))
	case len(t.calls) == 0:
		t.again(NoVisibleAnswer, "Your reply showed nothing outside your thinking. Write what you want to say after it, where it can be seen.")
	}
	return nil
}

// show tells the observer what a reply says.
func (t *turn) show(answer bool) {
	if !t.journal.live() {
		return
	}
	if f := t.Observer.OnText; f != nil && t.template && t.visible != "" {
		f(t.visible)
	}
	if f := t.Observer.onCalls; f != nil && len(t.reply.Calls) > 0 {
		f()
	}
	if f := t.Observer.OnReply; f != nil {
		f(t.visible, answer)
	}
}

// parts takes the thought of a reflection of three parts out of the visible text.
// In an object that is not such a reflection, the thought cannot be identified.
func (t *turn) parts() {
	r, ok := ReadReflection(t.visible)
	switch {
	case ok:
		t.visible = r.String()
		if s := strings.TrimSpace(r.Thought); s != "" {
			t.thoughts, t.fresh = append(t.thoughts, s), append(t.fresh, s)
		}
	case thoughtMember.MatchString(t.visible):
		t.visible = ""
	}
}

// spentBound returns the bound that kept tools from the model.
func (t *turn) spentBound() Bound {
	switch {
	case len(t.box.list) == 0 || !t.closing:
		return ""
	case t.metrics.ToolCalls >= t.most().Calls:
		return BoundCalls
	}
	return BoundInvocations
}

// again asks for another reply, with a remark, or ends the turn.
func (t *turn) again(otherwise Status, remark string) {
	if t.metrics.Retries >= max(t.Limits.Retries, 0) || t.metrics.Invocations >= t.most().Invocations {
		t.end(otherwise, BoundRetries)
		return
	}
	t.metrics.Retries++
	t.messages = append(t.messages, model.Message{Role: model.User, Text: remark})
}

// think adds the thoughts of a reply to those of the turn.
func (t *turn) think() {
	thoughts := t.reading.Reasoning()
	for _, x := range t.reply.Thoughts {
		if s := strings.TrimSpace(x.Text); s != "" {
			thoughts = append(thoughts, s)
		}
	}
	t.thoughts = append(t.thoughts, thoughts...)
	t.fresh = thoughts
}

// countReply adds the bytes of a reply to metrics, whole or cut.
func countReply(m *record.Metrics, r model.Reply, segments []record.Segment) {
	for _, x := range r.Thoughts {
		m.ReplyBytes += len(x.Text)
		m.ThoughtBytes += len(x.Text)
	}
	m.ReplyBytes += len(r.Raw)
	for _, s := range segments {
		switch s.Channel {
		case sotto.ChannelReasoning:
			m.ThoughtBytes += s.End - s.Start
		case sotto.ChannelText:
			m.VisibleBytes += s.End - s.Start
		}
	}
}

// deliverable returns the visible text of a reading. It is read again until it no
// longer changes.
func deliverable(g *sotto.Grammar, r *sotto.Reply) string {
	s, err := g.Strip(r.Visible(), sotto.BeginOutside)
	if err != nil {
		return ""
	}
	return s
}

// back returns the reply as a message of the turn. Its reasoning is left out,
// unless it is kept or the provider requires it. If the reply holds nothing else,
// there is no message.
func (t *turn) back() []model.Message {
	full := t.reply.Message()
	keep := t.Keep
	if t.keeps != nil {
		keep = t.keeps(said{t.visible, t.calls})
	}
	if keep {
		t.marked = append(t.marked, t.fresh...)
	}
	m := full
	if t.fromText {
		m.Calls = nil
		if text, hidden := t.textBack(); hidden && !keep {
			t.visible = text
		}
	} else {
		m.Calls = t.callsBack(keep)
	}
	if !keep {
		m.Text, m.Thoughts = t.visible, t.required()
		if t.demandsText() {
			m.Text = full.Text
		}
	}
	t.extra += weight(full) - weight(m)
	if strings.TrimSpace(m.Text) == "" && len(m.Calls) == 0 {
		return nil
	}
	return []model.Message{m}
}

// weight returns how many bytes a message has in a prompt.
func weight(m model.Message) int {
	n := len(m.Text)
	for _, x := range m.Thoughts {
		n += max(len(x.Text), len(x.Raw))
	}
	for _, c := range m.Calls {
		n += len(c.Arguments)
	}
	return n
}

// required returns the native reasoning that the provider wants back with this
// message.
func (t *turn) required() []model.Thought {
	var list []model.Thought
	for _, x := range t.reply.Thoughts {
		if x.Sealed || t.rule.Demands && len(t.reply.Calls) > 0 {
			list = append(list, x)
		}
	}
	return list
}

// demandsText reports whether the provider requires reasoning back that stood in
// the content.
func (t *turn) demandsText() bool {
	return t.rule.Demands && len(t.reply.Calls) > 0 && len(t.reply.Thoughts) == 0
}

// callsBack returns the calls as they go back. Providers expect JSON, so calls that
// are not valid JSON are left out. Reasoning is removed from the rest, unless it is
// kept.
func (t *turn) callsBack(keep bool) []model.Call {
	list := make([]model.Call, len(t.calls))
	for i, c := range t.calls {
		v, err := decodeArguments(c.Arguments)
		switch {
		case err != nil:
			c.Arguments = "{}"
		case !keep:
			was := string(encode(v))
			if now := string(encode(cleanAll(t.Grammar, v))); now != was {
				c.Arguments = now
			}
		}
		if !toolName.MatchString(c.Name) {
			c.Name = "unknown"
		}
		list[i] = c
	}
	return list
}

// textBack writes calls that stood in the text again, without the reasoning that
// was escaped in their arguments. It reports whether there was any.
func (t *turn) textBack() (text string, hidden bool) {
	var lines []string
	for _, c := range t.calls {
		v, err := decodeArguments(c.Arguments)
		if err != nil {
			v = map[string]any{}
		}
		was := string(encode(v))
		now := encode(cleanAll(t.Grammar, v))
		hidden = hidden || string(now) != was
		lines = append(lines, string(encode(map[string]any{"name": c.Name, "arguments": now})))
	}
	return strings.Join(lines, "\n"), hidden
}

func (t *turn) outcome() Outcome {
	o := Outcome{Status: t.status, Bound: t.bound, Messages: t.messages[t.given:], Thoughts: t.thoughts, Reading: t.reading, Of: t.ref, Metrics: t.metrics, Usage: t.took, Waiting: t.waiting}
	o.Metrics.SavedTokens = int(about(o.Metrics.SavedBytes))
	if t.status == Answered || t.status == Bounded {
		o.Answer = t.visible
	}
	return o
}
