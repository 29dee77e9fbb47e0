package thoughts

import (
	"fmt"
	"strconv"

	"github.com/sotto-llm/sotto/internal/base/stats"
)

// fewRuns is from how many runs on a run is the unit of an interval. With fewer, the
// spread between runs is not known well enough.
const fewRuns = 5

// units assigns replies to the independent units of an interval.
type units struct {
	name string // run, cycle, reply
	of   func(*reply) string
}

// unitsOf chooses the units of replies. Replies of one run are alike, and so are the
// attempts of one cycle.
func unitsOf(replies []*reply) units {
	runs, inRun := map[string]bool{}, false
	for _, r := range replies {
		if r.series != "" {
			runs[r.root()], inRun = true, true
		}
	}
	alone := func(r *reply) string { return fmt.Sprintf("\x00%s %d %d", r.place.run, r.place.seq, r.place.choice) }
	switch {
	case len(runs) >= fewRuns:
		return units{"run", func(r *reply) string {
			if r.series == "" {
				return alone(r)
			}
			return r.root()
		}}
	case inRun:
		return units{"cycle", func(r *reply) string {
			if r.series == "" {
				return alone(r)
			}
			return r.root() + "\x00" + strconv.Itoa(r.cycle)
		}}
	}
	return units{"reply", alone}
}

// estimate is the ratio of two sums over replies. value returns what a reply adds to
// each; ok is false if it does not count.
func estimate(replies []*reply, value func(*reply) (above, below float64, ok bool)) Estimate {
	u := unitsOf(replies)
	e := Estimate{Unit: u.name}
	sums := map[string]*stats.Sum{}
	for _, r := range replies {
		above, below, ok := value(r)
		if !ok {
			continue
		}
		e.N++
		key := u.of(r)
		if sums[key] == nil {
			sums[key] = &stats.Sum{}
		}
		sums[key].Above += above
		sums[key].Below += below
	}
	list := make([]stats.Sum, 0, len(sums))
	for _, s := range sums {
		list = append(list, *s)
	}
	e.Units = len(list)
	e.Value, e.Interval = stats.Ratio(list)
	return e
}

// mean is the mean of a value over replies.
func mean(replies []*reply, value func(*reply) (float64, bool)) Estimate {
	return estimate(replies, func(r *reply) (float64, float64, bool) {
		v, ok := value(r)
		return v, 1, ok
	})
}

// within bounds an estimate's interval.
func (e Estimate) within(low, high float64) Estimate {
	e.Interval = e.Interval.Within(low, high)
	return e
}

// rate is the share of replies that a condition holds for.
func rate(name string, replies []*reply, holds func(*reply) bool) Rate {
	u := unitsOf(replies)
	clusters, count := map[string]*stats.Cluster{}, 0
	for _, r := range replies {
		key := u.of(r)
		if clusters[key] == nil {
			clusters[key] = &stats.Cluster{}
		}
		clusters[key].N++
		if holds(r) {
			clusters[key].Right++
			count++
		}
	}
	list := make([]stats.Cluster, 0, len(clusters))
	for _, c := range clusters {
		list = append(list, *c)
	}
	return Rate{stats.Clustered(stats.NewRate(name, count, len(replies)), list), len(list), u.name}
}

// estimate returns the rate in the form of an estimate.
func (r Rate) estimate() Estimate {
	return Estimate{r.Of, r.Rate.Rate, &stats.Interval{Low: r.Low, High: r.High}, r.Units, r.Unit}
}

const (
	meanMethod = "The 95 % interval is Student's over the units (runs, if there are 5 or more; else cycles, else replies)"
	rateMethod = "The 95 % interval is Wilson's for as many independent replies as the spread between the units (runs, if there are 5 or more; else cycles, else replies) allows"
)
