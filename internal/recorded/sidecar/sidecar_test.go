package sidecar

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"

	"filippo.io/age"

	"github.com/sotto-llm/sotto/internal/base/effort"
	"github.com/sotto-llm/sotto/internal/recorded/recordsearch"
	"github.com/sotto-llm/sotto/record"
)

func open(t testing.TB, dir string, o record.Options) *record.Writer {
	t.Helper()
	o.Policy = record.None
	w, err := record.Open(dir, o)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func put(t testing.TB, w *record.Writer, text string) {
	t.Helper()
	_, err := w.Append(t.Context(), record.Event{Payload: record.Exchange{Model: "m", ID: "x-" + text, Outcome: "answered", Replies: []record.Reply{{Raw: record.Say(text)}}}})
	if err != nil {
		t.Fatal(err)
	}
}

func shut(t testing.TB, w *record.Writer) {
	t.Helper()
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
}

// small is a record of several segments with sidecars.
func smallRecord(t testing.TB, o record.Options) string {
	dir := t.TempDir()
	o.SegmentSize = 2000
	w := open(t, dir, o)
	for i := range 30 {
		put(t, w, fmt.Sprintf("word-%d and <think>more %d", i, i*i))
	}
	shut(t, w)
	return dir
}

func index(t testing.TB, dir string, o Options) Made {
	t.Helper()
	o.Small = true
	m, err := Make(t.Context(), dir, o)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func search(t testing.TB, dir string, o record.ReadOptions, q Query) (seqs []uint64, r Report) {
	t.Helper()
	s, err := Open(dir, o)
	if err != nil {
		t.Fatal(err)
	}
	for e, err := range s.Events(q) {
		if err != nil {
			t.Fatal(err)
		}
		found := recordsearch.Search{Pattern: q.Pattern, In: recordsearch.Any, Found: func(recordsearch.Match) {}}
		if q.Pattern == nil || found.Event(&e) {
			seqs = append(seqs, e.Seq)
		}
	}
	return seqs, s.Report()
}

// TestReach: the events after the place that Reach says can be asked for, and segments that no
// sidecar covers are only read within the bound. The newest segment is always asked.
func TestReach(t *testing.T) {
	dir := smallRecord(t, record.Options{})
	files, err := record.Files(dir)
	if err != nil || len(files) < 4 {
		t.Fatal(len(files), err)
	}
	s, err := Open(dir, record.ReadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	sizes := make([]int64, len(files))
	all := int64(0)
	for i, f := range files {
		info, err := os.Stat(f.Path)
		if err != nil {
			t.Fatal(err)
		}
		sizes[i] = info.Size()
		all += info.Size()
	}
	reach := func(most int64) (uint64, int64) {
		after, left, read, err := s.Reach(most)
		if err != nil {
			t.Fatal(err)
		}
		if left+read > all || read > max(most, sizes[len(sizes)-1]) {
			t.Errorf("of %d bytes %d are left and %d read, where %d may be", all, left, read, most)
		}
		return after, left
	}
	last := len(files) - 1
	if after, left := reach(0); after != files[last].First-1 || left != all-sizes[last] {
		t.Errorf("nothing may be read: after %d, %d left", after, left)
	}
	if after, left := reach(sizes[last] + sizes[last-1]); after != files[last-1].First-1 || left != all-sizes[last]-sizes[last-1] {
		t.Errorf("two segments may be read: after %d, %d left", after, left)
	}
	if after, left := reach(all); after != 0 || left != 0 {
		t.Errorf("all may be read: after %d, %d left", after, left)
	}
	index(t, dir, Options{})
	if after, left := reach(0); after != 0 || left != 0 {
		t.Errorf("with sidecars: after %d, %d left", after, left)
	}
}

// TestReport: a search says which segments it could not ask: those without a sidecar, those
// whose sidecar is of other lines, and those that no identity opens.
func TestReport(t *testing.T) {
	dir := smallRecord(t, record.Options{})
	q := Query{Pattern: regexp.MustCompile("word-7")}
	if _, r := search(t, dir, record.ReadOptions{}, q); r.Without != r.Segments || r.Segments < 5 || r.Blocks != 0 {
		t.Errorf("without sidecars: %+v", r)
	}
	m := index(t, dir, Options{})
	if m.Made != m.Segments || m.Segments < 5 || len(m.Skipped) > 0 {
		t.Errorf("%+v", m)
	}
	if again := index(t, dir, Options{}); again.Made != 0 || again.Segments != m.Segments || again.Sidecars != m.Sidecars {
		t.Errorf("made again: %+v", again)
	}
	seqs, r := search(t, dir, record.ReadOptions{}, q)
	if !slices.Equal(seqs, []uint64{8}) || r.Without+r.Stale+r.NoKey != 0 || r.Looked > 2 || r.Blocks < 5 {
		t.Errorf("%v, %+v", seqs, r)
	}
	list := sidecars(t, dir)
	if err := os.Rename(list[2], list[3]); err != nil { // one is swapped, one is missing
		t.Fatal(err)
	}
	seqs, r = search(t, dir, record.ReadOptions{}, q)
	if !slices.Equal(seqs, []uint64{8}) || r.Without != 1 || r.Stale != 1 {
		t.Errorf("%v, %+v", seqs, r)
	}
	if text := r.String(); !strings.Contains(text, "; 1 without a sidecar, read") || !strings.Contains(text, "; 1 whose sidecar does not fit, read") {
		t.Error(text)
	}
	if m := index(t, dir, Options{}); m.Made != 2 {
		t.Errorf("%d were made again, want 2", m.Made)
	}
}

// TestEncrypted: the sidecar of an encrypted segment shows nothing without an identity, and
// is not made without one.
func TestEncrypted(t *testing.T) {
	dir := smallRecord(t, record.Options{Recipients: []age.Recipient{testIdentity.Recipient()}})
	if m := index(t, dir, Options{}); m.Made != 0 || len(m.Skipped) == 0 || m.Skipped[0].Why != ErrNoKey.Error() {
		t.Errorf("%+v", m)
	}
	ids := []age.Identity{testIdentity}
	index(t, dir, Options{Identities: ids})
	for _, path := range sidecars(t, dir) {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, plain := range []string{"word", "more", `"v":3`, "EXCHANGE"} {
			if bytes.Contains(data, []byte(plain)) {
				t.Errorf("%s shows %q", path, plain)
			}
		}
	}
	q := Query{Pattern: regexp.MustCompile("word-7 ")}
	if seqs, r := search(t, dir, record.ReadOptions{Identities: ids}, q); !slices.Equal(seqs, []uint64{8}) || r.NoKey+r.Stale+r.Without != 0 || r.Looked > 3 {
		t.Errorf("%v, %+v", seqs, r)
	}
	if _, r := search(t, dir, record.ReadOptions{}, q); r.NoKey != r.Segments {
		t.Errorf("%+v", r)
	}
	checked, err := Check(dir, nil)
	if err != nil || checked.Compared != 0 || checked.Unread == 0 {
		t.Errorf("%+v, %v", checked, err)
	}
	if checked, err = Check(dir, ids); err != nil || len(checked.Wrong) > 0 || checked.Compared == 0 {
		t.Errorf("%+v, %v", checked, err)
	}
}

// forged returns a sidecar with a section changed, and all that protects it made again.
func forged(t testing.TB, data []byte, name string, change func([]byte) []byte) []byte {
	t.Helper()
	line, rest, _ := bytes.Cut(data, []byte("\n"))
	rest = rest[65:]
	h := headerOf(t, line)
	w := newWriter()
	defer w.close()
	for _, n := range slices.SortedFunc(maps.Keys(h.Sections), func(a, b string) int { return int(h.Sections[a].at() - h.Sections[b].at()) }) {
		s := h.Sections[n]
		p := part{slices.Clone(rest[s.at() : s.at()+s.size()]), int(s.plain())}
		if n == name {
			switch name {
			case "ids", "grams":
				for i := 0; i < len(p.data); i += pageSize {
					page := change(p.data[i : i+pageData])
					copy(p.data[i:], sealedPage(slices.Clone(page)))
				}
			default:
				plain, err := unpack(p.data, s.plain())
				if err != nil {
					t.Fatal(err)
				}
				p = w.compressed(change(plain))
			}
		}
		w.add(n, p)
	}
	h.Sections = w.sections
	head, err := h.bytes()
	if err != nil {
		t.Fatal(err)
	}
	return append(head, w.data...)
}

// TestForged: a forged sidecar, of which nothing contradicts anything, is found by Check. Each
// part of it is forged.
func TestForged(t *testing.T) {
	effort.OneGoroutine(t)
	dir := smallRecord(t, record.Options{})
	index(t, dir, Options{})
	if c, err := Check(dir, nil); err != nil || c.Compared < 5 || len(c.Wrong) > 0 {
		t.Fatalf("%+v, %v", c, err)
	}
	path := sidecars(t, dir)[1]
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	line, _, _ := bytes.Cut(whole, []byte("\n"))
	for name := range headerOf(t, line).Sections {
		if name == "terms" || name == "posts" || name == "unlisted" { // the first two are in chunks, the last is empty
			continue
		}
		flip := func(b []byte) []byte {
			b = slices.Clone(b)
			b[len(b)/2] ^= 1
			return b
		}
		if err := os.WriteFile(path, forged(t, whole, name, flip), 0o600); err != nil {
			t.Fatal(err)
		}
		c, err := Check(dir, nil)
		if err != nil || len(c.Wrong) != 1 || c.Wrong[0].Name != filepath.Base(path) || c.Wrong[0].First == 1 || c.Wrong[0].Last <= c.Wrong[0].First {
			t.Errorf("%s: %+v, %v", name, c, err)
		}
	}
	m := index(t, dir, Options{Again: true})
	if c, err := Check(dir, nil); err != nil || len(c.Wrong) > 0 || m.Made != m.Segments {
		t.Errorf("made again: %+v, %v", c, err)
	}
}

// TestCheckSums: damage to any part of a sidecar is found without making it again; a forged one is
// not; and one of another segment is named as one that nobody uses.
func TestCheckSums(t *testing.T) {
	dir := smallRecord(t, record.Options{})
	index(t, dir, Options{})
	paths := sidecars(t, dir)
	whole, err := os.ReadFile(paths[1])
	if err != nil {
		t.Fatal(err)
	}
	line, base, ok := checkedLine(whole)
	if !ok {
		t.Fatal("no header")
	}
	check := func(name string, data []byte, wrong, unfit int) {
		t.Helper()
		if err := os.WriteFile(paths[1], data, 0o600); err != nil {
			t.Fatal(err)
		}
		c, err := CheckSums(dir, nil)
		if err != nil || len(c.Wrong) != wrong || c.Unfit != unfit || c.Compared != len(paths)-unfit || wrong == 1 && c.Wrong[0].Name != filepath.Base(paths[1]) {
			t.Errorf("%s: %+v, %v", name, c, err)
		}
	}
	check("whole", whole, 0, 0)
	for name, s := range headerOf(t, line).Sections {
		if s.size() == 0 {
			continue
		}
		hurt := slices.Clone(whole)
		hurt[base+s.at()+s.size()/2] ^= 1
		check(name, hurt, 1, 0)
	}
	other, err := os.ReadFile(paths[2])
	if err != nil {
		t.Fatal(err)
	}
	check("another's", other, 0, 1)
	check("cut", whole[:len(whole)-1], 0, 1)
	check("empty", nil, 0, 1)
	check("forged", forged(t, whole, "model_list", func(b []byte) []byte { return bytes.ToUpper(b) }), 0, 0)
	if c, err := Check(dir, nil); err != nil || len(c.Wrong) != 1 || c.Unfit != 0 {
		t.Errorf("made again: %+v, %v", c, err)
	}
}

// TestPruned: nothing of a segment that was pruned is left in a sidecar, also if a program was
// killed between the two removals, or made the sidecar meanwhile.
func TestPruned(t *testing.T) {
	dir := smallRecord(t, record.Options{})
	index(t, dir, Options{})
	before := sidecars(t, dir)
	done, err := record.Prune(dir, record.PruneOptions{Keep: 4000})
	if err != nil || len(done) == 0 {
		t.Fatal(done, err)
	}
	if after := sidecars(t, dir); len(after) != len(before)-len(done) || !slices.Equal(after, before[len(done):]) {
		t.Errorf("%v are left of %v after %d were pruned", after, before, len(done))
	}
	data, err := os.ReadFile(before[len(before)-1])
	if err != nil {
		t.Fatal(err)
	}
	for name, remove := range map[string]func() error{
		"prune": func() error { _, err := record.Prune(dir, record.PruneOptions{Keep: 1 << 40}); return err },
		"make":  func() error { _, err := Make(t.Context(), dir, Options{}); return err },
	} {
		half := filepath.Join(dir, record.SidecarTemp+"1")
		if err := errors.Join(os.WriteFile(before[0], data, 0o600), os.WriteFile(half, data, 0o600)); err != nil {
			t.Fatal(err)
		}
		if err := remove(); err != nil {
			t.Fatal(err)
		}
		if _, err := os.Lstat(half); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s leaves a sidecar that is half written: %v", name, err)
		}
		if _, err := os.Lstat(before[0]); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s leaves the sidecar of a segment that is gone: %v", name, err)
		}
	}
	// The segment goes between the reading and the writing.
	files, err := record.Files(dir)
	if err != nil {
		t.Fatal(err)
	}
	f := files[len(files)-1]
	b := newBuilder(f.First, record.ReadOptions{})
	segment, err := os.Open(f.Path)
	if err != nil {
		t.Fatal(err)
	}
	defer segment.Close()
	if err := b.read(segment); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(f.Path); err != nil {
		t.Fatal(err)
	}
	if _, err := b.put(f, Options{}); !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
	if _, err := os.Lstat(sidecarPath(f)); !errors.Is(err, os.ErrNotExist) {
		t.Error("the sidecar of a segment that went meanwhile stays")
	}
}

// TestKeeper: a keeper makes the same sidecars as Make, also of lines that came one by one and
// of lines that the writer took back; and it reads each line of the last segment once.
func TestKeeper(t *testing.T) {
	dir := t.TempDir()
	w := open(t, dir, record.Options{SegmentSize: 600 << 10})
	k := NewKeeper(dir)
	text := strings.Repeat("some words of a text, ", 2000)
	for i := range 40 {
		put(t, w, fmt.Sprint(text, i))
		if err := k.Step(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	shut(t, w)
	got := map[string][]byte{}
	for _, path := range sidecars(t, dir) {
		got[path], _ = os.ReadFile(path)
	}
	if len(got) < 2 {
		t.Fatalf("%d sidecars", len(got))
	}
	if _, err := Make(t.Context(), dir, Options{Again: true}); err != nil {
		t.Fatal(err)
	}
	for path, data := range got {
		if want, _ := os.ReadFile(path); !bytes.Equal(data, want) {
			t.Errorf("%s is not what Make makes", filepath.Base(path))
		}
	}
	files, err := record.Files(dir)
	if err != nil {
		t.Fatal(err)
	}
	last := files[len(files)-1]
	if err := os.Truncate(last.Path, k.open.last.at); err != nil {
		t.Fatal(err)
	}
	lines := k.open.lines
	if err := k.Step(t.Context()); err != nil || k.open.lines >= lines {
		t.Errorf("%d lines after one was taken back of %d: %v", k.open.lines, lines, err)
	}
}

func allocated(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// TestHostile: whatever numbers a sidecar has, reading it takes bounded memory and never
// panics.
func TestHostile(t *testing.T) {
	effort.OneGoroutine(t)
	dir := smallRecord(t, record.Options{})
	index(t, dir, Options{})
	path := sidecars(t, dir)[1]
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	line, _, _ := bytes.Cut(whole, []byte("\n"))
	queries := []Query{
		{Pattern: regexp.MustCompile("word-7")}, {Pattern: regexp.MustCompile("o")}, {IDs: []string{"x-1", "run"}}, {Query: record.Query{Model: "m", Types: []record.Type{record.TypeExchange}}},
		{Query: record.Query{Run: "r"}}, {Query: record.Query{Diagnostic: "d"}},
	}
	try := func(name string, data []byte) {
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		used := allocated(func() {
			for _, q := range queries {
				search(t, dir, record.ReadOptions{}, q)
			}
			s, err := Open(dir, record.ReadOptions{})
			if err != nil {
				t.Fatal(err)
			}
			for range s.Facts(record.Query{}, Want{Numbers: []Number{Time, Millis}, Words: []Word{Model, Codes}}) {
			}
			for range s.Entries(record.Query{Model: "m"}) {
			}
			if _, err := Check(dir, nil); err != nil {
				t.Fatal(err)
			}
		})
		if used > 256<<20 {
			t.Errorf("%s: %d bytes were allocated", name, used)
		}
	}
	for _, change := range []func(h *header){
		func(h *header) { h.Rows = 1 << 60 }, func(h *header) { h.Blocks = 1 << 60 }, func(h *header) { h.Lines = 1 << 40 }, func(h *header) { h.Covered = 1 << 60 },
		func(h *header) { h.LastAt = -1 }, func(h *header) { h.Next = 0 }, func(h *header) { h.Rows, h.Next = 1, h.First+1 }, func(h *header) { h.Blocks = 2 },
		func(h *header) { h.Odd = 1 }, func(h *header) { h.Sealed = true }, func(h *header) { h.From, h.To = 1<<62, -1<<62 },
	} {
		h := headerOf(t, line)
		change(&h)
		head, _ := h.bytes()
		try(fmt.Sprintf("%+v", h), append(head, whole[len(line)+66:]...))
	}
	for name := range headerOf(t, line).Sections {
		for i := range 3 {
			for _, n := range []int64{-1, 1 << 62, 1, 0} {
				h := headerOf(t, line)
				s := h.Sections[name]
				s[i] = n
				h.Sections[name] = s
				head, _ := h.bytes()
				try(fmt.Sprint(name, i, n), append(head, whole[len(line)+66:]...))
			}
		}
		if name == "terms" || name == "posts" {
			continue
		}
		try(name+" of large numbers", forged(t, whole, name, func(b []byte) []byte {
			return bytes.Repeat([]byte{0xff}, len(b))
		}))
		try(name+" of small numbers", forged(t, whole, name, func(b []byte) []byte { return make([]byte, len(b)) }))
		try(name+" cut", forged(t, whole, name, func(b []byte) []byte {
			if name == "ids" || name == "grams" {
				return b
			}
			return b[:len(b)/2]
		}))
	}
	try("an expanding chunk", forged(t, whole, "chunks", func(b []byte) []byte {
		b = slices.Clone(b)
		n, size := binary.Uvarint(b)
		return append(b[:size+int(n)], 1, 1, 1, 0xff, 0xff, 0xff, 0xff, 0x0f, 0xff, 0xff, 0xff, 0xff, 0x0f)
	}))
	large, err := os.Create(path)
	if err == nil {
		err = errors.Join(large.Truncate(8<<30), large.Close())
	}
	if err != nil {
		t.Fatal(err)
	}
	if used := allocated(func() { search(t, dir, record.ReadOptions{}, queries[0]) }); used > 16<<20 {
		t.Errorf("a sidecar of 8 GiB: %d bytes were allocated", used)
	}
}

// TestOtherThingsInPlace: a pipe or a link in the place of a sidecar is not opened.
func TestOtherThingsInPlace(t *testing.T) {
	dir := smallRecord(t, record.Options{})
	index(t, dir, Options{})
	path := sidecars(t, dir)[0]
	if err := errors.Join(os.Rename(path, path+".kept"), os.Symlink(path+".kept", path)); err != nil {
		t.Skip(err)
	}
	if _, r := search(t, dir, record.ReadOptions{}, Query{Pattern: regexp.MustCompile("word-7")}); r.Stale != 1 {
		t.Errorf("%+v", r)
	}
}

// TestReadsFew: what a rare word, an identifier and a filter read is a small share of the
// record, and grows no faster than the number of segments.
func TestReadsFew(t *testing.T) {
	effort.OneGoroutine(t)
	m := newBenchMaker(t)
	dir := t.TempDir()
	w := open(t, dir, record.Options{SegmentSize: 4 << 20})
	for range 4000 {
		if _, err := w.Append(context.Background(), m.event(2000)); err != nil {
			t.Fatal(err)
		}
	}
	put(t, w, "xylophonist")
	shut(t, w)
	made := index(t, dir, Options{})
	for name, c := range map[string]struct {
		q    Query
		most int64 // of a thousand bytes
	}{
		"a rare word":   {Query{Pattern: regexp.MustCompile("(?i)Xylophonist")}, 40},
		"no word":       {Query{Pattern: regexp.MustCompile("glockenspielerin")}, 10},
		"an identifier": {Query{IDs: []string{fmt.Sprintf("x-%016x", mix(1000))}}, 10},
		"no model":      {Query{Query: record.Query{Model: "none"}}, 5},
	} {
		seqs, r := search(t, dir, record.ReadOptions{}, c.q)
		if read := r.Bytes + r.Sidecars; read*1000 > made.Bytes*c.most {
			t.Errorf("%s: %d bytes were read of %d: %v", name, read, made.Bytes, r)
		}
		t.Logf("%s: %d events, %v", name, len(seqs), r)
	}
}

// TestLongWords: what repeats itself for thousands of bytes is listed, so that other searches do
// not look into it. A long word that does not, such as a picture in base64, is not listed.
func TestLongWords(t *testing.T) {
	dir := t.TempDir()
	w := open(t, dir, record.Options{})
	for _, text := range []string{strings.Repeat("7", 20_000), strings.Repeat("142857", 3000), strings.Repeat("ha", 9000) + "end", longWord + strings.Repeat(" plain", 2000)} {
		put(t, w, text)
	}
	shut(t, w)
	index(t, dir, Options{})
	for pattern, want := range map[string]struct{ found, looked int }{
		"glockenspiel":         {0, 1},
		"7777777777":           {1, 2},
		"285714285714285":      {1, 2},
		"hahahahaend":          {1, 2},
		"hahahahahaha":         {1, 2},
		longWord[1000:1030]:    {1, 1},
		"(?i)AHAHAHAHAHAHAEND": {1, 2},
	} {
		seqs, r := search(t, dir, record.ReadOptions{}, Query{Pattern: regexp.MustCompile(pattern)})
		if len(seqs) != want.found || r.Looked != want.looked {
			t.Errorf("%s: %d events, want %d; %d blocks were looked into, want %d of %d", pattern, len(seqs), want.found, r.Looked, want.looked, r.Blocks)
		}
	}
}

func headerOf(t testing.TB, line []byte) (h header) {
	t.Helper()
	if err := json.Unmarshal(line, &h); err != nil {
		t.Fatal(err)
	}
	return h
}

// FuzzFile: no sidecar makes a reading panic, or give an event that the segment does not have.
// Its header and its parts agree, so that they are looked at.
func FuzzFile(f *testing.F) {
	dir := smallRecord(f, record.Options{})
	index(f, dir, Options{})
	path := sidecars(f, dir)[1]
	whole, err := os.ReadFile(path)
	if err != nil {
		f.Fatal(err)
	}
	line, _, _ := bytes.Cut(whole, []byte("\n"))
	names := slices.Sorted(maps.Keys(headerOf(f, line).Sections))
	for i := range names {
		f.Add(uint8(i), []byte{0xff, 0xff, 0xff, 0xff, 0x0f}, uint16(0), uint8(3))
		f.Add(uint8(i), []byte{}, uint16(1), uint8(200))
	}
	segment, err := os.ReadFile(strings.TrimSuffix(path, ".sidecar") + ".jsonl")
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, n uint8, put []byte, at uint16, cut uint8) {
		name := names[int(n)%len(names)]
		if name == "terms" || name == "posts" {
			return
		}
		data := forged(t, whole, name, func(b []byte) []byte {
			b = slices.Clone(b)
			from := int(at) % (len(b) + 1)
			copy(b[from:], put)
			if name == "ids" || name == "grams" {
				return b
			}
			return append(b[:from], b[min(len(b), from+int(cut)%8):]...)
		})
		x, err := openFile(bytes.NewReader(data), int64(len(data)), bytes.NewReader(segment), int64(len(segment)), 6, nil)
		if err != nil {
			return
		}
		for _, q := range []Query{{Pattern: regexp.MustCompile("word-7 and")}, {IDs: []string{"x-1"}}, {Query: record.Query{Model: "m", Cycle: new(int)}, Words: map[Word]string{Outcome: "answered"}}} {
			if sel, err := (&giver{q: &q}).selected(x); err == nil && len(sel) != 0 && len(sel) != x.h.Rows {
				t.Fatalf("%d rows of %d", len(sel), x.h.Rows)
			}
		}
		for i := range numberNames {
			_, _ = x.number(Number(i), nil)
		}
		for _, section := range names {
			_, _ = x.content(section)
		}
	})
}

// TestVersion1: a record of version 1, which is there only for reading, gets sidecars on
// request, and is read as before.
func TestVersion1(t *testing.T) {
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS("../../../record/testdata/v1")); err != nil {
		t.Fatal(err)
	}
	q := Query{Query: record.Query{Types: []record.Type{record.TypeInvocation, record.TypeExchange, record.TypeRunStart, record.TypeCycleStart}}, Pattern: regexp.MustCompile("[a-z]{3}")}
	before, _ := search(t, dir, record.ReadOptions{NoIndex: true}, q)
	m := index(t, dir, Options{})
	after, r := search(t, dir, record.ReadOptions{NoIndex: true}, q)
	if m.Made != 1 || len(before) == 0 || !slices.Equal(before, after) || r.Without+r.Stale > 0 {
		t.Errorf("%+v: %v and %v, %v", m, before, after, r)
	}
	if c, err := Check(dir, nil); err != nil || c.Compared != 1 || len(c.Wrong) > 0 {
		t.Errorf("%+v, %v", c, err)
	}
}

// TestDamaged: a search says which lines cannot be read, as a reading of the whole record does;
// and a segment whose events are not in order has no sidecar.
func TestDamaged(t *testing.T) {
	dir := smallRecord(t, record.Options{})
	files, err := record.Files(dir)
	if err != nil {
		t.Fatal(err)
	}
	edit := func(f record.File, change func(lines [][]byte) [][]byte) {
		data, err := os.ReadFile(f.Path)
		if err == nil {
			err = os.WriteFile(f.Path, bytes.Join(change(bytes.SplitAfter(data, []byte("\n"))), nil), 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	edit(files[1], func(lines [][]byte) [][]byte {
		lines[1] = bytes.Replace(lines[1], []byte(`"payload":{`), []byte(`"payload":[`), 1)
		return lines
	})
	edit(files[2], func(lines [][]byte) [][]byte { return append(lines[:1:1], lines...) }) // a line twice
	m := index(t, dir, Options{})
	if len(m.Skipped) != 1 || m.Skipped[0].Segment != filepath.Base(files[2].Path) || m.Segments != len(files)-1 {
		t.Fatalf("%+v", m)
	}
	collect := func(events iter.Seq2[record.Event, error]) (list []string) {
		for e, err := range events {
			if _, line := errors.AsType[*record.LineError](err); err != nil && !line {
				t.Fatal(err)
			}
			list = append(list, fmt.Sprint(e.Seq, err))
		}
		return list
	}
	s, err := Open(dir, record.ReadOptions{NoIndex: true})
	if err != nil {
		t.Fatal(err)
	}
	q := Query{Pattern: regexp.MustCompile("more")}
	want, got := collect(s.Reader().Events(record.Query{})), collect(s.Events(q))
	if !slices.Equal(got, want) || s.Report().Without != 1 {
		t.Errorf("got  %v\nwant %v: %v", got, want, s.Report())
	}
	q.Pattern = regexp.MustCompile("nothing like it")
	if got := collect(s.Events(q)); !slices.ContainsFunc(got, func(text string) bool {
		return strings.HasPrefix(text, "0record: ") || strings.HasPrefix(text, "0 record: ")
	}) {
		t.Errorf("a search for something else does not say that a line cannot be read: %v", got)
	}
	if c, err := Check(dir, nil); err != nil || len(c.Wrong) > 0 {
		t.Errorf("%+v, %v", c, err)
	}
}
