package blocks

import (
	"github.com/sotto-llm/sotto/wire"
)

// Nowhere is the sink of a flow that is only read.
type Nowhere struct{}

func (Nowhere) Open(Kind, bool)             {}
func (Nowhere) Say(Kind, []wire.Part, bool) {}
func (Nowhere) Shut()                       {}
func (Nowhere) Call(wire.Part)              {}

// Stands reports that a text block stands there, whatever is read of it.
func (w *Flow) Stands(r wire.Reader) {
	w.reading = true
	r.Found(wire.Event{Kind: wire.EventText, Choice: w.Choice, Index: w.Block})
}

// Seal ends text made from earlier reasoning, before what is signed or encrypted is reported.
func (w *Flow) Seal(r wire.Reader) {
	if w.Out != Thinking && !w.In.inlined {
		w.Part(r)
	}
}

// A Paper is where a [Pen] writes blocks. At most one is open.
type Paper interface {
	// Begin begins a block. own says that it is a thinking block of the upstream's.
	Begin(k Kind, own bool)
	// Write appends to the open block.
	Write(k Kind, text []byte)
	// End ends the open block.
	End(k Kind)
}

// A Pen turns the events of one message, which were read and judged, into the blocks of a
// client.
type Pen struct {
	To Paper
	// Out is the kind of the open block, and At its index.
	Out Kind
	At  int
	// Next is the index of the next block. Codecs count blocks of other kinds in it.
	Next int

	key    key
	said   []byte // of the open block, not written yet
	stood  bool   // the message had a text block
	last   int    // the upstream's block whose text was written last
	blocks places // by the upstream's block
	texts  places // by the choice of the text
}

// A key tells blocks of one kind apart.
type key struct {
	kind Kind
	own  bool // the upstream has a block of the thought
	of   int  // … the number of that, or else of the choice
}

// places are the client's indices of a bounded number of blocks.
type places map[int]int

const maxPlaces = 4096

func (p *places) set(of, at int) {
	if *p == nil {
		*p = places{}
	}
	if _, ok := (*p)[of]; ok || len(*p) < maxPlaces {
		(*p)[of] = at
	}
}

// Take writes a text or a thought. Pieces of one block that come together are written
// together, at the latest by [Pen.Flush].
func (p *Pen) Take(e *wire.Event) {
	k := key{kind: Text, of: e.Choice}
	if e.Kind == wire.EventThought {
		k.kind = Thinking
		if k.own = e.Name == thinking && !e.Member; k.own {
			k.of = e.Index
		}
	}
	p.stood = p.stood || k.kind == Text
	if len(e.Text) == 0 {
		return
	}
	p.open(k)
	if k.kind == Text {
		p.last = e.Index
		p.texts.set(e.Choice, p.At)
	}
	if (k.own || k.kind == Text) && e.Index > 0 {
		p.blocks.set(e.Index, p.At)
	}
	p.said = append(p.said, e.Text...)
}

// Text makes sure that the text block of a choice is open.
func (p *Pen) Text(choice int) {
	p.open(key{kind: Text, of: choice})
	p.texts.set(choice, p.At)
	p.Flush()
}

// Thought makes sure that the upstream's thinking block of a number is open. It returns
// false if its text stands in a text block.
func (p *Pen) Thought(block int) bool {
	if p.last == block {
		return false
	}
	p.open(key{kind: Thinking, own: true, of: block})
	p.Flush()
	return true
}

// Slot makes sure that a thinking block is open, for what stands in its slot.
func (p *Pen) Slot() {
	if p.Out != Thinking {
		p.open(key{kind: Thinking, own: true, of: none})
	}
	p.Flush()
}

// none is the number of no block.
const none = -1

// Place returns the client's index of one of the upstream's blocks, or of the text of a
// choice.
func (p *Pen) Place(block, choice int) (at int, ok bool) {
	if at, ok = p.blocks[block]; !ok {
		at, ok = p.texts[choice]
	}
	return at, ok
}

func (p *Pen) open(k key) {
	if p.Out != Other && p.key == k {
		return
	}
	p.Shut()
	p.Out, p.key, p.At = k.kind, k, p.Next
	p.Next++
	p.To.Begin(k.kind, k.own)
}

// Flush writes the text that waits.
func (p *Pen) Flush() {
	if len(p.said) == 0 {
		return
	}
	p.To.Write(p.Out, p.said)
	if p.said = p.said[:0]; cap(p.said) > large {
		p.said = nil
	}
}

// large is the capacity above which a buffer is not kept for later frames.
const large = 16 << 10

// Shut ends the open block.
func (p *Pen) Shut() {
	p.Flush()
	if p.Out != Other {
		p.To.End(p.Out)
		p.Out = Other
	}
}

// Finish ends the last block. A message that had a text, and of which no block is left,
// gets an empty one.
func (p *Pen) Finish() {
	p.Shut()
	if p.Next == 0 && p.stood {
		p.open(key{kind: Text})
		p.Shut()
	}
}
