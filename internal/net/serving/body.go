package serving

import (
	"context"
	"io"
	"net/http"
	"sync"
	"time"
)

// A Pace is how fast a request's body must arrive. A slow upload that makes
// progress continues. An upload that stalls is ended, and so is one that sends a
// byte now and then to keep its connection. Zero fields have the defaults.
type Pace struct {
	Idle  time.Duration // the longest wait for the next byte; 30 s
	Grace time.Duration // before the rate counts; 20 s
	Rate  int64         // bytes per second, on average, that a body must send; 1024
	Total time.Duration // for the whole body; 1 h
}

// The defaults of a [Pace].
const (
	bodyIdle  = 30 * time.Second
	bodyGrace = 20 * time.Second
	bodyRate  = 1 << 10
	bodyTotal = time.Hour
)

func (p Pace) withDefaults() Pace {
	set := func(d *time.Duration, def time.Duration) {
		if *d <= 0 {
			*d = def
		}
	}
	set(&p.Idle, bodyIdle)
	set(&p.Grace, bodyGrace)
	set(&p.Total, bodyTotal)
	if p.Rate <= 0 {
		p.Rate = bodyRate
	}
	return p
}

// leftoverWait is how long reading the unread rest of a body may take.
const leftoverWait = 500 * time.Millisecond

// Body sets a deadline for reading a request's body. Call it first, use the request
// that it returns, and call done when the handler returns. A read after the
// deadline fails with [os.ErrDeadlineExceeded].
//
// Once the body has been read, the deadline is removed. net/http keeps reading from
// the connection to notice when the client leaves, and a deadline that passed then
// would look like a client that left.
//
// If the handler returns before the end of the body, the server does not wait for
// the rest. net/http reads at most 256 KiB of it for half a second. If that is all,
// the connection can serve the next request; otherwise it is closed. A client that
// asked whether to send the body (Expect: 100-continue) is not told to send it.
//
// If the server does not support deadlines, as in tests with a recorder, none are
// set.
func Body(w http.ResponseWriter, r *http.Request, p Pace) (guarded *http.Request, done func()) {
	if r.Body == nil || r.Body == http.NoBody || r.Context().Value(guardKey{}) != nil {
		return r, func() {}
	}
	b := &body{
		ReadCloser: r.Body, pace: p.withDefaults(), began: time.Now(),
		control: http.NewResponseController(w),
	}
	b.extend()
	// A copy, because net/http checks the type of the body in its own request.
	r = r.WithContext(context.WithValue(r.Context(), guardKey{}, true))
	r.Body = b
	return r, b.done
}

// guardKey marks the context of a request whose body has a deadline.
type guardKey struct{}

type body struct {
	io.ReadCloser
	pace    Pace
	began   time.Time
	control *http.ResponseController

	mu    sync.Mutex
	read  int64
	ended bool // the body was read to its end, or the handler has returned
}

func (b *body) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.mu.Lock()
	b.read += int64(n)
	b.mu.Unlock()
	switch err {
	case nil:
		b.extend()
	case io.EOF:
		b.end(time.Time{})
	}
	return n, err
}

// extend sets the deadline of the next read.
func (b *body) extend() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.ended {
		return
	}
	earned := min(float64(b.read)/float64(b.pace.Rate), b.pace.Total.Seconds())
	due := b.began.Add(b.pace.Grace + time.Duration(earned*float64(time.Second)))
	for _, other := range []time.Time{time.Now().Add(b.pace.Idle), b.began.Add(b.pace.Total)} {
		if other.Before(due) {
			due = other
		}
	}
	_ = b.control.SetReadDeadline(due)
}

// end sets the last deadline, once.
func (b *body) end(deadline time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.ended {
		b.ended = true
		_ = b.control.SetReadDeadline(deadline)
	}
}

func (b *body) done() { b.end(time.Now().Add(leftoverWait)) }

// Bodies sets the usual deadline on the bodies of a handler's requests.
func Bodies(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r, done := Body(w, r, Pace{})
		defer done()
		h.ServeHTTP(w, r)
	})
}
