package gemini

import (
	"strings"

	"github.com/sotto-llm/sotto/wire"
)

// A pending call is one of another API, whose arguments come in pieces. Here a call is whole.
type pending struct {
	choice, index int
	call          wire.Event
}

// maxPending bounds the arguments of calls that are pending, in bytes.
const maxPending = 4 << 20

// Held is what calls that come in pieces keep.
func (w *writer) Held() (n int) {
	for i := range w.pending {
		n += cap(w.pending[i].call.Text)
	}
	return n
}

// call takes a call of another API, or a piece of one.
func (w *writer) call(e *wire.Event) {
	size := len(e.Text)
	for i := range w.pending {
		size += len(w.pending[i].call.Text)
	}
	if size > maxPending {
		return
	}
	for i := range w.pending {
		if p := &w.pending[i]; p.choice == e.Choice && p.index == e.Index {
			p.call.Text = append(p.call.Text, e.Text...)
			return
		}
	}
	w.called(func(p *pending) bool { return p.choice == e.Choice })
	w.pending = append(w.pending, pending{e.Choice, e.Index, wire.Event{
		Kind: wire.EventCall, Index: e.Index, ID: strings.Clone(e.ID), Name: strings.Clone(e.Name), Text: append([]byte(nil), e.Text...),
	}})
}

// called says the calls that are complete.
func (w *writer) called(complete func(*pending) bool) {
	left := w.pending[:0]
	for i := range w.pending {
		p := w.pending[i]
		if !complete(&p) {
			left = append(left, p)
			continue
		}
		c := w.of(p.choice)
		c.said = append(c.said, item{call: &p.call})
	}
	w.pending = left
}
