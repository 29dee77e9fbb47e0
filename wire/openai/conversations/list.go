package conversations

import (
	"github.com/tidwall/gjson"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/internal/data/jsonedit"
	"github.com/sotto-llm/sotto/internal/data/jsontext"
	"github.com/sotto-llm/sotto/wire"
	"github.com/sotto-llm/sotto/wire/internal/blocks"
)

func (y *reply) Whole(dst, body []byte, r wire.Reader) []byte {
	root := jsonedit.Parse(body)
	failed := says(root.Get("error")) || root.Get("object").Str == "error"
	if failed {
		r.Found(wire.Event{Kind: wire.EventFault, Raw: root.Raw})
	}
	entries := root.Get(listOf(root))
	if !entries.IsArray() {
		if y.set.Written && !failed {
			r.Fail(wire.ErrUnreadable)
		}
		return append(dst, body...)
	}
	named(root.Get("conversation_id").Str, "", r)
	y.list = &list{y: y}
	if !y.set.Written {
		y.flow.To = y.list
	}
	end := endOf(counted(root.Get("usage"), r), y.limit)
	y.list.read(entries.Array(), end, r)
	y.members(wire.MembersOfReply, shownReply, root.Raw, r)
	r.Found(wire.Event{Kind: wire.EventFinish, Choice: y.flow.Choice, End: end})
	if listOf(root) == "outputs" { // else it is several replies
		y.flow.Last(end, r) // a failure is noted, and the reply refused
		y.list.flush()
	}
	r.Found(wire.Event{Kind: wire.EventEnd})
	if y.set.Written || !y.list.changed {
		return append(dst, body...)
	}
	with := append(append([]byte{'['}, y.list.out...), ']')
	return jsonedit.Splice(dst, body, []jsonedit.Edit{{Span: jsonedit.SpanOf(entries), With: with}})
}

// A list is the entries of a whole reply, or of what is stored, as the sink of their flow.
type list struct {
	y       *reply
	out     []byte // the client's entries
	made    int    // … and how many these are
	changed bool   // they are not the upstream's

	entry   gjson.Result // the upstream's message under way
	whole   bool         // … of which the client has nothing yet
	chunk   gjson.Result // … and the chunk of it
	opened  gjson.Result // … and the one that the open chunk was made from
	chunks  int          // … of which there are so many
	content []byte       // the client's chunks of the message that is being made
	n, own  int          // … so many, of which so many are as they came
	text    []byte       // … if there is one, and it is a text
	isOwn   bool         // the open chunk is the upstream's
	said    []byte       // … and what it says
}

// read reads entries. Only the last of them may have been cut.
func (l *list) read(entries []gjson.Result, end sotto.Ending, r wire.Reader) {
	y := l.y
	for i, entry := range entries {
		last := sotto.EndStopped
		if i == len(entries)-1 {
			last = end
		}
		if kind := kindOf(entry); kind != messageOutput {
			y.flow.Made++
			y.flow.Block++
			y.head(entry, r)
			if kind == functionCall {
				named("", entry.Get("model").Str, r)
				r.Found(wire.Event{Kind: wire.EventCall, Choice: y.flow.Choice, Index: i, ID: entry.Get("tool_call_id").Str, Name: entry.Get("name").Str, Text: callText(entry.Get("arguments")), Raw: entry.Raw})
			} else {
				r.Found(wire.Event{Kind: wire.EventOther, Choice: y.flow.Choice, Name: kind})
			}
			l.add(entry.Raw)
			continue
		}
		y.beginMessage(i, entry, r)
		all := chunks(entry.Get("content"))
		l.entry, l.chunks, l.own, l.whole = entry, len(all), 0, true
		for at, c := range all {
			l.chunk = c
			k, text := chunkOf(c)
			y.content(at, k)
			y.read(k, c, text, r)
		}
		y.endMessage(last, r)
		l.flush()
	}
}

func (l *list) Open(_ blocks.Kind, own bool) { l.opened, l.isOwn, l.said = l.chunk, own, l.said[:0] }

func (l *list) Say(_ blocks.Kind, parts []wire.Part, _ bool) {
	for _, p := range parts {
		l.said = append(l.said, p.Text...)
	}
}

// Shut writes the chunk: the upstream's own, with its text edited, or one of ours.
func (l *list) Shut() {
	k, text := chunkOf(l.opened)
	same := l.isOwn && k == l.y.flow.Out && string(saidBy(k, l.opened, text)) == string(l.said)
	l.text = nil
	switch out := l.y.flow.Out; {
	case same && l.opened.IsObject():
		l.give(l.opened.Raw, true)
	case l.isOwn && out == blocks.Text && l.opened.IsObject() && text.Exists():
		at := text.Index - l.opened.Index
		edit := jsonedit.Edit{Span: jsonedit.Span{Start: at, End: at + len(text.Raw)}, With: jsontext.AppendVerbatim(nil, l.said)}
		l.give(string(jsonedit.Splice(nil, jsonedit.BytesOf(l.opened.Raw), []jsonedit.Edit{edit})), false)
	default:
		said := jsontext.AppendVerbatim(nil, l.said)
		l.give(string(appendChunk(nil, out, said, true)), same)
		if out == blocks.Text {
			l.text = said
		}
	}
}

// Call adds a call that the model wrote into its text.
func (l *list) Call(p wire.Part) {
	l.flush()
	l.changed = true
	l.add(`{"object":"entry","type":"` + functionCall + `",` + string(appendCall(nil, p.ID, p.Name, p.Text)) + "}")
}

// give adds a chunk to the message that is being made. own says that it is one of the upstream's, as it came.
func (l *list) give(raw string, own bool) {
	l.content = append(jsontext.AppendComma(l.content, l.n), raw...)
	l.n++
	if own {
		l.own++
	}
}

// nothing keeps the chunk under way, which has no text, among others.
func (l *list) nothing() {
	if l.chunks > 1 {
		l.y.flow.In.Read = true
		l.y.flow.Made++
		l.give(l.chunk.Raw, true)
	}
}

// flush ends the message that is being made.
func (l *list) flush() {
	content := l.entry.Get("content")
	switch {
	case l.n == 0:
		l.changed = l.changed || l.whole
	case l.whole && l.own == l.n && l.own == l.chunks && content.Exists():
		l.add(l.entry.Raw)
	case !content.Exists():
		l.changed = true
		l.add(`{"object":"entry","type":"` + messageOutput + `","role":"assistant","content":[` + string(l.content) + `]}`)
	default:
		l.changed = true
		with := append(append([]byte{'['}, l.content...), ']')
		if l.n == 1 && l.text != nil && content.Type == gjson.String {
			with = l.text
		}
		at := content.Index - l.entry.Index
		edit := jsonedit.Edit{Span: jsonedit.Span{Start: at, End: at + len(content.Raw)}, With: with}
		l.add(string(jsonedit.Splice(nil, jsonedit.BytesOf(l.entry.Raw), []jsonedit.Edit{edit})))
	}
	l.content, l.n, l.text, l.whole = l.content[:0], 0, nil, false
}

func (l *list) add(raw string) {
	l.out = append(jsontext.AppendComma(l.out, l.made), raw...)
	l.made++
}
