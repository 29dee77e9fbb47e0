package thoughts

import (
	"slices"
	"strconv"
)

// A Size row says how much a group thinks.
type Size struct {
	Group    string `json:"group"`
	Replies  int    `json:"replies"`
	Thinking Rate   `json:"thinking"` // the replies with a thought
	// Share is how much of all bytes of the replies is thought.
	Share Estimate `json:"share"`
	// Bytes is the mean size of a thought, over the replies with one. Quartiles are those
	// of the sizes, and the maximum: 25 %, 50 %, 75 %, 100 %.
	Bytes     Estimate `json:"bytes"`
	Quartiles [4]int   `json:"quartiles"`
	// Tokens is the mean number of tokens of reasoning, over the replies for which the
	// provider counted them.
	Tokens   Estimate `json:"tokens"`
	Withheld int64    `json:"withheld_bytes"`
	Sealed   int64    `json:"sealed_bytes"`
}

// sizeMethod and cyclesMethod say how sizes are found.
const (
	sizeMethod = "Bytes of the reply that were read as reasoning, and of what the provider sent apart, as they came; bytes that a level withheld are counted. " +
		"The share is the bytes of all thoughts by the bytes of all replies. tokens: as the provider counted them. " + meanMethod
	cyclesMethod = "The same by cycles; if there are more than 50, in bins of equal width. The interval is over the runs of a bin if there are 5 or more, else over the cycles of its runs, each of which is a unit"
)

// sizes returns a row for each group.
func sizes(groups []group) Figure[Size] {
	f := Figure[Size]{Method: sizeMethod, Rows: []Size{}}
	for _, g := range groups {
		s := Size{Group: g.name, Replies: len(g.replies)}
		s.Thinking = rate("", g.replies, func(r *reply) bool { return r.thought > 0 })
		s.Share, s.Bytes = share(g.replies), bytesOf(g.replies)
		s.Tokens = mean(g.replies, func(r *reply) (float64, bool) { return float64(r.tokens), r.tokens > 0 })
		s.Tokens.Interval = s.Tokens.Interval.Within(0, infinite)
		var list []int
		for _, r := range g.replies {
			s.Withheld += int64(r.withheld)
			s.Sealed += int64(r.sealed)
			if r.thought > 0 {
				list = append(list, r.thought)
			}
		}
		slices.Sort(list)
		for i := range s.Quartiles {
			s.Quartiles[i] = nearestRank(list, float64(i+1)/4)
		}
		f.Rows = append(f.Rows, s)
	}
	return f
}

// infinite bounds an interval that only has a lower bound.
const infinite = 1e18

func share(replies []*reply) Estimate {
	return estimate(replies, func(r *reply) (float64, float64, bool) {
		return float64(r.thought), float64(r.all), r.all > 0
	}).within(0, 1)
}

func bytesOf(replies []*reply) Estimate {
	return mean(replies, func(r *reply) (float64, bool) { return float64(r.thought), r.thought > 0 }).within(0, infinite)
}

// nearestRank returns a quantile of sorted values: the lowest one that at least this
// share of them does not exceed.
func nearestRank(sorted []int, q float64) int {
	if len(sorted) == 0 {
		return 0
	}
	at := int(q*float64(len(sorted))+0.999999999) - 1
	return sorted[min(max(at, 0), len(sorted)-1)]
}

// A Cycle row says how much a group thinks in some cycles.
type Cycle struct {
	Group string   `json:"group"`
	From  int      `json:"from"`
	To    int      `json:"to"` // inclusive
	Runs  int      `json:"runs"`
	Share Estimate `json:"share"`
	Bytes Estimate `json:"bytes"`
}

// maxBins bounds the rows of a group over its cycles.
const maxBins = 50

// cycles returns the sizes over the cycles of runs. All groups have the same bins.
func cycles(groups []group) Figure[Cycle] {
	f := Figure[Cycle]{Method: cyclesMethod, Rows: []Cycle{}}
	last := 0
	for _, r := range groups[len(groups)-1].replies {
		last = max(last, r.cycle)
	}
	if last == 0 {
		f.Note = "no reply belongs to a cycle"
		return f
	}
	width := (last + maxBins - 1) / maxBins
	for _, g := range groups {
		bins := make([][]*reply, (last+width-1)/width)
		for _, r := range g.replies {
			if r.cycle > 0 {
				bins[(r.cycle-1)/width] = append(bins[(r.cycle-1)/width], r)
			}
		}
		for i, replies := range bins {
			if len(replies) == 0 {
				continue
			}
			runs := map[string]bool{}
			for _, r := range replies {
				runs[r.root()] = true
			}
			f.Rows = append(f.Rows, Cycle{g.name, i*width + 1, min((i+1)*width, last), len(runs), share(replies), bytesOf(replies)})
		}
	}
	return f
}

// String returns the cycles of the row.
func (c Cycle) String() string {
	if c.From == c.To {
		return strconv.Itoa(c.From)
	}
	return strconv.Itoa(c.From) + "-" + strconv.Itoa(c.To)
}
