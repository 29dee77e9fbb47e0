package interactions

import (
	"crypto/rand"
	"fmt"
	"strings"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/internal/data/jsonedit"
	"github.com/sotto-llm/sotto/internal/data/jsontext"
	"github.com/sotto-llm/sotto/sse"
	"github.com/sotto-llm/sotto/wire"
	"github.com/sotto-llm/sotto/wire/internal/blocks"
	"github.com/sotto-llm/sotto/wire/shown"
)

// Writer returns the writer of a reply.
func (codec) Writer(wire.Settings) wire.Writer {
	w := &writer{call: none}
	w.pen.To = w
	return w
}

// none is the index of no step.
const none = -1

// A message is what is known of the reply that is being written.
type message struct {
	pen       blocks.Pen
	id, model string
	called    bool // the client has a call
	made      bool // … that was in a text
	reason    string
	end       sotto.Ending
	ends      bool
	fault     string // the JSON of an error
	of        string // members of the reply
	usage     string // token counts that another API's server gave
	comes     bool   // the reply ends
}

// note keeps what is said of the reply as a whole.
func (m *message) note(e *wire.Event) {
	switch e.Kind {
	case wire.EventModel:
		if e.ID != "" && shown.IsWord(e.ID) {
			m.id = strings.Clone(e.ID)
		}
		if _, ok := shown.Label.Of(jsontext.AppendVerbatim(nil, e.Name)); ok && e.Name != "" {
			m.model = strings.Clone(e.Name)
		}
	case wire.EventFinish:
		m.reason, m.end, m.ends = strings.Clone(e.Name), e.End, true
	case wire.EventFault:
		m.fault = strings.Clone(e.Raw)
	case wire.EventEnd:
		m.comes = true
	case wire.EventUsage:
		m.usage = usageOf(e.Usage)
	case wire.EventMembers:
		if e.Name == wire.MembersOfReply || e.Name == wire.MembersOfStart {
			m.of = strings.Clone(e.Raw)
		}
	}
}

// usageOf are token counts in the API's words.
func usageOf(u wire.Usage) string {
	in, out, thought := max(u.All(), 0), max(u.Output, 0), max(u.Reasoning, 0)
	text := fmt.Sprintf(`,"usage":{"total_input_tokens":%d,"total_output_tokens":%d,"total_tokens":%d`, in, max(out-thought, 0), in+out)
	if u.Reasoning >= 0 {
		text += fmt.Sprintf(`,"total_thought_tokens":%d`, thought)
	}
	if u.CacheRead >= 0 {
		text += fmt.Sprintf(`,"total_cached_tokens":%d`, u.CacheRead)
	}
	return text + "}"
}

// appendHead appends the members of the interaction but its steps, without its end.
func (m *message) appendHead(dst []byte, status string) []byte {
	if m.id == "" {
		m.id = "v1_" + rand.Text()
	}
	dst = jsontext.AppendVerbatim(append(dst, `"id":`...), m.id)
	if m.model != "" {
		dst = jsontext.AppendVerbatim(append(dst, `,"model":`...), m.model)
	}
	if dst = append(dst, `,"status":`...); status == "" {
		dst = append(dst, "null"...)
	} else {
		dst = jsontext.AppendVerbatim(dst, status)
	}
	of := jsonedit.Parse([]byte(m.of))
	if !of.Get("object").Exists() {
		dst = append(dst, `,"object":"interaction"`...)
	}
	for _, e := range jsonedit.Members(of) {
		dst = append(append(jsontext.AppendVerbatim(append(dst, ','), []byte(e.Key)), ':'), e.Value.Raw...)
	}
	if !of.Get("usage").Exists() {
		dst = append(dst, m.usage...)
	}
	return dst
}

// statuses are the API's own words for how a reply ends.
var statuses = map[sotto.Ending]string{sotto.EndStopped: "completed", sotto.EndCut: "incomplete", sotto.EndAborted: "failed"}

// status is that of the interaction at its end. One whose calls came out of its text waits for their results, if it
// ended of its own accord.
func (m *message) status() string {
	switch known := ends[m.reason] != sotto.EndUnknown; {
	case m.fault != "" && ends[m.reason] != sotto.EndAborted:
		return statuses[sotto.EndAborted]
	case m.end == sotto.EndStopped && (m.made || m.called && m.reason == ""): // another API's word is not here
		return calling
	case !known && statuses[m.end] != "", !shown.IsWord(m.reason):
		return statuses[m.end]
	}
	return m.reason
}

// A writer writes one reply. It is the paper of its pen for a streamed one.
type writer struct {
	message
	dst   []byte // under way, during a call
	begun bool   // the client has the start of the reply
	over  bool   // … and its end

	calls  map[int]int // the client's indices of a bounded number of calls, by the upstream's
	call   int         // the client's index of the call that is open
	others map[int]int // … and of steps of other kinds, by the upstream's block
	opened int         // … of which the upstream's block is open; 0 if none is
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
	switch e.Kind {
	case wire.EventText, wire.EventThought, wire.EventNarration, wire.EventRefusal:
		if len(e.Text) > 0 {
			w.apart()
		}
		w.pen.Take(e)
	case wire.EventSealed:
		w.seal(e)
	case wire.EventCall:
		w.tool(e)
	case wire.EventMembers:
		w.members(e)
	case wire.EventBlockEnd:
		if at, ok := w.others[e.Index]; ok && w.opened == e.Index {
			w.dst = appendEvent(w.dst, stopEvent, at, "}")
			w.opened = 0
		}
	default:
		w.note(e)
	}
}

// apart ends what stands beside the texts and thoughts that come.
func (w *writer) apart() {
	w.begin()
	if w.call != none {
		w.dst = appendEvent(w.dst, stopEvent, w.call, "}")
		w.call = none
	}
	if at, ok := w.others[w.opened]; ok {
		w.dst = appendEvent(w.dst, stopEvent, at, "}")
		w.opened = 0
	}
}

func (w *writer) members(e *wire.Event) {
	switch e.Name {
	case wire.MembersOfStart:
		w.note(e)
		w.begin()
	case wire.MembersOfFrame:
		w.begin()
		w.pen.Flush()
		w.dst = sse.Append(w.dst, statusEvent, []byte(e.Raw))
	case wire.MembersOfBlock:
		w.apart()
		w.pen.Shut()
		at := w.pen.Next
		w.pen.Next++
		if w.others == nil {
			w.others = map[int]int{}
		}
		if len(w.others) >= maxSteps {
			clear(w.others)
		}
		w.others[e.Index], w.opened = at, e.Index
		w.dst = appendEvent(w.dst, startEvent, at, `,"step":`+e.Raw+"}")
	case wire.MembersOfPiece:
		w.piece(e)
	default:
		w.note(e)
	}
}

// piece writes a piece of a step that is no text. One of an output stands in that.
func (w *writer) piece(e *wire.Event) {
	at, ok := w.others[e.Index]
	if !ok {
		if at, ok = w.pen.Place(e.Index, e.Choice); !ok || w.pen.Out == blocks.Other || at != w.pen.At {
			w.apart()
			w.pen.Text(e.Choice)
			at = w.pen.At
		}
		w.pen.Flush()
	}
	w.dst = appendEvent(w.dst, deltaEvent, at, `,"delta":`+e.Raw+"}")
}

// seal writes the signature of a thought. Where the client does not get the thought, it gets the step with that alone.
func (w *writer) seal(e *wire.Event) {
	if e.Name != "signature" || len(e.Text) == 0 {
		return
	}
	w.apart()
	if !w.pen.Thought(e.Index) {
		return
	}
	more := jsontext.AppendVerbatim([]byte(`,"delta":{"type":"thought_signature","signature":`), e.Text)
	w.dst = appendEvent(w.dst, deltaEvent, w.pen.At, string(append(more, "}}"...)))
}

// begin writes the start of the reply.
func (w *writer) begin() {
	if w.begun {
		return
	}
	w.begun = true
	w.dst = sse.Append(w.dst, createdEvent, append(w.appendHead([]byte(`{"event_type":"`+createdEvent+`","interaction":{`), "in_progress"), "}}"...))
}

func (w *writer) Begin(k blocks.Kind, _ bool) {
	w.dst = appendEvent(w.dst, startEvent, w.pen.At, `,"step":{"type":"`+typeOf(k)+`"}}`)
}

func (w *writer) Write(k blocks.Kind, text []byte) {
	w.dst = appendEvent(w.dst, deltaEvent, w.pen.At, pieceOf(k, jsontext.AppendVerbatim(nil, text)))
}

func (w *writer) End(blocks.Kind) { w.dst = appendEvent(w.dst, stopEvent, w.pen.At, "}") }

// tool writes a call, or a piece of one. One that was in a text is whole, and has no index.
func (w *writer) tool(e *wire.Event) {
	w.called = true
	if at, ok := w.calls[e.Index]; ok {
		if len(e.Text) > 0 {
			w.dst = appendEvent(w.dst, deltaEvent, at, argumentsPiece(e.Text))
		}
		return
	}
	w.apart()
	w.pen.Shut()
	w.call = w.pen.Next
	w.pen.Next++
	w.dst = appendEvent(w.dst, startEvent, w.call, `,"step":`+string(appendCall(nil, wordOr(e.ID), e.Name, []byte("{}")))+"}")
	if len(e.Text) > 0 {
		w.dst = appendEvent(w.dst, deltaEvent, w.call, argumentsPiece(e.Text))
	}
	if e.Index < 0 {
		w.made = true
		w.apart()
		return
	}
	if w.calls == nil {
		w.calls = map[int]int{}
	}
	if len(w.calls) >= maxSteps {
		clear(w.calls)
	}
	w.calls[e.Index] = w.call
}

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
		fault := jsonedit.Parse([]byte(w.fault)).Get("error")
		w.dst = sse.Append(w.dst, errorEvent, []byte(`{"event_type":"`+errorEvent+`","error":`+faultOf(fault.Raw)+"}"))
		return
	}
	data := w.appendHead([]byte(`{"event_type":"`+completedEvent+`","interaction":{`), w.status())
	w.dst = sse.Append(w.dst, completedEvent, append(data, "}}"...))
}

// faultOf is an error as the events of the API have it.
func faultOf(raw string) string {
	if v := jsonedit.Parse([]byte(raw)); v.IsObject() || v.Str != "" {
		return raw
	}
	return `{"message":"the upstream reported an error"}`
}

func (w *writer) Fail(dst []byte, err error) []byte {
	if w.over {
		return dst
	}
	w.dst = dst
	w.apart()
	w.pen.Shut()
	w.over = true
	dst, w.dst = w.dst, nil
	return appendFault(dst, wire.FaultOf(err).Status, err.Error())
}

func (w *writer) KeepAlive(dst []byte) []byte { return sse.AppendComment(dst, "keep-alive") }
