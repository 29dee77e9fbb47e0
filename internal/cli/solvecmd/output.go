package solvecmd

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/sotto-llm/sotto/internal/batch"
	"github.com/sotto-llm/sotto/internal/cli/shell"
	"github.com/sotto-llm/sotto/internal/files"
	"github.com/sotto-llm/sotto/internal/hint"
	"github.com/sotto-llm/sotto/internal/solvereport"
	"github.com/sotto-llm/sotto/internal/visible"
	"github.com/sotto-llm/sotto/solve"
)

// An output is where results go, and the results of an earlier run.
type output struct {
	head solvereport.Head
	old  bool // the head is already written
	done []solve.Result
	file *os.File // nil for standard output
	to   io.Writer
}

// open opens the output, and reads the results of an earlier run.
func (x *streamCommand) open(sh *shell.Shell, head solvereport.Head) (*output, error) {
	out := &output{head: head}
	if x.Output == "" || x.Output == "-" {
		return out, nil
	}
	for _, name := range []string{x.Problems, x.Replies} {
		if files.SameFile(name, x.Output) {
			return nil, hint.Usage(fmt.Errorf("--output %s is also the input", x.Output), "")
		}
	}
	file, err := sh.CreateFile(x.Output, x.Resume)
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", x.Output, err)
	}
	out.file, out.to = file, shell.FilePrinter(file)
	if x.Resume {
		if err := out.resume(); err != nil {
			file.Close()
			return nil, fmt.Errorf("resume %s: %w", x.Output, err)
		}
	}
	return out, nil
}

// resume cuts an incomplete last line, and reads the others.
func (f *output) resume() error {
	whole, err := batch.WholeLines(f.file)
	if err != nil {
		return files.Cause(err)
	}
	head, results, err := solvereport.ReadResults(io.NewSectionReader(f.file, 0, whole))
	if err != nil {
		return err
	}
	if head != nil {
		if err := resumable(head, &f.head); err != nil {
			return err
		}
		f.head, f.old, f.done = *head, true, results
	}
	if err := f.file.Truncate(whole); err != nil {
		return files.Cause(err)
	}
	_, err = f.file.Seek(whole, io.SeekStart)
	return files.Cause(err)
}

// resumable reports whether the settings are those that the output was begun with.
func resumable(was, now *solvereport.Head) error {
	if was.Settings == nil {
		return hint.Add(errors.New("an older sotto wrote it, without its settings"), "begin another --output")
	}
	changes := was.Changes(now)
	if len(changes) == 0 {
		return nil
	}
	texts := make([]string, len(changes))
	for i, c := range changes {
		texts[i] = visible.Text(c.String())
	}
	return hint.Add(errors.New("it was begun with other settings: "+strings.Join(texts, "; ")), "give the same flags and files, or another --output")
}

// begin writes the head.
func (f *output) begin(sh *shell.Shell) error {
	if f.to == nil {
		f.to = sh.Out
	}
	if f.old {
		return nil
	}
	line, err := json.Marshal(f.head)
	if err != nil {
		return err
	}
	return f.put(append(line, '\n'))
}

// write writes a result at once, in a single write.
func (f *output) write(r solve.Result) error {
	line, err := r.Line()
	if err != nil {
		return err
	}
	return f.put(line)
}

func (f *output) put(line []byte) error {
	if _, err := f.to.Write(line); err != nil {
		return fmt.Errorf("write: %w", files.Cause(err))
	}
	return nil
}

func (f *output) close() error {
	if f.file == nil {
		return nil
	}
	if err := f.file.Close(); err != nil {
		return fmt.Errorf("write: %w", files.Cause(err))
	}
	return nil
}
