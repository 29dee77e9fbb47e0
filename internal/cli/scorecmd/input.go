package scorecmd

import (
	"github.com/sotto-llm/sotto/internal/cli/reading"
	"github.com/sotto-llm/sotto/internal/cli/shell"
	"github.com/sotto-llm/sotto/internal/data/batch"
	"github.com/sotto-llm/sotto/internal/lab/scoring"
)

// A source is one input of a batch.
type source struct {
	*reading.Input
	origin  scoring.Origin
	first   int  // how many records come before
	skipped int  // how many bytes those records have
	named   bool // a file: messages include its name
	faults  shell.Faults
}

func newSource(in *reading.Input, name string) *source {
	return &source{Input: in, named: name != "" && name != "-", origin: scoring.Origin{Name: in.Name, Unit: in.Unit}}
}

// place returns the place of a line in the input, of which an earlier run has done the
// first lines.
func (s *source) place(at batch.Place) batch.Place {
	return at.After(s.first)
}

// lineError prints the error of one line.
func (s *source) lineError(sh *shell.Shell, at batch.Place, err error) {
	place := s.At(at)
	if s.named && s.Preset == "" {
		place = s.origin.Name + ": " + place
	}
	s.faults.Print(sh, place, err)
}
