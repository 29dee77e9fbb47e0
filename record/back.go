package record

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
)

// A Glimpse is an event as a list shows it.
type Glimpse struct {
	Entry
	Event Event
	// Partial says that the line is too long to be read for a list: of an exchange or
	// an invocation, Event has the members before its replies; of any other event, it
	// has no payload. Event.Line is nil then.
	Partial bool
}

// Back returns the events that a query selects, the newest first. Of a line of more
// than most bytes it reads only the beginning. A line that cannot be read gives a
// [LineError], after which the reading continues.
func (r *Reader) Back(q Query, most int) iter.Seq2[Glimpse, error] {
	return func(yield func(Glimpse, error) bool) {
		list, err := segmentsOf(r.dir)
		if err != nil {
			yield(Glimpse{}, fmt.Errorf("record: %w", err))
			return
		}
		b := backward{q: &q, r: r, most: most, yield: yield}
		for i := len(list) - 1; i >= 0; i-- {
			if q.Before > 0 && list[i].first >= q.Before || list[i].first > q.After && q.skipsSegment(list, i) {
				continue
			}
			if i+1 < len(list) && list[i+1].first <= q.After+1 || !b.segment(list[i]) {
				return
			}
		}
	}
}

// backward hands out events from the newest to the oldest.
type backward struct {
	q     *Query
	r     *Reader
	most  int
	yield func(Glimpse, error) bool
	n     int
}

func (b *backward) fail(err error) bool { return b.yield(Glimpse{}, err) }

// segment reads one segment, and reports whether more is wanted.
func (b *backward) segment(s segment) (more bool) {
	f, err := openRegular(s.path, os.O_RDONLY)
	if errors.Is(err, os.ErrNotExist) { // pruned meanwhile
		return true
	}
	if err != nil {
		return b.fail(fmt.Errorf("record: %w", err))
	}
	defer f.Close()
	x, err := indexOf(s, f, indexUse{keep: !b.r.o.NoIndex})
	if err != nil {
		return b.fail(fmt.Errorf("record: %w", err))
	}
	end := int64(0)
	if x.off {
		t, err := tailOf(f)
		if err != nil {
			return b.fail(&LineError{s.name(), 0, err})
		}
		end = t.size
	} else if end, more, err = b.rows(x, f); err != errStale {
		return more
	} else if !b.fail(&LineError{s.name(), end, err}) {
		return false
	}
	return b.lines(s, f, end)
}

// rows visits a segment's rows. If one does not match its line, the error is
// errStale and end is where that line ends.
func (b *backward) rows(x *indexing, f io.ReaderAt) (end int64, more bool, err error) {
	sel, none := x.selection(b.q)
	if none {
		return 0, true, nil
	}
	for i := x.rows() - 1; i >= 0; i-- {
		w := rowAt(x.data, i)
		if !sel.matches(w) {
			continue
		}
		if more, err := b.row(x, f, w); err != nil || !more {
			return w.end(), more, err
		}
	}
	return 0, true, nil
}

// lines visits the lines before a place without the segment's index.
func (b *backward) lines(s segment, f io.ReaderAt, end int64) (more bool) {
	for end > 0 {
		from, err := lastNewline(f, end-1)
		if err != nil {
			return b.fail(&LineError{s.name(), end, err})
		}
		line := make([]byte, end-from)
		if _, err := f.ReadAt(line, from); err != nil {
			return b.fail(&LineError{s.name(), from, err})
		}
		x := newIndexing(s)
		x.addLine(line, from)
		if _, more, err = b.rows(x, f); err != nil {
			more = b.fail(&LineError{s.name(), from, err})
		}
		if !more {
			return false
		}
		end = from
	}
	return true
}

// row hands out the event of a row, or the events in it.
func (b *backward) row(x *indexing, f io.ReaderAt, w row) (more bool, err error) {
	if w.size > b.most && !w.odd && x.types.list[w.typ] != string(TypeSealed) {
		return b.front(x, f, w)
	}
	line, err := x.line(f, w)
	if err == errStale {
		return true, err
	}
	var e Event
	if err == nil {
		e, err = parseEvent(line)
	}
	if err != nil {
		return b.fail(&LineError{x.segment.name(), w.at, err}), nil
	}
	if e.Type != TypeSealed {
		return b.event(e, w.size), nil
	}
	return b.sealed(x, e, w), nil
}

// sealed hands out the events of an encrypted batch, or the batch.
func (b *backward) sealed(x *indexing, e Event, w row) bool {
	if len(b.r.o.Identities) == 0 {
		if b.q.inContent() {
			b.fail(&LineError{x.segment.name(), w.at, ErrSealed})
			return false
		}
		return b.give(GlimpseOf(&e, w.size))
	}
	list, err := unseal(e, b.r.o.Identities, false)
	if err != nil && !b.fail(&LineError{x.segment.name(), w.at, err}) {
		return false
	}
	for i := len(list) - 1; i >= 0; i-- {
		if !b.event(list[i], len(list[i].line)) {
			return false
		}
	}
	return true
}

func (b *backward) event(e Event, size int) bool {
	return !b.q.matches(&e) || b.give(GlimpseOf(&e, size))
}

func (b *backward) give(g Glimpse) bool {
	b.n++
	return b.yield(g, nil) && (b.q.Limit == 0 || b.n < b.q.Limit)
}

// MaxFront is longer than the members of an exchange before its replies.
const MaxFront = 256 << 10

// front hands out the beginning of the event in a long line. The row says what the
// query asks for.
func (b *backward) front(x *indexing, f io.ReaderAt, w row) (more bool, err error) {
	line := make([]byte, min(w.size, MaxFront))
	if _, err := f.ReadAt(line, w.at); err != nil {
		return b.fail(&LineError{x.segment.name(), w.at, err}), nil
	}
	g, err := Front(line, x.entry(w))
	if err != nil {
		return true, err
	}
	return b.give(g), nil
}

// Front returns an event as a list shows it, from its entry and the first bytes of its line:
// [MaxFront] of them, or all. The error says that they are not of the same event.
func Front(line []byte, of Entry) (Glimpse, error) {
	g := Glimpse{Entry: of, Partial: true}
	g.Event = Event{V: Version, Seq: of.Seq, Time: of.Time, Run: of.Run, Cycle: of.Cycle, Type: of.Type}
	if cut := beforeReplies(line); cut >= 0 {
		e, err := parseEvent(append(line[:cut:cut], "}}"...))
		if err != nil || e.Seq != of.Seq {
			return g, errStale
		}
		e.line = nil
		g.Event = e
	}
	return g, nil
}

// GlimpseOf is an event that was read whole, as a list shows it. size is that of its line.
func GlimpseOf(e *Event, size int) Glimpse { return Glimpse{Entry: entryOf(e, size), Event: *e} }

// beforeReplies returns where the replies or the messages of an exchange or an
// invocation begin, or -1. In a JSON string the marks would have backslashes.
func beforeReplies(line []byte) int {
	for _, mark := range []string{`,"replies":[{`, `,"messages":[{`} {
		if at := bytes.Index(line, []byte(mark)); at >= 0 {
			return at
		}
	}
	return -1
}
