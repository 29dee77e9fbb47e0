package retry

import (
	"context"
	"errors"
	"math"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"
)

var errBusy = errors.New("busy")

// A request is sent exactly as often as its policy says, whatever the jitter.
func TestAttempts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for range 50 {
			for want := 1; want <= 8; want++ {
				n := 0
				err := Policy{Attempts: want, First: time.Millisecond, Longest: 2 * time.Millisecond}.Do(t.Context(),
					func() (Verdict, error) { n++; return Verdict{Again: true}, errBusy }, nil)
				if n != want || !errors.Is(err, errBusy) {
					t.Fatalf("%d requests for %d attempts, %v", n, want, err)
				}
			}
		}
	})
}

// A wait is never above its bound, never below half of it, and never below what the
// server asked for. No attempt starts after the total time.
func TestWaits(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := Policy{
			First:    time.Duration(rapid.Int64Range(0, int64(time.Hour)).Draw(t, "first")),
			Longest:  time.Duration(rapid.Int64Range(0, int64(2*time.Hour)).Draw(t, "longest")),
			Patience: time.Duration(rapid.Int64Range(0, int64(time.Hour)).Draw(t, "patience")),
		}
		s := p.Start()
		bound := min(p.First, p.Longest)
		for range rapid.IntRange(1, 100).Draw(t, "failures") {
			asked := time.Duration(rapid.SampledFrom([]int64{0, 0, 1, int64(time.Minute), int64(90 * time.Minute), math.MaxInt64}).Draw(t, "asked"))
			wait, ok := s.Next(Verdict{Again: true, After: asked})
			if want := p.Patience == 0 || asked <= p.Patience; ok != want {
				t.Fatalf("asked to wait %v: %v", asked, ok)
			}
			if ok && (wait < asked || wait > max(bound, asked) || wait < bound/2) {
				t.Fatalf("waits %v, bound %v, asked %v", wait, bound, asked)
			}
			bound = min(2*bound, p.Longest)
			if !ok {
				return
			}
		}
	})
}

// The total time is the time from the first attempt to the start of the last,
// including the time that attempts take.
func TestTotal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const total = 10 * time.Minute
		began, last := time.Now(), time.Time{}
		err := Policy{First: time.Second, Longest: time.Minute, Total: total}.Do(t.Context(), func() (Verdict, error) {
			last = time.Now()
			time.Sleep(7 * time.Second)
			return Verdict{Again: true}, errBusy
		}, nil)
		if took := last.Sub(began); !errors.Is(err, errBusy) || took > total || took < total-2*time.Minute {
			t.Errorf("the last attempt began after %v, %v", took, err)
		}
	})
}

// Who waits can be called off.
func TestCancel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		n := 0
		err := Policy{First: time.Hour, Longest: time.Hour}.Do(ctx, func() (Verdict, error) { n++; return Verdict{Again: true}, errBusy }, nil)
		if n != 1 || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%d attempts, %v", n, err)
		}
	})
}

func TestAfter(t *testing.T) {
	now := time.Date(2026, 11, 22, 9, 0, 0, 0, time.UTC)
	const date = "Sun, 22 Nov 2026 10:30:00 GMT"
	for _, c := range []struct {
		header map[string]string
		want   time.Duration
	}{
		{nil, 0},
		{map[string]string{"Retry-After": "90"}, 90 * time.Second},
		{map[string]string{"Retry-After": " 2 "}, 2 * time.Second},
		{map[string]string{"Retry-After": "0.5"}, time.Second / 2},
		{map[string]string{"Retry-After": "1209600"}, 14 * 24 * time.Hour},
		{map[string]string{"Retry-After": "99999999999999999999"}, math.MaxInt64},
		{map[string]string{"Retry-After": "1e999"}, math.MaxInt64},
		{map[string]string{"Retry-After": "NaN"}, 0},
		{map[string]string{"Retry-After": "-3"}, 0},
		{map[string]string{"Retry-After": "soon"}, 0},
		{map[string]string{"Retry-After": date}, 90 * time.Minute},
		{map[string]string{"Retry-After": "Sunday, 22-Nov-26 10:30:00 GMT"}, 90 * time.Minute},
		{map[string]string{"Retry-After": date, "Date": "Sun, 22 Nov 2026 10:29:00 GMT"}, time.Minute},
		{map[string]string{"Retry-After": "Sun, 22 Nov 2026 08:00:00 GMT"}, 0},
		{map[string]string{"Retry-After-Ms": "250", "Retry-After": "1"}, time.Second / 4},
		{map[string]string{"Retry-After-Ms": "x", "Retry-After": "1"}, time.Second},
	} {
		h := http.Header{}
		for k, v := range c.header {
			h.Set(k, v)
		}
		if got := After(h, now); got != c.want {
			t.Errorf("%v: %v, want %v", c.header, got, c.want)
		}
	}
}

func TestStatus(t *testing.T) {
	for status, want := range map[int]bool{200: false, 400: false, 404: false, 408: true, 425: true, 429: true, 500: true, 501: false, 503: true, 505: false, 529: true} {
		if Status(status) != want {
			t.Errorf("%d: %v", status, !want)
		}
	}
}
