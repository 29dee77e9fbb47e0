package view_test

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/internal/console/consoletest"
	"github.com/sotto-llm/sotto/internal/console/view"
	"github.com/sotto-llm/sotto/record"
)

// TestManyEvents: what a page reads of a record does not grow with it, at its
// beginning, in its middle and at its end, by the index and by searching. With
// SOTTO_EFFORT=10 the record has 10^6 events, and the test prints what each page takes.
func TestManyEvents(t *testing.T) {
	n := 6000
	if effort, _ := strconv.Atoi(os.Getenv("SOTTO_EFFORT")); effort >= 10 {
		n = 1_000_000
	}
	w, dir := consoletest.Open(t)
	began := time.Now()
	for i := 1; i <= n; i++ {
		x := consoletest.Exchange("common", "p", "<think>a thought</think>answer "+strconv.Itoa(i))
		if i%(n/3) == 0 {
			x.Model = "rare"
		}
		x.ResponseID = "id-" + strconv.Itoa(i)
		if i%5000 == 0 {
			consoletest.Put(t, w, x) // waits, so that the queue never fills
		} else if !w.Enqueue(record.Event{Payload: x}) {
			t.Fatal("the queue is full")
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	t.Logf("%d events in %v", n, time.Since(began))
	s := view.NewSource(consoletest.Store(t, dir), nil)
	s.KeepFor(0)
	ctx, last := context.Background(), uint64(n)
	head, err := s.Head()
	if err != nil || head != last {
		t.Fatal(head, err)
	}
	for _, c := range []struct {
		name           string
		f              view.Filter
		rows, searched int // at most
	}{
		{"newest", view.Filter{}, view.Rows, view.Rows},
		{"middle", view.Filter{Before: last / 2}, view.Rows, view.Rows},
		{"oldest", view.Filter{Before: 50}, 49, 49},
		{"newer", view.Filter{After: last / 2}, view.Rows, view.Rows},
		{"rare model", view.Filter{Model: "rare"}, 3, 3},
		{"id", view.Filter{ID: "id-" + strconv.Itoa(n-17)}, 1, 20_000},
		{"text, not found", view.Filter{Text: "needle"}, 0, 20_000},
	} {
		var before, after runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		at := time.Now()
		p, err := s.List(ctx, c.f)
		took := time.Since(at)
		runtime.ReadMemStats(&after)
		if err != nil || len(p.Rows) != c.rows || p.Searched > c.searched {
			t.Errorf("%s: %d rows, %d events read, want %d and at most %d: %v", c.name, len(p.Rows), p.Searched, c.rows, c.searched, err)
		}
		t.Logf("%-16s %4d rows, %6d events read, %8.1f ms, %6.1f MB allocated", c.name, len(p.Rows), p.Searched, float64(took.Microseconds())/1000, float64(after.TotalAlloc-before.TotalAlloc)/1e6)
	}
	at := time.Now()
	if _, err := s.Exchange(ctx, last/2, view.Reread{}); err != nil {
		t.Error(err)
	}
	t.Logf("an exchange in the middle: %v", time.Since(at))
	at = time.Now()
	if older, newer := s.Neighbours(ctx, last/2, view.Filter{}); older != last/2-1 || newer != last/2+1 {
		t.Errorf("beside %d: %d and %d", last/2, older, newer)
	}
	t.Logf("its neighbours: %v", time.Since(at))
	var heap runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&heap)
	t.Logf("%.1f MB in use after all pages", float64(heap.HeapAlloc)/1e6)
}

// TestFollowers: what follows a record costs by the events of the record, not by those
// who follow: each growth is read once, however many ask for the page.
func TestFollowers(t *testing.T) {
	w, dir := consoletest.Open(t)
	defer w.Close()
	s := view.NewSource(consoletest.Store(t, dir), nil)
	s.KeepFor(time.Hour)
	const events, viewers = 10, 50
	for i := range events {
		seq := consoletest.Put(t, w, consoletest.Exchange("m", "p", fmt.Sprint("answer ", i)))
		var all sync.WaitGroup
		for range viewers {
			all.Go(func() {
				if p, err := s.List(context.Background(), view.Filter{Model: "m"}); err != nil || p.Head != seq || len(p.Rows) != i+1 {
					t.Errorf("event %d: %v", seq, err)
				}
			})
		}
		all.Wait()
	}
	if n := s.Lists(); n != events {
		t.Errorf("%d viewers of %d events: %d pages were read", viewers, events, n)
	}
}

// TestLongReply: a reply of 5 MB, or of 50 MB with SOTTO_EFFORT=10, is parsed once for
// its page and its slices, and what is shown of it is bounded.
func TestLongReply(t *testing.T) {
	size := 5 << 20
	if effort, _ := strconv.Atoi(os.Getenv("SOTTO_EFFORT")); effort >= 10 {
		size = 50 << 20
	}
	w, dir := consoletest.Open(t)
	const thought, answer = "I compare them, one after the other.\n", "The answer is long and quiet.\n"
	consoletest.Put(t, w, consoletest.Exchange("m", "p", "<think>"+strings.Repeat(thought, size/2/len(thought))+"</think>\n"+strings.Repeat(answer, size/2/len(answer))))
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	reads := 0
	s := view.NewSource(consoletest.Store(t, dir), func(string) (*sotto.Grammar, error) {
		reads++
		return sotto.Default(), nil
	})
	ctx := context.Background()
	at := time.Now()
	x, err := s.Exchange(ctx, 1, view.Reread{})
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("the page of a reply of %d MB: %v", size>>20, time.Since(at))
	r := x.Replies[0]
	if n := len(r.Answer.Text) + len(r.Thoughts[0].Text); n > 1<<20 || r.Answer.Bytes < size/3 {
		t.Errorf("%d bytes are shown of an answer of %d", n, r.Answer.Bytes)
	}
	at = time.Now()
	for i := range 20 {
		if _, err := s.Bytes(ctx, 1, 0, i*size/20, view.Reread{}); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("20 of its slices: %v", time.Since(at))
	if reads != 1 {
		t.Errorf("it was read %d times", reads)
	}
}
