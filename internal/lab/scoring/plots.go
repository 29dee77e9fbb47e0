package scoring

import (
	"github.com/sotto-llm/sotto/internal/lab/plot"
	"github.com/sotto-llm/sotto/internal/lab/stats"
)

func plots(sum *Summary) []plot.Plot {
	list := []plot.Plot{
		{Title: "Right, by method", Note: "For each method: how many of the replies whose answer it found are right; 95 % intervals.", Drawing: plot.Bars(sum.Methods)},
		{Title: "Why replies are right or wrong", Note: "Of all replies.", Drawing: plot.Bars(sum.Reasons)},
		{Title: "Right, by length", Note: "For each range of lengths: how many of the replies are right.", Drawing: plot.Bars(sum.Lengths)},
	}
	if len(sum.By) > 1 {
		var rates []stats.Rate
		for _, arm := range sum.By[:min(len(sum.By), 50)] {
			rates = append(rates, stats.Named(arm.Name, arm.Solved))
		}
		list = append(list, plot.Plot{Title: "Right, by value", Note: "", Drawing: plot.Bars(rates)})
	}
	if curves := bestOf(sum); curves != nil {
		list = append(list, plot.Plot{Title: "Best of k", Note: "The chance that one of k replies to a problem is right (dashes: of a majority of all).", Drawing: plot.Curve(curves)})
	}
	return list
}

// bestOf returns a line per arm, or a single one.
func bestOf(sum *Summary) (lines []plot.KLine) {
	arms := sum.By
	if len(arms) == 0 {
		arms = []*Summary{sum}
	}
	for _, arm := range arms[:min(len(arms), 8)] {
		if len(arm.BestOf) > 1 {
			lines = append(lines, plot.KLine{Name: arm.Name, Points: arm.BestOf, Majority: arm.Majority})
		}
	}
	return lines
}
