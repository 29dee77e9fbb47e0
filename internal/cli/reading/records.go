package reading

import (
	"errors"
	"fmt"

	"github.com/sotto-llm/sotto/internal/batch"
	"github.com/sotto-llm/sotto/internal/cli/shell"
	"github.com/sotto-llm/sotto/internal/records"
)

// Records are the flags that say in which format the input holds records.
type Records struct {
	InputFormat string `name:"input-format" enum:"auto,jsonl,json,csv,parquet" default:"auto" placeholder:"FORMAT" help:"The format of the records: jsonl, json (one array), csv (with a header row), parquet, or auto, which finds out from the content, and csv from the name of FILE."`
}

// Given reports whether the flags or the names of the files say that the input holds
// records, so that --jsonl is not needed.
func (r *Records) Given(names ...string) bool {
	if format := records.Format(r.InputFormat); format != "" && format != records.Auto {
		return true
	}
	for _, name := range names {
		if records.FormatOf(name) != "" {
			return true
		}
	}
	return false
}

// An Input is a file of records, or standard input.
type Input struct {
	*records.Source
	file *shell.Input
	Name string
}

// Open opens FILE.
func (r *Records) Open(sh *shell.Shell, name string) (*Input, error) {
	file, err := sh.Open(name)
	if err != nil {
		return nil, err
	}
	source, err := records.Open(records.Input{Reader: file, Name: file.Name, File: file.File()}, records.Format(r.InputFormat))
	if err != nil {
		file.Close()
		return nil, fmt.Errorf("%s: %w", file.Name, err)
	}
	return &Input{source, file, file.Name}, nil
}

// Close closes the file.
func (in *Input) Close() error { return errors.Join(in.Source.Close(), in.file.Close()) }

// Progress shows how much has been read, where the lines can tell that.
func (in *Input) Progress(sh *shell.Shell) *shell.Progress {
	if !in.Sized {
		return &shell.Progress{}
	}
	return shell.NewProgress(sh, in.file)
}

// Lines returns f for the lines of the input. The line of a record that could not be
// read is an object with the error.
func (in *Input) Lines(f batch.LineFunc) batch.LineFunc {
	return func(dst, line, end []byte, number int) ([]byte, error) {
		if err := in.Fault(line); err != nil {
			return batch.AppendError(dst, number, err), err
		}
		return f(dst, line, end, number)
	}
}
