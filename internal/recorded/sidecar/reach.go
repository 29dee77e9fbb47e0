package sidecar

import (
	"os"

	"github.com/sotto-llm/sotto/record"
)

// Reach returns after which event a question can be asked so that at most some bytes of
// lines are read that no sidecar covers: 0 if that is all of the record. left is how many
// bytes of segments are before it, and read how many bytes of lines are read: more than most,
// if the newest segment alone has more.
func (s *Store) Reach(most int64) (after uint64, left, read int64, err error) {
	list, err := s.segments(&record.Query{})
	if err != nil {
		return 0, 0, 0, err
	}
	away := map[uint64]Far{}
	if s.away != nil {
		for _, far := range s.away.Segments() {
			away[far.First] = far
		}
	}
	for i := len(list) - 1; i >= 0; i-- {
		seg := &list[i]
		size, uncovered := int64(0), int64(0)
		if far, ok := away[seg.First]; ok {
			if size = far.Size; !far.Covered {
				uncovered = size
			}
		} else {
			size, uncovered = s.uncovered(seg, after == 0)
		}
		switch {
		case after > 0:
			left += size
		case read+uncovered > most && i < len(list)-1: // the newest segment is always read
			after, left = list[i+1].First-1, size
		default:
			read += uncovered
		}
	}
	return after, left, read, nil
}

// uncovered returns the size of a segment in the folder, and how many of its bytes no sidecar
// covers if that is wanted.
func (s *Store) uncovered(seg *segment, wanted bool) (size, uncovered int64) {
	if !wanted {
		if info, err := os.Stat(seg.Path); err == nil {
			size = info.Size()
		}
		return size, size
	}
	seg.opened(s)
	defer seg.close()
	if uncovered = seg.size; seg.f != nil {
		uncovered -= seg.f.h.Covered
	}
	return seg.size, uncovered
}
