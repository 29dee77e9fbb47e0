package thoughts

import (
	"cmp"
	"math"
	"slices"

	"github.com/sotto-llm/sotto/internal/base/stats"
)

// A Quantile row says how often replies are right whose thoughts are of some size.
type Quantile struct {
	Group string `json:"group"`
	// Part is the number of the part, from 1, or 0 for replies without a thought. The
	// parts are as equal as replies of one size, which are never parted, allow.
	Part  int  `json:"part"`
	Of    int  `json:"of"`
	From  int  `json:"from_bytes"`
	To    int  `json:"to_bytes"`
	Right Rate `json:"right"`
}

// A Longer row says whether right replies of a group have longer thoughts than wrong
// ones.
type Longer struct {
	Group string `json:"group"`
	Right int    `json:"right"`
	Wrong int    `json:"wrong"`
	Estimate
}

const (
	quantilesMethod = "The replies with a verdict, in four parts by the size of their thoughts in bytes, and how many of each part are right; replies of one size are in one part. " +
		"It shows what goes together, not what causes what: harder problems get longer thoughts. " + rateMethod
	longerMethod = "Of all pairs of a right and a wrong reply of a group, the share in which the right one has the longer thought; ties count half (the area under the curve, Mann-Whitney). " +
		"0.5 means that the size says nothing. The 95 % interval is that of DeLong, summed by unit (Obuchowski 1997)"
	noVerdicts = "no reply has a verdict: sotto solve --record and sotto score --record write them"
	parts      = 4
)

func judged(replies []*reply) []*reply {
	return filtered(replies, func(r *reply) bool { return r.verdict != unjudged })
}

// quantiles returns the parts of each group.
func quantiles(groups []group) Figure[Quantile] {
	f := Figure[Quantile]{Method: quantilesMethod, Rows: []Quantile{}}
	for _, g := range groups {
		list := judged(g.replies)
		slices.SortStableFunc(list, func(a, b *reply) int { return cmp.Compare(a.thought, b.thought) })
		none := 0
		for none < len(list) && list[none].thought == 0 {
			none++
		}
		if none > 0 {
			f.Rows = append(f.Rows, quantileOf(g.name, 0, list[:none]))
		}
		list = list[none:]
		at := 0
		for part := 1; part <= parts; part++ {
			end := (part*len(list) + parts - 1) / parts
			if end <= at { // replies of one size fill this part too
				continue
			}
			for end < len(list) && list[end].thought == list[end-1].thought {
				end++
			}
			f.Rows = append(f.Rows, quantileOf(g.name, part, list[at:end]))
			at = end
		}
	}
	if len(f.Rows) == 0 {
		f.Note = noVerdicts
	}
	return f
}

func quantileOf(group string, part int, list []*reply) Quantile {
	return Quantile{group, part, parts, list[0].thought, list[len(list)-1].thought, rate("", list, isRight)}
}

func isRight(r *reply) bool { return r.verdict == right }

// longer compares the sizes of right and wrong replies.
func longer(groups []group) Figure[Longer] {
	f := Figure[Longer]{Method: longerMethod, Rows: []Longer{}}
	for _, g := range groups {
		if row, ok := longerOf(g); ok {
			f.Rows = append(f.Rows, row)
		}
	}
	if len(f.Rows) == 0 {
		f.Note = "no group has right and wrong replies"
	}
	return f
}

func longerOf(g group) (Longer, bool) {
	list := judged(g.replies)
	slices.SortStableFunc(list, func(a, b *reply) int { return cmp.Compare(a.thought, b.thought) })
	n := [3]float64{}
	for _, r := range list {
		n[r.verdict]++
	}
	row := Longer{Group: g.name, Right: int(n[right]), Wrong: int(n[wrong])}
	if n[right] == 0 || n[wrong] == 0 {
		return row, false
	}
	// Each reply's share of the pairs in which it agrees that right is longer.
	agrees := make([]float64, len(list))
	below := [3]float64{}
	for at := 0; at < len(list); {
		end, same := at, [3]float64{}
		for ; end < len(list) && list[end].thought == list[at].thought; end++ {
			same[list[end].verdict]++
		}
		for i := at; i < end; i++ {
			if list[i].verdict == right {
				agrees[i] = (below[wrong] + same[wrong]/2) / n[wrong]
			} else {
				agrees[i] = (n[right] - below[right] - same[right]/2) / n[right]
			}
		}
		below[right], below[wrong] = below[right]+same[right], below[wrong]+same[wrong]
		at = end
	}
	sum := 0.0
	for i, r := range list {
		if r.verdict == right {
			sum += agrees[i]
		}
	}
	row.Estimate = areaOf(list, agrees, sum/n[right], n)
	return row, true
}

// areaOf adds the interval to an area under the curve.
func areaOf(list []*reply, agrees []float64, area float64, n [3]float64) Estimate {
	u := unitsOf(list)
	sums := map[string]float64{}
	for i, r := range list {
		sums[u.of(r)] += (agrees[i] - area) / n[r.verdict]
	}
	e := Estimate{N: len(list), Value: area, Units: len(sums), Unit: u.name}
	if len(sums) < 2 {
		return e
	}
	squares := make([]float64, 0, len(sums))
	for _, s := range sums {
		squares = append(squares, s*s)
	}
	slices.Sort(squares) // so that the sum does not depend on their order
	variance := 0.0
	for _, s := range squares {
		variance += s
	}
	units := float64(len(sums))
	margin := stats.StudentQuantile(len(sums)-1) * math.Sqrt(variance*units/(units-1))
	e.Interval = (&stats.Interval{Low: area - margin, High: area + margin}).Within(0, 1)
	if variance == 0 { // every pair says the same: no spread from which to tell
		e.Interval = nil
	}
	return e
}
