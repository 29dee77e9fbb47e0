package gateway

import (
	"fmt"
	"sync"
)

// A backlog does work in the background, in order, after the handlers that added it
// have returned. The work that waits is bounded by its size in bytes. The goroutine
// runs only while there is work.
type backlog struct {
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
	done func() // is called when the work is done, even if it panicked; may be nil
}

func newBacklog(max int64, panic func(error)) *backlog {
	b := &backlog{max: max, panic: panic}
	b.idle.L = &b.mu
	return b
}

// add adds work, and never waits. It reports false if there is no room, or if the
// backlog is closed. A single piece of work has room whatever its size.
func (b *backlog) add(w work) bool {
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

func (b *backlog) run() {
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
func (b *backlog) one(w work) {
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

// wait returns when nothing is left to do.
func (b *backlog) wait() {
	b.mu.Lock()
	defer b.mu.Unlock()
	for b.busy {
		b.idle.Wait()
	}
}

// close accepts no more work, and returns when the work already added is done.
func (b *backlog) close() {
	b.mu.Lock()
	b.closed = true
	b.mu.Unlock()
	b.wait()
}
