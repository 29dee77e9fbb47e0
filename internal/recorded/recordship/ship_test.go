package recordship

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"math"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/sotto-llm/sotto/internal/base/retry"
	"github.com/sotto-llm/sotto/internal/net/objects"
	"github.com/sotto-llm/sotto/internal/net/objects/objectstest"
	"github.com/sotto-llm/sotto/internal/recorded/sidecar"
	"github.com/sotto-llm/sotto/record"
)

const bucket = "records"

var (
	place  = objects.Location{Bucket: bucket, Name: "prod"}
	quick  = retry.Policy{Attempts: 2, First: time.Millisecond, Longest: time.Millisecond}
	signer = ed25519.NewKeyFromSeed(bytes.Repeat([]byte{7}, ed25519.SeedSize))
	public = []ed25519.PublicKey{signer.Public().(ed25519.PublicKey)}
)

// write appends events to a record, in segments of a few lines.
func write(t testing.TB, dir string, n int) {
	t.Helper()
	w, err := record.Open(dir, record.Options{SegmentSize: 2000, SigningKey: signer, Policy: record.None})
	if err != nil {
		t.Fatal(err)
	}
	for i := range n {
		if _, err := w.Append(context.Background(), record.Event{Payload: record.CycleEnd{Summary: record.Say(fmt.Sprint(i, strings.Repeat("x", i%300)))}}); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
}

func shipper(t testing.TB, dir string, getenv func(string) string, o Options) *Shipper {
	t.Helper()
	o.Bucket = objects.Options{Getenv: getenv, Retry: quick}
	s, err := Open(context.Background(), dir, place, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// ship ships all of a record, by a new shipper.
func ship(t testing.TB, dir string, getenv func(string) string) {
	t.Helper()
	s := shipper(t, dir, getenv, Options{})
	if err := s.Step(context.Background()); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}

// copies brings the records and verifies each, with the head that is beside it.
func copies(t testing.TB, getenv func(string) string, folder string, all bool) []*Copy {
	t.Helper()
	list, err := Copies(context.Background(), place, folder, all, objects.Options{Getenv: getenv, Retry: quick})
	if err != nil {
		t.Fatal(err)
	}
	return list
}

func sound(t testing.TB, c *Copy) record.Report {
	t.Helper()
	r, err := record.Verify(c.Dir, record.VerifyOptions{Head: c.Head, ID: c.ID, Keys: public})
	if err != nil || r.Err() != nil || c.Head == nil || r.Head != *c.Head || len(c.Faults) > 0 {
		t.Fatalf("%v, %+v, head %v, %v", err, r, c.Head, c.Faults)
	}
	return r
}

// same compares the files of a record with those of its copy, byte for byte. A line
// that a crash cut is not shipped.
func same(t testing.TB, dir string, c *Copy) {
	t.Helper()
	want, err := record.Files(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range want {
		a, err1 := os.ReadFile(f.Path)
		if a = a[:bytes.LastIndexByte(a, '\n')+1]; err1 == nil && len(a) == 0 {
			continue
		}
		b, err2 := os.ReadFile(filepath.Join(c.Dir, filepath.Base(f.Path)))
		if err1 != nil || err2 != nil || !bytes.Equal(a, b) {
			t.Fatalf("%s: %d and %d bytes, %v, %v", filepath.Base(f.Path), len(a), len(b), err1, err2)
		}
	}
}

// names lists the objects of a server, without those of its own.
func names(t testing.TB, s *objectstest.Server) (list []string) {
	t.Helper()
	root := s.Path(bucket, "")
	_ = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			name, _ := filepath.Rel(root, path)
			list = append(list, filepath.ToSlash(name))
		}
		return nil
	})
	return list
}

// What is written comes to the store in steps, and back byte for byte. Parts of a
// segment go when it is there as a whole, and nothing is written twice.
func TestShip(t *testing.T) {
	s := objectstest.Start(t, bucket)
	dir, folder := t.TempDir(), t.TempDir()
	for _, n := range []int{3, 1, 40, 0, 7} {
		write(t, dir, n)
		ship(t, dir, s.Getenv)
		list := copies(t, s.Getenv, folder, false)
		if len(list) != 1 {
			t.Fatalf("%d records", len(list))
		}
		same(t, dir, list[0])
		sound(t, list[0])
	}
	before := names(t, s)
	ship(t, dir, s.Getenv)
	if after := names(t, s); !slices.Equal(before, after) {
		t.Errorf("a step without news left %q, and before %q", after, before)
	}
	list, err := record.Files(dir)
	if err != nil {
		t.Fatal(err)
	}
	if len(list) < 5 {
		t.Fatalf("the record has %d segments", len(list))
	}
	for _, name := range before {
		if strings.Contains(name, "/"+partsFolder) && !strings.Contains(name, fmt.Sprintf("/%020d/", list[len(list)-1].First)) {
			t.Errorf("%s is a part of a segment that is there", name)
		}
	}
}

// Without the note of what was shipped, everything is shipped again, and the store
// has the same record.
func TestStateLost(t *testing.T) {
	s := objectstest.Start(t, bucket)
	dir := t.TempDir()
	write(t, dir, 2)
	ship(t, dir, s.Getenv)
	write(t, dir, 30)
	ship(t, dir, s.Getenv)
	write(t, dir, 1)
	states, _ := filepath.Glob(filepath.Join(dir, statePrefix+"*"+stateExt))
	if len(states) != 1 || os.Remove(states[0]) != nil {
		t.Fatalf("states %q", states)
	}
	// A store that was killed during a write may keep a name without its content.
	for _, name := range names(t, s) {
		if strings.Contains(name, segmentsFolder) {
			if err := os.Truncate(s.Path(bucket, name), 3); err != nil {
				t.Fatal(err)
			}
		}
	}
	ship(t, dir, s.Getenv)
	c := copies(t, s.Getenv, t.TempDir(), false)[0]
	same(t, dir, c)
	sound(t, c)
}

// filtered is a server in front of another that refuses some requests.
func filtered(t testing.TB, s *objectstest.Server, allow func(*http.Request) bool) func(string) string {
	t.Helper()
	return proxied(t, s, func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		if !allow(r) {
			w.WriteHeader(http.StatusForbidden)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// proxied is a server in front of another.
func proxied(t testing.TB, s *objectstest.Server, serve func(http.ResponseWriter, *http.Request, http.Handler)) func(string) string {
	t.Helper()
	target, err := url.Parse(s.URL)
	if err != nil {
		t.Fatal(err)
	}
	to := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(target); r.Out.Host = r.In.Host }}
	p := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { serve(w, r, to) }))
	t.Cleanup(p.Close)
	return func(name string) string {
		if name == "AWS_ENDPOINT_URL_S3" {
			return p.URL
		}
		return s.Getenv(name)
	}
}

// The right to put objects suffices to ship.
func TestWriteOnly(t *testing.T) {
	s := objectstest.Start(t, bucket)
	writeOnly := filtered(t, s, func(r *http.Request) bool { return r.Method == http.MethodPut || r.Method == http.MethodPost })
	dir := t.TempDir()
	for range 3 {
		write(t, dir, 10)
		if err := shipSmall(t, dir, writeOnly); err != nil {
			t.Fatal(err)
		}
	}
	if store, _ := reached(t, s.Getenv, t.TempDir(), record.ReadOptions{}); len(found(t, store, sidecar.Query{Query: record.Query{Run: "none"}})) > 0 || store.Report().Brought > 0 || store.Report().Without != 1 {
		t.Errorf("the sidecars are not used: %v", store.Report())
	}
	c := copies(t, s.Getenv, t.TempDir(), false)[0]
	same(t, dir, c)
	sound(t, c)
}

// With a bound, nothing is shipped that is not acknowledged.
func TestAcknowledged(t *testing.T) {
	s := objectstest.Start(t, bucket)
	dir := t.TempDir()
	write(t, dir, 25)
	var head record.Head
	x := shipper(t, dir, s.Getenv, Options{Head: func() record.Head { return head }})
	for _, seq := range []uint64{0, 1, 7, 8, 20} {
		head.Seq = seq
		if err := x.Step(t.Context()); err != nil {
			t.Fatal(err)
		}
		if x.Head().Seq != seq {
			t.Errorf("event %d was shipped, and %d is acknowledged", x.Head().Seq, seq)
		}
	}
}

// Only segments that the store confirmed are pruned, and their tombstones follow.
func TestPrune(t *testing.T) {
	s := objectstest.Start(t, bucket)
	dir := t.TempDir()
	if _, err := Shipped(dir); !errors.Is(err, ErrNeverShipped) {
		t.Errorf("%v", err)
	}
	write(t, dir, 30)
	ship(t, dir, s.Getenv)
	write(t, dir, 30)
	needed, err := Shipped(dir)
	if err != nil || needed <= 1 {
		t.Fatalf("event %d is needed, %v", needed, err)
	}
	done, err := record.Prune(dir, record.PruneOptions{Keep: 1, Until: needed, SigningKey: signer})
	if err != nil || len(done) == 0 || done[len(done)-1].Last >= needed {
		t.Fatalf("%+v, %v", done, err)
	}
	ship(t, dir, s.Getenv)
	again, err := Shipped(dir)
	if err != nil || again <= needed {
		t.Errorf("event %d is needed, and before %d, %v", again, needed, err)
	}
	folder := t.TempDir()
	c := copies(t, s.Getenv, folder, false)[0]
	same(t, dir, c) // its tombstones too
	if r := sound(t, c); r.Pruned > 0 || r.Head.Seq < 60 {
		t.Errorf("%+v", r)
	}
	// A segment that was pruned before it was shipped is lost to the store; its
	// tombstone is not.
	write(t, dir, 30)
	if _, err := record.Prune(dir, record.PruneOptions{Keep: 1, SigningKey: signer}); err != nil {
		t.Fatal(err)
	}
	ship(t, dir, s.Getenv)
	gone := filepath.Join(c.Dir, record.SidecarName(77)) // of a copy that was there once
	if err := os.WriteFile(gone, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	c = copies(t, s.Getenv, folder, false)[0]
	if r := sound(t, c); r.Pruned == 0 || r.Head.Seq < 90 {
		t.Errorf("%+v", r)
	}
	if _, err := os.Lstat(gone); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the sidecar of a segment that is gone stays with the copy: %v", err)
	}
}

// failures is how many steps failed.
func failures(t *testing.T, x *Shipper) float64 {
	counted := prometheus.NewRegistry()
	counted.MustRegister(x.metrics.failures)
	families, err := counted.Gather()
	if err != nil || len(families) != 1 {
		t.Errorf("%v, %v", families, err)
		return math.Inf(1)
	}
	return families[0].GetMetric()[0].GetCounter().GetValue()
}

// A store that is away, or a bucket that is not there, loses nothing, and is said once.
func TestAway(t *testing.T) {
	s := objectstest.Start(t, bucket)
	dir := t.TempDir()
	write(t, dir, 30)
	var log bytes.Buffer
	x := shipper(t, dir, s.Getenv, Options{Every: 5 * time.Millisecond, Log: slog.New(slog.NewTextHandler(&log, nil))})
	if err := os.RemoveAll(s.Path(bucket, "")); err != nil {
		t.Fatal(err)
	}
	if err := x.Step(t.Context()); !errors.Is(err, objects.ErrNoBucket) {
		t.Errorf("without a bucket: %v", err)
	}
	s.Kill()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go func() {
		for failures(t, x) < 3 && ctx.Err() == nil {
			time.Sleep(time.Millisecond)
		}
		cancel()
	}()
	if err := x.Run(ctx); err != nil || strings.Count(log.String(), "cannot be shipped") != 1 || x.Needed() != 1 {
		t.Errorf("%v, event %d is needed, and the log has %q", err, x.Needed(), log.String())
	}
	if err := os.MkdirAll(s.Path(bucket, ""), 0o700); err != nil {
		t.Fatal(err)
	}
	s.Start()
	if err := x.Step(t.Context()); err != nil {
		t.Fatal(err)
	}
	same(t, dir, copies(t, s.Getenv, t.TempDir(), false)[0])
}

// A record that was cut or replaced after it was shipped is not shipped over what was.
func TestDiverged(t *testing.T) {
	s := objectstest.Start(t, bucket)
	dir := t.TempDir()
	write(t, dir, 3)
	ship(t, dir, s.Getenv)
	path := filepath.Join(dir, record.SegmentName(1))
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	cut := bytes.LastIndexByte(whole[:len(whole)-1], '\n') + 1
	for _, data := range [][]byte{whole[:cut], append(slices.Clone(whole[:cut]), bytes.Replace(whole[cut:], []byte(`"time"`), []byte(`"tide"`), 1)...)} {
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		x := shipper(t, dir, s.Getenv, Options{})
		if err := x.Step(t.Context()); !errors.Is(err, ErrDiverged) {
			t.Errorf("%v", err)
		}
		x.Close()
	}
}

func TestTwoShippers(t *testing.T) {
	s := objectstest.Start(t, bucket)
	dir := t.TempDir()
	write(t, dir, 1)
	shipper(t, dir, s.Getenv, Options{})
	if _, err := Open(t.Context(), dir, place, Options{Bucket: objects.Options{Getenv: s.Getenv}}); !errors.Is(err, ErrShipping) {
		t.Errorf("a second shipper: %v", err)
	}
}

// An object that was changed, exchanged, removed or added is named.
func TestTampered(t *testing.T) {
	s := objectstest.Start(t, bucket)
	dir := t.TempDir()
	write(t, dir, 40)
	ship(t, dir, s.Getenv)
	all := names(t, s)
	folder := t.TempDir()
	sound(t, copies(t, s.Getenv, folder, true)[0])
	zip, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	bomb := zip.EncodeAll(make([]byte, 64<<20), nil)
	for _, name := range all {
		if strings.Contains(name, "heads/") || strings.HasSuffix(name, probeObject) {
			continue
		}
		path := s.Path(bucket, name)
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		flipped := slices.Clone(data)
		flipped[len(data)/2] ^= 1
		for _, c := range [][]byte{flipped, bomb, nil, data[:len(data)/2]} {
			if err := os.WriteFile(path, c, 0o600); err != nil {
				t.Fatal(err)
			}
			got := copies(t, s.Getenv, folder, true)[0]
			r, err := record.Verify(got.Dir, record.VerifyOptions{Head: got.Head})
			if err != nil || r.Err() == nil || len(got.Faults) != 1 || got.Faults[0].URL != objects.Scheme+bucket+"/"+name || got.Faults[0].What != "changed" {
				t.Errorf("%s with %d bytes: %v, %v, %v", name, len(c), err, got.Faults, r.Err())
			}
			if info, err := os.Stat(got.Dir); err != nil || info.Size() > 1<<20 {
				t.Error(err)
			}
		}
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
		got := copies(t, s.Getenv, folder, true)[0]
		if r, err := record.Verify(got.Dir, record.VerifyOptions{Head: got.Head}); err != nil || r.Err() == nil {
			t.Errorf("without %s: %v, %v", name, err, r)
		}
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	id := strings.Split(all[0], "/")[1]
	for _, name := range []string{"segments/x", "notes", "segments/" + strings.Repeat("9", 20) + "-1"} {
		path := s.Path(bucket, "prod/"+id+"/"+name)
		if err := os.WriteFile(path, []byte("x"), 0o600); err != nil {
			t.Fatal(err)
		}
		got := copies(t, s.Getenv, folder, true)[0]
		if len(got.Faults) != 1 || got.Faults[0].What != "added" {
			t.Errorf("%s was added: %v", name, got.Faults)
		}
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
	}
	sound(t, copies(t, s.Getenv, folder, true)[0])
}

const probeObject = "sotto-probe"

// For any cuts, after any crashes, the parts that reach furthest are found, without a
// gap and without an overlap.
func TestChain(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 500 {
		size := int64(1 + r.IntN(60))
		var parts []content
		for range 1 + r.IntN(4) { // each run begins where one of the earlier stood
			at := int64(0)
			if len(parts) > 0 && r.IntN(2) == 0 {
				c := parts[r.IntN(len(parts))]
				at = c.from + c.size
			}
			for at < size && r.IntN(12) > 0 {
				n := 1 + r.Int64N(size-at)
				parts = append(parts, content{from: at, size: n})
				at += n
			}
		}
		furthest := int64(0)
		for _, c := range parts {
			furthest = max(furthest, c.from+c.size)
		}
		at := int64(0)
		for _, c := range chain(slices.Clone(parts)) {
			if c.from != at {
				t.Fatalf("%v: a part from %d after %d", parts, c.from, at)
			}
			at += c.size
		}
		if at != furthest {
			t.Fatalf("%v: the parts reach %d of %d", parts, at, furthest)
		}
	}
}

func TestNames(t *testing.T) {
	head := record.Head{Seq: 12, Digest: record.Digest{1, 2, 3}}
	if got, ok := readHead(headNamed(head)); !ok || got != head {
		t.Errorf("%v, %v", got, ok)
	}
	if c, ok := readWhole(segmentNamed(3, 9, 1, noDigest)); !ok || c.first != 3 || c.last != 9 || c.size != 1 {
		t.Errorf("%+v, %v", c, ok)
	}
	if c, ok := readPart(partNamed(3, 17, []byte("xy"))); !ok || c.first != 3 || c.from != 17 || c.size != 2 {
		t.Errorf("%+v, %v", c, ok)
	}
	for _, name := range []string{
		"../" + segmentNamed(1, 2, 0, noDigest), segmentNamed(2, 1, 0, noDigest), segmentNamed(0, 1, 0, noDigest), strings.Replace(segmentNamed(1, 2, 0, noDigest), ".jsonl.zst", ".pruned", 1),
		strings.Replace(headNamed(head), "12-", "13-", 1), partNamed(1, 0, nil), segmentNamed(1, 2, 0, noDigest) + "\n",
	} {
		_, whole := readWhole(name)
		_, part := readPart(name)
		_, head := readHead(name)
		if whole || part || head {
			t.Errorf("%q was read", name)
		}
	}
}
