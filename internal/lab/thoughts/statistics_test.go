package thoughts

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// contrastOf compares thoughts with the words of which those that plant is told to have a
// phrase: right ones first.
func contrastOf(r *rand.Rand, rights, wrongs int, plant func(i int) bool) []Phrase {
	per := map[*reply][]string{}
	var c contrast
	for i := range rights + wrongs {
		var text strings.Builder
		for range 30 {
			fmt.Fprintf(&text, "w%d ", int(40*r.ExpFloat64()))
		}
		if plant(i) {
			text.WriteString("let me verify")
		}
		one := &reply{}
		per[one] = phrasesOf(text.String(), longestPhrase)
		if i < rights {
			c.a.replies = append(c.a.replies, one)
		} else {
			c.b.replies = append(c.b.replies, one)
		}
	}
	return compare(c, per)
}

// TestPlantedPhrases finds a phrase that is planted in right thoughts only, at several
// prevalences, and in 80 of 148 right and 0 of 152 wrong thoughts.
func TestPlantedPhrases(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 1))
	for _, test := range []struct{ rights, wrongs, with int }{{148, 152, 80}, {200, 200, 20}, {200, 200, 80}, {200, 200, 200}, {60, 340, 20}} {
		rows := contrastOf(r, test.rights, test.wrongs, func(i int) bool { return i < test.with })
		if len(rows) == 0 || rows[0].Phrase != "let me verify" || !rows[0].Clear || rows[0].A != test.with || rows[0].B != 0 || rows[0].Low <= 0 {
			t.Errorf("%+v: %+v", test, rows[:min(1, len(rows))])
		}
	}
}

// TestShuffledLabels counts how often a phrase is clear where the labels mean nothing, also
// if the groups are of different sizes and a phrase is in half of the thoughts.
func TestShuffledLabels(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 2))
	found := 0
	const trials = 100
	for i := range trials {
		rows := contrastOf(r, []int{20, 60}[i%2], 60, func(int) bool { return r.IntN(2) == 0 })
		if slices.ContainsFunc(rows, func(p Phrase) bool { return p.Clear }) {
			found++
		}
	}
	if found > 5 {
		t.Errorf("%d of %d comparisons of groups that are alike have a clear phrase, want at most 5", found, trials)
	}
}

// TestSameGroups compares groups that say the same: nothing parts them. One that says
// more of a phrase has it first, and the other way round the signs change.
func TestSameGroups(t *testing.T) {
	h := &history{t: t}
	for i := range 12 {
		thought := "<think>check the sum and the product again " + vocabulary[i%4] + "</think>x"
		h.reply("a", i, "one", thought)
		h.reply("b", i, "two", thought)
	}
	if rows := h.analyse(Options{}).Phrases.Rows; len(rows) > 0 {
		t.Errorf("equal groups differ: %+v", rows)
	}
	for i := range 300 {
		h.reply("a", i, "one", "<think>but slow down</think>x")
		h.reply("b", i, "two", "<think>it follows</think>x")
	}
	rows := h.analyse(Options{Between: [2]string{"one", "two"}}).Phrases.Rows
	turned := h.analyse(Options{Between: [2]string{"two", "one"}}).Phrases.Rows
	if len(rows) == 0 || rows[0].Phrase != "but slow down" || rows[0].A != 300 || rows[0].B != 0 || rows[0].More != "one" || !rows[0].Clear {
		t.Fatalf("%+v", rows)
	}
	for _, p := range rows {
		i := slices.IndexFunc(turned, func(q Phrase) bool { return q.Phrase == p.Phrase })
		if i < 0 || math.Abs(turned[i].Z+p.Z) > 1e-12 || turned[i].More != p.More {
			t.Errorf("%q: z %v, turned round %+v", p.Phrase, p.Z, turned)
		}
	}
}

// TestLoopCountsOnce checks that a thought that loops does not outweigh others.
func TestLoopCountsOnce(t *testing.T) {
	if got := phrasesOf(strings.Repeat("on and ", 1000), 3); len(got) != 6 {
		t.Errorf("%q", got)
	}
	if got := phrasesOf("一二三 It's"+strings.Repeat("x", 100)+" so", 2); !slices.Equal(got, []string{"so", "一", "一 二", "三", "二", "二 三"}) {
		t.Errorf("%q", got)
	}
}

// TestLonger compares the share of pairs with a count of all pairs.
func TestLonger(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	for trial := range 20 {
		g := group{name: "g"}
		for i := range 30 {
			g.replies = append(g.replies, &reply{place: place{seq: uint64(i)}, thought: r.IntN(12), verdict: verdict(r.IntN(3))})
		}
		agree, pairs := 0.0, 0.0
		for _, a := range g.replies {
			for _, b := range g.replies {
				if a.verdict != right || b.verdict != wrong {
					continue
				}
				pairs++
				switch {
				case a.thought > b.thought:
					agree++
				case a.thought == b.thought:
					agree += 0.5
				}
			}
		}
		row, ok := longerOf(g)
		if !ok || math.Abs(row.Value-agree/pairs) > 1e-12 {
			t.Errorf("trial %d: %v, want %v", trial, row.Value, agree/pairs)
		}
	}
}

// TestLongerCovers counts how often the interval holds the true share: 0.5, if the
// size says nothing, also where the sizes of a run are alike.
func TestLongerCovers(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	covered := 0
	const trials = 400
	for range trials {
		g := group{name: "g"}
		for run := range 12 {
			own, luck := r.IntN(1000), r.Float64()
			for i := range 8 {
				v := wrong
				if r.Float64() < luck {
					v = right
				}
				g.replies = append(g.replies, &reply{series: fmt.Sprint(run), place: place{seq: uint64(i)}, thought: own + r.IntN(100), verdict: v})
			}
		}
		if row, ok := longerOf(g); ok && row.Interval.Low <= 0.5 && 0.5 <= row.Interval.High {
			covered++
		}
	}
	if share := float64(covered) / trials; share < 0.88 || share > 0.99 {
		t.Errorf("%.3f of the intervals hold 0.5, want about 0.95", share)
	}
}

// TestQuantiles checks that the parts hold every judged reply once, in order, and part
// none of one size.
func TestQuantiles(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 3))
	for _, sizes := range []int{1, 2, 3, 5, 100} {
		g := group{name: "g"}
		judged, solved := 0, 0
		for i := range 41 {
			x := &reply{place: place{seq: uint64(i)}, thought: r.IntN(sizes), verdict: verdict(r.IntN(3))}
			g.replies = append(g.replies, x)
			if x.verdict != unjudged {
				judged++
			}
			if x.verdict == right {
				solved++
			}
		}
		last := -1
		for _, q := range quantiles([]group{g}).Rows {
			if q.From <= last || q.To < q.From || q.Right.Of == 0 || (q.Part == 0) != (q.To == 0) {
				t.Errorf("%d sizes: after %d: %+v", sizes, last, q)
			}
			last = q.To
			judged, solved = judged-q.Right.Of, solved-q.Right.Count
		}
		if judged != 0 || solved != 0 {
			t.Errorf("%d sizes: %d replies and %d right ones are missing", sizes, judged, solved)
		}
	}
	g := group{}
	for i := range 40 {
		g.replies = append(g.replies, &reply{place: place{seq: uint64(i)}, thought: i + 1, verdict: right})
	}
	rows := quantiles([]group{g}).Rows
	for i, q := range rows {
		if q.Right.Of != 10 || q.From != 10*i+1 || q.Part != i+1 {
			t.Errorf("part %d: %+v", i, q)
		}
	}
}

// TestClusters finds the three topics that thoughts are about.
func TestClusters(t *testing.T) {
	topics := [][]string{
		strings.Fields("calendar leap year gregorian julian february century divisible hundred"),
		strings.Fields("chess bishop knight castle queen pawn checkmate board gambit opening"),
		strings.Fields("recipe butter flour oven sugar dough knead vanilla whisk baking"),
	}
	r := rand.New(rand.NewPCG(1, 4))
	h := &history{t: t}
	for i := range 90 {
		var thought []string
		for range 12 {
			thought = append(thought, topics[i%3][r.IntN(len(topics[i%3]))])
		}
		h.verdict("a", i, h.reply("a", i, fmt.Sprint("m", i%3), "<think>"+strings.Join(thought, " ")+"</think>x"), i%3 == 0)
	}
	for _, k := range []int{0, 3} {
		rows := h.analyse(Options{Clusters: k}).Clusters.Rows
		if len(rows) != 3 {
			t.Fatalf("k %d: %d clusters", k, len(rows))
		}
		for _, c := range rows {
			if c.Thoughts != 30 || len(c.Groups) != 1 || len(c.Exemplars) != 3 || len(c.Words) == 0 || c.Right.Of != 30 || c.Right.Count%30 != 0 {
				t.Errorf("k %d: %+v", k, c)
			}
			if !slices.ContainsFunc(topics, func(topic []string) bool {
				return slices.Contains(topic, c.Words[0]) && strings.Contains(c.Exemplars[0].Text, topic[0][:0])
			}) {
				t.Errorf("k %d: words %v", k, c.Words)
			}
		}
	}
}

// TestPoorThoughts analyses thoughts that have nothing to compare: no number may be
// one that JSON cannot hold.
func TestPoorThoughts(t *testing.T) {
	for _, raw := range []string{"<think></think>x", "<think>wait</think>x", "<think>\xff\xfe</think>x", "<think>...</think>", "x", "", "<think>" + strings.Repeat("a", 100) + "</think>"} {
		h := &history{t: t}
		for i := range 8 {
			h.verdict(fmt.Sprint(i), 1, h.reply(fmt.Sprint(i), 1, fmt.Sprint(i%2), raw), i%2 == 0)
		}
		text := encoded(t, h.analyse(Options{}))
		if !strings.Contains(text, `"replies": 8`) {
			t.Errorf("%q: %s", raw, text)
		}
		for _, table := range h.analyse(Options{}).Tables() {
			for _, row := range table.Rows {
				if len(row) != len(table.Columns) || slices.Contains(row, "NaN") || slices.Contains(row, "+Inf") {
					t.Errorf("%q: %s: %q", raw, table.Name, row)
				}
			}
		}
	}
}

// TestEndOfLongThought counts phrases at the end of a thought of 40 KiB: otherwise the
// words with which thoughts end would seem to belong to those who think little.
func TestEndOfLongThought(t *testing.T) {
	h := &history{t: t}
	for i := range 6 {
		h.reply("a", i, "m", "<think>"+strings.Repeat("so on ", 7000)+"hence done</think>x")
	}
	per, cut := phrasesPer(heldReplies(h))
	for _, list := range per {
		if !slices.Contains(list, "hence done") || cut {
			t.Errorf("%q", list)
		}
	}
	if len(per) != 6 {
		t.Errorf("%d thoughts", len(per))
	}
}

// heldReplies returns the replies that an analysis holds.
func heldReplies(h *history) []*reply {
	c := newCollector(Options{}.orDefaults())
	for i := range h.events {
		c.event(&h.events[i], nil)
	}
	return c.replies.list()
}
