package sidecar

import (
	"cmp"
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
	// Segments lists the segments by their first events, in order.
	Segments() []uint64
	// Open opens a segment and its sidecar, which was shown to be of that segment. The error
	// is fs.ErrNotExist if there is no sidecar, or if the segment cannot be read in parts.
	Open(first uint64) (segment, sidecar Part, err error)
	// Merged lists the segments that have a merged sidecar, and OpenMerged opens it and them,
	// one after the other. It is named by the first of them.
	Merged() []Merged
	OpenMerged(first uint64) (segments, sidecar Part, err error)
	// Bring copies a segment into the folder, or all of them if first is 0.
	Bring(first uint64) error
	// Fetched returns how often something was read, and how many bytes.
	Fetched() (requests int, bytes int64)
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
	for _, first := range s.away.Segments() {
		if !here[first] {
			all = append(all, record.File{First: first, Path: filepath.Join(s.dir, record.SegmentName(first)), Sealed: true})
		}
	}
	slices.SortFunc(all, func(a, b record.File) int { return cmp.Compare(a.First, b.First) })
	return all, nil
}

// Whole returns the reader of the record, after all of it was brought into the folder.
func (s *Store) Whole() (*record.Reader, error) { return s.reader, s.bring(0) }

// bring brings a segment, or all of them for 0.
func (s *Store) bring(first uint64) error {
	if s.away == nil {
		return nil
	}
	if err := s.away.Bring(first); err != nil {
		return fmt.Errorf("bring the segments that no sidecar helps to search: %w", err)
	}
	return nil
}

// here makes a segment one that the reader can read.
func (s *Store) here(seg *segment) error {
	if !seg.away {
		return nil
	}
	seg.away = false
	if _, err := os.Lstat(seg.Path); err == nil {
		return nil
	}
	s.report.Brought++
	return s.bring(seg.First)
}

// in is In of the reader.
func (s *Store) in(seg *segment, from int64, q record.Query) iter.Seq2[record.Event, error] {
	return after(func() error { return s.here(seg) }, func() iter.Seq2[record.Event, error] { return s.reader.In(seg.First, from, q) })
}

// entriesIn is EntriesIn of the reader.
func (s *Store) entriesIn(seg *segment, q record.Query) iter.Seq2[record.Entry, error] {
	return after(func() error { return s.here(seg) }, func() iter.Seq2[record.Entry, error] { return s.reader.EntriesIn(seg.First, q) })
}

// after gives a sequence once something was done, or the error of that.
func after[T any](done func() error, of func() iter.Seq2[T, error]) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		if err := done(); err != nil {
			var none T
			yield(none, err)
			return
		}
		of()(yield)
	}
}
