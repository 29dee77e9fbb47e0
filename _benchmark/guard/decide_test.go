package main

import (
	"math"
	"math/rand/v2"
	"testing"
)

// drawn makes n ratios around a middle.
func drawn(r *rand.Rand, n int, middle, spread float64) []float64 {
	all := make([]float64, n)
	for i := range all {
		all[i] = middle * math.Exp(spread*r.NormFloat64())
	}
	return all
}

// TestOutside compares with tables of the sign test, two-sided, at 1 %.
func TestOutside(t *testing.T) {
	for n, want := range map[int]int{0: -1, 1: -1, 7: -1, 8: 0, 10: 0, 11: 0, 12: 1, 14: 1, 15: 2, 20: 3, 25: 5, 50: 15, 100: 36} {
		if got := outside(n); got != want {
			t.Errorf("of %d pairs %d are left out at each end, want %d", n, got, want)
		}
	}
}

// TestIntervalHolds: the interval holds the true median at least as often as it says,
// also where single pairs are far off.
func TestIntervalHolds(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	const times = 20000
	for _, n := range []int{8, 13, 32} {
		missed := 0
		for range times {
			pairs := drawn(r, n, 1.03, 0.05)
			for i := range pairs {
				if r.IntN(8) == 0 { // another program had the processor
					pairs[i] = 1.03 * math.Exp(2*r.NormFloat64())
				}
			}
			if x := intervalOf(pairs); x.low > 1.03 || x.high < 1.03 {
				missed++
			}
		}
		// A fifth more than 1 % is four standard deviations.
		if share := float64(missed) / times; share > 1.2*(1-confidence) {
			t.Errorf("with %d pairs the interval misses the median in %.2f %%", n, 100*share)
		}
	}
}

func TestDecide(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for _, c := range []struct {
		name                  string
		pairs                 int
		middle, spread, noise float64
		want                  verdict
	}{
		{"the same", 30, 1, 0.02, 1, fine},
		{"within the tolerance", 30, 1.02, 0.02, 1, fine},
		{"slower", 30, 1.3, 0.05, 1, slower},
		{"a little slower, and steady", 30, 1.08, 0.01, 1, slower},
		{"slower, but too few pairs", 7, 2, 0.01, 1, cannotTell},
		{"at the tolerance", 30, 1.05, 0.03, 1, cannotTell},
		{"slower, in much noise", 10, 1.1, 0.3, 1, cannotTell},
		{"slower, but BASE differs from itself as much", 30, 1.1, 0.01, 1.1, cannotTell},
		{"faster", 30, 0.8, 0.02, 1, faster},
		{"faster, but BASE differs from itself as much", 30, 0.8, 0.02, 0.8, fine},
	} {
		_, _, got := decide(drawn(r, c.pairs, c.middle, c.spread), drawn(r, c.pairs, c.noise, c.spread), 0.05)
		if got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}

// TestFalseAlarms: with equal programs the guard says almost never that HEAD is slower,
// although it looks again and again while pairs are added.
func TestFalseAlarms(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	const times = 5000
	alarms := 0
	for range times {
		var ratios, noise []float64
		for len(ratios) < 64 {
			ratios, noise = append(ratios, drawn(r, 4, 1, 0.1)...), append(noise, drawn(r, 4, 1, 0.1)...)
			if _, _, v := decide(ratios, noise, 0.05); v == slower {
				alarms++
				break
			} else if v != cannotTell {
				break
			}
		}
	}
	if alarms > times/500 {
		t.Errorf("%d false alarms in %d runs", alarms, times)
	}
}
