package record_test

import (
	"bytes"
	"crypto/ed25519"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sotto-llm/sotto/internal/base/effort"
	"github.com/sotto-llm/sotto/record"
)

// written is a record of ten events in one segment, a checkpoint at its end.
func written(t *testing.T, o record.Options) (dir string, lines [][]byte, head record.Head) {
	t.Helper()
	dir = t.TempDir()
	o.SigningKey = key()
	w := open(t, dir, o)
	for i := range 9 {
		put(t, w, "r", i, said("m", "<think>a</think>b"+strings.Repeat("!", i)))
	}
	shut(t, w)
	data, err := os.ReadFile(segments(t, dir)[0])
	if err != nil {
		t.Fatal(err)
	}
	lines = bytes.SplitAfter(bytes.TrimSuffix(data, []byte("\n")), []byte("\n"))
	lines[len(lines)-1] = append(lines[len(lines)-1], '\n')
	return dir, lines, sound(t, dir, record.VerifyOptions{Keys: public()}).Head
}

func join(t *testing.T, lines ...[]byte) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "00000000000000000001.jsonl"), bytes.Join(lines, nil), 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}

// Every kind of tampering is found, and at its event.
func TestTampering(t *testing.T) {
	_, l, head := written(t, record.Options{})
	if len(l) != 10 || head.Seq != 10 {
		t.Fatalf("%d lines, head %v", len(l), head)
	}
	at := func(i, j int) [][]byte { return append([][]byte{}, l[i:j]...) }
	edit := func(i int, old, new string) [][]byte {
		c := at(0, 10)
		if c[i] = bytes.Replace(l[i], []byte(old), []byte(new), 1); bytes.Equal(c[i], l[i]) {
			t.Fatalf("nothing to edit in %s", l[i])
		}
		return c
	}
	swap := at(0, 10)
	swap[4], swap[5] = swap[5], swap[4]
	for _, c := range []struct {
		name  string
		lines [][]byte
		want  record.Finding
	}{
		{"edit", edit(4, "b!", "c!"), record.Finding{Fault: record.Edited, First: 5, Last: 5}},
		{"edit of the first", edit(0, "b", "c"), record.Finding{Fault: record.Edited, First: 1, Last: 1}},
		{"edit of the time", edit(6, `"time":"2`, `"time":"3`), record.Finding{Fault: record.Edited, First: 7, Last: 7}},
		{"edit of the signed last", edit(8, "b!", "c!"), record.Finding{Fault: record.Edited, First: 9, Last: 9}},
		{"edit of the checkpoint", edit(9, `"sig":"`, `"sig":"A`), record.Finding{Fault: record.Forged, First: 10, Last: 10}},
		{"deletion", append(at(0, 3), at(4, 10)...), record.Finding{Fault: record.Missing, First: 4, Last: 4}},
		{"deletion of several", append(at(0, 3), at(7, 10)...), record.Finding{Fault: record.Missing, First: 4, Last: 7}},
		{"deletion of the first", at(1, 10), record.Finding{Fault: record.Missing, First: 1, Last: 1}},
		{"reordering", swap, record.Finding{Fault: record.Reordered, First: 6, Last: 6}},
		{"repetition", append(at(0, 5), at(4, 10)...), record.Finding{Fault: record.Repeated, First: 5, Last: 5}},
		{"insertion of garbage", append(append(at(0, 5), []byte("{}\n")), at(5, 10)...), record.Finding{Fault: record.Unreadable, First: 5, Last: 5}},
		{"truncation", at(0, 6), record.Finding{Fault: record.Truncated, First: 7, Last: 10}},
		{"truncation to nothing", nil, record.Finding{Fault: record.Truncated, First: 1, Last: 10}},
		{"torn", append(at(0, 9), l[9][:20]), record.Finding{Fault: record.Truncated, First: 10, Last: 10}},
	} {
		r := verify(t, join(t, c.lines...), record.VerifyOptions{Keys: public(), Head: &head})
		if len(r.Findings) == 0 {
			t.Errorf("%s: nothing was found", c.name)
			continue
		}
		got := r.Findings[0]
		got.Segment = ""
		if got != c.want {
			t.Errorf("%s: found %v, want %v first", c.name, r.Findings, c.want)
		}
		if r.Err() == nil || !strings.Contains(r.Err().Error(), string(c.want.Fault)) {
			t.Errorf("%s: error %v", c.name, r.Err())
		}
	}
}

// Every changed byte of a signed record is found.
func TestEveryByte(t *testing.T) {
	_, l, head := written(t, record.Options{})
	whole := bytes.Join(l[:], nil)
	step := 1
	if effort.Brief() {
		step = 17
	}
	for i := 0; i < len(whole); i += step {
		c := bytes.Clone(whole)
		c[i] ^= 1
		if r := verify(t, join(t, c), record.VerifyOptions{Keys: public(), Head: &head}); len(r.Findings) == 0 {
			t.Fatalf("byte %d (%q) can be changed", i, whole[max(0, i-20):i+1])
		}
	}
}

// A whole record that was rewritten, with its chain in order, is found by a head that
// was kept, and without one by the signatures.
func TestRewriting(t *testing.T) {
	_, _, head := written(t, record.Options{})
	dir := t.TempDir()
	w := open(t, dir, record.Options{SigningKey: ed25519.NewKeyFromSeed(make([]byte, 32))})
	for range 12 {
		put(t, w, "", 0, record.CycleStart{})
	}
	shut(t, w)
	if r := sound(t, dir, record.VerifyOptions{}); r.Signed != 0 {
		t.Errorf("without keys something counts as signed: %+v", r)
	}
	for fault, o := range map[record.Fault]record.VerifyOptions{
		record.Rewritten: {Head: &head},
		record.Forged:    {Keys: public()},
	} {
		if r := verify(t, dir, o); len(r.Findings) == 0 || r.Findings[0].Fault != fault {
			t.Errorf("%s: found %v", fault, r.Findings)
		}
	}
}

// A missing segment, and one of another record, are found.
func TestSegmentsTampered(t *testing.T) {
	make := func() string {
		dir := t.TempDir()
		w := open(t, dir, record.Options{SegmentSize: 1, SigningKey: key()})
		for range 4 {
			put(t, w, "", 0, record.CycleStart{})
		}
		shut(t, w)
		return dir
	}
	a, b := make(), make()
	list := segments(t, a)
	other, _ := os.ReadFile(segments(t, b)[1])
	os.WriteFile(list[1], other, 0o600)
	if r := verify(t, a, record.VerifyOptions{Keys: public()}); len(r.Findings) == 0 {
		t.Error("a segment of another record passes")
	}
	os.Remove(list[1])
	if r := verify(t, a, record.VerifyOptions{Keys: public()}); len(r.Findings) == 0 || r.Findings[0].Fault != record.Missing || r.Findings[0].First != 3 {
		t.Errorf("a missing segment: %v", r.Findings)
	}
}
