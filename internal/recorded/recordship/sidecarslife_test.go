package recordship

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"filippo.io/age"

	"github.com/klauspost/compress/zstd"
	"github.com/sotto-llm/sotto/internal/net/objects/objectstest"
	"github.com/sotto-llm/sotto/internal/recorded/sidecar"
	"github.com/sotto-llm/sotto/internal/testing/waiting"
	"github.com/sotto-llm/sotto/record"
)

// TestSidecarFaults: of a record that is brought as a whole, a sidecar that was changed is named,
// and one that is forged is found by the check. PutSidecars puts them right.
func TestSidecarFaults(t *testing.T) {
	s := objectstest.Start(t, bucket)
	dir := t.TempDir()
	exchanges(t, dir, 200, record.Options{SegmentSize: 20_000})
	if err := shipSmall(t, dir, s.Getenv); err != nil {
		t.Fatal(err)
	}
	list := sidecarsOf(t, s)
	c := copies(t, s.Getenv, t.TempDir(), true)[0]
	if checked, err := sidecar.Check(c.Dir, nil); err != nil || checked.Compared != len(list) || len(checked.Wrong) > 0 || len(c.Faults) > 0 {
		t.Fatalf("%+v, %v, %v", checked, err, c.Faults)
	}
	path := s.Path(bucket, list[2])
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	other, err := os.ReadFile(s.Path(bucket, list[3]))
	if err != nil {
		t.Fatal(err)
	}
	flipped := slices.Clone(whole)
	flipped[len(flipped)-1] ^= 1
	for name, data := range map[string][]byte{"flipped": flipped, "cut": whole[:len(whole)-1], "empty": nil, "another's": other} {
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		c := copies(t, s.Getenv, t.TempDir(), true)[0]
		if len(c.Faults) != 1 || c.Faults[0].What != "changed" || !strings.HasSuffix(c.Faults[0].URL, list[2]) {
			t.Errorf("%s: %v", name, c.Faults)
		}
	}
	// The sidecar of another segment, with a cover that says that it is of this one.
	forged := uncovered(t, s, list[3])
	at, _ := readWhole(list[2][strings.Index(list[2], sidecarsFolder):])
	if forged, err = sidecar.Cover(forged, at.digest, at.size, nil); err == nil {
		err = os.WriteFile(path, forged, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	c = copies(t, s.Getenv, t.TempDir(), true)[0]
	if checked, err := sidecar.Check(c.Dir, nil); err != nil || len(c.Faults) > 0 || len(checked.Wrong) != 1 || checked.Wrong[0].First != at.first {
		t.Errorf("forged: %+v, %v, %v", checked, err, c.Faults)
	}
	store, c := reached(t, s.Getenv, t.TempDir(), record.ReadOptions{})
	q := sidecar.Query{IDs: []string{fmt.Sprint("x-", at.first-1)}}
	if got := found(t, store, q); len(got) != 1 || got[0] != at.first {
		t.Errorf("a forged sidecar hides event %d: %v", at.first, got)
	}
	if _, err := store.Whole(); err != nil {
		t.Fatal(err)
	}
	if n, err := c.PutSidecars(t.Context(), true, sidecar.Options{Small: true}); err != nil || n != len(list) {
		t.Errorf("%d sidecars were put, %v", n, err)
	}
	if data, err := os.ReadFile(path); err != nil || !bytes.Equal(data, whole) {
		t.Errorf("the sidecar was not put right: %v", err)
	}
}

// uncovered is the sidecar of an object.
func uncovered(t *testing.T, s *objectstest.Server, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(s.Path(bucket, name))
	if err != nil {
		t.Fatal(err)
	}
	at, _ := readWhole(name[strings.Index(name, sidecarsFolder):])
	side, ok := sidecar.Uncovered(data, at.digest, at.size)
	if !ok {
		t.Fatalf("%s is not covered", name)
	}
	return side
}

// TestSidecarsLater: what was shipped by an earlier version, in one frame and without sidecars,
// gets sidecars by the next step, or by PutSidecars, and is read as before.
func TestSidecarsLater(t *testing.T) {
	s := objectstest.Start(t, bucket)
	dir := t.TempDir()
	exchanges(t, dir, 200, record.Options{SegmentSize: 20_000})
	ship(t, dir, s.Getenv) // without those of small segments
	if n := len(sidecarsOf(t, s)); n > 0 {
		t.Fatalf("%d sidecars of small segments", n)
	}
	zip, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	segments := 0
	for _, name := range names(t, s) {
		c, ok := readWhole(name[strings.Index(name, "/segments")+1:])
		if !ok {
			continue
		}
		segments++
		data, err := os.ReadFile(filepath.Join(dir, record.SegmentName(c.first)))
		if err != nil {
			t.Fatal(err)
		}
		if segments%2 == 0 { // as it was stored once: here with other lengths, since it is short
			data = zip.EncodeAll(data[:len(data)/2], zip.EncodeAll(data[len(data)/2:len(data)/2], nil))
			rest, _ := os.ReadFile(filepath.Join(dir, record.SegmentName(c.first)))
			data = zip.EncodeAll(rest[len(rest)/2:], data)
			if err := os.WriteFile(s.Path(bucket, name), data, 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	store, c := reached(t, s.Getenv, t.TempDir(), record.ReadOptions{})
	if _, err := store.Whole(); err != nil {
		t.Fatal(err)
	}
	if n, err := c.PutSidecars(t.Context(), false, sidecar.Options{Small: true}); err != nil || n != segments {
		t.Errorf("%d sidecars were put of %d, %v", n, segments, err)
	}
	q := sidecar.Query{IDs: []string{"x-77"}}
	store, _ = reached(t, s.Getenv, t.TempDir(), record.ReadOptions{})
	if got, want := found(t, store, q), found(t, opened(t, dir, record.ReadOptions{}), q); !slices.Equal(got, want) || store.Report().Stale > 0 {
		t.Errorf("%v, want %v: %v", got, want, store.Report())
	}
	if r := store.Report(); r.Brought == 0 || r.Brought >= segments {
		t.Errorf("%d of %d segments were brought as a whole", r.Brought, segments)
	}
	before := map[string][]byte{}
	for _, name := range sidecarsOf(t, s) {
		before[name], _ = os.ReadFile(s.Path(bucket, name))
		if err := os.Remove(s.Path(bucket, name)); err != nil {
			t.Fatal(err)
		}
	}
	states, _ := filepath.Glob(filepath.Join(dir, statePrefix+"*"+stateExt))
	state, err := os.ReadFile(states[0])
	if err != nil {
		t.Fatal(err)
	}
	state = regexp.MustCompile(`"sidecars":\d+,`).ReplaceAll(state, nil)
	if err := errors.Join(os.WriteFile(states[0], state, 0o600), shipSmall(t, dir, s.Getenv)); err != nil {
		t.Fatal(err)
	}
	for name, data := range before {
		if got, err := os.ReadFile(s.Path(bucket, name)); err != nil || !bytes.Equal(got, data) {
			t.Errorf("%s is not what PutSidecars put: %v", name, err)
		}
	}
}

// TestSidecarsEncrypted: nothing of an encrypted segment is shipped in the clear. Its sidecar is
// shipped if somebody with an identity made it.
func TestSidecarsEncrypted(t *testing.T) {
	s := objectstest.Start(t, bucket)
	id, err := age.GenerateX25519Identity()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	o := record.Options{SegmentSize: 20_000, Recipients: []age.Recipient{id.Recipient()}}
	exchanges(t, dir, 100, o)
	if err := shipSmall(t, dir, s.Getenv); err != nil {
		t.Fatal(err)
	}
	if list := sidecarsOf(t, s); len(list) > 0 {
		t.Fatalf("sidecars were made without an identity: %q", list)
	}
	if _, err := sidecar.Make(t.Context(), dir, sidecar.Options{Small: true, Identities: []age.Identity{id}}); err != nil {
		t.Fatal(err)
	}
	exchanges(t, dir, 100, o)
	if _, err := sidecar.Make(t.Context(), dir, sidecar.Options{Small: true, Identities: []age.Identity{id}}); err != nil {
		t.Fatal(err)
	}
	if err := shipSmall(t, dir, s.Getenv); err != nil {
		t.Fatal(err)
	}
	list := sidecarsOf(t, s)
	if len(list) < 2 {
		t.Fatalf("%d sidecars", len(list))
	}
	for _, name := range list {
		data, err := os.ReadFile(s.Path(bucket, name))
		_, side, _ := bytes.Cut(data, []byte("\n"))
		if _, side, _ = bytes.Cut(side, []byte("\n")); err != nil || !bytes.HasPrefix(side, []byte("age-encryption.org/")) {
			t.Errorf("%s is not encrypted: %v", name, err)
		}
		for _, secret := range []string{"unique", "model-1", "answered", "x-7"} {
			if bytes.Contains(data, []byte(secret)) {
				t.Errorf("%s has %q", name, secret)
			}
		}
	}
	q := sidecar.Query{IDs: []string{"x-7"}}
	with := record.ReadOptions{Identities: []age.Identity{id}}
	store, _ := reached(t, s.Getenv, t.TempDir(), with)
	if got, want := found(t, store, q), found(t, opened(t, dir, with), q); !slices.Equal(got, want) || len(want) != 2 || store.Report().Stale > 0 {
		t.Errorf("%v, want %v: %v", got, want, store.Report())
	}
}

// TestSidecarsKilled: a shipper that ends at any write leaves no sidecar or a whole right one, and
// the next one completes what is missing. A store that keeps half of an object is put right.
func TestSidecarsKilled(t *testing.T) {
	s := objectstest.Start(t, bucket)
	from := t.TempDir()
	exchanges(t, from, 40, record.Options{SegmentSize: 20_000})
	shipMerged := func(dir string, getenv func(string) string) error {
		x := shipper(t, dir, getenv, Options{small: true, merged: 38_000})
		defer x.Close()
		return x.Step(t.Context())
	}
	list := func() []string { return append(sidecarsOf(t, s), mergedOf(t, s)...) }
	if err := shipMerged(from, s.Getenv); err != nil {
		t.Fatal(err)
	}
	if len(mergedOf(t, s)) == 0 {
		t.Fatal("nothing was merged")
	}
	want := map[string][]byte{}
	for _, name := range list() {
		want[name], _ = os.ReadFile(s.Path(bucket, name))
	}
	states, _ := filepath.Glob(filepath.Join(from, statePrefix+"*"))
	for _, path := range states {
		os.Remove(path)
	}
	for n, done := 0, false; !done; n++ {
		dir := t.TempDir()
		if err := errors.Join(os.CopyFS(dir, os.DirFS(from)), os.RemoveAll(s.Path(bucket, "prod"))); err != nil {
			t.Fatal(err)
		}
		var mu sync.Mutex
		puts := 0
		getenv := proxied(t, s, func(w http.ResponseWriter, r *http.Request, next http.Handler) {
			mu.Lock()
			defer mu.Unlock()
			if r.Method == http.MethodPut && !strings.HasSuffix(r.URL.Path, probeObject) {
				if puts++; puts > n {
					_, _ = io.Copy(io.Discard, r.Body)
					w.WriteHeader(http.StatusForbidden) // all that the process would have written later
					return
				}
			}
			next.ServeHTTP(w, r)
		})
		err := shipMerged(dir, getenv)
		done = err == nil
		for _, name := range list() {
			if data, err := os.ReadFile(s.Path(bucket, name)); err != nil || !bytes.Equal(data, want[name]) {
				t.Fatalf("after %d writes, %s is wrong: %v", n, name, err)
			}
		}
		for _, name := range list() { // the store was killed too
			if err := os.Truncate(s.Path(bucket, name), 10); err != nil {
				t.Fatal(err)
			}
			if n%2 == 0 {
				break
			}
		}
		states, _ := filepath.Glob(filepath.Join(dir, statePrefix+"*"+stateExt))
		for _, path := range states {
			os.Remove(path) // it was not written yet
		}
		if err := shipMerged(dir, s.Getenv); err != nil {
			t.Fatal(err)
		}
		for name, data := range want {
			if got, err := os.ReadFile(s.Path(bucket, name)); err != nil || !bytes.Equal(got, data) {
				t.Fatalf("after %d writes and another step, %s is wrong: %v", n, name, err)
			}
		}
		if n > 100 {
			t.Fatal("the shipping never ends")
		}
	}
}

// TestSidecarsGo: when a segment is removed from a store, nothing of it is read from its sidecar,
// which goes when sidecars are put next.
func TestSidecarsGo(t *testing.T) {
	s := objectstest.Start(t, bucket)
	dir, folder := t.TempDir(), t.TempDir()
	exchanges(t, dir, 100, record.Options{SegmentSize: 20_000})
	if err := shipSmall(t, dir, s.Getenv); err != nil {
		t.Fatal(err)
	}
	store, c := reached(t, s.Getenv, folder, record.ReadOptions{})
	if _, err := store.Whole(); err != nil {
		t.Fatal(err)
	}
	if _, err := sidecar.Make(t.Context(), c.Dir, sidecar.Options{Small: true}); err != nil {
		t.Fatal(err)
	}
	for _, name := range names(t, s) {
		if strings.Contains(name, segmentsFolder+fmt.Sprintf("%020d", 1)) {
			if err := os.Remove(s.Path(bucket, name)); err != nil {
				t.Fatal(err)
			}
		}
	}
	store, c = reached(t, s.Getenv, folder, record.ReadOptions{})
	if got := found(t, store, sidecar.Query{IDs: []string{"x-0", "x-99"}}); len(got) != 1 || got[0] < 50 {
		t.Errorf("events %v", got)
	}
	for _, name := range []string{record.SegmentName(1), record.SidecarName(1)} {
		if _, err := os.Lstat(filepath.Join(c.Dir, name)); !os.IsNotExist(err) {
			t.Errorf("%s stays in the copy: %v", name, err)
		}
	}
	for f, err := range store.Facts(record.Query{}, sidecar.Want{Numbers: []sidecar.Number{sidecar.Seq}}) {
		if err != nil || f.Number[sidecar.Seq] == 1 {
			t.Fatalf("event %d, %v", f.Number[sidecar.Seq], err)
		}
	}
	before := sidecarsOf(t, s)
	if _, err := c.PutSidecars(t.Context(), false, sidecar.Options{}); err != nil {
		t.Fatal(err)
	}
	if after := sidecarsOf(t, s); !slices.Equal(after, before[1:]) {
		t.Errorf("%q are left of %q", after, before)
	}
}

// TestSidecarsOneByOne: a shipper that runs makes one sidecar in a step, after it shipped what is
// new, and goes on without a rest while there are more.
func TestSidecarsOneByOne(t *testing.T) {
	s := objectstest.Start(t, bucket)
	dir := t.TempDir()
	exchanges(t, dir, 100, record.Options{SegmentSize: 20_000})
	x := shipper(t, dir, s.Getenv, Options{small: true})
	x.single = true
	for n := 1; n == 1 || x.more; n++ {
		exchanges(t, dir, 1, record.Options{SegmentSize: 1 << 20})
		if err := x.Step(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got := len(sidecarsOf(t, s)); got != n || x.Head().Seq != uint64(100+n) {
			t.Fatalf("step %d: %d sidecars, head %v", n, got, x.Head())
		}
	}
	files, err := record.Files(dir)
	if err != nil {
		t.Fatal(err)
	}
	if got := len(sidecarsOf(t, s)); got != len(files)-1 || got < 4 {
		t.Errorf("%d sidecars of %d segments", got, len(files))
	}
	x.Close()
	if err := os.RemoveAll(s.Path(bucket, "prod")); err != nil {
		t.Fatal(err)
	}
	states, _ := filepath.Glob(filepath.Join(dir, statePrefix+"*"+stateExt))
	if len(states) != 1 || os.Remove(states[0]) != nil {
		t.Fatalf("states %q", states)
	}
	x = shipper(t, dir, s.Getenv, Options{small: true, Every: time.Hour})
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- x.Run(ctx) }()
	waiting.Until(t, "all sidecars without a rest", func() bool { return len(sidecarsOf(t, s)) == len(files)-1 })
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
