package record

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"sort"
	"time"

	"filippo.io/age"
)

// ErrSealed is the error of a reader without an identity, for a query for what an
// encrypted record hides.
var ErrSealed = errors.New("the record is encrypted, and no identity was given")

// ReadOptions say how a record is read.
type ReadOptions struct {
	// Identities decrypt. Without one, the events of an encrypted record are its
	// batches, of type SEALED.
	Identities []age.Identity
	// Poll is how often Follow looks for more. If zero, 200 ms.
	Poll time.Duration
	// NoPrompts leaves Messages, Asked, Tools and Revisions out of the payloads that Events
	// returns, which makes reading several times as fast. Event.Line has them.
	NoPrompts bool
	// NoIndex keeps the reader from writing an index that was missing.
	NoIndex bool
}

// A Reader reads a record, even while it is being written. It is safe for
// concurrent use and needs no Close.
type Reader struct {
	dir string
	o   ReadOptions
}

// OpenReader returns a reader of a record. It takes no lock and changes nothing
// except indexes.
func OpenReader(dir string, o ReadOptions) (*Reader, error) {
	setDefault(&o.Poll, 200*time.Millisecond)
	if _, err := segmentsOf(dir); err != nil {
		return nil, fmt.Errorf("record: %w", err)
	}
	return &Reader{dir, o}, nil
}

// A LineError says which line cannot be read. The lines around it can.
type LineError struct {
	Segment string
	Offset  int64
	Err     error
}

func (e *LineError) Error() string {
	return fmt.Sprintf("record: %s at byte %d: %v", e.Segment, e.Offset, e.Err)
}

func (e *LineError) Unwrap() error { return e.Err }

// Events returns the events that a query selects, in order. A line that cannot be
// read gives a [LineError], after which the reading continues.
func (r *Reader) Events(q Query) iter.Seq2[Event, error] {
	if !q.filters() {
		return r.all(q)
	}
	return func(yield func(Event, error) bool) {
		out := sink{q: &q, ids: r.o.Identities, noPrompts: r.o.NoPrompts, yield: yield}
		r.rows(&q, r.giver(&out), func(err error) bool { return yield(Event{}, err) })
	}
}

// all reads every line of the segments that hold events after q.After.
func (r *Reader) all(q Query) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		list, err := segmentsOf(r.dir)
		if err != nil {
			yield(Event{}, fmt.Errorf("record: %w", err))
			return
		}
		out := sink{q: &q, ids: r.o.Identities, noPrompts: r.o.NoPrompts, yield: yield}
		for i, s := range list {
			if i+1 < len(list) && list[i+1].first <= q.After+1 {
				continue
			}
			if _, more := out.segment(s, r.startOf(s, q.After)); !more {
				return
			}
		}
	}
}

// startOf returns a place in a segment, by the index. All events numbered above
// after are at or behind that place.
func (r *Reader) startOf(s segment, after uint64) int64 {
	if after < s.first {
		return 0
	}
	f, err := openRegular(s.path, os.O_RDONLY)
	if err != nil {
		return 0
	}
	defer f.Close()
	x, err := indexOf(s, f, indexUse{keep: !r.o.NoIndex})
	if err != nil || x.off {
		return 0
	}
	i := sort.Search(x.rows(), func(i int) bool {
		w := rowAt(x.data, i)
		return w.last() > after
	})
	if i == 0 {
		return 0
	}
	before := rowAt(x.data, i-1)
	if _, err := x.line(f, before); err != nil || before.last() > after || before.seq < s.first || i < x.rows() && rowAt(x.data, i).seq != before.last()+1 {
		return 0 // the index does not match the lines, or the lines are not in order
	}
	return before.end()
}

// Head returns where the record ends now, to be compared with a kept head. It
// proves nothing about the events before it.
func (r *Reader) Head() (Head, error) {
	list, err := segmentsOf(r.dir)
	if err != nil {
		return Head{}, fmt.Errorf("record: %w", err)
	}
	h, err := headBefore(r.dir, list, len(list))
	if err != nil {
		err = fmt.Errorf("record: %w", err)
	}
	return h, err
}

// sink hands out the events that a query selects from the lines that it is given.
type sink struct {
	q     *Query
	ids   []age.Identity
	yield func(Event, error) bool
	n     int

	noPrompts bool
}

// segment reads a segment from a place on. It returns where the complete lines end,
// and whether more is wanted.
func (k *sink) segment(s segment, from int64) (end int64, more bool) {
	f, err := openRegular(s.path, os.O_RDONLY)
	if errors.Is(err, os.ErrNotExist) { // pruned meanwhile
		return from, true
	}
	if err != nil {
		return from, k.yield(Event{}, fmt.Errorf("record: %w", err))
	}
	defer f.Close()
	if _, err := f.Seek(from, io.SeekStart); err != nil {
		return from, k.yield(Event{}, fmt.Errorf("record: %w", err))
	}
	l := newLines(f, from)
	for {
		line, at, err := l.next()
		if err == io.EOF || err == errTorn {
			return at, true
		}
		if err != nil {
			return at, k.yield(Event{}, &LineError{s.name(), at, err})
		}
		if !k.line(s, at, bytes.Clone(line)) {
			return at, false
		}
	}
}

// line hands out the event of a line, or the events in it. They keep the line.
func (k *sink) line(s segment, at int64, line []byte) bool {
	e, err := parseOwn(line, k.noPrompts)
	if err != nil {
		return k.yield(Event{}, &LineError{s.name(), at, err})
	}
	if e.Type != TypeSealed {
		return k.event(e)
	}
	if len(k.ids) == 0 {
		return k.sealed(s, at, e)
	}
	list, err := unseal(e, k.ids, k.noPrompts)
	for _, in := range list {
		if !k.event(in) {
			return false
		}
	}
	return err == nil || k.yield(Event{}, &LineError{s.name(), at, err})
}

// sealed hands out a batch that cannot be decrypted.
func (k *sink) sealed(s segment, at int64, e Event) bool {
	if k.q.inContent() {
		k.yield(Event{}, &LineError{s.name(), at, ErrSealed})
		return false
	}
	if p, ok := e.Payload.(SealedBatch); ok && (p.Last <= k.q.After || !k.q.isBefore(e.Seq)) {
		return true
	}
	k.n++
	return k.yield(e, nil) && (k.q.Limit == 0 || k.n < k.q.Limit)
}

func (k *sink) event(e Event) bool {
	if !k.q.matches(&e) {
		return true
	}
	k.n++
	return k.yield(e, nil) && (k.q.Limit == 0 || k.n < k.q.Limit)
}
