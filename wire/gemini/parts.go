package gemini

import (
	"bytes"

	"github.com/tidwall/gjson"

	"github.com/sotto-llm/sotto/internal/data/chatjson"
	"github.com/sotto-llm/sotto/internal/data/jsonedit"
	"github.com/sotto-llm/sotto/internal/data/jsontext"
	"github.com/sotto-llm/sotto/wire"
)

// Parts are the parts of one candidate in one event, as the client gets them.
type parts struct {
	written bool // they are only reported: the reply is written from events
	choice  int
	run     run
	out     []byte // the elements of the list
	changed bool   // they are not those of the upstream
	// last ends the candidate's reading, and returns what was held. The last part has it,
	// so that a text that was only held goes on in its own part.
	last func() []wire.Part
}

func (p *parts) begin(choice int, at run) {
	p.choice, p.run, p.out, p.changed = choice, at, p.out[:0], false
	p.last = nil
}

// read reads one of the upstream's parts.
func (p *parts) read(v gjson.Result, r wire.Reader) {
	var text, thought, signature, call gjson.Result
	other := ""
	v.ForEach(func(key, value gjson.Result) bool {
		switch key.Str {
		case "text":
			text = value
		case thoughtMember:
			thought = value
		case signatureMember:
			signature = value
		case "functionCall":
			call = value
		default:
			if value.IsObject() && other == "" {
				other = key.Str
			}
		}
		return true
	})
	thinks := thought.Type == gjson.True
	if p.written {
		p.tell(v, r)
	}
	switch {
	case call.IsObject():
		p.called(call, signature.Str, r)
		p.add(v.Raw)
		return
	case text.Type == gjson.String:
		p.said(v, text, thinks, signature, r)
		return
	case thinks && p.written: // a picture that it thought of
	default:
		if other != "" {
			r.Found(wire.Event{Kind: wire.EventOther, Choice: p.choice, Name: other})
		}
		if picture, ok := pictureOf(p.choice, v.Get("inlineData")); ok && p.written {
			r.Found(picture)
		}
		p.add(v.Raw)
	}
	if isSigned(signature) {
		p.signed(signature, r)
	}
}

func isSigned(signature gjson.Result) bool {
	return signature.Type == gjson.String && signature.Str != ""
}

func (p *parts) signed(signature gjson.Result, r wire.Reader) {
	r.Found(wire.Event{Kind: wire.EventSealed, Choice: p.choice, Index: p.run.number, Name: signatureMember, Text: chatjson.ValueText(signature)})
}

// called reports a call. A piece of one that has neither a name nor an id continues
// the call before it.
func (p *parts) called(call gjson.Result, signature string, r wire.Reader) {
	id, name := call.Get("id").Str, call.Get("name").Str
	if id != "" || name != "" {
		p.run = run{number: p.run.number + 1}
	}
	r.Found(wire.Event{
		Kind: wire.EventCall, Choice: p.choice, Index: p.run.number, ID: id, Name: name,
		Text: chatjson.ValueText(call.Get("args")), Raw: call.Raw, Signature: signature,
	})
}

// said reads a text or a thought, and adds what the client gets of it. The upstream's
// part itself goes on where its kind was said last. If nothing of its kind is said,
// it goes on without its text, if it is signed.
func (p *parts) said(v, text gjson.Result, thinks bool, signature gjson.Result, r wire.Reader) {
	if p.run.thought != thinks {
		p.run = run{p.run.number + 1, thinks}
	}
	said, f := chatjson.ValueText(text), wire.Event{Choice: p.choice, Index: p.run.number}
	if f.Text = said; thinks {
		f.Kind, f.Name = wire.EventThought, thoughtMember
	}
	given := r.Found(f)
	signed, ends := isSigned(signature), p.last != nil && !thinks
	if signed || ends {
		given = joined(given)
	}
	if signed { // before the end: a signature shows that the text is no thought
		p.signed(signature, r)
	}
	if ends {
		given = append(given, p.last()...)
		p.last = nil
	}
	if p.written {
		return
	}
	if len(given) > 1 {
		given = joined(given)
	}
	if len(said) == 0 && len(given) == 0 || len(given) == 1 && is(given[0], thinks) && bytes.Equal(given[0].Text, said) {
		p.add(v.Raw)
		return
	}
	p.changed = true
	own := -1 // the last one of its kind
	for i := range given {
		if is(given[i], thinks) {
			own = i
		}
	}
	for i, g := range given {
		if i == own {
			p.rewrite(v, text, g.Text)
		} else {
			p.give(g)
		}
	}
	if signed && own < 0 {
		p.rewrite(v, text, nil)
	}
}

func isThinking(p wire.Part) bool { return p.Place == wire.Reasoning }

// is reports whether a part is a thought, or else whether it is a text.
func is(p wire.Part, thought bool) bool { return p.Place != wire.Call && isThinking(p) == thought }

// joined copies parts, which are valid only until the reader's next call. It joins
// neighbours of one kind, and leaves out what is empty.
func joined(given []wire.Part) (list []wire.Part) {
	for _, g := range given {
		switch n := len(list); {
		case len(g.Text) == 0:
		case n > 0 && g.Place != wire.Call && is(list[n-1], isThinking(g)):
			list[n-1].Text = append(list[n-1].Text, g.Text...)
		default:
			list = append(list, wire.Part{Place: g.Place, Text: bytes.Clone(g.Text), ID: g.ID, Name: g.Name})
		}
	}
	return list
}

// say adds parts of ours, for what was held.
func (p *parts) say(given []wire.Part) {
	if p.written {
		return
	}
	for _, g := range joined(given) {
		p.changed = true
		p.give(g)
	}
}

// give adds a part of ours: a text, a thought, or a call that the model wrote into its
// text.
func (p *parts) give(g wire.Part) {
	if g.Place != wire.Call {
		p.mint(g.Text, isThinking(g))
		return
	}
	p.next()
	p.out = jsontext.AppendVerbatim(append(p.out, `{"functionCall":{"id":`...), g.ID)
	p.out = jsontext.AppendVerbatim(append(p.out, `,"name":`...), g.Name)
	p.out = append(append(append(p.out, `,"args":`...), g.Text...), "}}"...)
}

// mint adds a part of ours.
func (p *parts) mint(text []byte, thought bool) {
	p.next()
	p.out = appendPart(p.out, text, thought)
}

// rewrite adds the upstream's part with another text.
func (p *parts) rewrite(v, text gjson.Result, with []byte) {
	p.next()
	at := text.Index - v.Index
	p.out = append(p.out, v.Raw[:at]...)
	p.out = jsontext.AppendVerbatim(p.out, with)
	p.out = append(p.out, v.Raw[at+len(text.Raw):]...)
}

// add adds a part as it is.
func (p *parts) add(raw string) {
	if p.written {
		return
	}
	p.next()
	p.out = append(p.out, jsonedit.BytesOf(raw)...)
}

func (p *parts) next() {
	if len(p.out) > 0 {
		p.out = append(p.out, ',')
	}
}
