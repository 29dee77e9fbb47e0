package runview_test

import (
	"cmp"
	"context"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/sotto-llm/sotto/internal/console/consoletest"
	"github.com/sotto-llm/sotto/internal/lab/runview"
	"github.com/sotto-llm/sotto/record"
)

// TestSorted: sorted runs are those of the plain list that have the fact, in its order, and
// the totals are of all.
func TestSorted(t *testing.T) {
	w, dir := consoletest.Open(t)
	cycles := 0
	for i := range 230 {
		run := fmt.Sprint("run-", i)
		put := func(p record.Payload) {
			if _, err := w.Append(t.Context(), record.Event{Run: run, Payload: p}); err != nil {
				t.Fatal(err)
			}
		}
		put(record.RunStart{Agent: "a", Model: "m"})
		if i%10 == 0 {
			continue // still open
		}
		n := i * 7 % 31
		cycles += n
		put(record.RunEnd{Status: []string{"done", "failed"}[i%2], Cycles: n, Millis: int64(i), Metrics: &record.Metrics{ToolCalls: i % 5, ThoughtBytes: i * 3 % 17}})
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	s := runview.NewSource(consoletest.Store(t, dir))
	for _, key := range runview.SortKeys() {
		for _, sign := range []string{"", "-"} {
			var rows []runview.Run
			for at := 0; ; at += runview.Rows {
				q, _ := url.ParseQuery(fmt.Sprintf("sort=%s%s&at=%d", sign, key, at))
				f, err := runview.ParseFilter(q)
				if err != nil {
					t.Fatal(err)
				}
				l, err := s.List(context.Background(), f)
				if err != nil {
					t.Fatal(err)
				}
				if l.Totals == nil || l.Totals.Runs != 230 || l.Totals.Cycles != cycles || l.Totals.Failed != 115 {
					t.Fatalf("%s: %+v, want %d cycles", key, l.Totals, cycles)
				}
				rows = append(rows, l.Rows...)
				if !l.More {
					break
				}
			}
			want := map[string]int{"took": 207, "input": 0}
			if n, ok := want[key]; ok && len(rows) != n {
				t.Errorf("%s: %d rows, want %d", key, len(rows), n)
			}
			if !slices.IsSortedFunc(rows, func(a, b runview.Run) int {
				by := cmp.Compare(b.Fact(key), a.Fact(key))
				if sign == "-" {
					by = -by
				}
				return by
			}) || slices.ContainsFunc(rows, func(r runview.Run) bool { return r.Fact(key) == 0 }) {
				t.Errorf("%s%s: not sorted", sign, key)
			}
		}
	}
	for text, want := range map[string]string{"sort=beauty": "time or one of cycles", "sort=took&at=-1": "up to", "sort=took&before=3": "by at"} {
		q, _ := url.ParseQuery(text)
		if _, err := runview.ParseFilter(q); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", text, err)
		}
	}
}
