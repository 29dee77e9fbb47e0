package cohere

import (
	"crypto/rand"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/internal/data/jsonedit"
	"github.com/sotto-llm/sotto/internal/data/jsontext"
	"github.com/sotto-llm/sotto/sse"
	"github.com/sotto-llm/sotto/wire"
	"github.com/sotto-llm/sotto/wire/internal/blocks"
	"github.com/sotto-llm/sotto/wire/shown"
)

// Writer returns the writer of a reply.
func (chat) Writer(wire.Settings) wire.Writer {
	w := &writer{call: -1}
	w.pen.To = w
	return w
}

// A message is what is known of the reply that is being written.
type message struct {
	pen     blocks.Pen
	id      string
	planned bool // the client has a plan of the calls
	made    bool // … and a call that was in a text
	called  bool // … or any
	last    ending
}

// A writer writes one reply. It is the paper of its pen for a streamed one.
type writer struct {
	message
	dst  []byte // under way, during a call
	data []byte // of a piece of text, while it is written

	begun   bool         // the client has the start of the message
	over    bool         // … and its end
	calls   map[int]int  // the client's indices of a bounded number of calls, by the upstream's
	next    int          // … and of the next call
	call    int          // the client's index of the call that is open; -1 if none is
	cited   int          // the citations that the client has
	waiting []wire.Event // … and those whose part it does not have
	held    int          // … and their bytes
}

// An ending is what the end of a message says.
type ending struct {
	reason string // the provider's word
	end    sotto.Ending
	fault  string // the JSON of an error
	of     string // members of the reply
	usage  string // token counts that another API's server gave
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
	w.cite(false)
	if w.last.comes || w.last.fault != "" {
		w.end()
	}
	dst, w.dst = w.dst, nil
	return dst
}

// write writes an event. Those of the end are written once all that came with it are.
func (w *writer) write(e *wire.Event) {
	switch e.Kind {
	case wire.EventModel:
		w.named(e.ID)
	case wire.EventText, wire.EventThought, wire.EventNarration, wire.EventRefusal:
		if len(e.Text) > 0 {
			w.begin("")
			w.endCall()
		}
		if e.Kind == wire.EventThought && e.Name == plan {
			w.plan(e.Text)
			return
		}
		w.pen.Take(e)
	case wire.EventCall:
		w.begin("")
		w.pen.Shut()
		w.tool(e)
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
		l.fault = strings.Clone(e.Raw)
	case wire.EventEnd:
		l.comes = true
	case wire.EventUsage:
		l.usage = fmt.Sprintf(`,"usage":{"tokens":{"input_tokens":%d,"output_tokens":%d}`, max(e.Usage.All(), 0), max(e.Usage.Output, 0))
		if e.Usage.CacheRead >= 0 {
			l.usage += fmt.Sprintf(`,"cached_tokens":%d`, e.Usage.CacheRead)
		}
		l.usage += "}"
	case wire.EventMembers:
		l.of = strings.Clone(e.Raw)
	}
}

func (w *writer) members(e *wire.Event) {
	switch e.Name {
	case wire.MembersOfStart:
		w.begin(e.Raw)
	case wire.MembersOfCitation:
		if w.held += len(e.Raw); w.held <= maxHeld {
			c := *e
			c.Raw = strings.Clone(e.Raw)
			w.waiting = append(w.waiting, c)
		}
		w.cite(false)
	case wire.MembersOfReply:
		w.last.note(e)
	}
}

// named notes the id of the reply.
func (m *message) named(id string) {
	if m.id == "" && shown.IsWord(id) {
		m.id = strings.Clone(id)
	}
}

// name returns the id of the reply.
func (m *message) name() string {
	if m.id == "" {
		m.id = strings.ToLower(rand.Text())
	}
	return m.id
}

// begin writes the start of the message, with the members that the upstream has.
func (w *writer) begin(message string) {
	if w.begun {
		return
	}
	w.begun = true
	if message == "" {
		message = `{"role":"assistant","content":[],"tool_plan":"","tool_calls":[],"citations":[]}`
	}
	data := jsontext.AppendVerbatim([]byte(`{"type":"message-start","id":`), w.name())
	data = append(append(append(data, `,"delta":{"message":`...), message...), "}}"...)
	w.dst = sse.Append(w.dst, "message-start", data)
}

// event writes an event with an index.
func (w *writer) event(name string, at int, more []byte) {
	data := strconv.AppendInt([]byte(`{"type":"`+name+`","index":`), int64(at), 10)
	w.dst = sse.Append(w.dst, name, append(append(data, more...), '}'))
}

func (w *writer) Begin(k blocks.Kind, _ bool) {
	w.event("content-start", w.pen.At, []byte(`,"delta":{"message":{"content":{"type":"`+keyOf(k)+`","`+keyOf(k)+`":""}}}`))
}

func (w *writer) Write(k blocks.Kind, text []byte) {
	const name = "content-delta"
	data := strconv.AppendInt(append(w.data[:0], `{"type":"`+name+`","index":`...), int64(w.pen.At), 10)
	data = append(append(append(data, `,"delta":{"message":{"content":{"`...), keyOf(k)...), `":`...)
	data = append(jsontext.AppendVerbatim(data, text), "}}}}"...)
	w.dst = sse.Append(w.dst, name, data)
	if w.data = data; cap(data) > large {
		w.data = nil
	}
}

// large is the capacity above which a buffer is not kept for later frames.
const large = 16 << 10

func (w *writer) End(blocks.Kind) { w.event("content-end", w.pen.At, nil) }

// plan writes a piece of the plan of the calls.
func (w *writer) plan(text []byte) {
	if len(text) == 0 {
		return
	}
	w.pen.Shut()
	w.planned = true
	data := jsontext.AppendVerbatim([]byte(`{"type":"tool-plan-delta","delta":{"message":{"`+plan+`":`), text)
	w.dst = sse.Append(w.dst, "tool-plan-delta", append(data, "}}}"...))
}

// tool writes a call, or a piece of one. One that was in a text is whole, and has no index.
func (w *writer) tool(e *wire.Event) {
	at, ok := w.calls[e.Index]
	w.called = true
	switch {
	case e.Index < 0:
		w.made = true
		w.startCall(e, nil)
		w.piece(w.call, e.Text)
		w.endCall()
	case ok:
		w.piece(at, e.Text)
	default:
		if w.calls == nil {
			w.calls = map[int]int{}
		}
		if len(w.calls) >= maxParts {
			clear(w.calls)
		}
		w.calls[e.Index] = w.next
		w.startCall(e, e.Text)
	}
}

func (w *writer) startCall(e *wire.Event, arguments []byte) {
	w.endCall()
	w.call = w.next
	w.next++
	more := appendCall([]byte(`,"delta":{"message":{"tool_calls":`), wire.Part{ID: wordOr(e.ID), Name: e.Name}, arguments)
	w.event("tool-call-start", w.call, append(more, "}}"...))
}

func (w *writer) piece(at int, arguments []byte) {
	more := jsontext.AppendVerbatim([]byte(`,"delta":{"message":{"tool_calls":{"function":{"arguments":`), arguments)
	w.event("tool-call-delta", at, append(more, "}}}}"...))
}

// endCall ends the call that is open.
func (w *writer) endCall() {
	if w.call >= 0 {
		w.event("tool-call-end", w.call, nil)
		w.call = -1
	}
}

// wordOr returns an id that may be shown.
func wordOr(id string) string {
	if shown.IsWord(id) {
		return id
	}
	return ""
}

// cite writes the citations whose part the client has. all says that no other part comes:
// what is left is about texts that the client does not get.
func (w *writer) cite(all bool) {
	left := w.waiting[:0]
	w.held = 0
	for _, c := range w.waiting {
		raw, ok := w.citation(&c)
		if !ok {
			left = append(left, c)
			w.held += len(c.Raw)
			continue
		}
		w.begin("")
		w.pen.Flush()
		w.event("citation-start", w.cited, append(append([]byte(`,"delta":{"message":{"citations":`), raw...), "}}"...))
		w.event("citation-end", w.cited, nil)
		w.cited++
	}
	clear(w.waiting[len(left):])
	if w.waiting = left; all {
		w.waiting = nil
	}
}

// Held is what citations keep that wait for their part.
func (w *writer) Held() int { return w.held }

// maxHeld bounds the citations that wait for their part, in bytes.
const maxHeld = 1 << 20

// citation returns a citation with the client's index of its part; ok is false if the client
// does not have that.
func (m *message) citation(e *wire.Event) (raw []byte, ok bool) {
	raw = append(raw, e.Raw...)
	if jsonedit.Parse(raw).Get("type").Str == "PLAN" {
		return raw, m.planned
	}
	at, ok := m.pen.Place(e.Index, e.Choice)
	if !ok || e.Index < 0 {
		return raw, e.Index < 0
	}
	raw = append(raw[:len(raw)-1], `,"content_index":`...)
	return append(strconv.AppendInt(raw, int64(at), 10), '}'), true
}

// end writes the end of the message.
func (w *writer) end() {
	w.begin("")
	w.endCall()
	if w.next == 0 {
		w.pen.Finish()
	}
	w.pen.Shut()
	w.cite(true)
	w.over = true
	of := jsonedit.Parse([]byte(w.last.of))
	data := []byte(`{"type":"message-end",`)
	if id := of.Get("id"); id.Exists() {
		data = append(append(append(data, `"id":`...), id.Raw...), ',')
	}
	data = append(data, `"delta":{"finish_reason":`...)
	data = w.appendReason(data)
	if usage := of.Get("delta.usage"); usage.Exists() {
		data = append(append(data, `,"usage":`...), usage.Raw...)
	} else {
		data = append(data, w.last.usage...)
	}
	if w.last.fault != "" {
		data = jsontext.AppendVerbatim(append(data, `,"error":`...), messageOf(w.last.fault))
	}
	w.dst = sse.Append(w.dst, "message-end", append(data, "}}"...))
}

// reasons are the API's own words for how a message ends.
var reasons = map[sotto.Ending]string{sotto.EndStopped: "COMPLETE", sotto.EndCut: "MAX_TOKENS", sotto.EndAborted: "ERROR"}

// appendReason appends why the message ended. One that got calls out of its text ended with
// them, if it ended of its own accord.
func (m *message) appendReason(dst []byte) []byte {
	l := &m.last
	reason := l.reason
	known := ends[reason] != sotto.EndUnknown
	switch {
	case l.fault != "" && ends[reason] != sotto.EndAborted:
		reason = reasons[sotto.EndAborted]
	case l.end == sotto.EndStopped && (m.made || m.called && reason == ""): // another API's word is not here
		reason = "TOOL_CALL"
	case !known && reasons[l.end] != "", !shown.IsWord(reason):
		reason = reasons[l.end]
	}
	if reason == "" {
		return append(dst, "null"...)
	}
	return jsontext.AppendVerbatim(dst, reason)
}

// messageOf returns the text of an error.
func messageOf(fault string) string {
	root := jsonedit.Parse([]byte(fault))
	for _, path := range []string{"error.message", "error", "message"} {
		if v := root.Get(path); v.Type == gjson.String && v.Str != "" {
			return v.Str
		}
	}
	return "the upstream reported an error"
}

func (w *writer) Fail(dst []byte, err error) []byte {
	if w.over {
		return dst
	}
	fault := jsontext.AppendVerbatim([]byte(`{"error":`), err.Error())
	w.dst, w.last.fault = dst, string(append(fault, '}'))
	if wire.FaultOf(err).Status == http.StatusGatewayTimeout {
		w.last.reason = timeout
	}
	w.end()
	dst, w.dst = w.dst, nil
	return dst
}

func (w *writer) KeepAlive(dst []byte) []byte { return sse.AppendComment(dst, "keep-alive") }
