package access

import (
	"fmt"
	"sync"
	"sync/atomic"
)

// Slots bound how much runs at once, in total and for each caller.
type Slots struct {
	mu        sync.Mutex
	all, each int // if zero, no bound
	taken     int
	by        map[string]int
}

// NewSlots returns slots: all of them, and those of each caller. Zero means no bound.
func NewSlots(all, each int) *Slots { return &Slots{all: all, each: each, by: map[string]int{}} }

// Resize sets how many slots there are. If more are taken, they stay so, and no other can
// be taken until enough are free.
func (s *Slots) Resize(all int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.all = all
}

// Take reserves a slot.
func (s *Slots) Take(caller string) (*Slot, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.all > 0 && s.taken >= s.all {
		return nil, fmt.Errorf("the server already works on %d requests, which is its limit: try again later", s.taken)
	}
	if n := s.by[caller]; s.each > 0 && n >= s.each {
		return nil, fmt.Errorf("%d of your requests are running, which is the limit: try again when one has ended", n)
	}
	s.taken++
	s.by[caller]++
	return &Slot{of: s, caller: caller}, nil
}

// Taken returns how many slots are taken.
func (s *Slots) Taken() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.taken
}

// A Slot is reserved by the code that accepts a request and used by the code that
// works on it. A slot that was never used is released by the code that reserved it.
type Slot struct {
	of     *Slots
	caller string
	state  atomic.Int32
}

const (
	slotReserved = iota
	slotUsed
	slotFree
)

// Use reports whether the slot was there to be used.
func (t *Slot) Use() bool { return t.state.CompareAndSwap(slotReserved, slotUsed) }

// GiveBack frees a slot that was not used.
func (t *Slot) GiveBack() {
	if t.state.CompareAndSwap(slotReserved, slotFree) {
		t.free()
	}
}

// Release frees a slot that was used.
func (t *Slot) Release() {
	if t.state.CompareAndSwap(slotUsed, slotFree) {
		t.free()
	}
}

func (t *Slot) free() {
	t.of.mu.Lock()
	defer t.of.mu.Unlock()
	t.of.taken--
	if t.of.by[t.caller]--; t.of.by[t.caller] == 0 {
		delete(t.of.by, t.caller)
	}
}
