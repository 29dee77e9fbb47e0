package soak

import (
	"fmt"
	"math"
	"slices"
	"testing"
)

// A bound says how much a figure may grow from the first to the last of its samples: by a
// share of its median, or by an amount if that is more.
type bound struct{ share, amount float64 }

// A trend is what samples of a figure say, one after the other at equal distances.
type trend struct {
	growth         float64 // from the first to the last, along a robust line
	middle         float64
	second, fourth float64 // the medians of these quarters
}

// trendOf leaves out the first quarter of the samples, in which caches and pools fill. The
// line has the median of the slopes between all pairs of samples (Theil and Sen), so that
// single high samples do not count.
func trendOf(samples []float64) trend {
	t := trend{middle: median(samples)}
	quarter := len(samples) / 4
	t.second, t.fourth = median(samples[quarter:2*quarter]), median(samples[3*quarter:])
	samples = samples[quarter:]
	var slopes []float64
	for i := range samples {
		for j := range i {
			slopes = append(slopes, (samples[i]-samples[j])/float64(i-j))
		}
	}
	t.growth = median(slopes) * float64(len(samples)-1)
	return t
}

// of returns how much growth a bound allows.
func (b bound) of(t trend) float64 { return max(b.share*math.Abs(t.middle), b.amount) }

func median(values []float64) float64 {
	if len(values) == 0 {
		return 0
	}
	values = slices.Sorted(slices.Values(values))
	return (values[(len(values)-1)/2] + values[len(values)/2]) / 2
}

// TestTrend: noise and single peaks are no growth, and neither is what grows in the first
// quarter alone. A slow leak below the noise is growth.
func TestTrend(t *testing.T) {
	samples := func(f func(i int) float64) (list []float64) {
		for i := range 120 {
			list = append(list, 100+float64(i*7919%13-6)+f(i))
		}
		return list
	}
	for name, v := range map[string]struct {
		more        func(i int) float64
		least, most float64
	}{
		"noise":         {func(int) float64 { return 0 }, -1, 1},
		"peaks":         {func(i int) float64 { return float64(max(0, i%20-18) * 500) }, -1, 1},
		"filled caches": {func(i int) float64 { return float64(min(i, 30)) * 10 }, -1, 1},
		"a leak":        {func(i int) float64 { return float64(i) / 10 }, 8, 10},
	} {
		if got := trendOf(samples(v.more)).growth; got < v.least || got > v.most {
			t.Errorf("%s: growth %.2f, want %g to %g", name, got, v.least, v.most)
		}
	}
}

// String shows figures as whole numbers.
func (t trend) String() string {
	return fmt.Sprintf("median %.0f, growth %+.0f, second quarter %.0f, last quarter %.0f", t.middle, t.growth, t.second, t.fourth)
}
