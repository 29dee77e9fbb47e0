package gemini

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/internal/data/jsonedit"
	"github.com/sotto-llm/sotto/internal/data/jsontext"
	"github.com/sotto-llm/sotto/sse"
	"github.com/sotto-llm/sotto/wire"
	"github.com/sotto-llm/sotto/wire/gemini/internal/googleerror"
	"github.com/sotto-llm/sotto/wire/shown"
	"github.com/sotto-llm/sotto/wire/written"
)

// Writer returns the writer of a reply.
func (codec) Writer(s wire.Settings) wire.Writer { return &writer{hide: s.Hide} }

// A writer writes one reply.
type writer struct {
	hide bool
	head []byte // a JSON object: the members that name the reply

	// What an event or a body says.
	candidates   []candidate
	reply, fault string // JSON objects: members, and an error
	usage        *wire.Usage
	done         bool

	slot string // a copy of thoughts, for the part that follows
}

// Hide begins to hide reasoning.
func (w *writer) Hide() { w.hide = true }

// NoComments says that Google's clients take a comment for an error, and leave a turn with an
// event that says nothing out of a chat.
func (w *writer) NoComments() {}

var _ written.NoComments = &writer{}

func (w *writer) Frames(dst []byte, events []wire.Event) []byte {
	if out, ok := w.piece(dst, events); ok {
		return out
	}
	w.sort(events)
	if w.says() {
		dst = append(append(w.object(append(dst, "data: "...)), '}'), "\n\n"...)
	}
	if w.fault != "" {
		dst = sse.Append(dst, "", jsonedit.BytesOf(w.fault))
	}
	if w.done {
		dst = sse.Append(dst, "", []byte(done))
	}
	return dst
}

// piece appends an event that is one piece of a text or a thought of another API's reply, as most are.
func (w *writer) piece(dst []byte, events []wire.Event) (_ []byte, ok bool) {
	if w.head == nil || w.slot != "" || len(events) == 0 {
		return dst, false
	}
	from, n, first := len(dst), 0, &events[0]
	dst = append(dst, `data: {"candidates":[{"content":{"parts":[{"text":"`...)
	for i := range events {
		e := &events[i]
		if e.Kind != wire.EventText && e.Kind != wire.EventThought || e.Kind != first.Kind || e.Choice != first.Choice {
			return dst[:from], false
		}
		dst = jsontext.AppendInside(dst, e.Text)
		n += len(e.Text)
	}
	if n == 0 {
		return dst[:from], false
	}
	if dst = append(dst, '"'); first.Kind == wire.EventThought {
		dst = append(dst, `,"`+thoughtMember+`":true`...)
	}
	dst = strconv.AppendInt(append(dst, `}],"role":"model"},"index":`...), int64(first.Choice), 10)
	dst = appendMembers(append(dst, "}]"...), jsonedit.StringOf(w.head))
	return append(dst, "}\n\n"...), true
}

func (w *writer) Whole(dst []byte, events []wire.Event) []byte {
	w.sort(events)
	switch {
	case !w.says() && w.fault != "":
		return append(dst, w.fault...)
	case w.fault != "":
		return append(appendMembers(w.object(dst), w.fault), '}')
	}
	return append(w.object(dst), '}')
}

func (w *writer) Fail(dst []byte, err error) []byte {
	return sse.Append(dst, "", googleerror.Append(nil, wire.FaultOf(err).Status, err.Error()))
}

// KeepAlive is an event without candidates, for streams in which no event can be begun.
func (w *writer) KeepAlive(dst []byte) []byte {
	dst = appendMembers(append(dst, `data: {"candidates":[]`...), jsonedit.StringOf(w.head))
	return append(dst, "}\n\n"...)
}

// sort puts events in order by their candidates.
func (w *writer) sort(events []wire.Event) {
	clear(w.candidates)
	w.candidates, w.reply, w.fault, w.usage, w.done = w.candidates[:0], "", "", nil, false
	var model wire.Event
	for i := range events {
		switch e := &events[i]; {
		case e.Kind == wire.EventModel:
			model = *e
		case e.Kind == wire.EventFault:
			w.fault = e.Raw
		case e.Kind == wire.EventUsage:
			w.usage = &e.Usage
		case e.Kind == wire.EventMembers && e.Name == wire.MembersOfReply:
			w.reply = e.Raw
		case e.Kind == wire.EventMembers && e.Name == wire.MembersOfDone:
			w.done = true
		case e.Kind == wire.EventEnd, e.Kind == wire.EventBlockEnd:
		case e.Kind == wire.EventSlot:
			w.copied(e.Choice)
			w.slot = string(e.Text)
		case e.Kind == wire.EventMember, e.Kind == wire.EventSealed, e.Kind == wire.EventOther, e.Kind == wire.EventDetails:
			// Of this API, a signature and a picture are members of their part.
		default:
			if e.Kind == wire.EventFinish {
				w.copied(e.Choice)
			}
			w.of(e.Choice).write(e, w.hide)
			if e.Kind == wire.EventCall {
				w.sign(e.Choice)
			}
		}
	}
	if w.head == nil {
		w.name(model)
	}
}

// copied writes a copy of thoughts that no call follows: as Google does, with an empty text.
func (w *writer) copied(choice int) {
	if w.slot != "" {
		c := w.of(choice)
		c.said = append(c.said, item{sign: w.slot})
		w.slot = ""
	}
}

// sign puts a copy of thoughts on the call that was said last.
func (w *writer) sign(choice int) {
	c := w.of(choice)
	c.said[len(c.said)-1].sign, w.slot = w.slot, ""
}

// name notes the members that name the reply.
func (w *writer) name(model wire.Event) {
	if w.reply != "" {
		head, _ := shownHead.Of([]byte(w.reply))
		w.head = slices.Clone(head)
	} else if model.Name != "" {
		w.head = jsontext.AppendVerbatim([]byte(`{"modelVersion":`), model.Name)
		if model.ID != "" {
			w.head = jsontext.AppendVerbatim(append(w.head, `,"responseId":`...), model.ID)
		}
		w.head = append(w.head, '}')
	}
}

func (w *writer) of(choice int) *candidate {
	for i := range w.candidates {
		if w.candidates[i].choice == choice {
			return &w.candidates[i]
		}
	}
	w.candidates = append(w.candidates, candidate{choice: choice, parts: []string{""}})
	return &w.candidates[len(w.candidates)-1]
}

// says reports whether there is anything for the client. A candidate whose parts are all
// held, or hidden, says nothing.
func (w *writer) says() bool {
	blocked := jsonedit.Parse([]byte(w.reply)).Get("promptFeedback").Exists() // it says why a reply without candidates ended
	w.candidates = slices.DeleteFunc(w.candidates, func(c candidate) bool { return !c.stands && (blocked || !c.says()) })
	if len(w.candidates) == 0 {
		return len(w.reply) > len("{}") || w.usage != nil
	}
	for i := range w.candidates {
		if w.candidates[i].says() {
			return true
		}
	}
	return false
}

// object appends an event or a body, without its end.
func (w *writer) object(dst []byte) []byte {
	dst = append(dst, '{')
	from := len(dst)
	if len(w.candidates) > 0 {
		dst = append(dst, `,"candidates":[`...)
		for i := range w.candidates {
			dst = w.candidates[i].append(jsontext.AppendComma(dst, i))
		}
		dst = append(dst, ']')
	}
	if w.reply != "" {
		dst = appendMembers(dst, w.reply)
	} else {
		dst = appendMembers(dst, jsonedit.StringOf(w.head))
		dst = w.appendUsage(dst)
	}
	return uncomma(dst, from)
}

// appendUsage appends token counts that another API's server gave. Google counts thoughts
// apart from the answer.
func (w *writer) appendUsage(dst []byte) []byte {
	u := w.usage
	if u == nil {
		return dst
	}
	in, out, thoughts := max(u.All(), 0), max(u.Output, 0), max(u.Reasoning, 0)
	dst = fmt.Appendf(dst, `,"usageMetadata":{"promptTokenCount":%d,"candidatesTokenCount":%d,"totalTokenCount":%d`, in, max(out-thoughts, 0), in+out)
	if thoughts > 0 {
		dst = fmt.Appendf(dst, `,"thoughtsTokenCount":%d`, thoughts)
	}
	if u.CacheRead > 0 {
		dst = fmt.Appendf(dst, `,"cachedContentTokenCount":%d`, u.CacheRead)
	}
	return append(dst, '}')
}

// appendMembers appends the members of a JSON object, with a comma before them.
func appendMembers(dst []byte, object string) []byte {
	if len(object) <= len("{}") {
		return dst
	}
	return append(append(dst, ','), object[1:len(object)-1]...)
}

// uncomma removes the comma before the first member of an object.
func uncomma(dst []byte, from int) []byte {
	if len(dst) > from {
		dst = append(dst[:from], dst[from+1:]...)
	}
	return dst
}

// reasonOf returns the API's word for why a candidate ended.
func reasonOf(word string, end sotto.Ending) string {
	known, _ := endOf(gjson.Result{Type: gjson.String, Str: word})
	if word != "" && known == end && shown.IsWord(word) && word == strings.ToUpper(word) {
		return word
	}
	return reasons[end]
}

var reasons = map[sotto.Ending]string{
	sotto.EndUnknown: "FINISH_REASON_UNSPECIFIED", sotto.EndStopped: "STOP", sotto.EndCut: "MAX_TOKENS", sotto.EndAborted: "SAFETY",
}
