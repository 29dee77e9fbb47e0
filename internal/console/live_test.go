package console

import (
	"net/http"
	"net/http/httptest"
	"os"
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
	r := consoletest.Store(t, dir)
	for _, viewers := range []int{1, 50} {
		synctest.Test(t, func(t *testing.T) {
			l := newLive(view.NewSource(r, nil), nil)
			var list []chan news
			for range viewers {
				ch, ok := l.join(false)
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

// TestWatchersAreBounded: there is room for so many pages that follow a record, and for
// another one when one of them leaves.
func TestWatchersAreBounded(t *testing.T) {
	w, dir := consoletest.Open(t)
	defer w.Close()
	r := consoletest.Store(t, dir)
	synctest.Test(t, func(t *testing.T) {
		l := newLive(view.NewSource(r, nil), nil)
		defer l.close()
		var list []chan news
		for i := range maxWatchers {
			ch, ok := l.join(false)
			if !ok {
				t.Fatalf("no room after %d", i)
			}
			list = append(list, ch)
		}
		full := httptest.NewRecorder()
		l.serve(full, httptest.NewRequest("GET", "/live", nil), false, func() bool { return false }) // so that a stream would end
		if full.Code != http.StatusServiceUnavailable || full.Header().Get("Retry-After") == "" {
			t.Errorf("one more: status %d, %v", full.Code, full.Header())
		}
		l.leave(list[0])
		ch, ok := l.join(false)
		if !ok {
			t.Error("there is no room after one has left")
		}
		for _, ch := range append(list[1:], ch) {
			l.leave(ch)
		}
		synctest.Wait()
	})
}

// A stuck writer is a connection whose other end takes nothing after the first line.
type stuck struct {
	*httptest.ResponseRecorder
	deadline time.Time
	lines    int
}

func (s *stuck) SetWriteDeadline(at time.Time) error { s.deadline = at; return nil }

func (s *stuck) Write(p []byte) (int, error) {
	if s.lines++; s.lines == 1 {
		return s.ResponseRecorder.Write(p)
	}
	time.Sleep(time.Until(s.deadline))
	return 0, os.ErrDeadlineExceeded
}

// TestStuckWatcher: a page that takes nothing is let go after the time for a line, counted
// from that line.
func TestStuckWatcher(t *testing.T) {
	w, dir := consoletest.Open(t)
	defer w.Close()
	r := consoletest.Store(t, dir)
	synctest.Test(t, func(t *testing.T) {
		l := newLive(view.NewSource(r, nil), nil)
		defer l.close()
		began, s := time.Now(), &stuck{ResponseRecorder: httptest.NewRecorder()}
		l.serve(s, httptest.NewRequest("GET", "/live", nil), false, func() bool { return true })
		if took := time.Since(began); took != beat+liveWrite {
			t.Errorf("it was let go after %v, want %v", took, beat+liveWrite)
		}
		if len(l.watchers) != 0 {
			t.Error("it still counts")
		}
		synctest.Wait()
	})
}
