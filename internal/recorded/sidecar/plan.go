package sidecar

import (
	"slices"

	"github.com/sotto-llm/sotto/record"
)

// A plan is what is read of a segment.
type plan struct {
	seg  *segment
	sel  []bool
	runs int // how many were known that have one of the identifiers
	err  error
	// fetched are blocks of lines by their places, which were read before their turn.
	fetched map[int64][]byte
	listed  *table // what a list shows of the rows, once it was read
}

// blocks returns the blocks of a stretch that are wanted, each from an end to an end, and how many
// there are.
func (p *plan) blocks(x stretch) (wanted [][2]blockEnd, all int, err error) {
	ends, err := p.seg.f.blocks()
	var before blockEnd
	for _, end := range ends {
		if before.rows >= x.from && end.rows <= x.to {
			if all++; p.sel == nil || len(p.sel) > 0 && slices.Contains(p.sel[before.rows:end.rows], true) {
				wanted = append(wanted, [2]blockEnd{before, end})
			}
		}
		before = end
	}
	return wanted, all, err
}

// most reports whether so many blocks of a stretch are wanted that the segment is better read as
// a whole.
func (p *plan) most(x stretch) bool {
	wanted, all, err := p.blocks(x)
	return err == nil && p.err == nil && len(wanted) > manyBlocks && len(wanted) > all/8
}

// manyBlocks is how many blocks of a segment are read one by one.
const manyBlocks = 16

// plan selects the rows of a segment.
func (s *Store) plan(seg *segment, q *Query) *plan {
	p := &plan{seg: seg}
	if seg.opened(s); seg.f != nil {
		if p.err = seg.f.together(q.sections()); p.err != nil {
			return p
		}
		p.sel, p.err = (&giver{s: s, q: q}).selected(seg.f)
		if seg.f.far && seg.data != nil && q.Limit == 0 {
			p.fetch(false)
		}
	}
	return p
}

// Blocks that are read before their turn: those of other segments are read at the same time.
const (
	mostFetched  = 32
	mostFetching = 4 * blockSize // of each
)

// fetch reads the first blocks that are wanted, or the last. If one cannot be read, that shows when
// it is its turn.
func (p *plan) fetch(last bool) {
	if p.err != nil || none(p.sel) {
		return
	}
	p.fetched = map[int64][]byte{}
	stretches := p.seg.stretches()
	if last {
		slices.Reverse(stretches)
	}
	for _, x := range stretches {
		wanted, _, err := p.blocks(x)
		if err != nil || p.most(x) {
			continue
		}
		if last {
			slices.Reverse(wanted)
		}
		for _, w := range wanted {
			size := w[1].at - w[0].at
			if len(p.fetched) == mostFetched {
				return
			}
			if size > mostFetching {
				continue
			}
			data := make([]byte, size)
			if _, err := p.seg.data.ReadAt(data, w[0].at); err != nil {
				return
			}
			p.fetched[w[0].at] = data
		}
	}
}

// entries reads what a list shows of the rows.
func (p *plan) entries() (*table, error) {
	if p.listed == nil {
		t := &table{seg: p.seg, want: entryWant}
		if t.err = p.seg.f.together(entryWant.columns(&record.Query{})); t.err == nil {
			t.read()
		}
		p.listed = t
	}
	return p.listed, p.listed.err
}
