package peers_test

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/sotto-llm/sotto/internal/console/peers"
)

// A row is an event of a record, with what the list is sorted by.
type row struct {
	record string
	seq    uint64
	fact   int
}

// TestMergePages reads lists of several records page by page, against one sorted list of all:
// each row comes once, in the same order, whatever the pages of the records are, and a record
// that did not answer for a page has all of its rows on later ones.
func TestMergePages(t *testing.T) {
	for seed := range uint64(300) {
		rng := rand.New(rand.NewPCG(seed, 1))
		records := map[string][]row{}
		var all []row
		for n := range 1 + rng.IntN(4) {
			record := fmt.Sprintf("r%d", n)
			for seq := range uint64(rng.IntN(40)) {
				records[record] = append(records[record], row{record, seq + 1, rng.IntN(6)})
			}
			all = append(all, records[record]...)
			records[record] = append([]row{}, records[record]...)
		}
		byFact := rng.IntN(2) == 0
		before := func(a, b *row) bool {
			if byFact {
				return a.fact > b.fact
			}
			return a.seq > b.seq // the time
		}
		order := func(a, b row) int {
			switch {
			case before(&a, &b):
				return -1
			case before(&b, &a):
				return 1
			}
			return cmp.Or(cmp.Compare(a.record, b.record), -cmp.Compare(a.seq, b.seq))
		}
		for _, rows := range records {
			slices.SortFunc(rows, order)
		}
		slices.SortFunc(all, order)
		most, own := 1+rng.IntN(9), 1+rng.IntN(9)
		lost := rng.IntN(3) == 0 // some do not answer for the first page
		var got []row
		cursor := peers.Cursor(nil)
		for page := 0; ; page++ {
			if page > 500 {
				t.Fatalf("seed %d: the list does not end", seed)
			}
			var parts []peers.Part[row]
			for n := range len(records) {
				record := fmt.Sprintf("r%d", n)
				from, ok := cursor.In(record)
				if !ok {
					continue
				}
				if lost && page == 0 && n > 0 && rng.IntN(2) == 0 {
					parts = append(parts, peers.Part[row]{Record: record, From: from, Missing: true})
					continue
				}
				rest := records[record]
				if byFact {
					rest = rest[min(from.At, uint64(len(rest))):]
				} else if from.At > 0 {
					rest = rest[slices.IndexFunc(append(slices.Clone(rest), row{}), func(r row) bool { return r.seq < from.At }):]
				}
				rows := rest[:min(len(rest), own)]
				after := func(taken int) peers.Place {
					if byFact {
						return peers.Place{At: from.At + uint64(taken)}
					}
					return peers.Place{At: rows[taken-1].seq}
				}
				next := peers.Place{End: true}
				if len(rest) > len(rows) {
					next = after(len(rows))
				}
				parts = append(parts, peers.Part[row]{Record: record, From: from, Rows: rows, Next: next, After: after})
			}
			rows, next := peers.Merge(parts, min(most, own), cursor, before)
			got = append(got, rows...)
			if next == nil {
				break
			}
			text := next.String()
			var err error
			if cursor, err = peers.ParseCursor(text); err != nil || cursor.String() != text {
				t.Fatalf("seed %d: %q becomes %q: %v", seed, text, cursor, err)
			}
		}
		if lost { // late rows are out of order, and those of records that end with the others may not come
			sorted := slices.Clone(got)
			slices.SortFunc(sorted, order)
			if len(slices.Compact(sorted)) != len(got) {
				t.Fatalf("seed %d: a row comes twice", seed)
			}
			continue
		}
		if !slices.Equal(got, all) && len(all)+len(got) > 0 {
			t.Fatalf("seed %d: %v, want %v", seed, got, all)
		}
	}
}

// TestHostileCursors: what is not a cursor is refused, also one of too many records.
func TestHostileCursors(t *testing.T) {
	many := peers.Cursor{}
	for n := range 2 * peers.Most {
		many[fmt.Sprint(n)] = peers.Place{At: 1}
	}
	for _, text := range []string{"a", "a.", "a.-1", "a.x", ".1", "a/b.1", "a.1_", "a.99999999999999999999", "a.1_b", many.String()} {
		if c, err := peers.ParseCursor(text); err == nil {
			t.Errorf("%q is the cursor %v", text, c)
		}
	}
}
