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
		limit := q.Limit
		q.Limit = 0
		more := true
		give := func(e record.Entry, err error) bool {
			if more = yield(e, err); more && err == nil && limit > 0 {
				limit--
				more = limit > 0
			}
			return more
		}
		for t := range ahead(len(list), columnsAhead, func(i int) *table { return s.table(&list[i], &q, entryWant) }, (*table).close) {
			s.entries(t, &q, give)
			t.close()
			if !more {
				return
			}
		}
	}
}

// entries lists the events of a segment, until give returns false. Those of an encrypted
// segment are its batches, which a sidecar does not have.
func (s *Store) entries(t *table, q *record.Query, give func(record.Entry, error) bool) {
	s.note(t.seg)
	codes, rank := codesIn(t)
	if t.seg.f == nil || t.err != nil || t.seg.f.h.Sealed || len(rank) > mostCodes {
		list(s.entriesIn(t.seg, *q), give)
		return
	}
	h := &t.seg.f.h
	for i := range h.Rows {
		if len(t.words) == 0 { // nothing is selected
			break
		}
		if t.sel != nil && !t.sel[i] {
			continue
		}
		seq := h.First + uint64(i)
		if t.odd != nil && t.odd[i] != 0 {
			one := *q
			one.After, one.Before = max(q.After, seq-1), seq+1
			if !list(s.entriesIn(t.seg, one), give) {
				return
			}
			continue
		}
		f := Facts{}
		f.Number[Time] = t.numbers[0][i]
		word := func(k int) string { return t.lists[k][t.words[k][i]] }
		if !give(record.Entry{
			Seq: seq, Last: seq, Time: f.At(), Run: word(1), Cycle: int(t.numbers[1][i]), Type: record.Type(word(0)), Model: word(2),
			Diagnostics: codes[t.words[3][i]], Size: int(t.numbers[2][i]),
		}, nil) {
			return
		}
	}
	if t.seg.size > h.Covered {
		rest := *q
		rest.After = max(q.After, h.Next-1)
		list(s.entriesIn(t.seg, rest), give)
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

// codesIn returns the codes of each list of codes in the order of the index: each once, and
// first those that came first in the segment.
func codesIn(t *table) (of [][]string, rank map[string]int) {
	rank = map[string]int{}
	if len(t.lists) < 4 {
		return nil, rank
	}
	for _, text := range t.lists[3] {
		if text == "" {
			of = append(of, nil)
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
		of = append(of, slices.Compact(codes))
	}
	return of, rank
}
