package scorecmd

import (
	"fmt"

	"github.com/sotto-llm/sotto/internal/cli/reading"
	"github.com/sotto-llm/sotto/internal/cli/shell"
	"github.com/sotto-llm/sotto/internal/lab/scoring"
)

// A gate holds the flags that make a bad run fail.
type gate struct {
	reading.Unread
	MinSolved string `name:"min-solved" placeholder:"SHARE" help:"Exit with status 5 if fewer replies are solved, such as 0.8 or 80%."`
}

// minSolved returns the share of replies that must be solved, such as 0.8 or 80%.
func (x *gate) minSolved() (float64, error) {
	if x.MinSolved == "" {
		return 0, nil
	}
	return reading.Share("min-solved", x.MinSolved)
}

// check returns an error if fewer replies are solved, or too many were not read.
func (x *gate) check(sum *scoring.Summary) error {
	share, err := x.minSolved()
	if err != nil {
		return err
	}
	if x.MinSolved != "" && (sum.Lines == 0 || sum.Solved.Rate < share) {
		return shell.GateFailed(fmt.Errorf("%d of %d replies are solved, which is less than --min-solved %s", sum.Solved.Count, sum.Lines, x.MinSolved))
	}
	return x.CheckUnread(sum.Dialects)
}
