package runcmd

import (
	"fmt"
	"strings"

	"github.com/sotto-llm/sotto/agent"
	"github.com/sotto-llm/sotto/internal/cli/shell"
	"github.com/sotto-llm/sotto/internal/shorttext"
)

// A runProgress shows the progress of a run: one line per cycle and, on a terminal,
// a bar below them.
type runProgress struct {
	sh     *shell.Shell
	cycles int
	quiet  bool
	bar    *shell.Progress
}

func newRunProgress(sh *shell.Shell, cycles int, quiet bool) *runProgress {
	p := &runProgress{sh: sh, cycles: cycles, quiet: quiet, bar: &shell.Progress{}}
	if !quiet {
		p.bar = shell.NewCountProgress(sh, "cycles", cycles, 0)
	}
	return p
}

func (p *runProgress) cycle(c agent.CycleReport) {
	if p.quiet {
		return
	}
	p.clear()
	m := c.Metrics
	words := []string{string(c.Status)}
	if c.Bound != "" {
		words = append(words, "bound "+string(c.Bound))
	}
	words = append(words, shell.Plural(m.ToolCalls, "1 call", "%d calls"))
	if m.ToolErrors > 0 {
		words = append(words, fmt.Sprintf("%d failed", m.ToolErrors))
	}
	if m.Retries > 0 {
		words = append(words, shell.Plural(m.Retries, "1 retry", "%d retries"))
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

func (p *runProgress) clear() { p.bar.Clear() }

// shortLine returns the beginning of a text, on one line.
func shortLine(text string) string {
	return shorttext.Ellipsis(strings.Join(strings.Fields(text), " "), 160)
}
