package a2aserver

import (
	"fmt"
	"sync"
	"sync/atomic"
)

// slots bound how much runs at once, in total and for each caller.
type slots struct {
	mu        sync.Mutex
	all, each int // if zero, no bound
	taken     int
	by        map[string]int
}

func newSlots(all, each int) *slots { return &slots{all: all, each: each, by: map[string]int{}} }

// take reserves a slot.
func (s *slots) take(caller string) (*slot, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.all > 0 && s.taken >= s.all {
		return nil, fmt.Errorf("the server works on %d things at once, which is its limit: try again later", s.taken)
	}
	if n := s.by[caller]; s.each > 0 && n >= s.each {
		return nil, fmt.Errorf("%d of your requests are being worked on at once, which is the limit: try again when one has ended", n)
	}
	s.taken++
	s.by[caller]++
	return &slot{of: s, caller: caller}, nil
}

// A slot is reserved by the code that accepts a request and used by the code that
// works on it. A slot that was never used is released by the code that reserved it.
type slot struct {
	of     *slots
	caller string
	state  atomic.Int32
}

const (
	slotReserved = iota
	slotUsed
	slotFree
)

// use reports whether the slot was there to be used.
func (t *slot) use() bool { return t.state.CompareAndSwap(slotReserved, slotUsed) }

// giveBack frees a slot that was not used.
func (t *slot) giveBack() {
	if t.state.CompareAndSwap(slotReserved, slotFree) {
		t.free()
	}
}

// release frees a slot that was used.
func (t *slot) release() {
	if t.state.CompareAndSwap(slotUsed, slotFree) {
		t.free()
	}
}

func (t *slot) free() {
	t.of.mu.Lock()
	defer t.of.mu.Unlock()
	t.of.taken--
	if t.of.by[t.caller]--; t.of.by[t.caller] == 0 {
		delete(t.of.by, t.caller)
	}
}
