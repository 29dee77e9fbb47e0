package cli

import (
	"bufio"
	"errors"
	"fmt"
)

// A source is one input of a batch: JSON Lines, or the elements of a JSON array
// as lines.
type source struct {
	*input
	lines   *bufio.Reader
	unit    string // line, element
	first   int    // how many lines are behind
	skipped int    // how many bytes those were
	order   int    // which of the inputs it is
	many    bool   // one of several: its name says which
}

// openSource opens FILE and finds out which of the two it holds.
func openSource(sh *shell, name string) (*source, error) {
	in, err := sh.open(name)
	if err != nil {
		return nil, err
	}
	s := &source{input: in, lines: bufio.NewReaderSize(in, 64<<10), unit: "line"}
	if startsArray(s.lines) {
		s.lines, s.unit = bufio.NewReaderSize(&arrayReader{from: s.lines}, 64<<10), "element"
	}
	return s, nil
}

// lineError prints the error of one line.
func (s *source) lineError(sh *shell, number int, err error) {
	place, between := fmt.Sprintf("%s %d", s.unit, number), ":"
	if s.many {
		place = s.name + ": " + place
	}
	var syntax *syntaxError
	if errors.As(err, &syntax) {
		between = ","
	}
	sh.errorf("%s%s %v", place, between, err)
}
