package replicas

import (
	"testing"
	"time"

	"github.com/sotto-llm/sotto/internal/testing/redisserver"
)

// TestLogins: a login that one replica begins lives at each, until one ends it, or until it
// was not used for its time. A server that cannot be reached is an error, and not an end.
func TestLogins(t *testing.T) {
	r := redisserver.Run(t)
	a, b := open(t, r.Address(), patient), open(t, r.Address(), patient)
	lives := func(s *Store, n byte) bool {
		t.Helper()
		yes, err := s.UseLogin([32]byte{n}, time.Minute)
		if err != nil {
			t.Fatal(err)
		}
		return yes
	}
	for n := byte(1); n <= 2; n++ {
		if lives(a, n) {
			t.Errorf("login %d lives before it begins", n)
		}
		if err := a.BeginLogin([32]byte{n}, time.Minute); err != nil {
			t.Fatal(err)
		}
		if !lives(a, n) || !lives(b, n) {
			t.Errorf("login %d does not live everywhere", n)
		}
	}
	if err := b.EndLogin([32]byte{1}); err != nil {
		t.Fatal(err)
	}
	if lives(a, 1) || lives(b, 1) || !lives(a, 2) {
		t.Error("a login that ended lives, or another one ended")
	}
	if err := a.BeginLogin([32]byte{3}, time.Millisecond); err != nil {
		t.Fatal(err)
	}
	for end := time.Now().Add(time.Minute); ; time.Sleep(2 * time.Millisecond) {
		yes, err := a.UseLogin([32]byte{3}, time.Millisecond)
		if err != nil || time.Now().After(end) {
			t.Fatalf("a login that nobody uses lives: %v %v", yes, err)
		}
		if !yes {
			break
		}
	}
	r.Kill()
	if yes, err := a.UseLogin([32]byte{2}, time.Minute); yes || err == nil {
		t.Errorf("without a server: %v %v", yes, err)
	}
}
