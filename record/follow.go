package record

import (
	"context"
	"fmt"
	"iter"
	"os"

	"github.com/sotto-llm/sotto/internal/base/sleep"
)

// Follow returns the events that a query selects, both existing and new ones, until
// ctx ends, which is not an error. An event may be returned before it is
// acknowledged. If the disk then fails, another event of the same number may
// follow.
func (r *Reader) Follow(ctx context.Context, q Query) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		at := place{}
		out := sink{q: &q, ids: r.o.Identities, noPrompts: r.o.NoPrompts, yield: yield}
		out.yield = func(e Event, err error) bool { return ctx.Err() == nil && yield(e, err) }
		for ctx.Err() == nil {
			if !r.advance(&at, &q, &out) || sleep.For(ctx, r.o.Poll) != nil {
				return
			}
		}
	}
}

// place is how far a follower has read.
type place struct {
	segment uint64 // its first event
	offset  int64
}

// advance reads what is new, and reports whether more is wanted.
func (r *Reader) advance(at *place, q *Query, out *sink) bool {
	list, err := segmentsOf(r.dir)
	if err != nil {
		return out.yield(Event{}, fmt.Errorf("record: %w", err))
	}
	for i, s := range list {
		if s.first < at.segment || i+1 < len(list) && list[i+1].first <= q.After+1 {
			continue
		}
		if s.first > at.segment {
			*at = place{s.first, r.startOf(s, q.After)}
		}
		if info, err := os.Lstat(s.path); err == nil && info.Size() < at.offset {
			at.offset = info.Size() // it was undone
		}
		end, more := out.segment(s, at.offset)
		at.offset = end
		if !more {
			return false
		}
	}
	return true
}
