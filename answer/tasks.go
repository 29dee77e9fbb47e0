package answer

import (
	"fmt"
	"slices"
	"strings"
)

// tasks are the tasks that come with the package, in the order in which they are
// shown.
var tasks = []Task{Game24, Countdown, Math, GSM8K, Number, Choice, YesNo, QA, JSON, JSONAnswer, Code, Crossword, Exact, Regex}

// Tasks returns the tasks that come with the package.
func Tasks() []Task { return slices.Clone(tasks) }

// An UnknownTaskError is what [TaskNamed] returns for a name that no task has.
type UnknownTaskError struct {
	Name    string
	Nearest string // the name that was probably meant, or ""
}

func (e *UnknownTaskError) Error() string {
	if e.Nearest == "" {
		return fmt.Sprintf("unknown task %q: there are %s", e.Name, strings.Join(taskNames(), ", "))
	}
	return fmt.Sprintf("unknown task %q: did you mean %q?", e.Name, e.Nearest)
}

// TaskNamed returns a task that comes with the package. An unknown name is an
// [*UnknownTaskError].
func TaskNamed(name string) (Task, error) {
	for _, t := range tasks {
		if t.Name() == name {
			return t, nil
		}
	}
	return nil, &UnknownTaskError{Name: name, Nearest: nearest(name, taskNames())}
}

func taskNames() []string {
	var names []string
	for _, t := range tasks {
		names = append(names, t.Name())
	}
	return names
}

// nearest returns the name that the fewest edits make of got, if they are few;
// case, hyphens and underlines do not count.
func nearest(got string, names []string) string {
	fold := strings.NewReplacer("-", "", "_", "", " ", "").Replace
	want := fold(strings.ToLower(got))
	best, least := "", 1+max(1, min(len(want), 64)/3)
	for _, name := range names {
		plain := fold(strings.ToLower(name))
		if d := edits(want, plain); d < least {
			best, least = name, d
		}
	}
	if best == "" && len(want) >= 3 {
		for _, name := range names {
			if strings.HasPrefix(fold(name), want) {
				return name
			}
		}
	}
	return best
}

// edits counts the bytes to insert, remove or change to get from a to b; of long
// names it says only that they are many.
func edits(a, b string) int {
	if len(a) > 64 || len(b) > 64 {
		return 64
	}
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			diagonal, row[j+1] = row[j+1], min(diagonal+cost, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
