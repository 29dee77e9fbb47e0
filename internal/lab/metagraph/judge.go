package metagraph

import (
	"strconv"
	"strings"

	"github.com/sotto-llm/sotto/answer"
	"github.com/sotto-llm/sotto/internal/base/shorttext"
	"github.com/sotto-llm/sotto/internal/lab/metagraph/symbolic"
)

// Limits on the contents of a node. A solution beyond them passes, but is not kept.
const (
	// MaxQuery is the maximum length of a query in bytes.
	MaxQuery = 16 << 10

	maxCandidate = 16 << 10
	maxWork      = 4 << 10
	maxModel     = 256
)

// A Passed is a solution that its task's validator has accepted. Only [Judge] makes
// one, so that nothing else can enter a graph. The zero Passed holds no solution.
type Passed struct {
	task      string
	query     string
	problem   answer.Problem
	candidate string
	work      string
	text      string  // the trace
	numbers   []int64 // of a game, sorted
	template  symbolic.Template
}

// OK reports whether there is a solution.
func (p Passed) OK() bool { return p.task != "" }

// Judge lets a task's validator judge a candidate, as [answer.Extract] returns it.
// The solution is zero unless the verdict is OK.
//
// Shown is the visible text that held the candidate. The task may distil steps from
// it. It may be empty. It must not contain reasoning.
func Judge(t answer.Task, p answer.Problem, candidate, shown string) (Passed, answer.Verdict) {
	v := t.Validate(candidate, p)
	if !v.OK {
		return Passed{}, v
	}
	s := Passed{task: t.Name(), query: Query(t, p), problem: p, candidate: candidate}
	if s.work = answer.Work(t, p, candidate, shown); len(s.work) > maxWork {
		s.work = ""
	}
	s.text = answer.Trace(t, p, candidate, s.work)
	if numbers, target, ok := Numbers(t, p); ok {
		if x, err := symbolic.Abstract(candidate); err == nil && x.Makes(numbers, target) {
			s.numbers, s.template = numbers, x
		}
	}
	return s, v
}

// Query returns the canonical query of a problem, which is the key for looking it
// up in memory. It is the task's own query; if the task has none, it is the input
// on one line.
func Query(t answer.Task, p answer.Problem) string {
	if query, _ := t.Distil(p, ""); query != "" {
		return query
	}
	return shorttext.OneLine(p.Input)
}

// An Arithmetic task's solutions are expressions that use each of the problem's
// numbers once and make a target. Templates are made from them. Your own task can
// implement it in addition to [answer.Task]; game24 and countdown need not.
type Arithmetic interface {
	// Numbers returns a problem's numbers in ascending order.
	Numbers(p answer.Problem) (numbers []int64, target int64, ok bool)
}

// Numbers returns the numbers of a problem in ascending order, and the target they
// must make. ok is false if the task is not a game of numbers.
func Numbers(t answer.Task, p answer.Problem) (numbers []int64, target int64, ok bool) {
	if a, is := t.(Arithmetic); is {
		return a.Numbers(p)
	}
	if t.Name() != answer.Game24.Name() && t.Name() != answer.Countdown.Name() {
		return nil, 0, false
	}
	// Both distil "Solve 24 with 2 5 8 11".
	words := strings.Fields(Query(t, p))
	if len(words) < 4 || len(words)-3 > symbolic.MaxSlots || words[0] != "Solve" || words[2] != "with" {
		return nil, 0, false
	}
	target, err := strconv.ParseInt(words[1], 10, 64)
	for _, word := range words[3:] {
		n, bad := strconv.ParseInt(word, 10, 64)
		if err == nil {
			err = bad
		}
		numbers = append(numbers, n)
	}
	return numbers, target, err == nil
}
