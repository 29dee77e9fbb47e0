package record

import (
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"path/filepath"
	"strings"
)

// sidecarExt is the extension of the file beside a segment that package sidecar makes. It is
// removed with the segment.
const sidecarExt = ".sidecar"

// SidecarName returns the name of the file, beside a segment, that helps to search it. Nothing
// in this package reads it; it is removed with the segment.
func SidecarName(first uint64) string { return segmentAt("", first).with(sidecarExt) }

// Matches reports whether a query selects an event. Limit does not count.
func (q *Query) Matches(e *Event) bool { return q.matches(e) }

// Indexed returns what the index holds about an event's payload: its model, and its
// diagnostics or the code of an error or advisory.
func (e *Event) Indexed() (model string, codes []string) {
	f := e.Payload.facts()
	return f.model, f.codes
}

// EventsOf returns the event of a line, or the events of an encrypted batch. Without an
// identity a batch is an event itself. The events keep the line.
func EventsOf(line []byte, o ReadOptions) ([]Event, error) {
	e, err := parseOwn(line, o.NoPrompts)
	if err != nil {
		return nil, err
	}
	if e.Type != TypeSealed || len(o.Identities) == 0 {
		return []Event{e}, nil
	}
	return unseal(e, o.Identities, o.NoPrompts)
}

// Dir returns the folder of the record.
func (r *Reader) Dir() string { return r.dir }

// Options returns how the record is read.
func (r *Reader) Options() ReadOptions { return r.o }

// In returns the events of one segment that a query selects, from a byte of it on, as
// [Reader.Events] does for all. A segment that is not there any more has none. A place other
// than 0 must be the beginning of a line; the index is not used then.
func (r *Reader) In(first uint64, from int64, q Query) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		s := segmentAt(r.dir, first)
		out := sink{q: &q, ids: r.o.Identities, noPrompts: r.o.NoPrompts, yield: yield}
		if from > 0 || !q.filters() {
			out.segment(s, from)
			return
		}
		_, err := r.rowsOf(s, &q, r.giver(&out), func(err error) bool { return yield(Event{}, err) })
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			yield(Event{}, fmt.Errorf("record: %w", err))
		}
	}
}

// giver returns a visitor that gives the events of rows to a sink.
func (r *Reader) giver(out *sink) visitor {
	return func(x *indexing, f io.ReaderAt, w row) (bool, error) {
		line, err := x.line(f, w)
		if err == errStale {
			return true, err
		}
		if err != nil {
			return out.yield(Event{}, &LineError{x.segment.name(), w.at, err}), nil
		}
		return out.line(x.segment, w.at, line), nil // the line is its own
	}
}

// SidecarTemp begins the name of a sidecar that is being written.
const SidecarTemp = ".tmp-sidecar-"

// SweepSidecars removes the sidecars of segments that are gone: a program that was killed
// between the two removals, or that made one meanwhile, leaves them. It also removes those that
// are half written, which may be of such a segment; who writes one begins again.
func SweepSidecars(dir string) error {
	var list []string
	err := eachName(dir, func(name string) {
		n, ok := numberOf(name, sidecarExt)
		if ok {
			_, err := os.Lstat(segmentAt(dir, n).path)
			ok = errors.Is(err, os.ErrNotExist)
		}
		if ok || strings.HasPrefix(name, SidecarTemp) {
			list = append(list, name)
		}
	})
	for _, name := range list {
		err = errors.Join(err, removeIfThere(filepath.Join(dir, name)))
	}
	return err
}

// RemoveCopy removes a segment from a folder that only holds copies, with what was made of it.
func RemoveCopy(dir string, first uint64) error {
	s := segmentAt(dir, first)
	return errors.Join(removeIfThere(s.path), removeIfThere(s.with(indexExt)), removeIfThere(s.with(sidecarExt)))
}

// EntriesIn lists the events of one segment that a query selects, as [Reader.Entries] does for
// all.
func (r *Reader) EntriesIn(first uint64, q Query) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		l := lister{q: &q, yield: yield}
		if _, err := r.rowsOf(segmentAt(r.dir, first), &q, l.visit, l.fail); err != nil && !errors.Is(err, os.ErrNotExist) {
			l.fail(fmt.Errorf("record: %w", err))
		}
	}
}
