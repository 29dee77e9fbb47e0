package reading

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"

	"github.com/sotto-llm/sotto/internal/base/errorhint"
	"github.com/sotto-llm/sotto/internal/base/files"
	"github.com/sotto-llm/sotto/internal/cli/shell"
	"github.com/sotto-llm/sotto/internal/data/batch"
	"github.com/sotto-llm/sotto/internal/lab/columns"
	"github.com/sotto-llm/sotto/internal/lab/inputfiles"
)

// Columns are the flags that put results beside the members of the records.
type Columns struct {
	AddColumns   bool   `name:"add-columns" help:"With --jsonl: write each record whole, with the result in new members after its own, such as sotto_visible. An --output FILE.parquet always has the results as new columns."`
	ColumnPrefix string `name:"column-prefix" default:"sotto_" placeholder:"TEXT" help:"What the names of the new members begin with. A record that has a member of such a name is an error."`
}

// Adds reports whether results go beside the members of the records.
func (c *Columns) Adds(output string) bool { return c.AddColumns || isParquet(output) }

func isParquet(output string) bool { return inputfiles.FormatOf(output) == inputfiles.Parquet }

// ValidateColumns refuses flags that cannot be combined.
func (c *Columns) ValidateColumns(output string, jsonl bool, files int) error {
	switch {
	case !c.Adds(output):
		return nil
	case !jsonl:
		return errors.New("--add-columns and FILE.parquet need --jsonl")
	case isParquet(output) && files > 1:
		return errors.New("--output FILE.parquet takes one input: the columns of several can differ")
	}
	return nil
}

// Set returns the new members. made are structs with their types.
func (c *Columns) Set(made ...any) (*columns.Set, error) {
	set, err := columns.NewSet(c.ColumnPrefix, made...)
	if err != nil {
		return nil, errorhint.Usage(fmt.Errorf("--column-prefix: %w", err), "")
	}
	return set, nil
}

// An Added is where results go that are beside the members of the records: standard
// output, or a file that appears only when it is whole.
type Added struct {
	Set     *columns.Set
	sh      *shell.Shell
	output  string
	file    *shell.Replacement // nil for standard output
	parquet bool
	rows    *columns.Parquet // of an input that is Parquet, too
	records *columns.Records // of any other input
	kept    *files.Temporary // what records keeps
	out     io.Writer
}

// OpenAdded opens the output.
func OpenAdded(sh *shell.Shell, set *columns.Set, output string, inputs ...string) (*Added, error) {
	a := &Added{Set: set, sh: sh, output: output, out: sh.Out, parquet: isParquet(output)}
	if output == "" || output == "-" {
		return a, nil
	}
	for _, name := range inputs {
		if files.SameFile(name, output) {
			return nil, errorhint.Usage(fmt.Errorf("--output %s is also the input", output), "")
		}
	}
	var err error
	if a.file, err = sh.Replace(output); err != nil {
		return nil, err
	}
	a.out = a.file
	return a, nil
}

// Input takes an input, and returns what f makes of its lines and where that goes.
func (a *Added) Input(in *Input, f batch.LineFunc) (batch.LineFunc, io.Writer, error) {
	if a.Set == nil {
		return f, a.out, nil
	}
	if !a.parquet {
		return a.Set.Merge(f), a.out, nil
	}
	var err error
	if in.Rows == nil {
		if a.kept, err = files.NewTemporary(filepath.Dir(a.output), ".sotto-records-*"); err == nil {
			a.records, err = a.Set.NewRecords(a.out, a.kept)
		}
		if err != nil {
			return nil, nil, fmt.Errorf("%s: %w", a.output, err)
		}
		return a.Set.Pair(f), a.records, nil
	}
	if a.rows, err = a.Set.NewParquet(a.out, in.Rows); err != nil {
		return nil, nil, fmt.Errorf("%s: %w", in.Name, err)
	}
	return f, a.rows, nil
}

// Close makes the output appear if the run reached the end of its input. It returns
// the error of the run, or its own.
func (a *Added) Close(run error, strict bool) error {
	whole := run == nil || errors.Is(run, batch.ErrFailed) && !strict
	if a.rows != nil {
		if err := a.rows.Close(whole); err != nil {
			run, whole = err, false
		}
	}
	if a.records != nil {
		notes, err := a.records.Close(whole)
		if err != nil {
			run, whole = fmt.Errorf("%s: %w", a.output, err), false
		}
		for _, note := range notes {
			a.sh.Hintf("%s: %s", a.output, note)
		}
	}
	if a.kept != nil {
		a.kept.Remove()
	}
	switch {
	case a.file == nil:
		return run
	case !whole:
		a.file.Discard()
		return run
	}
	if err := a.file.Commit(); err != nil {
		return err
	}
	return run
}
