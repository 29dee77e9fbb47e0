package recordset

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sotto-llm/sotto/record"
)

// writeRecord writes a record by hand, so that its times are those of the test:
// an ERROR event for each, whose message names the record.
func writeRecord(t *testing.T, dir string, seconds ...int) {
	t.Helper()
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	for i, s := range seconds {
		at := time.Date(2026, 1, 1, 0, 0, s, 0, time.UTC).Format(time.RFC3339Nano)
		fmt.Fprintf(&b, `{"v":2,"seq":%d,"time":%q,"run":"","cycle":0,"type":"ERROR","payload":{"code":"x"},"prev":"%064d"}`+"\n", i+1, at, 0)
	}
	if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("%020d.jsonl", 1)), []byte(b.String()), 0o600); err != nil {
		t.Fatal(err)
	}
}

func names(t *testing.T, set *Set, q record.Query) (list []string) {
	t.Helper()
	for e, err := range set.Events(q) {
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, fmt.Sprint(e.Source.Name, e.Seq))
	}
	return list
}

func TestEventsByTime(t *testing.T) {
	dir := t.TempDir()
	writeRecord(t, filepath.Join(dir, "records", "a"), 1, 4, 4, 9)
	writeRecord(t, filepath.Join(dir, "records", "b"), 4, 5, 2, 10) // its clock goes back at 2
	writeRecord(t, filepath.Join(dir, "records", "c"))
	set, err := Open(dir, record.ReadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"a1", "a2", "a3", "b1", "b2", "b3", "a4", "b4"}
	if got := names(t, set, record.Query{}); !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if got := names(t, set, record.Query{Limit: 3}); !slices.Equal(got, want[:3]) {
		t.Errorf("with a limit: got %v, want %v", got, want[:3])
	}
	if got, want := names(t, set, record.Query{After: 2}), []string{"b3", "a3", "a4", "b4"}; !slices.Equal(got, want) {
		t.Errorf("after 2: got %v, want %v", got, want)
	}
	var entries []string
	for e, err := range set.Entries(record.Query{}) {
		if err != nil {
			t.Fatal(err)
		}
		entries = append(entries, fmt.Sprint(e.Source.Name, e.Seq))
	}
	if !slices.Equal(entries, want) {
		t.Errorf("entries: got %v, want %v", entries, want)
	}
}

// Every event comes once, each record keeps its order, and a value comes before
// another that is later, for any times.
func TestMergeLaws(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 7))
	for range 200 {
		set := &Set{}
		of := map[*Source][]int{}
		total := 0
		for i := range 2 + r.IntN(6) {
			s := &Source{Name: fmt.Sprint(i), several: true}
			set.sources = append(set.sources, s)
			for range r.IntN(20) {
				of[s] = append(of[s], r.IntN(30))
				total++
			}
			slices.Sort(of[s])
		}
		type value struct {
			from *Source
			at   int
		}
		last, seen := -1, map[*Source][]int{}
		for v, err := range Merge(set, func(s *Source) iter.Seq2[value, error] {
			return func(yield func(value, error) bool) {
				for _, at := range of[s] {
					if !yield(value{s, at}, nil) {
						return
					}
				}
			}
		}, func(v *value) time.Time { return time.Unix(int64(v.at), 0) }) {
			if err != nil || v.at < last {
				t.Fatalf("%d after %d, %v", v.at, last, err)
			}
			last = v.at
			seen[v.from] = append(seen[v.from], v.at)
			total--
		}
		for s, list := range of {
			if !slices.Equal(seen[s], list) {
				t.Fatalf("record %s: got %v, want %v", s.Name, seen[s], list)
			}
		}
		if total != 0 {
			t.Fatalf("%d values are missing", total)
		}
	}
}

// A line that cannot be read is said with its record, and all other events come.
func TestErrorsNameTheRecord(t *testing.T) {
	dir := t.TempDir()
	writeRecord(t, filepath.Join(dir, "a"), 1, 3)
	writeRecord(t, filepath.Join(dir, "b"), 2, 4)
	name := filepath.Join(dir, "b", fmt.Sprintf("%020d.jsonl", 1))
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, append([]byte("{}\n"), data...), 0o600); err != nil {
		t.Fatal(err)
	}
	set, err := Open(dir, record.ReadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	var failed []error
	for _, err := range set.Events(record.Query{}) {
		if err != nil {
			failed = append(failed, err)
			continue
		}
		n++
	}
	var line *record.LineError
	if n != 4 || len(failed) != 1 || !errors.As(failed[0], &line) || !strings.HasPrefix(failed[0].Error(), "b: ") {
		t.Errorf("%d events, errors %v", n, failed)
	}
}

func TestOpen(t *testing.T) {
	dir := t.TempDir()
	at := func(names ...string) string { return filepath.Join(append([]string{dir}, names...)...) }
	writeRecord(t, at("study", "records", "w1"), 1)
	writeRecord(t, at("study", "records", "w2"), 1)
	writeRecord(t, at("both", "own"), 1)
	writeRecord(t, at("both", "records", "w1"), 1)
	writeRecord(t, at("record", "below"), 1)
	writeRecord(t, at("record"), 1)
	for _, name := range []string{"study/LOCK", "study/results.jsonl", "lock/LOCK", "none/cells/c.jsonl", "none/records/c.txt"} {
		if err := os.MkdirAll(filepath.Dir(at(name)), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(at(name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for name, want := range map[string]string{
		"study": "w1 w2", "study/records": "w1 w2", "study/records/w2": "w2", // the lock and the results of a study do not make it a record
		"both": "own", "record": "record", "lock": "lock",
		"none": "error", "absent": "error",
	} {
		set, err := Open(at(name), record.ReadOptions{})
		var list []string
		if err != nil {
			list = []string{"error"}
		} else {
			for _, s := range set.Sources() {
				list = append(list, s.Name)
			}
		}
		if got := strings.Join(list, " "); got != want {
			t.Errorf("%s: got %q (%v), want %q", name, got, err, want)
		}
	}
	if err := os.Symlink(at("record"), at("study", "records", "w3")); err == nil {
		if set, err := Open(at("study"), record.ReadOptions{}); err != nil || len(set.Sources()) != 2 {
			t.Errorf("a link was followed: %v", err)
		}
	}
}

func TestOpenBounds(t *testing.T) {
	dir := t.TempDir()
	for i := range maxRecords + 1 {
		d := filepath.Join(dir, fmt.Sprint(i))
		if err := errors.Join(os.Mkdir(d, 0o700), os.WriteFile(filepath.Join(d, "LOCK"), nil, 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := Open(dir, record.ReadOptions{}); err == nil || !strings.Contains(err.Error(), "holds 513 records, 512 at most") {
		t.Errorf("error %v", err)
	}
}

// A record is read while it is written.
func TestOpenRecordBeingWritten(t *testing.T) {
	dir := t.TempDir()
	w, err := record.Open(filepath.Join(dir, "w1"), record.Options{Policy: record.None})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	set, err := Open(dir, record.ReadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Append(context.Background(), record.Event{Payload: record.Failure{Code: "x"}}); err != nil {
		t.Fatal(err)
	}
	if got := names(t, set, record.Query{}); !slices.Equal(got, []string{"w11"}) {
		t.Errorf("got %v", got)
	}
}
