package scorecmd

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/sotto-llm/sotto/internal/cli/reading"
	"github.com/sotto-llm/sotto/internal/cli/shell"
	"github.com/sotto-llm/sotto/internal/lazyregexp"
	"github.com/sotto-llm/sotto/internal/scoring"
)

// A source is one input of a batch.
type source struct {
	*reading.Input
	origin  scoring.Origin
	first   int  // how many records come before
	skipped int  // how many bytes those records have
	named   bool // a file: messages include its name
	faults  faultCounts
}

func openSource(sh *shell.Shell, records reading.Records, name string) (*source, error) {
	in, err := records.Open(sh, name)
	if err != nil {
		return nil, err
	}
	return &source{Input: in, named: name != "" && name != "-", faults: faultCounts{}, origin: scoring.Origin{Name: in.Name, Unit: in.Unit}}, nil
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
	place := fmt.Sprintf("%s %d", s.origin.Unit, number)
	if s.named {
		place = s.origin.Name + ": " + place
	}
	sh.PlaceError(place, err)
}

// moreFaults prints how many errors of each kind were not printed.
func (s *source) moreFaults(sh *shell.Shell) {
	for _, kind := range slices.Sorted(maps.Keys(s.faults)) {
		if more := s.faults[kind] - shownFaults; more > 0 {
			sh.Errorf("%s: %d more: %s", s.origin.Name, more, kind)
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
