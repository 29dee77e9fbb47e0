package cli

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"sync"

	"github.com/sotto-llm/sotto/answer"
	"github.com/sotto-llm/sotto/internal/batch"
	"github.com/sotto-llm/sotto/internal/cli/shell"
	"github.com/sotto-llm/sotto/internal/files"
	"github.com/sotto-llm/sotto/internal/hint"
	"github.com/sotto-llm/sotto/internal/jsonpath"
)

// An output holds the flags that say where the objects of a batch go.
type output struct {
	Output string `short:"o" placeholder:"FILE" help:"With --jsonl: write the objects to FILE, not to standard output."`
	Resume bool   `help:"Go on with --output where a run that was killed stopped: what it wrote whole stays and is not done again, a torn last line is cut."`
}

func (o *output) validate(jsonl bool, files int) error {
	switch {
	case !jsonl && files > 1:
		return errors.New("several FILEs go with --jsonl only")
	case !jsonl && o.Output != "":
		return errors.New("--output goes with --jsonl only")
	case o.Resume && o.Output == "":
		return errors.New("--resume needs --output")
	}
	return nil
}

// An outFile is where the objects of a batch go, with what an earlier run has
// written there.
type outFile struct {
	sh   *shell.Shell // its output is the file
	file *os.File
	old  *bufio.Reader // nil if there is nothing left of it
}

func (o *output) open(sh *shell.Shell, inputs []string) (*outFile, error) {
	if o.Output == "" || o.Output == "-" {
		return &outFile{sh: sh}, nil
	}
	for _, name := range inputs {
		if files.SameFile(name, o.Output) {
			return nil, hint.Usage(fmt.Errorf("--output %s is what is read", o.Output), "")
		}
	}
	file, err := sh.CreateFile(o.Output, o.Resume)
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", o.Output, err)
	}
	into := *sh
	into.Into(file)
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

// cutTorn cuts what stands behind the last newline of the file, and makes ready
// to read what stands before it and to write after it.
func (f *outFile) cutTorn() error {
	whole, err := batch.WholeLines(f.file)
	if err != nil {
		return err
	}
	if err := f.file.Truncate(whole); err != nil {
		return err
	}
	if _, err := f.file.Seek(whole, io.SeekStart); err != nil {
		return err
	}
	if whole > 0 {
		f.old = bufio.NewReaderSize(io.NewSectionReader(f.file, 0, whole), 64<<10)
	}
	return nil
}

// left reports whether lines of an earlier run are left to pass over.
func (f *outFile) left() bool {
	if f.old == nil {
		return false
	}
	if _, err := f.old.Peek(1); err != nil {
		f.old = nil
	}
	return f.old != nil
}

// next returns the next object that an earlier run has written.
func (f *outFile) next() ([]byte, error) {
	line, err := batch.NextLine(f.old)
	return batch.TrimLine(line), err
}

// spent is an error if an earlier run wrote more than there is to do.
func (f *outFile) spent() error {
	if f.left() {
		return fmt.Errorf("resume: %w", errForeign)
	}
	return nil
}

func (f *outFile) close() error {
	if f.file == nil {
		return nil
	}
	if err := f.file.Close(); err != nil {
		return fmt.Errorf("write: %w", files.Cause(err))
	}
	return nil
}

// An outcome is what was said of one line.
type outcome struct {
	answer.Extraction
	answer.Verdict
	id     []byte
	judged bool // there is a verdict
	line   int  // of a line that failed
}

// outcomePaths are what is read of an object, in order.
var outcomePaths = func() (paths [][]jsonpath.Step) {
	for _, name := range []string{"id", "line", "candidate", "method", "span.0", "span.1", "status", "ok", "reason", "detail", "by"} {
		steps, _ := jsonpath.Parse(name)
		paths = append(paths, steps)
	}
	return paths
}()

var outcomeFinders = sync.Pool{New: func() any { return new(jsonpath.Finder) }}

var errNoObjectOfOurs = errors.New("no object of extract or score")

// readOutcome reads an object that extract or score wrote.
func readOutcome(object []byte) (*outcome, error) {
	f := outcomeFinders.Get().(*jsonpath.Finder)
	defer outcomeFinders.Put(f)
	if err := f.Find(object, outcomePaths...); err != nil {
		return nil, err
	}
	text := func(i int) string { return jsonpath.TextOr(f.Last(i), "") }
	number := func(i int) int { n, _ := strconv.Atoi(string(f.Last(i))); return n }
	if f.Last(1) != nil {
		return &outcome{line: max(1, number(1))}, nil
	}
	if f.Last(0) == nil || f.Last(2) == nil || f.Last(3) == nil {
		return nil, errNoObjectOfOurs
	}
	x := &outcome{id: f.Last(0), judged: f.Last(7) != nil}
	x.Candidate, x.Method, x.Status = text(2), text(3), answer.Status(text(6))
	if f.Last(5) != nil {
		x.Span = &answer.Span{Start: number(4), End: number(5)}
	}
	x.OK, x.Reason, x.Detail, x.By = text(7) == "true", answer.Reason(text(8)), text(9), text(10)
	return x, nil
}
