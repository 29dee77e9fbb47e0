package runcmd

import (
	"fmt"
	"strings"
	"time"

	"github.com/sotto-llm/sotto/agent"
	"github.com/sotto-llm/sotto/internal/base/shorttext"
	"github.com/sotto-llm/sotto/internal/cli/shell"
)

// A runProgress shows the progress of a run: one line per cycle and, on a terminal,
// a bar below them.
type runProgress struct {
	sh     *shell.Shell
	cycles int
	quiet  bool
	said   time.Duration // how long the outage had lasted when a line said so
	bar    *shell.Progress

	answered, repeated int // cycles
}

func newRunProgress(sh *shell.Shell, cycles int, quiet bool) *runProgress {
	p := &runProgress{sh: sh, cycles: cycles, quiet: quiet, bar: &shell.Progress{}}
	if !quiet {
		p.bar = shell.NewCountProgress(sh, "cycles", cycles, 0)
	}
	return p
}

func (p *runProgress) cycle(c agent.CycleReport) {
	if c.Status == agent.Answered {
		p.answered++
	}
	if c.Advice {
		p.repeated++
	}
	if p.quiet {
		return
	}
	p.clear()
	m := c.Metrics
	words := []string{string(c.Status)}
	if c.Bound != "" {
		words = append(words, "bound "+string(c.Bound))
	}
	words = append(words, shorttext.Count(m.ToolCalls, "call"))
	if m.ToolErrors > 0 {
		words = append(words, fmt.Sprintf("%d failed", m.ToolErrors))
	}
	if m.Retries > 0 {
		words = append(words, shorttext.Count(m.Retries, "retry"))
	}
	if m.TextCalls > 0 {
		words = append(words, fmt.Sprintf("%d written as text", m.TextCalls))
	}
	if c.Advice {
		words = append(words, fmt.Sprintf("repeats cycle %d", m.SimilarTo))
	}
	if c.Replayed {
		words = append(words, "recorded")
	}
	fmt.Fprintf(p.sh.Err, "cycle %d of %d: %s: %s\n", c.Cycle, p.cycles, strings.Join(words, ", "), shortLine(c.Reflection+c.Failure))
	p.bar.Set(c.Cycle)
}

// outage says that the run waits, and when that is over. Of the waits between, it
// says those before which at least an hour has passed since the last line.
func (p *runProgress) outage(o agent.OutageReport) {
	if p.quiet || !o.Over && o.Next > 0 && o.Failures > 1 && o.Waited-p.said < time.Hour {
		return
	}
	p.clear()
	p.said = o.Waited
	waited := o.Waited.Round(time.Second)
	switch {
	case o.Over:
		p.said = 0
		fmt.Fprintf(p.sh.Err, "cycle %d of %d: the model answers again after %v, %s failed\n", o.Cycle, p.cycles, waited, shorttext.Count(o.Failures, "request"))
	case o.Next == 0:
		fmt.Fprintf(p.sh.Err, "cycle %d of %d: the model cannot be reached (%s), the run waits no longer: %s\n", o.Cycle, p.cycles, o.Bound, shortLine(o.Error))
	default:
		fmt.Fprintf(p.sh.Err, "cycle %d of %d: the model cannot be reached (%s, for %v), the next request is in %v: %s\n", o.Cycle, p.cycles, o.Bound, waited, o.Next.Round(time.Millisecond), shortLine(o.Error))
	}
}

// window says that a prompt comes near the model's context window.
func (p *runProgress) window(w agent.WindowReport) {
	if p.quiet {
		return
	}
	p.clear()
	fmt.Fprintf(p.sh.Err, "cycle %d of %d: %s\n", w.Cycle, p.cycles, w.Text)
}

func (p *runProgress) clear() { p.bar.Clear() }

// shortLine returns the beginning of a text, on one line.
func shortLine(text string) string {
	return shorttext.Ellipsis(shorttext.OneLine(text), 160)
}
