package explore

import (
	"errors"
	"time"

	"github.com/sotto-llm/sotto/internal/recorded/sidecar"
	"github.com/sotto-llm/sotto/record"
)

// maxBuckets is how many parts the time is divided into, at most.
const maxBuckets = 60

// widths are how long a part may be.
var widths = []time.Duration{
	time.Second, 2 * time.Second, 5 * time.Second, 10 * time.Second, 30 * time.Second, time.Minute, 2 * time.Minute, 5 * time.Minute, 15 * time.Minute, 30 * time.Minute,
	time.Hour, 3 * time.Hour, 6 * time.Hour, 12 * time.Hour, day, 2 * day, 7 * day, 28 * day, 91 * day, 365 * day, 3650 * day,
}

const day = 24 * time.Hour

// The times that nanoseconds since 1970 can say, with room to add to them.
var earliest, latest = time.Unix(0, -1<<62).UTC(), time.Unix(0, 1<<62).UTC()

func clamped(t time.Time) time.Time {
	switch {
	case t.Before(earliest):
		return earliest
	case t.After(latest):
		return latest
	}
	return t.UTC()
}

// A Span is a time: From is in it, and To is not.
type Span struct {
	From time.Time `json:"from"`
	To   time.Time `json:"to"`
}

// Empty reports whether no event is in the span: that of a record without events.
func (s Span) Empty() bool { return !s.From.Before(s.To) }

func (s Span) zero() bool { return s.From.IsZero() && s.To.IsZero() }

// Join returns the time that is in either of two spans, and between them.
func (s Span) Join(other Span) Span {
	if other.From.Before(s.From) || s.From.IsZero() {
		s.From = other.From
	}
	if other.To.After(s.To) {
		s.To = other.To
	}
	return s
}

// spanOf is the time that a question is about: what it says, or from the first to the last
// event. sealed says that the record is encrypted, so that this is not known.
func spanOf(r *sidecar.Store, q record.Query) (s Span, sealed bool, err error) {
	s = Span{q.From, q.To}
	any := record.Query{After: q.After, Limit: 1}
	if s.From.IsZero() {
		for e, err := range r.Events(sidecar.Query{Query: any}) {
			if errors.Is(err, record.ErrSealed) {
				return s, true, nil
			}
			if err == nil {
				s.From = e.Time
			}
		}
	}
	if s.To.IsZero() {
		for g, err := range r.Back(sidecar.Query{Query: any}, 1<<16) {
			if errors.Is(err, record.ErrSealed) {
				return s, true, nil
			}
			if err == nil {
				s.To = g.Time.Add(time.Nanosecond)
			}
		}
	}
	return s, false, nil
}

// divide makes buckets of a time. They begin at whole multiples of their width.
func (a *Answer) divide(s Span) {
	from, to := clamped(s.From), clamped(s.To)
	if !from.Before(to) {
		to = from.Add(time.Second)
	}
	for _, a.Width = range widths {
		a.From = from.Truncate(a.Width)
		if a.To = to.Add(a.Width - 1).Truncate(a.Width); a.buckets().n <= maxBuckets {
			return
		}
	}
}

// buckets are the parts of a time, in nanoseconds since 1970.
type buckets struct {
	from, to, width int64
	n               int
}

func (a *Answer) buckets() buckets {
	b := buckets{from: a.From.UnixNano(), to: a.To.UnixNano(), width: int64(a.Width)}
	b.n = int((uint64(b.to) - uint64(b.from)) / uint64(b.width))
	return b
}

// of is the bucket of a time. Times outside are in the first or the last one.
func (b *buckets) of(ns int64) int {
	switch {
	case ns < b.from:
		return 0
	case ns >= b.to:
		return b.n - 1
	}
	return int((uint64(ns) - uint64(b.from)) / uint64(b.width))
}

// At is when a bucket begins.
func (a *Answer) At(bucket int) time.Time { return a.From.Add(time.Duration(bucket) * a.Width) }
