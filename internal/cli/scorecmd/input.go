package scorecmd

import (
	"bufio"
	"errors"
	"fmt"

	"github.com/sotto-llm/sotto/internal/batch"
	"github.com/sotto-llm/sotto/internal/cli/shell"
	"github.com/sotto-llm/sotto/internal/jsonpath"
	"github.com/sotto-llm/sotto/internal/scoring"
)

// A source is one input of a batch: JSON Lines, or the elements of a JSON array
// as lines.
type source struct {
	*shell.Input
	origin  scoring.Origin
	lines   *bufio.Reader
	first   int  // how many lines come before
	skipped int  // how many bytes those lines have
	many    bool // one of several: messages include its name
}

// openSource opens FILE and detects which of the two it holds.
func openSource(sh *shell.Shell, name string) (*source, error) {
	in, err := sh.Open(name)
	if err != nil {
		return nil, err
	}
	s := &source{Input: in, lines: bufio.NewReaderSize(in, 64<<10), origin: scoring.Origin{Name: in.Name, Unit: "line"}}
	if batch.StartsArray(s.lines) {
		s.lines, s.origin.Unit = bufio.NewReaderSize(&batch.ArrayReader{From: s.lines}, 64<<10), "element"
	}
	return s, nil
}

// lineError prints the error of one line.
func (s *source) lineError(sh *shell.Shell, number int, err error) {
	place, between := fmt.Sprintf("%s %d", s.origin.Unit, number), ":"
	if s.many {
		place = s.Name + ": " + place
	}
	var syntax *jsonpath.SyntaxError
	if errors.As(err, &syntax) {
		between = ","
	}
	sh.Errorf("%s%s %v", place, between, err)
}
