package recordset

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sotto-llm/sotto/internal/net/objects"
	"github.com/sotto-llm/sotto/internal/net/objects/objectstest"
	"github.com/sotto-llm/sotto/internal/recorded/recordship"
	"github.com/sotto-llm/sotto/internal/testing/waiting"
	"github.com/sotto-llm/sotto/record"
)

// TestLocal: the copy of a record in a store has its events and its sidecars, and gets what comes
// later. A reader that was open before sees it. A folder is its own copy.
func TestLocal(t *testing.T) {
	s := objectstest.Start(t, "records")
	s.Setenv()
	t.Setenv("SOTTO_CACHE_DIR", t.TempDir())
	const at = "s3://records/prod"
	place, err := objects.Parse(at)
	if err != nil {
		t.Fatal(err)
	}
	ship := func(dir string, n int) {
		t.Helper()
		w, err := record.Open(dir, record.Options{Policy: record.None, SegmentSize: 300_000})
		if err != nil {
			t.Fatal(err)
		}
		for range n {
			x := record.Exchange{Model: "m", Replies: []record.Reply{{Raw: record.Say(strings.Repeat("some words ", 500))}}}
			if _, err := w.Append(t.Context(), record.Event{Payload: x}); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		to, err := recordship.Open(t.Context(), dir, place, recordship.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(to.Step(t.Context()), to.Close()); err != nil {
			t.Fatal(err)
		}
	}
	dir := t.TempDir()
	ship(dir, 200)
	folder, done, err := Local(t.Context(), at, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	done()
	r, err := record.OpenReader(folder, record.ReadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	count := func() (n int) {
		for e, err := range r.Events(record.Query{}) {
			if err != nil {
				t.Fatal(err)
			}
			if e.Type == record.TypeExchange {
				n++
			}
		}
		return n
	}
	if n := count(); n != 200 {
		t.Errorf("%d exchanges", n)
	}
	segments, _ := filepath.Glob(filepath.Join(folder, "*.jsonl"))
	sidecars, _ := filepath.Glob(filepath.Join(folder, "*.sidecar"))
	if len(segments) < 3 || len(sidecars) != len(segments)-1 {
		t.Errorf("%d segments, %d sidecars", len(segments), len(sidecars))
	}
	before, err := os.Stat(segments[0])
	if err != nil {
		t.Fatal(err)
	}

	ship(dir, 100)
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		follow(ctx, time.Millisecond, at, func() (string, error) { return local(ctx, at) }, slog.New(slog.DiscardHandler))
	}()
	waiting.Until(t, "what came later", func() bool { return count() == 300 })
	stop()
	<-ended
	if after, err := os.Stat(segments[0]); err != nil || !os.SameFile(before, after) {
		t.Errorf("a segment was brought again: %v", err)
	}

	ship(t.TempDir(), 1)
	if _, _, err := Local(t.Context(), at, nil); err == nil || !strings.Contains(err.Error(), "holds 2 records") {
		t.Errorf("two records: %v", err)
	}
	if same, done, err := Local(t.Context(), dir, nil); err != nil || same != dir {
		t.Errorf("%s is %s, %v", dir, same, err)
	} else {
		done()
	}
}
