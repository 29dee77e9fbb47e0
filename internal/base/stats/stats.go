// Package stats has rates, means and paired differences with their intervals, and
// tests of them.
package stats

import (
	"cmp"
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
	r.Rate = float64(count) / float64(n)
	r.Low, r.High = wilson(r.Rate, float64(n))
	return r
}

// wilson returns Wilson's interval for a share of n trials. n need not be whole.
func wilson(p, n float64) (low, high float64) {
	centre := p + z*z/(2*n)
	margin := z * math.Sqrt(p*(1-p)/n+z*z/(4*n*n))
	below := 1 + z*z/n
	low, high = max(0, (centre-margin)/below), min(1, (centre+margin)/below)
	if p == 0 {
		low = 0
	}
	if p == 1 {
		high = 1
	}
	return low, high
}

// A Cluster holds the replies to one problem: how many, and how many are right.
type Cluster struct{ N, Right int }

// Clustered returns r with an interval for replies that are not independent, because
// several answer the same problem. It is Wilson's for as many replies as would give
// the same variance if they were independent, at most those that there are. If all
// replies are right, or none is, each problem counts once. One problem says nothing
// about others: its interval is 0 to 1.
func Clustered(r Rate, clusters []Cluster) Rate {
	n := 0
	for _, c := range clusters {
		n += c.N
	}
	groups := float64(len(clusters))
	switch {
	case n != r.Of || n == 0:
		return r
	case len(clusters) == 1:
		r.Low, r.High = 0, 1
		return r
	}
	squares := 0.0
	for _, c := range slices.SortedFunc(slices.Values(clusters), compareClusters) { // a sum in one order
		d := float64(c.Right) - r.Rate*float64(c.N)
		squares += d * d
	}
	variance := squares / float64(n) / float64(n) * groups / (groups - 1)
	effective := groups
	if r.Rate > 0 && r.Rate < 1 {
		effective = min(float64(n), r.Rate*(1-r.Rate)/max(variance, 1e-300))
	}
	r.Low, r.High = wilson(r.Rate, effective)
	return r
}

func compareClusters(a, b Cluster) int {
	return cmp.Or(cmp.Compare(a.N, b.N), cmp.Compare(a.Right, b.Right))
}

// NewAverage returns the mean over the problems, with the normal interval. If all
// problems have the same value, it is Wilson's. One problem says nothing about
// others: its interval is 0 to 1.
func NewAverage(k int, each []float64) Average {
	slices.Sort(each) // so that the sum does not depend on their order
	a := Average{K: k, Problems: len(each), High: 1}
	squares := 0.0
	for _, x := range each {
		a.Solved += x
		squares += x * x
	}
	n := float64(len(each))
	a.Rate = a.Solved / n
	switch {
	case len(each) < 2:
		return a
	case each[0] == each[len(each)-1]:
		a.Rate = each[0]
		a.Low, a.High = wilson(a.Rate, n)
		return a
	}
	margin := z * math.Sqrt(max(0, squares/n-a.Rate*a.Rate)/(n-1))
	a.Low, a.High = max(0, a.Rate-margin), min(1, a.Rate+margin)
	return a
}

// McNemar returns the two-sided p-value of McNemar's exact test: how likely a split
// of the pairs that changed, at least as uneven as gained against lost, is if both
// directions are equally likely.
func McNemar(gained, lost int) float64 {
	n, fewer := float64(gained+lost), min(gained, lost)
	if gained == lost {
		return 1
	}
	total, _ := math.Lgamma(n + 1)
	p := 0.0
	for i := range fewer + 1 {
		chosen, _ := math.Lgamma(float64(i) + 1)
		rest, _ := math.Lgamma(n - float64(i) + 1)
		p += math.Exp(total - chosen - rest - n*math.Ln2)
	}
	return min(1, 2*p)
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
