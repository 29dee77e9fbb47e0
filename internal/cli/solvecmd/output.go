package solvecmd

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/sotto-llm/sotto/internal/base/errorhint"
	"github.com/sotto-llm/sotto/internal/base/files"
	"github.com/sotto-llm/sotto/internal/base/visible"
	"github.com/sotto-llm/sotto/internal/cli/shell"
	"github.com/sotto-llm/sotto/internal/data/batch"
	"github.com/sotto-llm/sotto/internal/lab/solve"
	"github.com/sotto-llm/sotto/internal/lab/solvereport"
)

// An output is where results go, and the results of an earlier run.
type output struct {
	head solvereport.Head
	old  bool // the head is already written
	done []solve.Result
	file *shell.OutFile // nil for standard output
	to   io.Writer
	seal *seal // of a file, if the record is encrypted

	problems []solve.Problem

	// Memory learns a result before it is written, and keeps no reply. So the start
	// of its line is written first. If the run is killed between the two, the replies
	// are in the file, at the end of which the line is incomplete.
	regular bool          // the file is one to which that can be done
	begun   []byte        // what is written of the next line
	whole   int64         // the length of the lines before it
	drafted *solve.Result // the incomplete line of an earlier run
}

// open opens the output, and reads the results of an earlier run.
func (x *streamCommand) open(sh *shell.Shell, head solvereport.Head, problems []solve.Problem, s *seal) (*output, error) {
	out := &output{head: head, problems: problems}
	if x.Output == "" || x.Output == "-" {
		return out, nil
	}
	for _, name := range []string{x.Problems, x.Replies} {
		if files.SameFile(name, x.Output) {
			return nil, errorhint.Usage(fmt.Errorf("--output %s is also the input", x.Output), "")
		}
	}
	file, err := sh.CreateFile(x.Output, x.Resume)
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", x.Output, err)
	}
	out.file, out.to = file, shell.FilePrinter(file.Stream())
	if out.seal = s; s != nil && file.Compressed() {
		file.Close()
		return nil, errorhint.Usage(fmt.Errorf("--output %s: what is encrypted cannot be compressed", x.Output), "leave out the ending of the compression")
	}
	if info, err := file.File.Stat(); err == nil && s == nil && !file.Compressed() {
		out.regular = info.Mode().IsRegular()
	}
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
	whole, err := batch.WholeLines(f.file.File)
	if err != nil {
		return files.Cause(err)
	}
	if f.seal != nil {
		return f.resumeSealed(whole)
	}
	head, results, err := solvereport.ReadResults(io.NewSectionReader(f.file.File, 0, whole))
	if err != nil {
		return err
	}
	if head != nil {
		if err := resumable(head, &f.head); err != nil {
			return err
		}
		f.head, f.old, f.done = *head, true, results
	}
	if f.drafted, err = readDraft(f.file.File, whole); err != nil {
		return files.Cause(err)
	}
	f.whole = whole
	return files.Cause(f.cut())
}

// cut cuts the file after its whole lines, and goes there.
func (f *output) cut() error {
	if err := f.file.File.Truncate(f.whole); err != nil {
		return err
	}
	_, err := f.file.File.Seek(f.whole, io.SeekStart)
	return err
}

// lastMember begins the member that a draft does not have.
const lastMember = `,"memory":`

// readDraft reads the incomplete last line of a file. It returns nil if there is none,
// or if its start is not whole: then memory has not learned it.
func readDraft(file *os.File, whole int64) (*solve.Result, error) {
	line, err := files.ReadAll(io.NewSectionReader(file, whole, files.MaxReply), files.MaxReply)
	if err != nil || len(line) == 0 {
		return nil, err
	}
	if at := bytes.LastIndex(line, []byte(lastMember)); at >= 0 {
		line = line[:at]
	}
	for n := range len(lastMember) { // a part of its name may be there
		if start, is := bytes.CutSuffix(line, []byte(lastMember[:n])); is {
			if r, err := solve.ReadResult(append(bytes.Clone(start), '}')); err == nil {
				return &r, nil
			}
		}
	}
	return nil, nil
}

// resumable reports whether the settings are those that the output was begun with.
func resumable(was, now *solvereport.Head) error {
	if was.Settings == nil {
		return errorhint.Add(errors.New("an older sotto wrote it, without its settings"), "begin another --output")
	}
	changes := was.Changes(now)
	if len(changes) == 0 {
		return nil
	}
	texts := make([]string, len(changes))
	for i, c := range changes {
		texts[i] = visible.Text(c.String())
	}
	return errorhint.Add(errors.New("it was begun with other settings: "+strings.Join(texts, "; ")), "give the same flags and files, or another --output")
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
	line = append(line, '\n')
	if f.seal != nil {
		if line, err = f.seal.head(&f.head, line); err != nil {
			return err
		}
	}
	f.whole += int64(len(line))
	return f.put(line)
}

// draft writes the line of a result up to what memory learns from it.
func (f *output) draft(r solve.Result) error {
	line, err := r.Line()
	if err != nil {
		return err
	}
	f.begun = bytes.TrimSuffix(line, []byte("}\n"))
	return f.put(f.begun)
}

// write writes a result, or the rest of its line, at once.
func (f *output) write(r solve.Result) error {
	if d := f.drafted; d != nil && d.ID == r.ID && d.Run == r.Run && len(d.Attempts) == len(r.Attempts) && !carries(r) {
		r.Attempts = d.Attempts
	}
	line, err := r.Line()
	if err == nil && f.seal != nil {
		line, err = f.seal.result(r, line)
	}
	if err != nil {
		return err
	}
	rest, is := bytes.CutPrefix(line, f.begun)
	if !is {
		return fmt.Errorf("write: the result of problem %s changed while memory learned it", r.ID)
	}
	f.begun, f.whole = nil, f.whole+int64(len(line))
	if err := f.put(rest); err != nil || f.file == nil {
		return err
	}
	if err := f.file.Flush(); err != nil || f.seal == nil { // a run that is killed leaves the results that it had
		return err
	}
	return f.seal.learned(f.head.Run, false)
}

// carries reports whether a result has replies or readings.
func carries(r solve.Result) bool {
	return slices.ContainsFunc(r.Attempts, func(t solve.Try) bool { return t.Raw != nil || t.RawOmitted > 0 || t.Reading != nil })
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
	var err error
	if len(f.begun) > 0 { // memory could not learn it
		err = f.cut()
	}
	if err := cmp.Or(err, f.file.Close()); err != nil {
		return fmt.Errorf("write: %w", files.Cause(err))
	}
	return nil
}
