package replicas

import (
	"fmt"
	"testing"
	"time"

	"github.com/sotto-llm/sotto/internal/testing/redisserver"
)

// TestConsoles: the entries of consoles are at every replica. A later one of the same name
// replaces the earlier one, the oldest go when there are too many, and old ones go by
// themselves. Entries in the store of a server that lies are bounded.
func TestConsoles(t *testing.T) {
	r := redisserver.Run(t)
	a, b := open(t, r.Address(), patient), open(t, r.Address(), patient)
	if a.Here() != nil {
		t.Error("a store that was not reached knows from where")
	}
	of := func(s *Store) string {
		t.Helper()
		entries, err := s.Entries()
		if err != nil {
			t.Fatal(err)
		}
		text := ""
		for n := range byte(30) {
			if entry, ok := entries[[32]byte{n}]; ok {
				text += fmt.Sprintf("%d%s ", n, entry)
			}
		}
		return text
	}
	enter := func(s *Store, n byte, entry string, keep time.Duration, most int) {
		t.Helper()
		if err := s.Enter([32]byte{n}, []byte(entry), keep, most); err != nil {
			t.Fatal(err)
		}
	}
	if got := of(a); got != "" {
		t.Errorf("before any: %s", got)
	}
	for n := byte(1); n <= 5; n++ {
		enter(a, n, "x", time.Hour, 9)
	}
	enter(b, 3, "y", time.Hour, 9)
	if got := of(a); got != "1x 2x 3y 4x 5x " || got != of(b) {
		t.Errorf("%s at one, %s at the other", got, of(b))
	}
	if at := b.Here(); at == nil || !at.IsLoopback() {
		t.Errorf("the store is reached from %v", at)
	}
	time.Sleep(2 * time.Millisecond) // the next is newer by the clock of the server
	enter(b, 6, "z", time.Hour, 1)
	if got := of(a); got != "6z " {
		t.Errorf("of one at most: %s", got)
	}
	for end := time.Now().Add(time.Minute); of(a) != ""; time.Sleep(2 * time.Millisecond) {
		enter(b, 7, "z", time.Millisecond, 9)
		if time.Now().After(end) {
			t.Fatalf("old entries stay: %s", of(a))
		}
	}
	enter(a, 8, "x", time.Hour, 9)
	r.Command("hset", consolesKey, "not a name", "x", name([32]byte{9}), "y")
	r.Command("hset", consolesKey, name([32]byte{10}), fmt.Sprintf("%0*d", maxConsole+1, 0))
	if got := of(a); got != "8x 9y " {
		t.Errorf("with what others wrote: %q", got)
	}
	r.Kill()
	if entries, err := a.Entries(); err == nil || len(entries) > 0 {
		t.Errorf("without a server: %v %v", entries, err)
	}
	if err := a.Enter([32]byte{1}, nil, time.Hour, 9); err == nil {
		t.Error("without a server, an entry is there")
	}
}
