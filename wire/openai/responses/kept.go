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

// A meter counts bytes that are kept of one reply, and the items and parts in them, each as
// [itemCost].
type meter struct{ kept, objects int }

// keep counts bytes. A whole reply keeps no more than came.
func (m *meter) keep(n int, whole bool, r wire.Reader) {
	m.kept += n
	if m.kept > maxKept && !whole {
		r.Fail(errKept)
	}
}

// keepItem counts an item or a part, in addition to bytes of it.
func (m *meter) keepItem(n int, whole bool, r wire.Reader) {
	m.objects++
	m.keep(itemCost+n, whole, r)
}

// objectSize is about what an item or a part takes in memory, in addition to its bytes.
const objectSize = 256

// grown is about what bytes take in memory to which others are appended.
func grown(n int) int { return n * 5 / 4 }

// Held is what a reply keeps that is edited.
func (y *reply) Held() int {
	return grown(y.meter.kept-y.meter.objects*itemCost) + y.meter.objects*objectSize
}

// Held is what is kept of a reply that is written, in addition to what its writer keeps.
func (y *reader) Held() int { return y.meter.objects*objectSize + len(y.state) }

// Held is what a writer keeps until the end, which repeats it.
func (w *writer) Held() int {
	return grown(w.kept) + w.objects*objectSize + cap(w.said) + cap(w.out) + cap(w.data)
}

func (y *reply) keep(n int) { y.meter.keep(n, y.mute, y.r) }

func (y *reply) keepItem(n int) { y.meter.keepItem(n, y.mute, y.r) }

func (y *reply) keepText(p *itemPart, text []byte) {
	y.keep(len(text))
	p.text = append(p.text, text...)
}

// wait appends an event to those that wait.
func (y *reply) wait(events []event, e *event) []event {
	y.keep(eventCost + len(e.Raw))
	return append(events, e.copy())
}
