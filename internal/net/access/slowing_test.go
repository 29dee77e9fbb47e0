package access

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// A guess is an attempt to come in.
type guess struct {
	status int
	after  string
	took   time.Duration
}

// guessing returns a way to try keys on a guarded server.
func guessing() (try func(ctx context.Context, from, key string) guess, c *Control) {
	c = New(Rules{
		Name: "server", Tokens: []Token{{Name: "ann", Secret: "right"}},
		Refuse: func(w http.ResponseWriter, _ *http.Request, status int, _ string) { w.WriteHeader(status) },
	})
	return func(ctx context.Context, from, key string) guess {
		r := httptest.NewRequestWithContext(ctx, "GET", "/", nil)
		r.RemoteAddr = from
		if key != "" {
			r.Header.Set("Authorization", "Bearer "+key)
		}
		w := httptest.NewRecorder()
		w.Code = 0
		began := time.Now()
		if _, ok := c.Authorize(w, r, Models); ok {
			w.Code = http.StatusOK
		}
		return guess{w.Code, w.Header().Get("Retry-After"), time.Since(began)}
	}, c
}

// TestGuesses: after 60 wrong tokens in a minute from one address, the answer to another
// wrong one waits a second. A right token never waits, nor does a request without one, and
// another address is not slowed.
func TestGuesses(t *testing.T) {
	const here, there = "192.0.2.1:1", "192.0.2.2:1"
	synctest.Test(t, func(t *testing.T) {
		try, _ := guessing()
		ask := func(from, key string, want guess) {
			t.Helper()
			if got := try(t.Context(), from, key); got != want {
				t.Errorf("%s with %q: %+v, want %+v", from, key, got, want)
			}
		}
		for range freeGuesses {
			ask(here, "wrong", guess{401, "", 0})
		}
		slow := guess{401, "", time.Second}
		ask("192.0.2.1:2", "wrong", slow)
		ask(here, "right", guess{200, "", 0})
		ask(here, "", guess{401, "", 0})
		ask(there, "wrong", guess{401, "", 0})
		ask(here, "wrong", slow)
		time.Sleep(5 * time.Second)
		for range 5 {
			ask(here, "wrong", guess{401, "", 0})
		}
		time.Sleep(time.Minute)
		for range freeGuesses {
			ask(here, "wrong", guess{401, "", 0})
		}
		ask(here, "wrong", slow)
		for i := range freeGuesses { // one machine has a whole network of IPv6 addresses
			ask(fmt.Sprintf("[2001:db8::%x]:1", i+1), "wrong", guess{401, "", 0})
		}
		ask("[2001:db8::ffff]:1", "wrong", slow)
		ask("[2001:db8:0:1::1]:1", "wrong", guess{401, "", 0})
	})
}

// TestManyGuesses: only so many answers wait; the next one is 429 at once. Meanwhile right
// tokens come in, from the same address too. Who leaves waits no longer.
func TestManyGuesses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		try, c := guessing()
		const here = "192.0.2.1:1"
		for range freeGuesses {
			try(t.Context(), here, "wrong")
		}
		ctx, leave := context.WithCancel(t.Context())
		got := make([]guess, maxWaitingEach)
		var all sync.WaitGroup
		for i := range got {
			all.Go(func() { got[i] = try(ctx, here, "wrong") })
		}
		synctest.Wait()
		if more := try(t.Context(), here, "wrong"); more != (guess{429, "1", 0}) {
			t.Errorf("one more than may wait: %+v", more)
		}
		if right := try(t.Context(), here, "right"); right != (guess{200, "", 0}) {
			t.Errorf("a right token: %+v", right)
		}
		leave()
		all.Wait()
		for _, g := range got {
			if g != (guess{0, "", 0}) {
				t.Errorf("a client that left: %+v", g)
			}
		}
		if c.guesses.all.waiting != 0 || c.guesses.from["192.0.2.1/32"].waiting != 0 {
			t.Error("answers wait for nobody")
		}
	})
}

// TestGuessesOfAll: those who guess from many addresses are slowed in all; what is known
// of addresses is bounded.
func TestGuessesOfAll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		try, c := guessing()
		from := func(i int) string { return fmt.Sprintf("198.51.%d.%d:1", i/256, i%256) }
		for i := range freeGuessesOfAll {
			if g := try(t.Context(), from(i), "wrong"); g.took != 0 {
				t.Fatalf("guess %d: %+v", i, g)
			}
		}
		if g := try(t.Context(), from(freeGuessesOfAll), "wrong"); g != (guess{401, "", time.Second}) {
			t.Errorf("one more: %+v", g)
		}
		if g := try(t.Context(), from(freeGuessesOfAll+1), "right"); g != (guess{200, "", 0}) {
			t.Errorf("a right token: %+v", g)
		}
		var all sync.WaitGroup
		for i := range 10_000 {
			all.Go(func() { try(t.Context(), from(i+1000), "wrong") })
		}
		synctest.Wait()
		c.guesses.mu.Lock()
		waiting := c.guesses.all.waiting
		c.guesses.mu.Unlock()
		if waiting != maxWaiting {
			t.Errorf("%d answers wait, want %d", waiting, maxWaiting)
		}
		all.Wait()
		if n := len(c.guesses.from); n > maxGuessers+1 {
			t.Errorf("%d addresses are known", n)
		}
		time.Sleep(time.Hour)
		for i := range maxGuessers {
			try(t.Context(), fmt.Sprintf("203.0.%d.%d:1", i/256, i%256), "wrong")
		}
		if n := len(c.guesses.from); n > maxGuessers+1 {
			t.Errorf("%d addresses are known an hour later", n)
		}
	})
}
