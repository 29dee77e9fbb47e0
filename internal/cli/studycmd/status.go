package studycmd

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/sotto-llm/sotto/internal/base/errorhint"
	"github.com/sotto-llm/sotto/internal/base/shorttext"
	"github.com/sotto-llm/sotto/internal/base/texttable"
	"github.com/sotto-llm/sotto/internal/base/visible"
	"github.com/sotto-llm/sotto/internal/cli/shell"
	"github.com/sotto-llm/sotto/internal/lab/study"
	"github.com/sotto-llm/sotto/internal/recorded/recording"
)

// statusCommand shows how far a study is.
type statusCommand struct {
	Dir      string   `arg:"" name:"dir" help:"The folder of the study."`
	Watch    bool     `short:"w" help:"First show each cell that ends, while a process runs the study."`
	JSON     bool     `name:"json" help:"Print one JSON object."`
	Identity []string `short:"i" sep:"none" placeholder:"FILE" setting:"SOTTO_RECORD_IDENTITY" help:"Show the values and reasons of a sealed study with the age identities in FILE; repeatable."`
}

// Help shows examples.
func (statusCommand) Help() string {
	return `Prints each cell with its state, and how many cells have each state. A cell is waiting, running, done, failed, bounded (a limit ended it) or changed (it finished with other settings than the study has now). Exit status 1: a cell failed.

Examples:

    sotto study status policies
    sotto study status policies --watch
    sotto study status policies --json`
}

// watchEvery is how often --watch looks.
const watchEvery = 500 * time.Millisecond

// Run shows the state.
func (x *statusCommand) Run(sh *shell.Shell) error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	ids, err := recording.ReadIdentities(x.Identity)
	if err != nil {
		return fmt.Errorf("--identity: %w", err)
	}
	p := newProgress(sh, 0, x.JSON || !x.Watch)
	for {
		s, err := study.Open(x.Dir, ids...)
		if errors.Is(err, study.ErrNone) {
			return errorhint.Add(err, "want the folder that sotto study made")
		}
		if err != nil {
			return err
		}
		p.show(s)
		n := s.Counts()
		left := n[study.Waiting] + n[study.Running]
		if x.Watch && left > 0 && study.Busy(x.Dir) {
			select {
			case <-time.After(watchEvery):
				continue
			case <-ctx.Done():
			}
		}
		p.clear()
		if err := printStatus(sh, s, x.JSON); err != nil {
			return err
		}
		if n[study.Failed] > 0 {
			return errors.New(shorttext.Plural(n[study.Failed], "1 cell failed", "%d cells failed"))
		}
		return nil
	}
}

// A shownStudy is what --json prints.
type shownStudy struct {
	V         int                  `json:"v"`
	Name      string               `json:"name"`
	Kind      study.Kind           `json:"kind"`
	Counts    map[study.Status]int `json:"counts"`
	Remaining string               `json:"remaining,omitempty"`
	Cells     []shownCell          `json:"cells"`
}

type shownCell struct {
	ID         string             `json:"id"`
	Values     map[string]string  `json:"values"`
	Repetition int                `json:"repetition"`
	Status     study.Status       `json:"status"`
	Reason     string             `json:"reason,omitempty"`
	Worker     int                `json:"worker,omitempty"`
	Attempts   int                `json:"attempts,omitempty"`
	Measures   map[string]float64 `json:"measures,omitempty"`
}

// printStatus prints the cells.
func printStatus(sh *shell.Shell, s *study.Study, asJSON bool) error {
	if asJSON {
		return printJSON(sh, s)
	}
	var rows [][]string
	head := []string{"CELL"}
	head = append(head, s.Keys...)
	rows = append(rows, append(head, "REPETITION", "STATUS", ""))
	for i := range s.Cells {
		c := &s.Cells[i]
		state := s.State(c)
		row := []string{c.ID}
		for _, key := range s.Keys {
			row = append(row, visible.Text(c.Value(key)))
		}
		rows = append(rows, append(row, strconv.Itoa(c.Repetition), string(state.Status), shorttext.Ellipsis(visible.Text(state.Reason), 100)))
	}
	if err := texttable.Print(sh.Text, rows); err != nil {
		return err
	}
	n := s.Counts()
	var words []string
	for _, status := range statuses {
		if n[status] > 0 {
			words = append(words, fmt.Sprintf("%d %s", n[status], status))
		}
	}
	line := fmt.Sprintf("%s: %s", s.Name, strings.Join(words, ", "))
	if n[study.Waiting]+n[study.Running] > 0 && !study.Busy(s.Dir) {
		line += "; no process runs the study now"
	} else if left, ok := s.Remaining(running(n)); ok && left > 0 {
		line += fmt.Sprintf("; about %v left", rounded(left))
	}
	if _, err := fmt.Fprintln(sh.Text, line); err != nil {
		return err
	}
	if s.Closed {
		sh.Hintf("the study is sealed: --identity FILE shows the values of its cells, and why they failed")
	}
	return nil
}

var statuses = []study.Status{study.Done, study.Running, study.Waiting, study.Failed, study.Bounded, study.Changed}

// running is how many workers there seem to be.
func running(n map[study.Status]int) int { return max(1, n[study.Running]) }

func printJSON(sh *shell.Shell, s *study.Study) error {
	o := shownStudy{V: 1, Name: s.Name, Kind: s.Kind, Counts: s.Counts(), Cells: []shownCell{}}
	if left, ok := s.Remaining(running(o.Counts)); ok && left > 0 {
		o.Remaining = rounded(left).String()
	}
	for i := range s.Cells {
		c := &s.Cells[i]
		state := s.State(c)
		values := map[string]string{}
		for _, v := range c.Values {
			values[v.Key] = v.Label
		}
		o.Cells = append(o.Cells, shownCell{c.ID, values, c.Repetition, state.Status, state.Reason, state.Worker, state.Attempts, state.Measures})
	}
	return shell.PrintJSON(sh.Out, o)
}
