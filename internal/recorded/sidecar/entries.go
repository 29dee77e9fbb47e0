package sidecar

import (
	"iter"
	"slices"
	"strings"

	"github.com/sotto-llm/sotto/record"
)

// entryWant are the facts that a list of events shows.
var entryWant = Want{Numbers: []Number{Time, Cycle, Size}, Words: []Word{Type, Run, Model, Codes}}

// mostCodes is how many codes the index of a segment tells apart.
const mostCodes = 63

// Entries lists the events that a query selects, as [record.Reader.Entries] does.
func (s *Store) Entries(q record.Query) iter.Seq2[record.Entry, error] {
	if narrowed := (Query{Query: q}); !narrowed.narrows() && s.away == nil {
		return s.reader.Entries(q)
	}
	return func(yield func(record.Entry, error) bool) {
		list, err := s.segments(&q)
		if err != nil {
			yield(record.Entry{}, err)
			return
		}
		limit, workers := q.Limit, atOnce(&q, workers(list, columnsAhead))
		q.Limit = 0
		more := true
		give := func(e record.Entry, err error) bool {
			if more = yield(e, err); more && err == nil && limit > 0 {
				limit--
				more = limit > 0
			}
			return more
		}
		s.entriesOf(s.grouped(list), workers, &q, give)
	}
}

// entriesOf lists the events of segments. It reports false once give did.
func (s *Store) entriesOf(list []segment, workers int, q *record.Query, give func(record.Entry, error) bool) bool {
	for t := range ahead(len(list), workers, func(i int) *table { return s.table(&list[i], q, entryWant) }, (*table).close) {
		more := s.entries(t, q, give)
		t.close()
		if !more {
			return false
		}
	}
	return true
}

// entries lists the events of a segment. Those of an encrypted segment are its batches, which a
// sidecar does not have.
func (s *Store) entries(t *table, q *record.Query, give func(record.Entry, error) bool) bool {
	s.note(t.seg)
	if err := t.failure(); err != nil {
		give(record.Entry{}, err)
		return false
	}
	if t.seg.f == nil || t.err != nil || t.seg.f.h.Sealed {
		return s.entriesWithout(t.seg, q, give)
	}
	if len(t.words) > 0 { // something is selected
		for _, x := range t.seg.stretches() {
			codes, known := codesIn(t, x)
			more := true
			if known > mostCodes {
				x.seg.away = x.seg.away || t.seg.members != nil
				more = list(s.entriesIn(x.seg, *q), give)
			} else {
				more = s.entryRows(t, x, codes, q, give)
			}
			if !more {
				return false
			}
			if known > mostCodes && t.seg.members == nil {
				return true // with what the sidecar does not cover
			}
		}
	}
	if next := t.seg.f.h.Next; t.seg.size > t.seg.f.h.Covered {
		rest := *q
		rest.After = max(q.After, next-1)
		return list(s.entriesIn(t.seg, rest), give)
	}
	return true
}

// entriesWithout lists the events of a segment without its sidecar.
func (s *Store) entriesWithout(seg *segment, q *record.Query, give func(record.Entry, error) bool) bool {
	if seg.members != nil {
		return s.entriesOf(seg.members, columnsAhead, q, give)
	}
	return list(s.entriesIn(seg, *q), give)
}

// entryRows lists the events of a stretch.
func (s *Store) entryRows(t *table, x stretch, codes map[int64][]string, q *record.Query, give func(record.Entry, error) bool) bool {
	for i := x.from; i < x.to; i++ {
		if t.sel != nil && !t.sel[i] {
			continue
		}
		seq := t.seg.f.h.First + uint64(i)
		if t.odd != nil && t.odd[i] != 0 {
			one := *q
			one.After, one.Before = max(q.After, seq-1), seq+1
			if !list(s.entriesIn(t.seg.whole(seq), one), give) {
				return false
			}
			continue
		}
		if !give(t.entry(i, codes), nil) {
			return false
		}
	}
	return true
}

// entry is what a list shows of a row, of a table of [entryWant].
func (t *table) entry(row int, codes map[int64][]string) record.Entry {
	seq := t.seg.f.h.First + uint64(row)
	f := Facts{}
	f.Number[Time] = t.numbers[0][row]
	word := func(k int) string { return t.lists[k][t.words[k][row]] }
	return record.Entry{
		Seq: seq, Last: seq, Time: f.At(), Run: word(1), Cycle: int(t.numbers[1][row]), Type: record.Type(word(0)), Model: word(2),
		Diagnostics: codes[t.words[3][row]], Size: int(t.numbers[2][row]),
	}
}

func list(entries iter.Seq2[record.Entry, error], give func(record.Entry, error) bool) bool {
	for e, err := range entries {
		if !give(e, err) {
			return false
		}
	}
	return true
}

// codesIn returns the codes of each list of codes of a stretch in the order of the index: each
// once, and first those that came first in the segment; and how many codes there are.
func codesIn(t *table, x stretch) (of map[int64][]string, known int) {
	of, rank := map[int64][]string{}, map[string]int{}
	for _, n := range t.words[3][x.from:x.to] {
		text := t.lists[3][n]
		if _, done := of[n]; done || text == "" {
			continue
		}
		var codes []string
		for code := range strings.SplitSeq(text, listMark) {
			if _, ok := rank[code]; !ok {
				rank[code] = len(rank)
			}
			codes = append(codes, code)
		}
		slices.SortFunc(codes, func(a, b string) int { return rank[a] - rank[b] })
		of[n] = slices.Compact(codes)
	}
	return of, len(rank)
}
