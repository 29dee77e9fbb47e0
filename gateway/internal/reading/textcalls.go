package reading

import (
	"bytes"
	"crypto/rand"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/gateway/guard"
	"github.com/sotto-llm/sotto/internal/reply/toolcall"
	"github.com/sotto-llm/sotto/wire"
)

// callInThought is the finding that a model wrote a call of a tool inside a thought.
const callInThought sotto.Code = "call_in_thought"

// A textCall is the markup of calls in the text of a choice: the tool segment that is
// under way, or the white space before it.
type textCall struct {
	white   []byte // white space that the client gets with the next text
	after   bool   // the client got nothing since a call
	markup  []byte // of the segment under way, as the text would have it
	segment int    // … and its number; 0 if there is none
	settled int    // the number of the last segment that needs no more looking at
}

// size is the memory that it holds.
func (t *textCall) size() int { return cap(t.white) + cap(t.markup) }

// withCalls takes a piece of a reply whose calls may be sent.
func (r *Reading) withCalls(c *Choice, p sotto.Piece) {
	t := &c.calls
	segment := p.Segment + 1
	if t.segment != 0 && t.segment != segment {
		r.settleCalls(c, true)
	}
	if p.Channel != sotto.ChannelTool || t.settled == segment {
		r.keep(c, &c.Kept.Raw, p.Bytes)
		r.between(c, p.Visible)
		return
	}
	t.segment = segment
	visible := p.Visible
	if len(t.markup) == 0 { // white space that waited for its place comes with the marker
		ink := trimLeft(visible)
		r.between(c, visible[:len(visible)-len(ink)])
		visible = ink
	}
	t.markup = append(t.markup, visible...)
	if len(t.markup) > toolcall.MaxMarkup || toolcall.Closed(t.markup) {
		r.settleCalls(c, true)
	}
}

// settleCalls ends the segment of markup under way. Its calls are sent if all of them may
// be, or it is text. whole says that the model had finished the segment.
func (r *Reading) settleCalls(c *Choice, whole bool) {
	t := &c.calls
	markup := t.markup
	t.settled, t.segment, t.markup = t.segment, 0, nil
	var calls []wire.Part
	cut := r.Lacks(c.Number, guard.Answer) // then the call, as text of the answer, is cut too
	if !cut && (whole || toolcall.Closed(markup)) {
		calls = r.callsOf(markup)
	}
	if calls == nil {
		if !cut {
			r.Left++
		}
		r.keep(c, &c.Kept.Raw, markup)
		r.between(c, markup)
		return
	}
	r.closeTag(c)
	for _, call := range calls {
		r.Parts = append(r.Parts, call)
		r.sent(c, call)
	}
	t.after = true
	if r.divides() { // the text that follows is another
		t.white = nil
	}
}

// divides reports whether a call divides the text in which it stood into two.
func (r *Reading) divides() bool { return r.Can.Texts && !r.Can.Items }

// callsOf returns the calls in markup, or nil if one of them may not be sent.
func (r *Reading) callsOf(markup []byte) (parts []wire.Part) {
	calls, _ := toolcall.Parse(string(markup))
	for _, call := range calls {
		tool := r.Tools[call.Name]
		if tool == nil {
			return nil
		}
		args, ok := tool.Arguments(call)
		if !ok {
			return nil
		}
		parts = append(parts, wire.Part{Place: wire.Call, ID: newCallID(), Name: call.Name, Text: args})
	}
	return parts
}

// movedCalls is where the numbers of sent calls begin in the record: an upstream does not
// have as many.
const movedCalls = 1 << 20

// sent notes a call that the client gets.
func (r *Reading) sent(c *Choice, call wire.Part) {
	r.Moved++
	if r.Account != nil {
		f := wire.Event{Kind: wire.EventCall, Choice: c.Number, Index: movedCalls + r.Moved, ID: call.ID, Name: call.Name, Text: call.Text}
		r.Account.Found(f, r.texts)
	}
	r.called = true
	came(&r.FirstCall)
	if r.asks() {
		r.hasAnswer(r.answer(c.Number))
	}
	if c.Number == 0 || r.Can.Texts {
		r.keepCall(&wire.Event{Index: movedCalls + r.Moved, ID: call.ID, Name: call.Name, Text: call.Text})
	}
}

// between gives text to the client in which calls may come: white space waits for what
// follows it. White space after a call is dropped if there was some before it, and all
// of it if no text follows.
func (r *Reading) between(c *Choice, text []byte) {
	t := &c.calls
	if t.after {
		ink := trimLeft(text)
		if len(t.white) == 0 && c.shown > 0 && !r.divides() {
			t.white = append(t.white, text[:len(text)-len(ink)]...)
		}
		if text = ink; len(text) == 0 {
			return
		}
		if t.after = false; c.shown == 0 {
			t.white = nil
		}
	}
	ink := trimRight(text)
	if len(ink) == 0 && (r.MaxHold < 0 || len(t.white)+len(text) <= r.Limits.Hold) {
		t.white = append(t.white, text...)
		return
	}
	if len(t.white) > 0 {
		r.content(c, bytes.Clone(t.white))
		t.white = t.white[:0]
	}
	r.content(c, ink)
	t.white = append(t.white, text[len(ink):]...)
}

// endCalls ends the markup of a choice. A call that was cut is text.
func (r *Reading) endCalls(c *Choice, end sotto.Ending) {
	if r.Tools == nil {
		return
	}
	t := &c.calls
	if t.segment != 0 {
		r.settleCalls(c, end == sotto.EndStopped)
	}
	if !t.after && len(t.white) > 0 {
		r.content(c, bytes.Clone(t.white))
	}
	t.white, t.after, t.settled = nil, false, 0
}

// meets notes what a piece of a reply is, to find calls inside thoughts: where the dialect
// has calls, the call has ended the thought.
func (c *Choice) meets(p sotto.Piece) {
	if len(p.Bytes) == 0 {
		return
	}
	if c.thinking && p.Channel == sotto.ChannelTool {
		c.inThought.Calls++
	}
	c.thinking = p.Channel == sotto.ChannelReasoning
}

// idBytes are the bytes of ids: Mistral's templates take nothing but nine letters and
// digits.
const idBytes = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

// idPrefix begins the ids of calls that Sotto made.
const idPrefix = "S0"

// newCallID returns an id for a call. It looks random, so that the history recognises it.
func newCallID() string {
	id := []byte(idPrefix + "0000000")
	_, _ = rand.Read(id[len(idPrefix):]) // never fails
	for i := len(idPrefix); i < len(id); i++ {
		id[i] = idBytes[int(id[i])%len(idBytes)]
	}
	return string(id)
}
