package recordship

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"filippo.io/age"

	"github.com/sotto-llm/sotto/internal/base/effort"
	"github.com/sotto-llm/sotto/internal/net/objects/objectstest"
	"github.com/sotto-llm/sotto/internal/recorded/sidecar"
	"github.com/sotto-llm/sotto/record"
)

// TestMergedRequests: where some segments have a sidecar together, a question takes at most 2
// requests for all of them, 3 for each segment that is not among them, and one for each event that it
// finds. The parts of a sidecar of 1 GiB are larger, and need 4: docs/scale.md has the numbers.
func TestMergedRequests(t *testing.T) {
	effort.OneGoroutine(t)
	s := objectstest.Start(t, bucket)
	dir := t.TempDir()
	exchanges(t, dir, 6000, record.Options{SegmentSize: 110_000})
	x := shipper(t, dir, s.Getenv, Options{small: true, merged: 1_750_000})
	defer x.Close()
	if err := x.Step(t.Context()); err != nil {
		t.Fatal(err)
	}
	countMerged(t, s, dir, record.ReadOptions{}, 6000)
}

// TestMergedEncrypted: who has the key of an encrypted record asks it with as few requests. Nobody
// else reads anything in what is in the store.
func TestMergedEncrypted(t *testing.T) {
	effort.OneGoroutine(t)
	s := objectstest.Start(t, bucket)
	id, err := age.GenerateX25519Identity()
	if err != nil {
		t.Fatal(err)
	}
	dir, with := t.TempDir(), record.ReadOptions{Identities: []age.Identity{id}}
	exchanges(t, dir, 1500, record.Options{SegmentSize: 60_000, Recipients: []age.Recipient{id.Recipient()}})
	o := sidecar.Options{Small: true, Identities: with.Identities}
	if _, err := sidecar.Make(t.Context(), dir, o); err != nil {
		t.Fatal(err)
	}
	if err := shipSmall(t, dir, s.Getenv); err != nil {
		t.Fatal(err)
	}
	putMerged(t, s, 700_000, o)
	for _, name := range mergedOf(t, s) {
		data, err := os.ReadFile(s.Path(bucket, name))
		if err != nil {
			t.Fatal(err)
		}
		for _, secret := range []string{"unique", "model-1", "answered", "x-7"} {
			if bytes.Contains(data, []byte(secret)) {
				t.Errorf("%s has %q", name, secret)
			}
		}
	}
	countMerged(t, s, dir, with, 1500)
}

// countMerged counts the requests of questions to a record that is merged in a store.
func countMerged(t *testing.T, s *objectstest.Server, dir string, with record.ReadOptions, events int) {
	t.Helper()
	groups, members := len(mergedOf(t, s)), 0
	_, c := reached(t, s.Getenv, t.TempDir(), with)
	for _, g := range c.stored.groups() {
		members += len(g.members)
	}
	rest := len(c.stored.segments) - members
	if groups < 3 || len(c.stored.segments) < 12*groups || rest > 17 {
		t.Fatalf("%d merged sidecars of %d segments, %d are left", groups, members, rest)
	}
	getenv, n := counted(t, s)
	here := opened(t, dir, with)
	for name, q := range map[string]sidecar.Query{
		"an identifier":         {IDs: []string{"x-777"}},
		"an identifier of none": {IDs: []string{"x-none"}},
		"a rare word":           {Pattern: regexp.MustCompile("unique1456")},
		"a word of none":        {Pattern: regexp.MustCompile("nobodywrotethis")},
		"a model of none":       {Query: record.Query{Model: "none"}},
		"a time of none":        {Query: record.Query{After: 1 << 40}},
	} {
		store, _ := reached(t, getenv, t.TempDir(), with)
		n.reset()
		got, want := found(t, store, q), found(t, here, q)
		r := store.Report()
		most := int64(2*groups + 3*rest + len(want))
		t.Logf("%s: %d requests of at most %d for %d merged sidecars and %d others; %v", name, n.requests.Load(), most, groups, rest, r)
		if !slices.Equal(got, want) || r.Without > 1 || r.Stale > 0 || r.Brought > 0 {
			t.Errorf("%s: %v, want %v: %v", name, got, want, r)
		}
		if n.requests.Load() > most || int64(r.Requests) != n.requests.Load() {
			t.Errorf("%s: %d requests, at most %d are fine: %v", name, n.requests.Load(), most, r)
		}
	}
	store, _ := reached(t, getenv, t.TempDir(), with)
	n.reset()
	want := sidecar.Want{Numbers: []sidecar.Number{sidecar.Millis}, Words: []sidecar.Word{sidecar.Model, sidecar.Outcome}}
	sum, count := int64(0), 0
	for f, err := range store.Facts(record.Query{Types: []record.Type{record.TypeExchange}}, want) {
		if err != nil {
			t.Fatal(err)
		}
		sum, count = sum+f.Number[sidecar.Millis], count+1
	}
	if most := int64(2*groups + 3*rest); count != events || sum != int64(events)*int64(events-1)/2 || n.requests.Load() > most || store.Report().Brought > 0 {
		t.Errorf("%d events, %d ms, %d requests of at most %d: %v", count, sum, n.requests.Load(), most, store.Report())
	}
}

// TestMergedIndex: PutSidecars merges what the shipper did not, keeps what is enough, replaces what
// has become more, and is put right if it ends at any write.
func TestMergedIndex(t *testing.T) {
	s := objectstest.Start(t, bucket)
	dir := t.TempDir()
	exchanges(t, dir, 120, record.Options{SegmentSize: 20_000})
	if err := shipSmall(t, dir, s.Getenv); err != nil {
		t.Fatal(err)
	}
	const size = 70_000
	o := sidecar.Options{Small: true}
	putMerged(t, s, size, o)
	first := map[string][]byte{}
	for _, name := range mergedOf(t, s) {
		first[name], _ = os.ReadFile(s.Path(bucket, name))
	}
	if len(first) < 2 {
		t.Fatalf("%d merged sidecars", len(first))
	}
	exchanges(t, dir, 30, record.Options{SegmentSize: 20_000})
	if err := shipSmall(t, dir, s.Getenv); err != nil {
		t.Fatal(err)
	}
	var want []string
	for n, done := 0, false; !done; n++ {
		for _, name := range mergedOf(t, s) {
			if err := os.Remove(s.Path(bucket, name)); err != nil {
				t.Fatal(err)
			}
		}
		for name, data := range first {
			if err := os.WriteFile(s.Path(bucket, name), data, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		var mu sync.Mutex
		writes := 0
		getenv := proxied(t, s, func(w http.ResponseWriter, r *http.Request, next http.Handler) {
			mu.Lock()
			defer mu.Unlock()
			if r.Method == http.MethodPut || r.Method == http.MethodDelete {
				if writes++; writes > n {
					_, _ = io.Copy(io.Discard, r.Body)
					w.WriteHeader(http.StatusForbidden) // all that the process would have written later
					return
				}
			}
			next.ServeHTTP(w, r)
		})
		store, c := reached(t, getenv, t.TempDir(), record.ReadOptions{})
		if _, err := store.Whole(); err != nil {
			t.Fatal(err)
		}
		c.Away.(*away).merged = size
		_, err := c.PutSidecars(t.Context(), false, o)
		done = err == nil
		q := sidecar.Query{IDs: []string{"x-1", "x-99"}}
		store, _ = reached(t, s.Getenv, t.TempDir(), record.ReadOptions{})
		if got, want := found(t, store, q), found(t, opened(t, dir, record.ReadOptions{}), q); !slices.Equal(got, want) || store.Report().Stale > 0 {
			t.Errorf("after %d writes: events %v, want %v: %v", n, got, want, store.Report())
		}
		putMerged(t, s, size, o)
		if list := mergedOf(t, s); want == nil {
			want = list
		} else if !slices.Equal(list, want) {
			t.Errorf("after %d writes: %q, want %q", n, list, want)
		}
		if n > 20 {
			t.Fatal("the indexing never ends")
		}
	}
	kept := 0
	for name := range first {
		if slices.Contains(want, name) {
			kept++
		}
	}
	if kept == 0 || kept == len(first) {
		t.Errorf("%d of %d merged sidecars are kept, and one became more", kept, len(first))
	}
	_, c := reached(t, s.Getenv, t.TempDir(), record.ReadOptions{})
	members := 0
	for _, g := range c.stored.groups() {
		members += len(g.members)
	}
	if members != len(c.stored.segments) {
		t.Errorf("%d of %d segments are merged", members, len(c.stored.segments))
	}
}

// TestMergedFaults: a merged sidecar that was changed is named when the record is brought, one that
// is forged is found by the check, and PutSidecars puts both right. One that is of a segment which
// is gone is not used, and is removed with it.
func TestMergedFaults(t *testing.T) {
	s := objectstest.Start(t, bucket)
	dir := t.TempDir()
	exchanges(t, dir, 200, record.Options{SegmentSize: 20_000})
	if err := shipSmall(t, dir, s.Getenv); err != nil {
		t.Fatal(err)
	}
	putMerged(t, s, 70_000, sidecar.Options{Small: true})
	list := mergedOf(t, s)
	if len(list) < 3 {
		t.Fatalf("merged sidecars: %q", list)
	}
	check := func(what string, faults, wrong int) {
		t.Helper()
		c := copies(t, s.Getenv, t.TempDir(), true)[0]
		checked, err := c.CheckMerged(t.Context(), sidecar.Options{})
		if err != nil || len(c.Faults) != faults || len(checked.Wrong) != wrong || checked.Compared != len(list)-faults {
			t.Errorf("%s: faults %v, %+v, %v", what, c.Faults, checked, err)
		}
	}
	check("as it was put", 0, 0)
	path := s.Path(bucket, list[1])
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	other, err := os.ReadFile(s.Path(bucket, list[2]))
	if err != nil {
		t.Fatal(err)
	}
	flipped := slices.Clone(whole)
	flipped[len(flipped)-1] ^= 1
	write := func(data []byte) {
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for name, data := range map[string][]byte{"flipped": flipped, "cut": whole[:len(whole)-1], "empty": nil, "another's": other} {
		write(data)
		check(name, 1, 0)
	}
	// The sidecar of one of the segments, and that of other segments, with a cover that fits.
	at, _ := readWhole(list[1][strings.Index(list[1], mergedFolder):])
	for name, from := range map[string]string{"that of one": sidecarsOf(t, s)[4], "that of others": list[2]} {
		c, _ := readWhole(from[strings.LastIndex(from[:strings.LastIndex(from, "/")], "/")+1:])
		data, err := os.ReadFile(s.Path(bucket, from))
		if err != nil {
			t.Fatal(err)
		}
		side, ok := sidecar.Uncovered(data, c.digest, c.size)
		if !ok {
			t.Fatal(from)
		}
		forged, err := sidecar.Cover(side, at.digest, at.size, nil)
		if err != nil {
			t.Fatal(err)
		}
		write(forged)
		check(name, 0, 1)
	}
	store, c := reached(t, s.Getenv, t.TempDir(), record.ReadOptions{})
	q := sidecar.Query{IDs: []string{fmt.Sprint("x-", at.first-1)}}
	if got := found(t, store, q); len(got) != 1 || got[0] != at.first {
		t.Errorf("a forged sidecar hides event %d: %v", at.first, got)
	}
	if _, err := store.Whole(); err != nil {
		t.Fatal(err)
	}
	c.Away.(*away).merged = 70_000
	if _, err := c.PutSidecars(t.Context(), true, sidecar.Options{Small: true}); err != nil {
		t.Fatal(err)
	}
	if data, err := os.ReadFile(path); err != nil || !slices.Equal(data, whole) {
		t.Errorf("the merged sidecar was not put right: %v", err)
	}
	check("put again", 0, 0)

	for _, name := range names(t, s) {
		if strings.Contains(name, segmentsFolder+fmt.Sprintf("%020d", at.first)) {
			if err := os.Remove(s.Path(bucket, name)); err != nil {
				t.Fatal(err)
			}
		}
	}
	store, _ = reached(t, s.Getenv, t.TempDir(), record.ReadOptions{})
	for f, err := range store.Facts(record.Query{}, sidecar.Want{Numbers: []sidecar.Number{sidecar.Millis}}) {
		if err != nil || f.Number[sidecar.Seq] == int64(at.first) {
			t.Fatalf("event %d, %v", f.Number[sidecar.Seq], err)
		}
	}
	putMerged(t, s, 70_000, sidecar.Options{Small: true})
	if slices.Contains(mergedOf(t, s), list[1]) || !slices.Contains(mergedOf(t, s), list[0]) {
		t.Errorf("%q are left of %q", mergedOf(t, s), list)
	}
}
