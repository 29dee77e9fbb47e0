package sidecar

import (
	"errors"
	"iter"
	"slices"

	"github.com/sotto-llm/sotto/record"
)

// Back gives events that a query selects, the newest first, as [record.Reader.Back] does. Of a
// question for texts, identifiers or words it also gives others, as far as their sidecar does not
// tell them apart.
func (s *Store) Back(q Query, most int) iter.Seq2[record.Glimpse, error] {
	if s.away == nil {
		if q.looks() {
			k := s.Skipper(q)
			q.Skip = k.Skip
			s.skipped = k
		}
		return s.reader.Back(q.Query, most)
	}
	return func(yield func(record.Glimpse, error) bool) {
		list, err := s.segments(&q.Query)
		if err != nil {
			yield(record.Glimpse{}, err)
			return
		}
		b := &backward{s: s, q: &q, most: most, yield: yield}
		b.all(s.grouped(list))
	}
}

// looks reports whether a query is about what only sidecars and lines have.
func (q *Query) looks() bool {
	return q.Pattern != nil || q.Text != "" || len(q.IDs) > 0 || len(q.Words) > 0
}

// Skipped returns about how many bytes of the record the last question did not need.
func (s *Store) Skipped() int64 {
	if s.skipped != nil {
		return s.skipped.Skipped()
	}
	return s.passed
}

// A backward gives events from the newest to the oldest, of segments that are away.
type backward struct {
	s     *Store
	q     *Query
	most  int
	yield func(record.Glimpse, error) bool
	n     int
	last  uint64 // the event that was given last
}

func (b *backward) fail(err error) bool { return b.yield(record.Glimpse{}, err) }

func (b *backward) give(g record.Glimpse) bool {
	if b.last > 0 && g.Event.Seq >= b.last { // it was given before its sidecar turned out not to fit
		return true
	}
	b.n++
	b.last = g.Event.Seq
	return b.yield(g, nil) && (b.q.Limit == 0 || b.n < b.q.Limit)
}

// all gives the events of segments, the last first.
func (b *backward) all(list []segment) (more bool) {
	last := len(list) - 1
	plans := ahead(len(list), b.workers(list), func(i int) *plan { return b.plan(&list[last-i]) }, func(p *plan) { p.seg.close() })
	for p := range plans {
		if more = b.segment(p); !more {
			return false
		}
	}
	return true
}

// workers is how many segments are looked at together. Whoever looks for nothing most often ends
// in the newest one.
func (b *backward) workers(list []segment) int {
	if !b.q.looks() {
		return 1
	}
	return workers(list, selectionsAhead)
}

// plan selects the rows of a segment. One that is in the folder needs no plan.
func (b *backward) plan(seg *segment) *plan {
	if seg.members == nil && b.s.isHere(seg) {
		return &plan{seg: seg}
	}
	p := &plan{seg: seg}
	if seg.opened(b.s); seg.f == nil {
		return p
	}
	if p.err = seg.f.together(b.q.sections()); p.err != nil {
		return p
	}
	p.sel, p.err = (&giver{s: b.s, q: b.q}).selected(seg.f)
	if b.q.looks() && seg.f.far && seg.data != nil {
		p.fetch(true)
	}
	return p
}

// segment gives the events of a segment, or of several that have a sidecar together.
func (b *backward) segment(p *plan) (more bool) {
	seg := p.seg
	defer seg.close()
	if seg.members == nil && seg.f == nil && seg.err == nil && !seg.away {
		return b.whole(seg)
	}
	b.s.note(seg)
	err := seg.err
	if seg.f != nil {
		if more, err = b.indexed(p); err == nil {
			return more
		}
		b.s.report.Stale++
	}
	if isFailure(err) {
		b.fail(err)
		return false
	}
	if seg.members != nil {
		return b.all(seg.members)
	}
	return b.whole(seg)
}

// whole gives the events of a segment without its sidecar.
func (b *backward) whole(seg *segment) (more bool) {
	q := b.q.Query
	q.Limit = 0
	q.After = max(q.After, seg.First-1)
	if next := seg.next; next > 0 && (q.Before == 0 || q.Before > next) {
		q.Before = next
	}
	if b.last > 0 && b.last > seg.First {
		q.Before = b.last
	}
	for g, err := range after(func() (func(), error) { return b.s.here(seg) }, func() iter.Seq2[record.Glimpse, error] { return b.s.reader.Back(q, b.most) }) {
		switch {
		case err != nil:
			if !b.fail(err) || errors.Is(err, record.ErrSealed) {
				return false // the reader ends there too
			}
		case !b.give(g):
			return false
		}
	}
	return true
}

// indexed gives the events that a sidecar covers. The error says that it does not fit; then not
// all may have been given.
func (b *backward) indexed(p *plan) (more bool, err error) {
	if p.err != nil {
		return true, p.err
	}
	if p.seg.f.h.Covered != p.seg.size {
		return true, errStale
	}
	before := p.seg.size
	if none(p.sel) {
		b.s.passed += before
		return true, nil
	}
	for _, x := range slices.Backward(p.seg.stretches()) {
		wanted, _, err := p.blocks(x)
		if err != nil {
			return true, err
		}
		for _, w := range slices.Backward(wanted) {
			b.s.passed += max(0, before-w[1].at)
			before = w[0].at
			if more, err := b.block(p, x, w[0], w[1]); err != nil || !more {
				return more, err
			}
		}
	}
	b.s.passed += before
	return true, nil
}

// block gives the selected events of a block.
func (b *backward) block(p *plan, x stretch, from, to blockEnd) (more bool, err error) {
	if to.at-from.at > 2*maxLine || to.rows < from.rows {
		return true, errStale
	}
	if to.at-from.at > int64(b.most) && !p.seg.f.h.Sealed {
		if more, err, done := b.long(p, x, from, to); done {
			return more, err
		}
	}
	data := p.fetched[from.at]
	if data == nil {
		data = make([]byte, to.at-from.at)
		if err := readAt(p.seg.data, data, from.at); err != nil {
			return true, err
		}
	}
	b.s.report.Looked++
	b.s.report.Bytes += int64(len(data))
	lines, err := linesOf(p.seg.f, data, from, to)
	if err != nil {
		return true, err
	}
	for _, l := range slices.Backward(lines) {
		if p.sel != nil && !slices.Contains(p.sel[l.row:l.row+l.n], true) {
			continue
		}
		if more, err := b.line(p, x, l); err != nil || !more {
			return more, err
		}
	}
	return true, nil
}

// line gives the selected events of a line.
func (b *backward) line(p *plan, x stretch, l placed) (more bool, err error) {
	events, err := eventsOf(b.s, p.seg, x, l)
	if err != nil {
		if isLine(err) {
			return b.fail(err), nil
		}
		return true, err
	}
	for i, e := range slices.Backward(events) {
		size := len(l.data)
		if l.n > 1 || e.Type != record.TypeSealed && p.seg.f.h.Sealed {
			size = len(e.Line())
		}
		if p.sel != nil && !p.sel[l.row+i] || !b.q.Matches(&e) {
			continue
		}
		if !b.give(record.GlimpseOf(&e, size)) {
			return false, nil
		}
	}
	return true, nil
}

// long gives the selected events of a block with a long line, of which only the beginning is
// read. done is false if the block has to be read as a whole.
func (b *backward) long(p *plan, x stretch, from, to blockEnd) (more bool, err error, done bool) {
	t, err := p.entries()
	if err != nil {
		return true, err, true
	}
	codes, known := codesIn(t, x)
	if known > mostCodes || t.odd != nil && slices.ContainsFunc(t.odd[from.rows:to.rows], func(n int64) bool { return n != 0 }) {
		return true, nil, false
	}
	sizes := t.numbers[2]
	at := to.at
	for row := to.rows - 1; row >= from.rows; row-- {
		size := sizes[row]
		if at -= size; size <= 0 || at < from.at {
			return true, errStale, true
		}
		if p.sel != nil && !p.sel[row] {
			continue
		}
		line := make([]byte, min(size, max(int64(b.most), record.MaxFront)))
		if size > int64(b.most) {
			line = line[:min(size, record.MaxFront)]
		}
		if err := readAt(p.seg.data, line, at); err != nil {
			return true, err, true
		}
		b.s.report.Bytes += int64(len(line))
		if size <= int64(b.most) {
			if more, err = b.line(p, x, placed{line, at, row, 1}); err != nil || !more {
				return more, err, true
			}
			continue
		}
		g, err := record.Front(line, t.entry(row, codes))
		if err != nil {
			return true, errStale, true
		}
		if !b.give(g) {
			return false, nil, true
		}
	}
	b.s.report.Looked++
	if at != from.at {
		return true, errStale, true
	}
	return true, nil, true
}
