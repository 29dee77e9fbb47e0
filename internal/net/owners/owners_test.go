package owners_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sotto-llm/sotto/internal/data/datafolder"
	"github.com/sotto-llm/sotto/internal/net/owners"
)

func open(t *testing.T, dir string) *owners.Store {
	t.Helper()
	s, err := owners.Open(dir, owners.Most, func(err error) { t.Error(err) })
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// The oldest is forgotten first, of each kind by itself, and the first owner stays.
func TestBound(t *testing.T) {
	s := owners.New(100)
	s.Note("batches", "b", "alice")
	for i := range 150 {
		s.Note("files", fmt.Sprint("file", i), "alice")
		s.Note("files", fmt.Sprint("file", i), "bob")
	}
	for i := range 150 {
		want := "alice"
		if i < 50 {
			want = ""
		}
		if got := s.Of("files", fmt.Sprint("file", i)); got != want {
			t.Errorf("file%d: %q", i, got)
		}
	}
	if s.Of("batches", "b") != "alice" || s.Of("batches", "file149") != "" || s.Len() != 101 {
		t.Errorf("%q, %d", s.Of("batches", "b"), s.Len())
	}
	for _, bad := range []string{"", strings.Repeat("x", owners.MaxID+1)} {
		if s.Note("files", bad, "alice"); s.Of("files", bad) != "" {
			t.Errorf("%d bytes have an owner", len(bad))
		}
	}
}

// Many ids, from many callers, do not make the memory grow.
func TestMemory(t *testing.T) {
	s := owners.New(1000)
	heap := func() uint64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	fill := func(from, to int) {
		for i := from; i < to; i++ {
			s.Note("files", fmt.Sprint("file", i), fmt.Sprint("caller", i%5000))
		}
	}
	fill(0, 10_000)
	before := heap()
	fill(10_000, 110_000)
	if after := heap(); after > before+(1<<20) || s.Len() != 1000 {
		t.Errorf("%d bytes, then %d, with %d entries", before, after, s.Len())
	}
	for i := range 1000 {
		s.Note(fmt.Sprint("kind", i), "a", "alice")
	}
	if s.Len() > 1100 {
		t.Errorf("%d entries of many kinds", s.Len())
	}
}

// What was noted is on the disk within a second, without the store being closed.
func TestFlush(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	s.Note("files", "file-1", "alice")
	for began := time.Now(); ; time.Sleep(time.Millisecond) {
		if _, err := os.Stat(filepath.Join(dir, owners.File)); err == nil {
			break
		} else if time.Since(began) > time.Minute {
			t.Fatal(err)
		}
	}
	if got := open(t, dir).Of("files", "file-1"); got != "alice" {
		t.Errorf("%q", got)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

// The order survives a restart, so that the oldest is forgotten first after it, too.
func TestOrder(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	for i := range 20 {
		s.Note("files", fmt.Sprint("file", i), "alice")
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	small, err := owners.Open(dir, 10, nil)
	if err != nil {
		t.Fatal(err)
	}
	if small.Of("files", "file9") != "" || small.Of("files", "file10") != "alice" {
		t.Error("another one than the oldest was forgotten")
	}
}

// Two processes with one folder, as during a takeover, lose nothing of each other's.
func TestTogether(t *testing.T) {
	dir := t.TempDir()
	one, two := open(t, dir), open(t, dir)
	one.Note("files", "of-one", "alice")
	two.Note("files", "of-two", "bob")
	for _, s := range []*owners.Store{one, two} {
		if err := s.Flush(); err != nil {
			t.Fatal(err)
		}
	}
	third := open(t, dir)
	for id, want := range map[string]string{"of-one": "alice", "of-two": "bob"} {
		for name, s := range map[string]*owners.Store{"one": one, "two": two, "a new one": third} {
			got := ""
			for began := time.Now(); got == "" && time.Since(began) < time.Minute; time.Sleep(time.Millisecond) {
				got = s.Of("files", id)
			}
			if got != want {
				t.Errorf("%s: %s is of %q", name, id, got)
			}
		}
	}
}

// Many goroutines may use a store at the same time.
func TestConcurrently(t *testing.T) {
	dir := t.TempDir()
	s, err := owners.Open(dir, 500, nil)
	if err != nil {
		t.Fatal(err)
	}
	var done sync.WaitGroup
	for n := range 8 {
		done.Go(func() {
			for i := range 300 {
				id := fmt.Sprintf("file-%d-%d", n%4, i)
				s.Note("files", id, fmt.Sprint("caller", n%4))
				if got := s.Of("files", id); got != "" && got != fmt.Sprint("caller", n%4) {
					t.Errorf("%s is of %s", id, got)
				}
				if i%100 == 0 {
					if err := s.Flush(); err != nil {
						t.Error(err)
					}
				}
			}
		})
	}
	done.Wait()
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if s.Len() != 500 {
		t.Errorf("%d entries", s.Len())
	}
}

// A file that no gateway wrote is refused by name and line, and a newer one by its version.
func TestHostile(t *testing.T) {
	const id = "AAAAAAAAAAAAAAAAAAAAAA"
	head := `{"v":2}` + "\n"
	refused := func(file, text string, newer bool) {
		t.Helper()
		dir := t.TempDir()
		name := filepath.Join(dir, file)
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := owners.Open(dir, 10, nil)
		if err == nil || !strings.Contains(err.Error(), file) || strings.Contains(err.Error(), "\x1b") {
			t.Errorf("%.80s: %v", text, err)
		}
		if _, ok := errors.AsType[*datafolder.NewerError](err); newer != ok {
			t.Errorf("%.80s: %v", text, err)
		}
		if _, err := owners.Check(name); err == nil {
			t.Errorf("%.80s passes the check", text)
		}
	}
	for _, text := range []string{
		`{`, "{}\n", "[]\n", "null\n", "\n", `{"v":1}` + "\n", `{"v":2,"kind":"files"}` + "\n", head + "\n", head + head, head + `{"kind":"files","id":"x","caller":"alice"}` + "\n",
		head + `{"kind":"files","id":"` + id + `"}` + "\n", head + `{"id":"` + id + `","caller":"alice"}` + "\n", head + `{"kind":"files","id":"` + id + `","caller":"a b"}` + "\n",
		head + `{"kind":"files","id":"` + id + `","caller":"` + strings.Repeat("a", 65) + `"}` + "\n", head + `{"kind":"\u001b[2J","id":"` + id + `","caller":"alice"}` + "\n",
		head + strings.Repeat("x", 5000), head + strings.Repeat("[", 5000) + "\n",
	} {
		refused(owners.File, text, false)
	}
	refused(owners.File, `{"v":9}`+"\n", true)
	for _, text := range []string{
		``, `{`, `[]`, `null`, `{"v":1,"owners":[]}`, `{"v":1,"owners":{"files":["x alice"]}}`, `{"v":1,"owners":{"files":["` + id + `"]}}`,
		`{"v":1,"owners":{"files":["` + id + ` a b"]}}`, `{"v":1,"owners":{"files":["` + id + ` ` + strings.Repeat("a", 65) + `"]}}`,
		`{"v":1,"owners":{"\u001b[2J":["` + id + ` alice"]}}`, `{"v":1,"owners":{"` + strings.Repeat("k", 65) + `":["` + id + ` alice"]}}`,
		`{"v":1,"owners":` + strings.Repeat(`{"a":`, 100) + `1` + strings.Repeat(`}`, 101),
	} {
		refused(owners.FirstFile, text, false)
	}
	refused(owners.FirstFile, `{"v":9,"owners":{}}`, true)
}

// The owners of the first format are taken over, and written in the new one with what comes later.
func TestFirstFormat(t *testing.T) {
	dir := t.TempDir()
	sum := sha256.Sum256([]byte("file-1"))
	id := base64.RawURLEncoding.EncodeToString(sum[:16])
	if err := os.WriteFile(filepath.Join(dir, owners.FirstFile), []byte(`{"v":1,"owners":{"files":["`+id+` alice"]}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	s := open(t, dir)
	s.Note("files", "file-2", "bob")
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(dir, owners.FirstFile)); err != nil {
		t.Fatal(err)
	}
	if s = open(t, dir); s.Of("files", "file-1") != "alice" || s.Of("files", "file-2") != "bob" {
		t.Errorf("%q, %q", s.Of("files", "file-1"), s.Of("files", "file-2"))
	}
}

// What is new is added to the file: what it costs does not depend on what is there. When most
// of its lines are forgotten, it is written again.
func TestAppends(t *testing.T) {
	const most = 100
	dir := t.TempDir()
	s, err := owners.Open(dir, most, func(err error) { t.Error(err) })
	if err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(dir, owners.File)
	var last []byte
	anew := 0
	for i := range 3000 {
		s.Note("files", fmt.Sprint("file", i), "alice")
		if err := s.Flush(); err != nil {
			t.Fatal(err)
		}
		now, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if lines := bytes.Count(now, []byte("\n")); lines > 2*most+1024 {
			t.Fatalf("%d lines", lines)
		}
		if !bytes.HasPrefix(now, last) {
			anew++
		}
		last = now
	}
	if anew != 2 { // after some 1,200 lines each
		t.Errorf("the file was written again %d times", anew)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

// A line that a killed process, or a full disk, left half is written over; wherever it was cut.
func TestTorn(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	s.Note("files", "whole", "alice")
	if err := s.Flush(); err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(dir, owners.File)
	before, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	s.Note("files", "cut", "alice")
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	all, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	for n := len(before); n < len(all); n++ {
		if err := os.WriteFile(name, all[:n], 0o600); err != nil {
			t.Fatal(err)
		}
		s := open(t, dir)
		if s.Of("files", "whole") != "alice" || s.Of("files", "cut") != "" {
			t.Fatalf("cut at %d: %q, %q", n, s.Of("files", "whole"), s.Of("files", "cut"))
		}
		s.Note("files", "next", "bob")
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		if s = open(t, dir); s.Of("files", "whole") != "alice" || s.Of("files", "next") != "bob" || s.Len() != 2 {
			t.Fatalf("cut at %d: %d owners", n, s.Len())
		}
	}
}

// A full disk is told, and does not stop the store: what it has is in memory.
func TestUnwritable(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	told := make(chan error, 100)
	s, err := owners.Open(dir, 10, func(err error) { told <- err })
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(dir, nil, 0o600); err != nil { // a file in the place of the folder
		t.Fatal(err)
	}
	s.Note("files", "file-1", "alice")
	select {
	case err := <-told:
		if err == nil {
			t.Error("no reason")
		}
	case <-time.After(time.Minute):
		t.Error("nothing was told")
	}
	if s.Of("files", "file-1") != "alice" {
		t.Error("it is lost")
	}
	_ = os.Remove(dir)
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if open(t, dir).Of("files", "file-1") != "alice" {
		t.Error("it was not written once there was room")
	}
}
