package a2aserver

import (
	"errors"
	"slices"
	"sync"
)

// A memory bounds the bytes that requests hold, in total and for each caller: the
// bodies that are being read and the tasks that are sent as answers.
//
// A body that never ends blocks nobody: if room is needed, the body that has been
// read for the longest time is cut off.
type memory struct {
	mu      sync.Mutex
	all     int64 // bytes that may be held
	each    int64 // by one caller
	held    int64
	by      map[string]int64
	reading []*load // bodies that are being read, the oldest first
}

// maxReading is how many bodies may be in transit at once. A body that comes
// completely and without a pause is hardly ever among the oldest.
const maxReading = 256

// copies is how many copies a request holds of its body or task: as it came or is
// in the file, decoded, and encoded again.
const copies = 3

var (
	errBusy = errors.New("the running requests use all the memory that they may: try again later")
	errCut  = errors.New("the body took so long that its memory went to other requests")
)

func newMemory(limit int64) *memory {
	return &memory{all: limit, each: limit / 2, by: map[string]int64{}}
}

// A load is what one request holds.
type load struct {
	of     *memory
	caller string
	stop   func() // ends the reading of the body
	held   int64
	cut    bool
}

// read begins a load with the reading of a body. stop ends a read that waits.
func (m *memory) read(caller string, stop func()) *load {
	m.mu.Lock()
	defer m.mu.Unlock()
	l := &load{of: m, caller: caller, stop: stop}
	if len(m.reading) >= maxReading {
		m.cut(m.reading[0])
	}
	m.reading = append(m.reading, l)
	return l
}

// add makes a load larger. If that makes room, it cuts off other bodies that are
// being read.
func (l *load) add(n int64) error {
	m := l.of
	m.mu.Lock()
	defer m.mu.Unlock()
	for {
		mine := m.by[l.caller]+n > m.each
		switch {
		case l.cut:
			return errCut
		case !mine && m.held+n <= m.all:
			l.hold(n)
			return nil
		}
		i := slices.IndexFunc(m.reading, func(o *load) bool { return o != l && o.held > 0 && (!mine || o.caller == l.caller) })
		if i < 0 {
			return errBusy
		}
		m.cut(m.reading[i])
	}
}

// cut ends the reading of a body. The caller holds the lock.
func (m *memory) cut(l *load) {
	l.cut = true
	l.hold(-l.held)
	m.forget(l)
	l.stop()
}

// hold changes what a load holds. The caller holds the lock.
func (l *load) hold(n int64) {
	l.held += n
	l.of.held += n
	if l.of.by[l.caller] += n; l.of.by[l.caller] == 0 {
		delete(l.of.by, l.caller)
	}
}

// forget removes a load from those that are being read. The caller holds the lock.
func (m *memory) forget(l *load) {
	m.reading = slices.DeleteFunc(m.reading, func(o *load) bool { return o == l })
}

// whole says that the body has arrived, so it can no longer be cut off.
func (l *load) whole() error {
	l.of.mu.Lock()
	defer l.of.mu.Unlock()
	l.of.forget(l)
	if l.cut {
		return errCut
	}
	return nil
}

// end releases what is held.
func (l *load) end() {
	l.of.mu.Lock()
	defer l.of.mu.Unlock()
	l.of.forget(l)
	l.hold(-l.held)
}
