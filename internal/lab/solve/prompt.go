package solve

import (
	"strings"

	"github.com/sotto-llm/sotto/answer"
	"github.com/sotto-llm/sotto/internal/base/shorttext"
	"github.com/sotto-llm/sotto/internal/lab/metagraph"
	"github.com/sotto-llm/sotto/model"
)

// bare is the instruction of mode io.
const bare = `Give the result and nothing else, like this:

<answer>
(1 + 2) * 8
</answer>

A program reads the answer block, so it holds the bare result in the form the task asks for.`

// buffered begins the instruction of mode bot.
const buffered = `First say in one line what kind of problem this is, and whether it is solved by a rule, by a procedure in steps, or by trying values. If a solved problem or a template is given, follow it with the values of this problem. Otherwise choose the way that fits.

`

// messages returns the prompt of the next attempt: the instruction, what memory
// returned, and the problem. On a retry it also has the last attempt and the reason
// why it failed.
func (a *attempt) messages() []model.Message {
	o := &a.s.o
	system := o.Instruction
	if o.Mode == IO {
		system = bare
	}
	if o.Mode == BoT {
		system = buffered + system
	}
	question := a.examples() + o.Task.Ask(a.problem.Problem)
	if a.plan != "" {
		question += "\n\nWork on it so far, which may be wrong:\n\n" + a.plan
	}
	list := []model.Message{{Role: model.System, Text: system}, {Role: model.User, Text: question}}
	if a.judged > 0 {
		last := a.result.Attempts[a.judged-1]
		if last.shown != "" {
			list = append(list, model.Message{Role: model.Assistant, Text: last.shown})
		}
		list = append(list, model.Message{Role: model.User, Text: last.feedback()})
	}
	return list
}

// examples returns the paths as a prompt has them.
func (a *attempt) examples() string {
	if len(a.paths) == 0 {
		return ""
	}
	var b strings.Builder
	b.WriteString("Problems like this one that were solved before")
	if a.templated() {
		b.WriteString(" (a template names the numbers a, b, c, … from the smallest)")
	}
	b.WriteString(":\n\n")
	for _, p := range a.paths {
		b.WriteString(p.Text() + "\n")
	}
	b.WriteString("Now this one:\n\n")
	return b.String()
}

func (a *attempt) templated() bool {
	for _, p := range a.paths {
		if p.Template != nil {
			return true
		}
	}
	return false
}

// pathTokens is the approximate number of tokens that memory adds to a prompt.
func (a *attempt) pathTokens() int { return metagraph.Tokens(a.examples()) }

// feedback says why an attempt failed. It never contains the right answer: the
// verdict details that it passes on are about what the model itself wrote.
func (t *Try) feedback() string {
	said := "The answer " + shorttext.Ellipsis(t.Candidate, 200) + " is wrong"
	switch answer.Reason(t.Reason) {
	case answer.Empty:
		said = "No answer was found in the reply"
	case answer.IllegalTokens:
		said += ": it holds what no answer may: " + t.Detail
	case answer.FormatError:
		said += ": it is not of the form that was asked for"
	case answer.WrongNumbers:
		said += ": it does not use exactly what was given (" + t.Detail + ")"
	case answer.MathError:
		if said += ": its value is " + t.Detail; t.Detail == answer.DivisionByZero {
			said = "The answer " + shorttext.Ellipsis(t.Candidate, 200) + " divides by zero"
		}
	case answer.TooLarge:
		said += ": it is too large"
	}
	return said + ".\n\nTry another way, and give the result in an answer block as before."
}
