package thoughts

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
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
	// LogOdds is the difference of the log-odds; above 0, A uses it more. Interval is in
	// the same terms, and Z its z-score.
	LogOdds float64 `json:"log_odds"`
	Low     float64 `json:"low"`
	High    float64 `json:"high"`
	Z       float64 `json:"z"`
	// Clear says that the z-score is beyond Bonferroni's bound for all phrases that were
	// compared.
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
	"The difference of log-odds between two groups has an informative Dirichlet prior: as many phrases as a thought has on average, in the proportions of both groups together (Monroe, Colaresi and Quinn 2008); z is the difference by its standard deviation, the interval is 1.96 of them. "+
	"Thoughts count as independent. A phrase is clear if |z| is beyond Bonferroni's 5 %% bound for all phrases of the comparison", longestPhrase, fewestUses)

// A tally is the counts of phrases in some thoughts.
type tally struct {
	thoughts int
	total    float64
	counts   map[string]int
}

func newTally() *tally { return &tally{counts: map[string]int{}} }

// count takes the phrases of a thought, each once.
func (t *tally) count(list []string) {
	t.thoughts++
	t.total += float64(len(list))
	for _, p := range list {
		t.counts[p]++
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

// LogOdds returns the difference of the log-odds of a phrase between two groups, and
// its standard deviation, with an informative Dirichlet prior. a and b are how often
// the groups use it, of totalA and totalB; prior is the weight that the prior gives to
// the phrase, of totalPrior.
func LogOdds(a, totalA, b, totalB, prior, totalPrior float64) (difference, deviation float64) {
	odds := func(n, total float64) float64 { return math.Log((n + prior) / (total + totalPrior - n - prior)) }
	return odds(a, totalA) - odds(b, totalB), math.Sqrt(1/(a+prior) + 1/(b+prior))
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

// compare returns the phrases that part two groups most.
func compare(c contrast, per map[*reply][]string) []Phrase {
	a, b := newTally(), newTally()
	for t, list := range map[*tally][]*reply{a: c.a.replies, b: c.b.replies} {
		for _, r := range list {
			if p, ok := per[r]; ok {
				t.count(p)
			}
		}
	}
	if a.thoughts == 0 || b.thoughts == 0 {
		return nil
	}
	rows := logOddsOf(a, b)
	bound := math.Sqrt2 * math.Erfinv(1-0.05/float64(max(1, len(rows))))
	for i := range rows {
		rows[i].Contrast = c.a.name + " | " + c.b.name
		rows[i].More = c.a.name
		if rows[i].Z < 0 {
			rows[i].More = c.b.name
		}
		rows[i].Clear = math.Abs(rows[i].Z) > bound
	}
	return append(strongest(rows, 1), strongest(rows, -1)...)
}

// logOddsOf returns a row for each phrase that both tallies together have often
// enough.
func logOddsOf(a, b *tally) []Phrase {
	weight := (a.total + b.total) / float64(max(1, a.thoughts+b.thoughts)) // of the prior
	var rows []Phrase
	row := func(p string) {
		y, x := float64(a.counts[p]), float64(b.counts[p])
		if y+x < fewestUses {
			return
		}
		prior := weight * (y + x) / (a.total + b.total)
		d, sd := LogOdds(y, a.total, x, b.total, prior, weight)
		if math.IsNaN(d) || math.IsInf(d, 0) { // no thought has any other phrase
			return
		}
		rows = append(rows, Phrase{
			Phrase: p, A: a.counts[p], OfA: a.thoughts, B: b.counts[p], OfB: b.thoughts,
			LogOdds: d, Low: d - 1.959963984540054*sd, High: d + 1.959963984540054*sd, Z: d / sd,
		})
	}
	for p := range a.counts {
		row(p)
	}
	for p := range b.counts {
		if a.counts[p] == 0 {
			row(p)
		}
	}
	return rows
}

// strongest returns the phrases of one side with the highest z-scores. A phrase that
// is part of a longer one in the same thoughts says nothing of its own.
func strongest(rows []Phrase, side float64) []Phrase {
	rows = slices.DeleteFunc(slices.Clone(rows), func(p Phrase) bool { return side*p.Z <= 0 })
	slices.SortFunc(rows, func(a, b Phrase) int {
		return cmp.Or(cmp.Compare(side*b.Z, side*a.Z), cmp.Compare(len(b.Phrase), len(a.Phrase)), strings.Compare(a.Phrase, b.Phrase))
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
