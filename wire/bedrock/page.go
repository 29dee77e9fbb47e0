package bedrock

import (
	"github.com/sotto-llm/sotto/internal/data/chatjson"
	"github.com/sotto-llm/sotto/internal/data/foreignjson"
	"github.com/sotto-llm/sotto/internal/data/jsonedit"
	"github.com/sotto-llm/sotto/internal/data/jsontext"
	"github.com/sotto-llm/sotto/wire"
	"github.com/sotto-llm/sotto/wire/internal/blocks"
)

// A page is the paper of a reply that is not streamed.
type page struct {
	pen    blocks.Pen
	sign   bool
	blocks []block
	last   ending
}

// A block is one of a page.
type block struct {
	kind                blocks.Kind
	text, cited         []byte
	signature, redacted string // JSON
	raw                 []byte // of another kind
}

func (w *writer) Whole(dst []byte, events []wire.Event) []byte {
	p := &page{sign: w.sign}
	p.pen.To = p
	for i := range events {
		p.write(&events[i])
	}
	if p.last.fault != "" && !p.last.comes {
		return append(dst, p.last.fault...)
	}
	p.pen.Finish()
	return p.append(dst)
}

func (p *page) write(e *wire.Event) {
	switch e.Kind {
	case wire.EventText, wire.EventThought, wire.EventNarration, wire.EventRefusal:
		p.pen.Take(e)
	case wire.EventSealed:
		text, ok := sealedText(e)
		switch {
		case !ok || !p.pen.Thought(e.Index):
		case e.Name == "signature":
			p.blocks[p.pen.At].signature = text
		default:
			p.blocks[p.pen.At].redacted = text
		}
	case wire.EventSlot:
		p.pen.Slot()
		p.blocks[p.pen.At].signature = string(jsontext.AppendVerbatim(nil, e.Text))
		p.pen.Shut()
	case wire.EventCall:
		p.last.made, p.last.called = p.last.made || e.Index < 0, true
		p.other(startOf(e, inputOf(e.Text)))
	case wire.EventOther:
		p.other([]byte(e.Raw))
	case wire.EventMembers:
		if e.Name == wire.MembersOfReply {
			p.last.note(e)
		} else if at, ok := p.pen.Place(e.Index, e.Choice); ok && e.Name == wire.MembersOfCitation {
			b := &p.blocks[at]
			b.cited = append(jsontext.AppendComma(b.cited, len(b.cited)), e.Raw...)
		}
	default:
		p.last.note(e)
	}
}

// inputOf returns the input of a call as JSON.
func inputOf(arguments []byte) []byte {
	switch {
	case len(arguments) == 0:
		return []byte("{}")
	case foreignjson.Valid(arguments):
		return arguments
	}
	return jsontext.AppendVerbatim(nil, arguments)
}

// other adds a block of another kind.
func (p *page) other(raw []byte) {
	p.pen.Shut()
	p.pen.Next++
	p.blocks = append(p.blocks, block{raw: raw})
}

func (p *page) Begin(k blocks.Kind, own bool) {
	b := block{kind: k}
	if k == blocks.Thinking && p.sign && !own {
		b.signature = `"` + chatjson.Signature + `"`
	}
	p.blocks = append(p.blocks, b)
}

func (p *page) Write(_ blocks.Kind, text []byte) {
	b := &p.blocks[len(p.blocks)-1]
	b.text = append(b.text, text...)
}

func (p *page) End(blocks.Kind) {}

// append appends the body.
func (p *page) append(dst []byte) []byte {
	dst = append(dst, `{"output":{"message":{"role":"assistant","content":[`...)
	for i := range p.blocks {
		dst = p.blocks[i].append(jsontext.AppendComma(dst, i))
	}
	dst = p.last.appendReason(append(dst, `]}},"stopReason":`...))
	if of := p.last.of; of != "" {
		dst = append(append(dst, ','), of[1:len(of)-1]...)
	}
	if fault := jsonedit.Parse([]byte(p.last.fault)).Get("error"); fault.Exists() {
		dst = append(append(dst, `,"error":`...), fault.Raw...)
	}
	return append(dst, '}')
}

func (b *block) append(dst []byte) []byte {
	switch {
	case b.raw != nil:
		return append(dst, b.raw...)
	case b.kind == blocks.Thinking:
		return b.appendThought(dst)
	case b.cited == nil:
		return append(jsontext.AppendVerbatim(append(dst, `{"`+textMember+`":`...), b.text), '}')
	}
	dst = jsontext.AppendVerbatim(append(dst, `{"`+citationsMember+`":{"content":[{"text":`...), b.text)
	return append(append(append(dst, `}],"citations":[`...), b.cited...), "]}}"...)
}

func (b *block) appendThought(dst []byte) []byte {
	dst = append(dst, `{"`+reasoningMember+`":{`...)
	if b.redacted == "" || len(b.text) > 0 || b.signature != "" {
		dst = jsontext.AppendVerbatim(append(dst, `"reasoningText":{"text":`...), b.text)
		if b.signature != "" {
			dst = append(append(dst, `,"signature":`...), b.signature...)
		}
		dst = append(dst, '}')
		if b.redacted != "" {
			dst = append(dst, ',')
		}
	}
	if b.redacted != "" {
		dst = append(append(dst, `"redactedContent":`...), b.redacted...)
	}
	return append(dst, "}}"...)
}
