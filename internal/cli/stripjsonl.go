package cli

import (
	"bytes"
	"fmt"
	"sync"

	"github.com/sotto-llm/sotto"
)

// runLines strips a field of every line.
func (s *stripCommand) runLines(sh *shell, c *catalogue) error {
	path, err := parsePath(s.Field)
	if err != nil {
		return usage(err, "want a path such as raw or messages.-1.content")
	}
	m, err := s.manner(sh, c, sotto.StartAuto)
	if err != nil {
		return err
	}
	return runLines(sh, s.File, &pipeline{
		line:   stripLine(m, s.Field, path, s.inline()),
		strict: s.Strict,
	})
}

// runLines runs a pipeline from FILE to the output, with its faults reported and a
// progress bar where someone looks on.
func runLines(sh *shell, name string, p *pipeline) error {
	in, err := sh.open(name)
	if err != nil {
		return err
	}
	defer in.Close()
	bar := newProgress(sh, in)
	p.advance = bar.advance
	p.fault = func(number int, err error) {
		bar.clear()
		sh.lineError(number, err)
	}
	defer bar.clear()
	return p.run(in, sh.out)
}

// stripLine returns the work on one line: the field's text is stripped, and
// every other byte stays. A line that fails is passed on as it is.
func stripLine(m manner, field string, path []step, inline []sotto.Channel) lineFunc {
	pool := sync.Pool{New: func() any { return newStripper(m, field, path, inline) }}
	return func(dst, line, end []byte, _ int) ([]byte, error) {
		if isBlank(line) {
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
	finder
	field    string
	path     []step
	many     bool // the path names more than one value
	grammar  *sotto.Grammar
	start    sotto.Start
	inline   []sotto.Channel // stay in the text
	splitter *sotto.Splitter
	text     []byte
}

func newStripper(m manner, field string, path []step, inline []sotto.Channel) *stripper {
	splitter, err := m.grammar.NewSplitter(sotto.Options{Start: m.start, MaxHold: -1, Inline: inline})
	if err != nil {
		panic(err) // the manner was made with this start
	}
	return &stripper{
		field: field, path: path, many: everywhere(path),
		grammar: m.grammar, start: m.start, inline: inline, splitter: splitter,
	}
}

// line appends a line with its field stripped.
func (s *stripper) line(dst, line []byte) ([]byte, error) {
	if err := s.find(line, s.path); err != nil {
		return dst, err
	}
	if len(s.found[0]) == 0 {
		return dst, fmt.Errorf("field %s %w", s.field, errMissing)
	}
	from := 0
	for _, at := range s.found[0] {
		if line[at.start] != '"' {
			if s.many && line[at.start] == 'n' {
				continue // null among the elements: a message without text
			}
			return dst, fmt.Errorf("field %s %w", s.field, errNotString)
		}
		s.text = appendUnquoted(s.text[:0], line[at.start:at.end])
		if s.unchanged() {
			continue
		}
		stripped, err := s.grammar.Strip(string(s.text), s.start, s.inline...)
		if err != nil {
			return dst, fmt.Errorf("strip: %w", err)
		}
		dst = append(dst, line[from:at.start]...)
		dst = appendQuoted(dst, stripped, true)
		from = at.end
	}
	return append(dst, line[from:]...), nil
}

// unchanged reports whether all of the text stays, as in most lines: then it is
// read once and not copied.
func (s *stripper) unchanged() bool {
	s.splitter.Reset()
	rest, same := cutVisible(s.text, s.splitter.Feed(s.text))
	if !same {
		return false
	}
	rest, same = cutVisible(rest, s.splitter.Close(sotto.EndUnknown))
	return same && len(rest) == 0
}

// cutVisible cuts what pieces show from the head of a text, if it stands there.
func cutVisible(text []byte, pieces []sotto.Piece) (rest []byte, ok bool) {
	for i := range pieces {
		if text, ok = bytes.CutPrefix(text, pieces[i].Visible); !ok {
			return nil, false
		}
	}
	return text, true
}
