package record

import (
	"slices"
	"time"
)

// A Query selects events. The zero Query selects all. Each field that is set
// narrows it.
type Query struct {
	Run        string
	Cycle      *int
	Types      []Type
	Model      string
	Diagnostic string // a code of a reply's diagnostics, of an error or an advisory
	From, To   time.Time
	After      uint64 // events with a greater number
	Before     uint64 // events with a smaller number; 0 means no bound
	Limit      int    // how many at most
	// NoCheckpoints leaves out the signatures.
	NoCheckpoints bool
	// Skip reports that none of the events from first to last is wanted; they are not read
	// then. If nil, all are.
	Skip func(first, last uint64) bool
}

// filters reports whether the query asks for more than a place.
func (q *Query) filters() bool {
	return q.Run != "" || q.Cycle != nil || len(q.Types) > 0 || q.Model != "" || q.Diagnostic != "" ||
		!q.From.IsZero() || !q.To.IsZero() || q.NoCheckpoints || q.Before > 0 || q.Skip != nil
}

// inContent reports whether the query asks for what an encrypted batch hides.
func (q *Query) inContent() bool {
	return q.Run != "" || q.Cycle != nil || len(q.Types) > 0 || q.Model != "" || q.Diagnostic != ""
}

func (q *Query) inTime(t time.Time) bool {
	return (q.From.IsZero() || !t.Before(q.From)) && (q.To.IsZero() || t.Before(q.To))
}

// skips reports whether none of the events from first to last is wanted. A line that is not an
// event is always wanted.
func (q *Query) skips(first, last uint64) bool {
	return q.Skip != nil && first > 0 && q.Skip(first, last)
}

// skipsSegment is skips for all events of segment number i of a list, except the last.
func (q *Query) skipsSegment(list []segment, i int) bool {
	return i+1 < len(list) && q.skips(list[i].first, list[i+1].first-1)
}

func (q *Query) isBefore(seq uint64) bool { return q.Before == 0 || seq < q.Before }

// matches reports whether an event is selected.
func (q *Query) matches(e *Event) bool {
	if e.Seq <= q.After || !q.isBefore(e.Seq) || q.skips(e.Seq, e.Seq) || !q.inTime(e.Time) || q.NoCheckpoints && e.Type == TypeCheckpoint {
		return false
	}
	if q.Run != "" && e.Run != q.Run || q.Cycle != nil && e.Cycle != *q.Cycle || len(q.Types) > 0 && !slices.Contains(q.Types, e.Type) {
		return false
	}
	if q.Model == "" && q.Diagnostic == "" {
		return true
	}
	f := e.Payload.facts()
	return (q.Model == "" || f.model == q.Model) && (q.Diagnostic == "" || slices.Contains(f.codes, q.Diagnostic))
}

// selection is a query in the numbers of one index.
type selection struct {
	q          *Query
	run, model uint32
	types      []uint32
	codes      uint64
	sealed     uint32 // the number of SEALED, whose content is not known here
	hasSealed  bool
	checkpoint uint32
	hasCheck   bool
}

// selection translates a query; none reports that nothing can match.
func (x *indexing) selection(q *Query) (s selection, none bool) {
	s = selection{q: q}
	whole := !x.hasOdd()
	if from, to := x.span(q); whole && (!q.From.IsZero() && to.Before(q.From) || !q.To.IsZero() && !from.Before(q.To)) {
		return s, true
	}
	s.sealed, s.hasSealed = x.types.find(string(TypeSealed))
	s.checkpoint, s.hasCheck = x.types.find(string(TypeCheckpoint))
	missing := !find(&x.runs, q.Run, &s.run) || !find(&x.models, q.Model, &s.model)
	for _, t := range q.Types {
		if n, ok := x.types.find(string(t)); ok {
			s.types = append(s.types, n)
		}
	}
	missing = missing || len(q.Types) > 0 && len(s.types) == 0
	if q.Diagnostic != "" {
		if n, ok := x.codes.find(q.Diagnostic); ok {
			s.codes = 1 << min(n, maxCodes)
		}
		missing = missing || s.codes == 0
	}
	return s, missing && whole && !s.hasSealed
}

// find looks up the number of what a query asks for, if it asks.
func find(t *table, want string, n *uint32) bool {
	if want == "" {
		return true
	}
	var ok bool
	if *n, ok = t.find(want); !ok {
		*n = ^uint32(0)
	}
	return ok
}

// matches reports whether a row may be selected. The row may match for certain. It
// may be the batch of an event that matches. Or only its line can show whether it
// matches.
func (s *selection) matches(r row) bool {
	q := s.q
	if q.skips(r.seq, r.last()) {
		return false
	}
	if r.odd {
		return true
	}
	if r.last() <= q.After || !q.isBefore(r.seq) || !q.inTime(r.time) {
		return false
	}
	if s.hasSealed && r.typ == s.sealed {
		return true
	}
	switch {
	case q.NoCheckpoints && s.hasCheck && r.typ == s.checkpoint,
		q.Run != "" && r.run != s.run,
		q.Model != "" && r.model != s.model,
		q.Cycle != nil && r.cycle != *q.Cycle,
		len(q.Types) > 0 && !slices.Contains(s.types, r.typ),
		q.Diagnostic != "" && r.codes&s.codes == 0:
		return false
	}
	return true
}
