package waiting

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

// TestPoll: a wait ends with the first success, and a hang at the bound with the last error.
func TestPoll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tries := 0
		if err := poll(Bound, func() error {
			if tries++; tries < 5 {
				return errNotYet
			}
			return nil
		}); err != nil || tries != 5 {
			t.Errorf("%d tries: %v", tries, err)
		}
		from := time.Now()
		last := errors.New("the last one")
		err := poll(Bound, func() error {
			if time.Since(from) < Bound {
				return errNotYet
			}
			return last
		})
		if took := time.Since(from); err != last || took < Bound || took > Bound+50*time.Millisecond {
			t.Errorf("after %v: %v", took, err)
		}
		For(t, "nothing", func() error { return nil })
		n := 0
		Until(t, "three", func() bool { n++; return n == 3 })
	})
}
