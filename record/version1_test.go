package record_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sotto-llm/sotto/internal/base/effort"
	"github.com/sotto-llm/sotto/record"
)

// version1 is a copy of a record that version 1 wrote, signed, its first two
// segments pruned.
func version1(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS("testdata/v1")); err != nil {
		t.Fatal(err)
	}
	return dir
}

// A record of version 1 is read and verified, and its checkpoints are named as
// weaker: they do not say what record they are in.
func TestVersion1(t *testing.T) {
	dir := version1(t)
	r := sound(t, dir, record.VerifyOptions{Keys: public()})
	if r.Weak == 0 || r.Weak != r.Checkpoints || r.Signed != 12 || r.Pruned != 2 || r.ID != "" {
		t.Errorf("report %+v", r)
	}
	if got := read(t, dir, record.ReadOptions{}, record.Query{Run: "run-1"}); len(got) != 3 || got[0].V != 1 {
		t.Errorf("%d events", len(got))
	}
	if r := verify(t, dir, record.VerifyOptions{Keys: public(), ID: strings.Repeat("0", 32)}); len(r.Findings) != 1 || r.Findings[0].Fault != record.Foreign {
		t.Errorf("a record without identity passes for one with: %v", r.Findings)
	}
}

// A writer goes on with a record of version 1 in a segment of version 2, which has
// an identity, and both verify.
func TestVersion1GoesOn(t *testing.T) {
	dir := version1(t)
	w := open(t, dir, record.Options{SigningKey: key()})
	id := w.ID()
	for range 2 {
		put(t, w, "run-1", 9, record.CycleStart{})
	}
	shut(t, w)
	w = open(t, dir, record.Options{SigningKey: key()})
	if w.ID() != id {
		t.Errorf("identity %s, then %s", id, w.ID())
	}
	put(t, w, "run-1", 9, record.CycleEnd{})
	shut(t, w)
	r := sound(t, dir, record.VerifyOptions{Keys: public(), ID: id})
	if r.ID != id || r.Weak == 0 || r.Weak >= r.Checkpoints || r.Signed != r.Head.Seq || r.Segments != 2 {
		t.Errorf("report %+v", r)
	}
	data, _ := os.ReadFile(segments(t, dir)[1])
	if !strings.Contains(string(data[:200]), `"record":"`+id+`"`) || strings.Contains(string(data), `"v":1,`) {
		t.Errorf("the segment begins %s", data[:200])
	}
	if got := read(t, dir, record.ReadOptions{}, record.Query{Run: "run-1"}); len(got) != 6 {
		t.Errorf("%d events", len(got))
	}
}

// A record keeps its identity through segments, retention and torn lines; another
// has another.
func TestIdentity(t *testing.T) {
	dir := t.TempDir()
	w := open(t, dir, record.Options{SigningKey: key(), SegmentSize: 1})
	id := w.ID()
	for range 4 {
		put(t, w, "", 0, record.CycleStart{})
	}
	if _, err := w.Prune(record.PruneOptions{Keep: 1}); err != nil {
		t.Fatal(err)
	}
	shut(t, w)
	last := segments(t, dir)[0]
	whole, _ := os.ReadFile(last)
	for _, left := range []string{string(whole), "", string(whole[:40])} {
		os.WriteFile(last, []byte(left), 0o600)
		w = open(t, dir, record.Options{SigningKey: key()})
		if w.ID() != id {
			t.Errorf("behind %.40q the identity is another", left)
		}
		put(t, w, "", 0, record.CycleStart{})
		shut(t, w)
		sound(t, dir, record.VerifyOptions{Keys: public(), ID: id})
	}
	other := open(t, t.TempDir(), record.Options{})
	defer shut(t, other)
	if len(id) != 32 || other.ID() == id {
		t.Errorf("identities %s and %s", id, other.ID())
	}
}

// Each byte of a checkpoint is signed: with the key, no change of its line passes,
// also where no line follows it.
func TestCheckpointSignsAllOfItself(t *testing.T) {
	_, l, _ := written(t, record.Options{})
	last := l[len(l)-1]
	chosen := effort.OneIn(7, "bytes")
	for i := range len(last) - 1 {
		if !chosen() {
			continue
		}
		c := []byte(string(last))
		c[i] ^= 1
		r := verify(t, join(t, append(append([][]byte{}, l[:len(l)-1]...), c)...), record.VerifyOptions{Keys: public()})
		if len(r.Findings) == 0 && r.Checkpoints > 0 {
			t.Errorf("byte %d (%q) can be changed", i, last[max(0, i-10):i+1])
		}
	}
	more := strings.Replace(string(last), `"cycle":0,`, `"cycle":0,"extra":1,`, 1)
	if r := verify(t, join(t, append(append([][]byte{}, l[:len(l)-1]...), []byte(more))...), record.VerifyOptions{Keys: public()}); len(r.Findings) != 1 || r.Findings[0].Fault != record.Forged {
		t.Errorf("a checkpoint with a further member: found %v", r.Findings)
	}
}

// A head that was kept and then pruned is not a fault of the record: the report says
// that it cannot be compared, and whether a key signed for it.
func TestKeptHeadThenPruned(t *testing.T) {
	for _, o := range []record.Options{{}, {SigningKey: key()}} {
		dir := t.TempDir()
		o.SegmentSize = 2000
		w := open(t, dir, o)
		for range 3 {
			put(t, w, "r", 0, record.CycleStart{Goal: record.Say(strings.Repeat("x", 200))})
		}
		head := w.Head()
		for range 30 {
			put(t, w, "r", 0, record.CycleStart{Goal: record.Say(strings.Repeat("x", 200))})
		}
		if _, err := w.Prune(record.PruneOptions{Keep: 4000}); err != nil {
			t.Fatal(err)
		}
		shut(t, w)
		r := sound(t, dir, record.VerifyOptions{Head: &head, Keys: public()[:len(o.SigningKey)/64]})
		if !r.HeadPruned || r.HeadSigned != (o.SigningKey != nil) {
			t.Errorf("report %+v", r)
		}
		end := r.Head
		end.Seq += 5
		if r := verify(t, dir, record.VerifyOptions{Head: &end}); len(r.Findings) != 1 || r.Findings[0].Fault != record.Truncated {
			t.Errorf("found %v", r.Findings)
		}
	}
}

// A tombstone that a crash, or somebody, left empty beside its segment is written
// again; without its segment it is a fault, and the rest is verified.
func TestEmptyTombstone(t *testing.T) {
	dir, _ := aged(t)
	empty := filepath.Join(dir, "00000000000000000001.pruned")
	os.WriteFile(empty, nil, 0o600)
	sound(t, dir, record.VerifyOptions{Keys: public()})
	if done, err := record.Prune(dir, record.PruneOptions{Keep: 1, SigningKey: key()}); err != nil || len(done) != 5 {
		t.Fatalf("pruned %d, %v", len(done), err)
	}
	sound(t, dir, record.VerifyOptions{Keys: public()})
	os.WriteFile(empty, nil, 0o600)
	r := verify(t, dir, record.VerifyOptions{Keys: public()})
	if len(r.Findings) == 0 || r.Findings[0].Fault != record.Unreadable || r.Pruned != 4 || r.Segments != 1 {
		t.Errorf("report %+v", r)
	}
}

// A record verifies at every moment while its writer prunes it, with every head that
// was kept before, and with any number of workers.
func TestVerifyBesidePrune(t *testing.T) {
	dir := t.TempDir()
	w := open(t, dir, record.Options{SegmentSize: 2000, KeepSize: 10_000, Policy: record.None, SigningKey: key()})
	more, done := make(chan int, 1), make(chan struct{})
	go func() {
		defer close(done)
		for n := range more { // so that the writer does not run away from the reader
			for range n {
				put(t, w, "r", 0, record.CycleStart{Goal: record.Say(strings.Repeat("x", 200))})
			}
		}
	}()
	pruned := 0
	var head record.Head
	for n := 0; n < 120 && (n < 20 || pruned < 20); n++ {
		if n%8 == 0 {
			more <- 40 // waits until the writer has begun with those before
		}
		r, err := record.Verify(dir, record.VerifyOptions{Keys: public(), Head: &head, Workers: n % 4})
		if err = errors.Join(err, r.Err()); err != nil {
			t.Fatal(err)
		}
		pruned = r.Pruned
		if n%8 == 0 {
			head = w.Head()
		}
	}
	close(more)
	<-done
	shut(t, w)
	if r := sound(t, dir, record.VerifyOptions{Keys: public(), Head: &head}); r.Pruned < 5 {
		t.Errorf("%d segments were pruned", r.Pruned)
	}
}

// A program that would continue a record of a newer version is refused: what it wrote
// could break rules that it does not know. Reading goes on.
func TestNewerVersion(t *testing.T) {
	dir := t.TempDir()
	w := open(t, dir, record.Options{})
	put(t, w, "run-1", 1, record.CycleStart{})
	shut(t, w)
	name := segments(t, dir)[0]
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	newer := strings.Replace(string(data), `{"v":2,`, `{"v":3,`, 1)
	if err := os.WriteFile(name, []byte(newer), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err = record.Open(dir, record.Options{})
	if err == nil || !strings.Contains(err.Error(), "has format 3") || !strings.Contains(err.Error(), filepath.Base(name)) {
		t.Error(err)
	}
	if got := read(t, dir, record.ReadOptions{}, record.Query{}); len(got) != 1 || got[0].V != 3 {
		t.Errorf("%d events", len(got))
	}
	if again, _ := os.ReadFile(name); string(again) != newer {
		t.Error("the segment changed")
	}
}
