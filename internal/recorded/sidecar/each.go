package sidecar

import (
	"cmp"
	"iter"
	"sync"

	"github.com/sotto-llm/sotto/record"
)

// Want names the facts that a caller of [Store.Facts] looks at.
type Want struct {
	Numbers []Number
	Words   []Word
}

// Facts gives the facts of the events that a query selects, in order: those that are wanted,
// and the number of the event. They are read from the sidecars; where there is none, or where
// an event does not fit into it, from the lines. A value is only valid until the next.
// Pattern, Text and IDs are not looked at.
func (s *Store) Facts(q record.Query, want Want) iter.Seq2[*Facts, error] {
	return func(yield func(*Facts, error) bool) {
		list, err := s.segments(&q)
		if err != nil {
			yield(nil, err)
			return
		}
		limit := q.Limit
		q.Limit = 0
		give := func(f *Facts, err error) bool {
			if !yield(f, err) {
				return false
			}
			if err == nil && limit > 0 {
				limit--
				return limit > 0
			}
			return true
		}
		s.facts(s.grouped(list), &q, want, give)
	}
}

func (s *Store) facts(list []segment, q *record.Query, want Want, give func(*Facts, error) bool) bool {
	for t := range ahead(len(list), workers(list, columnsAhead), func(i int) *table { return s.table(&list[i], q, want) }, (*table).close) {
		more := s.rows(t, q, give)
		t.close()
		if !more {
			return false
		}
	}
	return true
}

// columns are the sections of the facts, and of those that a query narrows by.
func (w Want) columns(q *record.Query) (names []string) {
	word := func(n Word) { names = append(names, wordNames[n], wordNames[n]+"_list") }
	for _, n := range w.Numbers {
		names = append(names, numberNames[n])
	}
	for _, n := range w.Words {
		word(n)
	}
	if q.Run != "" {
		word(Run)
	}
	if q.Model != "" {
		word(Model)
	}
	if q.Diagnostic != "" {
		word(Codes)
	}
	if len(q.Types) > 0 || q.NoCheckpoints {
		word(Type)
	}
	if q.Cycle != nil {
		names = append(names, numberNames[Cycle])
	}
	return names
}

// A table is what was read of a sidecar.
type table struct {
	seg     *segment
	want    Want
	sel     []bool
	odd     []int64
	numbers [][]int64
	words   [][]int64
	lists   [][]string
	err     error
}

func (t *table) close() { t.seg.close() }

// failure is the error of a store that cannot be reached, if there is one.
func (t *table) failure() error {
	if err := cmp.Or(t.err, t.seg.err); isFailure(err) {
		return err
	}
	return nil
}

// table reads the columns of a segment.
func (s *Store) table(seg *segment, q *record.Query, want Want) *table {
	seg.opened(s)
	t := &table{seg: seg, want: want}
	if seg.f == nil {
		return t
	}
	f := seg.f
	if t.err = f.together(want.columns(q)); t.err != nil {
		return t
	}
	if t.sel, t.err = f.matching(q); t.err != nil || none(t.sel) {
		return t
	}
	t.read()
	return t
}

// read reads the columns.
func (t *table) read() {
	f := t.seg.f
	if f.h.Odd > 0 {
		t.odd, t.err = f.number(Odd, nil)
	}
	for _, n := range t.want.Numbers {
		if t.err != nil {
			return
		}
		var list []int64
		list, t.err = f.number(n, nil)
		t.numbers = append(t.numbers, list)
	}
	for _, w := range t.want.Words {
		if t.err != nil {
			return
		}
		var rows []int64
		var list []string
		rows, list, t.err = f.word(w, nil)
		t.words, t.lists = append(t.words, rows), append(t.lists, list)
	}
}

// rows gives the facts of a segment.
func (s *Store) rows(t *table, q *record.Query, give func(*Facts, error) bool) bool {
	s.note(t.seg)
	if t.err != nil {
		s.report.Stale++
	}
	if err := t.failure(); err != nil {
		give(nil, err)
		return false
	}
	if t.seg.f == nil || t.err != nil {
		if t.seg.members != nil {
			return s.facts(t.seg.members, q, t.want, give)
		}
		return s.factsOf(t.seg, 0, q, give)
	}
	h := &t.seg.f.h
	if !none(t.sel) {
		var f Facts
		for i := range h.Rows {
			if t.sel != nil && !t.sel[i] {
				continue
			}
			if t.odd != nil && t.odd[i] != 0 {
				one := *q
				one.After, one.Before = max(q.After, h.First+uint64(i)-1), h.First+uint64(i)+1
				if !s.factsOf(t.seg.whole(h.First+uint64(i)), 0, &one, give) {
					return false
				}
				continue
			}
			f.Number[Seq] = int64(h.First) + int64(i)
			for k, n := range t.want.Numbers {
				f.Number[n] = t.numbers[k][i]
			}
			for k, w := range t.want.Words {
				f.Word[w] = t.lists[k][t.words[k][i]]
			}
			if !give(&f, nil) {
				return false
			}
		}
	}
	if t.seg.size > h.Covered {
		s.report.Bytes += t.seg.size - h.Covered
		return s.factsOf(t.seg, h.Covered, q, give)
	}
	return true
}

// factsOf gives the facts of a segment's lines from a place on.
func (s *Store) factsOf(seg *segment, from int64, q *record.Query, give func(*Facts, error) bool) bool {
	for e, err := range s.in(seg, from, *q) {
		if err != nil {
			if !give(nil, err) {
				return false
			}
			continue
		}
		f := FactsOf(&e)
		f.Number[Size] = int64(len(e.Line())) + 1 // with its newline
		if !give(&f, nil) {
			return false
		}
	}
	return true
}

// How many segments are looked at together. Most of the time a disk or a store is waited for;
// columns need more memory than selections.
const (
	columnsAhead    = 12
	selectionsAhead = 32
)

// ahead calls of with 0 to n-1, some at the same time, and gives what it returns in order. If
// the caller ends early, dropped gets what it returned that was not given.
func ahead[T any](n, workers int, of func(int) T, dropped func(T)) iter.Seq[T] {
	return func(yield func(T) bool) {
		workers := min(workers, n)
		next := make(chan int)
		out := make([]chan T, n)
		for i := range out {
			out[i] = make(chan T, 1)
		}
		room := make(chan struct{}, workers+1) // values that nobody took yet
		stop := make(chan struct{})
		var done sync.WaitGroup
		done.Add(workers + 1)
		go func() {
			defer done.Done()
			defer close(next)
			for i := range n {
				select {
				case room <- struct{}{}:
				case <-stop:
					return
				}
				next <- i
			}
		}()
		for range workers {
			go func() {
				defer done.Done()
				for i := range next {
					out[i] <- of(i)
				}
			}()
		}
		given := 0
		defer func() {
			close(stop)
			done.Wait()
			for _, c := range out[given:] {
				select {
				case v := <-c:
					dropped(v)
				default:
				}
			}
		}()
		for i := range out {
			v := <-out[i]
			<-room
			given++
			if !yield(v) {
				return
			}
		}
	}
}
