package scorecmd

import (
	"bytes"
	"cmp"
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
	"github.com/sotto-llm/sotto/internal/base/errorhint"
	"github.com/sotto-llm/sotto/internal/base/files"
	"github.com/sotto-llm/sotto/internal/cli/manner"
	"github.com/sotto-llm/sotto/internal/cli/shell"
	"github.com/sotto-llm/sotto/internal/data/batch"
	"github.com/sotto-llm/sotto/internal/data/jsontext"
	"github.com/sotto-llm/sotto/internal/lab/compare"
	"github.com/sotto-llm/sotto/internal/lab/scoring"
	"github.com/sotto-llm/sotto/internal/lab/shards"
	"github.com/sotto-llm/sotto/internal/reply/dialectset"
)

// A comparison finds the changes from the output of an earlier run, or from other
// settings.
type comparison struct {
	name    string
	earlier *compare.Earlier // nil for other settings
	file    *os.File
	was     shards.Earlier // what the earlier run has
	taken   shards.Earlier // those that were compared

	mu      sync.Mutex
	changes map[string]int
	pairs   compare.Pairs
}

var errUnpaired = errors.New("it was not made from the same lines: none of its ids is here")

// comparison makes the run b print changes. Without --compare it returns nil.
func (x *Score) comparison(sh *shell.Shell, c *dialectset.Set, s *scoring.Scorer, b *batchRun) (*comparison, error) {
	if x.Compare == "" {
		return nil, nil
	}
	v := &comparison{name: x.Compare, changes: map[string]int{}}
	file, err := os.Open(x.Compare)
	if err == nil {
		if err := v.index(file); err != nil {
			file.Close()
			return nil, fmt.Errorf("compare with %s: %w", v.name, err)
		}
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
		c.Choose(&q.Manner, q.Raw)
		dst, err := v.append(dst, string(scoring.IDOf(p)), other.Judge(&q), to)
		return dst, errors.Join(err, s.Note(p, to))
	}
	return v, nil
}

// mannerOf returns how to read a line under these settings. Settings in the line
// itself take precedence.
func mannerOf(e *scoring.Extractor, p *scoring.Posed, usual *scoring.Extractor) dialectset.Manner {
	m := p.Manner
	if m.Grammar == usual.Grammar || m.By == dialectset.ByMarkers {
		m.Grammar, m.Name, m.By = e.Grammar, e.Name, e.By
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
func (x *Score) otherwise(sh *shell.Shell, c *dialectset.Set) (*scoring.Extractor, error) {
	read, ask := x.Flags, x.asking
	for setting := range strings.SplitSeq(x.Compare, ",") {
		if err := setFlag(&read, &ask, setting); err != nil {
			return nil, errorhint.Usage(fmt.Errorf("--compare: %w", err), "want a file, or settings such as start=outside,from-reasoning=true")
		}
	}
	m, err := read.Manner(sh, c, sotto.BeginAuto)
	if err != nil {
		return nil, err
	}
	return ask.extractor(m)
}

// setFlag sets a flag from name=value.
func setFlag(read *manner.Flags, ask *asking, setting string) error {
	name, value, _ := strings.Cut(setting, "=")
	texts := map[string]*string{
		"dialect": &read.Dialect, "model": &read.Model, "start": &read.Start, "end": &read.End,
		"task": &ask.Task, "task-file": &ask.TaskFile, "schema": &ask.Schema, "lang": &ask.Lang, "code-file": &ask.CodeFile, "json-key": &ask.JSONKey,
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
		to, err := scoring.ReadResult(batch.TrimLine(line))
		if err != nil {
			return fmt.Errorf("compare with %s: %w", v.name, err)
		}
		from, err := v.take(to)
		if err != nil {
			return fmt.Errorf("compare with %s: %w", v.name, err)
		}
		if from == nil {
			v.count("added")
			continue
		}
		from.Judged = from.Judged && to.Judged
		before := len(out)
		if out, err = v.append(out, cmp.Or(string(to.ID), "null"), from, to); err != nil {
			return err
		}
		if len(out) > before {
			out = append(out, '\n')
		}
	}
	if len(out) == 0 {
		return nil
	}
	_, err := w.Write(out)
	return err
}

// conclude counts the lines that only the earlier run has, and adds the changes to a
// summary.
func (v *comparison) conclude(sum *scoring.Summary) error {
	if v == nil {
		return nil
	}
	if v.taken.Lines == 0 && v.was.Lines > 0 {
		return fmt.Errorf("compare with %s: %w", v.name, errUnpaired)
	}
	return compared(sum, v.part(), &v.pairs)
}

// part is what the comparison counted.
func (v *comparison) part() *shards.Compared {
	c := &shards.Compared{Changes: maps.Clone(v.changes), Earlier: v.was, Taken: v.taken, Repeats: v.pairs.Repeats()}
	c.Lines, c.Gained, c.Lost = v.pairs.Counts()
	return c
}

// compared adds a comparison to a summary. pairs are nil if nobody knows them.
func compared(sum *scoring.Summary, c *shards.Compared, pairs *compare.Pairs) error {
	if missing := c.Earlier.Lines - c.Taken.Lines; missing > 0 {
		c.Changes["missing"] = missing
	}
	sum.Compared = c.Changes
	p := &scoring.Paired{Lines: c.Lines, Gained: c.Gained, Lost: c.Lost, Missing: c.Earlier.Right - c.Taken.Right}
	if p.Lines == 0 && p.Missing == 0 {
		return nil
	}
	sum.Paired = p
	if pairs == nil {
		return nil
	}
	d, err := pairs.Difference()
	if p.Difference = d; d != nil {
		p.P = d.P
	}
	return err
}

func (v *comparison) close() {
	if v != nil && v.file != nil {
		v.file.Close()
	}
}

// index finds the lines of the earlier run.
func (v *comparison) index(file *os.File) error {
	info, err := file.Stat()
	if err != nil {
		return err
	}
	v.file = file
	v.earlier, err = compare.Index(file, info.Size(), func(line []byte) (string, error) {
		was, err := scoring.ReadResult(line)
		if err != nil {
			return "", err
		}
		v.was.Add(was.Judged && was.OK)
		return joinKey(was), nil
	})
	return err
}

// joinKey is the same for the objects of one line in both runs: its id, or the number
// of a line that failed.
func joinKey(was *scoring.Result) string {
	if was.Line > 0 {
		return fmt.Sprintf("line %d", was.Line)
	}
	return string(was.ID)
}

// take returns the next object of the earlier run for the same line, or nil.
func (v *comparison) take(to *scoring.Result) (*scoring.Result, error) {
	line, err := v.earlier.Take(joinKey(to))
	if line == nil || err != nil {
		return nil, err
	}
	was, err := scoring.ReadResult(line)
	if err == nil {
		v.taken.Add(was.Judged && was.OK)
	}
	return was, err
}

// changed names the first difference between two outcomes. "" means none.
func changed(from, to *scoring.Result) string {
	judged := from.Judged && to.Judged
	switch {
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

// count counts a change. "" means that nothing changed.
func (v *comparison) count(what string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.changes[cmp.Or(what, "same")]++
}

// append appends the object for a change, and counts it.
func (v *comparison) append(dst []byte, id string, from, to *scoring.Result) ([]byte, error) {
	what := changed(from, to)
	v.count(what)
	if from.Judged && to.Judged {
		problem := id
		if problem == "null" {
			problem = ""
		}
		if err := v.pairs.Add(problem, from.OK, to.OK); err != nil {
			return dst, err
		}
	}
	if what == "" {
		return dst, nil
	}
	dst = append(append(dst, `{"v":1,"id":`...), id...)
	dst = jsontext.AppendString(append(dst, `,"change":`...), what)
	dst = appendSide(append(dst, `,"from":`...), from)
	return append(appendSide(append(dst, `,"to":`...), to), '}'), nil
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
