package metagraph

import (
	"strconv"
	"strings"

	"github.com/sotto-llm/sotto/answer"
	"github.com/sotto-llm/sotto/metagraph/symbolic"
)

// Limits of what a node may hold. A solution beyond them passes, and is not kept.
const (
	// MaxQuery is how many bytes a query has at most.
	MaxQuery = 16 << 10

	maxCandidate = 16 << 10
	maxWork      = 4 << 10
)

// A Passed is a solution that its task's validator has accepted. Only [Judge]
// makes one, so that nothing else can enter a graph; the zero Passed is none.
type Passed struct {
	task      string
	query     string
	problem   answer.Problem
	candidate string
	work      string
	numbers   []int64 // of a game, sorted
	template  symbolic.Template
}

// OK reports whether there is a solution.
func (p Passed) OK() bool { return p.task != "" }

// Judge has a task's validator judge a candidate, as [answer.Extract] gives it.
// The solution is zero unless the verdict is OK.
//
// Shown is the visible text that the candidate stood in, from which the task may
// distil steps; it may be empty. Reasoning must not be in it.
func Judge(t answer.Task, p answer.Problem, candidate, shown string) (Passed, answer.Verdict) {
	v := t.Validate(candidate, p)
	if !v.OK {
		return Passed{}, v
	}
	s := Passed{task: t.Name(), query: Query(t, p), problem: p, candidate: candidate}
	if _, trace := t.Distil(p, candidate); trace == "" {
		_, s.work = t.Distil(p, shown)
		if s.work = oneLine(s.work); len(s.work) > maxWork {
			s.work = ""
		}
	}
	if numbers, target, ok := Numbers(t, p); ok {
		if x, err := symbolic.Abstract(candidate); err == nil && x.Makes(numbers, target) {
			s.numbers, s.template = numbers, x
		}
	}
	return s, v
}

// Query returns the canonical query of a problem, by which memory is looked up:
// the task's own, or the input on one line.
func Query(t answer.Task, p answer.Problem) string {
	if query, _ := t.Distil(p, ""); query != "" {
		return query
	}
	return oneLine(p.Input)
}

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

// An Arithmetic task's solutions are expressions of the problem's numbers, each
// once, that make a target. Templates are made of them. A task of one's own
// implements it beside [answer.Task]; game24 and countdown need not.
type Arithmetic interface {
	// Numbers returns a problem's numbers, from the smallest on.
	Numbers(p answer.Problem) (numbers []int64, target int64, ok bool)
}

// Numbers returns the numbers of a problem, from the smallest on, and what they
// are to make; ok is false where the task is no game of numbers.
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
