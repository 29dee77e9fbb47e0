package bodies

import (
	"errors"
	"io"
	"net/http"
	"sync"
	"sync/atomic"
	"time"
)

// ErrSilent ends an exchange in which nothing moves.
var ErrSilent = errors.New("no data came for too long")

// An Activity records when a byte of an exchange last moved, in either direction.
type Activity struct {
	Began time.Time
	at    atomic.Int64 // nanoseconds since began
	Waits atomic.Bool  // for the upstream, not for the client
}

// Moved notes that bytes came or went, and whom the exchange waits for next.
func (a *Activity) Moved(waits bool) {
	a.at.Store(int64(time.Since(a.Began)))
	a.Waits.Store(waits)
}

// Idle returns how long nothing has moved.
func (a *Activity) Idle() time.Duration {
	return time.Since(a.Began) - time.Duration(a.at.Load())
}

// Watch ends an exchange in which nothing moves for too long. It calls cancel, and
// also unblock if the client takes nothing.
func (a *Activity) Watch(silence time.Duration, cancel func(error), unblock func()) (stop func()) {
	a.Waits.Store(true)
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
		idle := a.Idle()
		if idle < silence {
			timer.Reset(silence - idle)
			return
		}
		waits := a.Waits.Load() // read it first: whoever the cancel wakes changes it
		cancel(ErrSilent)
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

// A watched body notes when it is read, and whom the exchange then waits for.
type watched struct {
	io.ReadCloser
	*Activity
	waits bool
}

// Watch returns a body that notes when it is read. waits says whether the exchange then waits
// for the upstream.
func Watch(body io.ReadCloser, a *Activity, waits bool) io.ReadCloser {
	return &watched{body, a, waits}
}

func (m *watched) Read(p []byte) (int, error) {
	n, err := m.ReadCloser.Read(p)
	m.Moved(m.waits)
	return n, err
}

// A Writer lets the proxy and the timer of a body write to one client. The proxy
// flushes the header from a timer of its own.
type Writer struct {
	http.ResponseWriter
	mu sync.Mutex
}

func (w *Writer) Write(b []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.ResponseWriter.Write(b)
}

// FlushError flushes what was written, for an [http.ResponseController].
func (w *Writer) FlushError() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return http.NewResponseController(w.ResponseWriter).Flush()
}

// Unwrap returns the writer whose deadlines are set.
func (w *Writer) Unwrap() http.ResponseWriter { return w.ResponseWriter }
