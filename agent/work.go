package agent

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"strings"
	"time"

	"github.com/sotto-llm/sotto/internal/base/shorttext"
	"github.com/sotto-llm/sotto/model"
	"github.com/sotto-llm/sotto/record"
)

// unknownEnd is what the model is told about a call that a crash left open, if its
// tool must not be called twice.
const unknownEnd = "error: the call was interrupted. It may have taken effect. It was not repeated."

// work makes the calls of a reply, in order. The answer to a call that cannot be
// made says what is wrong.
func (t *turn) work(ctx context.Context) error {
	for len(t.calls) > 0 {
		if !t.begun() && t.left.extends().reached(func() bool { return t.metrics.ToolCalls >= t.most().Calls }) {
			for _, c := range t.calls {
				t.result(c, fmt.Sprintf("error: not called: the limit is %d calls", t.most().Calls))
			}
			t.calls = nil
			return nil
		}
		if b := t.left.hit(t); b != "" {
			t.visible = ""
			t.end(Bounded, b)
			return nil
		}
		c := t.calls[0]
		text, err := t.one(ctx, c)
		var pause *Pause
		switch {
		case errors.As(err, &pause):
			t.pause(pause)
			return nil
		case err != nil:
			return err
		}
		t.result(c, text)
		t.carry(c, text)
		t.calls = t.calls[1:]
	}
	return nil
}

// resultOf begins a result that goes back as text.
const resultOf = "Result of "

// result adds what a call gave to the conversation.
func (t *turn) result(c model.Call, text string) {
	m := model.Message{Role: model.ToolRole, Text: text, CallID: c.ID, Name: c.Name}
	if !toolName.MatchString(c.Name) {
		m.Name = "unknown"
	}
	if t.fromText {
		m = model.Message{Role: model.User, Text: resultOf + m.Name + ":\n" + text}
	}
	t.messages = append(t.messages, m)
}

func (t *turn) pause(p *Pause) {
	t.waiting = &Waiting{
		Question: p.Question, Confirm: p.Consent != nil, Asked: p.Consent, Passed: p.passed, State: p.State,
		Messages: t.messages, Given: t.given, Calls: t.calls, FromText: t.fromText, ID: t.id, Used: *t.used, Metrics: t.metrics, Usage: t.took, Peers: maps.Clone(t.peers),
	}
	t.end(Paused, "")
	if f := t.Observer.OnQuestion; f != nil {
		f(p.Question)
	}
}

// begun reports whether the next call was begun before a pause, and so is counted.
func (t *turn) begun() bool { return t.answer != nil || t.passed != nil }

// one makes one call: it records the intent, calls, and records the end. The error
// means that the surroundings failed, or is a pause.
func (t *turn) one(ctx context.Context, c model.Call) (string, error) {
	*t.used++
	use := Use{Run: t.Run, ID: t.id, Cycle: t.Cycle, Number: *t.used, Name: c.Name}
	tool, arguments, refusal := t.understand(c)
	use.Arguments = arguments
	x := record.ToolCall{ID: c.ID, Name: c.Name, Number: use.Number, FromText: t.fromText, Of: t.ref, Phase: "start", Arguments: record.Say(string(arguments))}
	ctx, x.IDs = t.below(ctx, "tool", use.Number)
	t.passReceipts(use)
	begun := !t.journal.live()
	no, err := t.confirmed(ctx, use, refusal)
	if err != nil {
		return "", err
	}
	if !t.begun() {
		t.metrics.ToolCalls++
		if _, err := t.journal.put(ctx, t.Run, t.Cycle, x); err != nil {
			return "", err
		}
	}
	t.passReceipts(use)
	open := begun && t.journal.live() // begun by a process that was killed before its end
	if open && repeatable(tool) {
		if no, err = t.confirmed(ctx, use, refusal); err != nil { // it may have been refused
			return "", err
		}
	}
	x.Phase = "end"
	if _, replays := tool.(replayer); (!replays || t.journal.declined(x)) && refusal == nil {
		past, _, err := t.journal.recall(t.Run, t.Cycle, x)
		if err != nil {
			return "", err
		}
		if past != nil {
			y := past.(record.ToolCall)
			return t.ended(y), nil
		}
	}
	return t.carryOut(ctx, made{tool, use, x, refusal, no, open})
}

// A made call is one of which the record has the beginning alone.
type made struct {
	tool Tool
	use  Use
	end  record.ToolCall // as far as it is known
	// refusal says why it cannot be made, and no why a person did not agree.
	refusal, no error
	open        bool // a process began it that was killed before its end
}

// carryOut makes a call, and records its end.
func (t *turn) carryOut(ctx context.Context, c made) (string, error) {
	live := t.journal.live()
	if f := t.Observer.OnToolStart; f != nil && live {
		f(c.use)
	}
	began := time.Now()
	x, text, failure := c.end, "", ""
	t.child, t.peer = nil, t.notesPeer()
	switch {
	case c.refusal != nil:
		text, failure = "error: "+c.refusal.Error(), "refused"
	case c.no != nil:
		text, failure = "error: "+c.no.Error(), declined
	case t.answer != nil:
		text, t.answer = *t.answer, nil
	case c.open && !repeatable(c.tool):
		text, failure = unknownEnd, "interrupted"
	default:
		var err error
		if text, failure, err = t.useAsking(ctx, c.tool, c.use); err != nil {
			return "", err
		}
		began = began.Add(t.waited)
	}
	x.Peer = t.peer.taken()
	x.Result, x.Child, x.Error, x.Millis = record.Say(t.bounded(text)), t.child, failure, millis(time.Since(began))
	if failure == "" && t.recalls(c.use.Name) {
		x = recalledAs(x)
	}
	if !live { // a tool that is called in a replay: its times are the recorded ones
		x.Millis = t.journal.nextMillis(x.Millis)
	}
	if _, err := t.journal.put(ctx, t.Run, t.Cycle, x); err != nil {
		return "", err
	}
	if f := t.Observer.OnToolEnd; f != nil && live {
		f(c.use, string(x.Result.Text), failure != "")
	}
	return t.ended(x), nil
}

// ended counts a call that has ended, and returns its result for the model.
func (t *turn) ended(x record.ToolCall) string {
	t.took.Time += time.Duration(x.Millis) * time.Millisecond
	t.spendPeer(&x)
	if x.Error != "" {
		t.metrics.ToolErrors++
	}
	text := given(&x)
	if len(x.Reasoning) > 0 { // no prompt from here on saves it
		t.extra -= len(text)
	}
	return text
}

// understand finds the tool of a call and reads its arguments. The error is for the
// model.
func (t *turn) understand(c model.Call) (Tool, json.RawMessage, error) {
	if !toolName.MatchString(c.Name) {
		return nil, nil, fmt.Errorf("invalid tool name: the tools are %s", t.box)
	}
	tool := t.box.named(c.Name)
	if tool == nil {
		return nil, nil, fmt.Errorf("there is no tool %s: the tools are %s", c.Name, t.box)
	}
	arguments, err := readArguments(t.Grammar, t.box.schemas[c.Name], c.Arguments, t.Limits.Arguments)
	if err != nil {
		return tool, nil, fmt.Errorf("%w. Call %s again with arguments that fit its schema", err, c.Name)
	}
	if p, ok := tool.(proser); ok {
		clean(t.Grammar, arguments, p.prose())
	}
	return tool, encode(arguments), nil
}

func (b *toolbox) String() string {
	if len(b.names) == 0 {
		return "none"
	}
	return strings.Join(b.names, ", ")
}

func repeatable(tool Tool) bool {
	if _, ok := tool.(replayer); ok {
		return true
	}
	r, ok := tool.(Repeater)
	return ok && r.Repeatable()
}

// use1 calls a tool within its time limit.
func (t *turn) use1(ctx context.Context, tool Tool, use Use) (text, failure string, err error) {
	limit := t.Limits.ToolTime
	if timed, ok := tool.(interface{ time() time.Duration }); ok {
		limit = cmp.Or(timed.time(), limit)
	}
	if left := t.left.time(t); left > 0 && limit > 0 {
		limit = min(limit, left)
	}
	inner, cancel := context.WithValue(within(ctx, t), peerKey{}, t.peer), context.CancelFunc(func() {})
	if limit > 0 {
		inner, cancel = context.WithTimeout(inner, limit)
	}
	defer cancel()
	n := t.narrator(use.Name)
	defer n.end()
	inner = context.WithValue(inner, narratorKey{}, n)
	live := t.journal.live()
	if live {
		point("before tool")
	}
	text, err = call(inner, tool, use)
	if live {
		point("after tool")
	}
	var pause *Pause
	var own *ownError
	switch {
	case err == nil:
		return text, "", nil
	case errors.As(err, &pause), ctx.Err() != nil:
		return "", "", err
	case errors.As(err, &own):
		return "", "", own.error
	case inner.Err() != nil:
		return fmt.Sprintf("error: no answer within %v", limit), "timeout", nil
	}
	return "error: " + err.Error(), "failed", nil
}

// An ownError is a fault of the surroundings, and ends the run.
type ownError struct{ error }

func (e *ownError) Unwrap() error { return e.error }

// call calls a tool. If the tool panics, that is an error.
func call(ctx context.Context, tool Tool, use Use) (text string, err error) {
	defer func() {
		if v := recover(); v != nil {
			text, err = "", fmt.Errorf("the tool panicked: %v", v)
		}
	}()
	return tool.Call(ctx, use)
}

// bounded cuts a result to what the model gets to see.
func (t *turn) bounded(text string) string {
	text = strings.ToValidUTF8(text, "\uFFFD")
	if len(text) <= t.Limits.Result {
		return text
	}
	cut := shorttext.Cut(text, t.Limits.Result)
	return fmt.Sprintf("%s\n[%d more bytes are left out]", cut, len(text)-len(cut))
}
