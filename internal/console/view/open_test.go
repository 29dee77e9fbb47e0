package view_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/internal/console/consoletest"
	"github.com/sotto-llm/sotto/internal/console/view"
)

// TestLongReplyHoldsNobody: while one reply is read, those who read others do not wait
// for it. Who wants the same one waits, and it is read once for all of them, for the
// page and for all its slices, and once for another dialect.
func TestLongReplyHoldsNobody(t *testing.T) {
	w, dir := consoletest.Open(t)
	slow := consoletest.Exchange("m", "p", "<think>t</think>"+strings.Repeat("The answer is long.\n", 20_000))
	slow.Replies[0].Dialect = "slow"
	consoletest.Put(t, w, slow)
	consoletest.Put(t, w, consoletest.Exchange("m", "p", "quick"))
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	var reads atomic.Int32
	begun, release := make(chan struct{}), make(chan struct{})
	var once sync.Once
	s := view.NewSource(consoletest.Store(t, dir), func(name string) (*sotto.Grammar, error) {
		if name == "slow" {
			reads.Add(1)
			once.Do(func() { close(begun) })
			<-release
		}
		return sotto.Default(), nil
	})
	ctx := context.Background()
	ended := make(chan error, 20)
	for i := range 10 {
		go func() {
			_, err := s.Exchange(ctx, 1, view.Reread{})
			ended <- err
		}()
		go func() {
			_, err := s.Bytes(ctx, 1, 0, i*view.SliceSize, view.Reread{})
			ended <- err
		}()
	}
	<-begun
	quick := make(chan error, 2)
	go func() {
		_, err := s.Exchange(ctx, 2, view.Reread{})
		quick <- err
		_, err = s.List(ctx, view.Filter{})
		quick <- err
	}()
	for range 2 {
		select {
		case err := <-quick:
			if err != nil {
				t.Error(err)
			}
		case <-time.After(time.Minute):
			t.Fatal("another exchange waits for the one that is being read")
		}
	}
	close(release)
	for range 20 {
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
	if n := reads.Load(); n != 1 {
		t.Errorf("the reply was read %d times for 20 requests", n)
	}
	for i := range 10 {
		if _, err := s.Bytes(ctx, 1, 0, i*view.SliceSize, view.Reread{Dialect: "slow", Start: "outside"}); err != nil {
			t.Fatal(err)
		}
	}
	if n := reads.Load(); n != 2 {
		t.Errorf("the reply was read %d times, want one more for another start", n)
	}
}

// TestOpenGivesUp: who leaves while others wait for the same event leaves them able to
// read it.
func TestOpenGivesUp(t *testing.T) {
	w, dir := consoletest.Open(t)
	for i := range 3 {
		consoletest.Put(t, w, consoletest.Exchange("m", "p", strings.Repeat(fmt.Sprint(i), 1<<21)))
	}
	w.Close()
	s := view.NewSource(consoletest.Store(t, dir), nil)
	var all sync.WaitGroup
	for i := range 30 {
		all.Go(func() {
			ctx, cancel := context.WithCancel(context.Background())
			defer cancel()
			if i%3 == 0 {
				cancel()
			}
			if _, err := s.Exchange(ctx, uint64(1+i/10), view.Reread{}); err != nil && i%3 > 0 {
				t.Errorf("event %d: %v", 1+i/10, err)
			}
		})
	}
	all.Wait()
}
