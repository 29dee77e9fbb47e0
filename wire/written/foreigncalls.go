package written

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"unsafe"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/wire"
	"github.com/sotto-llm/sotto/wire/shown"
	"github.com/sotto-llm/sotto/wire/turn"
)

// The calls of a foreign reply. Their pieces may come by turns. A client gets one call after the other:
// the pieces of one pass, and those of the others wait until its arguments are complete. Where calls
// are whole in the client's API, all pieces wait.
type calls struct {
	list []*call // in their order
	by   map[int]*call
	own  map[int]bool // calls of kinds that only the upstream's API has
	live int          // the index in list of the one whose pieces pass
	held int          // bytes that wait
}

// ignore notes a call that no client gets, so that its pieces are not taken for those of one.
func (c *calls) ignore(e *wire.Event) {
	if c.own == nil {
		c.own = map[int]bool{}
	}
	if len(c.own) < maxCalls {
		c.own[e.Index] = true
	}
}

type call struct {
	index, choice int
	id, name      string
	begun, said   bool   // the client has its beginning; … some of its arguments
	ended         bool   // it is complete
	held          []byte // what waits of its arguments
	json          object
}

const (
	// maxCalls bounds the calls of a reply, and maxHeld the arguments that wait, in bytes.
	maxCalls = 4096
	maxHeld  = 4 << 20
)

var (
	errManyCalls = fmt.Errorf("the upstream's reply has more than %d calls", maxCalls)
	errLate      = errors.New("the upstream went on with a call after it had said something else")
	errNoName    = errors.New("the upstream's reply has a call without a name")
	errArguments = errors.New("the upstream's reply has a call whose arguments are not a JSON object")
	errHeld      = errors.New("the arguments of the upstream's calls are too large to be sent whole, or come by turns for too long")
)

// placeCall takes a call, or a piece of one. One that was in a text is whole already.
func (b *between) placeCall(e *wire.Event) bool {
	f := b.foreign
	if e.Own || f.calls.own[e.Index] {
		f.calls.ignore(e)
		return false
	}
	e.Raw, e.Signature = "", ""
	if e.Index < 0 {
		if e.Name == "" {
			b.Fail(errNoName)
			return false
		}
		b.settle()
		if e.ID == "" || !shown.IsWord(e.ID) {
			e.ID = f.id("")
		}
		f.since.calls++
		e.Text = b.arguments(e.Text)
		f.original(e)
		return true
	}
	c := f.calls.by[e.Index]
	switch {
	case e.Again, e.Whole && c != nil:
		return false
	case c == nil && len(f.calls.list) == maxCalls:
		b.Fail(errManyCalls)
		return false
	case c == nil:
		if f.asks && f.bridge.Slot != nil { // a copy stands before this call alone
			b.endCalls()
		}
		b.copyThoughts()
		c = f.begin(e)
		if f.since.calls++; f.whole && c.name == "" {
			b.Fail(errNoName)
			return false
		} else if f.whole {
			e.ID, e.Whole = c.id, false
			e.Text = b.arguments(e.Text)
			f.original(e)
			return true
		}
	case f.whole:
		return false
	case c.ended && len(bytes.TrimSpace(e.Text)) > 0:
		b.Fail(errLate)
		return false
	}
	if c.name == "" && e.Name != "" && !c.begun {
		c.name = strings.Clone(e.Name)
	}
	f.calls.held += len(e.Text)
	if f.calls.held > maxHeld {
		b.Fail(errHeld)
		return false
	}
	c.json.read(e.Text)
	if !c.ended {
		c.held = append(c.held, e.Text...)
	}
	b.say(false)
	return false
}

// id returns the id that the client gets for a call, which every API can have.
func (f *foreign) id(said string) string {
	if f.bridge.CallID == nil {
		return strings.Clone(said)
	}
	return f.bridge.CallID(strings.Clone(said))
}

// begin notes a call that begins.
func (f *foreign) begin(e *wire.Event) *call {
	c := &call{index: e.Index, choice: e.Choice, id: f.id(e.ID), name: strings.Clone(e.Name)}
	if f.calls.by == nil {
		f.calls.by = map[int]*call{}
	}
	f.calls.by[e.Index] = c
	f.calls.list = append(f.calls.list, c)
	return c
}

// say adds what may pass of the calls. all says that they are complete.
func (b *between) say(all bool) {
	f := b.foreign
	for f.calls.live < len(f.calls.list) {
		c := f.calls.list[f.calls.live]
		done := all || c.json.complete() && f.calls.live < len(f.calls.list)-1 // more may come of the last
		if !done && (f.waits(c.name) || c.name == "") {
			return
		}
		if c.name == "" {
			b.Fail(errNoName)
			return
		}
		text, ok := b.pass(c, done)
		if !ok {
			b.Fail(errArguments)
			return
		}
		if !c.begun || len(text) > 0 {
			e := wire.Event{Kind: wire.EventCall, Choice: c.choice, Index: c.index, Text: text}
			if !c.begun {
				e.ID, e.Name = c.id, c.name
				f.original(&e)
			}
			c.begun, c.said = true, c.said || len(text) > 0
			b.note(e)
		}
		if !done {
			return
		}
		b.note(wire.Event{Kind: wire.EventBlockEnd, Choice: c.choice, Index: c.index})
		c.ended, c.held, c.json = true, nil, object{}
		f.calls.live++
	}
}

// pass returns what passes of the arguments of a call. They wait until something is known of them. Where
// the client's API has an object, its clients read that while it comes, so what is not the beginning
// of one waits for the end, and ok is false if it is too late for that.
func (b *between) pass(c *call, done bool) (text []byte, ok bool) {
	f := b.foreign
	faulty := f.bridge.ObjectCalls && c.json.broken
	switch {
	case faulty && c.said, done && f.bridge.ObjectCalls && c.said && !c.json.complete() && !f.breaksOff(c):
		return nil, false
	case !done && (faulty || !c.said && len(bytes.TrimSpace(c.held)) == 0):
		return nil, true
	}
	text = c.held
	f.calls.held -= len(text)
	c.held = c.held[:0]
	if done && !c.said {
		text = b.arguments(text)
	}
	return text, true
}

// breaksOff reports whether the reply ends where the model did not end it, in this call.
func (f *foreign) breaksOff(c *call) bool {
	return f.closing && c == f.calls.list[len(f.calls.list)-1] && f.finish != nil && (f.finish.End == sotto.EndCut || f.finish.End == sotto.EndAborted)
}

// size is about how many bytes the calls take.
func (f *foreign) size() int {
	if f == nil {
		return 0
	}
	return f.calls.held + len(f.calls.list)*int(unsafe.Sizeof(call{})+callRest)
}

// callRest is about how many bytes a call takes besides, for its names and in the map.
const callRest = 96

// endCalls adds what is left of the calls, since something else follows.
func (b *between) endCalls() {
	if f := b.foreign; !f.whole && f.calls.live < len(f.calls.list) {
		b.say(true)
	}
}

// arguments returns the arguments of a whole call as the client's API has them.
func (b *between) arguments(text []byte) []byte {
	switch {
	case len(bytes.TrimSpace(text)) == 0:
		return []byte("{}")
	case b.foreign.bridge.WholeCalls, b.foreign.bridge.ObjectCalls:
		return []byte(breaks.Replace(turn.ArgumentsObject(string(text)))) // it may stand in a frame as it is
	}
	return text
}
