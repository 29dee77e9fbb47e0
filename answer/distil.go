package answer

import (
	"slices"
	"strings"
)

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
