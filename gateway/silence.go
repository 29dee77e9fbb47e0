package gateway

import (
	"errors"
	"io"
	"sync"
	"sync/atomic"
	"time"
)

// errSilent is why an exchange ends that nothing moves in.
var errSilent = errors.New("nothing came for too long")

// An activity is when something of an exchange moved last, in either direction.
type activity struct {
	began time.Time
	at    atomic.Int64 // since began
	waits atomic.Bool  // for the upstream, not for the client
}

// moved notes that something came or went, and whom the exchange waits for next.
func (a *activity) moved(waits bool) {
	a.at.Store(int64(time.Since(a.began)))
	a.waits.Store(waits)
}

// watch ends an exchange where nothing moves for too long: with cancel, and where
// it is the client that takes nothing, with unblock.
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
		waits := a.waits.Load() // whom the cancel wakes changes it
		cancel(errSilent)
		if !waits {
			unblock()
			return
		}
		timer.Reset(silence) // for a client that can be told, and may not take it
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

// A moving body notes when it is read, and whom the exchange waits for then.
type moving struct {
	io.ReadCloser
	*activity
	waits bool
}

func (m *moving) Read(p []byte) (int, error) {
	n, err := m.ReadCloser.Read(p)
	m.moved(m.waits)
	return n, err
}
