package stats

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// TestStudentQuantile compares the quantiles with a published table.
func TestStudentQuantile(t *testing.T) {
	for degrees, want := range map[int]float64{1: 12.706, 2: 4.303, 3: 3.182, 4: 2.776, 5: 2.571, 10: 2.228, 30: 2.042, 120: 1.980, 1_000_000: 1.960} {
		if got := StudentQuantile(degrees); math.Abs(got-want) > 6e-4 {
			t.Errorf("%d degrees: %.4f, want %.3f", degrees, got, want)
		}
	}
}

// TestRatio checks that a ratio over units of one each is the usual mean with the
// usual interval, that units which are alike within count once, and that the order of
// the units changes no bit.
func TestRatio(t *testing.T) {
	values := []float64{4, 8, 15, 16, 23, 42}
	var single, many []Sum
	for _, v := range values {
		single, many = append(single, Sum{v, 1}), append(many, Sum{7 * v, 7})
	}
	// The mean is 18, the standard deviation 13.4907, the quantile for 5 degrees 2.5706.
	margin := 2.5706 * 13.4907 / math.Sqrt(6)
	for name, units := range map[string][]Sum{"single": single, "seven alike": many} {
		value, interval := Ratio(units)
		if value != 18 || math.Abs(interval.Low-(18-margin)) > 0.002 || math.Abs(interval.High-(18+margin)) > 0.002 {
			t.Errorf("%s: %v %v, want 18 ± %.3f", name, value, *interval, margin)
		}
	}
	var units []Sum
	for range 50 {
		units = append(units, Sum{rand.Float64() * 1e9, rand.Float64()})
	}
	value, interval := Ratio(units)
	slices.Reverse(units)
	if again, same := Ratio(units); again != value || *same != *interval {
		t.Errorf("the order of the units changes the ratio: %v %v, %v %v", value, interval, again, same)
	}
	if value, interval := Ratio([]Sum{{0.1, 1}, {0.7, 7}, {0.3, 3}}); math.Abs(value-0.1) > 1e-12 || interval != nil {
		t.Errorf("units that are alike: %v %v", value, interval)
	}
	if value, interval := Ratio([]Sum{{10, 4}}); value != 2.5 || interval != nil {
		t.Errorf("one unit: %v %v", value, interval)
	}
}

// TestRatioCovers counts how often the interval of a mean over runs holds the true
// mean, where what one run thinks is alike.
func TestRatioCovers(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	covered := 0
	const trials = 2000
	for range trials {
		var units []Sum
		for range 8 {
			own := r.NormFloat64()
			u := Sum{}
			for range 1 + r.IntN(20) {
				u.Above, u.Below = u.Above+10+own+r.NormFloat64()/4, u.Below+1
			}
			units = append(units, u)
		}
		if _, i := Ratio(units); i.Low <= 10 && 10 <= i.High {
			covered++
		}
	}
	if share := float64(covered) / trials; share < 0.90 || share > 0.98 {
		t.Errorf("%.3f of the intervals hold the mean, want about 0.95", share)
	}
}
