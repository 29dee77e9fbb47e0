package stats

import (
	"math"
	"slices"
	"sort"
)

// A Margins is what a table of two groups by two outcomes is given for Fisher's exact test:
// the sizes of the groups, and how many of both have the outcome.
type Margins struct{ OfA, OfB, Having int }

// least and most are the fewest and the most of group A that can have the outcome.
func (m Margins) least() int { return max(0, m.Having-m.OfB) }
func (m Margins) most() int  { return min(m.OfA, m.Having) }

// ln is the logarithm of the probability that a of group A have the outcome, if groups and
// outcome are independent.
func (m Margins) ln(a int) float64 {
	return lnChoose(m.OfA, a) + lnChoose(m.OfB, m.Having-a) - lnChoose(m.OfA+m.OfB, m.Having)
}

// Fisher returns the two-sided p-value of Fisher's exact test: how likely a table at most as
// likely as that with a of group A is, if groups and outcome are independent.
func (m Margins) Fisher(a int) float64 {
	const rounding = 1e-9
	seen, p := m.ln(a)+rounding, 0.0
	for i := m.least(); i <= m.most(); i++ {
		if ln := m.ln(i); ln <= seen {
			p += math.Exp(ln)
		}
	}
	return min(1, p)
}

// LeastFisher returns the smallest p-value that Fisher's test can give for the margins.
func (m Margins) LeastFisher() float64 {
	if m.ln(m.least()) <= m.ln(m.most()) {
		return m.Fisher(m.least())
	}
	return m.Fisher(m.most())
}

// Tarone returns the bound below which p-values of exact tests are significant, so that any
// of them is wrongly so in at most a share of level. Each test has the smallest p-value that
// it can give. Tests that cannot reach the bound do not count (Tarone 1990).
func Tarone(level float64, least []float64) (bound float64) {
	sorted := slices.Sorted(slices.Values(least))
	enough := func(tests int) bool { // no more than so many can reach the bound for so many
		return tests >= len(sorted) || sorted[tests] > level/float64(tests)
	}
	return level / float64(1+sort.Search(len(sorted), func(i int) bool { return enough(i + 1) }))
}
