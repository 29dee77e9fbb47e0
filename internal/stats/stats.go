// Package stats has rates and means with their intervals.
package stats

import (
	"math"
	"slices"
)

// A Rate is a share with its interval.
type Rate struct {
	Name  string  `json:"name,omitempty"`
	Count int     `json:"count"`
	Of    int     `json:"of"`
	Rate  float64 `json:"rate"`
	Low   float64 `json:"low"`
	High  float64 `json:"high"`
}

// An Average is a mean over problems with its interval.
type Average struct {
	K        int     `json:"k,omitempty"`
	Problems int     `json:"problems"`
	Solved   float64 `json:"solved"`
	Rate     float64 `json:"rate"`
	Low      float64 `json:"low"`
	High     float64 `json:"high"`
}

// z is the quantile of the standard normal distribution for a two-sided 95 %
// interval.
const z = 1.959963984540054

// NewRate returns count of n with Wilson's interval.
func NewRate(name string, count, n int) Rate {
	r := Rate{Name: name, Count: count, Of: n, High: 1}
	if n == 0 {
		return r
	}
	p, size := float64(count)/float64(n), float64(n)
	centre := p + z*z/(2*size)
	margin := z * math.Sqrt(p*(1-p)/size+z*z/(4*size*size))
	below := 1 + z*z/size
	r.Rate, r.Low, r.High = p, max(0, (centre-margin)/below), min(1, (centre+margin)/below)
	if count == 0 {
		r.Low = 0
	}
	if count == n {
		r.High = 1
	}
	return r
}

// NewAverage returns the mean over the problems.
func NewAverage(k int, each []float64) Average {
	slices.Sort(each) // so that the sum does not depend on their order
	a := Average{K: k, Problems: len(each)}
	squares := 0.0
	for _, x := range each {
		a.Solved += x
		squares += x * x
	}
	n := float64(len(each))
	a.Rate = a.Solved / n
	margin := z * math.Sqrt(max(0, squares/n-a.Rate*a.Rate)/max(1, n-1))
	a.Low, a.High = max(0, a.Rate-margin), min(1, a.Rate+margin)
	return a
}

// PassAtK estimates without bias how likely it is that one of k replies is right,
// if c of n were right: 1 - C(n-c,k)/C(n,k).
func PassAtK(n, c, k int) float64 {
	if n-c < k {
		return 1
	}
	miss := 1.0
	for i := n - c + 1; i <= n; i++ {
		miss *= 1 - float64(k)/float64(i)
	}
	return 1 - miss
}

// Ks are the values of k for best of k, as long as there are enough replies.
var Ks = []int{1, 2, 5, 10, 20, 50, 100}

// Named returns a rate under another name.
func Named(name string, r Rate) Rate {
	r.Name = name
	return r
}
