package turn

import (
	"slices"
	"strings"

	"github.com/sotto-llm/sotto/internal/data/jsonedit"
	"github.com/sotto-llm/sotto/wire"
)

// A Collector joins what a codec of an API with blocks finds in a reply to the message by which the
// reply goes back. It is not safe for concurrent use.
type Collector struct {
	codec wire.BlockCodec
	most  int // bytes
	size  int
	parts []*collected
	over  bool
}

// A collected part is one whose texts still grow.
type collected struct {
	kind            Kind
	index, choice   int
	id, name, whole string
	text, signature strings.Builder
	sealed          strings.Builder
}

// maxParts bounds the parts of a reply. A reply with more is like one that is too large.
const maxParts = 4096

// partCost is about how many bytes a part takes besides its texts.
const partCost = 256

// NewCollector returns a collector of a reply that a codec reads. It holds at most a number of bytes: of a
// larger reply there is no message.
func NewCollector(c wire.BlockCodec, most int) *Collector { return &Collector{codec: c, most: most} }

// Size is how many bytes the collector holds.
func (c *Collector) Size() int { return c.size }

// Found takes what the codec found next. Texts that the codec reports again are not taken again.
func (c *Collector) Found(e *wire.Event) {
	if e.Kind == wire.EventThought && e.Again && e.Raw != "" { // the whole item, after its pieces
		c.keep(c.last(Thought, e.Index), e)
	}
	if e.Kind == wire.EventSealed && e.Again && c.again(e) {
		return
	}
	if c.over || e.Again && e.Kind != wire.EventSealed {
		return
	}
	switch e.Kind {
	case wire.EventText:
		c.say(Text, e)
	case wire.EventThought:
		c.say(Thought, e)
	case wire.EventSealed:
		c.seal(e)
	case wire.EventCall:
		c.call(e)
	case wire.EventOther:
		c.add(&collected{kind: Other, index: e.Index, name: strings.Clone(e.Name)})
	}
}

// say takes a text or a thought. What follows a signature is another part: a signature is of what
// came before it. Encrypted reasoning may come before the summary of the same item.
func (c *Collector) say(kind Kind, e *wire.Event) {
	if len(e.Text) == 0 {
		return
	}
	p := c.last(kind, e.Index)
	if p == nil || p.signature.Len() > 0 || c.apart(p.name, e.Name) || kind == Text && p.choice != e.Choice {
		p = c.add(&collected{kind: kind, index: e.Index, choice: e.Choice, name: strings.Clone(e.Name)})
	}
	c.write(&p.text, e.Text)
}

// apart reports whether thoughts of two names stand apart: one of them beside the list of blocks.
func (c *Collector) apart(a, b string) bool {
	codec, ok := c.codec.(wire.BesideCodec)
	return ok && a != b && (a == codec.Beside() || b == codec.Beside())
}

// keep keeps a thought as it came whole.
func (c *Collector) keep(p *collected, e *wire.Event) {
	if p == nil || c.over {
		return
	}
	if c.grow(len(e.Raw) - len(p.whole)); !c.over {
		p.whole = strings.Clone(e.Raw)
	}
}

// again replaces encrypted reasoning by what the provider says at the item's end. It reports whether there
// was any.
func (c *Collector) again(e *wire.Event) bool {
	i := slices.IndexFunc(c.parts, func(p *collected) bool { return p.kind == Thought && p.index == e.Index && p.sealed.Len() > 0 })
	if i < 0 {
		return false
	}
	p := c.parts[i]
	c.grow(-p.sealed.Len() - len(p.whole))
	p.sealed.Reset()
	p.whole = ""
	c.write(&p.sealed, e.Text)
	c.keep(p, e)
	return true
}

// seal takes a signature of the part before it, or encrypted reasoning.
func (c *Collector) seal(e *wire.Event) {
	if len(e.Text) == 0 {
		return
	}
	p := c.lastOf(e.Index)
	if !strings.HasSuffix(strings.ToLower(e.Name), "signature") {
		if p == nil || p.kind != Thought || p.name != e.Name && e.Raw == "" {
			p = c.add(&collected{kind: Thought, index: e.Index, name: strings.Clone(e.Name)})
		}
		c.write(&p.sealed, e.Text)
		c.keep(p, e)
		return
	}
	if p == nil {
		p = c.add(&collected{kind: Thought, index: e.Index, name: strings.Clone(e.Name)})
	}
	c.write(&p.signature, e.Text)
}

// call takes a call, or a piece of one. Those of the provider's own tools are parts of another kind.
func (c *Collector) call(e *wire.Event) {
	p := c.last(Call, e.Index)
	if p == nil {
		p = c.add(&collected{kind: Call, index: e.Index, id: strings.Clone(e.ID), name: strings.Clone(e.Name)})
		if jsonedit.Parse([]byte(e.Raw)).Get("type").Exists() && c.codec.Block(e.Raw).Kind != wire.BlockCall {
			p.kind = Other
		}
	}
	if e.Whole {
		p.text.Reset()
		c.keep(p, e)
	}
	c.write(&p.text, e.Text)
	if e.Signature != "" && p.signature.Len() == 0 {
		c.write(&p.signature, []byte(e.Signature))
	}
}

// last returns the part that was begun last, if it is of the kind and the index, and lastOf if it is
// of the index. Pieces of calls may come by turns, so they are searched for.
func (c *Collector) last(kind Kind, index int) *collected {
	for i := len(c.parts) - 1; i >= 0; i-- {
		if p := c.parts[i]; p.index == index && (p.kind == kind || kind == Call && p.kind == Other) {
			return p
		} else if kind != Call {
			return nil
		}
	}
	return nil
}

func (c *Collector) lastOf(index int) *collected {
	if n := len(c.parts); n > 0 && c.parts[n-1].index == index {
		return c.parts[n-1]
	}
	return nil
}

func (c *Collector) add(p *collected) *collected {
	if len(c.parts) == maxParts {
		c.grow(c.most + 1)
	}
	if c.grow(partCost + len(p.id) + len(p.name)); !c.over {
		c.parts = append(c.parts, p)
	}
	return p
}

func (c *Collector) write(to *strings.Builder, text []byte) {
	if c.grow(len(text)); !c.over {
		to.Write(text)
	}
}

func (c *Collector) grow(n int) {
	if c.size += n; c.size > c.most {
		c.over, c.parts, c.size = true, nil, 0
	}
}

// Thought returns the thought of an index as a message of its own; ok is false if there is none, if it is
// not one block, or if the provider has shown nothing of it.
func (c *Collector) Thought(index int) (m Message, ok bool) {
	for _, p := range c.parts {
		if p.kind != Thought || p.index != index {
			continue
		}
		if ok {
			return Message{}, false
		}
		m, ok = Message{Role: Assistant, Parts: []Part{c.part(p)}}, true
	}
	return m, ok && m.Parts[0].Text != ""
}

// Since returns the parts that were begun after the first n, and how many there are now.
func (c *Collector) Since(n int) (parts []Part, now int) {
	for _, p := range c.parts[min(n, len(c.parts)):] {
		parts = append(parts, c.part(p))
	}
	return parts, len(c.parts)
}

// Message returns the reply as the assistant's message; ok is false if it was too large, or said
// nothing.
func (c *Collector) Message() (m Message, ok bool) {
	m.Role = Assistant
	for _, p := range c.parts {
		m.Parts = append(m.Parts, c.part(p))
	}
	return m, len(m.Parts) > 0
}

func (c *Collector) part(p *collected) Part {
	part := Part{Kind: p.kind, Name: p.name, Signature: p.signature.String()}
	switch p.kind {
	case Call:
		part.ID, part.Arguments = p.id, p.text.String()
		part.Extra = Extra{API: c.codec.Name(), Whole: p.whole}
	case Thought:
		part.Text, part.Sealed = p.text.String(), p.sealed.String()
		part.Extra = Extra{API: c.codec.Name(), Whole: p.whole}
	case Other:
		part.Extra = Extra{API: c.codec.Name(), Whole: "null"} // what it was stays with the client
	default:
		part.Text, part.Name = p.text.String(), ""
	}
	return part
}

// Blocks returns the reply as the blocks by which it goes back, or nil if it cannot be written. Blocks
// that only the provider knows have no JSON.
func Blocks(c wire.BlockCodec, m Message) []wire.Block {
	api, ok := c.(API)
	if !ok {
		return nil
	}
	var list []wire.Block
	messages, blocks := c.Lists()
	for _, p := range m.Parts {
		if p.Kind == Other {
			list = append(list, wire.Block{Kind: wire.BlockOther})
			continue
		}
		// Some writers refuse a request without a user, and write a single text not as a list. What the
		// codec has read itself stays as it is.
		own := Extra{API: api.Name()}
		p.Extra = Extra{API: own.API, Whole: p.Extra.Whole}
		text := Part{Text: "?", Extra: own}
		user, said := Message{Role: User, Parts: []Part{text}}, Message{Role: Assistant, Parts: []Part{p, text}, Extra: own}
		if blocks == "" { // the messages are items
			said.Parts = said.Parts[:1]
		}
		body, err := api.WriteTurn(nil, &Request{Messages: []Message{user, said}})
		if err != nil {
			return nil
		}
		all := jsonedit.Parse(body).Get(messages).Array()
		if all = all[min(1, len(all)):]; blocks != "" && len(all) > 0 {
			message := all[0]
			all = message.Get(blocks).Array()
			all = all[:max(0, len(all)-1)]
			if c, ok := c.(wire.BesideCodec); ok && message.Get(c.Beside()).Exists() {
				all = append(all, jsonedit.Parse([]byte(`{"`+c.Beside()+`":`+message.Get(c.Beside()).Raw+`}`)))
			}
		}
		for _, v := range all {
			b := c.Block(v.Raw)
			b.Raw = v.Raw
			list = append(list, b)
		}
	}
	return list
}
