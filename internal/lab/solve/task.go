package solve

import (
	"strings"

	"github.com/sotto-llm/sotto/answer"
	"github.com/sotto-llm/sotto/internal/lab/metagraph"
)

// A Task is one kind of problem. It says how to find and judge an answer, what
// memory keeps of it, and how to ask a model. A task whose answers are expressions
// of the problem's numbers may also be a [metagraph.Arithmetic], and then has
// templates.
type Task interface {
	answer.Task
	// Ask returns the text of a problem for a prompt: the question, and the form
	// that the answer must have. It must not contain the right answer.
	Ask(p answer.Problem) string
}

// TaskNamed finds a task by its name. For an unknown name the error is an
// *answer.UnknownTaskError.
func TaskNamed(name string) (Task, error) {
	t, err := answer.TaskNamed(name)
	if err != nil {
		return nil, err
	}
	return TaskOf(t), nil
}

// TaskOf makes a Task from a task of package answer, or from one read by
// [answer.ReadTask]. It asks with the problem's input as it stands, and explains
// games.
func TaskOf(t answer.Task) Task {
	if own, ok := t.(Task); ok {
		return own
	}
	return plainTask{t}
}

type plainTask struct{ answer.Task }

// Numbers returns those of the underlying task.
func (t plainTask) Numbers(p answer.Problem) ([]int64, int64, bool) {
	return metagraph.Numbers(t.Task, p)
}

// Ask returns the input, and the options of a choice.
func (t plainTask) Ask(p answer.Problem) string {
	switch t.Name() {
	case answer.Game24.Name(), answer.Countdown.Name():
		query, _ := t.Distil(p, "")
		target, numbers, _ := strings.Cut(strings.TrimPrefix(query, "Solve "), " with ")
		return "Make " + target + " of the numbers " + numbers + ". Use each number exactly once, and + - * / and parentheses. The result is one expression of the numbers, without an equals sign."
	case answer.Number.Name(), answer.GSM8K.Name(), answer.MGSM.Name():
		return p.Input + "\n\nThe result is one number."
	case answer.WordSort.Name():
		return p.Input + "\n\nThe result is the words in alphabetical order, on one line, with a space between."
	case answer.Checkmate.Name():
		return "Which move mates at once after these moves?\n\n" + p.Input + "\n\nThe result is one move in algebraic notation, such as Qh7#."
	}
	var b strings.Builder
	b.WriteString(p.Input)
	for i, option := range p.Options {
		if i < 26 {
			b.WriteString("\n" + string(rune('A'+i)) + ". " + option)
		}
	}
	return b.String()
}
