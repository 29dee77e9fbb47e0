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
		switch {
		case err != nil:
			dst = append(dst[:from], line...)
		case s.clean && bytes.Equal(dst[from:], line):
			s.watch.NoteClean()
		default:
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
	field   string
	paths   [][]jsonpath.Step // that of the field, and those of lines
	many    bool              // the path names more than one value
	lines   *dialectset.LineReader
	watch   *reading.Watch
	manner  dialectset.Manner // of lines that do not say it themselves
	read    dialectset.Manner // of the last line
	inline  []sotto.Channel   // channels that stay in the text
	readers map[readerKey]*sotto.Splitter
	clean   bool // no text of the line has a marker
	text    []byte
	shown   []byte // what stays of the text
	object  []byte // a line with its field stripped
	log     string // the preset whose rows are rewritten, or ""
}

// A readerKey says how a splitter of a stripper reads.
type readerKey struct {
	grammar *sotto.Grammar
	start   sotto.Beginning
}

// maxReaders bounds the splitters that a stripper keeps, since lines can name their start.
const maxReaders = 32

func newStripper(m dialectset.Manner, lines *dialectset.LineReader, watch *reading.Watch, field string, path []jsonpath.Step, inline []sotto.Channel) *stripper {
	return &stripper{
		Finder: jsonpath.Finder{EveryFirst: true},
		field:  field, paths: append([][]jsonpath.Step{path}, lines.Paths...), many: jsonpath.Many(path),
		lines: lines, watch: watch, manner: m, inline: inline, readers: map[readerKey]*sotto.Splitter{},
	}
}

// line appends a line with its field stripped.
func (s *stripper) line(dst, line []byte) ([]byte, error) {
	if err := s.Find(line, s.paths...); err != nil {
		return dst, err
	}
	s.clean = s.watch.Clean(line)
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
		if s.clean && showsPlain(m) {
			s.watch.Read(m)
			s.watch.SeeRead(nil, nil)
			continue
		}
		s.text = jsontext.AppendUnquoted(s.text[:0], line[at.Start:at.End])
		m := s.choose(m)
		visible, same, err := s.visible(m)
		if err != nil {
			return dst, fmt.Errorf("strip: %w", err)
		}
		if same {
			continue
		}
		dst = append(dst, line[from:at.Start]...)
		dst = jsontext.AppendVerbatim(dst, visible)
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
		visible, _, err := s.visible(s.choose(m))
		if err != nil {
			err = fmt.Errorf("strip: %w", err)
		}
		return string(visible), err
	})
}

// choose returns how the text is read, and counts it.
func (s *stripper) choose(m dialectset.Manner) dialectset.Manner {
	if !s.clean {
		s.lines.ChooseBytes(&m, s.text)
	}
	s.watch.Read(m)
	s.read = m
	return m
}

// visible returns the visible text of the reply, and whether that is all of it. The text is
// valid until the next call.
//
// It gives what [sotto.Grammar.Strip] gives, but reads the reply once, and then only what
// stays of it: removing a block can join the parts of a marker (law 6), so that has to read
// as text from its beginning to its end. If it does not, Strip does the rest.
func (s *stripper) visible(m dialectset.Manner) (text []byte, same bool, err error) {
	first, err := s.reader(m.Grammar, m.Start)
	if err != nil {
		return nil, false, err
	}
	text, same = s.show(first, s.text, m.End)
	if s.log == "" && m.Grammar == s.manner.Grammar && m.Start == s.manner.Start {
		s.watch.SeeRead(first.Diagnostics(), func() string { return string(s.text) })
	}
	if same {
		return text, true, nil
	}
	again, err := s.reader(m.Grammar, sotto.BeginOutside)
	if err != nil {
		return nil, false, err
	}
	if stays(again, text) {
		return text, false, nil
	}
	stripped, err := s.strip(m)
	return []byte(stripped), false, err
}

// showsPlain reports whether, read in this manner, all of a reply is visible that is in a
// clean record. That record has no marker of the default dialect, which knows only tags.
func showsPlain(m dialectset.Manner) bool {
	return m.Grammar == sotto.Default() &&
		(m.Start == sotto.BeginAuto || m.Start == sotto.BeginOutside) && (m.End == sotto.EndUnknown || m.End == sotto.EndStopped)
}

// reader returns a splitter for the next reply.
func (s *stripper) reader(g *sotto.Grammar, start sotto.Beginning) (*sotto.Splitter, error) {
	key := readerKey{g, start}
	if x := s.readers[key]; x != nil {
		x.Reset()
		return x, nil
	}
	x, err := g.NewSplitter(sotto.Options{Start: start, MaxHold: -1, Inline: s.inline})
	if err != nil {
		return nil, err
	}
	if len(s.readers) == maxReaders {
		clear(s.readers)
	}
	s.readers[key] = x
	return x, nil
}

// show reads a reply and returns what is visible of it, and whether that is all of it. It
// copies nothing if that is the reply, or begins it.
func (s *stripper) show(x *sotto.Splitter, text []byte, end sotto.Ending) (shown []byte, same bool) {
	v := shownText{of: text, same: true, copied: s.shown[:0]}
	v.add(x.Feed(text))
	v.add(x.Close(end))
	s.shown = v.copied
	if v.same {
		return text[:v.n], v.n == len(text)
	}
	return v.copied, false
}

// stays reports whether all of a text is visible.
func stays(x *sotto.Splitter, text []byte) bool {
	v := shownText{of: text, same: true, compare: true}
	v.add(x.Feed(text))
	v.add(x.Close(sotto.EndUnknown))
	return v.same && v.n == len(text)
}

// A shownText compares the visible text of pieces with the text that they are of.
type shownText struct {
	of      []byte
	n       int    // how many of its first bytes are visible
	same    bool   // nothing else is
	copied  []byte // what is visible, if something else is
	compare bool   // nobody needs a copy
}

func (v *shownText) add(pieces []sotto.Piece) {
	for i := range pieces {
		b := pieces[i].Visible
		if v.same && bytes.HasPrefix(v.of[v.n:], b) {
			v.n += len(b)
			continue
		}
		if v.compare {
			v.same = false
			return
		}
		if v.same {
			v.same = false
			v.copied = append(v.copied, v.of[:v.n]...)
		}
		v.copied = append(v.copied, b...)
	}
}

// strip returns the visible text of a reply that changes when it is read again.
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
