package bedrock

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/internal/data/chatjson"
	"github.com/sotto-llm/sotto/internal/data/jsonedit"
	"github.com/sotto-llm/sotto/internal/data/jsontext"
	"github.com/sotto-llm/sotto/sse"
	"github.com/sotto-llm/sotto/wire"
	"github.com/sotto-llm/sotto/wire/internal/blocks"
	"github.com/sotto-llm/sotto/wire/shown"
)

// Writer returns the writer of a reply.
func (converse) Writer(s wire.Settings) wire.Writer {
	w := &writer{sign: s.Sign, other: -1}
	w.pen.To = w
	return w
}

// A writer writes one reply. It is the paper of its pen for a streamed one.
type writer struct {
	pen  blocks.Pen
	sign bool   // blocks of reasoning that are made get a signature
	dst  []byte // under way, during a call
	data []byte // of a piece of text, while it is written

	begun   bool        // the client has the start of the message
	stopped bool        // … and its end
	over    bool        // … or an exception
	wrote   bool        // the open block has a piece
	signs   bool        // … and gets a signature of ours
	others  map[int]int // the client's indices of a bounded number of blocks of other kinds
	other   int         // the client's index of the one that is open; -1 if none is
	padding string      // the member of the frame that hides how long it is

	last ending
}

// An ending is what the end of a message says.
type ending struct {
	reason string // the provider's word
	end    sotto.Ending
	fault  string // the JSON of an error, and its name
	name   string
	of     string // members of the reply
	made   bool   // the message has a call that was in a text
	called bool   // … or any
	comes  bool   // the message ends
}

func (w *writer) Frames(dst []byte, events []wire.Event) []byte {
	if w.over {
		return dst
	}
	w.dst = dst
	for i := range events {
		w.write(&events[i])
	}
	w.pen.Flush()
	if w.last.comes {
		w.stop()
	}
	switch {
	case w.last.fault != "":
		w.fault()
	case w.stopped && w.last.of != "":
		w.event("metadata", w.last.of)
		w.last.of = ""
	}
	w.padding = ""
	dst, w.dst = w.dst, nil
	return dst
}

// write writes an event. Those of the end are written once all that came with it are.
func (w *writer) write(e *wire.Event) {
	if w.stopped && e.Kind != wire.EventMembers {
		return
	}
	switch e.Kind {
	case wire.EventText, wire.EventThought, wire.EventNarration, wire.EventRefusal:
		if len(e.Text) > 0 {
			w.begin()
		}
		w.pen.Take(e)
	case wire.EventSealed:
		w.sealed(e)
	case wire.EventSlot:
		w.begin()
		w.pen.Slot()
		w.wrote, w.signs = true, false
		w.delta(w.pen.At, append(jsontext.AppendVerbatim([]byte(`{"`+reasoningMember+`":{"signature":`), e.Text), "}}"...))
		w.pen.Shut()
	case wire.EventCall:
		w.call(e)
	case wire.EventOther:
		w.block(e.Index, e.Raw)
	case wire.EventMember:
		if at, ok := w.others[-1-e.Choice]; ok && strings.HasSuffix(e.Name, resultMember+".text") {
			text := jsontext.AppendVerbatim([]byte(`{"`+resultMember+`":[{"text":`), e.Text)
			w.delta(at, append(text, "}]}"...))
		}
	case wire.EventMembers:
		w.members(e)
	default:
		w.last.note(e)
	}
}

// note keeps an event of the end.
func (l *ending) note(e *wire.Event) {
	switch e.Kind {
	case wire.EventFinish:
		l.reason, l.end = strings.Clone(e.Name), e.End
	case wire.EventFault:
		l.fault, l.name = strings.Clone(e.Raw), strings.Clone(e.Name)
	case wire.EventEnd:
		l.comes = true
	case wire.EventUsage: // that another API's server gave
		l.of = `{"usage":` + countsOf(e.Usage) + `,"metrics":{"latencyMs":0}}`
	case wire.EventMembers:
		l.of = strings.Clone(e.Raw)
	}
}

// countsOf returns token counts of another API. Here, those of the prompt that came from a cache, or went
// to it, are counted apart.
func countsOf(u wire.Usage) string {
	all, out := max(u.All(), 0), max(u.Output, 0)
	b := fmt.Appendf(nil, `{"inputTokens":%d,"outputTokens":%d,"totalTokens":%d`, max(all-max(u.CacheRead, 0)-max(u.CacheWrite, 0), 0), out, all+out)
	if u.CacheRead >= 0 {
		b = fmt.Appendf(b, `,"cacheReadInputTokens":%d`, u.CacheRead)
	}
	if u.CacheWrite >= 0 {
		b = fmt.Appendf(b, `,"cacheWriteInputTokens":%d`, u.CacheWrite)
	}
	return string(append(b, '}'))
}

func (w *writer) members(e *wire.Event) {
	switch e.Name {
	case wire.MembersOfFrame:
		w.padding = strings.Clone(e.Raw)
	case wire.MembersOfReply:
		w.last.note(e)
	case wire.MembersOfStart:
		w.begin()
	case wire.MembersOfCitation:
		if !w.stopped {
			w.begin()
			w.pen.Text(e.Choice)
			w.wrote = true
			w.delta(w.pen.At, []byte(`{"citation":`+e.Raw+"}"))
		}
	case wire.MembersOfPiece:
		if at, ok := w.others[e.Index]; ok {
			w.delta(at, []byte(e.Raw))
		}
	}
}

// begin writes the start of the message, and makes sure that no block of another kind is
// open.
func (w *writer) begin() {
	if !w.begun {
		w.begun = true
		w.event("messageStart", `{"role":"assistant"}`)
	}
	if w.other >= 0 {
		w.blockEvent("contentBlockStop", w.other, nil)
		w.other = -1
	}
}

// event writes an event, with the padding of the frame under way.
func (w *writer) event(name, data string) {
	if w.padding != "" {
		comma := ","
		if data == "{}" {
			comma = ""
		}
		data = data[:len(data)-1] + comma + w.padding[1:]
		w.padding = ""
	}
	w.dst = sse.Append(w.dst, name, jsonedit.BytesOf(data))
}

func (w *writer) blockEvent(name string, at int, more []byte) {
	data := strconv.AppendInt([]byte(`{"contentBlockIndex":`), int64(at), 10)
	w.event(name, string(append(append(data, more...), '}')))
}

func (w *writer) delta(at int, delta []byte) {
	w.blockEvent("contentBlockDelta", at, append([]byte(`,"delta":`), delta...))
}

func (w *writer) Begin(k blocks.Kind, own bool) {
	w.wrote, w.signs = false, k == blocks.Thinking && w.sign && !own
}

func (w *writer) Write(k blocks.Kind, text []byte) {
	const name = "contentBlockDelta"
	w.wrote = true
	data := strconv.AppendInt(append(w.data[:0], `{"contentBlockIndex":`...), int64(w.pen.At), 10)
	data = append(data, `,"delta":{`...)
	if k == blocks.Thinking {
		data = append(data, `"`+reasoningMember+`":{`...)
	}
	data = jsontext.AppendVerbatim(append(data, `"text":`...), text)
	if k == blocks.Thinking {
		data = append(data, '}')
	}
	data = append(data, "}}"...)
	if w.padding == "" {
		w.dst = sse.Append(w.dst, name, data)
	} else {
		w.event(name, string(data))
	}
	if w.data = data; cap(data) > large {
		w.data = nil
	}
}

// large is the capacity above which a buffer is not kept for later frames.
const large = 16 << 10

// End ends the open block. One without a piece gets an empty one, since its end alone would
// not say that it is there.
func (w *writer) End(k blocks.Kind) {
	if !w.wrote {
		w.Write(k, nil)
	}
	if w.signs {
		w.signs = false
		w.delta(w.pen.At, []byte(`{"`+reasoningMember+`":{"signature":"`+chatjson.Signature+`"}}`))
	}
	w.blockEvent("contentBlockStop", w.pen.At, nil)
}

// sealed writes a signature of a thought, or an encrypted thought.
func (w *writer) sealed(e *wire.Event) {
	text, ok := sealedText(e)
	if !ok {
		return
	}
	w.begin()
	if w.pen.Thought(e.Index) {
		w.wrote = true
		w.delta(w.pen.At, []byte(`{"`+reasoningMember+`":{"`+e.Name+`":`+text+"}}"))
	}
}

// sealedText returns signed or encrypted data as a JSON string.
func sealedText(e *wire.Event) (text string, ok bool) {
	if len(e.Text) == 0 || e.Name != "signature" && e.Name != "redactedContent" {
		return "", false
	}
	quoted := jsontext.AppendVerbatim(nil, e.Text)
	_, ok = shown.Sealed.Of(quoted)
	return string(quoted), ok
}

// call writes a call, or a piece of one. One that was in a text is whole, and has no index.
func (w *writer) call(e *wire.Event) {
	at, ok := w.others[e.Index]
	if !ok || e.Index < 0 {
		at = w.block(e.Index, string(startOf(e, nil)))
		w.last.made, w.last.called = w.last.made || e.Index < 0, true
		if ok = len(e.Text) > 0; !ok {
			return
		}
	}
	input := jsontext.AppendVerbatim([]byte(`{"`+callMember+`":{"input":`), e.Text)
	w.delta(at, append(input, "}}"...))
}

// block begins a block of another kind, and returns its index. A call that was in a text has
// the number -1.
func (w *writer) block(number int, start string) (at int) {
	w.begin()
	w.pen.Shut()
	at = w.pen.Next
	w.pen.Next++
	w.other = at
	if w.others == nil {
		w.others = map[int]int{}
	}
	if len(w.others) >= maxOpen {
		clear(w.others)
	}
	w.others[number] = at
	w.blockEvent("contentBlockStart", at, []byte(`,"start":`+start))
	return at
}

// startOf returns a call as a block. The start of one has no input.
func startOf(e *wire.Event, input []byte) []byte {
	start := appendCall(nil, wire.Part{ID: e.ID, Name: e.Name}, input)
	if !shown.IsWord(e.ID) {
		start = appendCall(nil, wire.Part{Name: e.Name}, input)
	}
	kind := jsonedit.Parse([]byte(e.Raw)).Get(callMember + ".type")
	if kind.Type == gjson.String && shown.IsWord(kind.Str) {
		start = append(append(append(start[:len(start)-2], `,"type":`...), kind.Raw...), "}}"...)
	}
	return start
}

// stop writes the end of the message.
func (w *writer) stop() {
	w.begin()
	w.pen.Finish()
	w.event("messageStop", string(append(w.last.appendReason([]byte(`{"stopReason":`)), '}')))
	w.stopped, w.last.comes = true, false
}

// reasons are the API's own words for how a message ends.
var reasons = map[sotto.Ending]string{
	sotto.EndUnknown: "end_turn", sotto.EndStopped: "end_turn", sotto.EndCut: "max_tokens", sotto.EndAborted: "content_filtered",
}

// appendReason appends why the message ended. One that got calls out of its text ended with
// them, if it ended of its own accord.
func (l *ending) appendReason(dst []byte) []byte {
	reason := l.reason
	switch {
	case l.end == sotto.EndStopped && (l.made || l.called && reason == ""): // another API's word is not here
		reason = "tool_use"
	case endOf(reason) == sotto.EndUnknown && l.end != sotto.EndUnknown, reason == "", !shown.IsWord(reason):
		reason = reasons[l.end]
	}
	return jsontext.AppendVerbatim(dst, reason)
}

// fault writes an exception of the upstream's. One of an unknown name gets a known one.
func (w *writer) fault() {
	if w.stopped {
		return
	}
	name := w.last.name
	if !shownExceptions[name] {
		name = broken
	}
	w.fail(name, messageOf(w.last.fault), w.last.of)
}

// fail ends the stream by an exception, which may have further members.
func (w *writer) fail(name, message, of string) {
	w.begin()
	w.pen.Shut()
	w.over = true
	data := jsontext.AppendVerbatim([]byte(`{"message":`), strings.ToValidUTF8(message, "\ufffd"))
	if len(of) > len("{}") {
		data = append(append(data, ','), of[1:len(of)-1]...)
	}
	w.event(exceptionPrefix+name, string(append(data, '}')))
}

// messageOf returns the text of an error.
func messageOf(fault string) string {
	root := jsonedit.Parse([]byte(fault))
	for _, path := range []string{"message", "error.message", "error"} {
		if v := root.Get(path); v.Type == gjson.String && v.Str != "" {
			return v.Str
		}
	}
	return "the upstream reported an error"
}

func (w *writer) Fail(dst []byte, err error) []byte {
	if w.over || w.stopped {
		return dst
	}
	w.dst = dst
	w.fail(exceptionOf(wire.FaultOf(err).Status), err.Error(), "")
	dst, w.dst = w.dst, nil
	return dst
}

// KeepAlive appends an event that clients do not know, and drop.
func (w *writer) KeepAlive(dst []byte) []byte { return sse.Append(dst, keepAlive, []byte("{}")) }
