package llamacpp

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/internal/data/jsonedit"
	"github.com/sotto-llm/sotto/internal/data/jsontext"
	"github.com/sotto-llm/sotto/wire"
	"github.com/sotto-llm/sotto/wire/internal/message"
	"github.com/sotto-llm/sotto/wire/shown"
)

// Writer returns the writer of a reply.
func (completion) Writer(s wire.Settings) wire.Writer {
	w := &writer{form: message.Form{Text: "content", Names: s.Fields}}
	if s.Hide || s.Inline {
		w.form.Names = nil
	}
	return w
}

// A writer writes one reply. Each frame is of one choice.
type writer struct {
	form    message.Form
	list    message.List
	numbers message.Numbers
	model   string // if another API's server says it
}

func (w *writer) sort(events []wire.Event) *message.List {
	w.list.Take(events)
	if name := w.list.Model.Name; name != "" && w.model == "" {
		w.model = strings.Clone(name)
	}
	return &w.list
}

func (w *writer) Frames(dst []byte, events []wire.Event) []byte {
	l := w.sort(events)
	for i := range l.Messages {
		if m := &l.Messages[i]; m.Speaks() || news(m.Of) {
			dst = append(append(w.object(append(dst, "data: "...), m), '}'), "\n\n"...)
		}
	}
	if l.Fault != "" {
		dst = append(append(append(dst, "data: "...), l.Fault...), "\n\n"...)
	}
	if l.Done {
		dst = append(dst, "data: [DONE]\n\n"...)
	}
	l.Release()
	return dst
}

// news reports whether members of a text say something that not each frame repeats.
func news(members string) bool {
	return slices.ContainsFunc(jsonedit.Members(jsonedit.Parse([]byte(members))), func(m jsonedit.Member) bool {
		return says(m.Value) && !envelope.Shows(m.Key)
	})
}

// object appends a frame or a body, or one object of it, without its end.
func (w *writer) object(dst []byte, m *message.Message) []byte {
	m.Calls = m.Calls[:0] // the API has none
	dst = append(dst, '{')
	from := len(dst)
	if m.Of == "" { // a frame of ours
		dst = strconv.AppendInt(append(dst, `,"index":`...), int64(m.Choice), 10)
	}
	dst = m.Append(dst, w.form, &w.numbers, true)
	switch {
	case m.Of != "":
		dst = message.AppendMembers(dst, m.Of)
	case m.Ends:
		dst = w.ends(dst, m)
	default:
		dst = append(dst, `,"tokens":[],"stop":false`...)
	}
	if m.Tokens != "" {
		dst = append(dst, `,"completion_probabilities":`...)
		if p := shown.Probabilities([]byte(m.Tokens), m.Text); string(p) != "null" {
			dst = append(dst, p...)
		} else {
			dst = append(dst, "[]"...)
		}
	}
	return append(dst[:from], dst[from+1:]...) // the first comma
}

// ends appends what the server says of a text that has ended, if no server has said it.
func (w *writer) ends(dst []byte, m *message.Message) []byte {
	dst = append(dst, `,"tokens":[],"stop":true`...)
	if w.model != "" {
		dst = jsontext.AppendVerbatim(append(dst, `,"model":`...), w.model)
	}
	if u := w.list.Usage; u != nil {
		dst = fmt.Appendf(dst, `,"tokens_evaluated":%d,"tokens_predicted":%d`, max(u.All(), 0), max(u.Output, 0))
	}
	return append(append(append(dst, `,"stop_type":"`...), stopTypes[m.End]...), '"')
}

// stopTypes are the server's words for how a text ends.
var stopTypes = map[sotto.Ending]string{sotto.EndUnknown: "none", sotto.EndStopped: "eos", sotto.EndCut: "limit", sotto.EndAborted: "none"}

// Whole appends an object, or a list of one for each choice.
func (w *writer) Whole(dst []byte, events []wire.Event) []byte {
	l := w.sort(events)
	faults := map[int]string{}
	var choices []int
	for _, e := range events {
		if e.Kind == wire.EventFault {
			faults[e.Choice] = e.Raw
			choices = append(choices, e.Choice)
		}
	}
	for i := range l.Messages {
		choices = append(choices, l.Messages[i].Choice)
	}
	slices.Sort(choices)
	choices = slices.Compact(choices)
	listed := l.Listed || len(choices) > 1
	if listed {
		dst = append(dst, '[')
	}
	for i, choice := range choices {
		if i > 0 {
			dst = append(dst, ',')
		}
		at := slices.IndexFunc(l.Messages, func(m message.Message) bool { return m.Choice == choice })
		if at < 0 {
			dst = append(dst, faults[choice]...)
			continue
		}
		dst = append(message.AppendMembers(w.object(dst, &l.Messages[at]), faults[choice]), '}')
	}
	if listed {
		dst = append(dst, ']')
	}
	return dst
}

func (w *writer) Fail(dst []byte, err error) []byte {
	return append(append(append(dst, "data: "...), Completion.Error(wire.FaultOf(err).Status, err.Error())...), "\n\n"...)
}

func (w *writer) KeepAlive(dst []byte) []byte { return append(dst, ": keep-alive\n\n"...) }
