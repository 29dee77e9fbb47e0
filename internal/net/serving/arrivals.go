package serving

import (
	"bytes"
	"container/list"
	"errors"
	"io"
	"net/http"
	"os"
	"sync"
	"time"
)

// Arrivals bound the bodies that are on their way, and the bytes that requests hold, in
// all and for each caller. A request takes a slot for work only when its body has arrived,
// so that bodies that never arrive keep nobody out.
//
// A body that never ends blocks no other body either: if there is no room, the one that
// has been on its way for the longest time is cut off. A body that comes completely and
// without a pause is hardly ever that one.
type Arrivals struct {
	most int // bodies on their way

	mu      sync.Mutex
	all     int64 // bytes that may be held; if zero, no bound
	each    int64 // by one caller
	held    int64
	by      map[string]int64
	reading *list.List // of *Arrival: bodies that are on their way, the oldest first
}

var (
	// ErrBusy is the error of a body for which there is no room.
	ErrBusy = errors.New("the running requests use all the memory that they may: try again later")
	// ErrCut is the error of a body that was cut off.
	ErrCut = errors.New("the body took so long that its place went to other requests")
)

// NewArrivals returns arrivals of so many bodies at the same time, whose requests hold so
// many bytes, half of them of one caller. If bytes is zero, they are not bounded.
func NewArrivals(most int, bytes int64) *Arrivals {
	return &Arrivals{most: most, all: bytes, each: bytes / 2, by: map[string]int64{}, reading: list.New()}
}

// Resize sets how many bodies may be on their way.
func (a *Arrivals) Resize(most int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.most = most
}

// Held returns how many bytes requests hold, and how many bodies are on their way.
func (a *Arrivals) Held() (bytes int64, bodies int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.held, a.reading.Len()
}

// An Arrival is the body of one request, and what the request holds.
type Arrival struct {
	of     *Arrivals
	caller string
	stop   func() // ends a read that waits
	at     *list.Element
	held   int64
	cut    bool
}

// Begin begins an arrival. stop ends a read of the body that waits: see [StopReading].
func (a *Arrivals) Begin(caller string, stop func()) *Arrival {
	a.mu.Lock()
	defer a.mu.Unlock()
	x := &Arrival{of: a, caller: caller, stop: stop}
	if a.reading.Len() >= a.most {
		a.cut(a.reading.Front())
	}
	x.at = a.reading.PushBack(x)
	return x
}

// StopReading returns what ends a read of a request's body that waits.
func StopReading(w http.ResponseWriter) func() {
	rc := http.NewResponseController(w)
	return func() { _ = rc.SetReadDeadline(time.Unix(1, 0)) }
}

// Add makes larger what a request holds. If that makes room, it cuts off other bodies that
// are on their way.
func (x *Arrival) Add(n int64) error {
	a := x.of
	a.mu.Lock()
	defer a.mu.Unlock()
	for {
		mine := a.all > 0 && a.by[x.caller]+n > a.each
		switch {
		case x.cut:
			return ErrCut
		case a.all == 0 || !mine && a.held+n <= a.all:
			x.hold(n)
			return nil
		}
		e := a.reading.Front()
		for ; e != nil; e = e.Next() {
			if o := e.Value.(*Arrival); o != x && o.held > 0 && (!mine || o.caller == x.caller) {
				break
			}
		}
		if e == nil {
			return ErrBusy
		}
		a.cut(e)
	}
}

// Free gives back some of what a request holds.
func (x *Arrival) Free(n int64) {
	x.of.mu.Lock()
	defer x.of.mu.Unlock()
	x.hold(-min(n, x.held)) // one that was cut off holds nothing any more
}

// cut cuts off a body, if there is one. The caller holds the lock.
func (a *Arrivals) cut(e *list.Element) {
	if e == nil {
		return
	}
	x := e.Value.(*Arrival)
	x.cut = true
	x.hold(-x.held)
	x.forget()
	x.stop()
}

// hold changes what a request holds. The caller holds the lock.
func (x *Arrival) hold(n int64) {
	x.held += n
	x.of.held += n
	if x.of.by[x.caller] += n; x.of.by[x.caller] == 0 {
		delete(x.of.by, x.caller)
	}
}

// forget removes an arrival from those that are on their way. The caller holds the lock.
func (x *Arrival) forget() {
	if x.at != nil {
		x.of.reading.Remove(x.at)
		x.at = nil
	}
}

// Cut reports whether the body was cut off.
func (x *Arrival) Cut() bool {
	x.of.mu.Lock()
	defer x.of.mu.Unlock()
	return x.cut
}

// Whole says that the body has arrived, so it can no longer be cut off.
func (x *Arrival) Whole() error {
	x.of.mu.Lock()
	defer x.of.mu.Unlock()
	x.forget()
	if x.cut {
		return ErrCut
	}
	return nil
}

// End gives back what the request holds. It may be called again.
func (x *Arrival) End() {
	x.of.mu.Lock()
	defer x.of.mu.Unlock()
	x.forget()
	x.hold(-x.held)
}

// ReadAll reads the body of a request, of at most limit bytes. Each byte counts as so many
// as it costs.
func (x *Arrival) ReadAll(w http.ResponseWriter, r *http.Request, limit, cost int64) ([]byte, error) {
	if r.Body == nil || r.Body == http.NoBody {
		return nil, x.Whole()
	}
	if r.ContentLength > limit {
		return nil, &http.MaxBytesError{Limit: limit}
	}
	body := http.MaxBytesReader(w, r.Body, limit)
	var data bytes.Buffer
	buf := make([]byte, 16<<10)
	for {
		n, err := body.Read(buf)
		if held := x.Add(cost * int64(n)); held != nil {
			return nil, held
		}
		data.Write(buf[:n])
		if err == io.EOF {
			return data.Bytes(), x.Whole()
		}
		if err != nil {
			return nil, err
		}
	}
}

// Take reads the body of a request, of at most limit bytes, before a handler works on it.
// The handler calls done at its end. If there is an error, [StatusOf] has the status of the
// answer.
func (a *Arrivals) Take(w http.ResponseWriter, r *http.Request, caller string, limit int64) (data []byte, done func(), err error) {
	x := a.Begin(caller, StopReading(w))
	if data, err = x.ReadAll(w, r, limit, 1); err != nil {
		x.End()
		return nil, nil, err
	}
	return data, x.End, nil
}

// WithBody returns a request with a body that has arrived.
func WithBody(r *http.Request, data []byte) *http.Request {
	r = r.WithContext(r.Context())
	r.Body, r.ContentLength, r.TransferEncoding = io.NopCloser(bytes.NewReader(data)), int64(len(data)), nil
	return r
}

// StatusOf returns the status of the answer to a request whose body did not arrive.
func StatusOf(err error) int {
	switch {
	case errors.Is(err, ErrCut), errors.Is(err, os.ErrDeadlineExceeded):
		return http.StatusRequestTimeout
	case errors.Is(err, ErrBusy):
		return http.StatusServiceUnavailable
	}
	if _, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return http.StatusRequestEntityTooLarge
	}
	return http.StatusBadRequest
}
