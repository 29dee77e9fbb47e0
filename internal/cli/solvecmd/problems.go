package solvecmd

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/answer"
	"github.com/sotto-llm/sotto/internal/base/errorhint"
	"github.com/sotto-llm/sotto/internal/cli/shell"
	"github.com/sotto-llm/sotto/internal/data/batch"
	"github.com/sotto-llm/sotto/internal/data/jsonpath"
	"github.com/sotto-llm/sotto/internal/lab/metagraph"
	"github.com/sotto-llm/sotto/internal/lab/scoring"
	"github.com/sotto-llm/sotto/internal/lab/solve"
)

// problems reads the whole stream, so that a fault in the last line is found before
// the first call of a model.
func (x *streamCommand) problems(sh *shell.Shell, t solve.Task) ([]solve.Problem, error) {
	list, err := x.unshuffled(sh, t)
	if x.Shuffle != nil {
		solve.Shuffle(list, *x.Shuffle)
	}
	return list, err
}

func (x *streamCommand) unshuffled(sh *shell.Shell, t solve.Task) ([]solve.Problem, error) {
	if x.Problems == "" && x.Replies != "" {
		return x.logged(sh, t)
	}
	if x.Problems == "" {
		seed := uint64(1)
		switch {
		case x.Shuffle != nil:
			seed = 0
		case x.Seed != nil:
			seed = uint64(*x.Seed)
		}
		list := solve.Shipped(t.Name(), seed)
		if list == nil || x.TaskFile != "" {
			return nil, errorhint.Usage(fmt.Errorf("task %s has no problems of its own", t.Name()), "want --problems FILE")
		}
		return list, nil
	}
	r, err := x.lineReader(t, "")
	if err != nil {
		return nil, err
	}
	var list []solve.Problem
	seen := map[string]bool{}
	err = r.each(sh, x.Problems, func(p solve.Problem, _ string, line *posedLine) error {
		switch {
		case seen[p.ID]:
			return fmt.Errorf("the id %s is on another line too", p.ID)
		case metagraph.Query(t, p.Problem) == "":
			return fmt.Errorf("field %s %w, or is not a problem of task %s", x.InputField, jsonpath.ErrMissing, t.Name())
		}
		seen[p.ID] = true
		list = append(list, p)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("--problems: %w", err)
	}
	if len(list) == 0 {
		return nil, errors.New("--problems: the file has no problems")
	}
	return list, nil
}

// logged returns the problems of --replies, each once. Their ids differ from the
// ids of replies, so that each problem gets all replies to it.
func (x *streamCommand) logged(sh *shell.Shell, t solve.Task) ([]solve.Problem, error) {
	if x.Replies == "-" {
		return nil, errorhint.Usage(errors.New("--replies - can be read once only"), "want --problems FILE too")
	}
	r, err := x.lineReader(t, x.Field)
	if err != nil {
		return nil, err
	}
	var list []solve.Problem
	seen := map[string]bool{}
	err = r.each(sh, x.Replies, func(p solve.Problem, _ string, _ *posedLine) error {
		query := metagraph.Query(t, p.Problem)
		if query == "" {
			return fmt.Errorf("field %s %w, or is not a problem of task %s", x.InputField, jsonpath.ErrMissing, t.Name())
		}
		if !seen[query] {
			seen[query] = true
			p.ID = fmt.Sprintf("problem-%d", len(list)+1)
			list = append(list, p)
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("--replies: %w", err)
	}
	if len(list) == 0 {
		return nil, errors.New("--replies: the file has no replies")
	}
	return list, nil
}

// A problemReader reads lines of problems, or of replies to them.
type problemReader struct {
	task   solve.Task
	paths  [][]jsonpath.Step
	where  []string // the values that the last paths must have
	finder jsonpath.Finder
}

// A posedLine holds the members of a line other than its problem.
type posedLine struct {
	hasRaw bool
	end    sotto.Ending
}

// each calls visit for every line of a file. A problem without an id gets the
// number of its line.
func (r *problemReader) each(sh *shell.Shell, name string, visit func(p solve.Problem, raw string, line *posedLine) error) error {
	in, err := sh.Open(name)
	if err != nil {
		return err
	}
	defer in.Close()
	lines := bufio.NewReaderSize(in, 64<<10)
	for number := 1; ; number++ {
		line, err := batch.NextLine(lines, 0)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("%s: %w", in.Name, err)
		}
		if batch.BlankLine(line) {
			continue
		}
		line = batch.TrimLine(line)
		if err := r.finder.Find(line, r.paths...); err != nil {
			return fmt.Errorf("%s: line %d: %w", in.Name, number, err)
		}
		if !r.wanted() {
			continue
		}
		p, raw, more, err := r.problem(number)
		if err == nil {
			err = visit(p, raw, more)
		}
		if err != nil {
			return fmt.Errorf("%s: line %d: %w", in.Name, number, err)
		}
	}
}

// wanted reports whether the line is one of those that --where selects.
func (r *problemReader) wanted() bool {
	for i, value := range r.where {
		found := r.finder.Last(len(r.paths) - len(r.where) + i)
		if found == nil || jsonpath.TextOr(found, "") != value {
			return false
		}
	}
	return true
}

// problem reads the problem of the line that was found.
func (r *problemReader) problem(number int) (p solve.Problem, raw string, more *posedLine, err error) {
	f := &r.finder
	text := func(i int) string { return jsonpath.TextOr(f.Last(i), "") }
	p.ID, p.Input, p.Lang = text(0), text(1), text(7)
	if p.ID == "" {
		p.ID = strconv.Itoa(number)
	}
	if schema := text(6); schema != "" {
		p.Schema = []byte(schema)
	}
	more = &posedLine{hasRaw: f.Last(4) != nil}
	raw = text(4)
	if err := r.readGold(&p, f.Last(2), f.Last(3)); err != nil {
		return p, "", nil, err
	}
	if end := text(5); end != "" {
		err = more.end.UnmarshalText([]byte(end))
	}
	return p, raw, more, err
}

// readGold reads the options of a problem and its right answer. Only the words of
// task qa may have several.
func (r *problemReader) readGold(p *solve.Problem, gold, options []byte) error {
	choices, err := scoring.ReadChoices(options)
	if err != nil {
		return fmt.Errorf("field options: %w", err)
	}
	p.Options = choices.Texts
	golds, err := scoring.Golds(r.task, gold, choices)
	switch {
	case err != nil:
		return fmt.Errorf("the gold cannot be read: %w", err)
	case len(golds) > 1 && r.task.Name() != answer.QA.Name():
		return fmt.Errorf("the gold cannot be read: %d right answers, and task %s takes one here", len(golds), r.task.Name())
	}
	p.Gold = strings.Join(golds, "|")
	return nil
}

// gamesCommand prints problems.
type gamesCommand struct {
	Seed uint64 `default:"0" placeholder:"N" help:"Shuffle the problems with this seed; 0 keeps their order."`
}

// Run prints the games.
func (x *gamesCommand) Run(sh *shell.Shell) error {
	out := bufio.NewWriter(sh.Out)
	for _, p := range solve.Games(x.Seed) {
		fmt.Fprintf(out, `{"id":%q,"input":%q}`+"\n", p.ID, p.Input)
	}
	return out.Flush()
}
