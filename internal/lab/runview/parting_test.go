package runview_test

import (
	"context"
	"math"
	"strings"
	"testing"

	"github.com/sotto-llm/sotto/internal/console/consoletest"
	"github.com/sotto-llm/sotto/internal/lab/runview"
)

// Of each planted fault, the place where the runs part has the cause. A run does not part from
// itself, and the sides change places when the runs do.
func TestParting(t *testing.T) {
	dir, faults := consoletest.Planted(t)
	s := source(t, dir)
	for _, f := range faults {
		c, err := s.Compare(context.Background(), f.A, f.B, runview.AllFrom(math.MinInt))
		if err != nil || c.Parting == nil {
			t.Fatalf("%s: %+v, %v", f.Name, c, err)
		}
		said := string(c.Parting.A.Said) + "\n" + string(c.Parting.B.Said)
		for _, step := range append(c.Parting.A.Steps, c.Parting.B.Steps...) {
			said += "\n" + step.Text.Plain()
		}
		for _, cause := range f.Cause {
			if !strings.Contains(said, cause) {
				t.Errorf("%s: %s without %q: %s", f.Name, c.Parting.What, cause, said)
			}
		}
		back, err := s.Compare(context.Background(), f.B, f.A, runview.AllFrom(math.MinInt))
		if err != nil || back.Parting.What != c.Parting.What || back.Parting.A.Said != c.Parting.B.Said || back.Parting.B.At != c.Parting.A.At {
			t.Errorf("%s: the other way round %+v, %v", f.Name, back.Parting, err)
		}
		for _, run := range []string{f.A, f.B} {
			if same, err := s.Compare(context.Background(), run, run, runview.AllFrom(math.MinInt)); err != nil || same.Parting != nil {
				t.Errorf("%s parts from itself: %+v, %v", run, same.Parting, err)
			}
		}
	}
	if one, _ := s.Compare(context.Background(), faults[0].A, faults[1].A, runview.AllFrom(math.MinInt)); one.Parting != nil {
		t.Errorf("two runs without a fault part: %+v", one.Parting)
	}
}
