package conversations

import (
	"strings"

	"github.com/sotto-llm/sotto/internal/data/jsonedit"
	"github.com/sotto-llm/sotto/internal/data/jsontext"
	"github.com/sotto-llm/sotto/wire"
	"github.com/sotto-llm/sotto/wire/internal/blocks"
)

// A page is the paper of a reply that is not streamed. Its entries are written one after the other.
type page struct {
	summary
	entries []byte
	n       int
	entry   string // the members of the upstream's entry
	content []byte // the chunks of the message under way
	chunks  int
	text    []byte // … of the one under way
	signed  []byte // … and its signature
	only    []byte // … if there is one, and it is a text
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
	p.apart()
	p.pen.Finish()
	p.apart()
	of := jsonedit.Parse([]byte(p.of))
	dst = append(dst, '{')
	if !of.Get("object").Exists() {
		dst = append(dst, `"object":"conversation.response",`...)
	}
	if !of.Get("conversation_id").Exists() {
		dst = append(jsontext.AppendVerbatim(append(dst, `"conversation_id":`...), p.id), ',')
	}
	dst = append(append(append(append(dst, `"`+listOf(of)+`":[`...), p.entries...), ']'), p.appendOf(nil, "")...)
	return append(dst, '}')
}

func (p *page) write(e *wire.Event) {
	switch {
	case isText(e):
		if len(e.Text) > 0 {
			p.start(e)
		}
		p.pen.Take(e)
	case e.Kind == wire.EventSealed:
		if p.start(e); e.Name == "signature" && len(e.Text) > 0 && p.pen.Thought(e.Index) {
			p.signed = append(p.signed, e.Text...)
		}
	case e.Kind == wire.EventCall:
		p.apart()
		of := p.entry
		if of == "" || e.Index < 0 {
			of = `"object":"entry","type":"` + functionCall + `"` + string(p.appendModel(nil))
		}
		p.add("{" + of + "," + string(appendCall(nil, wordOr(e.ID), e.Name, e.Text)) + "}")
	case e.Kind == wire.EventMembers && e.Name == wire.MembersOfBlock:
		p.apart()
		raw := strings.TrimSpace(e.Raw)
		if kind := kindOf(jsonedit.Parse([]byte(raw))); kind == messageOutput || kind == functionCall {
			p.entry = strings.Clone(raw[1 : len(raw)-1])
		} else {
			p.add(raw)
		}
	case e.Kind == wire.EventMembers && e.Name == wire.MembersOfPiece:
		p.start(e)
		p.pen.Shut()
		p.pen.Next++
		p.give([]byte(e.Raw))
	default:
		p.note(e)
	}
}

// start ends the message under way, if an event is of another one.
func (p *page) start(e *wire.Event) {
	if e.Choice != p.choice {
		p.apart()
	}
	p.choice = e.Choice
}

// apart ends the message under way.
func (p *page) apart() {
	p.pen.Shut()
	if p.chunks == 0 {
		return
	}
	content := append(append([]byte{'['}, p.content...), ']')
	if p.only != nil {
		content = p.only
	}
	of := p.entry
	if of == "" {
		of = `"object":"entry","type":"` + messageOutput + `","role":"assistant"` + string(p.appendModel(nil))
	}
	p.add("{" + of + `,"content":` + string(content) + "}")
	p.content, p.chunks, p.only = nil, 0, nil
}

func (p *page) Begin(blocks.Kind, bool) { p.text, p.signed = nil, nil }

func (p *page) Write(_ blocks.Kind, text []byte) { p.text = append(p.text, text...) }

// End writes the chunk.
func (p *page) End(k blocks.Kind) {
	said := jsontext.AppendVerbatim(nil, p.text)
	switch {
	case k == blocks.Text:
		p.give(appendChunk(nil, k, said, true))
		if p.chunks == 1 {
			p.only = said
		}
	case len(p.text) == 0:
		p.give(appendSigned(nil, p.signed))
	default:
		chunk := appendChunk(nil, k, said, true)
		if len(p.signed) > 0 {
			chunk = jsontext.AppendVerbatim(append(chunk[:len(chunk)-1], `,"signature":`...), p.signed)
			chunk = append(chunk, '}')
		}
		p.give(chunk)
	}
}

func (p *page) give(chunk []byte) {
	p.content = append(jsontext.AppendComma(p.content, p.chunks), chunk...)
	p.chunks++
	p.only = nil
}

func (p *page) add(entry string) {
	p.pen.Next++ // which is all that the pen must know of it
	p.entries = append(jsontext.AppendComma(p.entries, p.n), entry...)
	p.n++
}
