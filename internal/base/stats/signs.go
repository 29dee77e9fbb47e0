package stats

import (
	"math"
	"math/bits"
	"slices"
)

// A Test is the result of a test of paired differences.
type Test struct {
	P float64
	// Method says how P was computed.
	Method string
	// Least is the smallest value that P can have for so few pairs. 0 means that their
	// number does not limit it.
	Least float64
}

// The methods of [Sample.SignFlip].
const (
	MethodExact    = "exact sign-flip permutation test"
	MethodBinomial = "exact sign test of equal differences (McNemar)"
	MethodRandom   = "sign-flip permutation test with 10000 random flips"
)

// enumerated is up to how many differences all flips of signs are tried.
const enumerated = 16

// SignFlip tests whether differences between the two sides of pairs are of one sign
// more than chance explains: how likely a mean at least as far from 0 is, if either
// sign of each difference is as likely. It is two-sided. Up to 16 differences that are
// not 0, and for any number that differ only in sign, the value is exact.
func (s *Sample) SignFlip() Test {
	var sizes []float64 // ascending, distinct
	counts := map[float64]int{}
	n := 0
	for i, v := range s.values {
		if v == 0 {
			continue
		}
		size := math.Abs(v)
		if counts[size] == 0 {
			sizes = append(sizes, size)
		}
		counts[size] += s.counts[i]
		n += s.counts[i]
	}
	slices.Sort(sizes)
	least := 0.0
	if s.n <= enumerated {
		least = math.Ldexp(2, -s.n)
	}
	switch {
	case s.n == 0:
		return Test{P: math.NaN()}
	case n == 0:
		return Test{P: 1, Method: MethodExact, Least: least}
	case len(sizes) == 1 && n > enumerated:
		up := 0
		for i, v := range s.values {
			if v > 0 {
				up += s.counts[i]
			}
		}
		return Test{P: McNemar(up, n-up), Method: MethodBinomial, Least: least}
	case n <= enumerated:
		return Test{P: s.flipAll(sizes, counts), Method: MethodExact, Least: least}
	}
	return Test{P: s.flipSome(sizes, counts), Method: MethodRandom, Least: 1.0 / (1 + Resamples)}
}

// far is the least sum, in either direction, that is as far from 0 as that of the
// sample. Sums of the same numbers in another order may differ in their last bits.
func (s *Sample) far(sizes []float64, counts map[float64]int) float64 {
	total := 0.0
	for _, size := range sizes {
		total += size * float64(counts[size])
	}
	return math.Abs(s.sum(s.counts)) - 1e-9*total
}

// flipAll tries all flips of signs.
func (s *Sample) flipAll(sizes []float64, counts map[float64]int) float64 {
	var each []float64
	for _, size := range sizes {
		for range counts[size] {
			each = append(each, size)
		}
	}
	sum := 0.0
	for _, size := range each {
		sum += size
	}
	far, hits := s.far(sizes, counts), 0
	for i := uint(1); ; i++ {
		if math.Abs(sum) >= far {
			hits++
		}
		bit := bits.TrailingZeros(i) // which sign the next one of Gray's code flips
		if bit == len(each) {
			return math.Ldexp(float64(hits), -len(each))
		}
		sum -= 2 * each[bit]
		each[bit] = -each[bit]
	}
}

// flipSome tries random flips. The sample itself counts as one of them.
func (s *Sample) flipSome(sizes []float64, counts map[float64]int) float64 {
	r, far, hits := s.random("signs"), s.far(sizes, counts), 1
	for range Resamples {
		sum := 0.0
		for _, size := range sizes {
			n := counts[size]
			sum += size * float64(2*r.binomial(n, 0.5)-n)
		}
		if math.Abs(sum) >= far {
			hits++
		}
	}
	return float64(hits) / (1 + Resamples)
}
