// Package retry decides whether a request that failed is sent again, and when.
// Everything in this module that sends requests again asks it.
package retry

import (
	"context"
	"math"
	"math/rand/v2"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/sotto-llm/sotto/internal/base/sleep"
)

// A Policy says how often a request is sent, and how long the waits between are.
type Policy struct {
	// Attempts is how often the request is sent in all. If zero, there is no limit.
	Attempts int
	// First is the longest wait before the second attempt. It doubles with each
	// further attempt, up to Longest. A wait is random, between half of its bound
	// and all of it.
	First, Longest time.Duration
	// Patience is the longest wait that a server may ask for. If it asks for a
	// longer one, the request is not sent again: sending it sooner would be what
	// the server asked not to do. If zero, there is no limit.
	Patience time.Duration
	// Total is the longest time from the first attempt to the start of the last
	// one. If zero, there is no limit.
	Total time.Duration
}

// A Verdict says what a failed attempt means for the next one.
type Verdict struct {
	// Again says that another attempt may succeed.
	Again bool
	// After is how long the server asked to wait; 0 if it did not.
	After time.Duration
}

// A Series is the attempts at one request. It is not safe for concurrent use.
type Series struct {
	policy Policy
	began  time.Time
	failed int
	bound  time.Duration // of the next wait
}

// Start begins a series. Its time runs from now.
func (p Policy) Start() *Series {
	return &Series{policy: p, began: time.Now(), bound: min(p.First, p.Longest)}
}

// Next counts an attempt that failed. It returns how long to wait before the next
// one, or false if there is none.
func (s *Series) Next(v Verdict) (wait time.Duration, ok bool) {
	p := &s.policy
	s.failed++
	if !v.Again || p.Attempts > 0 && s.failed >= p.Attempts || p.Patience > 0 && v.After > p.Patience {
		return 0, false
	}
	wait = max(jitter(s.bound), v.After)
	if p.Total > 0 && wait > p.Total-time.Since(s.began) {
		return 0, false
	}
	s.bound += min(s.bound, p.Longest-s.bound)
	return wait, true
}

// jitter returns a random time between half of d and d.
func jitter(d time.Duration) time.Duration {
	if d <= 0 {
		return 0
	}
	return d - rand.N(d/2+1)
}

// Do calls try until it succeeds or the policy allows no further attempt, and
// returns its last error. waits, if not nil, is called before each wait. If ctx ends
// during a wait, the error is that of ctx.
func (p Policy) Do(ctx context.Context, try func() (Verdict, error), waits func(err error, wait time.Duration)) error {
	s := p.Start()
	for {
		v, err := try()
		if err == nil || ctx.Err() != nil {
			return err
		}
		wait, ok := s.Next(v)
		if !ok {
			return err
		}
		if waits != nil {
			waits(err, wait)
		}
		if err := sleep.For(ctx, wait); err != nil {
			return err
		}
	}
}

// Status reports whether a later attempt may get another answer than this HTTP
// status.
func Status(status int) bool {
	switch status {
	case http.StatusRequestTimeout, http.StatusTooEarly, http.StatusTooManyRequests:
		return true
	case http.StatusNotImplemented, http.StatusHTTPVersionNotSupported:
		return false
	}
	return status >= 500
}

// After reads how long a response asks the client to wait, from its headers
// Retry-After-Ms and Retry-After (seconds, or a date). It returns 0 if the response
// does not ask. A date counts from the response's own Date if it has one, so that a
// clock that is wrong does no harm.
func After(h http.Header, now time.Time) time.Duration {
	if d := number(h.Get("Retry-After-Ms"), time.Millisecond); d > 0 {
		return d
	}
	v := h.Get("Retry-After")
	if at, err := http.ParseTime(v); err == nil {
		if date, err := http.ParseTime(h.Get("Date")); err == nil {
			now = date
		}
		return max(0, at.Sub(now))
	}
	return number(v, time.Second)
}

// number reads a count of units. A count that is too high for a time is the longest
// time.
func number(text string, unit time.Duration) time.Duration {
	n, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
	switch {
	case err != nil && !math.IsInf(n, 1), !(n > 0):
		return 0
	case n >= float64(math.MaxInt64)/float64(unit):
		return math.MaxInt64
	}
	return time.Duration(n * float64(unit))
}
