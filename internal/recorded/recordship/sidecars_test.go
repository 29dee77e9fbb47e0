package recordship

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"filippo.io/age"

	"github.com/sotto-llm/sotto/internal/base/effort"
	"github.com/sotto-llm/sotto/internal/net/objects"
	"github.com/sotto-llm/sotto/internal/net/objects/objectstest"
	"github.com/sotto-llm/sotto/internal/recorded/sidecar"
	"github.com/sotto-llm/sotto/record"
)

// exchanges writes a record of exchanges in segments of a size.
func exchanges(t testing.TB, dir string, n int, o record.Options) {
	t.Helper()
	o.Policy = record.None
	w, err := record.Open(dir, o)
	if err != nil {
		t.Fatal(err)
	}
	for i := range n {
		x := record.Exchange{Model: fmt.Sprint("model-", i%3), ID: fmt.Sprint("x-", i), Outcome: "answered", Millis: int64(i), Replies: []record.Reply{{Raw: record.Say(exchangeText(i))}}}
		if _, err := w.Append(context.Background(), record.Event{Payload: x}); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
}

func exchangeText(i int) string {
	var b strings.Builder
	for k := range 60 {
		fmt.Fprintf(&b, "word%d of%d ", (i*i+k*7)%997, (i+k)%211)
	}
	return fmt.Sprintf("%s unique%d", b.String(), i)
}

// shipSmall ships a record with the sidecars of small segments.
func shipSmall(t testing.TB, dir string, getenv func(string) string) error {
	t.Helper()
	s := shipper(t, dir, getenv, Options{small: true})
	defer s.Close()
	return s.Step(context.Background())
}

// reached opens the only record of a store.
func reached(t testing.TB, getenv func(string) string, folder string, o record.ReadOptions) (*sidecar.Store, *Copy) {
	t.Helper()
	list, err := Reach(context.Background(), place, folder, objects.Options{Getenv: getenv, Retry: quick})
	if err != nil || len(list) != 1 {
		t.Fatalf("%d records, %v", len(list), err)
	}
	s, err := sidecar.OpenAway(list[0].Dir, o, list[0].Away)
	if err != nil {
		t.Fatal(err)
	}
	return s, list[0]
}

// found returns the events of a query among those that a store gives, which may be more.
func found(t interface{ Fatal(...any) }, s *sidecar.Store, q sidecar.Query) (seqs []uint64) {
	for e, err := range s.Events(q) {
		if err != nil {
			t.Fatal(err)
		}
		x, ok := e.Payload.(record.Exchange)
		if (q.Pattern == nil || q.Pattern.Match(e.Line())) && (len(q.IDs) == 0 || ok && slices.Contains(q.IDs, x.ID)) {
			seqs = append(seqs, e.Seq)
		}
	}
	return seqs
}

func opened(t testing.TB, dir string, o record.ReadOptions) *sidecar.Store {
	t.Helper()
	s, err := sidecar.Open(dir, o)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// putMerged puts the merged sidecars of segments of a size into a store, as sotto record index
// does, and returns how many sidecars were put.
func putMerged(t testing.TB, s *objectstest.Server, size int64, o sidecar.Options) int {
	t.Helper()
	store, c := reached(t, s.Getenv, t.TempDir(), record.ReadOptions{})
	if _, err := store.Whole(); err != nil {
		t.Fatal(err)
	}
	c.Away.(*away).merged = size
	n, err := c.PutSidecars(t.Context(), false, o)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// mergedOf lists the merged sidecars of a store.
func mergedOf(t testing.TB, s *objectstest.Server) []string {
	return slices.DeleteFunc(names(t, s), func(name string) bool { return !strings.Contains(name, "/"+mergedFolder) })
}

// sidecarsOf lists the sidecars of a store.
func sidecarsOf(t testing.TB, s *objectstest.Server) []string {
	return slices.DeleteFunc(names(t, s), func(name string) bool { return !strings.Contains(name, "/"+sidecarsFolder) })
}

// traffic counts what goes through a server.
type traffic struct{ requests, bytes atomic.Int64 }

func (n *traffic) reset() { n.requests.Store(0); n.bytes.Store(0) }

// counted is a server in front of another that counts requests and the bytes of answers.
func counted(t testing.TB, s *objectstest.Server) (getenv func(string) string, n *traffic) {
	n = &traffic{}
	return proxied(t, s, func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		n.requests.Add(1)
		next.ServeHTTP(&countingWriter{w, n}, r)
	}), n
}

type countingWriter struct {
	http.ResponseWriter
	n *traffic
}

func (w *countingWriter) Write(p []byte) (int, error) {
	w.n.bytes.Add(int64(len(p)))
	return w.ResponseWriter.Write(p)
}

// TestSidecarsAway: a question to a record in a store reads parts of its sidecars and of its
// segments: at most 200 requests for 80 segments or more, and no more bytes than these sidecars and
// some frames have. It gives the same events as a reading of the folder.
func TestSidecarsAway(t *testing.T) {
	s := objectstest.Start(t, bucket)
	dir := t.TempDir()
	exchanges(t, dir, 9000, record.Options{SegmentSize: 110_000})
	if err := shipSmall(t, dir, s.Getenv); err != nil {
		t.Fatal(err)
	}
	segments, most := 0, int64(0) // bytes
	for _, name := range names(t, s) {
		if strings.Contains(name, segmentsFolder) {
			segments++
		} else if strings.Contains(name, sidecarsFolder) {
			info, err := os.Stat(s.Path(bucket, name))
			if err != nil {
				t.Fatal(err)
			}
			most += info.Size()
		}
	}
	if segments < 80 || len(sidecarsOf(t, s)) != segments {
		t.Fatalf("%d segments and %d sidecars", segments, len(sidecarsOf(t, s)))
	}
	most += 5 * sidecar.FrameSize
	getenv, n := counted(t, s)
	here := opened(t, dir, record.ReadOptions{})
	for name, q := range map[string]sidecar.Query{
		"an identifier":         {IDs: []string{"x-777"}},
		"an identifier of none": {IDs: []string{"x-none"}},
		"a rare word":           {Pattern: regexp.MustCompile("unique8123")},
		"a word of none":        {Pattern: regexp.MustCompile("nobodywrotethis")},
		"a model of none":       {Query: record.Query{Model: "none"}},
	} {
		store, _ := reached(t, getenv, t.TempDir(), record.ReadOptions{})
		n.reset()
		got, want := found(t, store, q), found(t, here, q)
		r := store.Report()
		t.Logf("%s: %d requests, %d bytes of %d; %v", name, n.requests.Load(), n.bytes.Load(), most, r)
		if !slices.Equal(got, want) || r.Without > 1 || r.Stale > 0 || r.Brought > 0 {
			t.Errorf("%s: %v, want %v: %v", name, got, want, r)
		}
		if n.requests.Load() > 200 || n.bytes.Load() > most || int64(r.Requests) != n.requests.Load() || r.Fetched != n.bytes.Load() {
			t.Errorf("%s: %d requests for %d bytes, and the report has %+v", name, n.requests.Load(), n.bytes.Load(), r)
		}
	}
	store, _ := reached(t, getenv, t.TempDir(), record.ReadOptions{})
	n.reset()
	want := sidecar.Want{Numbers: []sidecar.Number{sidecar.Millis}, Words: []sidecar.Word{sidecar.Model, sidecar.Outcome}}
	sum, count := int64(0), 0
	for f, err := range store.Facts(record.Query{Types: []record.Type{record.TypeExchange}}, want) {
		if err != nil {
			t.Fatal(err)
		}
		sum, count = sum+f.Number[sidecar.Millis], count+1
	}
	if count != 9000 || sum != 9000*8999/2 || n.requests.Load() > 200 || store.Report().Brought > 0 {
		t.Errorf("%d events, %d ms, %d requests: %v", count, sum, n.requests.Load(), store.Report())
	}
	t.Logf("facts of all: %d requests, %d bytes", n.requests.Load(), n.bytes.Load())
}

// TestLawAway: whatever happens to the sidecars of a store, and whatever of the record is in the
// folder already, a search gives the events of the record.
func TestLawAway(t *testing.T) {
	s := objectstest.Start(t, bucket)
	id, err := age.GenerateX25519Identity()
	if err != nil {
		t.Fatal(err)
	}
	r := rand.New(rand.NewPCG(4, 1))
	queries := []sidecar.Query{
		{Pattern: regexp.MustCompile("unique1[0-9] ?$")}, {Pattern: regexp.MustCompile("unique77")}, {IDs: []string{"x-99"}}, {Query: record.Query{Model: "model-1"}},
		{Query: record.Query{After: 50, Limit: 7}}, {Query: record.Query{Model: "model-2", Before: 90}}, {},
	}
	for _, encrypted := range []bool{false, true} {
		dir, o, with := t.TempDir(), record.Options{SegmentSize: 20_000}, record.ReadOptions{}
		if encrypted {
			o.Recipients, with.Identities = []age.Recipient{id.Recipient()}, []age.Identity{id}
		}
		exchanges(t, dir, 200, o)
		if _, err := sidecar.Make(t.Context(), dir, sidecar.Options{Identities: with.Identities, Small: true}); err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(os.RemoveAll(s.Path(bucket, "prod")), shipSmall(t, dir, s.Getenv)); err != nil {
			t.Fatal(err)
		}
		here := opened(t, dir, with)
		whole := map[string][]byte{}
		for _, name := range sidecarsOf(t, s) {
			if whole[name], err = os.ReadFile(s.Path(bucket, name)); err != nil {
				t.Fatal(err)
			}
		}
		if len(whole) < 5 {
			t.Fatalf("%d sidecars", len(whole))
		}
		putMerged(t, s, 60_000, sidecar.Options{Small: true, Identities: with.Identities})
		merged := mergedOf(t, s)
		if len(merged) < 2 {
			t.Fatalf("%d merged sidecars", len(merged))
		}
		for _, name := range merged {
			if whole[name], err = os.ReadFile(s.Path(bucket, name)); err != nil {
				t.Fatal(err)
			}
		}
		folder := t.TempDir()
		all := slices.Sorted(maps.Keys(whole))
		rounds := 30
		if effort.Brief() {
			rounds = 15
		}
		stale := 0
		for round := range rounds {
			spoil := []int{8, 30}[r.IntN(2)] // one in two, or a few
			for _, name := range all {
				data := slices.Clone(whole[name])
				switch r.IntN(spoil) {
				case 0:
					data = data[:r.IntN(len(data))]
				case 1:
					data[r.IntN(len(data))] ^= 1 << r.IntN(8)
				case 2:
					data = whole[all[r.IntN(len(all))]]
				case 3:
					if err := os.Remove(s.Path(bucket, name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
						t.Fatal(err)
					}
					continue
				}
				if err := os.WriteFile(s.Path(bucket, name), data, 0o600); err != nil {
					t.Fatal(err)
				}
			}
			if r.IntN(2) == 0 {
				folder = t.TempDir()
			}
			store, _ := reached(t, s.Getenv, folder, with)
			for range 3 {
				q := queries[r.IntN(len(queries))]
				if got, want := found(t, store, q), found(t, here, q); !slices.Equal(got, want) {
					t.Fatalf("round %d: %+v gives %v, want %v: %v", round, q, got, want, store.Report())
				}
				if got, want := millis(store, q.Query), millis(here, q.Query); !slices.Equal(got, want) {
					t.Fatalf("round %d: %+v has the facts %v, want %v", round, q, got, want)
				}
				if round%3 > 0 {
					continue
				}
				if got, want := entries(store, q.Query), entries(here, q.Query); !slices.Equal(got, want) {
					t.Fatalf("round %d: %+v has the entries %v, want %v", round, q, got, want)
				}
			}
			stale += store.Report().Stale
		}
		if stale == 0 {
			t.Error("no sidecar was spoiled")
		}
	}
}

func entries(s *sidecar.Store, q record.Query) (list []string) {
	for e, err := range s.Entries(q) {
		list = append(list, fmt.Sprintf("%+v %v", e, err))
	}
	return list
}

func millis(s *sidecar.Store, q record.Query) (list []string) {
	for f, err := range s.Facts(q, sidecar.Want{Numbers: []sidecar.Number{sidecar.Millis}}) {
		list = append(list, fmt.Sprint(f.Number[sidecar.Millis], err))
	}
	return list
}
