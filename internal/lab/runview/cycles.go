package runview

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/sotto-llm/sotto/internal/recorded/sidecar"
	"github.com/sotto-llm/sotto/record"
)

// maxBuckets bounds how many groups of cycles are counted at once.
const maxBuckets = 4096

// A bucket counts the events of some cycles that follow each other.
type bucket struct {
	first, last        int // cycles that have events
	firstSeq, lastSeq  uint64
	firstTime, endTime time.Time
	invocations, tools int // events; a use of a tool has two
	ends               int
}

func (b *bucket) merge(o *bucket) {
	b.first, b.last = min(b.first, o.first), max(b.last, o.last)
	b.firstSeq, b.lastSeq = min(b.firstSeq, o.firstSeq), max(b.lastSeq, o.lastSeq)
	if o.firstTime.Before(b.firstTime) {
		b.firstTime = o.firstTime
	}
	if o.endTime.After(b.endTime) {
		b.endTime = o.endTime
	}
	b.invocations, b.tools, b.ends = b.invocations+o.invocations, b.tools+o.tools, b.ends+o.ends
}

// buckets are the events of a run by cycle, or by groups of cycles if there are many.
// All groups have the same width.
type buckets struct {
	width int // of a group, a power of 2
	list  map[int]*bucket
}

func newBuckets() *buckets { return &buckets{width: 1, list: map[int]*bucket{}} }

// group is the group of a cycle, rounded down: -1 is in the group before 0.
func (b *buckets) group(cycle int) int {
	n := cycle / b.width
	if cycle%b.width < 0 {
		n--
	}
	return n
}

func (b *buckets) put(o *bucket, most int) {
	n := b.group(o.first)
	if was := b.list[n]; was != nil {
		was.merge(o)
		return
	}
	own := *o
	b.list[n] = &own
	for len(b.list) > most {
		b.coarsen()
	}
}

// coarsen makes the groups twice as wide.
func (b *buckets) coarsen() {
	was := b.list
	b.width, b.list = 2*b.width, map[int]*bucket{}
	for _, n := range slices.Sorted(maps.Keys(was)) {
		b.put(was[n], math.MaxInt)
	}
}

// rows returns the groups in order, at most so many.
func (b *buckets) rows(most int) []*bucket {
	for len(b.list) > most {
		b.coarsen()
	}
	return slices.SortedFunc(maps.Values(b.list), func(a, c *bucket) int { return cmp.Compare(a.first, c.first) })
}

// A count is what the index says of a run.
type count struct {
	events      int
	invocations int
	first, last int // cycles, from the first that an invocation or a cycle's start names
	any         bool
	window      *buckets
}

// count reads the index for the events of a run, and groups those of the cycles from
// … to. Of an encrypted record it reads the events.
func (s *Source) count(ctx context.Context, run string, from, to int) (*count, error) {
	c := &count{window: newBuckets()}
	q := record.Query{Run: run}
	for e, err := range s.store.For(ctx).Entries(q) {
		switch {
		case ctx.Err() != nil:
			return nil, ctx.Err()
		case errors.Is(err, record.ErrSealed):
			return s.countSealed(ctx, q, from, to)
		case err == nil:
			c.count(&e, from, to)
		case !isLine(err):
			return nil, err
		}
	}
	return c, nil
}

func isLine(err error) bool {
	var line *record.LineError
	return errors.As(err, &line)
}

func (s *Source) countSealed(ctx context.Context, q record.Query, from, to int) (*count, error) {
	c := &count{window: newBuckets()}
	for e, err := range s.store.For(ctx).Events(sidecar.Query{Query: q}) {
		switch {
		case ctx.Err() != nil:
			return nil, ctx.Err()
		case errors.Is(err, record.ErrSealed) || e.Type == record.TypeSealed:
			return nil, record.ErrSealed
		case err == nil:
			c.count(&record.Entry{Seq: e.Seq, Time: e.Time, Cycle: e.Cycle, Type: e.Type}, from, to)
		case !isLine(err):
			return nil, err
		}
	}
	return c, nil
}

func (c *count) count(e *record.Entry, from, to int) {
	c.events++
	b := bucket{first: e.Cycle, last: e.Cycle, firstSeq: e.Seq, lastSeq: e.Seq, firstTime: e.Time, endTime: e.Time}
	switch e.Type {
	case record.TypeInvocation:
		b.invocations, c.invocations = 1, c.invocations+1
	case record.TypeToolCall:
		b.tools = 1
	case record.TypeCycleEnd:
		b.ends = 1
	case record.TypeRunStart, record.TypeRunEnd: // they are of no cycle
		return
	}
	if !c.any {
		c.first, c.last, c.any = e.Cycle, e.Cycle, true
	}
	c.first, c.last = min(c.first, e.Cycle), max(c.last, e.Cycle)
	if e.Cycle >= from && e.Cycle <= to {
		c.window.put(&b, maxBuckets)
	}
}
