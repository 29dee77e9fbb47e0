package record_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sotto-llm/sotto/internal/base/effort"
	"github.com/sotto-llm/sotto/record"
)

// readAll reads a record in every way, and returns how many events and errors
// there were without an index and by it.
func readAll(t *testing.T, dir string) (events, errs int) {
	t.Helper()
	r, err := record.OpenReader(dir, record.ReadOptions{NoIndex: true})
	if err != nil {
		t.Fatal(err)
	}
	for _, q := range []record.Query{{}, {NoCheckpoints: true}} {
		for _, err := range r.Events(q) {
			if events++; err != nil {
				events--
				errs++
			}
		}
	}
	return events, errs
}

// A line of 10 GB, with an end or without one, costs no more than the longest line
// that is read; it is said, and what stands in other segments is read.
func TestLongLine(t *testing.T) {
	if effort.Brief() {
		t.Skip("a file of 10 GiB: SOTTO_EFFORT=1 runs it")
	}
	dir := t.TempDir()
	w := open(t, dir, record.Options{SegmentSize: 1})
	for range 3 {
		put(t, w, "r", 0, record.CycleStart{})
	}
	shut(t, w)
	second := segments(t, dir)[1]
	f, err := os.OpenFile(second, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err = f.WriteAt([]byte("\n"), 10<<30); err != nil {
		t.Skip(err) // no files with holes here
	}
	f.Close()
	used := allocated(func() {
		if events, errs := readAll(t, dir); events < 4 || errs < 2 {
			t.Errorf("%d events, %d errors", events, errs)
		}
		r := verify(t, dir, record.VerifyOptions{})
		if r.Segments != 3 || len(r.Findings) == 0 {
			t.Errorf("report %+v", r)
		}
	})
	if used > 5*(300<<20) { // of five readings, two of them by verifying with workers
		t.Errorf("%d bytes were allocated", used)
	}
	os.Remove(segments(t, dir)[2])
	if w, err := record.Open(dir, record.Options{}); err == nil {
		shut(t, w)
		t.Error("a record that ends with a line of 10 GB is opened")
	}
}

// A payload of millions of values of a few bytes, or of any depth, is kept unread
// and not taken apart.
func TestManyValues(t *testing.T) {
	zeros := strings.Repeat("0", 64)
	line := func(payload string) []byte {
		return []byte(`{"v":2,"seq":1,"time":"2026-01-02T03:04:05Z","run":"r","cycle":1,"type":"LLM_INVOCATION","payload":` + payload + `,"prev":"` + zeros + "\"}\n")
	}
	for name, payload := range map[string]string{
		"objects": `{"model":"m","replies":[` + strings.Repeat("{},", 3<<20) + `{}]}`,
		"nulls":   `{"model":"m","messages":[` + strings.Repeat("null,", 3<<20) + `null]}`,
		"depth":   `{"model":"m","replies":` + strings.Repeat("[", 9000) + strings.Repeat("]", 9000) + `}`,
	} {
		dir := join(t, line(payload))
		used := allocated(func() {
			for _, e := range read(t, dir, record.ReadOptions{NoIndex: true}, record.Query{}) {
				if _, ok := e.Payload.(record.Unknown); !ok {
					t.Errorf("%s: a payload of %d bytes is %T", name, len(payload), e.Payload)
				}
			}
		})
		if used > uint64(32*len(payload)+64<<20) {
			t.Errorf("%s: %d bytes were allocated for %d", name, used, len(payload))
		}
	}
	dir := join(t, line(strings.Repeat("[", 1<<20)+strings.Repeat("]", 1<<20)))
	if _, errs := readAll(t, dir); errs == 0 {
		t.Error("a payload of a million levels is read")
	}
	w := open(t, t.TempDir(), record.Options{})
	defer shut(t, w)
	many := record.Unknown{Name: "MANY", JSON: []byte("[" + strings.Repeat("0,", 2<<20) + "0]")}
	if _, err := w.Append(t.Context(), record.Event{Payload: many}); !errors.Is(err, record.ErrTooLarge) {
		t.Errorf("an event that nobody could read is appended: %v", err)
	}
	if _, err := record.Open(t.TempDir(), record.Options{MaxEvent: 1 << 30}); err == nil {
		t.Error("a writer may write lines that no reader reads")
	}
}

// Segments without number cost a reader and Verify as much each as a few do.
func TestManySegments(t *testing.T) {
	if effort.Brief() {
		t.Skip("a thousand files: SOTTO_EFFORT=1 runs it")
	}
	cost := func(n int) uint64 {
		dir := t.TempDir()
		for i := range n {
			if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("%020d.jsonl", i+1)), nil, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		return allocated(func() {
			readAll(t, dir)
			verify(t, dir, record.VerifyOptions{})
		})
	}
	cost(10)
	if one, two := cost(500), cost(1000); two > 5*one/2 || two > 1000*512<<10 {
		t.Errorf("500 segments cost %d bytes, 1000 cost %d", one, two)
	}
}
