package access

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// newLimiter returns a limiter of one caller.
func newLimiter(m Limits) *Limiter {
	l := new(Limiter)
	l.SetTokens([]Token{{Name: "alice", Limits: m}, {Name: "bob"}})
	return l
}

// TestRequestLimit: what a caller has not used of a minute comes back evenly, and never more
// than a minute's. The error says when to try again, and that is neither early nor late.
func TestRequestLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLimiter(Limits{Requests: 30})
		take := func(caller string) *LimitError {
			s, refused := l.Take(caller)
			s.Release()
			return refused
		}
		for i := range 30 {
			if e := take("alice"); e != nil {
				t.Fatalf("request %d: %v", i, e)
			}
		}
		e := take("alice")
		if e == nil || e.After != 2*time.Second || !strings.Contains(e.Error(), `"alice" may use 30 requests a minute: try again in 2 s`) {
			t.Fatalf("beyond the limit: %v", e)
		}
		if e := take("bob"); e != nil {
			t.Errorf("a caller without limits: %v", e)
		}
		time.Sleep(e.After - time.Millisecond)
		if take("alice") == nil {
			t.Error("admitted too early")
		}
		time.Sleep(time.Millisecond)
		if e := take("alice"); e != nil {
			t.Errorf("after the time to wait: %v", e)
		}
		time.Sleep(time.Hour)
		for i := range 31 {
			if e := take("alice"); (e != nil) != (i == 30) {
				t.Errorf("an hour later, request %d: %v", i, e)
			}
		}
	})
}

// TestTokenLimit: a request is charged with what it takes when that is known. The next one
// waits until all of it is paid.
func TestTokenLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLimiter(Limits{Tokens: 600})
		s, e := l.Take("alice")
		if e != nil {
			t.Fatal(e)
		}
		s.Spend(700) // estimated
		if _, e := l.Take("alice"); e == nil || e.Limit != LimitTokens {
			t.Errorf("while a request has an estimate beyond the limit: %v", e)
		}
		s.Spend(100) // counted
		s.Release()
		if got := l.Standing("alice"); len(got) != 1 || got[0].Limit != LimitTokens || got[0].Left != 500 || got[0].Full != 10*time.Second {
			t.Errorf("after 100 of 600 tokens: %+v", got)
		}
		s, e = l.Take("alice")
		if e != nil {
			t.Fatalf("with 500 left: %v", e)
		}
		s.Spend(1099)
		s.Release()
		if _, e = l.Take("alice"); e == nil || e.After != time.Minute {
			t.Errorf("with 599 owed: %v", e)
		}
		time.Sleep(time.Minute)
		if _, e = l.Take("alice"); e != nil {
			t.Errorf("when they are paid: %v", e)
		}
	})
}

// TestExchangeLimit: a caller has so many requests at the same time, however often one is
// released, and a change of its limits keeps those under way.
func TestExchangeLimit(t *testing.T) {
	l := newLimiter(Limits{Exchanges: 2})
	one, _ := l.Take("alice")
	two, e := l.Take("alice")
	if e != nil {
		t.Fatal(e)
	}
	if _, e := l.Take("alice"); e == nil || e.Limit != LimitExchanges {
		t.Errorf("the third: %v", e)
	}
	one.Release()
	one.Release()
	if _, e := l.Take("alice"); e != nil {
		t.Errorf("after one has ended: %v", e)
	}
	if _, e := l.Take("alice"); e == nil {
		t.Error("one that was released twice counts twice")
	}
	l.SetTokens([]Token{{Name: "alice", Limits: Limits{Exchanges: 1}}})
	two.Release()
	if _, e := l.Take("alice"); e == nil {
		t.Error("a change of the limit forgets what is under way")
	}
	l.SetTokens(nil)
	if s, e := l.Take("alice"); s != nil || e != nil {
		t.Errorf("a caller that is gone: %v, %v", s, e)
	}
}

// TestLimitsStay: new limits do not give back what was used.
func TestLimitsStay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLimiter(Limits{Requests: 2})
		l.Take("alice")
		l.Take("alice")
		l.SetTokens([]Token{{Name: "alice", Limits: Limits{Requests: 60}}, {Name: "alice", Secret: "new", Limits: Limits{Requests: 60}}})
		if _, e := l.Take("alice"); e == nil {
			t.Error("a reload gives back what was used")
		}
		time.Sleep(time.Second)
		if _, e := l.Take("alice"); e != nil {
			t.Errorf("the new limit gives one in a second: %v", e)
		}
	})
}
