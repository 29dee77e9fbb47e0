package anthropic

import (
	"crypto/rand"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/internal/data/jsonedit"
	"github.com/sotto-llm/sotto/internal/data/jsontext"
	"github.com/sotto-llm/sotto/sse"
	"github.com/sotto-llm/sotto/wire"
	"github.com/sotto-llm/sotto/wire/shown"
)

// Writer returns the writer of a reply.
func (messages) Writer(s wire.Settings) wire.Writer {
	return &writer{sign: s.Sign, marked: none, usage: wire.Usage{CacheRead: -1, CacheWrite: -1, Apart: true}}
}

// A writer writes one message. At most one block of text or thinking is open. Blocks of
// other kinds may be open beside it.
type writer struct {
	sign  bool // blocks of thinking that nobody has signed are signed
	whole bool // the reply is not streamed

	own         bool // the events are of this API
	model, id   string
	head        string // members of the message
	begun, over bool
	next        int         // the index of the next block
	passing     map[int]int // the indices of other blocks that are open, by the codec's number
	called      bool        // the client has calls that it must run
	made        bool        // … some of which were in a text

	open    kind   // other, if none is
	index   int    // the open block's
	source  int    // the codec's number of the block that it comes from
	inlined bool   // it is text that is made of a thought
	ours    string // the signature of ours that it gets; empty if it gets none
	empty   int    // the codec's number of the block that came with an empty signature
	inside  bool   // the last piece of its text has no closing quote yet
	sealed  []byte // its signature, in a whole reply

	marked  int    // the codec's number of the text block under way; none if there is none
	said    int    // the block that said the last text
	lost    bool   // there was a text block
	block   string // members of the block that begins
	blockOf int

	reason string // the provider's word for the end
	end    sotto.Ending
	ends   bool   // the reason came
	ended  bool   // the client has it
	news   string // what the end says
	last   string // what the last event says
	fault  string
	done   bool // the API's own sign of the end came
	usage  wire.Usage
}

// none is the number of no block.
const none = -1

func (w *writer) Frames(dst []byte, events []wire.Event) []byte {
	if w.over {
		return dst
	}
	dst = w.flush(w.write(dst, events))
	switch {
	case w.fault != "":
		w.over = true
		return sse.Append(w.shut(dst), "error", []byte(errorOf(w.fault)))
	case w.ends || w.news != "" || w.done && !w.ended && !w.own:
		dst = w.delta(dst)
	}
	if w.done {
		dst = append(w.begin(w.close(dst)), "event: message_stop\ndata: {\"type\":\"message_stop\""...)
		dst = append(appendMembers(dst, w.last), "}\n\n"...)
		w.over = true
	}
	return dst
}

// write writes blocks, and notes what is said of the message as a whole.
func (w *writer) write(dst []byte, events []wire.Event) []byte {
	for i := range events {
		switch e := &events[i]; e.Kind {
		case wire.EventText, wire.EventNarration, wire.EventRefusal:
			dst = w.text(dst, e)
		case wire.EventMember:
			if e.Name == "refusal" { // the rest of one, which another API has beside its text
				dst = w.text(dst, e)
			}
		case wire.EventThought:
			dst = w.thought(dst, e)
		case wire.EventSealed:
			dst = w.seal(dst, e)
		case wire.EventSlot:
			dst = w.copied(dst, e.Text)
		case wire.EventCall:
			dst = w.call(dst, e)
		case wire.EventOther:
			if w.own {
				dst = w.pass(dst, e.Index, e.Raw)
			}
		case wire.EventBlockEnd:
			dst = w.blockEnd(dst, e.Index)
		case wire.EventMembers:
			dst = w.members(dst, e)
		case wire.EventModel:
			w.model, w.id = strings.Clone(e.Name), strings.Clone(e.ID)
		case wire.EventFinish:
			w.reason, w.end, w.ends = strings.Clone(e.Name), e.End, true
		case wire.EventUsage:
			w.usage = e.Usage
		case wire.EventFault:
			w.fault = e.Raw
		case wire.EventEnd:
			w.done = true
		}
	}
	return dst
}

func (w *writer) members(dst []byte, e *wire.Event) []byte {
	switch e.Name {
	case wire.MembersOfReply:
		if w.own {
			w.last = strings.Clone(e.Raw)
			break
		}
		w.own, w.head = true, strings.Clone(e.Raw)
		return w.begin(dst)
	case wire.MembersOfBlock:
		w.block, w.blockOf = strings.Clone(e.Raw), e.Index
		if jsonedit.Parse([]byte(e.Raw)).Get("type").Str == "text" {
			return w.mark(dst, e.Index)
		}
	case wire.MembersOfPiece:
		return w.piece(dst, e)
	case wire.MembersOfEnd:
		w.news = strings.Clone(e.Raw)
	case wire.MembersOfPing:
		if w.begun {
			return w.KeepAlive(w.flush(dst))
		}
	}
	return dst
}

// begin writes the start of the message, if the client does not have it.
func (w *writer) begin(dst []byte) []byte {
	if w.begun || w.whole {
		return dst
	}
	w.begun = true
	dst = append(dst, "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{"...)
	dst = append(w.appendHead(dst, "[]"), `,"stop_reason":null`...)
	dst = appendNull(dst, w.head, "stop_sequence")
	return append(appendUsage(dst, w.head, w.counts()), "}}\n\n"...)
}

// appendHead appends the members of the message up to its end.
func (w *writer) appendHead(dst []byte, content string) []byte {
	root := jsonedit.Parse([]byte(w.head))
	if !root.Get("id").Exists() {
		dst = append(jsontext.AppendVerbatim(append(dst, `"id":`...), wordOr(w.id, "msg_")), ',')
	}
	dst = append(dst, `"type":"message","role":"assistant"`...)
	if !root.Get("model").Exists() {
		name := jsontext.AppendVerbatim(nil, w.model)
		if _, ok := shown.Label.Of(name); !ok {
			name = []byte(`""`)
		}
		dst = append(append(dst, `,"model":`...), name...)
	}
	dst = appendMembers(dst, w.head)
	return append(append(dst, `,"content":`...), content...)
}

// wordOr returns an id, or one that is made here.
func wordOr(id, prefix string) string {
	if id != "" && shown.IsWord(id) {
		return id
	}
	return prefix + rand.Text()
}

// appendNull and appendUsage append members that clients want to be there.
func appendNull(dst []byte, object, name string) []byte {
	if jsonedit.Parse([]byte(object)).Get(name).Exists() {
		return dst
	}
	return append(append(append(dst, `,"`...), name...), `":null`...)
}

func appendUsage(dst []byte, object, usage string) []byte {
	if jsonedit.Parse([]byte(object)).Get("usage").Exists() {
		return dst
	}
	return append(append(dst, `,"usage":`...), usage...)
}

// counts are the token counts, if the message has none of its own. In this API the tokens of
// the prompt that came from a cache, or went to it, are counted apart.
func (w *writer) counts() string {
	u := w.usage
	in := u.Input
	if !u.Apart {
		in -= max(u.CacheRead, 0) + max(u.CacheWrite, 0)
	}
	b := fmt.Appendf(nil, `{"input_tokens":%d,"output_tokens":%d`, max(in, 0), max(u.Output, 0))
	if u.CacheRead >= 0 {
		b = fmt.Appendf(b, `,"cache_read_input_tokens":%d`, u.CacheRead)
	}
	if u.CacheWrite >= 0 {
		b = fmt.Appendf(b, `,"cache_creation_input_tokens":%d`, u.CacheWrite)
	}
	if u.Reasoning > 0 {
		b = fmt.Appendf(b, `,"output_tokens_details":{"reasoning_tokens":%d}`, u.Reasoning)
	}
	return string(append(b, '}'))
}

// appendMembers appends the members of a JSON object, with a comma before them.
func appendMembers(dst []byte, object string) []byte {
	if len(object) <= len("{}") {
		return dst
	}
	return append(append(dst, ','), object[1:len(object)-1]...)
}

// delta writes what changed of the message: at its end, the reason for that.
func (w *writer) delta(dst []byte) []byte {
	if w.ends || w.done {
		dst = w.close(dst)
	}
	dst = append(w.begin(dst), "event: message_delta\ndata: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":"...)
	dst = w.appendReason(dst)
	root := jsonedit.Parse([]byte(w.news))
	said := root.Get("delta").Raw
	dst = append(appendMembers(appendNull(dst, said, "stop_sequence"), said), '}')
	for _, m := range jsonedit.Members(root) {
		if m.Key != "delta" {
			dst = append(append(append(append(dst, `,"`...), m.Key...), `":`...), m.Value.Raw...)
		}
	}
	dst = append(appendUsage(dst, w.news, w.counts()), "}\n\n"...)
	w.ended = w.ended || w.ends || w.done
	w.ends, w.news = false, ""
	return dst
}

// appendReason appends why the message ended. One that got calls out of its text ended with
// them, if it ended of its own accord.
func (w *writer) appendReason(dst []byte) []byte {
	reason := w.reason
	switch {
	case !w.ends && !w.done:
		return append(dst, "null"...)
	case w.end == sotto.EndStopped && (w.made || w.called && !w.own):
		reason = "tool_use"
	case !w.own || reason == "" || !shown.IsWord(reason):
		reason = reasons[w.end]
	}
	return jsontext.AppendVerbatim(dst, reason)
}

// reasons are the API's own words for how a reply ends.
var reasons = map[sotto.Ending]string{
	sotto.EndUnknown: "end_turn", sotto.EndStopped: "end_turn", sotto.EndCut: "max_tokens", sotto.EndAborted: "refusal",
}

// close ends all blocks. A message of whose texts nothing is left gets an empty one.
func (w *writer) close(dst []byte) []byte {
	dst = w.shut(dst)
	for _, block := range slices.Sorted(maps.Keys(w.passing)) {
		dst = w.blockEnd(dst, block)
	}
	if w.next == 0 && w.lost {
		dst = w.shut(w.opened(dst, text, 0))
	}
	return dst
}

// errorOf returns what is shown of an error, in the API's form.
func errorOf(fault string) string {
	root := jsonedit.Parse([]byte(fault))
	e := root.Get("error")
	switch {
	case root.Get("type").Str == "error" && e.IsObject():
		return fault
	case e.IsObject() && e.Get("message").Str != "":
		return `{"type":"error","error":` + e.Raw + "}"
	}
	said := e.Str
	if said == "" {
		said = wire.ErrUpstream.Error()
	}
	return string(appendError(nil, "api_error", said))
}

func (w *writer) Whole(dst []byte, events []wire.Event) []byte {
	w.whole = true
	content := w.close(w.write([]byte{'['}, events))
	if w.fault != "" && !w.own && w.next == 0 {
		return append(dst, errorOf(w.fault)...)
	}
	w.done = true
	dst = w.appendHead(append(dst, '{'), jsonedit.StringOf(append(content, ']')))
	dst = w.appendReason(append(dst, `,"stop_reason":`...))
	dst = appendNull(dst, w.head, "stop_sequence")
	dst = appendUsage(dst, w.head, w.counts())
	if w.fault != "" {
		e := jsonedit.Parse([]byte(errorOf(w.fault))).Get("error")
		dst = append(append(dst, `,"error":`...), e.Raw...)
	}
	return append(dst, '}')
}

func (w *writer) Fail(dst []byte, err error) []byte {
	w.over = true
	return sse.Append(w.shut(dst), "error", appendError(nil, errorType(wire.FaultOf(err).Status), err.Error()))
}

// KeepAlive appends a ping. The message must have begun.
func (w *writer) KeepAlive(dst []byte) []byte {
	if !w.begun || w.over {
		return sse.AppendComment(dst, "keep-alive")
	}
	return append(dst, "event: ping\ndata: {\"type\": \"ping\"}\n\n"...)
}

// event appends the beginning of an event of a block.
func (w *writer) event(dst []byte, name string, index int) []byte {
	dst = append(append(append(dst, "event: "...), name...), "\ndata: {\"type\":\""...)
	return strconv.AppendInt(append(append(dst, name...), `","index":`...), int64(index), 10)
}
