package textcmd

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"sync"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/internal/base/errorhint"
	"github.com/sotto-llm/sotto/internal/cli/manner"
	"github.com/sotto-llm/sotto/internal/cli/reading"
	"github.com/sotto-llm/sotto/internal/cli/shell"
	"github.com/sotto-llm/sotto/internal/data/batch"
	"github.com/sotto-llm/sotto/internal/data/jsonpath"
	"github.com/sotto-llm/sotto/internal/data/jsontext"
	"github.com/sotto-llm/sotto/internal/lab/columns"
	"github.com/sotto-llm/sotto/internal/lab/inputfiles"
	"github.com/sotto-llm/sotto/internal/reply/dialectset"
)

// runLines strips a field of every line.
func (s *Strip) runLines(sh *shell.Shell, c *dialectset.Set, as *reading.Invocation) error {
	path, err := jsonpath.Parse(s.field())
	if err != nil {
		return errorhint.Usage(err, "want a path such as raw or messages.-1.content")
	}
	m, err := s.Manner(sh, c, sotto.BeginAuto)
	if err != nil {
		return err
	}
	lines, err := s.Reader(c)
	if err != nil {
		return err
	}
	watch := reading.NewWatch(c)
	defer manner.ReportUnknown(sh, lines, m)
	if s.Adds(s.Output) && jsonpath.Many(path) {
		return errorhint.Usage(fmt.Errorf("--field %s: new members need the path of one field", s.field()), "")
	}
	in, log, err := s.rewrites()
	if err != nil {
		return err
	}
	pool := &sync.Pool{New: func() any {
		work := newStripper(m, lines, watch, s.field(), path, s.inline())
		work.log = log
		return work
	}}
	r := &lineRun{records: in, to: &s.lineOutput, files: s.Files, members: new(columns.Strip), catalogue: c, as: as, watch: watch}
	r.strict = s.Strict
	defer watch.ReportRead(sh)
	err = r.run(sh, func(set *columns.Set) batch.LineFunc {
		if set != nil {
			return set.Checked(visibleLine(pool))
		}
		return stripLine(pool)
	})
	switch still := watch.Err(); {
	case still == nil:
		watch.ReportLate(sh)
		return err
	case err == nil || errors.Is(err, batch.ErrFailed) && !s.Strict:
		return still
	}
	return err
}

// rewrites returns how to read the records, and the log whose rows are rewritten. It
// is "" if there is no log, or if its replies come out as new members of records.
func (s *Strip) rewrites() (in reading.Records, log string, err error) {
	if !s.Log(s.Files...) || s.Adds(s.Output) {
		return s.Records, "", nil
	}
	if !inputfiles.CanRewrite(s.From) {
		return in, "", errorhint.Usage(fmt.Errorf("strip cannot rewrite a log of %s", cmp.Or(s.From, "inspect")),
			"sotto split prints the visible text of each reply, and --add-columns writes it beside each record")
	}
	in = s.Records
	in.From = ""
	return in, s.From, nil
}

// stripLine returns the function that processes one line. It strips the field's
// text and keeps every other byte. A line that fails is passed on unchanged.
func stripLine(pool *sync.Pool) batch.LineFunc {
	return func(dst, line, end []byte, _ batch.Place) ([]byte, error) {
		if batch.Blank(line) {
			return append(append(dst, line...), end...), nil
		}
		s := pool.Get().(*stripper)
		defer pool.Put(s)
		from := len(dst)
		dst, err := s.line(dst, line)
		if err != nil {
			dst = append(dst[:from], line...)
		} else {
			s.watch.Line(s.read, dst[from:])
		}
		return append(dst, end...), err
	}
}

// visibleLine returns the function that processes one line of which the record stays
// as it is: it appends an object with the visible text.
func visibleLine(pool *sync.Pool) batch.LineFunc {
	return func(dst, line, _ []byte, at batch.Place) (_ []byte, err error) {
		s := pool.Get().(*stripper)
		defer pool.Put(s)
		if s.object, err = s.line(s.object[:0], line); err != nil {
			return batch.AppendError(dst, at, err), err
		}
		s.Find(s.object, s.paths...)
		visible := s.Last(0)
		s.watch.Text(s.read, jsontext.Unquote(visible))
		dst = append(append(dst, `{"visible":`...), visible...)
		return append(dst, "}\n"...), nil
	}
}

// A stripper strips one line after another.
type stripper struct {
	jsonpath.Finder
	field    string
	paths    [][]jsonpath.Step // that of the field, and those of lines
	many     bool              // the path names more than one value
	lines    *dialectset.LineReader
	watch    *reading.Watch
	manner   dialectset.Manner // of lines that do not say it themselves
	read     dialectset.Manner // of the last line
	inline   []sotto.Channel   // channels that stay in the text
	splitter *sotto.Splitter
	text     []byte
	object   []byte // a line with its field stripped
	log      string // the preset whose rows are rewritten, or ""
}

func newStripper(m dialectset.Manner, lines *dialectset.LineReader, watch *reading.Watch, field string, path []jsonpath.Step, inline []sotto.Channel) *stripper {
	splitter, err := m.Grammar.NewSplitter(sotto.Options{Start: m.Start, MaxHold: -1, Inline: inline})
	if err != nil {
		panic(err) // the manner was made with this start
	}
	return &stripper{
		Finder: jsonpath.Finder{EveryFirst: true},
		field:  field, paths: append([][]jsonpath.Step{path}, lines.Paths...), many: jsonpath.Many(path),
		lines: lines, watch: watch, manner: m, inline: inline, splitter: splitter,
	}
}

// line appends a line with its field stripped.
func (s *stripper) line(dst, line []byte) ([]byte, error) {
	if err := s.Find(line, s.paths...); err != nil {
		return dst, err
	}
	if s.log != "" {
		return s.row(dst, line)
	}
	if len(s.Found[0]) == 0 {
		return dst, fmt.Errorf("field %s %w", s.field, jsonpath.ErrMissing)
	}
	m := s.manner
	if err := s.lines.Read(&s.Finder, 1, &m); err != nil {
		return dst, err
	}
	s.read = m
	from := 0
	for _, at := range s.Found[0] {
		if line[at.Start] != '"' {
			if s.many && line[at.Start] == 'n' {
				continue // null among the elements: a message without text
			}
			return dst, fmt.Errorf("field %s %w", s.field, jsonpath.ErrNotString)
		}
		s.text = jsontext.AppendUnquoted(s.text[:0], line[at.Start:at.End])
		m := s.choose(m)
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

// row appends a row of a log with its replies stripped.
func (s *stripper) row(dst, line []byte) ([]byte, error) {
	m := s.manner
	if err := s.lines.Read(&s.Finder, 1, &m); err != nil {
		return dst, err
	}
	s.read = m
	return inputfiles.Rewrite(dst, line, s.log, func(text string) (string, error) {
		s.text = append(s.text[:0], text...)
		visible, err := s.strip(s.choose(m))
		if err != nil {
			err = fmt.Errorf("strip: %w", err)
		}
		return visible, err
	})
}

// choose returns how the text is read, and counts it.
func (s *stripper) choose(m dialectset.Manner) dialectset.Manner {
	if m.By == dialectset.ByDefault {
		s.lines.Choose(&m, string(s.text))
	}
	s.watch.Read(m)
	s.read = m
	return m
}

// strip returns the visible text of the reply.
func (s *stripper) strip(m dialectset.Manner) (string, error) {
	text := string(s.text)
	if m.End == sotto.EndUnknown {
		return m.Grammar.Strip(text, m.Start, s.inline...)
	}
	reply, err := m.Grammar.Parse(text, m.Start, m.End)
	if err != nil {
		return "", err
	}
	return m.Grammar.Strip(reply.VisibleWith(s.inline...), sotto.BeginOutside, s.inline...)
}

// unchanged reports whether all of the text stays, as in most lines. Such text is
// read once and not copied. It does not look at a line that is read in another
// dialect or from another start than the others.
func (s *stripper) unchanged(m dialectset.Manner) bool {
	if m.Grammar != s.manner.Grammar || m.Start != s.manner.Start {
		return false
	}
	s.splitter.Reset()
	rest, same := cutVisible(s.text, s.splitter.Feed(s.text))
	if same {
		rest, same = cutVisible(rest, s.splitter.Close(m.End))
	}
	s.watch.SeeRead(s.splitter.Diagnostics(), func() string { return string(s.text) })
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
