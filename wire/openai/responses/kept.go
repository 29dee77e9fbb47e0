package responses

import (
	"errors"

	"github.com/sotto-llm/sotto/wire"
)

// A reply keeps its texts until its end, which repeats them, and events that wait.
// The memory that an upstream can make it use is bounded in total. An item, or a
// part of one, counts as 1/4096 of that, because an event may look at all of them.
const (
	maxKept  = 64 << 20
	itemCost = maxKept / 4096

	eventCost = 512 // in addition to its bytes
)

var errKept = errors.New("the upstream sent more than 64 MiB, or more than 4096 items and parts, in one reply")

// A meter counts bytes that are kept of one reply.
type meter struct{ kept int }

// keep counts bytes. A whole reply keeps no more than came.
func (m *meter) keep(n int, whole bool, r wire.Reader) {
	m.kept += n
	if m.kept > maxKept && !whole {
		r.Fail(errKept)
	}
}

func (y *reply) keep(n int) { y.meter.keep(n, y.mute, y.r) }

func (y *reply) keepText(p *itemPart, text []byte) {
	y.keep(len(text))
	p.text = append(p.text, text...)
}

// wait appends an event to those that wait.
func (y *reply) wait(events []event, e *event) []event {
	y.keep(eventCost + len(e.Raw))
	return append(events, e.copy())
}
