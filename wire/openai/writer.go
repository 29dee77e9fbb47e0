package openai

import (
	"crypto/rand"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/internal/data/chatjson"
	"github.com/sotto-llm/sotto/internal/data/jsonedit"
	"github.com/sotto-llm/sotto/internal/data/jsontext"
	"github.com/sotto-llm/sotto/wire"
	"github.com/sotto-llm/sotto/wire/internal/message"
	"github.com/sotto-llm/sotto/wire/shown"
)

// Writer returns the writer of a reply.
func (c choices) Writer(s wire.Settings) wire.Writer {
	w := &writer{api: c, form: message.Form{Text: c.text, Names: s.Fields, Usual: "reasoning_content", Calls: chatjson.CallDelta}}
	if s.Hide || s.Inline {
		w.form.Names = nil
	}
	return w
}

// A writer writes one reply of an API of choices.
type writer struct {
	api     choices
	form    message.Form
	list    message.List
	numbers message.Numbers
	begun   map[int]bool // choices whose first frame is written

	// reply are the members of the frame written last. head begins a frame that has them,
	// and news says that they say something without a choice, such as token counts.
	reply string
	head  []byte
	news  bool
}

func (w *writer) Frames(dst []byte, events []wire.Event) []byte {
	if out, ok := w.piece(dst, events); ok {
		return out
	}
	l := &w.list
	l.Take(events)
	w.begin(l, "chat.completion.chunk")
	wrote := false
	for i := range l.Messages {
		m := &l.Messages[i]
		first := !w.begun[m.Choice]
		if !m.Says() && !(first && m.Begins()) {
			continue
		}
		if !wrote {
			wrote = true
			dst = append(append(append(dst, "data: "...), w.head...), `"choices":[{"index":`...)
		} else {
			dst = append(dst, `,{"index":`...)
		}
		dst = w.choice(dst, m, first)
	}
	switch {
	case wrote:
		dst = append(dst, ']')
	case w.news && l.Reply != "":
		dst = append(append(append(dst, "data: "...), w.head...), `"choices":[]`...)
		wrote = true
	}
	if wrote {
		if l.Fault != "" {
			dst = message.AppendMembers(dst, l.Fault)
		}
		dst = append(dst, "}\n\n"...)
	} else if l.Fault != "" {
		dst = append(append(append(dst, "data: "...), l.Fault...), "\n\n"...)
	}
	if l.Usage != nil {
		dst = append(append(append(dst, "data: "...), w.head...), `"choices":[]`...)
		dst = append(appendUsage(dst, l.Usage), "}\n\n"...)
	}
	if l.Complete {
		dst = append(dst, "data: [DONE]\n\n"...)
	}
	l.Release()
	return dst
}

// piece appends a frame that is one piece of the text of a choice, as most frames are.
func (w *writer) piece(dst []byte, events []wire.Event) (_ []byte, ok bool) {
	if len(events) == 0 || len(w.head) == 0 || w.news || !w.begun[events[0].Choice] {
		return dst, false
	}
	from := len(dst)
	dst = append(append(append(dst, "data: "...), w.head...), `"choices":[{"index":`...)
	dst = strconv.AppendInt(dst, int64(events[0].Choice), 10)
	if w.api.delta != "" {
		dst = append(append(append(dst, `,"`...), w.api.delta...), `":{`...)
	}
	at := len(dst)
	dst, said, ok := message.Piece(dst, w.form, events)
	if !ok || !said {
		return dst[:from], ok
	}
	if w.api.delta != "" {
		dst = append(uncomma(dst, at), '}')
	}
	return append(dst, ",\"finish_reason\":null}]}\n\n"...), true
}

// choice appends a choice of a frame after its index.
func (w *writer) choice(dst []byte, m *message.Message, first bool) []byte {
	if first {
		if w.begun == nil {
			w.begun = map[int]bool{}
		}
		w.begun[m.Choice] = true
	}
	dst = strconv.AppendInt(dst, int64(m.Choice), 10)
	if w.api.delta == "" {
		m.Calls = m.Calls[:0] // the API has none
		dst = m.Append(dst, w.form, &w.numbers, true)
	} else {
		dst = append(append(append(dst, `,"`...), w.api.delta...), `":{`...)
		from := len(dst)
		if first {
			dst = append(dst, `,"role":"assistant"`...)
		}
		dst = uncomma(m.Append(dst, w.form, &w.numbers, false), from)
		dst = append(dst, '}')
	}
	return w.rest(dst, m)
}

// uncomma removes the comma before the first member of an object.
func uncomma(dst []byte, from int) []byte {
	if len(dst) > from {
		dst = append(dst[:from], dst[from+1:]...)
	}
	return dst
}

// rest appends what a choice says beside its message.
func (w *writer) rest(dst []byte, m *message.Message) []byte {
	dst = message.AppendMembers(dst, m.Of)
	if m.Tokens != "" {
		dst = append(append(dst, `,"logprobs":`...), shown.Probabilities([]byte(m.Tokens), m.Text)...)
	}
	if !m.Ends {
		return append(dst, `,"finish_reason":null}`...)
	}
	return append(jsontext.AppendVerbatim(append(dst, `,"finish_reason":`...), w.reason(m)), '}')
}

// reason returns why a choice ended. One that got calls out of its text ended with them, if
// it ended of its own accord.
func (w *writer) reason(m *message.Message) string {
	reason := m.Finish
	if !shown.IsWord(reason) || reason == "" {
		reason = reasons[m.End]
	}
	if m.End == sotto.EndStopped && (w.numbers.Made(m.Choice) || m.Finish == "" && w.numbers.Called(m.Choice)) { // another API's word is not here
		return "tool_calls"
	}
	return reason
}

// reasons are the API's own words for how a reply ends.
var reasons = map[sotto.Ending]string{
	sotto.EndUnknown: "stop", sotto.EndStopped: "stop", sotto.EndCut: "length", sotto.EndAborted: "content_filter",
}

// begin prepares the head of a frame or a body, with a comma at its end.
func (w *writer) begin(l *message.List, object string) {
	if len(w.head) > 1 && (l.Reply == w.reply || l.Reply == "") {
		return
	}
	w.reply = strings.Clone(l.Reply)
	w.head, w.news = append(w.head[:0], '{'), false
	for _, m := range jsonedit.Members(jsonedit.Parse([]byte(w.reply))) {
		w.head = append(append(append(w.head, '"'), m.Key...), `":`...)
		w.head = append(append(w.head, m.Value.Raw...), ',')
		w.news = w.news || says(m.Value) && !envelope.Shows(m.Key)
	}
	if len(w.head) > 1 || l.Model.Name == "" {
		return
	}
	prefix := "chatcmpl-"
	if w.api.delta == "" {
		object, prefix = "text_completion", "cmpl-"
	}
	id := l.Model.ID
	if id == "" { // not every API names its replies
		id = prefix + rand.Text()
	}
	w.head = jsontext.AppendVerbatim(append(w.head, `"id":`...), id)
	w.head = append(append(append(w.head, `,"object":"`...), object...), `","created":`...)
	w.head = strconv.AppendInt(w.head, time.Now().Unix(), 10)
	w.head = append(jsontext.AppendVerbatim(append(w.head, `,"model":`...), l.Model.Name), ',')
}

func (w *writer) Whole(dst []byte, events []wire.Event) []byte {
	l := &w.list
	l.Take(events)
	if len(l.Messages) == 0 && l.Fault != "" {
		return append(dst, l.Fault...)
	}
	w.begin(l, "chat.completion")
	w.form.Calls = chatjson.CallWhole
	dst = append(append(dst, w.head...), `"choices":[`...)
	for i := range l.Messages {
		m := &l.Messages[i]
		dst = append(jsontext.AppendComma(dst, i), `{"index":`...)
		dst = strconv.AppendInt(dst, int64(m.Choice), 10)
		if w.api.message == "" {
			m.Calls = m.Calls[:0]
			dst = m.Append(dst, w.form, &w.numbers, true)
		} else {
			dst = append(append(append(dst, `,"`...), w.api.message...), `":{"role":"assistant"`...)
			dst = append(m.Append(dst, w.form, &w.numbers, true), '}')
		}
		dst = w.rest(dst, m)
	}
	dst = append(dst, ']')
	if l.Usage != nil {
		dst = appendUsage(dst, l.Usage)
	}
	if l.Fault != "" {
		dst = message.AppendMembers(dst, l.Fault)
	}
	return append(dst, '}')
}

// appendUsage appends token counts, if the reply has none in its own members.
func appendUsage(dst []byte, u *wire.Usage) []byte {
	in, out := max(u.All(), 0), max(u.Output, 0)
	dst = fmt.Appendf(dst, `,"usage":{"prompt_tokens":%d,"completion_tokens":%d,"total_tokens":%d`, in, out, in+out)
	if u.CacheRead >= 0 {
		dst = fmt.Appendf(dst, `,"prompt_tokens_details":{"cached_tokens":%d}`, u.CacheRead)
	}
	if u.Reasoning >= 0 {
		dst = fmt.Appendf(dst, `,"completion_tokens_details":{"reasoning_tokens":%d`, u.Reasoning)
		if u.Estimated {
			dst = append(dst, `,"reasoning_tokens_estimated":true`...)
		}
		dst = append(dst, '}')
	}
	return append(dst, '}')
}

func (w *writer) Fail(dst []byte, err error) []byte {
	return append(append(append(dst, "data: "...), wire.ErrorOf(w.api, wire.FaultOf(err))...), "\n\n"...)
}

func (w *writer) KeepAlive(dst []byte) []byte { return append(dst, ": keep-alive\n\n"...) }
