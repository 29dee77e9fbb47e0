package trace

import (
	"cmp"
	"slices"
	"strings"

	"github.com/sotto-llm/sotto/internal/base/shorttext"
	"github.com/sotto-llm/sotto/record"
)

// A Difference says in what two traces part.
type Difference string

// The differences.
const (
	InQuestion   Difference = "question"
	InModel      Difference = "model"
	InSystem     Difference = "system"
	InParameters Difference = "parameters"
	InTools      Difference = "tools"
	InCall       Difference = "call" // another tool, or another kind of step
	InArguments  Difference = "arguments"
	InResult     Difference = "result"
	InError      Difference = "error"
	InThought    Difference = "thought"
	InAnswer     Difference = "answer"
	InEnd        Difference = "end"
	InLength     Difference = "length" // one goes on where the other has ended
	InNote       Difference = "note"
)

// A Parting is the first place at which two traces differ in what was asked, called,
// returned or answered; or if they do not, in what was thought.
type Parting struct {
	What  Difference `json:"what"`
	Name  string     `json:"name,omitempty"` // of the tool
	Cycle int        `json:"cycle,omitempty"`
	// A and B are the two sides: what differs, around its first different byte, and the
	// steps there. At is the address of the step that differs; empty if a side has none.
	A Side `json:"a"`
	B Side `json:"b"`
}

// A Side is one trace at the place where two part.
type Side struct {
	At    string      `json:"at,omitempty"`
	Said  record.Text `json:"said,omitempty"`
	Steps []Step      `json:"steps,omitempty"`
}

// An item is a step as it is compared, or a part of one: the call of a tool comes before
// the steps of the agent that it is, and its result after them.
type item struct {
	step   *Step
	result bool
}

// items lists what is compared, in order.
func items(list []Step) (out []item) {
	for i := range list {
		s := &list[i]
		switch s.Kind {
		case Cycle, Run:
			continue
		}
		out = append(out, item{step: s})
		out = append(out, items(s.Steps)...)
		if s.Kind == Call && s.State != Unknown {
			out = append(out, item{s, true})
		}
	}
	return out
}

// decides reports whether an item is more than words on the way.
func (i item) decides() bool {
	switch i.step.Kind {
	case Thought, Narration, Gap:
		return false
	case Answer:
		return !i.step.Leads
	}
	return true
}

// what is in which respects items are compared, the first first.
func (i item) what() (list []respect) {
	s := i.step
	plain := s.Text.Plain()
	switch s.Kind {
	case Question:
		return []respect{{InQuestion, plain}}
	case Model:
		return []respect{{InModel, s.Name}, {InSystem, s.setup.system}, {InParameters, s.setup.parameters}, {InTools, s.setup.tools}}
	case Call:
		if i.result {
			return []respect{{InResult, i.outcome()}}
		}
		return []respect{{InCall, s.Name}, {InArguments, plain}}
	case Result:
		return []respect{{InResult, plain}}
	case Error:
		return []respect{{InError, strings.TrimSpace(s.Name + " " + plain)}}
	case Thought, Narration:
		return []respect{{InThought, plain}}
	case Answer, Got:
		return []respect{{InAnswer, plain}}
	case End:
		return []respect{{InEnd, strings.TrimSpace(s.Status + " " + s.Name + " " + plain)}}
	}
	return []respect{{InNote, strings.TrimSpace(s.Name + " " + s.Status + " " + plain)}}
}

// outcome is what came of a call.
func (i item) outcome() string {
	if i.step.State != Done {
		return string(i.step.State)
	}
	return strings.TrimSpace(i.step.Status + " " + i.step.Result.Plain())
}

// A respect is something in which items may differ.
type respect struct {
	of   Difference
	text string
}

// Part finds where two traces part; nil if they do not.
func Part(a, b []Step) *Parting {
	left, right := items(a), items(b)
	if p := part(a, b, decisions(left), decisions(right)); p != nil {
		return p
	}
	return part(a, b, left, right)
}

func decisions(list []item) []item {
	return slices.DeleteFunc(slices.Clone(list), func(i item) bool { return !i.decides() })
}

func part(a, b []Step, left, right []item) *Parting {
	for i := range max(len(left), len(right)) {
		var x, y *item
		if i < len(left) {
			x = &left[i]
		}
		if i < len(right) {
			y = &right[i]
		}
		of, said := differ(x, y)
		if of == "" {
			continue
		}
		p := &Parting{What: of, A: side(a, x), B: side(b, y)}
		p.A.Said, p.B.Said = around(said[0], said[1])
		for _, one := range []*item{y, x} {
			if one != nil {
				p.Name, p.Cycle = one.step.Name, one.step.Cycle
			}
		}
		return p
	}
	return nil
}

// differ compares two items, of which one may be missing.
func differ(x, y *item) (of Difference, said [2]string) {
	switch {
	case x == nil:
		return InLength, [2]string{"", y.brief()}
	case y == nil:
		return InLength, [2]string{x.brief(), ""}
	case x.step.Kind != y.step.Kind || x.result != y.result:
		return InCall, [2]string{x.brief(), y.brief()}
	}
	mine, other := x.what(), y.what()
	for i := range mine {
		if mine[i].text != other[i].text && mine[i].of == InCall {
			return InCall, [2]string{x.brief(), y.brief()}
		}
		if mine[i].text != other[i].text {
			return mine[i].of, [2]string{mine[i].text, other[i].text}
		}
	}
	return "", said
}

// brief says what an item is.
func (i *item) brief() string {
	list := i.what()
	texts := make([]string, 0, len(list)+1)
	if i.step.Kind != Model && i.step.Kind != Note {
		texts = append(texts, string(i.step.Kind))
	}
	for _, r := range list {
		if r.text != "" && r.of != InSystem && r.of != InParameters && r.of != InTools {
			texts = append(texts, r.text)
		}
	}
	return strings.Join(texts, " ")
}

const (
	// besideDifference is how much of two texts is shown before and after their first
	// different byte.
	besideDifference = 160
	// sideSteps is how many steps a side has after the one that differs, and beforeSteps
	// before it.
	sideSteps   = 6
	beforeSteps = 6
)

// around cuts two texts to what is around their first different byte.
func around(a, b string) (record.Text, record.Text) {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	cut := func(s string) record.Text {
		from := 0
		if n > besideDifference {
			from = shorttext.Boundary(s, min(n-besideDifference, len(s)))
		}
		short := shorttext.Cut(s[from:], 2*besideDifference)
		if from > 0 {
			short = "… " + short
		}
		if from+2*besideDifference < len(s) {
			short += " …"
		}
		return record.Text(short)
	}
	return cut(a), cut(b)
}

// side is the place of an item among its steps: those from the model's turn that it is of.
func side(list []Step, at *item) Side {
	flat := level(list, at)
	i := len(flat)
	s := Side{}
	if at != nil {
		i = slices.IndexFunc(flat, func(x Step) bool { return x.ID == at.step.ID })
		s.At = at.step.ID
	}
	from := max(0, i-1)
	for from > 0 && i-from < beforeSteps && (from >= len(flat) || flat[from].Kind != Model) {
		from--
	}
	s.Steps = flat[from:min(len(flat), max(i, 0)+sideSteps)]
	return s
}

// level returns the list of steps that an item is in: the whole, or that of an agent below.
func level(list []Step, at *item) []Step {
	if at == nil {
		return list
	}
	for i := range list {
		if list[i].ID == at.step.ID && list[i].Event == at.step.Event {
			return list
		}
	}
	for i := range list {
		if found := level(list[i].Steps, at); found != nil {
			return found
		}
	}
	return nil
}

// maxSetup is how much of each part of a setup is compared, in bytes.
const maxSetup = 2 << 10

// A setup is how a model was asked, beside the conversation.
type setup struct{ system, parameters, tools string }

// setupOf returns the setup of a request.
func setupOf(messages []record.Message, parameters record.Content, tools []record.Tool) setup {
	var system, names []string
	for _, m := range messages[:min(len(messages), maxCalls)] {
		if m.Role == "system" || m.Role == "developer" {
			system = append(system, string(m.Text.Text))
		}
	}
	for _, t := range tools[:min(len(tools), maxCalls)] {
		names = append(names, shorttext.Cut(t.Name, maxName)+" "+shorttext.Cut(cmp.Or(string(t.Definition.Text), t.Digest), MaxText))
	}
	short := func(s string) string { return strings.Clone(shorttext.Cut(s, maxSetup)) }
	return setup{short(strings.Join(system, "\n")), short(string(parameters.Text)), short(strings.Join(names, ", "))}
}
