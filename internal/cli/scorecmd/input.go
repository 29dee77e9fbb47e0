package scorecmd

import (
	"bufio"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/sotto-llm/sotto/internal/batch"
	"github.com/sotto-llm/sotto/internal/cli/shell"
	"github.com/sotto-llm/sotto/internal/jsonpath"
	"github.com/sotto-llm/sotto/internal/lazyregexp"
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
	named   bool // a file: messages include its name
	faults  faultCounts
}

// openSource opens FILE and detects which of the two it holds.
func openSource(sh *shell.Shell, name string) (*source, error) {
	in, err := sh.Open(name)
	if err != nil {
		return nil, err
	}
	s := &source{Input: in, named: name != "" && name != "-", faults: faultCounts{}, lines: bufio.NewReaderSize(in, 64<<10), origin: scoring.Origin{Name: in.Name, Unit: "line"}}
	if batch.StartsArray(s.lines) {
		s.lines, s.origin.Unit = bufio.NewReaderSize(&batch.ArrayReader{From: s.lines}, 64<<10), "element"
	}
	return s, nil
}

// faultCounts counts the errors of lines by their kind.
type faultCounts map[string]int

const (
	shownFaults = 3   // of each kind
	maxKinds    = 100 // that are counted separately
)

// lineError prints the error of one line, if it is among the first of its kind.
func (s *source) lineError(sh *shell.Shell, number int, err error) {
	kind := kindOf(err)
	if s.faults[kind] == 0 && len(s.faults) >= maxKinds {
		kind = "errors of other kinds"
	}
	if s.faults[kind]++; s.faults[kind] > shownFaults {
		return
	}
	place, between := fmt.Sprintf("%s %d", s.origin.Unit, number), ":"
	if s.named {
		place = s.Name + ": " + place
	}
	var syntax *jsonpath.SyntaxError
	if errors.As(err, &syntax) {
		between = ","
	}
	sh.Errorf("%s%s %v", place, between, err)
}

// moreFaults prints how many errors of each kind were not printed.
func (s *source) moreFaults(sh *shell.Shell) {
	for _, kind := range slices.Sorted(maps.Keys(s.faults)) {
		if more := s.faults[kind] - shownFaults; more > 0 {
			sh.Errorf("%s: %d more: %s", s.Name, more, kind)
		}
	}
}

// kindOf returns what errors of one kind have in common: their text without numbers
// and quoted text.
func kindOf(err error) string {
	var gold *scoring.GoldError
	if errors.As(err, &gold) {
		return "a gold that cannot be read"
	}
	return particulars.ReplaceAllString(err.Error(), "…")
}

var particulars = lazyregexp.New(`"[^"]*"|[0-9]+`)
