package stats

import (
	"cmp"
	"math"
	"slices"
)

// A Sum is what one independent unit, such as a run, adds to a ratio.
type Sum struct{ Above, Below float64 }

// An Interval is a 95 % confidence interval.
type Interval struct {
	Low  float64 `json:"low"`
	High float64 `json:"high"`
}

// Ratio returns the ratio of two totals over independent units, with the interval of
// the ratio estimator: Student's, with one degree of freedom less than there are
// units. If each Below is a count, the ratio is a mean over what was counted, and the
// interval allows for what is alike within a unit. The interval is nil if there is
// only one unit, because one says nothing about others, and if all have the same ratio,
// because then nothing says how much others differ. It is not bounded: a caller
// that knows bounds of the value applies them with [Interval.Within].
func Ratio(units []Sum) (value float64, interval *Interval) {
	units = slices.Clone(units)
	slices.SortFunc(units, func(a, b Sum) int { // so that the sum does not depend on their order
		return cmp.Or(cmp.Compare(a.Below, b.Below), cmp.Compare(a.Above, b.Above))
	})
	above, below := 0.0, 0.0
	for _, u := range units {
		above += u.Above
		below += u.Below
	}
	if below == 0 {
		return 0, nil
	}
	value = above / below
	if len(units) < 2 {
		return value, nil
	}
	squares := 0.0
	for _, u := range units {
		d := u.Above - value*u.Below
		squares += d * d
	}
	if math.Sqrt(squares) <= 1e-12*math.Abs(above) { // rounding
		return value, nil
	}
	n := float64(len(units))
	margin := StudentQuantile(len(units)-1) * math.Sqrt(squares*n/(n-1)) / below
	return value, &Interval{value - margin, value + margin}
}

// Within returns the interval cut to bounds.
func (i *Interval) Within(low, high float64) *Interval {
	if i == nil {
		return nil
	}
	return &Interval{min(max(i.Low, low), high), max(min(i.High, high), low)}
}

// StudentQuantile returns the quantile of Student's distribution for a two-sided 95 %
// interval.
func StudentQuantile(degrees int) float64 {
	low, high := z, 13.0 // that of one degree is 12.706
	for range 60 {
		middle := (low + high) / 2
		if studentTail(middle, float64(degrees)) > 0.025 {
			low = middle
		} else {
			high = middle
		}
	}
	return high
}

// studentTail is how likely a value of Student's distribution above t is: half of the
// regularised incomplete beta function of degrees/2 and 1/2.
func studentTail(t, degrees float64) float64 {
	return incompleteBeta(degrees/2, 0.5, degrees/(degrees+t*t)) / 2
}

// incompleteBeta is the regularised incomplete beta function, by its continued
// fraction (Abramowitz and Stegun, 26.5.8; Lentz's method).
func incompleteBeta(a, b, x float64) float64 {
	if x <= 0 || x >= 1 {
		return min(max(x, 0), 1)
	}
	whole, _ := math.Lgamma(a + b)
	first, _ := math.Lgamma(a)
	second, _ := math.Lgamma(b)
	front := math.Exp(whole - first - second + a*math.Log(x) + b*math.Log1p(-x))
	if x > (a+1)/(a+b+2) {
		return 1 - front*betaFraction(b, a, 1-x)/b
	}
	return front * betaFraction(a, b, x) / a
}

func betaFraction(a, b, x float64) float64 {
	const tiny = 1e-300
	away := func(v float64) float64 { // from zero
		if math.Abs(v) < tiny {
			return tiny
		}
		return v
	}
	c, d := 1.0, 1/away(1-(a+b)*x/(a+1))
	h := d
	for m := 1.0; m <= 1000; m++ {
		even := m * (b - m) * x / ((a + 2*m - 1) * (a + 2*m))
		d, c = 1/away(1+even*d), away(1+even/c)
		h *= d * c
		odd := -(a + m) * (a + b + m) * x / ((a + 2*m) * (a + 2*m + 1))
		d, c = 1/away(1+odd*d), away(1+odd/c)
		h *= d * c
		if math.Abs(d*c-1) < 1e-14 {
			break
		}
	}
	return h
}
