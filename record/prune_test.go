package record_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sotto-llm/sotto/record"
)

// aged is a record of six segments, each of an event and a checkpoint.
func aged(t *testing.T) (dir string, head record.Head) {
	t.Helper()
	dir = t.TempDir()
	w := open(t, dir, record.Options{SegmentSize: 1, SigningKey: key()})
	for range 6 {
		put(t, w, "r", 0, record.CycleStart{Goal: record.Say("g")})
	}
	shut(t, w)
	return dir, sound(t, dir, record.VerifyOptions{Keys: public()}).Head
}

// What is pruned is gone, and the chain over it still holds.
func TestPrune(t *testing.T) {
	dir, head := aged(t)
	if dry, err := record.Prune(dir, record.PruneOptions{Before: time.Now(), DryRun: true}); err != nil || len(dry) != 5 || len(segments(t, dir)) != 6 {
		t.Fatalf("dry run: %v, %v", dry, err)
	}
	total := 0
	for _, s := range segments(t, dir) {
		info, _ := os.Stat(s)
		total += int(info.Size())
	}
	stones, err := record.Prune(dir, record.PruneOptions{Keep: int64(total * 7 / 10), SigningKey: key()})
	if err != nil || len(stones) != 2 || stones[0].First != 1 || stones[1].Last != 4 {
		t.Fatalf("pruned %+v, %v", stones, err)
	}
	r := sound(t, dir, record.VerifyOptions{Keys: public(), Head: &head})
	if r.Pruned != 2 || r.Segments != 4 || r.Head != head {
		t.Errorf("report %+v", r)
	}
	w := open(t, dir, record.Options{SegmentSize: 1, SigningKey: key()})
	put(t, w, "r", 1, record.CycleEnd{})
	if stones, err = w.Prune(record.PruneOptions{Before: time.Now().Add(time.Hour)}); err != nil || len(stones) != 4 {
		t.Fatalf("pruned %+v, %v", stones, err)
	}
	put(t, w, "r", 2, record.CycleEnd{})
	shut(t, w)
	sound(t, dir, record.VerifyOptions{Keys: public()})
	if left := read(t, dir, record.ReadOptions{}, record.Query{}); left[0].Seq < 10 {
		t.Errorf("event %d is left", left[0].Seq)
	}
}

// A signed tombstone signs what it stands for, even while nothing after it is
// signed yet.
func TestTombstoneSigns(t *testing.T) {
	dir, _ := aged(t)
	stones, err := record.Prune(dir, record.PruneOptions{Before: time.Now(), SigningKey: key()})
	if err != nil || len(stones) != 5 {
		t.Fatalf("pruned %+v, %v", stones, err)
	}
	s := segments(t, dir)[0]
	data, _ := os.ReadFile(s)
	event, _, _ := strings.Cut(string(data), "\n")
	os.WriteFile(s, []byte(event+"\n"), 0o600)
	r := sound(t, dir, record.VerifyOptions{Keys: public()})
	if r.Checkpoints != 0 || r.Signed != stones[4].Last || r.Head.Seq != r.Signed+1 {
		t.Errorf("report %+v", r)
	}
	if r := sound(t, dir, record.VerifyOptions{}); r.Signed != 0 {
		t.Errorf("without keys something counts as signed: %+v", r)
	}
}

// A tombstone that was forged, edited, taken away or made for a segment that was
// only deleted is found.
func TestTombstonesTampered(t *testing.T) {
	prune := func(o record.PruneOptions) string {
		dir, _ := aged(t)
		o.Before = time.Now()
		if _, err := record.Prune(dir, o); err != nil {
			t.Fatal(err)
		}
		return dir
	}
	stones := func(dir string) []string {
		list, _ := filepath.Glob(filepath.Join(dir, "*.pruned"))
		return list
	}
	faulty := func(name, dir string, want record.Fault) {
		if r := verify(t, dir, record.VerifyOptions{Keys: public()}); len(r.Findings) == 0 || r.Findings[0].Fault != want {
			t.Errorf("%s: found %v", name, r.Findings)
		}
	}
	faulty("unsigned", prune(record.PruneOptions{}), record.Forged)
	dir := prune(record.PruneOptions{SigningKey: key()})
	data, _ := os.ReadFile(stones(dir)[1])
	os.WriteFile(stones(dir)[1], []byte(strings.Replace(string(data), `"bytes":`, `"bytes":1`, 1)), 0o600)
	faulty("edited", dir, record.Forged)
	os.Remove(stones(dir)[1])
	faulty("taken away", dir, record.Missing)
}

// A segment that does not verify is evidence, and stays.
func TestPruneKeepsEvidence(t *testing.T) {
	dir, _ := aged(t)
	s := segments(t, dir)[2]
	data, _ := os.ReadFile(s)
	os.WriteFile(s, []byte(strings.Replace(string(data), `"text":"g"`, `"text":"h"`, 1)), 0o600)
	stones, err := record.Prune(dir, record.PruneOptions{Before: time.Now(), SigningKey: key()})
	if !errors.Is(err, record.ErrEvidence) || len(stones) != 2 {
		t.Errorf("pruned %d, %v", len(stones), err)
	}
	if _, err := os.Stat(s); err != nil {
		t.Error(err)
	}
}

// A prune that was interrupted between tombstone and segment changes nothing, and
// is finished by the next.
func TestPruneInterrupted(t *testing.T) {
	dir, head := aged(t)
	first := segments(t, dir)[0]
	data, _ := os.ReadFile(first)
	if _, err := record.Prune(dir, record.PruneOptions{Before: time.Now(), SigningKey: key()}); err != nil {
		t.Fatal(err)
	}
	os.WriteFile(first, data, 0o600)
	if r := sound(t, dir, record.VerifyOptions{Keys: public(), Head: &head}); r.Segments != 2 {
		t.Errorf("report %+v", r)
	}
	if _, err := record.Prune(dir, record.PruneOptions{Before: time.Now(), SigningKey: key()}); err != nil {
		t.Fatal(err)
	}
	if r := sound(t, dir, record.VerifyOptions{Keys: public(), Head: &head}); r.Segments != 1 || r.Pruned != 5 {
		t.Errorf("report %+v", r)
	}
}
