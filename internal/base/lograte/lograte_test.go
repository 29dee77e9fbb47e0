package lograte_test

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sotto-llm/sotto/internal/base/lograte"
)

// TestLimit: each thing once in a minute, and all things beyond the most as one.
func TestLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := lograte.Limit{Every: time.Minute, Most: 2}
		say := func(what string, want bool) {
			t.Helper()
			if got := l.Now(what); got != want {
				t.Errorf("%q: %v", what, got)
			}
		}
		say("a", true)
		say("a", false)
		time.Sleep(59 * time.Second)
		say("b", true)
		say("a", false)
		say("c", true) // as one of the others
		say("d", false)
		time.Sleep(time.Second)
		say("a", true)
		say("b", false)
		time.Sleep(time.Minute)
		said := 0
		for i := range 1000 {
			if l.Now(fmt.Sprint(i)) {
				said++
			}
		}
		if said != 3 { // two that are kept apart, and the others
			t.Errorf("said %d of 1000 different things", said)
		}
	})
}
