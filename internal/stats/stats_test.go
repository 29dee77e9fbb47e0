package stats

import (
	"math"
	"testing"
)

// TestWilson compares the interval with published values.
func TestWilson(t *testing.T) {
	for _, test := range []struct {
		count, n  int
		low, high float64
	}{
		{0, 10, 0, 0.2775}, {10, 10, 0.7225, 1}, {5, 10, 0.2366, 0.7634}, {81, 263, 0.2553, 0.3662}, {0, 0, 0, 1},
	} {
		r := NewRate("", test.count, test.n)
		if math.Abs(r.Low-test.low) > 5e-5 || math.Abs(r.High-test.high) > 5e-5 {
			t.Errorf("%d of %d: %.4f … %.4f, want %.4f … %.4f", test.count, test.n, r.Low, r.High, test.low, test.high)
		}
	}
}

// TestPassAtK counts every choice of k replies.
func TestPassAtK(t *testing.T) {
	for n := 1; n <= 8; n++ {
		for c := range n + 1 {
			for k := 1; k <= n; k++ {
				hit, all := 0, 0
				for set := range 1 << n {
					if ones(set) != k {
						continue
					}
					all++
					if set&(1<<c-1) != 0 {
						hit++
					}
				}
				if got, want := PassAtK(n, c, k), float64(hit)/float64(all); math.Abs(got-want) > 1e-12 {
					t.Errorf("n %d c %d k %d: %v, want %v", n, c, k, got, want)
				}
			}
		}
	}
}

func ones(set int) (n int) {
	for ; set > 0; set &= set - 1 {
		n++
	}
	return n
}
