package cohere

import (
	"github.com/sotto-llm/sotto/internal/data/jsonedit"
	"github.com/sotto-llm/sotto/internal/data/jsontext"
	"github.com/sotto-llm/sotto/wire"
	"github.com/sotto-llm/sotto/wire/internal/blocks"
)

// A page is the paper of a reply that is not streamed.
type page struct {
	message
	content, plan, calls []byte
	cited                []*wire.Event
}

func (w *writer) Whole(dst []byte, events []wire.Event) []byte {
	p := &page{}
	p.pen.To = p
	for i := range events {
		p.write(&events[i])
	}
	if p.last.fault != "" && !p.last.comes {
		return append(dst, p.last.fault...)
	}
	if len(p.calls) == 0 {
		p.pen.Finish()
	}
	p.pen.Shut()
	return p.append(dst)
}

func (p *page) write(e *wire.Event) {
	switch e.Kind {
	case wire.EventModel:
		p.named(e.ID)
	case wire.EventText, wire.EventThought, wire.EventNarration, wire.EventRefusal:
		if e.Kind != wire.EventThought || e.Name != plan {
			p.pen.Take(e)
			return
		}
		p.plan, p.planned = append(p.plan, e.Text...), true
	case wire.EventCall:
		if p.called = true; e.Index < 0 {
			p.made = true
			p.pen.Shut()
		}
		p.calls = jsontext.AppendComma(p.calls, len(p.calls))
		p.calls = appendCall(p.calls, wire.Part{ID: wordOr(e.ID), Name: e.Name}, e.Text)
	case wire.EventMembers:
		if e.Name == wire.MembersOfCitation {
			p.cited = append(p.cited, e)
			return
		}
		p.last.note(e)
	default:
		p.last.note(e)
	}
}

func (p *page) Begin(k blocks.Kind, _ bool) {
	p.content = jsontext.AppendComma(p.content, len(p.content))
	p.content = append(p.content, `{"type":"`+keyOf(k)+`","`+keyOf(k)+`":"`...)
}

func (p *page) Write(_ blocks.Kind, text []byte) { p.content = jsontext.AppendInside(p.content, text) }

func (p *page) End(blocks.Kind) { p.content = append(p.content, `"}`...) }

// append appends the body.
func (p *page) append(dst []byte) []byte {
	dst = jsontext.AppendVerbatim(append(dst, `{"id":`...), p.name())
	dst = p.appendReason(append(dst, `,"finish_reason":`...))
	dst = append(dst, `,"message":{"role":"assistant"`...)
	if len(p.content) > 0 || len(p.calls) == 0 {
		dst = append(append(append(dst, `,"content":[`...), p.content...), ']')
	}
	if p.planned {
		dst = jsontext.AppendVerbatim(append(dst, `,"`+plan+`":`...), p.plan)
	}
	if len(p.calls) > 0 {
		dst = append(append(append(dst, `,"tool_calls":[`...), p.calls...), ']')
	}
	dst = append(p.citations(dst), '}')
	if usage := jsonedit.Parse([]byte(p.last.of)).Get("usage"); usage.Exists() {
		dst = append(append(dst, `,"usage":`...), usage.Raw...)
	} else {
		dst = append(dst, p.last.usage...)
	}
	if fault := jsonedit.Parse([]byte(p.last.fault)).Get("error"); fault.Exists() {
		dst = append(append(dst, `,"error":`...), fault.Raw...)
	}
	return append(dst, '}')
}

// citations appends those whose part the client has.
func (p *page) citations(dst []byte) []byte {
	var list []byte
	for _, c := range p.cited {
		if raw, ok := p.citation(c); ok {
			list = append(jsontext.AppendComma(list, len(list)), raw...)
		}
	}
	if len(list) == 0 {
		return dst
	}
	return append(append(append(dst, `,"citations":[`...), list...), ']')
}
