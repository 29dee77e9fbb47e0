package stats

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math"
	"math/bits"
	"math/rand/v2"
	"slices"
)

// Resamples is how many samples a bootstrap draws, and how many flips a random test
// of signs makes.
const Resamples = 10000

// A Sample is the values of a measure as their distinct values, ascending, and how
// often each occurs. The figures of a sample do not depend on the order of the values,
// and their cost depends little on how many there are.
type Sample struct {
	values []float64
	counts []int
	n      int
}

// NewSample returns a sample. It leaves out values that are not finite.
func NewSample(values []float64) Sample {
	sorted := slices.DeleteFunc(slices.Clone(values), func(v float64) bool { return math.IsNaN(v) || math.IsInf(v, 0) })
	slices.Sort(sorted)
	s := Sample{n: len(sorted)}
	for i, v := range sorted {
		if i > 0 && v == sorted[i-1] {
			s.counts[len(s.counts)-1]++
			continue
		}
		s.values, s.counts = append(s.values, v), append(s.counts, 1)
	}
	return s
}

// N is how many values there are.
func (s *Sample) N() int { return s.n }

// Min and Max are the least and the largest value. They are 0 in an empty sample.
func (s *Sample) Min() float64 { return s.at(0) }
func (s *Sample) Max() float64 { return s.at(len(s.values) - 1) }

func (s *Sample) at(i int) float64 {
	if len(s.values) == 0 {
		return 0
	}
	return s.values[i]
}

// Mean returns the mean, 0 of an empty sample.
func (s *Sample) Mean() float64 {
	if s.n == 0 {
		return 0
	}
	return s.sum(s.counts) / float64(s.n)
}

func (s *Sample) sum(counts []int) (sum float64) {
	for i, v := range s.values {
		sum += v * float64(counts[i])
	}
	return sum
}

// Deviation returns the standard deviation of the sample, with n - 1 below; 0 if
// there are fewer than two values.
func (s *Sample) Deviation() float64 {
	if s.n < 2 {
		return 0
	}
	return math.Sqrt(s.moment(2) / float64(s.n-1))
}

// moment is the sum of the powers of the distances from the mean.
func (s *Sample) moment(power int) (sum float64) {
	mean := s.Mean()
	for i, v := range s.values {
		d := v - mean
		p := d
		for range power - 1 {
			p *= d
		}
		sum += p * float64(s.counts[i])
	}
	return sum
}

// FewestResampled is the size of the smallest sample whose interval is by the bootstrap. In
// smaller ones a resample has too few distinct values: of three values, BCa's interval holds
// the mean in 70 % of samples, of five in 87 %.
const FewestResampled = 10

// IntervalOfMean returns the 95 % interval of the mean: Student's below [FewestResampled]
// values, otherwise by the bootstrap. It is nil if there are fewer than two values, and if
// all are the same, because then nothing says how much others differ. It is not bounded: a
// caller that knows bounds of the value applies them with [Interval.Within].
func (s *Sample) IntervalOfMean() *Interval {
	switch {
	case len(s.values) < 2:
		return nil
	case s.n < FewestResampled:
		return s.student()
	}
	return s.bootstrap()
}

// student returns Student's interval of the mean.
func (s *Sample) student() *Interval {
	mean, margin := s.Mean(), StudentQuantile(s.n-1)*s.Deviation()/math.Sqrt(float64(s.n))
	return &Interval{Low: mean - margin, High: mean + margin}
}

// bootstrap returns the interval of the mean by the bootstrap, with the percentiles corrected
// for bias and skewness (BCa; Efron 1987), of [Resamples] samples. The same values always
// have the same interval: the seed comes from them.
func (s *Sample) bootstrap() *Interval {
	mean := s.Mean()
	means := s.means(s.random("bootstrap"))
	slices.Sort(means)
	spread := s.moment(2)
	acceleration := s.moment(3) / (6 * spread * math.Sqrt(spread))
	// Half of the ties count as below: the mean of few values is often met, except for
	// its last bits.
	from, _ := slices.BinarySearch(means, mean-1e-9*s.Deviation())
	to, _ := slices.BinarySearch(means, mean+1e-9*s.Deviation())
	below := min(max(float64(from+to)/2, 0.5), Resamples-0.5) / Resamples
	bias := quantileOfNormal(below)
	corrected := func(quantile float64) float64 {
		at := bias + quantile
		return quantileOf(means, normal(bias+at/(1-acceleration*at)))
	}
	return &Interval{Low: corrected(-z), High: corrected(z)}
}

// means draws samples of the size of the sample, with replacement, and returns their
// means. Where values repeat, it draws how often each distinct value comes.
func (s *Sample) means(r *source) []float64 {
	means := make([]float64, Resamples)
	if s.n > 4*len(s.values) {
		draw := make([]int, len(s.counts))
		for i := range means {
			s.draw(r, draw)
			means[i] = s.sum(draw) / float64(s.n)
		}
		return means
	}
	each := make([]float64, 0, s.n)
	for i, v := range s.values {
		for range s.counts[i] {
			each = append(each, v)
		}
	}
	for i := range means {
		sum := 0.0
		for range each {
			sum += each[r.below(len(each))]
		}
		means[i] = sum / float64(s.n)
	}
	return means
}

func (s *Sample) draw(r *source, into []int) {
	left, of := s.n, s.n
	for i, c := range s.counts {
		into[i] = r.binomial(left, float64(c)/float64(of))
		left, of = left-into[i], of-c
	}
}

// quantileOf returns a quantile of sorted values, between the two nearest.
func quantileOf(sorted []float64, q float64) float64 {
	at := min(max(q, 0), 1) * float64(len(sorted)-1)
	i := min(int(at), len(sorted)-2)
	return sorted[i] + (at-float64(i))*(sorted[i+1]-sorted[i])
}

func normal(x float64) float64           { return math.Erfc(-x/math.Sqrt2) / 2 }
func quantileOfNormal(p float64) float64 { return math.Sqrt2 * math.Erfinv(2*p-1) }

// A source is a source of random numbers that is the same on every machine and for
// every version of the compiler.
type source struct{ pcg *rand.PCG }

// random returns a source that only depends on the values and on what it is for.
func (s *Sample) random(purpose string) *source {
	sum := sha256.New()
	fmt.Fprintf(sum, "%s %d\n", purpose, s.n)
	for i, v := range s.values {
		var b [16]byte
		binary.LittleEndian.PutUint64(b[:8], math.Float64bits(v))
		binary.LittleEndian.PutUint64(b[8:], uint64(s.counts[i]))
		sum.Write(b[:])
	}
	seed := sum.Sum(nil)
	return &source{rand.NewPCG(binary.LittleEndian.Uint64(seed), binary.LittleEndian.Uint64(seed[8:]))}
}

// below returns a number from 0 to n - 1.
func (r *source) below(n int) int {
	high, _ := bits.Mul64(r.pcg.Uint64(), uint64(n))
	return int(high)
}

// unit returns a number from 0 to below 1.
func (r *source) unit() float64 { return float64(r.pcg.Uint64()>>11) / (1 << 53) }

// binomial returns how many of n trials succeed. It searches from the likeliest
// number outwards, which takes about as many steps as the standard deviation.
func (r *source) binomial(n int, p float64) int {
	switch {
	case n == 0 || p <= 0:
		return 0
	case p >= 1:
		return n
	}
	mode := min(int(float64(n+1)*p), n)
	atMode := math.Exp(lnChoose(n, mode) + float64(mode)*math.Log(p) + float64(n-mode)*math.Log1p(-p))
	u := r.unit() - atMode
	odds := p / (1 - p)
	below, above := atMode, atMode
	for low, high := mode, mode; u >= 0 && (low > 0 || high < n); {
		if high < n {
			above *= odds * float64(n-high) / float64(high+1)
			high++
			if u -= above; u < 0 {
				return high
			}
		}
		if low > 0 {
			below *= float64(low) / (odds * float64(n-low+1))
			low--
			if u -= below; u < 0 {
				return low
			}
		}
		if max(above, below) < 1e-18 { // what is left of u is rounding
			break
		}
	}
	return mode
}

func lnChoose(n, k int) float64 {
	all, _ := math.Lgamma(float64(n) + 1)
	chosen, _ := math.Lgamma(float64(k) + 1)
	rest, _ := math.Lgamma(float64(n-k) + 1)
	return all - chosen - rest
}

// Holm returns p-values corrected for their number by Holm's method, which bounds
// the chance that any of them is wrongly small. NaN stays, and does not count.
func Holm(p []float64) []float64 {
	var order []int
	for i, v := range p {
		if !math.IsNaN(v) {
			order = append(order, i)
		}
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(p[a], p[b]) })
	corrected := slices.Clone(p)
	most := 0.0
	for rank, i := range order {
		most = max(most, min(1, p[i]*float64(len(order)-rank)))
		corrected[i] = most
	}
	return corrected
}
