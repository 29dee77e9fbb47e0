// Package reading defines the flags that say which records a batch has, and reads them.
package reading

import (
	"errors"
	"fmt"
	"slices"

	"github.com/sotto-llm/sotto/internal/cli/manner"
	"github.com/sotto-llm/sotto/internal/cli/shell"
	"github.com/sotto-llm/sotto/internal/data/batch"
	"github.com/sotto-llm/sotto/internal/data/jsonpath"
	"github.com/sotto-llm/sotto/internal/lab/inputfiles"
)

// Records are the flags that say in which format the input holds records.
type Records struct {
	manner.Bound
	InputFormat string `name:"input-format" enum:"auto,jsonl,json,csv,parquet" default:"auto" placeholder:"FORMAT" help:"The format of the records: jsonl, json (one array), csv (with a header row), parquet, or auto, which finds out from the content, and csv from the name of FILE."`
	From        string `enum:"lm-eval,inspect,zeroeval,openai-batch,anthropic-batch,messages,ollama," default:"" placeholder:"LOG" help:"The records are a usual log, of which the replies, ids, right answers and reasons of the end are read: lm-eval (samples_*.jsonl), inspect (the .eval file, or the log in JSON), zeroeval, openai-batch, anthropic-batch, messages (conversations, of which the last message of the model is read), ollama (logged replies)."`
}

// Given reports whether the flags or the names of the files say that the input holds
// records, so that --jsonl is not needed.
func (r *Records) Given(names ...string) bool {
	if r.From != "" {
		return true
	}
	if format := inputfiles.Format(r.InputFormat); format != "" && format != inputfiles.Auto {
		return true
	}
	for _, name := range names {
		if inputfiles.FormatOf(name) != "" {
			return true
		}
	}
	return false
}

// Log reports whether the records are those of a preset: a FILE may be an .eval file.
func (r *Records) Log(names ...string) bool {
	return r.From != "" || slices.ContainsFunc(names, func(name string) bool { return inputfiles.FormatOf(name) == inputfiles.Eval })
}

// An Input is a file of records, or standard input.
type Input struct {
	*inputfiles.Source
	file *shell.Input
	Name string
	// Of what a shard reads of a file: where says where the lines are that have no numbers,
	// and first is how many rows come before.
	where func(offset int64) batch.Place
	first int
	note  func() string // what a user should know when the file was read; may be nil
	most  int           // bytes of a record; the default if it is 0
}

// Most is how long a record may be, in bytes; the default if it is 0.
func (in *Input) Most() int { return in.most }

// Locate says where the lines of the input are.
func (in *Input) Locate(p *batch.Pipeline) {
	p.Where, p.First = in.where, in.first
	p.MaxLine, p.Offsets = in.most, in.Unit == "line"
}

// Open opens FILE.
func (r *Records) Open(sh *shell.Shell, name string) (*Input, error) {
	file, err := sh.Open(name)
	if err != nil {
		return nil, err
	}
	return r.open(file)
}

// open reads an open file.
func (r *Records) open(file *shell.Input) (*Input, error) {
	source, err := inputfiles.Open(inputfiles.Input{Reader: file, Name: file.Name, File: file.File()}, r.Settings())
	if err != nil {
		file.Close()
		return nil, fmt.Errorf("%s: %w", file.Name, err)
	}
	return &Input{Source: source, file: file, Name: file.Name, most: int(r.MaxLine)}, nil
}

// Settings are those of a file of records.
func (r *Records) Settings() inputfiles.Settings {
	return inputfiles.Settings{Format: inputfiles.Format(r.InputFormat), From: r.From, MaxLine: int(r.MaxLine)}
}

// Close closes the file.
func (in *Input) Close() error { return errors.Join(in.Source.Close(), in.file.Close()) }

// Progress shows how much has been read, where the lines can tell that.
func (in *Input) Progress(sh *shell.Shell) *shell.Progress {
	if !in.Sized || in.where != nil {
		return &shell.Progress{}
	}
	return shell.NewProgress(sh, in.file)
}

// Lines returns f for the lines of the input. The line of a record that could not be
// read is an object with the error.
func (in *Input) Lines(f batch.LineFunc) batch.LineFunc {
	return func(dst, line, end []byte, at batch.Place) ([]byte, error) {
		if err := in.Fault(line); err != nil {
			return batch.AppendError(dst, at, err), err
		}
		dst, err := f(dst, line, end, at)
		return dst, in.Placed(line, in.Explain(line, err))
	}
}

// Placed adds to the error of a record of a log where in the log it is.
func (in *Input) Placed(line []byte, err error) error {
	if err == nil {
		return nil
	}
	if at := in.Place(line); at != "" {
		return fmt.Errorf("%s: %w", at, err)
	}
	return err
}

// At returns the place of a record for messages. That of a reply of a log is in its
// error.
func (in *Input) At(at batch.Place) string {
	if in.Preset != "" {
		return in.Name
	}
	return at.In(in.Unit)
}

// Explain adds to the error of a record which preset would fit, if the field of the
// reply is missing.
func (in *Input) Explain(line []byte, err error) error {
	if in.Preset != "" || !errors.Is(err, jsonpath.ErrMissing) {
		return err
	}
	if hint := inputfiles.Suggest(line); hint != "" {
		return fmt.Errorf("%w%s", err, hint)
	}
	return err
}
