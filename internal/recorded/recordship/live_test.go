package recordship

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sotto-llm/sotto/internal/base/effort"
	"github.com/sotto-llm/sotto/internal/net/objects"
	"github.com/sotto-llm/sotto/internal/net/objects/objectstest"
	"github.com/sotto-llm/sotto/internal/recorded/sidecar"
	"github.com/sotto-llm/sotto/internal/testing/waiting"
	"github.com/sotto-llm/sotto/record"
)

// live opens the record of a store for a page.
func live(t testing.TB, getenv func(string) string, o LiveOptions) (*sidecar.Store, *Live) {
	t.Helper()
	o.Objects = objects.Options{Getenv: getenv, Retry: quick}
	l, err := OpenLive(t.Context(), place, filepath.Join(t.TempDir(), "records"), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	s, err := sidecar.OpenAway(l.Dir(), record.ReadOptions{}, l)
	if err != nil {
		t.Fatal(err)
	}
	return s, l
}

// backward lists what a reading from the newest event on gives.
func backward(s *sidecar.Store, q sidecar.Query, most int, keep func(*record.Event) bool) (list []string, failed error) {
	limit := q.Limit
	for g, err := range s.For(context.Background()).Back(q, most) {
		if err != nil {
			return list, err
		}
		if keep != nil && !keep(&g.Event) {
			continue
		}
		x, _ := g.Event.Payload.(record.Exchange)
		list = append(list, fmt.Sprint(g.Seq, g.Last, g.Time.UnixNano(), g.Type, g.Model, g.Diagnostics, g.Size, g.Partial, x.ID, len(x.Replies)))
		if limit > 0 && len(list) == limit {
			break
		}
	}
	return list, nil
}

func has(word string) func(*record.Event) bool {
	return func(e *record.Event) bool {
		x, ok := e.Payload.(record.Exchange)
		return ok && len(x.Replies) > 0 && strings.Contains(string(x.Replies[0].Raw.Text), word)
	}
}

// TestLawLive: whatever happens to the sidecars of a store, a page reads the events of the record
// from the newest on, one by one, and by their facts, as from its folder; and the folder of what is
// kept stays within its bound.
func TestLawLive(t *testing.T) {
	s := objectstest.Start(t, bucket)
	dir := t.TempDir()
	exchanges(t, dir, 200, record.Options{SegmentSize: 20_000})
	if err := shipSmall(t, dir, s.Getenv); err != nil {
		t.Fatal(err)
	}
	putMerged(t, s, 60_000, sidecar.Options{Small: true})
	here := opened(t, dir, record.ReadOptions{})
	all := append(sidecarsOf(t, s), mergedOf(t, s)...)
	whole := map[string][]byte{}
	for _, name := range all {
		whole[name], _ = os.ReadFile(s.Path(bucket, name))
	}
	r := rand.New(rand.NewPCG(4, 2))
	for round := range 8 {
		for _, name := range all {
			data := whole[name]
			switch r.IntN(8) {
			case 0:
				data = data[:r.IntN(len(data))]
			case 1:
				data = slices.Clone(data)
				data[r.IntN(len(data))] ^= 1
			case 2:
				data = whole[all[r.IntN(len(all))]]
			}
			if round == 0 {
				data = whole[name]
			}
			if err := os.WriteFile(s.Path(bucket, name), data, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		store, l := live(t, s.Getenv, LiveOptions{Disk: 50_000})
		for range 6 {
			q, keep := sidecar.Query{}, func(*record.Event) bool { return true }
			switch r.IntN(5) {
			case 0:
				q.Model = "model-1"
			case 1:
				q.Pattern, keep = regexp.MustCompile("unique77 ?$"), has("unique77")
			case 2:
				q.IDs, keep = []string{"x-99"}, has("unique99")
			case 3:
				q.Limit = 1 + r.IntN(30)
			}
			if r.IntN(2) == 0 {
				q.Before = 1 + r.Uint64N(210)
			}
			if r.IntN(3) == 0 {
				q.After = r.Uint64N(210)
			}
			most := []int{0, 700, 1 << 20}[r.IntN(3)]
			if q.Pattern != nil || q.IDs != nil {
				most = 1 << 20
			}
			got, err := backward(store, q, most, keep)
			want, _ := backward(here, q, most, keep)
			if err != nil || !slices.Equal(got, want) {
				t.Fatalf("round %d: %+v of %d bytes gives %v, %v, want %v", round, q, most, got, err, want)
			}
			seq := 1 + r.Uint64N(210)
			e, ok, err := store.Event(seq)
			x, wanted, _ := here.Event(seq)
			if err != nil || ok != wanted || string(e.Line()) != string(x.Line()) {
				t.Fatalf("round %d: event %d is %v, %v, %v", round, seq, e.Seq, ok, err)
			}
			if got, want := millis(store, q.Query), millis(here, q.Query); !slices.Equal(got, want) {
				t.Fatalf("round %d: %+v has the facts %v, want %v", round, q, got, want)
			}
		}
		size := int64(0)
		files, _ := record.Files(l.Dir())
		for _, f := range files {
			if info, err := os.Stat(f.Path); err == nil && !l.Same(f.First, -1) {
				size += info.Size()
			}
		}
		if size > 50_000 {
			t.Errorf("round %d: %d bytes of segments are kept", round, size)
		}
		if last, err := store.Last(); err != nil || last < 200 {
			t.Errorf("the last event is %d, %v", last, err)
		}
	}
}

// TestLiveRequests: a page over a record of many segments takes few requests, and not all bytes.
// What was read a moment ago is not read again.
func TestLiveRequests(t *testing.T) {
	effort.OneGoroutine(t)
	s := objectstest.Start(t, bucket)
	dir := t.TempDir()
	exchanges(t, dir, 3000, record.Options{SegmentSize: 60_000})
	x := shipper(t, dir, s.Getenv, Options{small: true, merged: 900_000})
	defer x.Close()
	if err := x.Step(t.Context()); err != nil {
		t.Fatal(err)
	}
	total := int64(0)
	for _, name := range names(t, s) {
		if info, err := os.Stat(s.Path(bucket, name)); err == nil && strings.Contains(name, segmentsFolder) {
			total += info.Size()
		}
	}
	getenv, n := counted(t, s)
	store, l := live(t, getenv, LiveOptions{})
	segments := len(l.Segments())
	if segments < 40 {
		t.Fatalf("%d segments", segments)
	}
	for _, page := range []struct {
		name string
		most int64
		read func(s *sidecar.Store) int
	}{
		{"the list", 25, func(s *sidecar.Store) (found int) {
			for range s.Back(sidecar.Query{Query: record.Query{Types: []record.Type{record.TypeExchange}}}, 1<<20) {
				if found++; found == 100 {
					break
				}
			}
			return found
		}},
		{"one exchange", 8, func(s *sidecar.Store) (found int) {
			for e, err := range s.Entries(record.Query{After: 1233, Before: 1235, Limit: 1}) {
				if err == nil && e.Seq == 1234 {
					found++
				}
			}
			if _, ok, err := s.Event(1234); ok && err == nil {
				found += 99
			}
			return found
		}},
		{"sorted by a fact", 60, func(s *sidecar.Store) (found int) {
			for range s.Facts(record.Query{}, sidecar.Want{Numbers: []sidecar.Number{sidecar.Millis}}) {
				found++
			}
			return min(found, 100)
		}},
		{"a search", 110, func(s *sidecar.Store) (found int) {
			for g := range s.Back(sidecar.Query{Pattern: regexp.MustCompile("unique2321")}, 1<<20) {
				if has("unique2321")(&g.Event) {
					found += 100
				}
			}
			return found
		}},
	} {
		n.reset()
		if found := page.read(store.For(t.Context())); found != 100 {
			t.Errorf("%s: found %d", page.name, found)
		}
		t.Logf("%s: %d requests, %d of %d bytes in %d segments", page.name, n.requests.Load(), n.bytes.Load(), total, segments)
		if n.requests.Load() > page.most || n.bytes.Load() > total/2 {
			t.Errorf("%s: %d requests, %d bytes of %d", page.name, n.requests.Load(), n.bytes.Load(), total)
		}
		n.reset()
		page.read(store.For(t.Context()))
		if n.requests.Load() > 0 {
			t.Errorf("%s again: %d requests", page.name, n.requests.Load())
		}
	}
	if files, _ := filepath.Glob(filepath.Join(l.Dir(), "*.jsonl")); len(files) > 1 {
		t.Errorf("%d segments were copied", len(files))
	}
	n.reset()
	if err := l.look(t.Context(), false); err != nil || n.requests.Load() > 5 {
		t.Errorf("%d requests for nothing new, %v", n.requests.Load(), err)
	}
}

// TestLiveNews: what is shipped later is noticed, also when the segment that grows became whole,
// and what was removed is gone.
func TestLiveNews(t *testing.T) {
	s := objectstest.Start(t, bucket)
	dir := t.TempDir()
	exchanges(t, dir, 50, record.Options{SegmentSize: 20_000})
	if err := shipSmall(t, dir, s.Getenv); err != nil {
		t.Fatal(err)
	}
	store, l := live(t, s.Getenv, LiveOptions{Every: 20 * time.Millisecond})
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() { l.Run(ctx); close(ended) }()
	defer func() { stop(); <-ended }()
	for round := range 4 {
		exchanges(t, dir, 30, record.Options{SegmentSize: 20_000})
		if err := shipSmall(t, dir, s.Getenv); err != nil {
			t.Fatal(err)
		}
		here := opened(t, dir, record.ReadOptions{})
		want, _ := backward(here, sidecar.Query{}, 1<<20, nil)
		waiting.Until(t, fmt.Sprint("what is new in round ", round), func() bool {
			got, err := backward(store, sidecar.Query{}, 1<<20, nil)
			return err == nil && slices.Equal(got, want)
		})
	}
	for _, name := range names(t, s) {
		if strings.Contains(name, segmentsFolder+fmt.Sprintf("%020d", 1)) {
			if err := os.Remove(s.Path(bucket, name)); err != nil {
				t.Fatal(err)
			}
		}
	}
	waiting.Until(t, "what was removed", func() bool {
		_, ok, err := store.Event(1)
		return !ok && err == nil
	})
}

// TestLiveFaults: a store that is down, that denies or that never answers is an error, and not an
// empty page. Nothing is copied in its place. When it works again, so does the page.
func TestLiveFaults(t *testing.T) {
	s := objectstest.Start(t, bucket)
	dir := t.TempDir()
	exchanges(t, dir, 200, record.Options{SegmentSize: 20_000})
	if err := shipSmall(t, dir, s.Getenv); err != nil {
		t.Fatal(err)
	}
	var how atomic.Int32
	const denied, down, stuck = 1, 2, 3
	getenv := proxied(t, s, func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		switch how.Load() {
		case denied:
			w.WriteHeader(http.StatusForbidden)
		case down:
			w.WriteHeader(http.StatusServiceUnavailable)
		case stuck:
			_, _ = io.Copy(io.Discard, r.Body)
			<-r.Context().Done()
		default:
			next.ServeHTTP(w, r)
		}
	})
	for name, fault := range map[string]int32{"denied": denied, "down": down, "stuck": stuck} {
		store, l := live(t, getenv, LiveOptions{})
		how.Store(fault)
		ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
		ways := map[string]func(s *sidecar.Store) error{
			"backward": func(s *sidecar.Store) (failed error) {
				for _, err := range s.Back(sidecar.Query{}, 1<<20) {
					failed = err
				}
				return failed
			},
			"an event": func(s *sidecar.Store) error { _, _, err := s.Event(7); return err },
			"facts": func(s *sidecar.Store) (failed error) {
				for _, err := range s.Facts(record.Query{}, sidecar.Want{Numbers: []sidecar.Number{sidecar.Millis}}) {
					failed = err
				}
				return failed
			},
			"a search": func(s *sidecar.Store) (failed error) {
				for _, err := range s.Events(sidecar.Query{Pattern: regexp.MustCompile("unique77")}) {
					failed = err
				}
				return failed
			},
		}
		for way, read := range ways {
			err := read(store.For(ctx))
			if _, is := errors.AsType[*sidecar.Failure](err); !is {
				t.Errorf("%s, %s: %v", name, way, err)
			}
		}
		if err := l.look(ctx, false); err == nil {
			t.Errorf("%s: it is known what is new", name)
		}
		cancel()
		if files, _ := filepath.Glob(filepath.Join(l.Dir(), "*.jsonl")); len(files) > 1 {
			t.Errorf("%s: %d segments were copied", name, len(files))
		}
		how.Store(0)
		for way, read := range ways {
			if err := read(store.For(t.Context())); err != nil {
				t.Errorf("after %s, %s: %v", name, way, err)
			}
		}
	}
}

// TestRanges: what was used last stays, within the bound.
func TestRanges(t *testing.T) {
	k := newRanges(100)
	for i := range 20 {
		k.put(rangeKey{"a", int64(i), 10}, make([]byte, 10))
		if k.get(rangeKey{"a", 0, 10}) == nil {
			t.Fatalf("after %d, the first is gone, which was used", i)
		}
	}
	k.put(rangeKey{"large", 0, 13}, make([]byte, 13))
	if k.held != 100 || len(k.parts) != 10 || k.order.Len() != 10 || k.get(rangeKey{"large", 0, 13}) != nil || k.get(rangeKey{"a", 10, 10}) != nil || k.get(rangeKey{"a", 19, 10}) == nil {
		t.Errorf("%d bytes in %d parts", k.held, len(k.parts))
	}
}
