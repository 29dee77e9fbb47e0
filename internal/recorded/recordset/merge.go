package recordset

import (
	"container/heap"
	"iter"
	"time"

	"github.com/sotto-llm/sotto/internal/recorded/sidecar"
	"github.com/sotto-llm/sotto/record"
)

// An Event is an event, with the record that holds it.
type Event struct {
	record.Event
	Source *Source
}

// An Entry is what the index of a record holds about an event.
type Entry struct {
	record.Entry
	Source *Source
}

// Events returns the events that a query selects in all records, by time. Events of
// the same time are in the order of their records. Each record keeps its own order,
// even where its clock went back. Query.After and Query.Before apply to the numbers
// of each record, and Query.Limit to all events together. Errors are those of
// [record.Reader.Events], and name the record.
//
// Sidecars are used where they are: see package sidecar.
func (s *Set) Events(q record.Query) iter.Seq2[Event, error] {
	return first(q.Limit, s.Search(sidecar.Query{Query: q}))
}

// Search returns events that may be what a search looks for, as [Set.Events] orders them;
// Query.Limit applies to each record.
func (s *Set) Search(q sidecar.Query) iter.Seq2[Event, error] {
	return Merge(s, func(x *Source) iter.Seq2[Event, error] {
		return func(yield func(Event, error) bool) {
			for e, err := range x.Store.Events(q) {
				if !yield(Event{e, x}, err) {
					return
				}
			}
		}
	}, func(e *Event) time.Time { return e.Time })
}

// Facts are the facts of an event, with the record that holds it.
type Facts struct {
	*sidecar.Facts
	Source *Source
}

// Facts gives the facts of the events that a query selects, as [Set.Events] orders them, and
// as [sidecar.Store.Facts] gives them.
func (s *Set) Facts(q record.Query, want sidecar.Want) iter.Seq2[Facts, error] {
	want.Numbers = append([]sidecar.Number{sidecar.Time}, want.Numbers...)
	all := Merge(s, func(x *Source) iter.Seq2[Facts, error] {
		return func(yield func(Facts, error) bool) {
			for f, err := range x.Store.Facts(q, want) {
				if !yield(Facts{f, x}, err) {
					return
				}
			}
		}
	}, func(f *Facts) time.Time { return f.At() })
	return first(q.Limit, all)
}

// Looked says what the searches looked at, of all records.
func (s *Set) Looked() (r sidecar.Report) {
	for _, x := range s.sources {
		r.Add(x.Store.Report())
	}
	return r
}

// Entries lists the events that a query selects, as [Set.Events] orders them, using
// only the indexes and sidecars.
func (s *Set) Entries(q record.Query) iter.Seq2[Entry, error] {
	all := Merge(s, func(x *Source) iter.Seq2[Entry, error] {
		return func(yield func(Entry, error) bool) {
			for e, err := range x.Store.Entries(q) {
				if !yield(Entry{e, x}, err) {
					return
				}
			}
		}
	}, func(e *Entry) time.Time { return e.Time })
	return first(q.Limit, all)
}

// first returns the first limit values of a sequence; errors do not count. 0 means
// all.
func first[T any](limit int, all iter.Seq2[T, error]) iter.Seq2[T, error] {
	if limit == 0 {
		return all
	}
	return func(yield func(T, error) bool) {
		n := 0
		for v, err := range all {
			if !yield(v, err) {
				return
			}
			if err == nil {
				n++
			}
			if n == limit {
				return
			}
		}
	}
}

// Merge merges a sequence for each record of a set by the time of its values, as
// [Set.Events] does. An error of a sequence comes as soon as it is read, and the
// sequence continues after it. One value of each sequence is in memory.
func Merge[T any](s *Set, of func(*Source) iter.Seq2[T, error], at func(*T) time.Time) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		if !s.Several() {
			of(s.sources[0])(yield)
			return
		}
		m := merging[T]{at: at}
		for i, x := range s.sources {
			next, stop := iter.Pull2(of(x))
			defer stop()
			in := &input[T]{source: x, number: i, next: next}
			ok, more := in.advance(yield)
			if !more {
				return
			}
			if ok {
				m.heads = append(m.heads, in)
			}
		}
		heap.Init(&m)
		for len(m.heads) > 0 {
			in := m.heads[0]
			if !yield(in.value, nil) {
				return
			}
			ok, more := in.advance(yield)
			if !more {
				return
			}
			if ok {
				heap.Fix(&m, 0)
			} else {
				heap.Pop(&m)
			}
		}
	}
}

// An input is the sequence of one record.
type input[T any] struct {
	source *Source
	number int // in the order of the records
	next   func() (T, error, bool)
	value  T // the value that comes next
}

// advance reads the next value, and hands out the errors before it. ok reports
// whether there is one, and more whether the caller wants it.
func (in *input[T]) advance(yield func(T, error) bool) (ok, more bool) {
	for {
		var err error
		if in.value, err, ok = in.next(); !ok || err == nil {
			return ok, true
		}
		if !yield(in.value, in.source.Err(err)) {
			return false, false
		}
	}
}

// merging is a heap of inputs, the earliest first.
type merging[T any] struct {
	heads []*input[T]
	at    func(*T) time.Time
}

func (m *merging[T]) Len() int      { return len(m.heads) }
func (m *merging[T]) Swap(i, j int) { m.heads[i], m.heads[j] = m.heads[j], m.heads[i] }
func (m *merging[T]) Push(any)      { panic("recordset: a merge gets no input after its start") }

func (m *merging[T]) Less(i, j int) bool {
	a, b := m.heads[i], m.heads[j]
	if c := m.at(&a.value).Compare(m.at(&b.value)); c != 0 {
		return c < 0
	}
	return a.number < b.number
}

func (m *merging[T]) Pop() any {
	last := m.heads[len(m.heads)-1]
	m.heads = m.heads[:len(m.heads)-1]
	return last
}
