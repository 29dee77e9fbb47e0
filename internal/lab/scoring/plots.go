package scoring

import (
	"github.com/sotto-llm/sotto/internal/base/stats"
	"github.com/sotto-llm/sotto/internal/lab/report"
)

func plots(sum *Summary) []report.Plot {
	list := []report.Plot{
		{Title: "Right, by method", Note: "For each method: how many of the replies whose answer it found are right; 95 % intervals.", Drawing: report.Bars(sum.Methods)},
		{Title: "Why replies are right or wrong", Note: "Of all replies.", Drawing: report.Bars(sum.Reasons)},
		{Title: "Right, by length", Note: "For each range of lengths: how many of the replies are right.", Drawing: report.Bars(sum.Lengths)},
	}
	if len(sum.By) > 1 {
		var rates []stats.Rate
		for _, arm := range sum.By[:min(len(sum.By), 50)] {
			rates = append(rates, stats.Named(arm.Name, arm.Solved))
		}
		list = append(list, report.Plot{Title: "Right, by value", Note: "", Drawing: report.Bars(rates)})
	}
	if curves := bestOf(sum); curves != nil {
		list = append(list, report.Plot{Title: "Best of k", Note: "The chance that one of k replies to a problem is right (dashes: of a majority of all).", Drawing: report.Curve(curves)})
	}
	return list
}

// bestOf returns a line per arm, or a single one.
func bestOf(sum *Summary) (lines []report.KLine) {
	arms := sum.By
	if len(arms) == 0 {
		arms = []*Summary{sum}
	}
	for _, arm := range arms[:min(len(arms), 8)] {
		if len(arm.BestOf) > 1 {
			lines = append(lines, report.KLine{Name: arm.Name, Points: arm.BestOf, Majority: arm.Majority})
		}
	}
	return lines
}
