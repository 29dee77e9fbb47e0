package stats

import (
	"cmp"
	"encoding/binary"
	"math"
	"math/rand/v2"
	"slices"
)

const (
	// unitResamples is how many samples [UnitInterval] draws. The ends of the interval of an
	// agreement move by less than 0.01 between two seeds.
	unitResamples = 2000
	// mostLeftOut is the largest number of units for which the skewness is estimated by leaving
	// out each of them. With more, it does not matter.
	mostLeftOut = 2000
)

// UnitInterval returns the interval of a figure that rests on n independent units, by the
// bootstrap over the units with bias and skewness corrected (BCa; Efron 1987). of returns
// the figure if the unit i counts weights[i] times, or NaN if there is none for these weights. The interval is nil with fewer than [FewestResampled] units,
// and if the figure does not exist for one sample in ten or is always the same. The same units in the same order
// have the same interval.
func UnitInterval(n int, of func(weights []int) float64) *Interval {
	if n < FewestResampled {
		return nil
	}
	weights := make([]int, n)
	for i := range weights {
		weights[i] = 1
	}
	value := of(weights)
	if math.IsNaN(value) {
		return nil
	}
	acceleration := leftOut(weights, of)
	seed := binary.BigEndian.Uint64([]byte("units..."))
	r := &source{rand.NewPCG(seed, uint64(n))}
	var drawn []float64
	for range unitResamples {
		clear(weights)
		for range n {
			weights[r.below(n)]++
		}
		if v := of(weights); !math.IsNaN(v) {
			drawn = append(drawn, v)
		}
	}
	slices.Sort(drawn)
	if len(drawn) < unitResamples*9/10 || drawn[0] == drawn[len(drawn)-1] {
		return nil
	}
	from, _ := slices.BinarySearch(drawn, value-1e-12)
	to, _ := slices.BinarySearch(drawn, value+1e-12)
	count := float64(len(drawn))
	bias := quantileOfNormal(min(max(float64(from+to)/2, 0.5), count-0.5) / count)
	corrected := func(quantile float64) float64 {
		at := bias + quantile
		return quantileOf(drawn, normal(bias+at/(1-acceleration*at)))
	}
	return &Interval{Low: corrected(-z), High: corrected(z)}
}

// leftOut estimates the skewness of a figure from its values without each unit.
func leftOut(weights []int, of func([]int) float64) float64 {
	if len(weights) > mostLeftOut {
		return 0
	}
	var each []float64
	for i := range weights {
		weights[i] = 0
		if v := of(weights); !math.IsNaN(v) {
			each = append(each, v)
		}
		weights[i] = 1
	}
	s := NewSample(each)
	if squares := s.moment(2); squares > 0 {
		return -s.moment(3) / (6 * squares * math.Sqrt(squares))
	}
	return 0
}

// FQuantile returns the quantile of Fisher's F distribution below which a share p of it is.
// The degrees need not be whole.
func FQuantile(p, above, below float64) float64 {
	low, high := 0.0, 1.0 // of the share x = above·F / (above·F + below), which has the beta distribution
	for range 200 {
		middle := (low + high) / 2
		if incompleteBeta(above/2, below/2, middle) < p {
			low = middle
		} else {
			high = middle
		}
	}
	x := cmp.Or((low+high)/2, math.SmallestNonzeroFloat64)
	return below * x / (above * (1 - x))
}
