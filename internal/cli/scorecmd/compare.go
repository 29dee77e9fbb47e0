package scorecmd

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"strconv"
	"strings"
	"sync"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/answer"
	"github.com/sotto-llm/sotto/internal/batch"
	"github.com/sotto-llm/sotto/internal/catalogue"
	"github.com/sotto-llm/sotto/internal/cli/reading"
	"github.com/sotto-llm/sotto/internal/cli/shell"
	"github.com/sotto-llm/sotto/internal/files"
	"github.com/sotto-llm/sotto/internal/hint"
	"github.com/sotto-llm/sotto/internal/jsontext"
	"github.com/sotto-llm/sotto/internal/scoring"
)

// A comparison finds the changes from the output of an earlier run, or from other
// settings.
type comparison struct {
	name string
	file *os.File
	old  *bufio.Reader
	line int // of the file

	mu      sync.Mutex
	changes map[string]int
}

var errUnpaired = errors.New("it was not made from the same lines")

// comparison makes the run b print changes. Without --compare it returns nil.
func (x *Score) comparison(sh *shell.Shell, c *catalogue.Catalogue, s *scoring.Scorer, b *batchRun) (*comparison, error) {
	if x.Compare == "" {
		return nil, nil
	}
	v := &comparison{name: x.Compare, changes: map[string]int{}}
	file, err := os.Open(x.Compare)
	if err == nil {
		v.file, v.old = file, bufio.NewReaderSize(file, 64<<10)
		b.filter = func(w io.Writer) io.Writer { return shell.WriterTo(func(p []byte) error { return v.objects(w, p) }) }
		return v, nil
	}
	if !strings.Contains(x.Compare, "=") {
		return nil, fmt.Errorf("open %s: %w", x.Compare, files.Cause(err))
	}
	other, err := x.otherwise(sh, c)
	if err != nil {
		return nil, err
	}
	b.judge = func(dst []byte, p *scoring.Posed) ([]byte, error) {
		to := s.Extractor.Judge(p)
		q := *p
		q.Manner, q.Problem = mannerOf(other, p, s.Extractor), p.Problem
		return v.append(dst, scoring.IDOf(p), other.Judge(&q), to), s.Note(p, to)
	}
	return v, nil
}

// mannerOf returns how to read a line under these settings. Settings in the line
// itself take precedence.
func mannerOf(e *scoring.Extractor, p *scoring.Posed, usual *scoring.Extractor) catalogue.Manner {
	m := p.Manner
	if m.Grammar == usual.Grammar {
		m.Grammar, m.Name = e.Grammar, e.Name
	}
	if m.Start == usual.Start {
		m.Start = e.Start
	}
	if m.End == usual.End {
		m.End = e.End
	}
	return m
}

// otherwise returns the extractor for the other settings.
func (x *Score) otherwise(sh *shell.Shell, c *catalogue.Catalogue) (*scoring.Extractor, error) {
	read, ask := x.Flags, x.asking
	for setting := range strings.SplitSeq(x.Compare, ",") {
		if err := setFlag(&read, &ask, setting); err != nil {
			return nil, hint.Usage(fmt.Errorf("--compare: %w", err), "want a file, or settings such as start=outside,from-reasoning=true")
		}
	}
	m, err := read.Manner(sh, c, sotto.StartAuto)
	if err != nil {
		return nil, err
	}
	return ask.extractor(m)
}

// setFlag sets a flag from name=value.
func setFlag(read *reading.Flags, ask *asking, setting string) error {
	name, value, _ := strings.Cut(setting, "=")
	texts := map[string]*string{
		"dialect": &read.Dialect, "model": &read.Model, "start": &read.Start, "end": &read.End,
		"task": &ask.Task, "task-file": &ask.TaskFile, "schema": &ask.Schema, "lang": &ask.Lang,
	}
	switches := map[string]*bool{"from-reasoning": &ask.FromReasoning, "scan-cut": &ask.ScanCut}
	rivals := map[string]*string{"dialect": &read.Model, "model": &read.Dialect, "task": &ask.TaskFile, "task-file": &ask.Task}
	switch {
	case texts[name] != nil:
		if rivals[name] != nil {
			*rivals[name] = ""
		}
		*texts[name] = value
		return nil
	case switches[name] != nil:
		on, err := strconv.ParseBool(value)
		if err != nil {
			return fmt.Errorf("%s: want true or false", setting)
		}
		*switches[name] = on
		return nil
	}
	return fmt.Errorf("there is no setting %q", name)
}

// objects writes the changes between some objects, each on a line.
func (v *comparison) objects(w io.Writer, lines []byte) error {
	var out []byte
	for line := range bytes.Lines(lines) {
		from, err := v.next()
		if err != nil {
			return fmt.Errorf("compare with %s: %w", v.name, err)
		}
		to, err := scoring.ReadResult(batch.TrimLine(line))
		if err != nil || !v.paired(from, to) {
			return fmt.Errorf("compare with %s: line %d: %w", v.name, v.line, errUnpaired)
		}
		id := to.ID
		if id == nil {
			id = []byte("null")
		}
		from.Judged = from.Judged && to.Judged
		before := len(out)
		if out = v.append(out, id, from, to); len(out) > before {
			out = append(out, '\n')
		}
	}
	if len(out) == 0 {
		return nil
	}
	_, err := w.Write(out)
	return err
}

// next reads the next object that is not blank.
func (v *comparison) next() (*scoring.Result, error) {
	for {
		line, err := batch.NextLine(v.old)
		if errors.Is(err, io.EOF) {
			return nil, errUnpaired
		}
		if err != nil {
			return nil, err
		}
		v.line++
		if !batch.BlankLine(line) {
			was, err := scoring.ReadResult(batch.TrimLine(line))
			if err != nil {
				return nil, fmt.Errorf("line %d: %w", v.line, err)
			}
			return was, nil
		}
	}
}

// paired reports whether two objects belong to one line.
func (v *comparison) paired(from, to *scoring.Result) bool {
	return from.Line > 0 || to.Line > 0 || bytes.Equal(from.ID, to.ID)
}

// spent returns an error if the other run wrote more lines than this one.
func (v *comparison) spent() error {
	if v == nil || v.file == nil {
		return nil
	}
	if _, err := v.old.Peek(1); err == nil {
		return fmt.Errorf("compare with %s: it has more lines: %w", v.name, errUnpaired)
	}
	return nil
}

func (v *comparison) close() {
	if v != nil && v.file != nil {
		v.file.Close()
	}
}

// counts returns the number of changes of each kind.
func (v *comparison) counts() map[string]int {
	if v == nil {
		return nil
	}
	return maps.Clone(v.changes)
}

// changed names the first difference between two outcomes. "" means none.
func changed(from, to *scoring.Result) string {
	judged := from.Judged && to.Judged
	switch {
	case (from.Line > 0) != (to.Line > 0):
		return "failed"
	case judged && to.OK && !from.OK:
		return "gained"
	case judged && from.OK && !to.OK:
		return "lost"
	case from.Candidate != to.Candidate:
		return "candidate"
	case from.Method != to.Method:
		return "method"
	case !sameSpan(from.Span, to.Span):
		return "span"
	case from.Status != to.Status:
		return "status"
	case judged && from.Reason != to.Reason:
		return "reason"
	}
	return ""
}

func sameSpan(a, b *answer.Span) bool {
	return a == b || a != nil && b != nil && *a == *b
}

// append appends the object for a change, and counts it.
func (v *comparison) append(dst, id []byte, from, to *scoring.Result) []byte {
	what := changed(from, to)
	v.mu.Lock()
	if what == "" {
		v.changes["same"]++
	} else {
		v.changes[what]++
	}
	v.mu.Unlock()
	if what == "" {
		return dst
	}
	dst = append(append(dst, `{"v":1,"id":`...), id...)
	dst = jsontext.AppendString(append(dst, `,"change":`...), what)
	dst = appendSide(append(dst, `,"from":`...), from)
	return append(appendSide(append(dst, `,"to":`...), to), '}')
}

// appendSide appends the compared fields of an outcome. null stands for a failed
// line.
func appendSide(dst []byte, was *scoring.Result) []byte {
	if was.Line > 0 {
		return append(dst, "null"...)
	}
	dst = jsontext.AppendString(append(dst, `{"candidate":`...), was.Candidate)
	dst = jsontext.AppendString(append(dst, `,"method":`...), was.Method)
	dst = scoring.AppendSpan(append(dst, `,"span":`...), was.Span)
	dst = jsontext.AppendString(append(dst, `,"status":`...), string(was.Status))
	if was.Judged {
		dst = scoring.AppendVerdict(dst, was.Verdict)
	}
	return append(dst, '}')
}
