package console

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/sotto-llm/sotto/internal/console/consoletest"
	"github.com/sotto-llm/sotto/internal/console/view"
)

// TestWatchers: those who follow a record share one look-out. It looks at the record
// once in an interval, however many they are, and not at all when nobody follows.
func TestWatchers(t *testing.T) {
	w, dir := consoletest.Open(t)
	defer w.Close()
	r := consoletest.Reader(t, dir)
	for _, viewers := range []int{1, 50} {
		synctest.Test(t, func(t *testing.T) {
			l := newLive(view.NewSource(r, nil))
			var list []chan uint64
			for range viewers {
				ch, ok := l.join()
				if !ok {
					t.Fatal("no room")
				}
				list = append(list, ch)
			}
			time.Sleep(10*liveEvery + liveEvery/2)
			for _, ch := range list {
				l.leave(ch)
			}
			time.Sleep(10 * liveEvery)
			if n := l.looks.Load(); n != 11 { // one when it begins
				t.Errorf("%d viewers: %d looks at the record in ten intervals", viewers, n)
			}
			l.close()
		})
	}
}
