package scoring

import (
	"errors"
	"maps"
	"math/bits"
	"slices"
	"strings"
	"sync"

	"github.com/sotto-llm/sotto/answer"
	"github.com/sotto-llm/sotto/internal/data/jsonpath"
)

// A share says how many of n were right.
type share struct{ n, right int }

func (s share) plus(other share) share { return share{s.n + other.n, s.right + other.right} }

func oneShare(right bool) share {
	if right {
		return share{1, 1}
	}
	return share{1, 0}
}

// Scores are the counts of a run. They can be added up in any order.
type Scores struct {
	share
	lost     int // lines that could not be judged
	unsure   int // replies with several answers that differ
	methods  map[string]share
	reasons  map[answer.Reason]int
	lengths  [bits.UintSize + 1]share // by the number of bits in the reply's length
	logged   agreement
	problems map[digest]*samples // by the value of --by-field and the problem
	by       map[string]*Scores
	Failures map[answer.Reason][]*Failure
}

// An agreement compares verdicts with logged ones.
type agreement struct {
	Both       int `json:"both"`        // right in both
	Neither    int `json:"neither"`     // wrong in both
	OnlyOurs   int `json:"only_ours"`   // right here, wrong in the log
	OnlyLogged int `json:"only_logged"` // wrong here, right in the log
	Unreadable int `json:"unreadable"`  // neither true nor false in the log
}

// A samples holds the replies to one problem.
type samples struct {
	share
	votes map[digest]share
}

// maxBy is how many values of --by-field are counted separately. The rest count as
// (other).
const maxBy = 10000

func newScores() *Scores {
	return &Scores{
		methods: map[string]share{}, reasons: map[answer.Reason]int{},
		problems: map[digest]*samples{}, by: map[string]*Scores{}, Failures: map[answer.Reason][]*Failure{},
	}
}

// add counts one reply.
func (s *Scores) add(p *Posed, was *Result) {
	s.share = s.plus(oneShare(was.OK))
	s.methods[was.Method] = s.methods[was.Method].plus(oneShare(was.OK))
	s.reasons[was.why()]++
	if was.Status == answer.Ambiguous {
		s.unsure++
	}
	n := bits.Len(uint(len(p.Raw)))
	s.lengths[n] = s.lengths[n].plus(oneShare(was.OK))
	s.logged.compare(p.logged, was.OK)
}

// why returns the reason of a verdict. It distinguishes a division by zero from a
// wrong value.
func (was *Result) why() answer.Reason {
	if was.Detail == answer.DivisionByZero {
		return answer.Reason(was.Detail)
	}
	return was.Reason
}

func (a *agreement) compare(logged []byte, ok bool) {
	if logged == nil || logged[0] == 'n' {
		return
	}
	right, readable := ReadVerdict(logged)
	switch {
	case !readable:
		a.Unreadable++
	case right && ok:
		a.Both++
	case right:
		a.OnlyLogged++
	case ok:
		a.OnlyOurs++
	default:
		a.Neither++
	}
}

// ReadVerdict reads a logged verdict.
func ReadVerdict(logged []byte) (right, readable bool) {
	switch strings.ToLower(jsonpath.TextOr(logged, "")) {
	case "true", "1", "1.0", "yes", "ok", "correct", "right", "pass", "passed":
		return true, true
	case "false", "0", "0.0", "no", "incorrect", "wrong", "fail", "failed":
		return false, true
	}
	return false, false
}

// sample counts one reply to a problem. Of a reply that votes for nothing, vote is nil.
func (s *Scores) sample(problem digest, vote *digest, ok bool) {
	g := s.problems[problem]
	if g == nil {
		g = &samples{votes: map[digest]share{}}
		s.problems[problem] = g
	}
	g.share = g.plus(oneShare(ok))
	if vote != nil {
		g.votes[*vote] = g.votes[*vote].plus(oneShare(ok))
	}
}

// arm returns the scores for one value of --by-field.
func (s *Scores) arm(name string) *Scores {
	if s.by[name] == nil && len(s.by) >= maxBy {
		name = "(other)"
	}
	if s.by[name] == nil {
		s.by[name] = newScores()
	}
	return s.by[name]
}

// merge adds the counts of another part of the run.
func (s *Scores) merge(other *Scores) {
	s.share = s.plus(other.share)
	s.lost += other.lost
	s.unsure += other.unsure
	for name, n := range other.methods {
		s.methods[name] = s.methods[name].plus(n)
	}
	for reason, n := range other.reasons {
		s.reasons[reason] += n
	}
	for class, n := range other.lengths {
		s.lengths[class] = s.lengths[class].plus(n)
	}
	s.logged.merge(other.logged)
	for problem, g := range other.problems {
		s.mergeSamples(problem, g)
	}
	for _, name := range slices.Sorted(maps.Keys(other.by)) {
		s.arm(name).merge(other.by[name])
	}
	for reason, list := range other.Failures {
		s.Failures[reason] = fewest(append(s.Failures[reason], list...))
	}
}

func (a *agreement) merge(b agreement) {
	a.Both += b.Both
	a.Neither += b.Neither
	a.OnlyOurs += b.OnlyOurs
	a.OnlyLogged += b.OnlyLogged
	a.Unreadable += b.Unreadable
}

func (s *Scores) mergeSamples(problem digest, other *samples) {
	g := s.problems[problem]
	if g == nil {
		s.problems[problem] = other
		return
	}
	g.share = g.plus(other.share)
	for vote, n := range other.votes {
		g.votes[vote] = g.votes[vote].plus(n)
	}
}

// A Scorer judges replies and counts. It is safe for concurrent use. Every worker
// has its own counts.
type Scorer struct {
	Extractor *Extractor
	Record    func(*Posed, answer.Extraction, *answer.Verdict) error // may be nil
	whole     bool                                                   // a majority is a vote over whole replies
	keep      bool                                                   // keep failures, for the page

	mu    sync.Mutex
	parts []*Scores // all parts
	free  sync.Pool // parts that no worker holds
	sum   *Scores   // the sum of all parts, once the run is over
}

// NewScorer returns a scorer. With whole, a majority is a vote over whole replies.
// With keep, failures are kept for the page.
func NewScorer(e *Extractor, whole, keep bool) *Scorer {
	s := &Scorer{Extractor: e, whole: whole, keep: keep}
	s.free.New = func() any {
		part := newScores()
		s.mu.Lock()
		defer s.mu.Unlock()
		s.parts = append(s.parts, part)
		return part
	}
	return s
}

func (s *Scorer) borrow() *Scores   { return s.free.Get().(*Scores) }
func (s *Scorer) give(part *Scores) { s.free.Put(part) }

// Total returns the counts of the run.
func (s *Scorer) Total() *Scores {
	if s.sum == nil {
		s.sum = newScores()
		for _, part := range s.parts {
			s.sum.merge(part)
		}
	}
	return s.sum
}

// Lost counts a line that could not be read.
func (s *Scorer) Lost() {
	part := s.borrow()
	part.lost++
	s.give(part)
}

// Judge appends the object for a reply.
func (s *Scorer) Judge(dst []byte, p *Posed) ([]byte, error) {
	was := s.Extractor.Judge(p)
	if s.Record != nil {
		if err := s.Record(p, was.Extraction, &was.Verdict); err != nil {
			return dst, err
		}
	}
	dst, err := s.Extractor.AppendJudged(dst, IDOf(p), p, was)
	if err != nil {
		return dst, err
	}
	return dst, s.Note(p, was)
}

var errUnjudged = errors.New("the object has no verdict")

// Note counts a reply.
func (s *Scorer) Note(p *Posed, was *Result) error {
	if !was.Judged {
		return errUnjudged
	}
	if err := BadGold(was); err != nil {
		return err
	}
	part := s.borrow()
	defer s.give(part)
	part.add(p, was)
	by := ""
	if p.by != nil {
		by = textOf(p.by)
		part.arm(by).add(p, was)
	}
	if p.group != nil {
		problem, vote := digestOf(by, "\x00", textOf(p.group)), s.vote(p, was)
		part.sample(problem, vote, was.OK)
		if p.by != nil {
			part.arm(by).sample(problem, vote, was.OK)
		}
	}
	if s.keep && !was.OK {
		part.Failures[was.why()] = keepFew(part.Failures[was.why()], p, was)
	}
	return nil
}

// vote returns the answer that a reply votes for, or nil for none.
func (s *Scorer) vote(p *Posed, was *Result) *digest {
	text := was.Candidate
	if s.whole {
		text = p.Raw
	} else if text == "" {
		return nil
	}
	vote := digestOf(text)
	return &vote
}
