package stats

import (
	"math"
	"math/rand/v2"
	"testing"
)

// TestFisher has Fisher's tea tasting, R's example of Job and convictions of twins, and the
// split that Wald's test of log-odds misses.
func TestFisher(t *testing.T) {
	for _, c := range []struct {
		a, ofA, b, ofB int
		want           float64
	}{
		{3, 4, 1, 4, 34.0 / 70}, {2, 17, 10, 13, 0.0005367}, {0, 5, 0, 9, 1}, {5, 5, 0, 5, 2.0 / 252},
	} {
		if got := (Margins{c.ofA, c.ofB, c.a + c.b}).Fisher(c.a); math.Abs(got-c.want) > 1e-7 {
			t.Errorf("%d of %d and %d of %d: %v, want %v", c.a, c.ofA, c.b, c.ofB, got, c.want)
		}
	}
	if p := (Margins{148, 152, 80}).Fisher(80); p > 1e-25 {
		t.Errorf("80 of 148 and 0 of 152: %v", p)
	}
}

// TestLeastFisher compares with all tables that the margins allow.
func TestLeastFisher(t *testing.T) {
	for _, m := range []Margins{{4, 4, 3}, {10, 3, 5}, {7, 9, 16}, {2, 30, 4}, {6, 6, 0}} {
		least := 1.0
		for a := m.least(); a <= m.most(); a++ {
			least = min(least, m.Fisher(a))
		}
		if got := m.LeastFisher(); math.Abs(got-least) > 1e-12 {
			t.Errorf("%+v: %v, want %v", m, got, least)
		}
	}
}

// TestTarone compares with the definition: the fewest tests of which no more can reach the
// bound.
func TestTarone(t *testing.T) {
	r := rand.New(rand.NewPCG(13, 14))
	for range 200 {
		least := make([]float64, r.IntN(60))
		for i := range least {
			least[i] = math.Pow(10, -4*r.Float64())
		}
		want := 1
		for ; ; want++ {
			reach := 0
			for _, p := range least {
				if p <= 0.05/float64(want) {
					reach++
				}
			}
			if reach <= want {
				break
			}
		}
		if got := Tarone(0.05, least); got != 0.05/float64(want) {
			t.Errorf("%v: %v, want 0.05/%d", least, got, want)
		}
	}
}
