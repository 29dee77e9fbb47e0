package interactions

import (
	"github.com/sotto-llm/sotto/internal/data/foreignjson"
	"github.com/sotto-llm/sotto/internal/data/jsonedit"
	"github.com/sotto-llm/sotto/internal/data/jsontext"
	"github.com/sotto-llm/sotto/wire"
	"github.com/sotto-llm/sotto/wire/internal/blocks"
)

// A page is the paper of a reply that is not streamed. Its steps are written one after the other.
type page struct {
	message
	steps     []byte
	n         int
	open      []byte // the text of the step under way
	sealed    []byte // … and its signature
	pieces    []byte // … and its contents that are no texts
	cited     []byte // … and its citations
	call      *wire.Event
	arguments []byte
}

func (w *writer) Whole(dst []byte, events []wire.Event) []byte {
	p := &page{}
	p.pen.To = p
	for i := range events {
		p.write(&events[i])
	}
	if p.fault != "" && !p.comes {
		return append(dst, p.fault...)
	}
	p.endCall()
	p.pen.Finish()
	dst = p.appendHead(append(dst, '{'), p.status())
	dst = append(append(append(dst, `,"steps":[`...), p.steps...), ']')
	if fault := jsonedit.Parse([]byte(p.fault)).Get("error"); fault.Exists() {
		dst = append(append(dst, `,"error":`...), fault.Raw...)
	}
	return append(dst, '}')
}

func (p *page) write(e *wire.Event) {
	switch e.Kind {
	case wire.EventText, wire.EventThought, wire.EventNarration, wire.EventRefusal:
		if len(e.Text) > 0 {
			p.endCall()
		}
		p.pen.Take(e)
	case wire.EventSealed:
		p.endCall()
		if e.Name == "signature" && len(e.Text) > 0 && p.pen.Thought(e.Index) {
			p.sealed = append(p.sealed, e.Text...)
		}
	case wire.EventCall:
		p.tool(e)
	case wire.EventMembers:
		p.members(e)
	default:
		p.note(e)
	}
}

func (p *page) members(e *wire.Event) {
	switch e.Name {
	case wire.MembersOfBlock:
		p.endCall()
		p.pen.Shut()
		p.pen.Next++
		p.add([]byte(e.Raw))
	case wire.MembersOfPiece:
		p.endCall()
		if v := jsonedit.Parse([]byte(e.Raw)); v.Get("type").Str == "text_annotation_delta" {
			if at, ok := p.pen.Place(e.Index, e.Choice); ok && p.pen.Out == blocks.Text && at == p.pen.At {
				p.cited = []byte(v.Get("annotations").Raw)
			}
			return
		}
		if p.pen.Out != blocks.Text {
			p.pen.Text(e.Choice)
		}
		p.pen.Flush()
		p.pieces = append(append(p.pieces, ','), e.Raw...)
	default:
		p.note(e)
	}
}

func (p *page) Begin(blocks.Kind, bool) {
	p.open, p.sealed, p.pieces, p.cited = p.open[:0], nil, nil, nil
}

func (p *page) Write(_ blocks.Kind, text []byte) { p.open = append(p.open, text...) }

// End writes the step.
func (p *page) End(k blocks.Kind) {
	step := []byte(`{"type":"` + typeOf(k) + `"`)
	if len(p.sealed) > 0 {
		step = jsontext.AppendVerbatim(append(step, `,"signature":`...), p.sealed)
	}
	if len(p.open) > 0 || k == blocks.Text && len(p.pieces) == 0 {
		step = jsontext.AppendVerbatim(append(step, `,"`+listOf(k)+`":[{"type":"text","text":`...), p.open)
		if len(p.cited) > 0 {
			step = append(append(step, `,"annotations":`...), p.cited...)
		}
		step = append(append(append(step, '}'), p.pieces...), ']')
	} else if len(p.pieces) > 0 {
		step = append(append(append(step, `,"content":[`...), p.pieces[1:]...), ']')
	}
	p.add(append(step, '}'))
}

func (p *page) add(step []byte) {
	p.steps = append(jsontext.AppendComma(p.steps, p.n), step...)
	p.n++
}

// tool takes a call, or a piece of one.
func (p *page) tool(e *wire.Event) {
	p.called = true
	if p.call != nil && e.Index >= 0 && p.call.Index == e.Index {
		p.arguments = append(p.arguments, e.Text...)
		return
	}
	p.endCall()
	p.pen.Shut()
	p.pen.Next++
	p.made = p.made || e.Index < 0
	p.call, p.arguments = e, append(p.arguments[:0], e.Text...)
}

// endCall writes the call under way. Arguments that are no object, which the API has no place for, are a text in one.
func (p *page) endCall() {
	if p.call == nil {
		return
	}
	arguments := p.arguments
	switch {
	case len(arguments) == 0:
		arguments = []byte("{}")
	case !foreignjson.Valid(arguments) || !jsonedit.Parse(arguments).IsObject():
		arguments = append(jsontext.AppendVerbatim([]byte(`{"input":`), arguments), '}')
	}
	p.add(appendCall(nil, wordOr(p.call.ID), p.call.Name, arguments))
	p.call = nil
}
