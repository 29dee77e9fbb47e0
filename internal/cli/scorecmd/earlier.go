package scorecmd

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/sotto-llm/sotto/internal/base/files"
	"github.com/sotto-llm/sotto/internal/data/batch"
	"github.com/sotto-llm/sotto/internal/lab/scoring"
)

// An earlierRun is the output of an earlier run, which is found by id. It keeps the
// places of the objects, and reads each when it is needed.
type earlierRun struct {
	file  *os.File
	byID  map[string][]place // those of one id in order
	taken int
}

// A place is where an object stands in the file.
type place struct {
	from int64
	size int
}

// indexRun reads the ids of all objects in a file.
func indexRun(file *os.File) (*earlierRun, error) {
	r := &earlierRun{file: file, byID: map[string][]place{}}
	lines := bufio.NewReaderSize(file, 64<<10)
	at := int64(0)
	for number := 1; ; number++ {
		line, err := batch.NextLine(lines, batch.OwnLine)
		if errors.Is(err, io.EOF) {
			return r, nil
		}
		if err != nil {
			return nil, err
		}
		p := place{at, len(line)}
		if at += int64(len(line)); batch.BlankLine(line) {
			continue
		}
		was, err := scoring.ReadResult(batch.TrimLine(line))
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", number, err)
		}
		r.byID[joinKey(was)] = append(r.byID[joinKey(was)], p)
	}
}

// joinKey is the same for the objects of one line in both runs: its id, or the number
// of a line that failed.
func joinKey(was *scoring.Result) string {
	if was.Line > 0 {
		return fmt.Sprintf("line %d", was.Line)
	}
	return string(was.ID)
}

// reuse returns the next object of the earlier run for the same line, or nil.
func (r *earlierRun) reuse(to *scoring.Result) (*scoring.Result, error) {
	key := joinKey(to)
	list := r.byID[key]
	if len(list) == 0 {
		return nil, nil
	}
	r.taken++
	if r.byID[key] = list[1:]; len(list) == 1 {
		delete(r.byID, key)
	}
	return r.find(list[0])
}

func (r *earlierRun) find(p place) (*scoring.Result, error) {
	object := make([]byte, p.size)
	if _, err := r.file.ReadAt(object, p.from); err != nil {
		return nil, fmt.Errorf("read: %w", files.Cause(err))
	}
	return scoring.ReadResult(batch.TrimLine(object))
}

// left counts the objects that were not taken, and those that were right.
func (r *earlierRun) left() (missing, right int, err error) {
	for _, list := range r.byID {
		for _, p := range list {
			was, err := r.find(p)
			if err != nil {
				return 0, 0, err
			}
			if missing++; was.Judged && was.OK {
				right++
			}
		}
	}
	return missing, right, nil
}
