package record

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"iter"
	"math"
	"os"
	"time"
)

// An Entry is what the index holds about an event.
type Entry struct {
	Seq  uint64    `json:"seq"`
	Last uint64    `json:"last"` // Seq, or the last event of an encrypted batch
	Time time.Time `json:"time"`
	// For an encrypted batch only the type, SEALED, is known of these.
	Run         string   `json:"run"`
	Cycle       int      `json:"cycle"`
	Type        Type     `json:"type"`
	Model       string   `json:"model,omitempty"`
	Diagnostics []string `json:"diagnostics,omitempty"`
	Size        int      `json:"size"` // bytes of the line
}

// Entries lists the events that a query selects, using only the indexes. If the
// query asks for what an encrypted record hides, the error is [ErrSealed].
func (r *Reader) Entries(q Query) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		l := lister{q: &q, yield: yield}
		r.rows(&q, l.visit, l.fail)
	}
}

// A lister lists the events of rows.
type lister struct {
	q     *Query
	yield func(Entry, error) bool
	n     int
}

func (l *lister) fail(err error) bool { return l.yield(Entry{}, err) }

func (l *lister) give(e Entry) bool {
	if e.Type == TypeSealed && l.q.inContent() {
		l.yield(e, ErrSealed)
		return false
	}
	l.n++
	return l.yield(e, nil) && (l.q.Limit == 0 || l.n < l.q.Limit)
}

// visit is a [visitor].
func (l *lister) visit(x *indexing, f io.ReaderAt, w row) (bool, error) {
	if !w.odd {
		return l.give(x.entry(w)), nil
	}
	e, err := x.event(f, w)
	switch {
	case err == errStale:
		return true, err
	case err != nil:
		return l.fail(&LineError{x.segment.name(), w.at, err}), nil
	case e.Type != TypeSealed && !l.q.matches(&e):
		return true, nil
	}
	return l.give(entryOf(&e, w.size)), nil
}

func (x *indexing) entry(w row) Entry {
	return Entry{
		Seq: w.seq, Last: w.last(), Time: w.time, Run: x.runs.list[w.run], Cycle: w.cycle,
		Type: Type(x.types.list[w.typ]), Model: x.models.list[w.model], Diagnostics: x.codesOfRow(w), Size: w.size,
	}
}

// entryOf returns the entry of an event that does not fit into the index.
func entryOf(e *Event, size int) Entry {
	f, last := e.Payload.facts(), e.Seq
	if s, ok := e.Payload.(SealedBatch); ok {
		last = s.Last
	}
	return Entry{e.Seq, last, e.Time, e.Run, e.Cycle, e.Type, f.model, f.codes, size}
}

// event reads the event of a row's line. It returns errStale if the index does not
// match these lines.
func (x *indexing) event(f io.ReaderAt, w row) (Event, error) {
	line, err := x.line(f, w)
	if err != nil {
		return Event{}, err
	}
	return parseEvent(line)
}

// line reads a row's line, and compares it with the row.
func (x *indexing) line(f io.ReaderAt, w row) ([]byte, error) {
	if w.size > maxLine {
		return nil, errStale
	}
	line := make([]byte, w.size)
	if _, err := f.ReadAt(line, w.at); err != nil {
		return nil, err
	}
	if fr, err := parseFrame(line); bytes.IndexByte(line, '\n') != len(line)-1 || (err != nil) != (w.seq == 0) || fr.first != w.seq {
		return nil, errStale
	}
	return line, nil
}

// visitor gets the rows that a query may select, and reports whether it wants more.
// Its error means that the row does not match its line.
type visitor func(*indexing, io.ReaderAt, row) (more bool, err error)

// rows calls visit with the rows that a query may select, and fail with errors,
// until one of them returns false.
func (r *Reader) rows(q *Query, visit visitor, fail func(error) bool) {
	list, err := segmentsOf(r.dir)
	if err != nil {
		fail(fmt.Errorf("record: %w", err))
		return
	}
	for i, s := range list {
		if i+1 < len(list) && list[i+1].first <= q.After+1 || q.skipsSegment(list, i) {
			continue
		}
		more, err := r.rowsOf(s, q, visit, fail)
		var line *LineError
		switch {
		case err == nil || errors.Is(err, os.ErrNotExist):
		case errors.As(err, &line):
			more = fail(err)
		default:
			more = fail(fmt.Errorf("record: %w", err))
		}
		if !more {
			return
		}
	}
}

// rowsOf visits one segment's rows. A segment that was pruned meanwhile gives
// os.ErrNotExist. If an index turns out not to match the lines, that is reported,
// and the rest of the segment is read without it.
func (r *Reader) rowsOf(s segment, q *Query, visit visitor, fail func(error) bool) (more bool, err error) {
	f, err := openRegular(s.path, os.O_RDONLY)
	if err != nil {
		return true, err
	}
	defer f.Close()
	x, err := indexOf(s, f, indexUse{keep: !r.o.NoIndex})
	if err != nil {
		return true, err
	}
	from := int64(0)
	if !x.off {
		if from, more, err = x.visit(f, q, visit); err != errStale {
			return more, err
		}
		if !fail(&LineError{s.name(), from, errStale}) {
			return false, nil
		}
	}
	return visitLines(s, f, from, q, visit)
}

// visit visits the rows that a query may select. If one does not match its line, at
// is its place.
func (x *indexing) visit(f io.ReaderAt, q *Query, visit visitor) (at int64, more bool, err error) {
	sel, none := x.selection(q)
	if none {
		return 0, true, nil
	}
	for i := range x.rows() {
		w := rowAt(x.data, i)
		if !sel.matches(w) {
			continue
		}
		if more, err := visit(x, f, w); err != nil || !more {
			return w.at, more, err
		}
	}
	return 0, true, nil
}

// visitLines visits the rows of a segment's lines from a place on, without its
// index. It holds some of them at a time.
func visitLines(s segment, f io.ReaderAt, from int64, q *Query, visit visitor) (more bool, err error) {
	const some = 4096
	l := newLines(io.NewSectionReader(f, from, math.MaxInt64-from), from)
	for {
		x := newIndexing(s)
		for x.rows() < some && err == nil {
			var line []byte
			if line, from, err = l.next(); err == nil {
				x.addLine(line, from)
			}
		}
		if _, more, err := x.visit(f, q, visit); err != nil || !more {
			return more, err
		}
		if err == io.EOF || err == errTorn {
			return true, nil
		}
		if err != nil {
			return true, &LineError{s.name(), from, err}
		}
	}
}
