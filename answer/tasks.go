package answer

import (
	"fmt"
	"slices"
	"strings"

	"github.com/sotto-llm/sotto/internal/base/spelling"
)

// tasks are the tasks that come with the package, in display order.
var tasks = []Task{
	Game24, Countdown, Math, GSM8K, Number, Choice, YesNo, QA, JSON, JSONStrict, JSONAnswer, Code, Crossword,
	Exact, Regex, MGSM, WordSort, Checkmate, Gaokao,
}

// Tasks returns the tasks that come with the package.
func Tasks() []Task { return slices.Clone(tasks) }

// An UnknownTaskError is the error of [TaskNamed] for an unknown name.
type UnknownTaskError struct {
	Name    string
	Nearest string // the name that was probably meant, or ""
}

func (e *UnknownTaskError) Error() string {
	if e.Nearest == "" {
		return fmt.Sprintf("unknown task %q: want one of %s", e.Name, strings.Join(taskNames(), ", "))
	}
	return fmt.Sprintf("unknown task %q: did you mean %q?", e.Name, e.Nearest)
}

// TaskNamed returns a task that comes with the package. For an unknown name the
// error is an [*UnknownTaskError].
func TaskNamed(name string) (Task, error) {
	for _, t := range tasks {
		if t.Name() == name {
			return t, nil
		}
	}
	return nil, &UnknownTaskError{Name: name, Nearest: spelling.Nearest(name, taskNames())}
}

func taskNames() []string {
	var names []string
	for _, t := range tasks {
		names = append(names, t.Name())
	}
	return names
}
