package gateway

import (
	"errors"
	"io"
	"net/http"
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

// idle returns how long nothing has moved.
func (a *activity) idle() time.Duration {
	return time.Since(a.began) - time.Duration(a.at.Load())
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
		idle := a.idle()
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

// A clientWriter lets the proxy and the timer of a body write to one client. The proxy
// flushes the header from a timer of its own.
type clientWriter struct {
	http.ResponseWriter
	mu sync.Mutex
}

func (w *clientWriter) Write(b []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.ResponseWriter.Write(b)
}

// FlushError flushes what was written, for an [http.ResponseController].
func (w *clientWriter) FlushError() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return http.NewResponseController(w.ResponseWriter).Flush()
}

// Unwrap returns the writer whose deadlines are set.
func (w *clientWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }
