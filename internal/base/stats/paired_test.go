package stats

import (
	"math/rand/v2"
	"testing"
)

// TestPairedCovers counts how often the interval holds the true difference.
func TestPairedCovers(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 10))
	for _, c := range []struct {
		gain, loss float64
		n          int
	}{{0.1, 0.05, 50}, {0.3, 0.1, 20}, {0.02, 0.02, 200}, {0, 0.5, 30}, {0.25, 0.25, 12}} {
		held := 0
		for range 2000 {
			gained, lost := 0, 0
			for range c.n {
				switch u := r.Float64(); {
				case u < c.gain:
					gained++
				case u < c.gain+c.loss:
					lost++
				}
			}
			if d := NewPaired(gained, lost, c.n); d.Low <= c.gain-c.loss && c.gain-c.loss <= d.High {
				held++
			}
		}
		if share := float64(held) / 2000; share < 0.93 || share > 0.999 {
			t.Errorf("%+v: %v of the intervals hold the difference", c, share)
		}
	}
}

// TestPaired has an example computed by hand, and the ends.
func TestPaired(t *testing.T) {
	d := NewPaired(12, 4, 100)
	if d.N != 100 || d.Value != 0.08 || d.Low < 0.00068 || d.Low > 0.00069 || d.High < 0.1561 || d.High > 0.1562 {
		t.Errorf("%+v", d)
	}
	if d := NewPaired(0, 0, 0); d.Low != -1 || d.High != 1 || d.P != 1 {
		t.Errorf("%+v", d)
	}
	if d := NewPaired(3, 0, 3); d.High > 1 || d.Low >= d.High || d.Value != 1 {
		t.Errorf("%+v", d)
	}
}
