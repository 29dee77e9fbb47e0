package agent

import (
	"context"
	"fmt"
	"strings"

	"github.com/sotto-llm/sotto/internal/shorttext"
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

func (c *memory) line() string {
	if c.note == "" {
		return fmt.Sprintf("**Cycle %d**: %s", c.cycle, c.reflection)
	}
	return fmt.Sprintf("**Cycle %d**: %s\n%s", c.cycle, c.reflection, c.note)
}

// prompt assembles the messages of a cycle.
func (r *run) prompt(ctx context.Context) ([]model.Message, error) {
	var b strings.Builder
	b.WriteString(r.x.System)
	past, extra := r.past()
	r.turn.extra = extra
	if past != "" {
		b.WriteString("\n\n## Your reflections of earlier cycles\n\n" + past)
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
	task := fmt.Sprintf("This is cycle %d of %d.", r.cycle, r.planned)
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
		line := c.line()
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
