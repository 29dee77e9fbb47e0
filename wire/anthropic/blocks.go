package anthropic

import (
	"bytes"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/internal/chatjson"
	"github.com/sotto-llm/sotto/wire"
)

// A kind says what a block holds, or a piece of it.
type kind uint8

const (
	other    kind = iota // neither, or not in a block
	text                 // {"type":"text","text":…}
	thinking             // {"type":"thinking","thinking":…,"signature":…}
)

// kindOf is the block that a part belongs to.
func kindOf(p wire.Part) kind {
	if p.Place == wire.Reasoning {
		return thinking
	}
	return text
}

// A sink is where the client's blocks are written: to a stream or a list. At most
// one block is open.
type sink interface {
	// open begins a block: own says that it is the one that the upstream began.
	open(k kind, own bool)
	// say appends to the open block. same says that the parts are what was just
	// read from the upstream's block.
	say(k kind, parts []wire.Part, same bool)
	// shut ends the open block.
	shut()
}

// A flow turns the text and thinking blocks of one message into the client's. A
// streamed reply and a whole one are the same flow into two sinks.
type flow struct {
	to   sink
	hide bool

	choice  int  // of the text block under way or to come
	reading bool // that choice has been read and not closed
	in      struct {
		kind    kind // of the upstream's block under way
		used    bool // the client has its opening
		read    bool // it held text
		inlined bool // thinking that is read as content
	}
	block int  // the upstream's blocks so far
	out   kind // the client's block that is open
	made  int  // blocks that the client has
	lost  bool // a text block produced nothing
	same  bool // what is being written is what was read
}

// begin begins a block of the upstream's. If a block of the client's is open, it is
// text made from reasoning, and continues in a text block.
func (w *flow) begin(k kind) {
	w.block++
	w.in.kind, w.in.used, w.in.read, w.in.inlined = k, false, false, false
}

// read reads text of the current block; k says whether it is text or reasoning.
func (w *flow) read(k kind, b []byte, r wire.Reader) {
	if len(b) == 0 {
		return
	}
	w.in.read, w.reading = true, true
	if k == thinking {
		parts := r.Found(wire.Found{Kind: wire.FoundThought, Choice: w.choice, Index: w.block, Name: "thinking", Text: b})
		w.same = len(parts) == 1 && parts[0].Place == wire.Reasoning && bytes.Equal(parts[0].Text, b)
		w.write(parts)
	} else {
		parts := r.Found(wire.Found{Kind: wire.FoundText, Choice: w.choice, Index: w.block, Text: b})
		w.same = chatjson.Same(parts, b)
		w.write(parts)
	}
	w.same = false
}

// write gives each run of parts of one kind to a block.
func (w *flow) write(parts []wire.Part) {
	for i := 0; i < len(parts); {
		k, from, n := kindOf(parts[i]), i, 0
		for ; i < len(parts) && kindOf(parts[i]) == k; i++ {
			n += len(parts[i].Text)
		}
		if n == 0 || k == thinking && w.hide {
			continue
		}
		if k == text && w.in.kind == thinking {
			w.in.inlined = true
		}
		w.open(k)
		w.to.say(k, parts[from:i], w.same)
	}
}

// open makes sure that a block of a kind is open.
func (w *flow) open(k kind) {
	if w.out == k {
		return
	}
	w.shut()
	own := w.in.kind == k && !w.in.used
	w.in.used = w.in.used || own
	w.out = k
	w.made++
	w.to.open(k, own)
}

func (w *flow) shut() {
	if w.out != other {
		w.to.shut()
		w.out = other
	}
}

// sign opens the current thinking block, because what it holds besides its text
// goes to the client: its signature. It returns false if the block is dropped.
func (w *flow) sign(r wire.Reader) bool {
	if w.out == thinking {
		return true
	}
	if w.in.inlined {
		return false
	}
	w.part(r)
	w.open(thinking)
	return true
}

// part ends text made from reasoning, if no text block follows.
func (w *flow) part(r wire.Reader) {
	if w.out == text && w.in.kind != text {
		w.close(sotto.EndStopped, r)
		w.shut()
	}
}

// close ends the choice.
func (w *flow) close(end sotto.End, r wire.Reader) {
	if w.reading {
		w.reading = false
		w.write(r.Close(w.choice, end))
	}
	w.choice++
}

// end ends the upstream's current block.
func (w *flow) end(end sotto.End, r wire.Reader) {
	switch w.in.kind {
	case text:
		w.close(end, r)
		if w.out == other && w.in.read {
			w.lost = true
		} else if w.out == other {
			w.open(text)
		}
		w.shut()
	case thinking:
		if w.out == other && !w.in.read && !w.hide {
			w.open(thinking)
		}
		if w.out == thinking {
			w.shut()
		}
	}
	w.in.kind = other
}

// finish ends the message, except for what [flow.fill] may add.
func (w *flow) finish(end sotto.End, r wire.Reader) {
	w.end(end, r)
	if w.reading {
		w.close(end, r)
	}
	w.shut()
}

// last gives the client what follows the last block: the answer, if the reader makes
// one. It returns false if the message must not end well.
func (w *flow) last(end sotto.End, r wire.Reader) bool {
	parts, err := r.Finish(end)
	if err != nil {
		return false
	}
	w.write(parts)
	w.shut()
	w.fill()
	return true
}

// fill gives the client an empty text block if it got no block at all of a message
// that had text.
func (w *flow) fill() {
	if w.made == 0 && w.lost {
		w.open(text)
		w.shut()
	}
}
