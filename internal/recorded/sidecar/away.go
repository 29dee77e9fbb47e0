package sidecar

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"path/filepath"
	"slices"

	"github.com/sotto-llm/sotto/record"
)

// Away has segments of a record that are not in its folder, and their sidecars. Its methods are
// safe for concurrent use.
type Away interface {
	// Segments lists the segments in the order of their events.
	Segments() []Far
	// Same reports whether a segment of a size in the folder is all of the one that is away, or
	// is not away.
	Same(first uint64, size int64) bool
	// Open opens a segment and its sidecar, which was shown to be of that segment. The error
	// is fs.ErrNotExist if there is no sidecar, or if the segment cannot be read in parts, and
	// a [Failure] if it is not known.
	Open(ctx context.Context, first uint64) (segment, sidecar Part, err error)
	// Merged lists the segments that have a merged sidecar, and OpenMerged opens it and them,
	// one after the other. It is named by the first of them.
	Merged() []Merged
	OpenMerged(ctx context.Context, first uint64) (segments, sidecar Part, err error)
	// Bring copies a segment into the folder, or all of them if first is 0. It stays there
	// until done is called, which is not nil.
	Bring(ctx context.Context, first uint64) (done func(), err error)
	// Fault says why it is not known what is new; it is nil if that is known.
	Fault() error
	// Fetched returns how often something was read, and how many bytes.
	Fetched() (requests int, bytes int64)
}

// A Far is a segment that is away.
type Far struct {
	First, Last uint64 // its events
	Size        int64
	Covered     bool // there is a sidecar of it
}

// A Failure is the error of something that is away and cannot be reached. It does not say that a
// sidecar does not fit.
type Failure struct{ Err error }

func (f *Failure) Error() string { return f.Err.Error() }
func (f *Failure) Unwrap() error { return f.Err }

func isFailure(err error) bool {
	_, ok := errors.AsType[*Failure](err)
	return ok
}

// A Part is read by place.
type Part struct {
	io.ReaderAt
	Size int64
}

// OpenAway is [Open] for a record of which some segments are elsewhere.
func OpenAway(dir string, o record.ReadOptions, away Away) (*Store, error) {
	s, err := Open(dir, o)
	if err == nil {
		s.away = away
	}
	return s, err
}

// files lists the segments.
func (s *Store) files() ([]record.File, error) {
	all, err := record.Files(s.dir)
	if err != nil {
		return nil, err
	}
	all = slices.DeleteFunc(all, func(f record.File) bool { return f.Tombstone })
	if s.away == nil {
		return all, nil
	}
	here := map[uint64]bool{}
	for _, f := range all {
		here[f.First] = true
	}
	for _, far := range s.away.Segments() {
		if !here[far.First] {
			all = append(all, record.File{First: far.First, Path: filepath.Join(s.dir, record.SegmentName(far.First)), Sealed: true})
		}
	}
	slices.SortFunc(all, func(a, b record.File) int { return cmp.Compare(a.First, b.First) })
	return all, nil
}

// Last returns the newest event of the record; 0 if it has none.
func (s *Store) Last() (uint64, error) {
	h, err := s.reader.Head()
	if s.away == nil {
		return h.Seq, err
	}
	last := h.Seq
	for _, far := range s.away.Segments() {
		last, err = max(last, far.Last), nil
	}
	return last, err
}

// Size returns how many segments the record has, and how many bytes they are.
func (s *Store) Size() (segments int, size int64) {
	all, err := s.files()
	if err != nil {
		return 0, 0
	}
	sizes := s.sizes()
	for _, f := range all {
		n, away := sizes[f.First]
		if info, err := os.Stat(f.Path); !away && err == nil {
			n = info.Size()
		}
		size += n
	}
	return len(all), size
}

// sizes are those of the segments that are away.
func (s *Store) sizes() map[uint64]int64 {
	sizes := map[uint64]int64{}
	if s.away != nil {
		for _, far := range s.away.Segments() {
			sizes[far.First] = far.Size
		}
	}
	return sizes
}

// Away reports whether segments of the record are elsewhere, and why it is not known what is new
// there.
func (s *Store) Away() (away bool, fault error) {
	if s.away == nil {
		return false, nil
	}
	return true, s.away.Fault()
}

// Event reads one event, or the encrypted batch that it is in. found is false if there is none.
func (s *Store) Event(seq uint64) (e record.Event, found bool, err error) {
	if seq == 0 {
		return e, false, nil
	}
	for e, err := range s.Events(Query{Query: record.Query{After: seq - 1, Before: seq + 1, Limit: 1}}) {
		return e, err == nil, err
	}
	return e, false, nil
}

// Whole returns the reader of the record, after all of it was brought into the folder.
func (s *Store) Whole() (*record.Reader, error) {
	_, err := s.bring(0)
	return s.reader, err
}

// bring brings a segment, or all of them for 0.
func (s *Store) bring(first uint64) (done func(), err error) {
	if s.away == nil {
		return func() {}, nil
	}
	if done, err = s.away.Bring(s.ctx, first); err != nil {
		return done, fmt.Errorf("bring the segments that no sidecar helps to search: %w", err)
	}
	return done, nil
}

// isHere reports whether a segment is in the folder, as a whole.
func (s *Store) isHere(seg *segment) bool {
	info, err := os.Lstat(seg.Path)
	return err == nil && (s.away == nil || s.away.Same(seg.First, info.Size()))
}

// here makes a segment one that the reader can read, until done is called.
func (s *Store) here(seg *segment) (done func(), err error) {
	if !s.isHere(seg) {
		s.report.Brought++
	}
	seg.away = false
	return s.bring(seg.First)
}

// in is In of the reader.
func (s *Store) in(seg *segment, from int64, q record.Query) iter.Seq2[record.Event, error] {
	return after(func() (func(), error) { return s.here(seg) }, func() iter.Seq2[record.Event, error] { return s.reader.In(seg.First, from, q) })
}

// entriesIn is EntriesIn of the reader.
func (s *Store) entriesIn(seg *segment, q record.Query) iter.Seq2[record.Entry, error] {
	return after(func() (func(), error) { return s.here(seg) }, func() iter.Seq2[record.Entry, error] { return s.reader.EntriesIn(seg.First, q) })
}

// after gives a sequence once something was done, or the error of that.
func after[T any](do func() (done func(), err error), of func() iter.Seq2[T, error]) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		done, err := do()
		if err != nil {
			var none T
			yield(none, err)
			return
		}
		defer done()
		of()(yield)
	}
}
