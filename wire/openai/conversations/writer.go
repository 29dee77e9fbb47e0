package conversations

import (
	"fmt"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/sotto-llm/sotto/internal/data/jsonedit"
	"github.com/sotto-llm/sotto/internal/data/jsontext"
	"github.com/sotto-llm/sotto/sse"
	"github.com/sotto-llm/sotto/wire"
	"github.com/sotto-llm/sotto/wire/internal/blocks"
	"github.com/sotto-llm/sotto/wire/shown"
)

// Writer returns the writer of a reply.
func (codec) Writer(wire.Settings) wire.Writer {
	w := &writer{}
	w.pen.To = w
	return w
}

// A summary is what is known of the reply that is being written.
type summary struct {
	pen    blocks.Pen
	id     string // of the conversation
	model  string
	of     string // members of the end of the reply, or of the whole of it
	usage  string // token counts, if those have none
	fault  string // the JSON of an error
	comes  bool   // the reply ends
	choice int    // the text of the message under way
}

// note keeps what is said of the reply as a whole.
func (s *summary) note(e *wire.Event) {
	switch e.Kind {
	case wire.EventModel:
		if e.ID != "" && shown.IsWord(e.ID) {
			s.id = strings.Clone(e.ID)
		}
		if _, ok := shown.Label.Of(jsontext.AppendVerbatim(nil, e.Name)); ok && e.Name != "" {
			s.model = strings.Clone(e.Name)
		}
	case wire.EventFault:
		s.fault = strings.Clone(e.Raw)
	case wire.EventEnd:
		s.comes = true
	case wire.EventUsage:
		in, out := max(e.Usage.All(), 0), max(e.Usage.Output, 0)
		s.usage = fmt.Sprintf(`"usage":{"prompt_tokens":%d,"completion_tokens":%d,"total_tokens":%d}`, in, out, in+out)
	case wire.EventMembers:
		if e.Name == wire.MembersOfReply {
			s.of = strings.Clone(e.Raw)
		}
	}
}

// appendOf appends the members of the end of the reply, without some, each with a comma before it.
func (s *summary) appendOf(dst []byte, without string) []byte {
	of := jsonedit.Parse([]byte(s.of))
	for _, m := range jsonedit.Members(of) {
		if m.Key != without {
			dst = append(append(jsontext.AppendVerbatim(append(dst, ','), m.Key), ':'), m.Value.Raw...)
		}
	}
	if s.usage != "" && !of.Get("usage").Exists() {
		dst = append(append(dst, ','), s.usage...)
	}
	return dst
}

// appendModel appends the model as a member, if it is known, with a comma before it.
func (s *summary) appendModel(dst []byte) []byte {
	if s.model == "" {
		return dst
	}
	return jsontext.AppendVerbatim(append(dst, `,"model":`...), s.model)
}

// isText reports whether an event has text for the client.
func isText(e *wire.Event) bool {
	switch e.Kind {
	case wire.EventText, wire.EventThought, wire.EventNarration, wire.EventRefusal:
		return true
	}
	return false
}

// A call is one whose pieces come.
type call struct {
	at       int
	id, name string
	members  string
}

// A writer writes one reply. It is the paper of its pen for a streamed one.
type writer struct {
	summary
	dst   []byte // under way, during a call
	begun bool   // the client has the start of the reply
	over  bool   // … and its end

	message   string // the members of the upstream's output
	open      bool   // the client has a part of the message
	at, chunk int    // the client's indices of it
	next      int    // … and of the next output
	written   bool   // the open content has text
	calls     map[int]call
	others    map[int64]int // the client's indices of a bounded number of other outputs, by the upstream's
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
	if w.comes || w.fault != "" {
		w.finish()
	}
	dst, w.dst = w.dst, nil
	return dst
}

// write writes an event. Those of the end are written once all that came with it are.
func (w *writer) write(e *wire.Event) {
	switch {
	case isText(e):
		if len(e.Text) > 0 {
			w.start(e)
		}
		w.pen.Take(e)
	case e.Kind == wire.EventSealed:
		if e.Name == "signature" && len(e.Text) > 0 {
			w.start(e)
			if w.pen.Thought(e.Index) {
				w.written = true
				w.say(appendSigned(nil, e.Text))
			}
		}
	case e.Kind == wire.EventCall:
		w.tool(e)
	case e.Kind == wire.EventMembers:
		w.members(e)
	default:
		w.note(e)
	}
}

// start ends the message under way, if an event is of another one.
func (w *writer) start(e *wire.Event) {
	w.begin()
	if w.open && e.Choice != w.choice {
		w.apart()
	}
	w.choice = e.Choice
}

// apart ends the message under way.
func (w *writer) apart() {
	w.begin()
	w.pen.Shut()
	w.open = false
}

func (w *writer) members(e *wire.Event) {
	switch e.Name {
	case wire.MembersOfStart:
		if !w.begun {
			w.begun = true
			w.dst = sse.Append(w.dst, startedEvent, []byte(e.Raw))
		}
	case wire.MembersOfBlock:
		w.apart()
		of := jsonedit.Parse([]byte(e.Raw))
		if kind := kindOf(of); kind == messageOutput || kind == functionCall {
			w.message = membersOf(of)
			return
		}
		w.dst = sse.Append(w.dst, of.Get("type").Str, jsonedit.Splice(nil, []byte(e.Raw), reindex(nil, of, "output_index", w.other(of.Get("output_index").Int()))))
	case wire.MembersOfPiece:
		w.start(e)
		w.pen.Shut()
		w.pen.Next++
		w.content()
		w.say([]byte(e.Raw))
	default:
		w.note(e)
	}
}

// membersOf are the members of an output in each of its events.
func membersOf(of gjson.Result) string {
	members := []byte(`,"id":`)
	members = jsontext.AppendVerbatim(members, wordOr(of.Get("id").Str))
	for _, name := range []string{"model", "agent_id"} {
		if v := of.Get(name); v.Str != "" {
			members = jsontext.AppendVerbatim(append(append(append(members, `,"`...), name...), `":`...), v.Str)
		}
	}
	return string(members)
}

// other returns the client's index of an output that is not a message.
func (w *writer) other(of int64) int {
	if at, ok := w.others[of]; ok {
		return at
	}
	if w.others == nil || len(w.others) >= maxOutputs {
		w.others = map[int64]int{}
	}
	w.others[of] = w.next
	w.next++
	w.pen.Next++
	return w.others[of]
}

// begin writes the start of the reply.
func (w *writer) begin() {
	if w.begun {
		return
	}
	w.begun = true
	w.dst = sse.Append(w.dst, startedEvent, append(jsontext.AppendVerbatim([]byte(`{"type":"`+startedEvent+`","conversation_id":`), w.id), '}'))
}

// content begins a content of the message.
func (w *writer) content() {
	if !w.open {
		w.open, w.at, w.chunk = true, w.next, -1
		w.next++
	}
	w.chunk++
}

func (w *writer) Begin(blocks.Kind, bool) {
	w.written = false
	w.content()
}

func (w *writer) Write(k blocks.Kind, text []byte) {
	w.written = true
	w.say(appendChunk(nil, k, jsontext.AppendVerbatim(nil, text), false))
}

func (w *writer) End(blocks.Kind) {
	if !w.written {
		w.say([]byte(`""`))
	}
}

// say writes a piece of the open content, which is JSON.
func (w *writer) say(chunk []byte) {
	if w.message == "" {
		w.message = `,"id":""` + string(w.appendModel(nil))
	}
	w.dst = appendMessage(w.dst, w.at, w.chunk, []byte(w.message), chunk)
}

// tool writes a call, or a piece of one. One that was in a text is whole, and has no index.
func (w *writer) tool(e *wire.Event) {
	c, known := w.calls[e.Index]
	if !known || e.Index < 0 {
		w.apart()
		w.pen.Next++
		c = call{at: w.next, id: strings.Clone(wordOr(e.ID)), name: strings.Clone(e.Name), members: w.message}
		if w.next++; e.Index < 0 || c.members == "" {
			c.members = `,"id":""` + string(w.appendModel(nil))
		}
	} else if len(e.Text) == 0 {
		return
	}
	w.dst = appendEvent(w.dst, callEvent, c.at, append([]byte(c.members+","), appendCall(nil, c.id, c.name, e.Text)...))
	if known || e.Index < 0 {
		return
	}
	if len(c.name) > longestName {
		c.name = "" // it does not come with each piece
	}
	if w.calls == nil || len(w.calls) >= maxOutputs {
		w.calls = map[int]call{}
	}
	w.calls[e.Index] = c
}

// longestName bounds a name that comes again with each piece of a call.
const longestName = 128

// wordOr returns an id that may be shown.
func wordOr(id string) string {
	if shown.IsWord(id) {
		return id
	}
	return ""
}

// finish writes the end of the reply.
func (w *writer) finish() {
	w.apart()
	w.pen.Finish()
	w.over = true
	if w.fault != "" {
		w.dst = appendError(w.dst, w.fault)
		return
	}
	w.dst = sse.Append(w.dst, doneEvent, append(w.appendOf([]byte(`{"type":"`+doneEvent+`"`), "type"), '}'))
}

// appendError appends the event of an error that the upstream has reported.
func appendError(dst []byte, fault string) []byte {
	of := jsonedit.Parse([]byte(fault))
	if inner := of.Get("error"); inner.IsObject() {
		of = inner
	} else if inner.Str != "" {
		of = jsonedit.Parse([]byte(`{"message":` + inner.Raw + `}`))
	}
	message, code := of.Get("message").Str, of.Get("code").Int()
	if message == "" {
		message = "the upstream reported an error"
	}
	return appendFault(dst, int(code), message)
}

func (w *writer) Fail(dst []byte, err error) []byte {
	if w.over {
		return dst
	}
	w.dst = dst
	w.apart()
	w.over = true
	dst, w.dst = w.dst, nil
	return appendFault(dst, wire.FaultOf(err).Status, err.Error())
}

func (w *writer) KeepAlive(dst []byte) []byte { return sse.AppendComment(dst, "keep-alive") }
