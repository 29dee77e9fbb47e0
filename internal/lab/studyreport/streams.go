package studyreport

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"strconv"
	"sync"

	"github.com/sotto-llm/sotto/internal/base/files"
	"github.com/sotto-llm/sotto/internal/data/batch"
	"github.com/sotto-llm/sotto/internal/data/jsonpath"
	"github.com/sotto-llm/sotto/internal/lab/solve"
	"github.com/sotto-llm/sotto/internal/lab/study"
)

// maxProblems bounds the problems of a study that are kept in memory, about 64 bytes
// each.
const maxProblems = 20_000_000

// A problemID is the digest of a problem's name, so that its length does not matter.
type problemID [16]byte

// A problem is the outcome of a problem in a stream.
type problem struct {
	id        problemID
	n         int
	solved    bool
	uncalled  bool // solved without a call of the model
	tokens    int64
	cost      float64
	remembers int // nodes in memory afterwards
}

// A stream is the output of a cell.
type stream struct {
	problems []problem // in the order of the stream
	priced   bool      // all costs are known
	memory   bool
}

// readStreams reads the outputs of all cells that have a result.
func (r *Report) readStreams(ctx context.Context) (map[string]*stream, error) {
	var ids []string
	for i := range r.study.Cells {
		if c := &r.study.Cells[i]; counts(r.study.State(c)) {
			ids = append(ids, c.ID)
		}
	}
	read := make([]*stream, len(ids))
	faults := make([]error, len(ids))
	var group sync.WaitGroup
	next := make(chan int)
	var left problemsLeft
	left.n = maxProblems
	for range 2 { // more would only wait for the disk and for memory
		group.Go(func() {
			for i := range next {
				read[i], faults[i] = readStream(ctx, study.StreamFile(r.study.Dir, ids[i]), &left)
			}
		})
	}
	for i := range ids {
		next <- i
	}
	close(next)
	group.Wait()
	streams := map[string]*stream{}
	for i, id := range ids {
		switch err := faults[i]; {
		case errors.Is(err, errTooMany) || ctx.Err() != nil:
			return nil, cmp.Or(ctx.Err(), err)
		case err != nil:
			r.Faults = append(r.Faults, fmt.Sprintf("cell %s: %v", id, err))
		default:
			streams[id] = read[i]
		}
	}
	return streams, nil
}

var errTooMany = fmt.Errorf("the study has more than %d problems: too many to keep in memory", maxProblems)

// problemsLeft counts the problems that may still be read.
type problemsLeft struct {
	sync.Mutex
	n int
}

func (l *problemsLeft) spend() error {
	l.Lock()
	defer l.Unlock()
	if l.n--; l.n < 0 {
		return errTooMany
	}
	return nil
}

// The members of a line that the report reads.
const (
	memberType = iota
	memberN
	memberID
	memberSolved
	memberHit
	memberInput
	memberOutput
	memberCost
	memberPriced
	memberTraces
	memberTemplates
)

var members = [][]jsonpath.Step{
	path("type"), path("n"), path("id"), path("solved"), path("hit"), path("input"), path("output"), path("cost"), path("priced"),
	path("memory", "size", "traces"), path("memory", "size", "templates"),
}

func path(names ...string) (steps []jsonpath.Step) {
	for _, name := range names {
		steps = append(steps, jsonpath.Step{Name: name})
	}
	return steps
}

// readStream reads what the report needs of an output.
func readStream(ctx context.Context, name string, left *problemsLeft) (*stream, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", name, files.Cause(err))
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is not a regular file", name)
	}
	s := &stream{priced: true}
	lines := bufio.NewReaderSize(f, 256<<10)
	var find jsonpath.Finder
	for number := 1; ctx.Err() == nil; number++ {
		line, err := batch.NextLine(lines, batch.OwnLine)
		if errors.Is(err, io.EOF) {
			s.finish()
			return s, nil
		}
		if err != nil {
			return nil, fmt.Errorf("%s: line %d: %w", name, number, err)
		}
		if line = bytes.TrimSpace(line); len(line) == 0 {
			continue
		}
		if err := find.Find(line, members...); err != nil {
			return nil, fmt.Errorf("%s: line %d: %w", name, number, err)
		}
		if jsonpath.TextOr(find.Last(memberType), "") != "problem" {
			continue // the head
		}
		if err := left.spend(); err != nil {
			return nil, err
		}
		s.add(&find)
	}
	return nil, ctx.Err()
}

// add adds the problem of a line.
func (s *stream) add(f *jsonpath.Finder) {
	number := func(member int) float64 {
		v, err := strconv.ParseFloat(string(f.Last(member)), 64)
		if err != nil || math.IsInf(v, 0) {
			return 0
		}
		return v
	}
	is := func(member int) bool { return string(f.Last(member)) == "true" }
	digest := sha256.Sum256([]byte(jsonpath.TextOr(f.Last(memberID), "")))
	p := problem{
		n: int(number(memberN)), solved: is(memberSolved), cost: number(memberCost),
		tokens: int64(number(memberInput) + number(memberOutput)), remembers: int(number(memberTraces) + number(memberTemplates)),
	}
	copy(p.id[:], digest[:])
	p.uncalled = p.solved && jsonpath.TextOr(f.Last(memberHit), "") == solve.HitTemplate
	s.priced = s.priced && is(memberPriced)
	s.memory = s.memory || f.Last(memberTraces) != nil
	s.problems = append(s.problems, p)
}

// finish brings the problems in the order of the stream. A name that comes again gets
// another ID, so that each problem has one.
func (s *stream) finish() {
	slices.SortStableFunc(s.problems, func(a, b problem) int { return cmp.Compare(a.n, b.n) })
	seen := make(map[problemID]int, len(s.problems))
	for i := range s.problems {
		p := &s.problems[i]
		again := seen[p.id]
		seen[p.id]++
		if again > 0 {
			digest := sha256.Sum256(fmt.Appendf(nil, "%x %d", p.id, again))
			copy(p.id[:], digest[:])
		}
	}
}
