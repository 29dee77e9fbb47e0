package view

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/record"
)

// A Source reads a record for the console. It is safe for concurrent use.
type Source struct {
	reader *record.Reader
	named  func(dialect string) (*sotto.Grammar, error)

	mu   sync.Mutex // one event is parsed at a time, so that the memory is bounded
	kept []*opened  // the last used first
}

// NewSource returns a source of a record. named finds dialects; if it is nil, those
// that are built in.
func NewSource(r *record.Reader, named func(string) (*sotto.Grammar, error)) *Source {
	if named == nil {
		named = sotto.Named
	}
	return &Source{reader: r, named: named}
}

// ErrNotFound is in the error for an event that the record does not have, or that
// is not shown as an exchange.
var ErrNotFound = errors.New("not found")

// The last opened events are kept, because a long reply is read slice by slice.
const (
	maxKept      = 8
	maxKeptBytes = 64 << 20
)

// open returns the exchange of an event, as it was read.
func (s *Source) open(ctx context.Context, seq uint64) (*opened, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, o := range s.kept {
		if o.event.Seq == seq {
			copy(s.kept[1:], s.kept[:i])
			s.kept[0] = o
			return o, nil
		}
	}
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	e, err := s.event(seq)
	if err != nil {
		return nil, err
	}
	p := partsOf(&e)
	o := &opened{event: e, parts: p, readings: make([]*reading, len(p.replies))}
	s.keep(o)
	return o, nil
}

func (s *Source) keep(o *opened) {
	s.kept = append([]*opened{o}, s.kept...)
	size, n := 0, 0
	for n < len(s.kept) && n < maxKept {
		if size += len(s.kept[n].event.Line()); n > 0 && size > maxKeptBytes {
			break
		}
		n++
	}
	clear(s.kept[n:])
	s.kept = s.kept[:n]
}

// event reads one event.
func (s *Source) event(seq uint64) (record.Event, error) {
	missing := fmt.Errorf("there is no exchange with the number %d in this record: %w", seq, ErrNotFound)
	if seq == 0 {
		return record.Event{}, missing
	}
	for e, err := range s.reader.Events(record.Query{After: seq - 1, Limit: 1}) {
		switch {
		case err != nil:
			return e, err
		case e.Type == record.TypeSealed:
			return e, record.ErrSealed
		case e.Seq != seq || e.Type != record.TypeExchange && e.Type != record.TypeInvocation:
			return e, missing
		}
		if _, unknown := e.Payload.(record.Unknown); unknown {
			return e, fmt.Errorf("event %d is of a newer version, or has too many values to be shown: see sotto record show --json", seq)
		}
		return e, nil
	}
	return record.Event{}, missing
}

// Find returns the newest exchange with an identifier: a response's id, or one that
// the client sent.
func (s *Source) Find(ctx context.Context, id string) (uint64, error) {
	p, err := s.List(ctx, Filter{ID: id})
	switch {
	case err != nil:
		return 0, err
	case p.Sealed:
		return 0, record.ErrSealed
	case len(p.Rows) == 0 && p.Stopped:
		return 0, fmt.Errorf("none of the newest %d exchanges has this identifier: %w", p.Searched, ErrNotFound)
	case len(p.Rows) == 0:
		return 0, fmt.Errorf("no exchange has this identifier: %w", ErrNotFound)
	}
	return p.Rows[0].Event, nil
}

// Neighbours returns the events shown before and after one: the older and the newer
// exchange. A number is 0 if the record has no such exchange.
func (s *Source) Neighbours(seq uint64) (older, newer uint64) {
	q, _ := (&Filter{Before: seq}).query()
	q.Limit = 1
	for g, err := range s.reader.Back(q, 0) {
		if err == nil {
			older = g.Event.Seq
		}
	}
	q.Before, q.After = 0, seq
	sealed := false
	for e, err := range s.reader.Entries(q) {
		if err == nil {
			newer = e.Seq
		}
		sealed = sealed || errors.Is(err, record.ErrSealed)
	}
	if sealed { // the index knows only batches
		for e, err := range s.reader.Events(q) {
			if err == nil {
				newer = e.Seq
			}
		}
	}
	return older, newer
}

// Head returns the newest event of the record.
func (s *Source) Head() (uint64, error) {
	h, err := s.reader.Head()
	return h.Seq, err
}

// Line returns the line of an event, as the record has it.
func (s *Source) Line(ctx context.Context, seq uint64) ([]byte, error) {
	o, err := s.open(ctx, seq)
	if err != nil {
		return nil, err
	}
	return o.event.Line(), nil
}
