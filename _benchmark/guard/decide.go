package main

import (
	"math"
	"slices"
)

// A verdict is what the pairs of a figure show.
type verdict string

const (
	fine       verdict = "ok"
	faster     verdict = "better"
	slower     verdict = "WORSE"
	cannotTell verdict = "cannot tell"
)

// confidence is that of the intervals. A run looks at some ten figures, each a few times.
const confidence = 0.99

// An interval holds the median of what the pairs are drawn from.
type interval struct{ low, mid, high float64 }

// intervalOf is the exact interval of the sign test: it assumes that the pairs are
// independent, and nothing of how they are spread. With too few pairs it has no ends.
func intervalOf(ratios []float64) interval {
	s := slices.Sorted(slices.Values(ratios))
	n := len(s)
	if n == 0 {
		return interval{math.Inf(-1), math.NaN(), math.Inf(1)}
	}
	mid := (s[(n-1)/2] + s[n/2]) / 2
	k := outside(n)
	if k < 0 {
		return interval{math.Inf(-1), mid, math.Inf(1)}
	}
	return interval{s[k], mid, s[n-1-k]}
}

// outside returns how many of n pairs the interval leaves out at each end: the most for
// which a fair coin falls that often, or less, on one side with a probability of at most half
// of what the confidence leaves. It is negative if there is no such number.
func outside(n int) int {
	p, sum := math.Exp2(-float64(n)), 0.0 // of exactly k
	for k := 0; ; k++ {
		if sum += p; sum > (1-confidence)/2 {
			return k - 1
		}
		p *= float64(n-k) / float64(k+1)
	}
}

// decide judges the ratios of HEAD to BASE by the tolerated growth, such as 0.05. noise are
// ratios of BASE to itself, from the same turns: a difference that BASE has to itself shows
// nothing.
func decide(ratios, noise []float64, tolerance float64) (interval, interval, verdict) {
	change, floor := intervalOf(ratios), intervalOf(noise)
	most := 1 + tolerance
	switch {
	case change.low > most && change.low > floor.high:
		return change, floor, slower
	case change.high < 1/most && change.high < floor.low:
		return change, floor, faster
	case change.high <= most:
		return change, floor, fine
	}
	return change, floor, cannotTell
}
