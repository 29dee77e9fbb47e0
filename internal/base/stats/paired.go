package stats

import "math"

// A Paired is the difference of two shares of the same trials.
type Paired struct {
	N     int     `json:"n"`    // pairs
	Value float64 `json:"mean"` // of the first share minus the second
	Low   float64 `json:"low"`
	High  float64 `json:"high"`
	P     float64 `json:"p"` // see [McNemar]
}

// NewPaired returns the difference of two shares of n trials, of which gained are successes in
// the first only, and lost in the second only. The 95 % interval is Wald's with half a trial
// added to each of the four cells (Agresti and Min 2005). Without a trial it says nothing.
func NewPaired(gained, lost, n int) Paired {
	d := Paired{N: n, Low: -1, High: 1, P: 1}
	if n == 0 {
		return d
	}
	d.Value, d.P = float64(gained-lost)/float64(n), McNemar(gained, lost)
	b, c, all := float64(gained)+0.5, float64(lost)+0.5, float64(n)+2
	middle := (b - c) / all
	margin := z * math.Sqrt(max(0, b+c-(b-c)*(b-c)/all)) / all
	d.Low, d.High = max(-1, middle-margin), min(1, middle+margin)
	return d
}
