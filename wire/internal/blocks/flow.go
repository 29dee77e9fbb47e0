// Package blocks turns the blocks of text and thinking of one message into those that
// a client gets. The APIs whose messages are lists of blocks share it: each writes the
// blocks in its own JSON.
package blocks

import (
	"bytes"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/internal/data/chatjson"
	"github.com/sotto-llm/sotto/wire"
)

// A Kind says what a block holds, or a piece of it.
type Kind uint8

const (
	Other    Kind = iota // neither, or not in a block
	Text                 // {"type":"text","text":…}
	Thinking             // {"type":"thinking","thinking":…}
)

// thinking is the name of the thoughts of thinking blocks.
const thinking = "thinking"

// kindOf is the block that a part belongs to.
func kindOf(p wire.Part) Kind {
	if p.Place == wire.Reasoning {
		return Thinking
	}
	return Text
}

// A Sink is where the client's blocks are written: to a stream or a list. At most
// one block is open.
type Sink interface {
	// Open begins a block: own says that it is the one that the upstream began.
	Open(k Kind, own bool)
	// Say appends to the open block. same says that the parts are what was just
	// read from the upstream's block.
	Say(k Kind, parts []wire.Part, same bool)
	// Shut ends the open block.
	Shut()
	// Call writes a call of a tool; no block is open.
	Call(p wire.Part)
}

// A Flow turns the text and thinking blocks of one message into the client's. A
// streamed reply and a whole one are the same flow into two sinks.
type Flow struct {
	To Sink

	Choice  int  // of the text block under way or to come
	reading bool // that choice has been read and not closed
	In      struct {
		Kind    Kind // of the upstream's block under way
		used    bool // the client has its opening
		Read    bool // it held text
		inlined bool // thinking that is read as content
	}
	Block int  // the upstream's blocks so far
	Out   Kind // the client's block that is open
	Made  int  // blocks that the client has
	Calls int  // … of which are calls that the reader found in texts
	lost  bool // a text block produced nothing
	Same  bool // what is being written is what was read
}

// Begin begins a block of the upstream's. If a block of the client's is open, it is
// text made from reasoning, and continues in a text block.
func (w *Flow) Begin(k Kind) {
	w.Block++
	w.In.Kind, w.In.used, w.In.Read, w.In.inlined = k, false, false, false
}

// Read reads text of the current block; k says whether it is text or reasoning.
func (w *Flow) Read(k Kind, b []byte, r wire.Reader) {
	if len(b) == 0 {
		return
	}
	w.In.Read = true
	if k == Thinking {
		parts := w.Thought(thinking, b, r)
		w.Same = len(parts) == 1 && parts[0].Place == wire.Reasoning && bytes.Equal(parts[0].Text, b)
		w.Write(parts)
	} else {
		w.reading = true
		parts := r.Found(wire.Event{Kind: wire.EventText, Choice: w.Choice, Index: w.Block, Text: b})
		w.Same = chatjson.Same(parts, b)
		w.Write(parts)
	}
	w.Same = false
}

// Thought reads reasoning from a place of a name, and returns what the client gets of it.
func (w *Flow) Thought(name string, b []byte, r wire.Reader) []wire.Part {
	w.reading = true
	return r.Found(wire.Event{Kind: wire.EventThought, Choice: w.Choice, Index: w.Block, Name: name, Text: b})
}

// Write gives each run of parts of one kind to a block.
func (w *Flow) Write(parts []wire.Part) {
	for i := 0; i < len(parts); {
		if parts[i].Place == wire.Call {
			w.call(parts[i])
			i++
			continue
		}
		k, from, n := kindOf(parts[i]), i, 0
		for ; i < len(parts) && parts[i].Place != wire.Call && kindOf(parts[i]) == k; i++ {
			n += len(parts[i].Text)
		}
		if n == 0 {
			continue
		}
		if k == Text && w.In.Kind == Thinking {
			w.In.inlined = true
		}
		w.Open(k)
		w.To.Say(k, parts[from:i], w.Same)
	}
}

// call gives the client a call.
func (w *Flow) call(p wire.Part) {
	w.shut()
	w.Made++
	w.Calls++
	w.To.Call(p)
}

// Called reports whether a message that ended so ended with calls that the upstream does
// not know of: then its reason is the API's for calls.
func (w *Flow) Called(end sotto.Ending) bool { return w.Calls > 0 && end == sotto.EndStopped }

// Open makes sure that a block of a kind is open.
func (w *Flow) Open(k Kind) {
	if w.Out == k {
		return
	}
	w.shut()
	own := w.In.Kind == k && !w.In.used
	w.In.used = w.In.used || own
	w.Out = k
	w.Made++
	w.To.Open(k, own)
}

func (w *Flow) shut() {
	if w.Out != Other {
		w.To.Shut()
		w.Out = Other
	}
}

// Empty reports a thinking block that begins without text: it may remain so.
func (w *Flow) Empty(r wire.Reader) {
	if w.In.Kind == Thinking {
		r.Found(wire.Event{Kind: wire.EventThought, Choice: w.Choice, Index: w.Block, Name: thinking})
	}
}

// Sign opens the current thinking block, because what it holds besides its text
// goes to the client: its signature. It returns false if the block is dropped.
func (w *Flow) Sign(r wire.Reader) bool {
	if w.Out == Thinking {
		return true
	}
	if w.In.inlined {
		return false
	}
	w.Part(r)
	w.Open(Thinking)
	return true
}

// Part ends text made from reasoning, if no text block follows.
func (w *Flow) Part(r wire.Reader) {
	if w.Out == Text && w.In.Kind != Text {
		w.close(sotto.EndStopped, r)
		w.shut()
	}
}

// Break ends the client's block. The choice goes on: what follows of it begins another block.
func (w *Flow) Break() { w.shut() }

// close ends the choice.
func (w *Flow) close(end sotto.Ending, r wire.Reader) {
	if w.reading {
		w.reading = false
		w.Write(r.Close(w.Choice, end))
	}
	w.Choice++
}

// End ends the upstream's current block.
func (w *Flow) End(end sotto.Ending, r wire.Reader) {
	switch w.In.Kind {
	case Text:
		w.close(end, r)
		if w.Out == Other && w.In.Read {
			w.lost = true
		} else if w.Out == Other {
			w.Open(Text)
		}
		w.shut()
	case Thinking:
		if w.Out == Other && !w.In.Read {
			w.Open(Thinking)
		}
		if w.Out == Thinking {
			w.shut()
		}
	}
	w.In.Kind = Other
}

// Finish ends the message, except for what [Flow.fill] may add.
func (w *Flow) Finish(end sotto.Ending, r wire.Reader) {
	w.End(end, r)
	if w.reading {
		w.close(end, r)
	}
	w.shut()
}

// Last gives the client what follows the last block: the answer, if the reader makes
// one. It returns false if the message must not end well.
func (w *Flow) Last(end sotto.Ending, r wire.Reader) bool {
	parts, err := r.Finish(end)
	if err != nil {
		return false
	}
	w.Write(parts)
	w.shut()
	w.fill()
	return true
}

// fill gives the client an empty text block if it got no block at all of a message
// that had text.
func (w *Flow) fill() {
	if w.Made == 0 && w.lost {
		w.Open(Text)
		w.shut()
	}
}
