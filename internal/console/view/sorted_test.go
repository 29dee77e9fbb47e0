package view_test

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/sotto-llm/sotto/internal/base/effort"
	"github.com/sotto-llm/sotto/internal/console/consoletest"
	"github.com/sotto-llm/sotto/internal/console/view"
	"github.com/sotto-llm/sotto/internal/recorded/sidecar"
	"github.com/sotto-llm/sotto/record"
)

// TestSorted: a sorted list has the rows of the plain list in the order of the fact, and their
// totals, for every fact and several filters, with sidecars and without.
func TestSorted(t *testing.T) {
	effort.OneGoroutine(t)
	w, dir := consoletest.Open(t)
	r := rand.New(rand.NewPCG(1, 2))
	for i := range 260 {
		x := consoletest.Exchange(fmt.Sprint("m", i%3), "p", "<think>"+strings.Repeat("t", r.IntN(40))+"</think>"+strings.Repeat("a", r.IntN(50)))
		x.Millis, x.FirstAnswer, x.Retries, x.Caller, x.Usage = r.Int64N(50), r.Int64N(9), r.IntN(3), fmt.Sprint("team-", i%7), &record.Usage{Input: r.Int64N(99), Output: r.Int64N(30)}
		if i%9 == 0 {
			x.Outcome, x.Error, x.Replies = "failed", "no", nil
		}
		if i == 200 {
			x.Replies[0].Raw = record.Say(strings.Repeat("long ", 220_000)) // its line is read in part
		}
		consoletest.Put(t, w, x)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	filters := []string{"", "model=m1", "outcome=failed", "caller=team-3", "text=aaaaaa", "leaked=1", "route=chat"}
	look := func() map[string][]string {
		seen := map[string][]string{}
		for _, f := range filters {
			for i, fact := range view.SortKeys() {
				if f != "" && i%5 != 0 {
					continue
				}
				for _, sign := range []string{"", "-"} {
					sorted(t, dir, f, fact, sign == "-", seen)
				}
			}
		}
		return seen
	}
	without := look()
	if _, err := sidecar.Make(t.Context(), dir, sidecar.Options{}); err != nil {
		t.Fatal(err)
	}
	with := look()
	for name, rows := range without {
		if !slices.Equal(rows, with[name]) {
			t.Errorf("%s: with sidecars\n%v\nwithout\n%v", name, with[name], rows)
		}
	}
}

// sorted notes the rows of all pages of a sorted list, and checks their order and totals.
func sorted(t *testing.T, dir, filter string, fact view.SortKey, least bool, seen map[string][]string) {
	t.Helper()
	s := view.NewSource(consoletest.Store(t, dir), nil)
	name := fmt.Sprintf("%s sort=%s least=%v", filter, fact, least)
	q, _ := url.ParseQuery(filter)
	list := func(more map[string]string) *view.Page {
		v := url.Values{}
		for key := range q {
			v.Set(key, q.Get(key))
		}
		for key, value := range more {
			v.Set(key, value)
		}
		f, err := view.ParseFilter(v)
		if err != nil {
			t.Fatal(err)
		}
		p, err := s.List(context.Background(), f)
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	all, unread := 0, 0
	for before := uint64(0); ; {
		more := map[string]string{}
		if before > 0 {
			more["before"] = fmt.Sprint(before)
		}
		p := list(more)
		all += len(p.Rows)
		unread += p.Unread
		if before = p.Older; before == 0 {
			break
		}
	}
	order := string(fact)
	if least {
		order = "-" + order
	}
	var rows []view.Row
	for at := 0; ; at += view.Rows {
		p := list(map[string]string{"sort": order, "at": fmt.Sprint(at)})
		if p.Totals == nil || p.Totals.Rows != all && p.Totals.Rows != all+unread {
			t.Fatalf("%s: totals %+v of %d rows and %d unread", name, p.Totals, all, unread)
		}
		rows = append(rows, p.Rows...)
		if !p.More {
			break
		}
	}
	if !slices.IsSortedFunc(rows, func(a, b view.Row) int {
		by := cmp.Compare(b.Fact, a.Fact)
		if least {
			by = -by
		}
		return cmp.Or(by, cmp.Compare(b.Event, a.Event))
	}) {
		t.Errorf("%s: not sorted", name)
	}
	for _, row := range rows {
		if row.Fact == 0 {
			t.Errorf("%s: event %d has no such fact", name, row.Event)
		}
		want := map[view.SortKey]int64{"took": row.Millis, "size": int64(row.Size), "thought": int64(row.Reasoning)}
		if n, ok := want[fact]; ok && n != row.Fact && !row.Partial {
			t.Errorf("%s: event %d: sorted by %d, shows %d", name, row.Event, row.Fact, n)
		}
		seen[name] = append(seen[name], fmt.Sprint(row.Event, " ", row.Fact))
	}
	if fact == "size" && len(rows) != all {
		t.Errorf("%s: %d rows of %d", name, len(rows), all)
	}
}

// TestSortedBounds: what cannot be asked says what can be.
func TestSortedBounds(t *testing.T) {
	for text, want := range map[string]string{"sort=beauty": "time or one of thought", "sort=took&at=901": "up to 900", "sort=took&at=-1": "up to", "sort=took&before=7": "by at"} {
		q, _ := url.ParseQuery(text)
		if _, err := view.ParseFilter(q); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", text, err)
		}
	}
}
