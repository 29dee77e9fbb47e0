package bedrock

import (
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
	content := root.Get("output.message.content")
	if isFault(root) || !root.Get("output").IsObject() && root.Get("message").Exists() {
		r.Found(wire.Event{Kind: wire.EventFault, Raw: root.Raw})
	}
	if !content.IsArray() && (!y.set.Written || !root.Get("output").IsObject()) {
		if y.set.Written && !isFault(root) {
			r.Fail(wire.ErrUnreadable)
		}
		return append(dst, body...)
	}
	l := &list{signs: y.set.Sign, beside: y.beside}
	l.flow.To = l
	if l.beside.whole = true; y.set.Written {
		l.flow.To = blocks.Nowhere{}
	}
	all, reason := content.Array(), root.Get("stopReason")
	end := endOf(reason.Str)
	for i, b := range all {
		if i < len(all)-1 {
			l.readBlock(b, sotto.EndStopped, r)
		} else {
			l.readBlock(b, end, r)
		}
	}
	counted(root.Get("usage"), r)
	if reason.Str != "" {
		r.Found(wire.Event{Kind: wire.EventFinish, Choice: l.flow.Choice, Name: reason.Str, End: end})
	}
	l.flow.Finish(end, r)
	l.flow.Last(end, r) // a failure is noted, and the reply refused
	l.beside.members(shownMetadata, root, r)
	r.Found(wire.Event{Kind: wire.EventEnd})
	switch {
	case y.set.Written:
		return dst
	case l.kept == len(all) && l.made == len(all):
		return append(dst, body...)
	}
	edits := []jsonedit.Edit{{Span: jsonedit.SpanOf(content), With: append(append([]byte{'['}, l.out...), ']')}}
	return jsonedit.Splice(dst, body, reasonEdit(edits, &l.flow, reason, end))
}

// A list is the content of a whole message, as the sink of its flow.
type list struct {
	flow   blocks.Flow
	beside beside
	signs  bool   // our blocks of reasoning get a signature
	out    []byte // the client's blocks
	made   int
	kept   int // … of which are the upstream's, unchanged

	block gjson.Result // the upstream's block under way
	kind  blocks.Kind  // of the open block
	own   bool         // … which is that one
	said  []byte       // its text
}

// readBlock takes one of the upstream's blocks.
func (l *list) readBlock(b gjson.Result, end sotto.Ending, r wire.Reader) {
	l.block = b
	choice := l.flow.Choice
	text, cited := textOf(b)
	switch reasoning := b.Get(reasoningMember); {
	case reasoning.IsObject():
		l.flow.Begin(blocks.Thinking)
		if text := decode(text); len(text) > 0 {
			l.flow.Read(blocks.Thinking, text, r)
		} else {
			l.flow.Empty(r)
		}
		signed := sealed(&l.flow, reasoning.Get("reasoningText"), l.beside, r)
		if sealed(&l.flow, reasoning, l.beside, r) || signed {
			l.flow.Sign(r)
		}
	case cited.IsArray():
		l.flow.Begin(blocks.Text)
		l.beside.stands(&l.flow, r)
		for _, part := range cited.Array() {
			l.flow.Read(blocks.Text, decode(part.Get("text")), r)
		}
	case text.Exists():
		l.flow.Begin(blocks.Text)
		l.beside.stands(&l.flow, r)
		l.flow.Read(blocks.Text, decode(text), r)
	default:
		l.flow.Part(r)
		found(&l.flow, b, l.beside, r)
		l.flow.Made++
		l.keep()
		return
	}
	l.flow.End(end, r)
	l.beside.ended(&l.flow, r)
	for _, c := range b.Get(citationsMember + ".citations").Array() {
		l.beside.cites(c, choice, r)
	}
}

// textOf returns the text of a block, or the list of its texts if they are cited.
func textOf(b gjson.Result) (text, cited gjson.Result) {
	if b.Get(reasoningMember).IsObject() {
		return b.Get(reasoningMember + ".reasoningText.text"), gjson.Result{}
	}
	if text = b.Get(textMember); text.Exists() {
		return text, gjson.Result{}
	}
	return gjson.Result{}, b.Get(citationsMember + ".content")
}

// decode returns the text of a JSON string, and nothing for another value.
func decode(v gjson.Result) []byte {
	if v.Type != gjson.String {
		return nil
	}
	return chatjson.ValueText(v)
}

func (l *list) Open(k blocks.Kind, own bool) { l.kind, l.own, l.said = k, own, l.said[:0] }

func (l *list) Say(_ blocks.Kind, parts []wire.Part, _ bool) {
	for _, p := range parts {
		l.said = append(l.said, p.Text...)
	}
}

// Shut writes the block: the upstream's own with its text edited, or one of ours.
func (l *list) Shut() {
	if !l.own {
		l.mint()
		return
	}
	text, cited := textOf(l.block)
	was := decode(text)
	for _, part := range cited.Array() {
		was = append(was, decode(part.Get("text"))...)
	}
	if string(was) == string(l.said) {
		l.keep()
		return
	}
	with := jsontext.AppendVerbatim(nil, l.said)
	if cited.IsArray() {
		text, with = cited, append(append([]byte(`[{"text":`), with...), "}]"...)
	}
	at := text.Index - l.block.Index
	l.next()
	l.out = append(l.out, l.block.Raw[:at]...)
	l.out = append(l.out, with...)
	l.out = append(l.out, l.block.Raw[at+len(text.Raw):]...)
}

func (l *list) mint() {
	l.next()
	switch {
	case l.kind == blocks.Thinking && l.signs:
		l.out = appendReasoning(l.out, l.said, chatjson.Signature)
	case l.kind == blocks.Thinking:
		l.out = appendReasoning(l.out, l.said, "")
	default:
		l.out = append(jsontext.AppendVerbatim(append(l.out, `{"`+textMember+`":`...), l.said), '}')
	}
}

// keep writes the upstream's block as it came.
func (l *list) keep() {
	l.next()
	l.out = append(l.out, l.block.Raw...)
	l.kept++
}

func (l *list) next() {
	if l.made > 0 {
		l.out = append(l.out, ',')
	}
	l.made++
}
