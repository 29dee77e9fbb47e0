package thoughts

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/sotto-llm/sotto/internal/base/stats"
)

// A Phrase row is a phrase that one of two groups uses more than the other.
type Phrase struct {
	// Contrast says what is compared: "A | B".
	Contrast string `json:"contrast"`
	// More is the group that uses the phrase more.
	More   string `json:"more"`
	Phrase string `json:"phrase"`
	// A and B are the thoughts of the two groups that have the phrase, of OfA and OfB.
	A   int `json:"a"`
	OfA int `json:"of_a"`
	B   int `json:"b"`
	OfB int `json:"of_b"`
	// LogOdds is the difference of the log-odds of a thought with the phrase; above 0, A
	// uses it more. Low and High bound it.
	LogOdds float64 `json:"log_odds"`
	Low     float64 `json:"low"`
	High    float64 `json:"high"`
	// Z is of the score test, and P of Fisher's exact test.
	Z float64 `json:"z"`
	P float64 `json:"p"`
	// Clear says that P is below the bound for all phrases that were compared.
	Clear bool `json:"clear"`
}

const (
	longestPhrase = 3  // words
	fewestUses    = 3  // thoughts that have a phrase
	phrasesShown  = 10 // of each side
	maxContrasts  = 20
	// maxPhraseText bounds the texts whose phrases are compared, in bytes.
	maxPhraseText = 16 << 20
	// maxPhraseBytes bounds a phrase: longer words are data, not language.
	maxPhraseBytes = 80
)

var phrasesMethod = fmt.Sprintf("Phrases of 1 to %d words that at least %d of the thoughts held as texts have. A thought counts once for each phrase, however often it repeats it. "+
	"p is of Fisher's exact test of the thoughts with and without the phrase in the two groups, and z of the score test. The difference of log-odds has half a thought added to each of the four counts (Gart 1966), the interval is 1.96 standard deviations. "+
	"Thoughts count as independent. A phrase is clear if p is below Tarone's bound for all sets of thoughts that have a phrase: then at most 5 %% of comparisons of groups that are alike have a clear phrase. Longer thoughts have more phrases of every kind", longestPhrase, fewestUses)

// A tally is the uses of phrases in some thoughts.
type tally struct {
	thoughts int
	uses     map[string]use
}

// A use is how many thoughts have a phrase, and which ones: the sum of their numbers.
type use struct {
	n   int
	set uint64
}

// numbersOfThoughts gives thoughts numbers, of which different sets have different sums.
func numbersOfThoughts() *rand.PCG { return rand.NewPCG(1, 2) }

func newTally() *tally { return &tally{uses: map[string]use{}} }

// count takes the phrases of a thought, each once.
func (t *tally) count(number uint64, list []string) {
	t.thoughts++
	for _, p := range list {
		u := t.uses[p]
		t.uses[p] = use{u.n + 1, u.set + number}
	}
}

// phrasesOf returns the phrases of a text, each once, sorted.
func phrasesOf(text string, longest int) []string {
	var last []string
	seen := map[string]bool{}
	for word := range words(text) {
		if len(word) > maxPhraseBytes {
			last = last[:0]
			continue
		}
		if last = append(last, word); len(last) > longest {
			last = last[1:]
		}
		for n := 1; n <= len(last); n++ {
			if phrase := strings.Join(last[len(last)-n:], " "); len(phrase) <= maxPhraseBytes {
				seen[phrase] = true
			}
		}
	}
	list := make([]string, 0, len(seen))
	for p := range seen {
		list = append(list, p)
	}
	slices.Sort(list)
	return list
}

// phrases compares right and wrong replies, and the groups.
func phrases(all []*reply, groups []group, o Options) Figure[Phrase] {
	f := Figure[Phrase]{Method: phrasesMethod, Rows: []Phrase{}}
	per, cut := phrasesPer(all)
	if cut {
		f.Note = fmt.Sprintf("only the first %d of the thoughts held as texts, by rank: %d MiB", len(per), maxPhraseText>>20)
	}
	if len(per) == 0 {
		f.Note = noTexts
		return f
	}
	for _, c := range contrasts(all, groups, o) {
		f.Rows = append(f.Rows, compare(c, per)...)
	}
	if len(f.Rows) == 0 {
		f.Note = "there are no two groups of thoughts, or they have no phrase in common"
	}
	return f
}

// phrasesPer returns the phrases of each thought that enough thoughts have. cut reports
// whether there are more thoughts than it reads.
func phrasesPer(all []*reply) (per map[*reply][]string, cut bool) {
	var list []*reply
	uses, size := map[uint64]int32{}, 0 // by digest: most phrases are rare, and need no text
	for _, r := range all {
		if r.text == "" {
			continue
		}
		if size += len(r.text); size > maxPhraseText && len(list) > 0 {
			cut = true
			break
		}
		list = append(list, r)
		for _, p := range phrasesOf(r.text, longestPhrase) {
			uses[digestOf(p)]++
		}
	}
	per = make(map[*reply][]string, len(list))
	known := map[string]string{} // one copy of each
	for _, r := range list {
		own := []string{}
		for _, p := range phrasesOf(r.text, longestPhrase) {
			if uses[digestOf(p)] < fewestUses {
				continue
			}
			if _, ok := known[p]; !ok {
				known[p] = p
			}
			own = append(own, known[p])
		}
		per[r] = own
	}
	return per, cut
}

// A contrast is two groups whose phrases are compared.
type contrast struct{ a, b group }

// contrasts returns what is compared: right and wrong, then the two groups that were
// asked for, or each group and the others.
func contrasts(all []*reply, groups []group, o Options) []contrast {
	verdicts := [3]group{{name: "unjudged"}, {name: "wrong"}, {name: "right"}}
	for _, r := range all {
		verdicts[r.verdict].replies = append(verdicts[r.verdict].replies, r)
	}
	list := []contrast{{verdicts[right], verdicts[wrong]}}
	own := groups[:len(groups)-1]
	if o.Between != [2]string{} {
		pair := [2]group{{name: o.Between[0]}, {name: o.Between[1]}}
		for i := range pair {
			for _, g := range own {
				if g.name == pair[i].name {
					pair[i] = g
				}
			}
		}
		return append(list, contrast{pair[0], pair[1]})
	}
	switch {
	case o.By == ByVerdict || len(own) < 2:
		return list
	case len(own) == 2:
		return append(list, contrast{own[0], own[1]})
	}
	for i, g := range own[:min(len(own), maxContrasts)] {
		others := group{name: "others"}
		for j, h := range own {
			if i != j {
				others.replies = append(others.replies, h.replies...)
			}
		}
		list = append(list, contrast{g, others})
	}
	return list
}

// clearLevel bounds the chance that any phrase of groups that are alike is clear.
const clearLevel = 0.05

// compare returns the phrases that part two groups most.
func compare(c contrast, per map[*reply][]string) []Phrase {
	a, b := newTally(), newTally()
	draw := numbersOfThoughts()
	for _, side := range []struct {
		tally   *tally
		replies []*reply
	}{{a, c.a.replies}, {b, c.b.replies}} {
		for _, r := range side.replies {
			if p, ok := per[r]; ok {
				side.tally.count(draw.Uint64(), p)
			}
		}
	}
	if a.thoughts == 0 || b.thoughts == 0 {
		return nil
	}
	rows, bound := contrasted(a, b)
	for i := range rows {
		rows[i].Contrast = c.a.name + " | " + c.b.name
		rows[i].More = c.a.name
		if rows[i].Z < 0 {
			rows[i].More = c.b.name
		}
		rows[i].Clear = rows[i].P <= bound
	}
	return append(strongest(rows, 1), strongest(rows, -1)...)
}

// contrasted returns a row for each phrase that both tallies together have often enough, and
// the bound of p below which one is clear. Phrases of the same thoughts are one test.
func contrasted(a, b *tally) (rows []Phrase, bound float64) {
	f := fourfold{a.thoughts, b.thoughts, map[[2]int]float64{}, map[int]float64{}}
	tests := map[uint64]float64{} // by set of thoughts, the least p
	row := func(p string) {
		x, y := a.uses[p], b.uses[p]
		all := x.n + y.n
		if all < fewestUses || all == f.ofA+f.ofB { // a phrase of all thoughts parts none
			return
		}
		tests[x.set+y.set] = f.least(all)
		r := f.row(x.n, y.n)
		r.Phrase = p
		rows = append(rows, r)
	}
	for p := range a.uses {
		row(p)
	}
	for p := range b.uses {
		if a.uses[p].n == 0 {
			row(p)
		}
	}
	return rows, stats.Tarone(clearLevel, slices.Collect(maps.Values(tests)))
}

// A fourfold compares how many thoughts of two groups have a phrase. It keeps the p-values,
// because many phrases have the same counts.
type fourfold struct {
	ofA, ofB int
	p        map[[2]int]float64
	leastP   map[int]float64
}

func (f *fourfold) fisher(a, b int) float64 {
	p, ok := f.p[[2]int{a, b}]
	if !ok {
		p = stats.Margins{OfA: f.ofA, OfB: f.ofB, Having: a + b}.Fisher(a)
		f.p[[2]int{a, b}] = p
	}
	return p
}

func (f *fourfold) least(having int) float64 {
	p, ok := f.leastP[having]
	if !ok {
		p = stats.Margins{OfA: f.ofA, OfB: f.ofB, Having: having}.LeastFisher()
		f.leastP[having] = p
	}
	return p
}

// row returns the figures of a phrase that a thoughts of the one group have, and b of the
// other; not all have it, and not none.
func (f *fourfold) row(a, b int) Phrase {
	n, m := float64(f.ofA), float64(f.ofB)
	share := float64(a+b) / (n + m)
	withA, withB := float64(a)+0.5, float64(b)+0.5
	withoutA, withoutB := n-float64(a)+0.5, m-float64(b)+0.5
	d := math.Log(withA/withoutA) - math.Log(withB/withoutB)
	margin := 1.959963984540054 * math.Sqrt(1/withA+1/withB+1/withoutA+1/withoutB)
	z := (float64(a)/n - float64(b)/m) / math.Sqrt(share*(1-share)*(1/n+1/m))
	return Phrase{A: a, OfA: f.ofA, B: b, OfB: f.ofB, LogOdds: d, Low: d - margin, High: d + margin, Z: z, P: f.fisher(a, b)}
}

// strongest returns the phrases of one side that are the least likely by chance. A phrase that
// is part of a longer one in the same thoughts says nothing of its own.
func strongest(rows []Phrase, side float64) []Phrase {
	rows = slices.DeleteFunc(slices.Clone(rows), func(p Phrase) bool { return side*p.Z <= 0 })
	slices.SortFunc(rows, func(a, b Phrase) int {
		return cmp.Or(cmp.Compare(a.P, b.P), cmp.Compare(side*b.Z, side*a.Z), cmp.Compare(len(b.Phrase), len(a.Phrase)), strings.Compare(a.Phrase, b.Phrase))
	})
	var list []Phrase
	for _, p := range rows {
		if len(list) == phrasesShown {
			break
		}
		if !slices.ContainsFunc(list, func(q Phrase) bool { return q.A == p.A && q.B == p.B && strings.Contains(q.Phrase, p.Phrase) }) {
			list = append(list, p)
		}
	}
	return list
}
