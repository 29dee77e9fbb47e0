package gateway

import (
	"errors"
	"io"
	"sync"
	"sync/atomic"
	"time"
)

// errSilent ends an exchange in which nothing moves.
var errSilent = errors.New("no data came for too long")

// An activity records when a byte of an exchange last moved, in either direction.
type activity struct {
	began time.Time
	at    atomic.Int64 // nanoseconds since began
	waits atomic.Bool  // for the upstream, not for the client
}

// moved notes that bytes came or went, and whom the exchange waits for next.
func (a *activity) moved(waits bool) {
	a.at.Store(int64(time.Since(a.began)))
	a.waits.Store(waits)
}

// watch ends an exchange in which nothing moves for too long. It calls cancel, and
// also unblock if the client takes nothing.
func (a *activity) watch(silence time.Duration, cancel func(error), unblock func()) (stop func()) {
	a.waits.Store(true)
	var mu sync.Mutex
	var timer *time.Timer // nil once the exchange has ended
	mu.Lock()
	defer mu.Unlock()
	timer = time.AfterFunc(silence, func() {
		mu.Lock()
		defer mu.Unlock()
		if timer == nil {
			return
		}
		idle := time.Since(a.began) - time.Duration(a.at.Load())
		if idle < silence {
			timer.Reset(silence - idle)
			return
		}
		waits := a.waits.Load() // read it first: whoever the cancel wakes changes it
		cancel(errSilent)
		if !waits {
			unblock()
			return
		}
		timer.Reset(silence) // for a client that can still be sent an error, and may not take it
	})
	return func() {
		mu.Lock()
		defer mu.Unlock()
		if timer != nil {
			timer.Stop()
			timer = nil
		}
	}
}

// A watchedBody notes when it is read, and whom the exchange then waits for.
type watchedBody struct {
	io.ReadCloser
	*activity
	waits bool
}

func (m *watchedBody) Read(p []byte) (int, error) {
	n, err := m.ReadCloser.Read(p)
	m.moved(m.waits)
	return n, err
}
