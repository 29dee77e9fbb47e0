package anthropic

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
	content := root.Get("content")
	if root.Get("error").Exists() {
		r.Found(wire.Event{Kind: wire.EventFault, Raw: root.Raw})
	}
	switch {
	case content.IsArray():
	case y.set.Written:
		if !root.Get("error").Exists() {
			r.Fail(wire.ErrUnreadable)
		}
		return dst
	default:
		return append(dst, body...)
	}
	l := &list{y: y}
	if l.flow.To = l; y.set.Written {
		l.flow.To = nowhere{}
		y.beside(wire.MembersOfReply, shownReply, root, r)
	}
	blocks := content.Array()
	reason := root.Get("stop_reason")
	end, ends := endOf(reason)
	begun(root, r)
	for i, b := range blocks {
		if i < len(blocks)-1 {
			l.readBlock(b, sotto.EndStopped, r)
		} else {
			l.readBlock(b, end, r)
		}
	}
	if ends {
		stopped(&l.flow, reason, end, r)
	}
	l.flow.Finish(end, r)
	l.flow.Last(end, r) // a failure is noted, and the reply refused
	r.Found(wire.Event{Kind: wire.EventEnd})
	if y.set.Written {
		return dst
	}
	if l.kept == len(blocks) && l.made == len(blocks) {
		return append(dst, body...)
	}
	edits := []jsonedit.Edit{{Span: jsonedit.SpanOf(content), With: append(append([]byte{'['}, l.out...), ']')}}
	return jsonedit.Splice(dst, body, reasonEdit(edits, &l.flow, reason, end))
}

// reasonEdit appends the edit that makes a stop reason that for calls, if the client has
// some that the upstream does not know of.
func reasonEdit(edits []jsonedit.Edit, w *blocks.Flow, reason gjson.Result, end sotto.Ending) []jsonedit.Edit {
	const calls = "tool_use"
	if reason.Str == calls || !w.Called(end) {
		return edits
	}
	return append(edits, jsonedit.Edit{Span: jsonedit.SpanOf(reason), With: []byte(`"` + calls + `"`)})
}

// A list is the content of a whole message, as the sink of its flow.
type list struct {
	y    *reply
	flow blocks.Flow
	out  []byte // the client's blocks
	made int
	kept int // … of which are the upstream's, unchanged

	block gjson.Result // the upstream's block under way
	own   bool         // the open block is that one
	kind  kind
	said  []byte // its text
}

// readBlock takes one of the upstream's blocks.
func (l *list) readBlock(b gjson.Result, end sotto.Ending, r wire.Reader) {
	l.block = b
	switch b.Get("type").Str {
	case "text":
		l.flow.Begin(text)
		l.y.block(&l.flow, shownTexts, b, r)
		l.flow.Read(text, decode(b.Get("text")), r)
	case "thinking":
		l.flow.Begin(thinking)
		if text := decode(b.Get("thinking")); len(text) > 0 {
			l.flow.Read(thinking, text, r)
		} else {
			l.flow.Empty(r)
		}
		signature := b.Get("signature")
		l.y.sealed(&l.flow, signature, r)
		if signature.Str != "" {
			l.flow.Sign(r)
		}
	default:
		l.flow.Part(r)
		l.y.foundOther(&l.flow, b, r)
		l.flow.Made++
		if !l.y.set.Written {
			l.keep()
		}
		return
	}
	l.flow.End(end, r)
	l.y.ended(l.flow.Block, r)
}

// decode returns the text of a JSON string, and nothing for another value.
func decode(v gjson.Result) []byte {
	inside := insideOf(gjson.Result{Type: v.Type, Raw: v.Raw})
	b, _ := jsonedit.TextOf(nil, inside.Of(jsonedit.BytesOf(v.Raw)))
	return b
}

func (l *list) Open(k kind, own bool) {
	l.kind, l.own, l.said = k, own, l.said[:0]
}

func (l *list) Say(_ kind, parts []wire.Part, _ bool) {
	for _, p := range parts {
		l.said = append(l.said, p.Text...)
	}
}

// Shut writes the block: the upstream's own with its text edited, or one of ours.
func (l *list) Shut() {
	key := "text"
	if l.kind == thinking {
		key = "thinking"
	}
	if !l.own {
		l.mint(key)
		return
	}
	raw := jsonedit.BytesOf(l.block.Raw)
	block := jsonedit.Parse(raw)
	var edits []jsonedit.Edit
	if v := block.Get(key); string(decode(v)) != string(l.said) {
		edits = append(edits, jsonedit.Edit{Span: jsonedit.SpanOf(v), With: jsontext.AppendVerbatim(nil, l.said)})
	}
	if l.kind == thinking && l.y.set.Sign {
		edits = sign(edits, block)
	}
	if len(edits) == 0 {
		l.keep()
		return
	}
	l.next()
	l.out = jsonedit.Splice(l.out, raw, edits)
}

// sign appends the edit that signs a thinking block which the upstream has not signed.
func sign(edits []jsonedit.Edit, block gjson.Result) []jsonedit.Edit {
	v := block.Get("signature")
	switch with := chatjson.SignatureFor(v); {
	case with == "":
		return edits
	case v.Exists():
		return append(edits, jsonedit.Edit{Span: jsonedit.SpanOf(v), With: []byte(`"` + with + `"`)})
	default:
		end := len(block.Raw) - 1 // it has a type
		return append(edits, jsonedit.Edit{Span: jsonedit.Span{Start: end, End: end}, With: []byte(`,"signature":"` + with + `"`)})
	}
}

func (l *list) mint(key string) {
	l.next()
	l.out = append(append(append(l.out, `{"type":"`...), key...), `","`...)
	l.out = append(append(l.out, key...), `":`...)
	l.out = jsontext.AppendVerbatim(l.out, l.said)
	switch {
	case l.kind == thinking && l.y.set.Sign:
		l.out = append(l.out, `,"signature":"`+chatjson.Signature+`"`...)
	case l.kind == thinking:
		l.out = append(l.out, `,"signature":""`...)
	}
	l.out = append(l.out, '}')
}

// Call writes a call as a block of its own.
func (l *list) Call(p wire.Part) {
	l.next()
	l.out = appendCall(l.out, p, p.Text)
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
