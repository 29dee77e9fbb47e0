package stats

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// drawn draws a series of trials of n each at given rates, which vary by up to loose.
func drawn(r *rand.Rand, rates []float64, n int, loose float64) (list []Trial) {
	for _, p := range rates {
		t := Trial{Of: n}
		p *= 1 + loose*(2*r.Float64()-1)
		for range n {
			if r.Float64() < p {
				t.Count++
			}
		}
		list = append(list, t)
	}
	return list
}

func steps(n int, parts ...float64) (rates []float64) {
	for _, p := range parts {
		for range n {
			rates = append(rates, p)
		}
	}
	return rates
}

// TestChangesOfNothing counts how often a series is divided whose rate does not change, also
// where trials are looser than chance.
func TestChangesOfNothing(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	for _, c := range []struct {
		p, loose float64
		n        int
	}{{0.01, 0, 200}, {0.1, 0, 50}, {0.5, 0, 1000}, {0.3, 0.5, 400}, {0.001, 0, 20}, {1, 0, 10}, {0, 0, 10}} {
		wrong := 0
		for range 400 {
			if len(Changes(drawn(r, steps(40, c.p), c.n, c.loose))) > 0 {
				wrong++
			}
		}
		if wrong > 12 {
			t.Errorf("rate %v, %d trials, loose %v: %d of 400 series are divided", c.p, c.n, c.loose, wrong)
		}
	}
}

// TestChanges finds planted changes: where they are, and how many.
func TestChanges(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	for _, c := range []struct {
		rates []float64
		n     int
		want  []int
	}{
		{steps(20, 0.01, 0.12), 300, []int{20}},
		{steps(10, 0, 0.2, 0), 200, []int{10, 20}},
		{steps(15, 0.3, 0.6), 200, []int{15}},
		{append(steps(30, 0.02), 0.5), 200, []int{30}},
	} {
		right := 0
		for range 100 {
			got := Changes(drawn(r, c.rates, c.n, 0))
			if len(got) == len(c.want) && !slices.ContainsFunc(got, func(at int) bool {
				return !slices.ContainsFunc(c.want, func(w int) bool { return at >= w-1 && at <= w+1 })
			}) {
				right++
			}
		}
		if right < 95 {
			t.Errorf("%v: %d of 100 found", c.want, right)
		}
	}
}

// TestChangesAcrossGaps: a change after stretches without trials is where the trials begin.
func TestChangesAcrossGaps(t *testing.T) {
	series := []Trial{{0, 100}, {1, 100}, {}, {}, {40, 100}, {45, 100}}
	if got := Changes(series); !slices.Equal(got, []int{4}) {
		t.Error(got)
	}
	if got := Changes(nil); len(got) != 0 {
		t.Error(got)
	}
	if got := Changes([]Trial{{}, {}, {3, 4}}); len(got) != 0 {
		t.Error(got)
	}
}

// TestChangesWithinATrial: a rate that changes in the middle of a trial changes once, whatever
// part of the trial has the old rate, and between trials that are of nothing.
func TestChangesWithinATrial(t *testing.T) {
	for _, rates := range [][2]float64{{0, 1}, {1, 0}, {0.1, 0.8}, {0.9, 0.2}} {
		for of := range 20 {
			var series []Trial
			for i := range 21 {
				share := 0.0
				if i > 10 {
					share = 1
				} else if i == 10 {
					share = float64(of) / 20
				}
				series = append(series, Trial{int(math.Round(40 * (rates[0]*(1-share) + rates[1]*share))), 40}, Trial{})
			}
			if at := Changes(series); len(at) != 1 || at[0] < 19 || at[0] > 22 {
				t.Errorf("from %v to %v, %d of 20: changes at %v, want one at 20 or 22", rates[0], rates[1], of, at)
			}
		}
	}
	// A trial with a rate of its own is no mixture.
	series := []Trial{{1, 40}, {2, 40}, {1, 40}, {2, 40}, {39, 40}, {20, 40}, {20, 40}, {21, 40}, {20, 40}}
	if at := Changes(series); !slices.Equal(at, []int{4, 5}) {
		t.Errorf("a trial that stands out: changes at %v", at)
	}
}
