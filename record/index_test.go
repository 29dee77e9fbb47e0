package record_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"filippo.io/age"

	"github.com/sotto-llm/sotto/record"
)

// withIndex is a record of one segment and its index.
func withIndex(t *testing.T, o record.Options) (dir, index string) {
	t.Helper()
	dir = t.TempDir()
	w := open(t, dir, o)
	for i := range 12 {
		put(t, w, fmt.Sprintf("run-%d", i%3), i, said([]string{"a", "b"}[i%2], []string{"<think>x", "y"}[i%2]))
	}
	put(t, w, "run-0", 12, record.CycleStart{})
	shut(t, w)
	return dir, strings.TrimSuffix(segments(t, dir)[0], ".jsonl") + ".index"
}

// seqs is what a reader gives and lists for a query, and its errors.
func seqs(t *testing.T, dir string, q record.Query) (given, listed []uint64, errs []error) {
	t.Helper()
	r, err := record.OpenReader(dir, record.ReadOptions{NoIndex: true})
	if err != nil {
		t.Fatal(err)
	}
	for e, err := range r.Events(q) {
		if err != nil {
			errs = append(errs, err)
			continue
		}
		given = append(given, e.Seq)
	}
	for e, err := range r.Entries(q) {
		if err != nil {
			errs = append(errs, err)
			continue
		}
		listed = append(listed, e.Seq)
	}
	return given, listed, errs
}

// forgeries change rows so that nothing in the index contradicts them.
var forgeries = map[string]func(rows []byte){
	"the run of an event":   func(b []byte) { b[4*56+44] = b[5*56+44] },
	"the model of an event": func(b []byte) { b[4*56+48] ^= 1 },
	"the type of an event":  func(b []byte) { b[4*56+52] = b[12*56+52] },
	"the time of an event":  func(b []byte) { clear(b[4*56+16 : 4*56+24]) },
	"the cycle of an event": func(b []byte) { b[4*56+40] = 99 },
	"the codes of an event": func(b []byte) { clear(b[4*56+24 : 4*56+32]) },
	"all but the last one's run": func(b []byte) {
		for i := range 12 {
			b[i*56+44] = b[11*56+44]
		}
	},
}

// A forged index does not hide an event of a signed record from a reader, and
// Verify finds it, signed or not. In a record without signatures, only Verify
// finds it: whoever can write the folder can rewrite such a record.
func TestForgedIndex(t *testing.T) {
	for name, forge := range forgeries {
		for _, o := range []record.Options{{SigningKey: key()}, {}} {
			dir, index := withIndex(t, o)
			forgeIndex(t, index, forge)
			r := verify(t, dir, record.VerifyOptions{})
			if len(r.Findings) != 1 || r.Findings[0].Fault != record.Misindexed || !strings.HasSuffix(r.Findings[0].Segment, ".index") {
				t.Errorf("%s: found %v", name, r.Findings)
			}
			if o.SigningKey == nil {
				continue
			}
			if r := verify(t, dir, record.VerifyOptions{Keys: public()}); len(r.Findings) != 1 {
				t.Errorf("%s: found %v with the key", name, r.Findings)
			}
			all := read(t, dir, record.ReadOptions{}, record.Query{})
			for _, q := range indexQueries(all) {
				want := selected(all, q)
				given, listed, errs := seqs(t, dir, q)
				if !slices.Equal(given, want) || !slices.Equal(listed, want) || len(errs) > 0 {
					t.Errorf("%s: %+v gives %v and lists %v, want %v: %v", name, q, given, listed, want, errs)
				}
			}
		}
	}
}

// An index whose rows are not those of the lines is said, and hides nothing that
// comes after. The record is not closed, so that no checkpoint names its index.
func TestIndexOfOtherLines(t *testing.T) {
	dir, index := withIndex(t, record.Options{})
	forgeIndex(t, index, func(b []byte) { b[2*56+36]++; b[3*56+36]--; b[3*56+8]++ }) // a boundary between lines
	given, _, errs := seqs(t, dir, record.Query{Run: "run-2"})
	if !slices.Equal(given, []uint64{3, 6, 9, 12}) {
		t.Errorf("gives %v", given)
	}
	var line *record.LineError
	if len(errs) == 0 || !errors.As(errs[0], &line) {
		t.Errorf("errors %v", errs)
	}
}

// What an index has no room for is read from the line: a time that nanoseconds
// cannot count, a cycle of 64 bits, a number of events of more than 32.
func TestOddRows(t *testing.T) {
	zeros := strings.Repeat("0", 64)
	var lines [][]byte
	for i, c := range []string{
		`"time":"0001-01-02T03:04:05Z","run":"r","cycle":1,"type":"CYCLE_START"`, `"time":"9999-01-02T03:04:05Z","run":"r","cycle":1,"type":"CYCLE_START"`,
		`"time":"2026-01-02T03:04:05Z","run":"r","cycle":4294967297,"type":"CYCLE_START"`, `"time":"2026-01-02T03:04:05Z","run":"r","cycle":-1,"type":"CYCLE_START"`,
		`"time":"2026-01-02T03:04:05Z","run":"\u0072","cycle":1,"type":"CYCLE_START"`, `"time":"yesterday","run":"r","cycle":1,"type":"CYCLE_START"`,
	} {
		lines = append(lines, fmt.Appendf(nil, `{"v":1,"seq":%d,%s,"payload":{"goal":{"text":"g"}},"prev":"%s"}`+"\n", i+1, c, zeros))
	}
	lines = append(lines, []byte("not an event\n"))
	dir := join(t, lines...)
	year := func(n int) time.Time { return time.Date(n, 1, 1, 0, 0, 0, 0, time.UTC) }
	one, minus := 1, -1
	for _, c := range []struct {
		q    record.Query
		want []uint64
	}{
		{record.Query{Run: "r"}, []uint64{1, 2, 3, 4, 5}}, {record.Query{To: year(1000)}, []uint64{1}}, {record.Query{From: year(5000)}, []uint64{2}},
		{record.Query{Cycle: &one}, []uint64{1, 2, 5}}, {record.Query{Cycle: &minus}, []uint64{4}}, {record.Query{Run: "none"}, nil},
	} {
		given, listed, errs := seqs(t, dir, c.q)
		if !slices.Equal(given, c.want) || !slices.Equal(listed, c.want) || len(errs) != 4 {
			t.Errorf("%+v gives %v and lists %v, want %v; %d errors", c.q, given, listed, c.want, len(errs))
		}
	}
}

// Doubled names, numbers beyond the tables, rows beyond the file: no header and no
// row makes a reader panic or hold more than the segment is worth.
func TestHostileIndex(t *testing.T) {
	dir, index := withIndex(t, record.Options{})
	whole, _ := os.ReadFile(index)
	head, rows, _ := bytes.Cut(whole, []byte("\n"))
	header := func(change func(h map[string]any)) []byte {
		var h map[string]any
		_ = json.Unmarshal(head, &h)
		change(h)
		out, _ := json.Marshal(h)
		return append(append(out, '\n'), rows...)
	}
	files := map[string][]byte{
		"a doubled run":    header(func(h map[string]any) { h["runs"] = []string{"run-0", "run-0", "run-0", "run-0"} }),
		"a doubled type":   header(func(h map[string]any) { h["types"] = []string{"LLM_INVOCATION", "LLM_INVOCATION"} }),
		"a doubled model":  header(func(h map[string]any) { h["models"] = []string{"a", "a"} }),
		"no names":         header(func(h map[string]any) { h["runs"], h["models"], h["types"], h["codes"] = nil, nil, nil, nil }),
		"covered below 0":  header(func(h map[string]any) { h["covered"] = -1 }),
		"covered too much": header(func(h map[string]any) { h["covered"] = int64(1) << 62 }),
		"deep":             []byte(strings.Repeat("[", 1<<16) + "\n"),
		"empty":            nil,
		"a row cut":        whole[:len(whole)-1],
	}
	for i := range 14 { // each field of a row
		forgeIndex(t, index, func(b []byte) {
			for k := range 4 {
				b[3*56+i*4+k] = 0xff
			}
		})
		files[fmt.Sprintf("field %d", i)], _ = os.ReadFile(index)
		_ = os.WriteFile(index, whole, 0o600)
	}
	_ = os.Remove(index)
	all := read(t, dir, record.ReadOptions{NoIndex: true}, record.Query{})
	for name, data := range files {
		if err := os.WriteFile(index, data, 0o600); err != nil {
			t.Fatal(err)
		}
		used := allocated(func() {
			for _, q := range indexQueries(all) {
				_, _, _ = seqs(t, dir, q)
			}
			verify(t, dir, record.VerifyOptions{})
		})
		if used > 128<<20 {
			t.Errorf("%s: %d bytes were allocated", name, used)
		}
	}
	large, err := os.Create(index)
	if err == nil {
		err = errors.Join(large.Truncate(4<<30), large.Close())
	}
	if err != nil {
		t.Fatal(err)
	}
	if used := allocated(func() { seqs(t, dir, record.Query{Run: "run-1"}) }); used > 16<<20 {
		t.Errorf("an index of 4 GiB: %d bytes were allocated", used)
	}
}

// A writer signs no index that it did not make of the lines.
func TestWriterMakesItsIndex(t *testing.T) {
	dir, index := withIndex(t, record.Options{})
	forgeIndex(t, index, forgeries["the run of an event"])
	w := open(t, dir, record.Options{SigningKey: key()})
	put(t, w, "r", 0, record.CycleStart{})
	shut(t, w)
	if r := sound(t, dir, record.VerifyOptions{Keys: public()}); r.Indexes != 1 {
		t.Errorf("%d indexes were compared", r.Indexes)
	}
}

// A writer's index has the same bytes as one that is made of the finished lines:
// also after lines were taken back, of secrets, of foreign payloads, encrypted.
func TestIndexIsAFunctionOfTheLines(t *testing.T) {
	_, to := recipient(t)
	for name, o := range map[string]record.Options{
		"plain": {}, "signed": {SigningKey: key(), CheckpointEvery: 3}, "encrypted": {Recipients: []age.Recipient(to)},
		"secrets": {Secrets: record.NewSecrets("model-x", "code-y")},
	} {
		dir := t.TempDir()
		o.SegmentSize = 3000
		w := open(t, dir, o)
		for i := range 30 {
			put(t, w, "r", i, said("model-x\xff", "<think>x"))
			put(t, w, "r", i, record.Failure{Code: "code-y\xfe"})
			put(t, w, "r", i, record.Unknown{Name: record.TypeInvocation, JSON: []byte(`{"model":"z","replies":[{"diagnostics":[{"code":"c"}]}]}`)})
		}
		shut(t, w)
		if r := sound(t, dir, record.VerifyOptions{}); r.Indexes < 5 || r.Indexes != r.Segments {
			t.Errorf("%s: %d indexes of %d segments were compared", name, r.Indexes, r.Segments)
		}
	}
}

// FuzzIndex holds that no index makes a reader panic, hide an event of a signed
// record, or give an event that is not in the segment.
func FuzzIndex(f *testing.F) {
	source := f.TempDir()
	w := open(f, source, record.Options{SigningKey: key()})
	for i := range 6 {
		put(f, w, fmt.Sprintf("run-%d", i%2), i, said("m", "<think>x"))
	}
	shut(f, w)
	segment, _ := os.ReadFile(segments(f, source)[0])
	index, _ := os.ReadFile(strings.TrimSuffix(segments(f, source)[0], ".jsonl") + ".index")
	head, rows, _ := bytes.Cut(index, []byte("\n"))
	f.Add(head, rows, true)
	f.Add(head, rows[:56], true)
	f.Add(bytes.ReplaceAll(head, []byte("run-1"), []byte("run-0")), rows, true)
	f.Fuzz(func(t *testing.T, head, rows []byte, sum bool) {
		if sum { // so that the rows are looked at
			var h map[string]json.RawMessage
			if json.Unmarshal(head, &h) == nil && h != nil {
				h["sum"], _ = json.Marshal(record.DigestOf(string(rows)))
				head, _ = json.Marshal(h)
			}
		}
		dir := t.TempDir()
		name := filepath.Join(dir, "00000000000000000001")
		_ = os.WriteFile(name+".jsonl", segment, 0o600)
		_ = os.WriteFile(name+".index", slices.Concat(head, []byte("\n"), rows), 0o600)
		for q, want := range map[*record.Query][]uint64{{Run: "run-1"}: {2, 4, 6}, {After: 3}: {4, 5, 6, 7}, {Model: "m", After: 2}: {3, 4, 5, 6}} {
			given, listed, errs := seqs(t, dir, *q)
			if !slices.Equal(given, want) || !slices.Equal(listed, want) || len(errs) > 0 {
				t.Errorf("%+v gives %v and lists %v: %v", *q, given, listed, errs)
			}
		}
		unsigned := bytes.SplitAfter(segment, []byte("\n"))
		_ = os.WriteFile(name+".jsonl", bytes.Join(unsigned[:6], nil), 0o600) // no checkpoint names the index now
		given, _, errs := seqs(t, dir, record.Query{After: 3})
		if !slices.Equal(given, []uint64{4, 5, 6}) && len(errs) == 0 {
			t.Errorf("gives %v and says nothing", given)
		}
		verify(t, dir, record.VerifyOptions{})
	})
}

// indexQueries ask for everything that an index holds.
func indexQueries(all []record.Event) []record.Query {
	four := 4
	return []record.Query{
		{Run: "run-1"}, {Run: "run-2", NoCheckpoints: true}, {Model: "a"}, {Cycle: &four}, {Types: []record.Type{record.TypeInvocation}},
		{Diagnostic: "truncated"}, {Diagnostic: "no_visible_answer"}, {From: all[0].Time}, {After: 3}, {After: 4, Run: "run-1"},
	}
}
