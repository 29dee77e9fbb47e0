package cli

func plots(sum *summary) []plot {
	list := []plot{
		{Title: "Right, by method", Note: "Of the replies whose answer was found so, how many are right; 95 % intervals.", Drawing: bars(sum.Methods)},
		{Title: "Why replies are right or wrong", Note: "Of all replies.", Drawing: bars(sum.Reasons)},
		{Title: "Right, by length", Note: "Of the replies of so many bytes, how many are right.", Drawing: bars(sum.Lengths)},
	}
	if len(sum.By) > 1 {
		var rates []rate
		for _, arm := range sum.By[:min(len(sum.By), 50)] {
			rates = append(rates, named(arm.Name, arm.Solved))
		}
		list = append(list, plot{Title: "Right, by value", Note: "", Drawing: bars(rates)})
	}
	if curves := bestOf(sum); curves != nil {
		list = append(list, plot{Title: "Best of k", Note: "The chance that one of k replies to a problem is right (dashes: of a majority of all).", Drawing: curve(curves)})
	}
	return list
}

// bestOf returns a line per arm, or one.
func bestOf(sum *summary) (lines []kLine) {
	arms := sum.By
	if len(arms) == 0 {
		arms = []*summary{sum}
	}
	for _, arm := range arms[:min(len(arms), 8)] {
		if len(arm.BestOf) > 1 {
			lines = append(lines, kLine{name: arm.Name, points: arm.BestOf, majority: arm.Majority})
		}
	}
	return lines
}
