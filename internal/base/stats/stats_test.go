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

// TestMcNemar compares the test with the sum of all splits, each as likely.
func TestMcNemar(t *testing.T) {
	for n := range 13 {
		for lost := range n + 1 {
			uneven, far := 0, min(lost, n-lost)
			for set := range 1 << n {
				if k := ones(set); min(k, n-k) <= far {
					uneven++
				}
			}
			if got, want := McNemar(n-lost, lost), float64(uneven)/float64(int(1)<<n); math.Abs(got-want) > 1e-12 {
				t.Errorf("%d gained, %d lost: %v, want %v", n-lost, lost, got, want)
			}
		}
	}
	if p := McNemar(0, 100000); p != 0 && p > 1e-300 {
		t.Errorf("100000 lost: %v", p)
	}
}

// TestClustered compares intervals of replies that all answer their problem alike
// with those of single replies, which say as much.
func TestClustered(t *testing.T) {
	var alike, single []Cluster
	for i := range 40 {
		right := i % 4 / 3
		alike, single = append(alike, Cluster{10, 10 * right}), append(single, Cluster{1, right})
	}
	many, few := Clustered(NewRate("", 100, 400), alike), Clustered(NewRate("", 10, 40), single)
	if math.Abs(many.Low-few.Low) > 1e-12 || math.Abs(many.High-few.High) > 1e-12 {
		t.Errorf("400 replies to 40 problems: %.4f … %.4f, 40 replies: %.4f … %.4f", many.Low, many.High, few.Low, few.High)
	}
	if w := NewRate("", 100, 400); many.High-many.Low < 3*(w.High-w.Low) {
		t.Errorf("the interval %.4f … %.4f counts replies, not problems", many.Low, many.High)
	}
	all := Clustered(NewRate("", 30, 30), []Cluster{{10, 10}, {10, 10}, {10, 10}})
	if want := NewRate("", 3, 3); all.Low != want.Low || all.High != 1 {
		t.Errorf("three problems, all right: %.4f … %.4f, want %.4f … 1", all.Low, all.High, want.Low)
	}
	if one := Clustered(NewRate("", 1, 3), []Cluster{{3, 1}}); one.Low != 0 || one.High != 1 {
		t.Errorf("one problem: %.4f … %.4f, want 0 … 1", one.Low, one.High)
	}
	if a := NewAverage(1, []float64{1.0 / 3}); a.Low != 0 || a.High != 1 {
		t.Errorf("the mean of one problem: %.4f … %.4f, want 0 … 1", a.Low, a.High)
	}
	if a := NewAverage(1, []float64{1, 1, 1, 1}); a.Low > 0.6 || a.High != 1 {
		t.Errorf("four problems, all right: %.4f … %.4f", a.Low, a.High)
	}
}
