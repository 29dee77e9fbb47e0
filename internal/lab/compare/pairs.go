package compare

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/sotto-llm/sotto/internal/base/files"
	"github.com/sotto-llm/sotto/internal/data/batch"
)

// The arms of [Pairs].
const (
	earlier = "earlier"
	now     = "now"
)

// Pairs compares two runs that judged the same replies. It is safe for concurrent use; its zero
// value is empty.
type Pairs struct {
	mu           sync.Mutex
	set          Set
	alone        bool // each reply is the only one to its problem, and the set is empty
	many         bool // there are more than a set holds
	n            int
	gained, lost int
}

// Counted returns pairs of which no more than the counts are known, of replies that each are
// the only one to their problem.
func Counted(n, gained, lost int) *Pairs {
	return &Pairs{alone: true, n: n, gained: gained, lost: lost}
}

// Add adds the verdicts of both runs on a reply. problem is the same for all replies to one
// problem; if it is empty, the reply stands alone.
func (p *Pairs) Add(problem string, was, is bool) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.n++
	switch {
	case is && !was:
		p.gained++
	case was && !is:
		p.lost++
	}
	if 2*p.n > maxVerdicts {
		p.set, p.many = Set{}, true
		return nil
	}
	if problem == "" {
		problem = fmt.Sprintf("\x00%d", p.n)
	}
	if err := p.set.Add(Verdict{Arm: earlier, Problem: problem, Score: score(was)}); err != nil {
		return err
	}
	return p.set.Add(Verdict{Arm: now, Problem: problem, Score: score(is)})
}

func score(right bool) float64 {
	if right {
		return 1
	}
	return 0
}

// Counts returns how many replies both runs judged, and how many only the later and only the
// earlier one found right.
func (p *Pairs) Counts() (n, gained, lost int) { return p.n, p.gained, p.lost }

// Repeats reports whether a problem may have several replies.
func (p *Pairs) Repeats() bool {
	if p.many {
		return true
	}
	for _, c := range p.set.cells {
		for _, x := range c.problems {
			if x.n > 1 {
				return true
			}
		}
	}
	return false
}

// Difference is the difference of the later run from the earlier one; nil if there is none, or
// if there are too many replies to compute it.
func (p *Pairs) Difference() (*Difference, error) {
	if p.n == 0 || p.many {
		return nil, nil
	}
	if p.alone {
		d := &Difference{Arm: now, Than: earlier, Problems: p.n, Clusters: p.n, More: p.gained, Less: p.lost}
		d.mcNemar()
		d.Holm = d.P
		return d, nil
	}
	r, err := p.set.Result(Options{Baseline: earlier})
	if err != nil {
		return nil, err
	}
	return &r.Differences[0], nil
}

// An Earlier is the output of an earlier run, whose lines are found by a key. It keeps the
// places of the lines, and reads each when it is needed.
type Earlier struct {
	from  io.ReaderAt
	byKey map[string][]span // those of one key in order
}

// A span is where a line stands in the file.
type span struct {
	at   int64
	size int
}

// Index finds the lines of an output. key returns the key of a line.
func Index(from io.ReaderAt, size int64, key func(line []byte) (string, error)) (*Earlier, error) {
	e := &Earlier{from: from, byKey: map[string][]span{}}
	lines := bufio.NewReaderSize(io.NewSectionReader(from, 0, size), 64<<10)
	at := int64(0)
	for number := 1; ; number++ {
		line, err := batch.NextLine(lines, batch.OwnLine)
		if errors.Is(err, io.EOF) {
			return e, nil
		}
		if err != nil {
			return nil, err
		}
		p := span{at, len(line)}
		if at += int64(len(line)); batch.BlankLine(line) {
			continue
		}
		k, err := key(batch.TrimLine(line))
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", number, err)
		}
		e.byKey[k] = append(e.byKey[k], p)
	}
}

// Take returns the next line of a key, or nil. No line is returned twice.
func (e *Earlier) Take(key string) ([]byte, error) {
	list := e.byKey[key]
	if len(list) == 0 {
		return nil, nil
	}
	if e.byKey[key] = list[1:]; len(list) == 1 {
		delete(e.byKey, key)
	}
	line := make([]byte, list[0].size)
	if _, err := e.from.ReadAt(line, list[0].at); err != nil {
		return nil, fmt.Errorf("read: %w", files.Cause(err))
	}
	return batch.TrimLine(line), nil
}
