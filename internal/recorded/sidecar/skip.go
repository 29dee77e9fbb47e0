package sidecar

import (
	"slices"
	"sort"

	"github.com/sotto-llm/sotto/record"
)

// A Skipper tells a reader which events it need not read: for [record.Query.Skip]. It keeps
// the selection of the segment that it was last asked about, so that a reader may go forward
// or back. It is for one reading.
type Skipper struct {
	s       *Store
	q       Query
	files   []record.File
	at      int // the segment whose selection is kept; -1 if there is none
	rows    []bool
	next    uint64 // the event after the last that the sidecar covers; 0 if there is none
	perRow  int64
	skipped int64
}

// Skipper returns what tells a reader the events that a query may be about. After a failure it
// skips nothing.
func (s *Store) Skipper(q Query) *Skipper {
	files, _ := s.files()
	return &Skipper{s: s, q: q, files: files, at: -1}
}

// Skip reports that none of the events from first to last can be what the query looks for.
func (k *Skipper) Skip(first, last uint64) bool {
	if k.q.Skip != nil && k.q.Skip(first, last) {
		return true
	}
	i := sort.Search(len(k.files), func(i int) bool { return k.files[i].First > first }) - 1
	if i < 0 {
		return false
	}
	if i != k.at {
		k.load(i)
	}
	if last >= k.next || k.rows == nil {
		return false
	}
	from, to := first-k.files[i].First, last-k.files[i].First+1
	if slices.Contains(k.rows[from:to], true) {
		return false
	}
	k.skipped += int64(to-from) * k.perRow
	return true
}

// Skipped returns about how many bytes of the record were skipped.
func (k *Skipper) Skipped() int64 { return k.skipped }

// load reads the selection of a segment.
func (k *Skipper) load(i int) {
	k.at, k.rows, k.next = i, nil, 0
	seg := segment{File: k.files[i]}
	seg.opened(k.s)
	defer seg.close()
	if seg.f == nil {
		return
	}
	g := &giver{s: k.s, q: &k.q}
	rows, err := g.selected(seg.f)
	if err != nil {
		return
	}
	if none(rows) {
		rows = make([]bool, seg.f.h.Rows)
	}
	k.rows, k.next, k.perRow = rows, seg.f.h.Next, seg.f.h.Covered/int64(seg.f.h.Rows)
}
