// Package backlog does work in the background, in order, and bounds what waits.
package backlog

import (
	"fmt"
	"sync"
)

// A Backlog does work in the background, in order, after the handlers that added it
// have returned. The work that waits is bounded by its size in bytes. The goroutine
// runs only while there is work.
type Backlog struct {
	max   int64
	panic func(err error) // is called when work panics

	mu     sync.Mutex
	idle   sync.Cond // signalled when nothing is left
	work   []work
	bytes  int64
	busy   bool
	closed bool
}

type work struct {
	size int64
	do   func()
	done func() // may be nil
}

// New returns a backlog of at most max bytes. panic is called when work panics.
func New(max int64, panic func(error)) *Backlog {
	b := &Backlog{max: max, panic: panic}
	b.idle.L = &b.mu
	return b
}

// Add adds work of a size, and never waits. It reports false if there is no room, or if the
// backlog is closed. A single piece of work has room whatever its size. done is called when
// the work is done, even if it panicked; it may be nil.
func (b *Backlog) Add(size int64, do, done func()) bool {
	w := work{size, do, done}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed || b.bytes > 0 && b.bytes+w.size > b.max {
		return false
	}
	b.work = append(b.work, w)
	b.bytes += w.size
	if !b.busy {
		b.busy = true
		go b.run()
	}
	return true
}

func (b *Backlog) run() {
	for {
		b.mu.Lock()
		if len(b.work) == 0 {
			b.work, b.busy = nil, false
			b.idle.Broadcast()
			b.mu.Unlock()
			return
		}
		w := b.work[0]
		b.work[0] = work{}
		b.work = b.work[1:]
		b.mu.Unlock()
		b.one(w)
		b.mu.Lock()
		b.bytes -= w.size
		b.mu.Unlock()
	}
}

// one does one piece of work. It reads data that came from peers. As in a handler,
// a fault in reading it must not end the process.
func (b *Backlog) one(w work) {
	defer func() {
		if p := recover(); p != nil {
			b.panic(fmt.Errorf("panic: %v", p))
		}
		if w.done != nil {
			w.done()
		}
	}()
	w.do()
}

// Wait returns when nothing is left to do.
func (b *Backlog) Wait() {
	b.mu.Lock()
	defer b.mu.Unlock()
	for b.busy {
		b.idle.Wait()
	}
}

// Close accepts no more work, and returns when the work already added is done.
func (b *Backlog) Close() {
	b.mu.Lock()
	b.closed = true
	b.mu.Unlock()
	b.Wait()
}
