package runview

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/sotto-llm/sotto/internal/base/shorttext"
	"github.com/sotto-llm/sotto/internal/console/trace"
	"github.com/sotto-llm/sotto/internal/console/view"
	"github.com/sotto-llm/sotto/record"
)

const (
	// maxEvents is how many events of a run a trace is made of, and maxHeld how many bytes of
	// them are held at once.
	maxEvents = 600
	maxHeld   = 24 << 20
	// maxAgents bounds the runs of called agents on a page, and maxDepth how deep they
	// are nested.
	maxAgents = 40
	maxDepth  = 5
)

// A Trace is what a run did, step by step.
type Trace struct {
	Steps []trace.Step `json:"steps"`
	// Older is the cursor of earlier steps, and Newer says that later ones are not here.
	Older uint64 `json:"older,omitempty"`
	Newer bool   `json:"newer,omitempty"`
	// Left counts events for whose steps there was no room.
	Left int `json:"left,omitempty"`
}

// Trace returns the newest steps of a run in a window, or those around an event.
func (s *Source) Trace(ctx context.Context, name string, w Window) (*Trace, error) {
	q := record.Query{Run: name, Before: w.Before}
	t := &Trace{Newer: w.Before > 0}
	if w.At > 0 {
		q.Before = s.after(ctx, name, w.At)
		t.Newer = q.Before > 0
	}
	in := func(e *record.Event) bool {
		return e.Cycle >= w.From && e.Cycle <= w.To || !w.set && (e.Type == record.TypeRunStart || e.Type == record.TypeRunEnd)
	}
	events, older, err := s.eventsOf(ctx, q, in)
	if err != nil {
		return nil, err
	}
	b := trace.NewBuilder()
	found := w.At == 0
	for i := range events {
		found = found || events[i].Event.Seq == w.At
		b.Event(&events[i].Event, events[i].Partial)
	}
	if !found {
		return nil, fmt.Errorf("the run %s has no event %d in these cycles: %w", name, w.At, view.ErrNotFound)
	}
	t.Steps, t.Older, t.Left = b.Steps, older, b.Left()
	if t.Steps == nil {
		t.Steps = []trace.Step{}
	}
	nest := &tracing{s: s, ctx: ctx, seen: map[string]bool{name: true}, room: maxAgents}
	return t, nest.below(b, t.Steps, 1)
}

// Answer returns what an agent did for an answer, by its identifier: that of a run, or of a
// run with the number of a turn after it. The question and the answer themselves are left out.
func (s *Source) Answer(ctx context.Context, response string) ([]trace.Step, error) {
	run, all := response, Window{From: math.MinInt, To: math.MaxInt}
	if at := strings.LastIndexByte(response, '.'); at > 0 && !s.any(ctx, response) {
		if n, err := strconv.Atoi(response[at+1:]); err == nil {
			run, all = response[:at], Window{From: n, To: n, set: true}
		}
	}
	t, err := s.Trace(ctx, run, all)
	if err != nil {
		return nil, err
	}
	if len(t.Steps) == 0 {
		return nil, fmt.Errorf("this record has no run %s: %w", shorttext.Quote(run), view.ErrElsewhere)
	}
	return trace.Between(t.Steps), nil
}

// after is a cursor some events of a run after one of them; 0 if it has no more.
func (s *Source) after(ctx context.Context, name string, at uint64) uint64 {
	last, n := uint64(0), 0
	for e, err := range s.store.For(ctx).Entries(record.Query{Run: name, After: at - 1, Limit: maxEvents / 2}) {
		if err == nil {
			last, n = e.Seq, n+1
		}
	}
	if n < maxEvents/2 {
		return 0
	}
	return last + 1
}

// eventsOf returns the newest events that a query and a function select, in order, and the
// cursor of those before them.
func (s *Source) eventsOf(ctx context.Context, q record.Query, in func(*record.Event) bool) (list []record.Glimpse, older uint64, err error) {
	var read reading
	held := 0
	cut, err := s.back(ctx, q, &read, func(g *record.Glimpse) bool {
		if in != nil && !in(&g.Event) || g.Type == record.TypeCheckpoint {
			return true
		}
		if len(list) == maxEvents || held > maxHeld {
			older = g.Event.Seq + 1
			return false
		}
		held += min(g.Size, longLine)
		list = append(list, *g)
		return true
	})
	if cut && len(list) > 0 {
		older = list[len(list)-1].Event.Seq
	}
	slices.Reverse(list)
	return list, older, err
}

// tracing adds the steps of called agents below their calls, each run once.
type tracing struct {
	s    *Source
	ctx  context.Context
	seen map[string]bool
	room int
}

// below adds the steps of the agents that are called in a list.
func (t *tracing) below(b *trace.Builder, list []trace.Step, depth int) error {
	for i := range list {
		c := &list[i]
		if c.Run == "" || t.seen[c.Run] {
			continue
		}
		if depth > maxDepth || t.room == 0 {
			c.More = true
			continue
		}
		t.seen[c.Run] = true
		t.room--
		events, older, err := t.s.eventsOf(t.ctx, record.Query{Run: c.Run}, nil)
		if err != nil {
			return err
		}
		own := b.Below()
		if len(events) == 0 {
			own.Elsewhere(c)
		}
		for k := range events {
			own.Event(&events[k].Event, events[k].Partial)
		}
		b.Took(own)
		c.Steps, c.More = own.Steps, older > 0 || own.Left() > 0
		if err := t.below(own, c.Steps, depth+1); err != nil {
			return err
		}
	}
	return nil
}
