package metagraph

import (
	"math"
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"
)

// An index finds traces by the words of their queries, with their counts, and by
// their embeddings.
type index struct {
	docs  []*entry
	words []word // of all docs, one after another
	ends  []int  // where the words of each doc end
	terms map[string]*term
	// counts are the numbers of docs that have a term, by its id. They change with each trace,
	// and so does the weight of every term.
	counts []int32
	sums   sync.Pool // *[]float32, all zero
	// vectors are those of the traces that have one, by the model that made them.
	vectors map[string]*vectors
}

// A word occurs in a query count times.
type word struct {
	term  int32 // its id
	count float32
}

// A term is a word of any query, and the queries that contain it.
type term struct {
	id      int
	in      []posting
	repeats bool // some query contains it twice
}

type posting struct {
	doc   int32
	count float32
}

// maxWords is how many words of a query count.
const maxWords = 2048

// count returns the words of a text with their counts, in order of first
// occurrence. Case of letters is ignored. A number is one word.
func count(text string) (list []string, counts map[string]float32) {
	counts = map[string]float32{}
	n := 0
	for w := range strings.FieldsFuncSeq(text, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != utf8.RuneError }) {
		if n++; n > maxWords {
			break
		}
		w = strings.ToLower(w)
		if counts[w]++; counts[w] == 1 {
			list = append(list, w)
		}
	}
	return list, counts
}

func (x *index) insert(e *entry) {
	if x.terms == nil {
		x.terms, x.vectors = map[string]*term{}, map[string]*vectors{}
	}
	list, counts := count(e.Key)
	for _, w := range list {
		t := x.terms[w]
		if t == nil {
			t = &term{id: len(x.terms)}
			x.terms[w] = t
			x.counts = append(x.counts, 0)
		}
		x.counts[t.id]++
		t.in = append(t.in, posting{int32(len(x.docs)), counts[w]})
		t.repeats = t.repeats || counts[w] > 1
		x.words = append(x.words, word{int32(t.id), counts[w]})
	}
	x.docs, x.ends = append(x.docs, e), append(x.ends, len(x.words))
	x.embed(e)
}

// weight says how much a term matters that is in n of the traces: the rarer, the more.
func (x *index) weight(n int32) float32 {
	return float32(math.Log(1 + float64(len(x.docs))/float64(max(1, n))))
}

// fewTraces is up to how many traces have a term for which weigh computes a weight only once:
// most terms are rare.
const fewTraces = 256

// weigh sets the weights of all terms.
func (x *index) weigh(weights []float32) {
	var rare [fewTraces]float32
	for id, n := range x.counts {
		if n >= fewTraces {
			weights[id] = x.weight(n)
			continue
		}
		if rare[n] == 0 {
			rare[n] = x.weight(n)
		}
		weights[id] = rare[n]
	}
}

// A find is a trace and its similarity to the query.
type find struct {
	*entry
	similarity float64
}

// lexical visits the traces whose similarity to a text is at least floor. The
// similarity is the weight of the words that both have, divided by the weight of
// the words that either has. Words count as often as they occur. The similarity is
// 1 for the same words with the same counts, and 0 for no words in common. visit
// returns a floor, which may have risen.
func (x *index) lexical(text string, floor float64, visit func(find) float64) {
	list, counts := count(text)
	sums, weights := room(&x.sums, len(x.docs)), room(&x.sums, len(x.terms))
	defer giveBack(&x.sums, sums, weights)
	x.weigh(*weights)
	var whole, every float32 // the weight of the text, and of its words that occur once in every trace
	for _, w := range list {
		n, t := counts[w], x.terms[w]
		if t == nil {
			whole += x.weight(0) * n // in no trace, so it has the largest weight
			continue
		}
		weight := (*weights)[t.id]
		whole += weight * n
		if len(t.in) == len(x.docs) && !t.repeats {
			every += weight
			continue
		}
		for _, p := range t.in {
			(*sums)[p.doc] += weight * min(n, p.count)
		}
	}
	// Traces that share most of the text come first. They raise the floor, so that
	// most of the others need no second look.
	most := 0.75 * whole
	for _, first := range []bool{true, false} {
		enough := float32(floor-1e-5) * whole // if the trace had no other word
		for i, common := range *sums {
			if common += every; common == 0 || common < enough || (common >= most) != first {
				continue
			}
			if s := similarity(common, whole, x.sum(i, *weights)); s >= floor {
				floor = visit(find{x.docs[i], s})
				enough = float32(floor-1e-5) * whole
			}
		}
	}
}

// sum returns the weight of all words of a trace. Weights are by term.
func (x *index) sum(i int, weights []float32) (sum float32) {
	from := 0
	if i > 0 {
		from = x.ends[i-1]
	}
	for _, w := range x.words[from:x.ends[i]] {
		sum += weights[w.term] * w.count
	}
	return sum
}

// similarity divides common by what either has. Rounding does not take it above 1.
func similarity(common, a, b float32) float64 {
	s := float64(common) / float64(a+b-common)
	if s > 1-1e-5 {
		return 1
	}
	return s
}

// room returns n zeros.
func room(pool *sync.Pool, n int) *[]float32 {
	r, _ := pool.Get().(*[]float32)
	if r == nil || cap(*r) < n {
		s := make([]float32, n, n+n/4)
		return &s
	}
	*r = (*r)[:n]
	return r
}

func giveBack(pool *sync.Pool, rooms ...*[]float32) {
	for _, r := range rooms {
		clear(*r)
		pool.Put(r)
	}
}

// vectors are embeddings of one model and one dimension, normalised to length 1,
// one after another.
type vectors struct {
	long    int
	entries []*entry
	flat    []float32
	sketches
}

// embed stores a trace's embedding.
func (x *index) embed(e *entry) {
	unit := normal(e.Vector)
	if unit == nil {
		return
	}
	v := x.vectors[e.Space]
	if v == nil {
		v = &vectors{long: len(unit)}
		x.vectors[e.Space] = v
	}
	if v.long == len(unit) {
		v.entries, v.flat = append(v.entries, e), append(v.flat, unit...)
	}
}

// forget drops the embedding that a trace had.
func (x *index) forget(e *entry, space string) {
	v := x.vectors[space]
	if v == nil {
		return
	}
	if i := slices.Index(v.entries, e); i >= 0 {
		v.entries = slices.Delete(v.entries, i, i+1)
		v.flat = slices.Delete(v.flat, i*v.long, (i+1)*v.long)
		v.sketches.forget(i)
	}
}

// normal returns a vector of length 1. For a vector without a direction it returns
// nil.
func normal(v []float32) []float32 {
	sum := 0.0
	for _, x := range v {
		sum += float64(x) * float64(x)
	}
	if sum == 0 || math.IsNaN(sum) || math.IsInf(sum, 0) {
		return nil
	}
	unit := make([]float32, len(v))
	for i, x := range v {
		unit[i] = float32(float64(x) / math.Sqrt(sum))
	}
	return unit
}

// dense visits the traces whose embedding has at least the cosine floor; one in 30,000 of
// those at the floor may be missed, see [sketchSpread]. visit returns a floor, which may
// have risen.
func (x *index) dense(space string, vector []float32, floor float64, visit func(find) float64) {
	v, unit := x.vectors[space], normal(vector)
	if v == nil || len(unit) != v.long {
		return
	}
	compare := func(i int, floor float64) float64 {
		cosine := dot(unit, v.flat[i*v.long:(i+1)*v.long])
		if float64(cosine) < floor {
			return floor
		}
		return visit(find{v.entries[i], min(1, float64(cosine))})
	}
	done, floor := v.near(v, unit, floor, compare)
	for i := done; i < len(v.entries); i++ {
		floor = compare(i, floor)
	}
}

// dot adds into four sums, which a processor computes side by side.
func dot(a, b []float32) float32 {
	var s0, s1, s2, s3 float32
	n := len(a) &^ 3
	b = b[:len(a)]
	for i := 0; i < n; i += 4 {
		s0 += a[i] * b[i]
		s1 += a[i+1] * b[i+1]
		s2 += a[i+2] * b[i+2]
		s3 += a[i+3] * b[i+3]
	}
	for i := n; i < len(a); i++ {
		s0 += a[i] * b[i]
	}
	return s0 + s1 + s2 + s3
}
