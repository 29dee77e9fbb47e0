// Package waiting lets tests wait for what goroutines, processes and servers do at their
// own time.
package waiting

import (
	"errors"
	"testing"
	"time"
)

// Bound is how long a wait lasts before it is taken for a hang. Waits that succeed are
// much shorter. It leaves room for a machine with other work, and ends a test long before
// go test would end all of them.
const Bound = 30 * time.Second

// For calls try again and again, until it returns nil. After [Bound] it ends the test with
// what it waited for and with the last error of try.
func For(t testing.TB, what string, try func() error) {
	t.Helper()
	Within(t, Bound, what, try)
}

// Within is [For] with another bound, for what takes its time: servers that elect one of
// them.
func Within(t testing.TB, bound time.Duration, what string, try func() error) {
	t.Helper()
	if err := poll(bound, try); err != nil {
		t.Fatalf("waited %v for %s: %v", bound, what, err)
	}
}

// Until waits until holds returns true, like [For].
func Until(t testing.TB, what string, holds func() bool) {
	t.Helper()
	For(t, what, func() error {
		if holds() {
			return nil
		}
		return errNotYet
	})
}

var errNotYet = errors.New("not yet")

// poll sleeps a little longer after each attempt, up to 20 ms. It tries once more after the
// end, because the machine may have slept meanwhile.
func poll(bound time.Duration, try func() error) error {
	end := time.Now().Add(bound)
	for pause := time.Millisecond; ; pause = min(2*pause, 20*time.Millisecond) {
		late := time.Now().After(end)
		err := try()
		if err == nil || late {
			return err
		}
		time.Sleep(pause)
	}
}
