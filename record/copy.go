package record

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"time"
)

// A File is a file of a record that is needed to verify it: a segment, or the
// tombstone of one that was pruned.
type File struct {
	First     uint64 // the first event
	Path      string
	Tombstone bool
	// Sealed says that the file does not change any more: another segment follows it,
	// or it is a tombstone.
	Sealed bool
}

// Files lists the files of a record in the order of their events, for a program that
// copies them elsewhere. Of a segment that was not pruned to its end there are both.
func Files(dir string) ([]File, error) {
	segments, err := segmentsOf(dir)
	if err != nil {
		return nil, fmt.Errorf("record: %w", err)
	}
	stones, err := numbered(dir, tombstoneExt)
	if err != nil {
		return nil, fmt.Errorf("record: %w", err)
	}
	var list []File
	for i, s := range segments {
		list = append(list, File{First: s.first, Path: s.path, Sealed: i+1 < len(segments)})
	}
	for _, n := range stones {
		list = append(list, File{First: n, Path: segmentAt(dir, n).with(tombstoneExt), Tombstone: true, Sealed: true})
	}
	slices.SortStableFunc(list, func(a, b File) int {
		switch {
		case a.First < b.First:
			return -1
		case a.First > b.First:
			return 1
		}
		return 0
	})
	return list, nil
}

// Open opens the file. It must be a regular one.
func (f File) Open() (*os.File, error) { return openRegular(f.Path, os.O_RDONLY) }

// Pruned returns what a tombstone says. The error is fs.ErrNotExist if the file is
// gone.
func (f File) Pruned() (Tombstone, error) {
	if !f.Tombstone {
		return Tombstone{}, fs.ErrInvalid
	}
	t, err := readTombstoneAt(f.Path, f.First)
	if err != nil {
		return Tombstone{}, err
	}
	return *t, nil
}

// A Mark is what the chain has of a line.
type Mark struct {
	First  uint64 // the line's first event
	Head   Head   // the line's last event, and the digest of the line
	Prev   Digest // of the line before
	Time   time.Time
	Record string // the record's identity, if the line begins a segment
}

// MarkOf reads a line, including its newline.
func MarkOf(line []byte) (Mark, error) {
	f, err := parseFrame(line)
	if err != nil {
		return Mark{}, fmt.Errorf("record: %w", err)
	}
	at, err := time.Parse(time.RFC3339Nano, f.time)
	if err != nil {
		return Mark{}, fmt.Errorf("record: %w", errors.Join(errFrame, err))
	}
	return Mark{f.first, Head{f.last, digestOf(line)}, f.prev, at, f.id}, nil
}

// SegmentName returns the name of the file of a segment.
func SegmentName(first uint64) string { return segmentAt("", first).path }

// TombstoneName returns the name of the file of a tombstone.
func TombstoneName(first uint64) string { return segmentAt("", first).with(tombstoneExt) }
