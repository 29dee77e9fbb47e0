package studyreport

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"sync"

	"filippo.io/age"

	"github.com/sotto-llm/sotto/internal/data/jsonpath"
	"github.com/sotto-llm/sotto/internal/lab/solve"
	"github.com/sotto-llm/sotto/internal/lab/streamfile"
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
func (r *Report) readStreams(ctx context.Context, ids []age.Identity) (map[string]*stream, error) {
	var cells []string
	for i := range r.study.Cells {
		if c := &r.study.Cells[i]; counts(r.study.State(c)) {
			cells = append(cells, c.ID)
		}
	}
	read := make([]*stream, len(cells))
	faults := make([]error, len(cells))
	var group sync.WaitGroup
	next := make(chan int)
	var left problemsLeft
	left.n = maxProblems
	for range 2 { // more would only wait for the disk and for memory
		group.Go(func() {
			for i := range next {
				read[i], faults[i] = readStream(ctx, study.StreamFile(r.study.Dir, cells[i]), ids, &left)
			}
		})
	}
	for i := range cells {
		next <- i
	}
	close(next)
	group.Wait()
	streams := map[string]*stream{}
	for i, id := range cells {
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

var members = streamfile.Paths("type", "n", "id", "solved", "hit", "input", "output", "cost", "priced", "memory.size.traces", "memory.size.templates")

// readStream reads what the report needs of an output.
func readStream(ctx context.Context, name string, ids []age.Identity, left *problemsLeft) (*stream, error) {
	s := &stream{priced: true}
	err := streamfile.Lines(ctx, name, ids, members, func(f *jsonpath.Finder) error {
		if jsonpath.TextOr(f.Last(memberType), "") != "problem" {
			return nil // the head
		}
		if err := left.spend(); err != nil {
			return err
		}
		s.add(f)
		return nil
	})
	if err != nil {
		return nil, err
	}
	s.finish()
	return s, nil
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
	digest := sha256.Sum256([]byte(jsonpath.TextOr(f.Last(memberID), "")))
	p := problem{
		n: int(number(memberN)), solved: streamfile.Is(f, memberSolved), cost: number(memberCost),
		tokens: int64(number(memberInput) + number(memberOutput)), remembers: int(number(memberTraces) + number(memberTemplates)),
	}
	copy(p.id[:], digest[:])
	p.uncalled = p.solved && jsonpath.TextOr(f.Last(memberHit), "") == solve.HitTemplate
	s.priced = s.priced && streamfile.Is(f, memberPriced)
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
