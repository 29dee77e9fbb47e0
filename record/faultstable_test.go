package record_test

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sotto-llm/sotto/record"
)

var update = flag.Bool("update", false, "write testdata/faults.txt")

// A folder is a record that is damaged: its segments by their lines, and its tombstones.
type folder struct {
	t        *testing.T
	dir      string
	segments [][][]byte // of the lines that are left
	names    []string
}

func openFolder(t *testing.T, dir string) *folder {
	f := &folder{t: t, dir: dir, names: segments(t, dir)}
	for _, name := range f.names {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		f.segments = append(f.segments, bytes.SplitAfter(bytes.TrimSuffix(data, []byte("\n")), []byte("\n")))
		last := f.segments[len(f.segments)-1]
		last[len(last)-1] = slices.Concat(last[len(last)-1], []byte("\n"))
	}
	return f
}

// write puts the segments in place again, without their indexes.
func (f *folder) write() {
	for i, name := range f.names {
		_ = os.Remove(strings.TrimSuffix(name, ".jsonl") + ".index")
		if err := os.WriteFile(name, bytes.Join(f.segments[i], nil), 0o600); err != nil {
			f.t.Fatal(err)
		}
	}
}

// faults damage the line at a place.
var faults = []struct {
	name string
	do   func(f *folder, s, i int)
}{
	{"edit", func(f *folder, s, i int) {
		f.segments[s][i] = bytes.Replace(f.segments[s][i], []byte(`"time":"2`), []byte(`"time":"1`), 1)
	}},
	{"delete", func(f *folder, s, i int) { f.segments[s] = slices.Delete(f.segments[s], i, i+1) }},
	{"repeat", func(f *folder, s, i int) { f.segments[s] = slices.Insert(f.segments[s], i, f.segments[s][i]) }},
	{"swap with the next", func(f *folder, s, i int) {
		if i+1 < len(f.segments[s]) {
			f.segments[s][i], f.segments[s][i+1] = f.segments[s][i+1], f.segments[s][i]
		}
	}},
	{"move to the end", func(f *folder, s, i int) {
		last := len(f.segments) - 1
		line := f.segments[s][i]
		f.segments[s] = slices.Delete(f.segments[s], i, i+1)
		f.segments[last] = append(f.segments[last], line)
	}},
	{"garbage in its place", func(f *folder, s, i int) { f.segments[s][i] = []byte("garbage\n") }},
	{"garbage before it", func(f *folder, s, i int) { f.segments[s] = slices.Insert(f.segments[s], i, []byte("garbage\n")) }},
	{"a number too high", func(f *folder, s, i int) { f.number(s, i, 1000) }},
	{"a number too low", func(f *folder, s, i int) { f.number(s, i, 1) }},
	{"another identity", func(f *folder, s, i int) {
		f.segments[s][i] = bytes.Replace(f.segments[s][i], []byte(`"record":"`), []byte(`"record":"00`), 1)
		f.segments[s][i] = bytes.Replace(f.segments[s][i], []byte(`","index"`), []byte(`0","index"`), 1)
	}},
	{"no newline", func(f *folder, s, i int) { f.segments[s][i] = bytes.TrimSuffix(f.segments[s][i], []byte("\n")) }},
	{"cut off from there", func(f *folder, s, i int) { f.segments[s] = f.segments[s][:i] }},
	{"a newer version", func(f *folder, s, i int) {
		f.segments[s][i] = bytes.Replace(f.segments[s][i], []byte(`{"v":2`), []byte(`{"v":9`), 1)
	}},
}

// stoneFaults damage a tombstone; nil removes it.
var stoneFaults = []struct {
	name string
	do   func(data []byte) []byte
}{
	{"another identity", func(b []byte) []byte { return bytes.Replace(b, []byte(`"record":"`), []byte(`"record":"0`), 1) }},
	{"an end too high", func(b []byte) []byte { return bytes.Replace(b, []byte(`"last":`), []byte(`"last":1`), 1) }},
	{"another segment", func(b []byte) []byte { return bytes.Replace(b, []byte(`"first":`), []byte(`"first":9`), 1) }},
	{"another end of the chain", func(b []byte) []byte { return bytes.Replace(b, []byte(`"head":"`), []byte(`"head":"00`), 1) }},
	{"empty", func([]byte) []byte { return []byte{} }},
	{"removed", func([]byte) []byte { return nil }},
}

func (f *folder) number(s, i int, n int) {
	_, rest, _ := bytes.Cut(f.segments[s][i], []byte(`,"time"`))
	f.segments[s][i] = slices.Concat(fmt.Appendf(nil, `{"v":2,"seq":%d,"time"`, n), rest)
}

// damage makes the record that is damaged: of 2 pruned segments and 3 that stand, of 2
// events and a checkpoint each.
func damage(t *testing.T, source string, do func(f *folder)) string {
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(source)); err != nil {
		t.Fatal(err)
	}
	if do != nil {
		f := openFolder(t, dir)
		do(f)
		f.write()
	}
	return dir
}

// tell says what Verify, the readers, Prune and Open make of a damaged record.
func tell(t *testing.T, dir string, head record.Head) string {
	var b strings.Builder
	plain := ""
	for _, o := range []record.VerifyOptions{{}, {Keys: public()}, {Head: &head}} {
		r := verify(t, dir, o)
		found := fmt.Sprint(r.Findings)
		switch {
		case len(o.Keys) > 0:
			fmt.Fprintf(&b, "  with the key: %d checkpoints, signed %d", r.Checkpoints, r.Signed)
		case o.Head != nil:
			b.WriteString("  with the head:")
		default:
			plain = found
			fmt.Fprintf(&b, "  verify: %d segments, %d pruned, %d events, head %d, torn %v", r.Segments, r.Pruned, r.Events, r.Head.Seq, r.Torn > 0)
		}
		if found == plain && (len(o.Keys) > 0 || o.Head != nil) {
			found = "the same"
		}
		fmt.Fprintf(&b, " %s\n", found)
	}
	r, err := record.OpenReader(dir, record.ReadOptions{NoIndex: true})
	if err != nil {
		t.Fatal(err)
	}
	b.WriteString("  events:")
	for _, q := range []record.Query{{}, {After: 9}, {NoCheckpoints: true}} {
		for e, err := range r.Events(q) {
			fmt.Fprint(&b, " ", seen(e.Seq, err))
		}
		b.WriteString(";")
	}
	b.WriteString("\n  entries, back:")
	for e, err := range r.Entries(record.Query{}) {
		fmt.Fprint(&b, " ", seen(e.Seq, err))
	}
	b.WriteString(";")
	for g, err := range r.Back(record.Query{}, 1<<20) {
		fmt.Fprint(&b, " ", seen(g.Seq, err))
	}
	end, err := r.Head()
	fmt.Fprintf(&b, "\n  head: %d %v\n", end.Seq, clean(err, dir))
	return b.String()
}

// tellWrites says what Prune and Open make of it.
func tellWrites(t *testing.T, dir string) string {
	stones, err := record.Prune(dir, record.PruneOptions{Before: time.Now().Add(time.Hour)})
	text := fmt.Sprintf("  prune: %d %v\n", len(stones), clean(err, dir))
	w, err := record.Open(dir, record.Options{SigningKey: key(), Policy: record.None})
	if err != nil {
		return text + fmt.Sprintf("  open: %v\n", clean(err, dir))
	}
	next := put(t, w, "r", 0, record.CycleStart{})
	shut(t, w)
	return text + fmt.Sprintf("  open: repaired %v, next %d\n", w.Repaired() > 0, next.Seq)
}

func seen(seq uint64, err error) string {
	var line *record.LineError
	switch {
	case errors.As(err, &line):
		return "unreadable(" + line.Segment + ")"
	case err != nil:
		return err.Error()
	}
	return fmt.Sprint(seq)
}

var version = regexp.MustCompile("; sotto .* reads")

func clean(err error, dir string) string {
	if err == nil {
		return "ok"
	}
	return version.ReplaceAllString(strings.ReplaceAll(err.Error(), dir, "DIR"), "; sotto reads")
}

// What each fault of each line does to a record is written in testdata/faults.txt: what
// Verify finds, what readers still give, and whether a writer goes on. After a change, run
//
//	go test ./record -run TestFaultsTable -update
//
// and read the lines that changed.
func TestFaultsTable(t *testing.T) {
	source := t.TempDir()
	w := open(t, source, record.Options{SigningKey: key(), SegmentSize: 500})
	for i := range 10 {
		put(t, w, "r", i, record.CycleStart{Goal: record.Say(strings.Repeat("g", 100))})
	}
	shut(t, w)
	head := sound(t, source, record.VerifyOptions{Keys: public()}).Head
	if stones, err := record.Prune(source, record.PruneOptions{Before: time.Now().Add(time.Hour), Until: 9, SigningKey: key()}); err != nil || len(stones) != 2 || len(segments(t, source)) != 3 {
		t.Fatalf("%d tombstones and %d segments, %v", len(stones), len(segments(t, source)), err)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "no fault\n%s", tell(t, damage(t, source, nil), head))
	for _, fault := range faults {
		for _, place := range [][2]int{{0, 0}, {0, 1}, {1, 2}, {2, 0}, {2, 2}} {
			s, i := place[0], place[1]
			dir := damage(t, source, func(f *folder) { fault.do(f, s, i) })
			fmt.Fprintf(&b, "%s: line %d of segment %d\n%s", fault.name, i+1, s+1, tell(t, dir, head))
			if i == 2 {
				b.WriteString(tellWrites(t, dir))
			}
		}
	}
	stones, _ := filepath.Glob(filepath.Join(source, "*.pruned"))
	for _, fault := range stoneFaults {
		for i, stone := range stones {
			dir := damage(t, source, nil)
			data, err := os.ReadFile(stone)
			if err != nil {
				t.Fatal(err)
			}
			name := filepath.Join(dir, filepath.Base(stone))
			if now := fault.do(data); now != nil {
				err = os.WriteFile(name, now, 0o600)
			} else {
				err = os.Remove(name)
			}
			if err != nil {
				t.Fatal(err)
			}
			fmt.Fprintf(&b, "%s: tombstone %d\n%s%s", fault.name, i+1, tell(t, dir, head), tellWrites(t, dir))
		}
	}
	text := regexp.MustCompile(`\b0+(\d+\.)`).ReplaceAllString(b.String(), "$1") // of the names of files
	const file = "testdata/faults.txt"
	if *update {
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	got, old := strings.Split(text, "\n"), strings.Split(string(want), "\n")
	title := ""
	for i := range max(len(got), len(old)) {
		if i >= len(got) || i >= len(old) || got[i] != old[i] {
			t.Fatalf("%s, line %d of %s differs: %q, want %q", title, i+1, file, at(got, i), at(old, i))
		}
		if !strings.HasPrefix(got[i], " ") {
			title = got[i]
		}
	}
}

func at(list []string, i int) string {
	if i < len(list) {
		return list[i]
	}
	return ""
}
