package metagraph

import (
	"math"
	"math/bits"
	"math/rand/v2"
	"sync"
)

// A sketch is the signs of a vector's products with sketchBits random directions. Two
// vectors at an angle of a differ in each bit with the probability a/π, so the number of bits
// in which their sketches differ says which vectors can be similar. Only those are compared.
type sketch [sketchBits / 64]uint64

const sketchBits = 512

// sketchSpread is how many standard deviations the number of differing bits may be above
// what the floor of a search leads one to expect. A vector at the floor itself is missed with
// a probability of 3 in 100,000, and one above it with less.
const sketchSpread = 4

const (
	// leastSketched is how many vectors there are before sketches pay.
	leastSketched = 4096
	// mostSketched bounds the sketches that one search makes, so that none waits long. The
	// vectors without a sketch are compared.
	mostSketched = 4096
)

// sketches are those of the first vectors of a list.
type sketches struct {
	mu    sync.Mutex
	list  []sketch
	flips []float32 // two rows of random signs
	found sync.Pool // *[]hit
}

// A hit is a vector whose sketch differs in few bits.
type hit struct {
	vector int32
	differ int32
}

// upTo returns the sketches that there are, and that of a query. It makes some more if
// vectors have none.
func (s *sketches) upTo(v *vectors, query []float32) ([]sketch, sketch) {
	s.mu.Lock()
	defer s.mu.Unlock()
	size := sketchBits
	for size < v.long {
		size *= 2
	}
	if s.flips == nil {
		r := rand.New(rand.NewPCG(1, sketchBits)) // the same in each process
		s.flips = make([]float32, 2*size)
		for i := range s.flips {
			s.flips[i] = 1 - 2*float32(r.IntN(2))
		}
	}
	turned := make([]float32, size)
	for n := min(len(v.entries), len(s.list)+mostSketched); len(s.list) < n; {
		i := len(s.list)
		s.list = append(s.list, s.of(v.flat[i*v.long:(i+1)*v.long], turned))
	}
	return s.list, s.of(query, turned)
}

// of turns a vector at random, and takes the signs. The turn is a Hadamard transform after
// random signs, twice, which costs n log n and not n².
func (s *sketches) of(vector, turned []float32) (bits sketch) {
	n := len(turned)
	clear(turned[copy(turned, vector):])
	for round := range 2 {
		for i, flip := range s.flips[round*n : (round+1)*n] {
			turned[i] *= flip
		}
		for half := 1; half < n; half *= 2 {
			for from := 0; from < n; from += 2 * half {
				low, high := turned[from:from+half], turned[from+half:from+2*half]
				for i, a := range low {
					b := high[i]
					low[i], high[i] = a+b, a-b
				}
			}
		}
	}
	for i, x := range turned[:sketchBits] {
		if x > 0 {
			bits[i/64] |= 1 << (i % 64)
		}
	}
	return bits
}

func (s *sketch) differ(t *sketch) int {
	n := 0
	for i := range s {
		n += bits.OnesCount64(s[i] ^ t[i])
	}
	return n
}

// mayDiffer returns in how many bits the sketches of vectors with a cosine may differ.
func mayDiffer(cosine float64) int {
	p := math.Acos(max(-1, min(1, cosine))) / math.Pi
	return int(sketchBits*p + sketchSpread*math.Sqrt(sketchBits*p*(1-p)))
}

// forget drops the sketch of a vector.
func (s *sketches) forget(i int) {
	if i < len(s.list) {
		s.list = append(s.list[:i], s.list[i+1:]...)
	}
}

// near calls visit with the vectors that can have at least the cosine floor, the most similar
// sketches first. visit returns a floor, which may have risen. It returns how many vectors
// had sketches, and the floor.
func (s *sketches) near(v *vectors, query []float32, floor float64, visit func(i int, floor float64) float64) (int, float64) {
	if len(v.entries) < leastSketched {
		return 0, floor
	}
	list, own := s.upTo(v, query)
	most := mayDiffer(floor)
	found, _ := s.found.Get().(*[]hit)
	if found == nil {
		found = new([]hit)
	}
	defer s.found.Put(found)
	hits := (*found)[:0]
	var ends [sketchBits + 2]int
	for i := range list {
		if d := list[i].differ(&own); d <= most {
			hits = append(hits, hit{int32(i), int32(d)})
			ends[d+1]++
		}
	}
	for d := range ends[1:] {
		ends[d+1] += ends[d]
	}
	n := len(hits)
	hits = append(hits, hits...) // room for them in order
	for _, h := range hits[:n] {
		hits[n+ends[h.differ]] = h
		ends[h.differ]++
	}
	*found = hits
	for _, h := range hits[n:] {
		if int(h.differ) > most {
			break
		}
		if rises := visit(int(h.vector), floor); rises > floor {
			floor = rises
			most = mayDiffer(floor)
		}
	}
	return len(list), floor
}
