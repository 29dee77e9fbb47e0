package answer

import (
	"slices"
	"strings"

	"github.com/sotto-llm/sotto/internal/base/shorttext"
)

// Trace distils a solution to the text that memory keeps of it and a later prompt
// shows. It is the task's own trace (see [Task]). If the task has none, the trace has
// the task, its query and the solution, and the work if there is any:
//
//	Task: gsm8k
//	Input: Ann has 3 apples and buys 4. How many?
//	Work: 3+4=7
//	Solution: 7
//
// It is empty if there is no solution. It has no newline at its end.
func Trace(t Task, p Problem, solution, work string) string {
	if solution == "" {
		return ""
	}
	query, trace := t.Distil(p, solution)
	if trace != "" {
		return trace
	}
	if query == "" {
		query = shorttext.OneLine(p.Input)
	}
	if work != "" {
		solution = work + "\nSolution: " + solution
		return "Task: " + t.Name() + "\nInput: " + query + "\nWork: " + solution
	}
	return traceOf(t.Name(), query, solution)
}

// Work returns the steps that a task finds in the visible text of a reply, on one
// line. It is empty if the task finds none, or if its trace needs none.
func Work(t Task, p Problem, solution, shown string) string {
	if _, trace := t.Distil(p, solution); trace != "" {
		return ""
	}
	_, work := t.Distil(p, shown)
	return shorttext.OneLine(work)
}

// Distil returns the query "Solve 24 with 2 5 8 11", with the numbers in order, so
// that all ways to pose a problem share one memory. It also returns the trace of a
// solution:
//
//	Task: Game24
//	Input: 2 5 8 11
//	Solution: (11-5)*8/2
//
// Both are empty if the problem gives no numbers.
func (g *game) Distil(p Problem, solution string) (query, trace string) {
	numbers, target := g.problem(p, nil)
	if len(numbers) == 0 || target == "" {
		return "", ""
	}
	slices.SortFunc(numbers, func(a, b string) int {
		if len(a) != len(b) {
			return len(a) - len(b)
		}
		return strings.Compare(a, b)
	})
	input := strings.Join(numbers, " ")
	query = "Solve " + target + " with " + input
	if g.target == "" {
		input += " -> " + target
	}
	return query, traceOf(g.title, input, g.Normalise(solution))
}

// traceOf returns the trace of a solution. It is empty if there is no solution.
func traceOf(title, input, solution string) string {
	if solution == "" {
		return ""
	}
	return "Task: " + title + "\nInput: " + input + "\nSolution: " + solution
}
