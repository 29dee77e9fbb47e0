package textcmd

import (
	"bytes"
	"fmt"
	"sync"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/internal/batch"
	"github.com/sotto-llm/sotto/internal/catalogue"
	"github.com/sotto-llm/sotto/internal/cli/reading"
	"github.com/sotto-llm/sotto/internal/cli/shell"
	"github.com/sotto-llm/sotto/internal/hint"
	"github.com/sotto-llm/sotto/internal/jsonpath"
	"github.com/sotto-llm/sotto/internal/jsontext"
)

// runLines strips a field of every line.
func (s *Strip) runLines(sh *shell.Shell, c *catalogue.Catalogue) error {
	path, err := jsonpath.Parse(s.field())
	if err != nil {
		return hint.Usage(err, "want a path such as raw or messages.-1.content")
	}
	m, err := s.Manner(sh, c, sotto.StartAuto)
	if err != nil {
		return err
	}
	lines, err := c.LineReader(s.ModelField)
	if err != nil {
		return err
	}
	watch := reading.NewWatch(c, m)
	defer watch.Report(sh)
	defer reading.ReportUnknown(sh, lines, m)
	return runLines(sh, s.Records, s.File, true, &batch.Pipeline{
		Line:   stripLine(m, lines, watch, s.field(), path, s.inline()),
		Strict: s.Strict,
	})
}

// runLines runs a pipeline from FILE to the output. It reports faults, and shows a
// progress bar if someone is watching.
func runLines(sh *shell.Shell, records reading.Records, name string, bare bool, p *batch.Pipeline) error {
	in, err := records.Open(sh, name, bare)
	if err != nil {
		return err
	}
	defer in.Close()
	bar := in.Progress(sh)
	p.Advance = bar.Advance
	var faults shell.Faults
	p.Fault = func(number int, err error) {
		bar.Clear()
		faults.Print(sh, fmt.Sprintf("%s %d", in.Unit, number), err)
	}
	p.Line = in.Lines(p.Line)
	err = p.Run(in, sh.Out)
	bar.Clear()
	faults.More(sh, in.Name)
	return err
}

// stripLine returns the function that processes one line. It strips the field's
// text and keeps every other byte. A line that fails is passed on unchanged.
func stripLine(m catalogue.Manner, lines *catalogue.LineReader, watch *reading.Watch, field string, path []jsonpath.Step, inline []sotto.Channel) batch.LineFunc {
	pool := sync.Pool{New: func() any { return newStripper(m, lines, watch, field, path, inline) }}
	return func(dst, line, end []byte, _ int) ([]byte, error) {
		if batch.Blank(line) {
			return append(append(dst, line...), end...), nil
		}
		s := pool.Get().(*stripper)
		defer pool.Put(s)
		from := len(dst)
		dst, err := s.line(dst, line)
		if err != nil {
			dst = append(dst[:from], line...)
		}
		return append(dst, end...), err
	}
}

// A stripper strips one line after another.
type stripper struct {
	jsonpath.Finder
	field    string
	paths    [][]jsonpath.Step // that of the field, and those of lines
	many     bool              // the path names more than one value
	lines    *catalogue.LineReader
	watch    *reading.Watch
	manner   catalogue.Manner // of lines that do not say it themselves
	inline   []sotto.Channel  // channels that stay in the text
	splitter *sotto.Splitter
	text     []byte
}

func newStripper(m catalogue.Manner, lines *catalogue.LineReader, watch *reading.Watch, field string, path []jsonpath.Step, inline []sotto.Channel) *stripper {
	splitter, err := m.Grammar.NewSplitter(sotto.Options{Start: m.Start, MaxHold: -1, Inline: inline})
	if err != nil {
		panic(err) // the manner was made with this start
	}
	return &stripper{
		field: field, paths: append([][]jsonpath.Step{path}, lines.Paths...), many: jsonpath.Many(path),
		lines: lines, watch: watch, manner: m, inline: inline, splitter: splitter,
	}
}

// line appends a line with its field stripped.
func (s *stripper) line(dst, line []byte) ([]byte, error) {
	if err := s.Find(line, s.paths...); err != nil {
		return dst, err
	}
	if len(s.Found[0]) == 0 {
		return dst, fmt.Errorf("field %s %w", s.field, jsonpath.ErrMissing)
	}
	m := s.manner
	if err := s.lines.Read(&s.Finder, 1, &m); err != nil {
		return dst, err
	}
	from := 0
	for _, at := range s.Found[0] {
		if line[at.Start] != '"' {
			if s.many && line[at.Start] == 'n' {
				continue // null among the elements: a message without text
			}
			return dst, fmt.Errorf("field %s %w", s.field, jsonpath.ErrNotString)
		}
		s.text = jsontext.AppendUnquoted(s.text[:0], line[at.Start:at.End])
		s.watch.SeeBytes(m.Grammar, s.text)
		if s.unchanged(m) {
			continue
		}
		stripped, err := s.strip(m)
		if err != nil {
			return dst, fmt.Errorf("strip: %w", err)
		}
		dst = append(dst, line[from:at.Start]...)
		dst = jsontext.AppendVerbatim(dst, stripped)
		from = at.End
	}
	return append(dst, line[from:]...), nil
}

// strip returns the visible text of the reply.
func (s *stripper) strip(m catalogue.Manner) (string, error) {
	text := string(s.text)
	if m.End == sotto.EndUnknown {
		return m.Grammar.Strip(text, m.Start, s.inline...)
	}
	reply, err := m.Grammar.Parse(text, m.Start, m.End)
	if err != nil {
		return "", err
	}
	return m.Grammar.Strip(reply.VisibleWith(s.inline...), sotto.StartOutside, s.inline...)
}

// unchanged reports whether all of the text stays, as in most lines. Such text is
// read once and not copied. It does not look at a line that is read in another
// dialect or from another start than the others.
func (s *stripper) unchanged(m catalogue.Manner) bool {
	if m.Grammar != s.manner.Grammar || m.Start != s.manner.Start {
		return false
	}
	s.splitter.Reset()
	rest, same := cutVisible(s.text, s.splitter.Feed(s.text))
	if !same {
		return false
	}
	rest, same = cutVisible(rest, s.splitter.Close(m.End))
	return same && len(rest) == 0
}

// cutVisible cuts the visible text of pieces from the head of a text, if it begins
// with it.
func cutVisible(text []byte, pieces []sotto.Piece) (rest []byte, ok bool) {
	for i := range pieces {
		if text, ok = bytes.CutPrefix(text, pieces[i].Visible); !ok {
			return nil, false
		}
	}
	return text, true
}
