package ollama

import (
	"fmt"
	"strings"
	"time"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/internal/data/chatjson"
	"github.com/sotto-llm/sotto/internal/data/jsontext"
	"github.com/sotto-llm/sotto/wire"
	"github.com/sotto-llm/sotto/wire/internal/message"
	"github.com/sotto-llm/sotto/wire/shown"
)

// Writer returns the writer of a reply.
func (a api) Writer(s wire.Settings) wire.Writer {
	w := &writer{api: a, began: time.Now(), form: message.Form{Text: a.text, Usual: thinking, Calls: chatjson.CallOllama}}
	if len(s.Fields) > 0 && !s.Hide && !s.Inline {
		w.form.Names = []string{thinking}
	}
	return w
}

// A writer writes one reply, which has one choice.
type writer struct {
	api     api
	form    message.Form
	list    message.List
	numbers message.Numbers
	head    string // members of the first frame, for those that say nothing
	model   string // the model, if no frame has members
	began   time.Time
}

func (w *writer) Frames(dst []byte, events []wire.Event) []byte {
	if out, ok := w.piece(dst, events); ok {
		return out
	}
	l := w.sort(events)
	if w.head == "" && l.Reply != "" {
		head, _ := shownHead.Of([]byte(l.Reply))
		w.head = string(head)
	}
	if len(l.Messages) == 0 && l.Complete {
		l.Messages = append(l.Messages, message.Message{})
	}
	for i := range l.Messages {
		if m := &l.Messages[i]; m.Says() || l.Complete {
			dst = append(w.object(dst, l, m, l.Complete), '\n')
		}
	}
	if l.Fault != "" {
		dst = append(append(dst, l.Fault...), '\n')
	}
	l.Release()
	return dst
}

func (w *writer) sort(events []wire.Event) *message.List {
	w.list.Take(events)
	if name := w.list.Model.Name; name != "" && w.model == "" {
		w.model = strings.Clone(name)
	}
	return &w.list
}

// piece appends a frame that is one piece of the text, as most frames are.
func (w *writer) piece(dst []byte, events []wire.Event) (_ []byte, ok bool) {
	if len(events) < 2 || w.head == "" || events[0].Kind != wire.EventMembers || events[0].Name != wire.MembersOfReply {
		return dst, false
	}
	from, said := len(dst), events[0].Raw
	dst = append(dst, said[:len(said)-1]...)
	if w.api.member != "" {
		dst = append(append(append(dst, `,"`...), w.api.member...), `":{"role":"assistant"`...)
	}
	dst, speaks, ok := message.Piece(dst, w.form, events[1:])
	if !ok || !speaks {
		return dst[:from], ok
	}
	if w.api.member != "" {
		dst = append(dst, '}')
	}
	return append(dst, ",\"done\":false}\n"...), true
}

// object appends a frame or a body.
func (w *writer) object(dst []byte, l *message.List, m *message.Message, done bool) []byte {
	dst = append(dst, '{')
	from := len(dst)
	dst = message.AppendMembers(dst, l.Reply)
	if l.Reply == "" && w.model != "" {
		dst = jsontext.AppendVerbatim(append(dst, `,"model":`...), w.model)
		dst = time.Now().UTC().AppendFormat(append(dst, `,"created_at":"`...), time.RFC3339Nano)
		dst = append(dst, '"')
	}
	if w.api.member != "" {
		dst = append(append(append(dst, `,"`...), w.api.member...), `":{"role":"assistant"`...)
		dst = append(m.Append(dst, w.form, &w.numbers, true), '}')
	} else {
		dst = m.Append(dst, w.form, &w.numbers, true)
	}
	if m.Tokens != "" {
		dst = append(append(dst, `,"logprobs":`...), shown.Probabilities([]byte(m.Tokens), m.Text)...)
	}
	if !done {
		dst = append(dst, `,"done":false}`...)
	} else {
		dst = append(dst, `,"done":true`...)
		if reason := reasonOf(m); reason != "" {
			dst = jsontext.AppendVerbatim(append(dst, `,"done_reason":`...), reason)
		}
		if u := l.Usage; u != nil {
			dst = fmt.Appendf(dst, `,"total_duration":%d,"prompt_eval_count":%d,"eval_count":%d`, time.Since(w.began).Nanoseconds(), max(u.All(), 0), max(u.Output, 0))
		}
		dst = append(dst, '}')
	}
	return append(dst[:from], dst[from+1:]...) // the first comma
}

// reasonOf returns why a reply is done. Older servers do not say it.
func reasonOf(m *message.Message) string {
	switch {
	case m.Finish != "" && shown.IsWord(m.Finish):
		return m.Finish
	case m.End == sotto.EndStopped:
		return "stop"
	case m.End == sotto.EndCut:
		return "length"
	case m.End == sotto.EndAborted:
		return filtered
	}
	return ""
}

func (w *writer) Whole(dst []byte, events []wire.Event) []byte {
	l := w.sort(events)
	if len(l.Messages) == 0 && l.Fault != "" {
		return append(dst, l.Fault...)
	}
	if len(l.Messages) == 0 {
		l.Messages = append(l.Messages, message.Message{})
	}
	dst = w.object(dst, l, &l.Messages[0], true)
	if l.Fault != "" {
		dst = append(message.AppendMembers(dst[:len(dst)-1], l.Fault), '}')
	}
	return dst
}

func (w *writer) Fail(dst []byte, err error) []byte {
	return append(append(dst, w.api.Error(502, err.Error())...), '\n')
}

// KeepAlive is a frame that says nothing: Ollama's clients treat an empty line as broken
// JSON.
func (w *writer) KeepAlive(dst []byte) []byte {
	if w.head == "" && w.model == "" {
		return dst
	}
	l := message.List{Reply: w.head}
	return append(w.object(dst, &l, &message.Message{}, false), '\n')
}
