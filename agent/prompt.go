package agent

import (
	"context"
	"errors"
	"fmt"
	"slices"
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
	d := &draft{run: r, advice: r.advice()}
	r.turn.draft = d
	messages := d.write(&r.turn.extra)
	if d.advice != "" {
		_, err := r.journal.put(ctx, r.name, r.cycle, record.Advisory{Code: "repetition", From: r.like.method, Text: record.Say(d.advice)})
		if err != nil {
			return nil, err
		}
	}
	return messages, nil
}

// A draft is the prompt with which a cycle begins. It can be written again with less.
type draft struct {
	run    *run
	advice string

	extra int // how many bytes longer it would be with all thoughts
	// What does not fit into the context window, of what the budgets let in: how many of the
	// earliest reflections, of the least related thoughts and of the earliest calls.
	reflections, thoughts, calls omission
	// latest is how many bytes of the latest reflection are left out.
	latest int

	brought []string // what the policy brings back: the ranking of all thoughts is done once
	ranked  bool
}

// An omission says how many parts of a prompt there are, and how many of them it leaves out.
type omission struct{ all, without int }

// write writes the messages, and corrects how much longer they would be with all thoughts.
func (d *draft) write(extra *int) []model.Message {
	r := d.run
	was := d.extra
	var b strings.Builder
	b.WriteString(r.x.System)
	if past := d.past(); past != "" {
		b.WriteString("\n\n" + r.x.ReflectionHeading + "\n\n" + past)
	}
	if thoughts := d.related(); thoughts != "" {
		d.extra -= len(thoughts)
		b.WriteString("\n\n## Earlier thoughts of yours that may matter\n\n" + thoughts)
	}
	if r.x.Template {
		b.WriteString("\n\n" + templateLesson)
	}
	if text := r.turn.lesson(); text != "" {
		b.WriteString("\n\n" + text)
	}
	d.calls.all = len(r.carried.lines)
	task := r.carried.text(d.calls.without) + fmt.Sprintf("This is cycle %d of %d.", r.cycle, r.planned)
	if r.x.Goal != "" {
		task += "\n\n" + r.x.Goal
	}
	if d.advice != "" {
		task += "\n\n" + d.advice
	}
	*extra += d.extra - was
	return []model.Message{{Role: model.System, Text: b.String()}, {Role: model.User, Text: task}}
}

// related renders the thoughts that the policy brings back.
func (d *draft) related() string {
	if !d.ranked {
		d.brought, d.ranked = d.run.how.bring(d.run), true
	}
	lines := d.brought
	d.thoughts.all = len(lines)
	return strings.Join(lines[:len(lines)-min(d.thoughts.without, len(lines))], "\n")
}

// past renders the latest reflections that fit into the budget.
func (d *draft) past() string {
	r := d.run
	left, first := r.x.ReflectionBudget, len(r.memories)
	var lines []string
	var extra []int
	for first > 0 {
		c := &r.memories[first-1]
		line := c.line(r.x.ReflectionLabel)
		if len(line) > left {
			if len(lines) == 0 && left > 0 { // the latest one is kept, cut, even if it is too long
				lines, extra = append(lines, shorttext.Cut(line, left)+" […]"), append(extra, 0)
				first--
			}
			break
		}
		left -= len(line) + 1
		first--
		lines, extra = append(lines, line), append(extra, len(noteOf(c.thoughts))-len(c.note))
	}
	d.reflections.all = len(lines)
	keep := len(lines) - min(d.reflections.without, len(lines))
	first += len(lines) - keep
	lines, d.extra = lines[:keep], 0
	for _, n := range extra[:keep] {
		d.extra += n
	}
	if keep > 0 && d.latest > 0 {
		lines[0] = shorttext.Cut(lines[0], max(len(lines[0])-d.latest, 0)) + " […]"
	}
	if first > 0 {
		lines = append(lines, fmt.Sprintf("(%d earlier reflections are left out.)", first))
	}
	slices.Reverse(lines)
	return strings.Join(lines, "\n\n")
}

// advice is what the agent is told if its last reflection repeats another.
func (r *run) advice() string {
	if r.x.Advisory.Off || r.like.cycle == 0 || r.like.score < r.threshold(r.like.method) {
		return ""
	}
	return fmt.Sprintf("Advice: your last reflection says much the same as that of cycle %d (similarity %.2f). Try something that you have not tried yet.", r.like.cycle, r.like.score)
}
