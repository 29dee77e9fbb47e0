package explore

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/sotto-llm/sotto/internal/base/shorttext"
	"github.com/sotto-llm/sotto/internal/recorded/sidecar"
)

// Counts are what one of several records has for an answer. Medians and intervals of records
// do not make those of all; so the numbers of events are exchanged, in the parts of one span.
type Counts struct {
	V          int    `json:"v"`
	Span       Span   `json:"span"`
	Lines      []Line `json:"lines"`
	Events     int    `json:"events"`
	Left       int64  `json:"left_bytes,omitempty"`
	Unindexed  int    `json:"unindexed_segments,omitempty"`
	Unreadable int    `json:"unreadable,omitempty"`
	Merged     bool   `json:"merged,omitempty"`
}

// A Line is what is counted of a name, or of all further names.
type Line struct {
	Name   string `json:"name"`
	Others bool   `json:"others,omitempty"`
	Cells  []Cell `json:"cells"` // of the parts of the time that have events
}

// A Cell counts the events of one part of the time: of a share, how many there are and how many
// it is of; of a quantity, how many have each size.
type Cell struct {
	At    int `json:"at"`
	N     int `json:"n,omitempty"`
	Count int `json:"count,omitempty"`
	// Sizes are pairs: how much larger a size is than the one before it, and how many events
	// have it.
	Sizes []int `json:"sizes,omitempty"`
}

// Bounds of what a record tells another one's console: mostCounts is in bytes of JSON, and
// mostSlots is how many sizes there is room for in all cells of its names.
const (
	mostCounts = 1 << 20
	mostSlots  = 1 << 20
	mostEvents = 1 << 40
	mostSized  = 1 << 27 // of one size in a cell: those of all consoles fit into 32 bits
)

// mostSize is the largest size.
var mostSize = sizeOf(math.MaxInt64)

// SpanOf returns the time that a question to a record is about. sealed says that the record is
// encrypted.
func SpanOf(ctx context.Context, r *sidecar.Store, q Query) (s Span, sealed bool, err error) {
	events, err := q.events()
	if err != nil {
		return s, false, err
	}
	store := r.For(ctx)
	if events.After, _, _, err = store.Reach(MostUnindexed); err != nil {
		return s, false, err
	}
	return spanOf(store, events)
}

// Count counts what a record has for a question, in the parts of a span.
func Count(ctx context.Context, r *sidecar.Store, q Query, span Span) (*Counts, error) {
	a, err := count(ctx, r, q, MostUnindexed, span)
	if err != nil {
		return nil, err
	}
	c := &Counts{V: 1, Span: span, Lines: []Line{}, Events: a.Events, Left: a.Left, Unindexed: a.Unindexed, Unreadable: a.Unreadable, Merged: a.Merged}
	c.add(a.lines)
	return c, nil
}

// add adds the lines, those with the most events first. When there is no more room for their
// numbers, the rest are counted together.
func (c *Counts) add(lines map[string]*counted) {
	total := map[*counted]int{}
	for _, l := range lines {
		for i := range l.cells {
			total[l] += l.cells[i].n
		}
	}
	list := slices.SortedFunc(maps.Values(lines), func(a, b *counted) int {
		return cmp.Or(boolean(a.others)-boolean(b.others), cmp.Compare(total[b], total[a]), strings.Compare(a.name, b.name))
	})
	var rest *counted
	room, slots := mostCounts, mostSlots
	for _, l := range list {
		line := lineOf(l)
		if size, wide := line.size(), line.slots(); !l.others && size <= room && wide <= slots {
			room, slots = room-size, slots-wide
			c.Lines = append(c.Lines, line)
			continue
		}
		if rest == nil {
			rest = &counted{others: true, cells: make([]cell, len(l.cells))}
		}
		for i := range l.cells {
			rest.cells[i].join(l.cells[i : i+1])
		}
	}
	if rest != nil {
		c.Merged = true
		c.Lines = append(c.Lines, lineOf(rest))
	}
}

func lineOf(l *counted) Line {
	line := Line{Name: l.name, Others: l.others, Cells: []Cell{}}
	for i := range l.cells {
		if c := &l.cells[i]; c.n > 0 {
			line.Cells = append(line.Cells, c.sent(i))
		}
	}
	return line
}

func (c *cell) sent(at int) Cell {
	out := Cell{At: at}
	if c.sizes == nil {
		out.N, out.Count = c.n, c.count
		return out
	}
	last := 0
	for size, n := range c.sizes {
		if n > 0 {
			out.Sizes = append(out.Sizes, size-last, int(n))
			last = size
		}
	}
	return out
}

// size is about how many bytes of JSON a line is.
func (l *Line) size() int {
	text, err := json.Marshal(l)
	if err != nil {
		return mostCounts + 1
	}
	return len(text)
}

// slots is how many sizes there is room for in the cells of a line.
func (l *Line) slots() (n int) {
	for i := range l.Cells {
		last := 0
		for k := 0; k < len(l.Cells[i].Sizes); k += 2 {
			last += l.Cells[i].Sizes[k]
		}
		n += last + 1
	}
	return n
}

// errCounts is the error of counts that no console sends.
var errCounts = errors.New("these are not the counts of a record")

// Join adds the counts of several records to an answer about a span.
func Join(q Query, span Span, all []*Counts) *Answer {
	a := &Answer{V: 1, Query: q, Series: []Series{}, lines: map[string]*counted{}}
	a.divide(span)
	parts := a.buckets().n
	for _, c := range all {
		a.Events += c.Events
		a.Left += c.Left
		a.Unindexed += c.Unindexed
		a.Unreadable += c.Unreadable
		a.Merged = a.Merged || c.Merged
		for i := range c.Lines {
			name := c.Lines[i].Name
			if c.Lines[i].Others {
				name = furtherNames
			}
			l := a.line(name, parts)
			for _, got := range c.Lines[i].Cells {
				l.cells[got.At].join([]cell{got.read()})
			}
		}
	}
	a.conclude()
	return a
}

// read is the cell that another console sent, which was checked.
func (c *Cell) read() cell {
	got := cell{n: c.N, count: c.Count}
	size := 0
	for i := 0; i+1 < len(c.Sizes); i += 2 {
		size += c.Sizes[i]
		n := c.Sizes[i+1]
		got.n += n
		if size >= len(got.sizes) {
			got.sizes = append(got.sizes, make([]uint32, size+1-len(got.sizes))...)
		}
		got.sizes[size] += uint32(n)
	}
	return got
}

// ReadCounts reads what another console sent about a question and a span.
func ReadCounts(data []byte, q Query, span Span) (*Counts, error) {
	var c Counts
	if err := json.Unmarshal(data, &c); err != nil {
		return nil, fmt.Errorf("%w: %w", errCounts, err)
	}
	a := Answer{}
	a.divide(span)
	parts := a.buckets().n
	if c.V != 1 || len(c.Lines) > maxNames+1 || min(int64(c.Events), c.Left, int64(c.Unindexed), int64(c.Unreadable)) < 0 || c.Events > mostEvents {
		return nil, errCounts
	}
	slots := mostSlots + maxBuckets*(mostSize+1) // and those of the rest
	for i := range c.Lines {
		l := &c.Lines[i]
		l.Name = shorttext.Cut(l.Name, maxName)
		for k := range l.Cells {
			if cell := &l.Cells[k]; cell.At < 0 || cell.At >= parts || k > 0 && cell.At <= l.Cells[k-1].At || !cell.valid(q.Of.Share()) {
				return nil, errCounts
			}
		}
		if slots -= l.slots(); slots < 0 {
			return nil, errCounts
		}
	}
	return &c, nil
}

// valid reports whether a cell counts what a share, or a quantity, can be.
func (c *Cell) valid(share bool) bool {
	if c.Count < 0 || c.Count > c.N || c.N > mostEvents || share != (c.Sizes == nil) || !share && c.N != 0 || len(c.Sizes)%2 != 0 {
		return false
	}
	size := 0
	for i := 0; i < len(c.Sizes); i += 2 {
		if size += c.Sizes[i]; c.Sizes[i] < 0 || i > 0 && c.Sizes[i] == 0 || size > mostSize || c.Sizes[i+1] < 1 || c.Sizes[i+1] > mostSized {
			return false
		}
	}
	return true
}
