package view

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/internal/base/shorttext"
	"github.com/sotto-llm/sotto/internal/recorded/sidecar"
	"github.com/sotto-llm/sotto/record"
)

// A Source reads a record for the console. It is safe for concurrent use. Whoever
// reads one event does not wait for those who read others, except that long events
// are parsed one at a time, so that the memory is bounded.
type Source struct {
	store *sidecar.Store // for each page, another one of it
	named func(dialect string) (*sotto.Grammar, error)
	long  chan struct{} // who parses a long event holds it

	mu      sync.Mutex
	kept    []*opened // the last used first
	opening map[uint64]*opening
	lists   map[Filter]*listing
	fresh   time.Duration
	reads   atomic.Int64 // pages that were read
}

// NewSource returns a source of a record; it may be nil, if no page needs one. named finds dialects; if it is nil, those
// that are built in.
func NewSource(r *sidecar.Store, named func(string) (*sotto.Grammar, error)) *Source {
	if named == nil {
		named = sotto.Named
	}
	return &Source{store: r, named: named, long: make(chan struct{}, 1), opening: map[uint64]*opening{}, lists: map[Filter]*listing{}, fresh: freshFor}
}

// ErrNotFound is in the error for an event that the record does not have, or that
// is not shown as an exchange.
var ErrNotFound = errors.New("not found")

// The last opened events are kept, because a long reply is read slice by slice.
const (
	maxKept      = 8
	maxKeptBytes = 64 << 20
)

// An opening is an event that is being read.
type opening struct {
	done chan struct{} // closed when o or err is set
	o    *opened
	err  error
}

// open returns an exchange, parsed. Those who want the same one wait for the first of
// them.
func (s *Source) open(ctx context.Context, seq uint64) (*opened, error) {
	for {
		s.mu.Lock()
		if o := s.cached(seq); o != nil {
			s.mu.Unlock()
			return o, nil
		}
		w := s.opening[seq]
		if w == nil {
			w = &opening{done: make(chan struct{})}
			s.opening[seq] = w
			s.mu.Unlock()
			s.load(ctx, seq, w)
			return w.o, w.err
		}
		s.mu.Unlock()
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-w.done:
		}
		if !errors.Is(w.err, context.Canceled) && !errors.Is(w.err, context.DeadlineExceeded) {
			return w.o, w.err
		} // the first one left before it was read
	}
}

// cached returns an event that is kept.
func (s *Source) cached(seq uint64) *opened {
	for i, o := range s.kept {
		if o.event.Seq == seq {
			copy(s.kept[1:], s.kept[:i])
			s.kept[0] = o
			return o
		}
	}
	return nil
}

// load reads an event for all who wait for it.
func (s *Source) load(ctx context.Context, seq uint64, w *opening) {
	w.err = errors.New("the event could not be read") // unless parse returns
	defer func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if w.err == nil {
			s.keep(w.o)
		}
		delete(s.opening, seq)
		close(w.done)
	}()
	w.o, w.err = s.parse(ctx, seq)
}

func (s *Source) parse(ctx context.Context, seq uint64) (*opened, error) {
	store := s.store.For(ctx)
	if isLong(store, seq) {
		select {
		case s.long <- struct{}{}:
			defer func() { <-s.long }()
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	e, err := event(store, seq)
	if err != nil {
		return nil, err
	}
	p := partsOf(&e)
	return &opened{event: e, parts: p, readings: map[readingKey]*reading{}}, nil
}

// isLong reports whether an event is long, by the index. Of an encrypted one it is not
// known.
func isLong(store *sidecar.Store, seq uint64) bool {
	for e, err := range store.Entries(record.Query{After: max(seq, 1) - 1, Before: seq + 1, Limit: 1}) {
		return err != nil || e.Size > longLine
	}
	return false
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

// event reads one event that is shown as an exchange.
func event(store *sidecar.Store, seq uint64) (record.Event, error) {
	e, err := whichever(store, seq)
	if err != nil {
		return e, err
	}
	if e.Type != record.TypeExchange && e.Type != record.TypeInvocation {
		return e, &missing{fmt.Sprintf("Event %d is not an exchange.", seq), errors.Join(ErrOther, ErrNotFound)}
	}
	if _, unknown := e.Payload.(record.Unknown); unknown {
		return e, fmt.Errorf("event %d is of a newer version, or has too many values to be shown: see sotto record show --json", seq)
	}
	return e, nil
}

// Find returns the row of the newest exchange with an identifier: a response's id, or one that
// the client sent.
func (s *Source) Find(ctx context.Context, id string) (Row, error) {
	p, err := s.List(ctx, Filter{ID: id})
	switch {
	case err != nil:
		return Row{}, err
	case p.Sealed:
		return Row{}, record.ErrSealed
	case len(p.Rows) == 0 && p.Stopped:
		return Row{}, &missing{fmt.Sprintf("None of the newest %d exchanges of this record has the identifier %s.", p.Searched, shorttext.Quote(id)), ErrElsewhere}
	case len(p.Rows) == 0:
		return Row{}, &missing{fmt.Sprintf("No exchange of this record has the identifier %s.", shorttext.Quote(id)), ErrElsewhere}
	}
	return p.Rows[0], nil
}

// Neighbours returns the exchanges that are before and after an event in a list: the
// older and the newer one. A number is 0 if there is none, or if none was found within
// what a page may read.
func (s *Source) Neighbours(ctx context.Context, seq uint64, f Filter) (older, newer uint64) {
	if f = f.Bare(); f.inContent() {
		return s.found(ctx, seq, f)
	}
	f.Before = seq
	q, _ := f.query()
	q.Limit = 1
	store := s.store.For(ctx)
	for g, err := range store.Back(sidecar.Query{Query: q}, 0) {
		if err == nil {
			older = g.Event.Seq
		}
	}
	q.Before, q.After = 0, seq
	sealed := false
	for e, err := range store.Entries(q) {
		if err == nil {
			newer = e.Seq
		}
		sealed = sealed || errors.Is(err, record.ErrSealed)
	}
	if sealed { // the index knows only batches
		for e, err := range store.Events(sidecar.Query{Query: q}) {
			if err == nil {
				newer = e.Seq
			}
		}
	}
	return older, newer
}

// found returns the neighbours for a filter that the index does not answer.
func (s *Source) found(ctx context.Context, seq uint64, f Filter) (older, newer uint64) {
	back := f
	back.Before = seq
	p := &Page{Filter: back, most: 1}
	if q, err := back.query(); err == nil && s.rows(ctx, p, q) == nil && len(p.Rows) > 0 {
		older = p.Rows[0].Event
	}
	p = &Page{Filter: f}
	for after := seq; after > 0 && len(p.Rows) == 0 && !p.Stopped; {
		var err error
		if after, err = s.forward(ctx, p, after); err != nil {
			break
		}
	}
	if n := len(p.Rows); n > 0 {
		newer = p.Rows[n-1].Event
	}
	return older, newer
}

// Head returns the newest event of the record.
func (s *Source) Head() (uint64, error) { return s.store.Last() }

// Line returns the line of an event, as the record has it.
func (s *Source) Line(ctx context.Context, seq uint64) ([]byte, error) {
	o, err := s.open(ctx, seq)
	if err == nil {
		return o.event.Line(), nil
	}
	if !errors.Is(err, ErrOther) {
		return nil, err
	}
	e, err := whichever(s.store.For(ctx), seq)
	return e.Line(), err
}

// maxAudits bounds the events that OnlyAudits looks at.
const maxAudits = 1000

// OnlyAudits reports whether all events after one say only who looked at what.
func (s *Source) OnlyAudits(after uint64) bool {
	n := 0
	for e, err := range s.store.For(context.Background()).Entries(record.Query{After: after, Limit: maxAudits}) {
		if err != nil || e.Type != record.TypeAudit && e.Type != record.TypeCheckpoint {
			return false
		}
		n++
	}
	return n > 0 && n < maxAudits
}
