package solve

import (
	"cmp"
	"strings"
	"unicode"

	"github.com/sotto-llm/sotto/answer"
	"github.com/sotto-llm/sotto/internal/shorttext"
	"github.com/sotto-llm/sotto/metagraph"
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
	switch name {
	case WordSort.Name():
		return WordSort, nil
	case MGSM.Name():
		return MGSM, nil
	}
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
	case answer.Number.Name(), answer.GSM8K.Name():
		return p.Input + "\n\nThe result is one number."
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

// MGSM is the task of the multilingual grade-school problems. It is [answer.GSM8K]
// under another name, so that memory keeps the two apart.
var MGSM Task = mgsm{answer.GSM8K}

type mgsm struct{ answer.Task }

func (mgsm) Name() string { return "mgsm" }

func (t mgsm) Form() answer.Form {
	f := t.Task.Form()
	f.Rules = strings.Replace(f.Rules, t.Task.Name(), "mgsm", 1)
	return f
}

func (mgsm) Ask(p answer.Problem) string { return p.Input + "\n\nThe result is one number." }

// WordSort is the task of sorting words: "wordsort". The input holds the words,
// after the last colon if there is one ("Sort these: pear apple fig"). An answer is
// right if it has exactly these words, each as often, in lower case and in byte
// order. No gold is needed.
var WordSort Task = wordSort{answer.Exact}

type wordSort struct{ answer.Task }

func (wordSort) Name() string { return "wordsort" }

func (t wordSort) Form() answer.Form {
	f := t.Task.Form()
	f.Rules, f.Extent = "wordsort/1", answer.FirstLine
	return f
}

// maxSorted is the maximum number of words in a problem or an answer.
const maxSorted = 1000

// words returns the words of a list, in lower case.
func words(list string) []string {
	return strings.FieldsFunc(strings.ToLower(list), func(r rune) bool {
		return unicode.IsSpace(r) || strings.ContainsRune(",;[]()\"`", r)
	})
}

func listed(p answer.Problem) []string {
	return words(p.Input[strings.LastIndexByte(p.Input, ':')+1:])
}

// Normalise returns the words in lower case, separated by single spaces.
func (t wordSort) Normalise(candidate string) string {
	return strings.Join(words(strings.TrimSuffix(t.Task.Normalise(candidate), ".")), " ")
}

func (wordSort) Precheck(string, answer.Problem) bool { return false }

// Validate returns wrong_numbers if the words are not the problem's, and different
// if the right words are in the wrong order.
func (wordSort) Validate(candidate string, p answer.Problem) answer.Verdict {
	want, got := listed(p), strings.Fields(candidate)
	switch {
	case len(got) == 0:
		return answer.Verdict{Reason: answer.Empty}
	case len(want) == 0:
		return answer.Verdict{Reason: answer.BadGold, Detail: "the problem has no words"}
	case len(want) > maxSorted || len(got) > maxSorted:
		return answer.Verdict{Reason: answer.TooLarge}
	}
	counts := map[string]int{}
	for _, w := range want {
		counts[w]++
	}
	for _, w := range got {
		if counts[w]--; counts[w] < 0 {
			return answer.Verdict{Reason: answer.WrongNumbers, Detail: "the word " + shorttext.Ellipsis(w, 40) + " does not appear that often"}
		}
	}
	if len(got) < len(want) {
		return answer.Verdict{Reason: answer.WrongNumbers, Detail: "words are missing"}
	}
	for i := 1; i < len(got); i++ {
		if cmp.Compare(got[i-1], got[i]) > 0 {
			return answer.Verdict{Reason: answer.Different, Detail: shorttext.Ellipsis(got[i-1], 40) + " stands before " + shorttext.Ellipsis(got[i], 40), By: "none"}
		}
	}
	return answer.Verdict{OK: true, Reason: answer.ReasonOK, By: "string"}
}

// Distil treats the words as a multiset: the query is the same in whatever order
// they are given.
func (t wordSort) Distil(p answer.Problem, solution string) (query, trace string) {
	list := listed(p)
	if len(list) == 0 {
		return "", ""
	}
	sortWords(list)
	query = "Sort " + strings.Join(list, " ")
	if solution = t.Normalise(solution); solution != "" {
		trace = "Task: wordsort\nInput: " + strings.Join(list, " ") + "\nSolution: " + solution
	}
	return query, trace
}

func (wordSort) Ask(p answer.Problem) string {
	return p.Input + "\n\nThe result is the words in alphabetical order, on one line, with a space between."
}
