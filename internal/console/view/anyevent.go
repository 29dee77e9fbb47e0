package view

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/internal/base/shorttext"
	"github.com/sotto-llm/sotto/internal/console/trace"
	"github.com/sotto-llm/sotto/internal/recorded/eventtext"
	"github.com/sotto-llm/sotto/internal/recorded/sidecar"
	"github.com/sotto-llm/sotto/record"
)

var (
	// ErrPruned is in the error for an event that the record had and has no longer, and
	// ErrElsewhere for one that it never had. Both are [ErrNotFound].
	ErrPruned    = fmt.Errorf("pruned: %w", ErrNotFound)
	ErrElsewhere = fmt.Errorf("elsewhere: %w", ErrNotFound)
	// ErrOther is in the error for an event that is not shown as an exchange.
	ErrOther = errors.New("the event is not an exchange")
)

// A missing is an error whose text is for a reader.
type missing struct {
	text string
	of   error
}

func (m *missing) Error() string { return m.text }
func (m *missing) Unwrap() error { return m.of }

// absent says why the record has no event of a number.
func absent(store *sidecar.Store, seq uint64) error {
	head, err := store.Last()
	if err != nil {
		return err
	}
	if seq == 0 || seq > head {
		return &missing{fmt.Sprintf("Event %d is not in this record, whose newest event is %d.", seq, head), ErrElsewhere}
	}
	return &missing{fmt.Sprintf("The record does not have event %d any more.", seq), ErrPruned}
}

// An Event is what the console shows of any event.
type Event struct {
	V     int         `json:"v"`
	Event uint64      `json:"event"`
	Type  record.Type `json:"type"`
	Run   string      `json:"run,omitempty"`
	Cycle int         `json:"cycle,omitempty"`
	// Facts are its plain values.
	Facts []Fact       `json:"facts,omitempty"`
	Steps []trace.Step `json:"steps"`
	Size  int          `json:"size"`
	Time  time.Time    `json:"time"`
}

// A Fact is a plain value of an event, by its path.
type Fact struct {
	Name  string      `json:"name"`
	Value record.Text `json:"value"`
}

// maxFacts bounds the facts of an event, and maxFact each value.
const (
	maxFacts = 100
	maxFact  = 1 << 10
)

// Event returns one event of any kind.
func (s *Source) Event(ctx context.Context, seq uint64) (*Event, error) {
	e, err := whichever(s.store.For(ctx), seq)
	if err != nil {
		return nil, err
	}
	out := &Event{V: 1, Event: e.Seq, Type: e.Type, Run: e.Run, Cycle: e.Cycle, Size: len(e.Line()), Time: e.Time}
	b := trace.NewBuilder()
	b.Event(&e, false)
	out.Steps = b.Steps
	w := eventtext.Walker{Text: func(eventtext.Text) {}, Members: func(path string, list []eventtext.Member) {
		for _, m := range list {
			if len(out.Facts) < maxFacts && m.Value != "" && path != "of" && m.Name != "digest" { // digests say nothing to a reader
				out.Facts = append(out.Facts, Fact{strings.TrimPrefix(shorttext.Cut(path+"."+m.Name, 200), "."), record.Text(shorttext.Cut(m.Value, maxFact))})
			}
		}
	}}
	w.Event(&e)
	return out, nil
}

// whichever reads an event of any kind.
func whichever(store *sidecar.Store, seq uint64) (record.Event, error) {
	e, found, err := store.Event(seq)
	switch {
	case err != nil:
		return e, err
	case e.Type == record.TypeSealed:
		return e, record.ErrSealed
	case !found || e.Seq != seq:
		return e, absent(store, seq)
	}
	return e, nil
}

// Text returns the slice of a text of any event that holds the byte at a place. The text
// is named by its path in the event.
func (s *Source) Text(ctx context.Context, seq uint64, path string, at int) (*Slice, error) {
	e, err := whichever(s.store.For(ctx), seq)
	if err != nil {
		return nil, err
	}
	var found *reading
	take := func(t eventtext.Text) {
		if t.Path != path || found != nil {
			return
		}
		found = &reading{total: t.Content.Len()}
		for _, p := range t.Stretches() {
			found.parts = append(found.parts, run{p.Part, p.Channel, p.Block})
		}
	}
	w := eventtext.Walker{Text: take, Members: func(of string, list []eventtext.Member) {
		for _, m := range list {
			take(eventtext.Text{Path: strings.TrimPrefix(of+"."+m.Name, "."), Content: record.Say(m.Value)})
		}
	}}
	w.Event(&e)
	if found == nil {
		return nil, &missing{fmt.Sprintf("Event %d has no text at %s.", seq, shorttext.Quote(path)), ErrNotFound}
	}
	return found.slice(seq, 0, at), nil
}

// slice returns the slice that holds the byte at a place.
func (r *reading) slice(seq uint64, choice, at int) *Slice {
	from := min(max(at, 0), max(0, r.total-1)) / SliceSize * SliceSize
	out := &Slice{V: 1, Event: seq, Choice: choice, Total: r.total, Start: r.boundary(from), End: r.boundary(from + SliceSize), Dialect: r.dialect, From: r.start, Number: from/SliceSize + 1}
	out.Runs = r.runs(out.Start, out.End)
	out.Bars = r.bars()
	return out
}

// Mark marks the bytes from start to end in the runs of a slice. Bytes that are not
// recorded are marked as one.
func (s *Slice) Mark(start, end int) {
	if end <= start {
		end = start + 1
	}
	var list []Run
	first := true
	for _, r := range s.Runs {
		from, to := max(r.Start, start), min(r.End, end)
		if from >= to {
			list = append(list, r)
			continue
		}
		if r.Why == "" {
			text := string(r.Text)
			a, z := shorttext.Boundary(text, from-r.Start), shorttext.Boundary(text, to-r.Start)
			if z <= a {
				z = len(text)
			}
			before, hit, after := r, r, r
			before.Text, before.End = record.Text(text[:a]), r.Start+a
			hit.Text, hit.Start, hit.End = record.Text(text[a:z]), r.Start+a, r.Start+z
			after.Text, after.Start = record.Text(text[z:]), r.Start+z
			if a > 0 {
				hit.Marks = nil
				list = append(list, before)
			}
			after.Marks = nil
			hit.Hit, hit.First = true, first
			list = append(list, hit)
			if z < len(text) {
				list = append(list, after)
			}
		} else {
			r.Hit, r.First = true, first
			list = append(list, r)
		}
		first = false
	}
	s.Runs = list
}

// stretches are the parts of a reading, as a trace takes them.
func (r *reading) stretches() []eventtext.Stretch {
	list := make([]eventtext.Stretch, 0, len(r.parts))
	for _, p := range r.parts {
		list = append(list, eventtext.Stretch{Part: p.Part, Channel: p.channel, Block: p.block})
	}
	return list
}

// steps are the steps of an exchange, whose replies are read in some way.
func (s *Source) steps(o *opened, again Reread) ([]trace.Step, error) {
	var parts [][]eventtext.Stretch
	for i := range o.replies[:min(len(o.replies), maxChoices)] {
		r, err := s.reading(o, i, again)
		if err != nil {
			return nil, err
		}
		parts = append(parts, r.stretches())
	}
	b := trace.NewBuilder().Wide(maxShown)
	b.Exchange(&o.event, parts)
	return b.Steps, nil
}

// expected reports whether a diagnostic says only that a reply has no answer, though it has
// calls instead, which is nothing wrong.
func expected(code string, calls int) bool {
	return calls > 0 && code == string(sotto.CodeNoVisibleAnswer)
}

// Notable are the diagnostics of a row that are worth a mark.
func (r Row) Notable() []string {
	return slices.DeleteFunc(slices.Clone(r.Diagnostics), func(code string) bool { return expected(code, len(r.Calls)) })
}

// Notable are the diagnostics of a reply that are worth a mark.
func (r Reply) Notable() []sotto.Diagnostic {
	return slices.DeleteFunc(slices.Clone(r.Diagnostics), func(d sotto.Diagnostic) bool { return expected(string(d.Code), len(r.ToolCalls)) })
}
