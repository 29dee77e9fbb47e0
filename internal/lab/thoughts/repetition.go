package thoughts

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/sotto-llm/sotto/internal/base/lexical"
	"github.com/sotto-llm/sotto/internal/base/shorttext"
)

// A Repetition row is one measure of one group.
type Repetition struct {
	Group   string `json:"group"`
	Measure string `json:"measure"`
	// Space is lexical, or the model whose embeddings are compared.
	Space string `json:"space"`
	Estimate
}

// The measures of repetition.
const (
	Itself    = "itself"
	Loops     = "loops"
	Previous  = "previous"
	Nearest   = "nearest"
	Identical = "identical"
	Across    = "across"
)

const (
	shingle    = 4    // words
	window     = 8    // thoughts before, of the same run
	loopAt     = 0.5  // of the shingles
	crossPairs = 50   // pairs of one thought with thoughts of other runs
	maxCrossed = 1000 // thoughts that are compared with those of other runs
)

var repetitionMethod = fmt.Sprintf("Itself: the share of the sequences of %d words of a thought that stood in it before. "+
	"loops: the share of thoughts of which more than %.0f %% repeat in this way. "+
	"previous: similarity to the thought before in the same run or conversation; nearest: the highest similarity to one of the %d before. "+
	"identical: the share of thoughts whose text is that of another one that is held. "+
	"across: the mean similarity to thoughts of other runs, of up to %d thoughts with the %d that follow them by rank. "+
	"Similarity is the cosine of the counts of groups of four letters in words, 1 + ln n each, without common English words, in the first %d KiB (lexical); or that of the embeddings of a model. %s; for loops and identical it is Wilson's",
	shingle, 100*loopAt, window, maxCrossed, crossPairs, maxGiven>>10, meanMethod)

// repeats measures a thought against itself and against those before it in its run.
func (c *collector) repeats(r *reply, t *thinking) {
	r.itself, r.previous, r.nearest = math.NaN(), math.NaN(), math.NaN()
	if t.text == "" {
		return
	}
	r.itself = repeated(t.text)
	r.same = digestOf(t.text)
	if r.series == "" {
		return
	}
	run := c.run(r.series)
	v := lexical.NewVector(t.text)
	for i, other := range run.recent {
		s := v.Similarity(other)
		if i == len(run.recent)-1 {
			r.previous = s
		}
		if !(r.nearest >= s) {
			r.nearest = s
		}
	}
	run.number++
	r.number = run.number
	if len(run.recent) == window {
		run.recent = slices.Delete(run.recent, 0, 1)
	}
	run.recent = append(run.recent, v)
}

// repeated returns the share of the shingles of a text that it had before; NaN if it
// has none.
func repeated(text string) float64 {
	seen := map[uint64]bool{}
	var last [shingle]uint64
	n, again := 0, 0
	for word := range words(text) {
		copy(last[:], last[1:])
		last[shingle-1] = digestOf(word)
		if n++; n < shingle {
			continue
		}
		key := uint64(14695981039346656037)
		for _, w := range last {
			key = (key ^ w) * 1099511628211
		}
		if seen[key] {
			again++
		}
		seen[key] = true
	}
	if n < shingle {
		return math.NaN()
	}
	return float64(again) / float64(n-shingle+1)
}

// digestOf returns a digest of a text, FNV-1a.
func digestOf(text string) uint64 {
	h := uint64(14695981039346656037)
	for i := range len(text) {
		h = (h ^ uint64(text[i])) * 1099511628211
	}
	return h
}

// repetition returns the measures of each group.
func repetition(groups []group, lex lexicalVectors, o Options) (Figure[Repetition], error) {
	f := Figure[Repetition]{Method: repetitionMethod, Rows: []Repetition{}}
	known := func(of func(*reply) float64) func(*reply) (float64, bool) {
		return func(r *reply) (float64, bool) { v := of(r); return v, !math.IsNaN(v) }
	}
	copies := map[uint64]int{}
	for _, r := range groups[len(groups)-1].replies {
		if r.same != 0 {
			copies[r.same]++
		}
	}
	vectors, err := embedded(groups[len(groups)-1].replies, o)
	if err != nil {
		return f, err
	}
	for _, g := range groups {
		add := func(measure, space string, e Estimate) {
			if e.N > 0 {
				f.Rows = append(f.Rows, Repetition{g.name, measure, space, e.within(0, 1)})
			}
		}
		add(Itself, "lexical", mean(g.replies, known(func(r *reply) float64 { return r.itself })))
		measured := filtered(g.replies, func(r *reply) bool { return !math.IsNaN(r.itself) })
		add(Loops, "lexical", rate("", measured, func(r *reply) bool { return r.itself > loopAt }).estimate())
		add(Previous, "lexical", mean(g.replies, known(func(r *reply) float64 { return r.previous })))
		add(Nearest, "lexical", mean(g.replies, known(func(r *reply) float64 { return r.nearest })))
		withText := filtered(g.replies, func(r *reply) bool { return r.same != 0 })
		add(Identical, "lexical", rate("", withText, func(r *reply) bool { return copies[r.same] > 1 }).estimate())
		add(Across, "lexical", across(g.replies, lex))
		if vectors != nil {
			add(Previous, o.Space, mean(g.replies, known(vectors.previous)))
			add(Across, o.Space, across(g.replies, vectors))
		}
	}
	if len(f.Rows) == 0 {
		f.Note = noTexts
	}
	return f, nil
}

const noTexts = "no text of a thought is recorded"

func filtered(replies []*reply, keep func(*reply) bool) []*reply {
	var list []*reply
	for _, r := range replies {
		if keep(r) {
			list = append(list, r)
		}
	}
	return list
}

// A space says how similar the thoughts of two replies are.
type space interface {
	similarity(a, b *reply) float64
}

// lexicalVectors are the vectors of texts that were needed so far.
type lexicalVectors map[*reply]lexical.Vector

func (v lexicalVectors) of(r *reply) lexical.Vector {
	if _, ok := v[r]; !ok {
		v[r] = lexical.NewVector(r.text)
	}
	return v[r]
}

func (v lexicalVectors) similarity(a, b *reply) float64 { return v.of(a).Similarity(v.of(b)) }

// comparable returns the replies that are compared as texts across runs, by rank.
func comparable(replies []*reply) []*reply {
	var list []*reply
	for _, r := range replies {
		if r.text != "" && r.series != "" && len(list) < maxCrossed {
			list = append(list, r)
		}
	}
	return list
}

// across is the mean similarity of thoughts to those of other runs. A thought is a
// unit's: the mean over its pairs.
func across(replies []*reply, in space) Estimate {
	list := comparable(replies)
	means := map[*reply]float64{}
	for i, r := range list {
		sum, n := 0.0, 0
		for step := 1; step < len(list) && n < crossPairs; step++ {
			if other := list[(i+step)%len(list)]; other.root() != r.root() {
				sum += in.similarity(r, other)
				n++
			}
		}
		if n > 0 {
			means[r] = sum / float64(n)
		}
	}
	return mean(list, func(r *reply) (float64, bool) { m, ok := means[r]; return m, ok })
}

// embeddings are vectors of thoughts, of length 1.
type embeddings struct {
	of map[*reply][]float32
	at map[ordinal]*reply
}

// An ordinal is a thought's place in its run.
type ordinal struct {
	series string
	number int
}

// embedded asks for the vectors of the texts that are held.
func embedded(replies []*reply, o Options) (*embeddings, error) {
	if o.Embed == nil {
		return nil, nil
	}
	var list []*reply
	var texts []string
	for _, r := range replies {
		if r.text != "" {
			list, texts = append(list, r), append(texts, strings.ToValidUTF8(shorttext.Cut(r.text, maxGiven), "\uFFFD"))
		}
	}
	e := &embeddings{map[*reply][]float32{}, map[ordinal]*reply{}}
	if len(list) == 0 {
		return e, nil
	}
	vectors, err := o.Embed(o.Context, texts)
	if err != nil {
		return nil, fmt.Errorf("embeddings of %d thoughts: %w", len(texts), err)
	}
	if len(vectors) != len(texts) {
		return nil, fmt.Errorf("embeddings: %d vectors for %d thoughts", len(vectors), len(texts))
	}
	for i, r := range list {
		e.of[r] = vectors[i]
		e.at[ordinal{r.series, r.number}] = r
	}
	return e, nil
}

func (e *embeddings) similarity(a, b *reply) float64 {
	var dot, x, y float64
	v, w := e.of[a], e.of[b]
	for i := range min(len(v), len(w)) {
		dot += float64(v[i]) * float64(w[i])
		x += float64(v[i]) * float64(v[i])
		y += float64(w[i]) * float64(w[i])
	}
	if x == 0 || y == 0 {
		return 0
	}
	return min(max(dot/math.Sqrt(x*y), 0), 1)
}

// previous is the similarity to the thought before in the run, if it is held too.
func (e *embeddings) previous(r *reply) float64 {
	before := e.at[ordinal{r.series, r.number - 1}]
	if e.of[r] == nil || before == nil || r.series == "" {
		return math.NaN()
	}
	return e.similarity(r, before)
}
