package agent

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/sotto-llm/sotto/internal/base/shorttext"
	"github.com/sotto-llm/sotto/model"
	"github.com/sotto-llm/sotto/record"
)

// A memory is what later cycles know of one.
type memory struct {
	cycle      int
	reflection string
	note       string   // its thoughts, by the policy
	thoughts   []string // all its thoughts
}

// line returns a memory as a prompt holds it, after a label.
func (c *memory) line(label string) string {
	line := strings.Replace(label, cyclePlace, strconv.Itoa(c.cycle), 1) + " " + c.reflection
	if c.note != "" {
		line += "\n" + c.note
	}
	return line
}

// cyclePlace stands in a label for the number of the cycle.
const cyclePlace = "{cycle}"

// maxHeading and maxLabel bound, in bytes, what stands above and before reflections.
const (
	maxHeading = 200
	maxLabel   = 100
)

// checkHeading returns what is wrong with the line above earlier reflections. Empty
// means the default.
func checkHeading(s string) error { return checkLine(s, maxHeading) }

// checkLabel returns what is wrong with the pattern before each earlier reflection.
func checkLabel(s string) error {
	if s != "" && strings.Count(s, cyclePlace) != 1 {
		return fmt.Errorf("%q: want %s in it, once, for the number of the cycle", shorttext.Ellipsis(s, maxLabel), cyclePlace)
	}
	return checkLine(s, maxLabel)
}

func checkLine(s string, limit int) error {
	switch {
	case len(s) > limit:
		return fmt.Errorf("has %d bytes: want %d at most", len(s), limit)
	case s != "" && strings.TrimSpace(s) == "":
		return errors.New("white space only: want a text, or leave it out")
	case !utf8.ValidString(s) || strings.ContainsFunc(s, func(r rune) bool { return !unicode.IsPrint(r) }):
		return fmt.Errorf("%q: want one line of printable characters", shorttext.Ellipsis(s, limit))
	}
	return nil
}

// prompt assembles the messages of a cycle.
func (r *run) prompt(ctx context.Context) ([]model.Message, error) {
	var b strings.Builder
	b.WriteString(r.x.System)
	past, extra := r.past()
	r.turn.extra = extra
	if past != "" {
		b.WriteString("\n\n" + r.x.ReflectionHeading + "\n\n" + past)
	}
	if thoughts := r.how.bring(r); thoughts != "" {
		r.turn.extra -= len(thoughts)
		b.WriteString("\n\n## Earlier thoughts of yours that may matter\n\n" + thoughts)
	}
	if r.x.Template {
		b.WriteString("\n\n" + templateLesson)
	}
	if text := r.turn.lesson(); text != "" {
		b.WriteString("\n\n" + text)
	}
	task := r.carried.text() + fmt.Sprintf("This is cycle %d of %d.", r.cycle, r.planned)
	if r.x.Goal != "" {
		task += "\n\n" + r.x.Goal
	}
	if advice := r.advice(); advice != "" {
		task += "\n\n" + advice
		_, err := r.journal.put(ctx, r.name, r.cycle, record.Advisory{Code: "repetition", From: r.like.method, Text: record.Say(advice)})
		if err != nil {
			return nil, err
		}
	}
	return []model.Message{{Role: model.System, Text: b.String()}, {Role: model.User, Text: task}}, nil
}

// past renders the latest reflections that fit into the budget. It also returns how
// many bytes longer they would be with all thoughts.
func (r *run) past() (text string, extra int) {
	left := r.x.ReflectionBudget
	var lines []string
	first := len(r.memories)
	for first > 0 {
		c := &r.memories[first-1]
		line := c.line(r.x.ReflectionLabel)
		if len(line) > left {
			if len(lines) == 0 && left > 0 { // the latest one is kept, cut, even if it is too long
				lines = append(lines, shorttext.Cut(line, left)+" […]")
				first--
			}
			break
		}
		left -= len(line) + 1
		first--
		lines = append(lines, line)
		extra += len(noteOf(c.thoughts)) - len(c.note)
	}
	if first > 0 {
		lines = append(lines, fmt.Sprintf("(%d earlier reflections are left out.)", first))
	}
	for i, j := 0, len(lines)-1; i < j; i, j = i+1, j-1 {
		lines[i], lines[j] = lines[j], lines[i]
	}
	return strings.Join(lines, "\n\n"), extra
}

// advice is what the agent is told if its last reflection repeats another.
func (r *run) advice() string {
	if r.x.Advisory.Off || r.like.cycle == 0 || r.like.score < r.threshold(r.like.method) {
		return ""
	}
	return fmt.Sprintf("Advice: your last reflection says much the same as that of cycle %d (similarity %.2f). Try something that you have not tried yet.", r.like.cycle, r.like.score)
}
