package cohere

import (
	"strconv"

	"github.com/tidwall/gjson"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/internal/data/chatjson"
	"github.com/sotto-llm/sotto/internal/data/jsonedit"
	"github.com/sotto-llm/sotto/internal/data/jsontext"
	"github.com/sotto-llm/sotto/wire"
	"github.com/sotto-llm/sotto/wire/internal/blocks"
)

func (y *reply) Whole(dst, body []byte, r wire.Reader) []byte {
	root := jsonedit.Parse(body)
	message := root.Get("message")
	if says(root.Get("error")) || message.Type == gjson.String {
		r.Found(wire.Event{Kind: wire.EventFault, Name: root.Get("finish_reason").Str, Raw: root.Raw})
	}
	if !message.IsObject() {
		if y.set.Written && !says(root.Get("error")) {
			r.Fail(wire.ErrUnreadable)
		}
		return append(dst, body...)
	}
	if id := root.Get("id").Str; id != "" {
		r.Found(wire.Event{Kind: wire.EventModel, ID: id})
	}
	l := &list{beside: &y.beside}
	l.flow.To = l
	if y.beside.whole = true; y.set.Written {
		l.flow.To = blocks.Nowhere{}
	}
	end := endOf(root.Get("finish_reason"))
	parts := l.readMessage(message, end, r)
	counted(root.Get("usage"), r)
	if reason := root.Get("finish_reason"); reason.Str != "" {
		r.Found(wire.Event{Kind: wire.EventFinish, Choice: l.flow.Choice, Name: reason.Str, End: end})
	}
	l.flow.Finish(end, r)
	l.flow.Last(end, r) // a failure is noted, and the reply refused
	y.beside.ends(root, r)
	r.Found(wire.Event{Kind: wire.EventEnd})
	if y.set.Written {
		return dst
	}
	edits := reasonEdit(l.edits(message, parts), &l.flow, root.Get("finish_reason"), end)
	return jsonedit.Splice(dst, body, l.callEdits(edits, message))
}

// A list is the content of a whole message, as the sink of its flow.
type list struct {
	flow    blocks.Flow
	beside  *beside
	out     []byte // the client's parts
	made    int
	kept    int         // … of which are the upstream's, unchanged
	plan    bool        // the plan of the calls stays
	indices map[int]int // the client's index of a part, by the upstream's
	calls   []byte      // that the model wrote into its text

	part gjson.Result // the upstream's part under way, and its index
	at   int
	own  bool // the open part is that one
	said []byte
}

// readMessage reads a message, and returns how many parts its content has.
func (l *list) readMessage(message gjson.Result, end sotto.Ending, r wire.Reader) (n int) {
	l.plan = true
	content := message.Get("content")
	var parts []gjson.Result
	if content.IsArray() {
		parts = content.Array()
	}
	for i, part := range parts {
		l.part, l.at = part, i
		if i < len(parts)-1 {
			l.finish(sotto.EndStopped, r)
		} else {
			l.finish(end, r)
		}
	}
	if text := message.Get(plan); text.Type == gjson.String {
		l.plan = readPlan(&l.flow, chatjson.ValueText(text), r)
	}
	for i, v := range message.Get("tool_calls").Array() {
		call(v, l.flow.Choice, i, r)
	}
	for _, c := range message.Get("citations").Array() {
		l.beside.cites(c, r)
	}
	return len(parts)
}

// finish takes the upstream's part under way.
func (l *list) finish(end sotto.Ending, r wire.Reader) {
	k := kindOf(l.part)
	if k == blocks.Other {
		l.flow.Part(r)
		r.Found(wire.Event{Kind: wire.EventOther, Choice: l.flow.Choice, Name: l.part.Get("type").Str})
		l.flow.Made++
		l.moved()
		l.keep()
		return
	}
	l.flow.Begin(k)
	l.beside.begins(l.at, &l.flow, r)
	if text := chatjson.ValueText(l.part.Get(keyOf(k))); len(text) > 0 {
		l.flow.Read(k, text, r)
	} else {
		l.flow.Empty(r)
	}
	l.flow.End(end, r)
}

func (l *list) Open(_ blocks.Kind, own bool) { l.own, l.said = own, l.said[:0] }

func (l *list) Say(k blocks.Kind, parts []wire.Part, _ bool) {
	if k == l.flow.In.Kind {
		l.moved()
	}
	for _, p := range parts {
		l.said = append(l.said, p.Text...)
	}
}

// Shut writes the part: the upstream's own with its text edited, or one of ours.
func (l *list) Shut() {
	key := keyOf(l.flow.Out)
	if !l.own {
		l.next()
		l.out = append(append(append(l.out, `{"type":"`...), key...), `","`...)
		l.out = append(append(l.out, key...), `":`...)
		l.out = append(jsontext.AppendVerbatim(l.out, l.said), '}')
		return
	}
	v := l.part.Get(key)
	if v.Type == gjson.String && string(chatjson.ValueText(v)) == string(l.said) {
		l.keep()
		return
	}
	at := v.Index - l.part.Index
	l.next()
	l.out = append(l.out, l.part.Raw[:at]...)
	l.out = jsontext.AppendVerbatim(l.out, l.said)
	l.out = append(l.out, l.part.Raw[at+len(v.Raw):]...)
}

// keep writes the upstream's part as it came.
func (l *list) keep() {
	l.next()
	l.out = append(l.out, l.part.Raw...)
	l.kept++
}

// moved notes the client's index of the upstream's part.
func (l *list) moved() {
	if l.indices == nil {
		l.indices = map[int]int{}
	}
	l.indices[l.at] = l.made
}

func (l *list) next() {
	if l.made > 0 {
		l.out = append(l.out, ',')
	}
	l.made++
}

// edits returns the edits of a message whose content had so many parts.
func (l *list) edits(message gjson.Result, parts int) (edits []jsonedit.Edit) {
	members := jsonedit.Members(message)
	edits = jsonedit.Cut(edits, members, func(i int) bool { return members[i].Key == plan && !l.plan })
	content := message.Get("content")
	switch {
	case l.kept == parts && l.made == parts:
	case says(content):
		with := append(append([]byte{'['}, l.out...), ']')
		edits = append(edits, jsonedit.Edit{Span: jsonedit.SpanOf(content), With: with})
	default:
		with := append(append([]byte(`"content":[`), l.out...), ']')
		if content.Exists() { // null
			edits = append(edits, jsonedit.Edit{Span: jsonedit.SpanOf(content), With: with[len(`"content":`):]})
			break
		}
		if len(members) > 1 || len(members) == 1 && (members[0].Key != plan || l.plan) {
			with = append(with, ',')
		}
		at := message.Index + 1
		edits = append(edits, jsonedit.Edit{Span: jsonedit.Span{Start: at, End: at}, With: with})
	}
	for _, c := range message.Get("citations").Array() {
		at := c.Get("content_index")
		if to, ok := l.indices[int(at.Int())]; ok && at.Type == gjson.Number && int(at.Int()) != to {
			edits = append(edits, jsonedit.Edit{Span: jsonedit.SpanOf(at), With: strconv.AppendInt(nil, int64(to), 10)})
		}
	}
	return edits
}
