package peers

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/sotto-llm/sotto/internal/base/shorttext"
)

// A Cursor says where a page of a list of several records begins in each of them. A record that
// is not in the cursor of a page is not on it.
type Cursor map[string]Place

// A Place is where a page begins in a record. At is what the record's own list understands: the
// event after the page's first one, or how many rows come before it. It is 0 at the beginning.
type Place struct {
	At  uint64
	End bool // nothing is left
}

// ParseCursor reads a cursor; nil if there is none.
func ParseCursor(text string) (Cursor, error) {
	if text == "" {
		return nil, nil
	}
	c := Cursor{}
	for part := range strings.SplitSeq(text, "_") {
		record, at, _ := strings.Cut(part, ".")
		n, err := strconv.ParseUint(at, 10, 63)
		if at == "end" {
			err = nil
		}
		if err != nil || !validRecord(record) || len(c) > Most {
			return nil, fmt.Errorf("cursor: %s: want the value of next", shorttext.Quote(text))
		}
		c[record] = Place{At: n, End: at == "end"}
	}
	return c, nil
}

func (c Cursor) String() string {
	var parts []string
	for _, record := range slices.Sorted(maps.Keys(c)) {
		at := strconv.FormatUint(c[record].At, 10)
		if c[record].End {
			at = "end"
		}
		parts = append(parts, record+"."+at)
	}
	return strings.Join(parts, "_")
}

// In returns where a page begins in a record, and false if the record has nothing on it.
func (c Cursor) In(record string) (Place, bool) {
	if c == nil {
		return Place{}, true
	}
	p, ok := c[record]
	return p, ok && !p.End
}

// A Part is what a record has for a page: its rows in the order of the list.
type Part[R any] struct {
	Record string
	From   Place
	Rows   []R
	Next   Place // after all of the rows
	// After is the place after some of the rows, at least one.
	After func(taken int) Place
	// Missing says that the record is not on the page, and may be on the next one.
	Missing bool
}

// Merge returns the first rows of all parts, at most so many, and where the next page begins:
// nil if there is none. before says which of two rows of different records stands first. What
// is as good as another stands in the order of the parts. was is the cursor of this page.
func Merge[R any](parts []Part[R], most int, was Cursor, before func(a, b *R) bool) (rows []R, next Cursor) {
	taken := make([]int, len(parts))
	for len(rows) < most {
		best := -1
		for i := range parts {
			if taken[i] < len(parts[i].Rows) && (best < 0 || before(&parts[i].Rows[taken[i]], &parts[best].Rows[taken[best]])) {
				best = i
			}
		}
		if best < 0 {
			break
		}
		rows = append(rows, parts[best].Rows[taken[best]])
		taken[best]++
	}
	next = Cursor{}
	for record, place := range was {
		if place.End {
			next[record] = place
		}
	}
	more := false
	for i, p := range parts {
		switch {
		case p.Missing, taken[i] == 0 && len(p.Rows) > 0:
			next[p.Record] = p.From
		case taken[i] == len(p.Rows):
			next[p.Record] = p.Next
		default:
			next[p.Record] = p.After(taken[i])
		}
		more = more || !p.Missing && !next[p.Record].End
	}
	if !more {
		return rows, nil
	}
	return rows, next
}
