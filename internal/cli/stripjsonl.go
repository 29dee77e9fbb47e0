package cli

import (
	"errors"
	"fmt"
	"sync"

	"github.com/sotto-llm/sotto"
)

// runLines strips a field of every line.
func (s *stripCommand) runLines(sh *shell, c *catalogue) error {
	path, err := parsePath(s.Field)
	if err != nil {
		return usageError{err, "want a path such as raw or messages.-1.content"}
	}
	m, err := s.manner(sh, c, sotto.Auto)
	if err != nil {
		return err
	}
	return sh.lines(s.File, &pipeline{
		line:   stripLine(m, s.Field, path),
		strict: s.Strict,
	})
}

// lines runs a pipeline from FILE to the output, with its faults reported and a
// progress bar where someone looks on.
func (sh *shell) lines(name string, p *pipeline) error {
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

var (
	errMissing   = errors.New("is missing")
	errNotString = errors.New("is no string")
)

// stripLine returns the work on one line: the field's text is stripped, and
// every other byte stays. A line that fails is passed on as it is.
func stripLine(m manner, field string, path []step) lineFunc {
	finders := sync.Pool{New: func() any { return new(finder) }}
	many := everywhere(path)
	return func(dst, line, end []byte, _ int) ([]byte, error) {
		if isBlank(line) {
			return append(append(dst, line...), end...), nil
		}
		f := finders.Get().(*finder)
		defer finders.Put(f)
		err := f.find(line, path)
		if err == nil && len(f.found[0]) == 0 {
			err = fmt.Errorf("field %s %w", field, errMissing)
		}
		for _, at := range f.found[0] {
			if err == nil && line[at.start] != '"' && !(many && line[at.start] == 'n') {
				err = fmt.Errorf("field %s %w", field, errNotString)
			}
		}
		if err != nil {
			return append(append(dst, line...), end...), err
		}
		from := 0
		for _, at := range f.found[0] {
			if line[at.start] != '"' {
				continue // null among the elements: a message without text
			}
			text := unquote(line[at.start:at.end])
			stripped, err := m.grammar.Strip(text, m.start)
			if err != nil {
				return append(append(dst, line[from:]...), end...), fmt.Errorf("strip: %w", err)
			}
			if stripped != text {
				dst = append(dst, line[from:at.start]...)
				dst = appendQuoted(dst, stripped, true)
				from = at.end
			}
		}
		dst = append(dst, line[from:]...)
		return append(dst, end...), nil
	}
}
