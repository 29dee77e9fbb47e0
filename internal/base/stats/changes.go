package stats

import (
	"math"
	"slices"
)

// A Trial is how many of so many trials succeeded, in one stretch of time.
type Trial struct{ Count, Of int }

// changeLevel bounds the chance that a series without a change is divided.
const changeLevel = 0.01

// Changes finds where the rate of a series changes: it returns the indexes of the trials
// from which another rate holds, ascending. The series is divided where two rates explain
// it best against one, by the likelihood ratio of the binomial distribution, and the parts
// are divided likewise. A division counts if it is that unlikely by chance (1 %), among all
// places at which it could be. Where neighbouring trials differ more than trials with the
// same rate do, as they do when events come in groups, the ratio is divided by how much
// more. A rate that changes in the middle of a trial changes once: at the trial or after it.
func Changes(series []Trial) []int {
	c := changes{series: series, spread: spread(series)}
	c.divide(0, len(series))
	slices.Sort(c.at)
	// A place that was found first may be explained by those that were found after it.
	for again := true; again; {
		again = false
		for i, at := range c.at {
			from, to := 0, len(series)
			if i > 0 {
				from = c.at[i-1]
			}
			if i+1 < len(c.at) {
				to = c.at[i+1]
			}
			if !c.differs(c.ratio(from, at, to), to-from-1) {
				c.at = slices.Delete(c.at, i, i+1)
				again = true
				break
			}
		}
	}
	c.joinMixed()
	return c.at
}

// joinMixed removes one of two changes around a single trial in the middle of which the rate
// changed: its own rate is between those before and after it.
func (c *changes) joinMixed() {
	for i := 0; i+1 < len(c.at); i++ {
		from, to := 0, len(c.series)
		if i > 0 {
			from = c.at[i-1]
		}
		if i+2 < len(c.at) {
			to = c.at[i+2]
		}
		before, mixed, after := sum(c.series[from:c.at[i]]), sum(c.series[c.at[i]:c.at[i+1]]), sum(c.series[c.at[i+1]:to])
		rises := before.rate() < mixed.rate() && mixed.rate() < after.rate()
		falls := before.rate() > mixed.rate() && mixed.rate() > after.rate()
		if !rises && !falls || !c.single(c.at[i], c.at[i+1]) {
			continue
		}
		worse := i
		if c.ratio(from, c.at[i], to) > c.ratio(from, c.at[i+1], to) {
			worse = i + 1
		}
		c.at = slices.Delete(c.at, worse, worse+1)
	}
}

// single reports whether one trial of those from one index to another is of anything.
func (c *changes) single(from, to int) bool {
	n := 0
	for _, t := range c.series[from:to] {
		if t.Of > 0 {
			n++
		}
	}
	return n == 1
}

type changes struct {
	series []Trial
	spread float64
	at     []int
}

// divide divides the part of the series from one index to another.
func (c *changes) divide(from, to int) {
	best, ratio := 0, 0.0
	for at := from + 1; at < to; at++ {
		if r := c.ratio(from, at, to); r > ratio {
			best, ratio = at, r
		}
	}
	if !c.differs(ratio, to-from-1) {
		return
	}
	for best+1 < to && c.series[best].Of == 0 { // the rate is not known before there is a trial
		best++
	}
	c.at = append(c.at, best)
	c.divide(from, best)
	c.divide(best, to)
}

// differs reports whether a ratio is unlikely by chance, as the largest at so many places.
func (c *changes) differs(ratio float64, places int) bool {
	return ratio > 0 && math.Erfc(math.Sqrt(ratio/c.spread/2))*float64(places) < changeLevel
}

// ratio is twice the logarithm of how much better two rates explain a part than one.
func (c *changes) ratio(from, at, to int) float64 {
	a, b := sum(c.series[from:at]), sum(c.series[at:to])
	if a.Of == 0 || b.Of == 0 {
		return 0
	}
	return 2 * (a.likelihood() + b.likelihood() - Trial{a.Count + b.Count, a.Of + b.Of}.likelihood())
}

func sum(list []Trial) (s Trial) {
	for _, t := range list {
		s.Count += t.Count
		s.Of += t.Of
	}
	return s
}

func (t Trial) rate() float64 { return float64(t.Count) / float64(max(1, t.Of)) }

// likelihood is the logarithm of the likelihood of a trial at its own rate.
func (t Trial) likelihood() float64 {
	term := func(k int) float64 {
		if k == 0 {
			return 0
		}
		return float64(k) * math.Log(float64(k)/float64(t.Of))
	}
	return term(t.Count) + term(t.Of-t.Count)
}

// medianOfSquare is the median of the square of a standard normal variable.
const medianOfSquare = 0.4549364

// spread is how much more neighbouring trials differ than trials of one rate, at least 1. It
// is the median of their squared differences in units of chance, so that a few changes of the
// rate do not count.
func spread(series []Trial) float64 {
	var squares []float64
	var before *Trial
	for i := range series {
		t := &series[i]
		if t.Of == 0 {
			continue
		}
		if before != nil {
			a, b := float64(before.Of), float64(t.Of)
			p := float64(before.Count+t.Count) / (a + b)
			if v := p * (1 - p) * (1/a + 1/b); v > 0 {
				d := float64(before.Count)/a - float64(t.Count)/b
				squares = append(squares, d*d/v)
			}
		}
		before = t
	}
	if len(squares) < 8 { // too few to tell
		return 1
	}
	slices.Sort(squares)
	return max(1, quantileOf(squares, 0.5)/medianOfSquare)
}
