package record_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/sotto-llm/sotto/internal/base/effort"
	"github.com/sotto-llm/sotto/record"
)

// A report does not depend on the number of workers, whatever was done to the record:
// lines edited, deleted, moved, repeated and inserted within segments and across them,
// segments deleted and swapped, indexes changed. The helper verify compares.
func TestWorkersReportAlike(t *testing.T) {
	r := rand.New(rand.NewPCG(41, 3))
	_, to := recipient(t)
	rounds := 120 * effort.Times()
	if effort.Brief() {
		rounds = 40
	}
	clean := 0
	for i, o := range []record.Options{{}, {Recipients: to}, {SigningKey: key(), CheckpointEvery: 3}, {SigningKey: key(), Recipients: to}} {
		o.SegmentSize = 600
		from := t.TempDir()
		w := open(t, from, o)
		var heads []record.Head
		for n := range 24 {
			put(t, w, "r", n, record.CycleStart{Goal: record.Say("aim")})
			heads = append(heads, w.Head())
		}
		shut(t, w)
		if n := len(segments(t, from)); n < 4 {
			t.Fatalf("%d segments", n)
		}
		for range rounds {
			dir := t.TempDir()
			if err := os.CopyFS(dir, os.DirFS(from)); err != nil {
				t.Fatal(err)
			}
			for range r.IntN(4) {
				damageAnything(t, r, dir)
			}
			with := record.VerifyOptions{}
			if r.IntN(2) == 0 {
				with.Head = &heads[r.IntN(len(heads))]
			}
			if r.IntN(2) == 0 {
				with.Keys = public()
			}
			if len(verify(t, dir, with).Findings) == 0 {
				clean++
			}
			if t.Failed() {
				t.Fatalf("record %d in %s", i, dir)
			}
		}
	}
	if clean == 0 || clean == 4*rounds {
		t.Errorf("%d of %d records are clean", clean, 4*rounds)
	}
}

// damageAnything changes one thing about a record.
func damageAnything(t *testing.T, r *rand.Rand, dir string) {
	list := segments(t, dir)
	if r.IntN(8) == 0 {
		list, _ = filepath.Glob(filepath.Join(dir, "0*"))
	}
	if len(list) == 0 {
		return
	}
	name, other := list[r.IntN(len(list))], list[r.IntN(len(list))]
	lines, rest := linesOf(t, name), linesOf(t, other)
	if len(lines) == 0 || len(rest) == 0 {
		return
	}
	i, j := r.IntN(len(lines)), r.IntN(len(rest))
	switch r.IntN(8) {
	case 0: // edit
		lines[i][r.IntN(len(lines[i]))] ^= 1
	case 1: // delete
		lines = slices.Delete(lines, i, i+1)
	case 2: // repeat, or move to another segment
		lines = slices.Insert(lines, i, rest[j])
	case 3: // swap
		lines[0], lines[i] = lines[i], lines[0]
	case 4: // insert what is not an event
		lines = slices.Insert(lines, i, []byte("{}\n"))
	case 5: // cut, within a line
		lines = slices.Concat(lines[:i], [][]byte{lines[i][:len(lines[i])-1]})
	case 6:
		os.Remove(name)
		return
	case 7: // swap the segments
		if err := os.WriteFile(other, bytes.Join(lines, nil), 0o600); err != nil {
			t.Fatal(err)
		}
		lines = rest
	}
	if err := os.WriteFile(name, bytes.Join(lines, nil), 0o600); err != nil {
		t.Fatal(err)
	}
}

// linesOf returns a file's lines.
func linesOf(t *testing.T, name string) [][]byte {
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return slices.Collect(bytes.Lines(data))
}

// handLine returns a line with several events, or one if first is last, and its digest.
func handLine(first, last uint64, text string, prev record.Digest) (string, record.Digest) {
	more := ""
	if last > first {
		more = fmt.Sprintf(`,"last":%d`, last)
	}
	line := fmt.Sprintf(`{"v":2,"seq":%d%s,"time":"2026-01-02T03:04:05Z","run":"","cycle":0,"type":"SEALED","payload":{"age":%q},"prev":"%s"}`+"\n", first, more, text, prev)
	return line, record.DigestOf(line)
}

// A segment that is joined to others before it, and ends in a batch that the next segment takes
// for one that was put between, counts the events of all of them.
func TestForkAfterJoinedSegments(t *testing.T) {
	dir := t.TempDir()
	one, head := handLine(1, 2, "a", record.Digest{})
	three, fork := handLine(3, 3, "b", head)
	batch, _ := handLine(4, 6, "c", fork)
	other, _ := handLine(4, 4, "d", fork)
	for first, data := range map[uint64]string{1: one, 3: three + batch, 4: other} {
		if err := os.WriteFile(filepath.Join(dir, record.SegmentName(first)), []byte(data), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	r := verify(t, dir, record.VerifyOptions{})
	if r.Events != 4 || len(r.Findings) != 1 || r.Findings[0].Fault != record.Repeated || r.Findings[0].First != 4 {
		t.Errorf("%d events, %v", r.Events, r.Findings)
	}
}

// After a line that is not an event, the next segment is not joined: what it begins with could
// not be compared, and the comparison must go on after it.
func TestEditAfterUnreadableLine(t *testing.T) {
	dir := t.TempDir()
	one, a := handLine(1, 1, "a", record.Digest{})
	two, _ := handLine(2, 2, "b", a)
	_, original := handLine(2, 2, "B", a)
	three, _ := handLine(3, 3, "c", original)
	for first, data := range map[uint64]string{1: one + "{}\n", 2: two, 3: three} {
		if err := os.WriteFile(filepath.Join(dir, record.SegmentName(first)), []byte(data), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	r := verify(t, dir, record.VerifyOptions{})
	if len(r.Findings) != 2 || r.Findings[0].Fault != record.Unreadable || r.Findings[1].Fault != record.Edited || r.Findings[1].First != 2 {
		t.Errorf("%v", r.Findings)
	}
}
