package stats

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// darwin are the differences in height, in eighths of an inch, of Darwin's 15 pairs of
// cross-fertilized and self-fertilized plants.
var darwin = []float64{49, -67, 8, 16, 6, 23, 28, 41, 14, 29, 56, 24, 75, 60, -48}

// TestSignFlipOfDarwin compares the test with Fisher's own figure (The Design of
// Experiments, 1935, section 21): 1,726 of 32,768 ways are as extreme.
func TestSignFlipOfDarwin(t *testing.T) {
	s := NewSample(darwin)
	got := s.SignFlip()
	if want := 1726.0 / 32768; math.Abs(got.P-want) > 1e-15 || got.Method != MethodExact {
		t.Errorf("%v by %s, want %v", got.P, got.Method, want)
	}
	if got.Least != 2.0/32768 {
		t.Errorf("the least p-value is %v", got.Least)
	}
	many := NewSample(slices.Concat(darwin, darwin[:5]))
	exact, random := slowFlips(slices.Concat(darwin, darwin[:5])), many.SignFlip()
	if random.Method != MethodRandom || math.Abs(random.P-exact) > 4*math.Sqrt(exact/Resamples) {
		t.Errorf("20 pairs: %v by %s, want about %v", random.P, random.Method, exact)
	}
}

// slowFlips tries every flip of signs.
func slowFlips(d []float64) float64 {
	hits, total := 0, 0.0
	for _, v := range d {
		total += v
	}
	for flips := range 1 << len(d) {
		sum := 0.0
		for i, v := range d {
			if flips&(1<<i) != 0 {
				v = -v
			}
			sum += v
		}
		if math.Abs(sum) >= math.Abs(total)-1e-9 {
			hits++
		}
	}
	return float64(hits) / float64(int(1)<<len(d))
}

func TestSignFlip(t *testing.T) {
	for _, test := range []struct {
		d      []float64
		method string
	}{
		{[]float64{1}, MethodExact}, {[]float64{0, 0}, MethodExact}, {[]float64{0.1, 0.2, -0.3, 0.4, 0}, MethodExact},
		{[]float64{-2, -1, -1, -3, -0.5}, MethodExact}, {[]float64{1, 1, 1, -1}, MethodExact},
		{slices.Repeat([]float64{-1, 1, 1, 0}, 6), MethodBinomial},
	} {
		s := NewSample(test.d)
		if got, want := s.SignFlip(), slowFlips(slices.DeleteFunc(slices.Clone(test.d), func(v float64) bool { return v == 0 })); math.Abs(got.P-want) > 1e-12 || got.Method != test.method {
			t.Errorf("%v: %v by %s, want %v by %s", test.d, got.P, got.Method, want, test.method)
		}
	}
	// The number of pairs decides, not how many of them differ.
	if zeros := NewSample([]float64{0, 0, 0, 1}); zeros.SignFlip().Least != 0.125 {
		t.Errorf("four pairs: at least %v, want 0.125", zeros.SignFlip().Least)
	}
	empty := NewSample(nil)
	if p := empty.SignFlip().P; !math.IsNaN(p) {
		t.Errorf("no pairs: %v, want NaN", p)
	}
}

// TestBootstrapOfAllSamples compares the interval with that of all n^n samples, with
// the correction computed in another way: its acceleration from the jackknife.
func TestBootstrapOfAllSamples(t *testing.T) {
	for _, values := range [][]float64{{1, 2, 4, 8, 16, 3, 5}, {0.2, 0.25, 0.22, 0.3, 0.21, 0.5, 0.27}, {1, 1, 1, 2, 2, 5, 9}} {
		n := len(values)
		var means []float64
		pick := make([]int, n)
		for i := 0; i >= 0; {
			sum := 0.0
			for _, p := range pick {
				sum += values[p]
			}
			means = append(means, sum/float64(n))
			for i = n - 1; i >= 0 && pick[i] == n-1; i-- {
				pick[i] = 0
			}
			if i >= 0 {
				pick[i]++
			}
		}
		slices.Sort(means)
		mean, left := 0.0, make([]float64, n)
		for i := range values {
			mean += values[i] / float64(n)
			for j := range values {
				if j != i {
					left[i] += values[j] / float64(n-1)
				}
			}
		}
		cubes, squares, below := 0.0, 0.0, 0.0
		for _, l := range left {
			cubes, squares = cubes+math.Pow(mean-l, 3), squares+math.Pow(mean-l, 2)
		}
		for _, m := range means {
			switch {
			case math.Abs(m-mean) < 1e-12:
				below += 0.5
			case m < mean:
				below++
			}
		}
		bias, a := quantileOfNormal(below/float64(len(means))), cubes/6/math.Pow(squares, 1.5)
		s := NewSample(values)
		got := s.bootstrap()
		for q, end := range map[float64]float64{-z: got.Low, z: got.High} {
			level := normal(bias + (bias+q)/(1-a*(bias+q)))
			few := 0.0015 + 5*math.Sqrt(level*(1-level)/Resamples) // what random samples are off by
			if low, high := quantileOf(means, level-few), quantileOf(means, level+few); end < low || end > high {
				t.Errorf("%v: %.4f, of all samples %.4f … %.4f", values, end, low, high)
			}
		}
	}
}

// The bootstrap of many zeros and ones, which draws counts, has the interval that
// statisticians compute for a share, and the same for every order of the values.
func TestBootstrapOfShare(t *testing.T) {
	values := make([]float64, 1000)
	for i := range 300 {
		values[i] = 1
	}
	s := NewSample(values)
	got := s.bootstrap()
	if want := NewRate("", 300, 1000); math.Abs(got.Low-want.Low) > 0.002 || math.Abs(got.High-want.High) > 0.002 {
		t.Errorf("%.4f … %.4f, Wilson's %.4f … %.4f", got.Low, got.High, want.Low, want.High)
	}
	slices.Reverse(values)
	if again := NewSample(values); *again.bootstrap() != *got {
		t.Error("the interval depends on the order")
	}
}

// TestIntervalCovers counts how often the interval holds the true mean, where values are
// normal, skewed (exponential) and shares of ten problems.
func TestIntervalCovers(t *testing.T) {
	r := rand.New(rand.NewPCG(11, 12))
	const trials = 1500
	kinds := []struct {
		name  string
		mean  float64
		draw  func() float64
		least float64 // of the small samples
	}{
		{"normal", 0, r.NormFloat64, 0.935},
		{"skewed", 1, r.ExpFloat64, 0.87},
		{"shares", 0.6, func() (v float64) {
			for range 10 {
				if r.Float64() < 0.6 {
					v += 0.1
				}
			}
			return v
		}, 0.92},
	}
	for _, kind := range kinds {
		for _, n := range []int{3, 5, 9} {
			held := 0
			for range trials {
				values := make([]float64, n)
				for i := range values {
					values[i] = kind.draw()
				}
				s := NewSample(values)
				if i := s.IntervalOfMean(); i != nil && i.Low <= kind.mean && kind.mean <= i.High {
					held++
				}
			}
			if share := float64(held) / trials; share < kind.least || share > 0.965 {
				t.Errorf("%d %s values: %.3f of the intervals hold the mean, want about 0.95", n, kind.name, share)
			}
		}
	}
}

func TestSample(t *testing.T) {
	s := NewSample([]float64{4, math.NaN(), 2, 4, math.Inf(1), 4, 5, 5, 7, 9})
	if s.N() != 8 || s.Mean() != 5 || math.Abs(s.Deviation()-math.Sqrt(32.0/7)) > 1e-12 || s.Min() != 2 || s.Max() != 9 {
		t.Errorf("n %d mean %v deviation %v from %v to %v", s.N(), s.Mean(), s.Deviation(), s.Min(), s.Max())
	}
	for _, values := range [][]float64{nil, {3}, {3, 3}} {
		s := NewSample(values)
		if got := s.IntervalOfMean(); got != nil {
			t.Errorf("%v: %+v", values, got)
		}
	}
}

// TestBinomial compares how often each number comes with its probability.
func TestBinomial(t *testing.T) {
	s := NewSample([]float64{1, 2})
	r := s.random("test")
	for _, test := range []struct {
		n int
		p float64
	}{{1, 0.5}, {10, 0.1}, {40, 0.7}, {100000, 0.00003}, {200, 0.999}} {
		const draws = 20000
		seen := map[int]int{}
		for range draws {
			seen[r.binomial(test.n, test.p)]++
		}
		for k := range min(test.n, 250) + 1 {
			p := math.Exp(lnChoose(test.n, k) + float64(k)*math.Log(test.p) + float64(test.n-k)*math.Log1p(-test.p))
			if off := math.Abs(float64(seen[k]) - draws*p); off > 5*math.Sqrt(draws*p*(1-p))+1 {
				t.Errorf("%d of %d at %v: %d times in %d, want %.1f", k, test.n, test.p, seen[k], draws, draws*p)
			}
		}
	}
	if got := r.binomial(5, 1); got != 5 {
		t.Errorf("%d of 5 certain trials", got)
	}
}

// TestHolm has the example of R's documentation of p.adjust, computed by hand.
func TestHolm(t *testing.T) {
	got := Holm([]float64{0.01, 0.04, math.NaN(), 0.03, 0.005})
	for i, want := range []float64{0.03, 0.06, 0, 0.06, 0.02} {
		if i == 2 {
			if !math.IsNaN(got[i]) {
				t.Errorf("a test that was not made got %v", got[i])
			}
		} else if math.Abs(got[i]-want) > 1e-15 {
			t.Errorf("%d: %v, want %v", i, got[i], want)
		}
	}
	if got := Holm([]float64{0.9, 0.8}); got[0] != 1 || got[1] != 1 {
		t.Errorf("%v, want at most 1", got)
	}
}

func BenchmarkBootstrap(b *testing.B) {
	for name, s := range map[string]Sample{"5 repetitions": NewSample([]float64{1, 2, 3, 4, 9}), "100000 problems": shares(100000)} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				s.bootstrap()
			}
		})
	}
}

func shares(n int) Sample {
	values := make([]float64, n)
	for i := range values {
		values[i] = float64(i%11-5) / 5
	}
	return NewSample(values)
}
