package scorecmd

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/sotto-llm/sotto/internal/cli/shell"
	"github.com/sotto-llm/sotto/internal/lab/scoring"
)

// A gate holds the flag that makes a bad run fail.
type gate struct {
	MinSolved string `name:"min-solved" placeholder:"SHARE" help:"Exit with status 5 if fewer replies are solved, such as 0.8 or 80%."`
}

// minSolved returns the share of replies that must be solved, such as 0.8 or 80%.
func (x *gate) minSolved() (float64, error) {
	if x.MinSolved == "" {
		return 0, nil
	}
	number, percent := strings.CutSuffix(x.MinSolved, "%")
	share, err := strconv.ParseFloat(number, 64)
	if percent {
		share /= 100
	}
	if err != nil || !(share >= 0 && share <= 1) {
		return 0, fmt.Errorf("--min-solved %s: want a share from 0 to 1, or from 0%% to 100%%", x.MinSolved)
	}
	return share, nil
}

// check returns an error if fewer replies are solved.
func (x *gate) check(sum *scoring.Summary) error {
	share, err := x.minSolved()
	if err != nil {
		return err
	}
	if x.MinSolved != "" && (sum.Lines == 0 || sum.Solved.Rate < share) {
		return shell.GateFailed(fmt.Errorf("%d of %d replies are solved, which is less than --min-solved %s", sum.Solved.Count, sum.Lines, x.MinSolved))
	}
	return nil
}
