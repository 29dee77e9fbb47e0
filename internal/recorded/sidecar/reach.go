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
	for i := len(list) - 1; i >= 0; i-- {
		seg := &list[i]
		if after > 0 {
			if info, err := os.Stat(seg.Path); err == nil {
				left += info.Size()
			}
			continue
		}
		seg.opened(s)
		uncovered := seg.size
		if seg.f != nil {
			uncovered -= seg.f.h.Covered
		}
		seg.close()
		if read+uncovered > most && i < len(list)-1 { // the newest segment is always read
			after, left = list[i+1].First-1, seg.size
			continue
		}
		read += uncovered
	}
	return after, left, read, nil
}
