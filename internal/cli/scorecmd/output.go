package scorecmd

import (
	"bufio"
	"errors"
	"fmt"
	"io"

	"github.com/sotto-llm/sotto/internal/base/errorhint"
	"github.com/sotto-llm/sotto/internal/base/files"
	"github.com/sotto-llm/sotto/internal/cli/reading"
	"github.com/sotto-llm/sotto/internal/cli/shell"
	"github.com/sotto-llm/sotto/internal/data/batch"
	"github.com/sotto-llm/sotto/internal/lab/columns"
)

// An output holds the flags that say where the objects of a batch go.
type output struct {
	Output string `short:"o" placeholder:"FILE" help:"With --jsonl: write the objects to FILE instead of standard output."`
	Resume bool   `help:"Continue --output where a killed run stopped: whole lines stay and are not processed again, an incomplete last line is removed."`
}

func (o *output) validate(jsonl bool, files int) error {
	switch {
	case !jsonl && files > 1:
		return errors.New("several FILEs need --jsonl")
	case !jsonl && o.Output != "":
		return errors.New("--output needs --jsonl")
	case o.Resume && o.Output == "":
		return errors.New("--resume needs --output")
	}
	return nil
}

// validateColumns refuses flags that cannot be combined with new members.
func (x *common) validateColumns(jsonl bool, files int) error {
	if x.Adds(x.Output) && x.Resume {
		return errors.New("--resume cannot be combined with --add-columns or FILE.parquet: their file appears when it is whole")
	}
	return x.ValidateColumns(x.Output, jsonl, files)
}

// added returns the set of new members, or nil if there are none. members is a struct
// with their types.
func (x *common) added(members any) (*columns.Set, error) {
	switch {
	case !x.Adds(x.Output):
		return nil, nil
	case len(x.With) > 0:
		return x.Set(members, new(columns.Reply))
	}
	return x.Set(members)
}

// An outFile is where the objects of a batch go, and what an earlier run has
// written there.
type outFile struct {
	sh   *shell.Shell // its output is the file
	file *shell.OutFile
	old  *bufio.Reader // nil if nothing of it is left
	// added is the output beside the members of the records; nil if there is none.
	added *reading.Added
}

func (o *output) open(sh *shell.Shell, inputs []string, set *columns.Set) (*outFile, error) {
	if set != nil {
		added, err := reading.OpenAdded(sh, set, o.Output, inputs...)
		return &outFile{sh: sh, added: added}, err
	}
	if o.Output == "" || o.Output == "-" {
		return &outFile{sh: sh}, nil
	}
	for _, name := range inputs {
		if files.SameFile(name, o.Output) {
			return nil, errorhint.Usage(fmt.Errorf("--output %s is also the input", o.Output), "")
		}
	}
	file, err := sh.CreateFile(o.Output, o.Resume)
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", o.Output, err)
	}
	into := *sh
	into.Into(file.Stream())
	out := &outFile{sh: &into, file: file}
	if o.Resume {
		err = out.cutTorn()
	}
	if err != nil {
		file.Close()
		return nil, fmt.Errorf("resume %s: %w", o.Output, files.Cause(err))
	}
	return out, nil
}

// cutTorn cuts everything after the last newline of the file. It prepares to read
// what comes before and to write after it.
func (f *outFile) cutTorn() error {
	whole, err := batch.WholeLines(f.file.File)
	if err != nil {
		return err
	}
	if err := f.file.File.Truncate(whole); err != nil {
		return err
	}
	if _, err := f.file.File.Seek(whole, io.SeekStart); err != nil {
		return err
	}
	if whole > 0 {
		f.old = bufio.NewReaderSize(io.NewSectionReader(f.file.File, 0, whole), 64<<10)
	}
	return nil
}

// left reports whether lines of an earlier run are still to be skipped.
func (f *outFile) left() bool {
	if f.old == nil {
		return false
	}
	if _, err := f.old.Peek(1); err != nil {
		f.old = nil
	}
	return f.old != nil
}

// next returns the next object written by an earlier run.
func (f *outFile) next() ([]byte, error) {
	line, err := batch.NextLine(f.old, batch.OwnLine)
	return batch.TrimLine(line), err
}

// spent returns an error if an earlier run wrote more than there is to do.
func (f *outFile) spent() error {
	if f.left() {
		return fmt.Errorf("resume: %w", errForeign)
	}
	return nil
}

// close closes the file after a run, and returns the error of the run, or its own.
func (f *outFile) close(run error) error {
	if f.added != nil {
		return f.added.Close(run, false)
	}
	if f.file == nil {
		return run
	}
	if err := f.file.Close(); err != nil {
		return errors.Join(run, fmt.Errorf("write: %w", files.Cause(err)))
	}
	return run
}
