package studycmd

import (
	"cmp"
	"fmt"
	"time"

	"github.com/sotto-llm/sotto/internal/cli/shell"
	"github.com/sotto-llm/sotto/internal/lab/study"
)

// A progress prints a line for each cell that ends and, on a terminal, a bar.
type progress struct {
	sh      *shell.Shell
	workers int // if zero, as many as cells are running
	quiet   bool
	seen    map[string]study.Status
	bar     *shell.Progress
}

func newProgress(sh *shell.Shell, workers int, quiet bool) *progress {
	return &progress{sh: sh, workers: workers, quiet: quiet}
}

// show says what has changed since the last call. The first call says how the study
// stands.
func (p *progress) show(s *study.Study) {
	if p.quiet {
		return
	}
	first := p.seen == nil
	if first {
		p.seen = map[string]study.Status{}
		p.bar = shell.NewCountProgress(p.sh, s.Name, len(s.Cells), 0)
	}
	n := s.Counts()
	for i := range s.Cells {
		c := &s.Cells[i]
		state := s.State(c)
		was := p.seen[c.ID]
		p.seen[c.ID] = state.Status
		if state.Status == was || first && state.Status != study.Changed || state.Status == study.Running || state.Status == study.Waiting {
			continue
		}
		p.clear()
		if state.Status == study.Changed {
			fmt.Fprintf(p.sh.Err, "%s: changed: it finished with other settings than it has now\n", nameOf(c))
			continue
		}
		text := fmt.Sprintf("%d of %d: %s: %s", n[study.Done], len(s.Cells), nameOf(c), state.Status)
		if state.Reason != "" {
			text += " (" + state.Reason + ")"
		}
		text += fmt.Sprintf(", %v", rounded(time.Duration(state.Millis)*time.Millisecond))
		if left, ok := s.Remaining(cmp.Or(p.workers, running(n))); ok && left > 0 {
			text += fmt.Sprintf("; about %v left", rounded(left))
		}
		fmt.Fprintln(p.sh.Err, text)
	}
	p.bar.Set(n[study.Done])
}

// say prints a message besides.
func (p *progress) say(format string, args ...any) {
	p.clear()
	fmt.Fprintf(p.sh.Err, format+"\n", args...)
}

func (p *progress) clear() {
	if p.bar != nil {
		p.bar.Clear()
	}
}

// rounded leaves out digits that say nothing.
func rounded(d time.Duration) time.Duration {
	switch {
	case d > time.Hour:
		return d.Round(time.Minute)
	case d > 10*time.Second:
		return d.Round(time.Second)
	case d > 100*time.Millisecond:
		return d.Round(10 * time.Millisecond)
	}
	return d.Round(time.Millisecond)
}
