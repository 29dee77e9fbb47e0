package compare

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/sotto-llm/sotto/internal/base/stats"
)

// A Result is the comparison.
type Result struct {
	V        int      `json:"v"`
	Arms     []string `json:"arms"`
	Tasks    []string `json:"tasks"`
	Baseline string   `json:"baseline,omitempty"`
	// Points is the difference that the power is of.
	Points      float64      `json:"points"`
	Rates       []Rate       `json:"rates"`
	Differences []Difference `json:"differences"`
	Agreement   []Agreement  `json:"agreement,omitempty"`
}

// A Rate says how much of a task an arm solves.
type Rate struct {
	Task     string  `json:"task"`
	Arm      string  `json:"arm"`
	Problems int     `json:"problems"`
	Replies  int     `json:"replies"`
	Failed   int     `json:"failed"` // replies without a verdict, which have no part in anything
	Right    float64 `json:"right"`  // the sum of the scores
	Rate     float64 `json:"rate"`
	// Interval is Wilson's, for as many independent replies as the spread between the
	// clusters allows; if scores are parts, it is Student's over the clusters. It is nil if
	// nothing says how much others differ.
	Interval *stats.Interval `json:"interval"`
	// Clusters is how many independent units there are.
	Clusters int   `json:"clusters"`
	AtK      []AtK `json:"at_k,omitempty"`
}

// An AtK says how likely k replies to a problem are right.
type AtK struct {
	K        int `json:"k"`
	Problems int `json:"problems"` // with as many replies
	// Pass is the mean chance that one of k replies is right (pass@k), and All that all of
	// them are (pass^k).
	Pass stats.Average `json:"pass"`
	All  stats.Average `json:"all"`
}

// Options say what is compared.
type Options struct {
	// Baseline is the arm with which the others are compared. If it is empty, all are
	// compared with each other.
	Baseline string
	// Points is the difference for which problems are counted; 0 means 2 points.
	Points float64
	// Agreement asks for the agreement of the arms, which are judges, by these weights.
	Agreement Weights
}

// Result compares the arms.
func (s *Set) Result(o Options) (*Result, error) {
	if o.Points == 0 {
		o.Points = 0.02
	}
	if o.Baseline != "" && !slices.Contains(s.arms, o.Baseline) {
		return nil, fmt.Errorf("there is no arm %q: the arms are %q", o.Baseline, s.arms)
	}
	r := &Result{V: 1, Arms: s.arms, Tasks: slices.Clone(s.tasks), Baseline: o.Baseline, Points: o.Points, Rates: []Rate{}, Differences: []Difference{}}
	if len(r.Tasks) > 1 {
		r.Tasks = append(r.Tasks, AllTasks)
	}
	for _, task := range r.Tasks {
		cells := map[string]*cell{}
		for _, arm := range s.arms {
			if c := s.in(arm, task); c != nil {
				cells[arm] = c
				if !s.unscored {
					r.Rates = append(r.Rates, rateOf(task, arm, c, s.clustered))
				}
			}
		}
		if !s.unscored {
			r.Differences = append(r.Differences, s.differences(task, cells, &o)...)
		}
		if o.Agreement != "" {
			list, err := s.agreements(task, cells, &o)
			if err != nil {
				return nil, err
			}
			r.Agreement = append(r.Agreement, list...)
		}
	}
	return r, nil
}

// pairs returns the pairs of arms that are compared.
func (s *Set) pairs(baseline string) (list [][2]string) {
	for i, a := range s.arms {
		switch {
		case baseline == "":
			for _, b := range s.arms[:i] {
				list = append(list, [2]string{a, b})
			}
		case a != baseline:
			list = append(list, [2]string{a, baseline})
		}
	}
	return list
}

// sorted returns the problems in an order that does not depend on that of the input.
func (c *cell) sorted() []string { return slices.Sorted(maps.Keys(c.problems)) }

func rateOf(task, arm string, c *cell, clustered bool) Rate {
	r := Rate{Task: task, Arm: arm, Problems: len(c.problems), Failed: c.failed}
	units, whole, single := map[string]*stats.Sum{}, true, !clustered
	for _, id := range c.sorted() {
		p := c.problems[id]
		r.Replies += p.n
		r.Right += p.sum
		whole, single = whole && !p.part, single && p.n == 1
		u := unitOf(units, p, id)
		u.Above, u.Below = u.Above+p.sum, u.Below+float64(p.n)
	}
	r.Clusters = len(units)
	if r.Replies == 0 {
		return r
	}
	r.Rate = r.Right / float64(r.Replies)
	if whole {
		rate := stats.NewRate("", int(r.Right), r.Replies)
		if !single {
			rate = stats.Clustered(rate, clustersOf(units))
		}
		r.Interval = &stats.Interval{Low: rate.Low, High: rate.High}
		r.AtK = atK(c)
		return r
	}
	_, interval := stats.Ratio(sums(units))
	r.Interval = interval.Within(0, 1)
	return r
}

// unitOf returns the independent unit that a problem is of.
func unitOf(units map[string]*stats.Sum, p *problem, id string) *stats.Sum {
	key := "p" + id
	if p.cluster != "" {
		key = "c" + p.cluster
	}
	if units[key] == nil {
		units[key] = new(stats.Sum)
	}
	return units[key]
}

func sums(units map[string]*stats.Sum) (list []stats.Sum) {
	for _, u := range units {
		list = append(list, *u)
	}
	return list
}

func clustersOf(units map[string]*stats.Sum) (list []stats.Cluster) {
	for _, u := range units {
		list = append(list, stats.Cluster{N: int(u.Below), Right: int(u.Above)})
	}
	return list
}

// atK returns the chances of k replies, if problems have several.
func atK(c *cell) (list []AtK) {
	for _, k := range stats.Ks {
		var pass, all []float64
		for _, p := range c.problems {
			if right := int(p.sum); p.n >= k && k > 1 {
				pass = append(pass, stats.PassAtK(p.n, right, k))
				all = append(all, 1-stats.PassAtK(p.n, p.n-right, k))
			}
		}
		if len(pass) > 0 {
			list = append(list, AtK{k, len(pass), stats.NewAverage(k, pass), stats.NewAverage(k, all)})
		}
	}
	return list
}

// A Difference is how much more one arm solves than another of the problems that both have.
type Difference struct {
	Task     string `json:"task"`
	Arm      string `json:"arm"`
	Than     string `json:"than"`
	Problems int    `json:"problems"`
	// OnlyArm and OnlyThan are problems that only one of them has.
	OnlyArm  int     `json:"only_arm"`
	OnlyThan int     `json:"only_than"`
	Mean     float64 `json:"mean"`
	// Interval is that of a paired difference; if problems have several replies, parts of a
	// score or clusters, it is Student's over the clusters.
	Interval *stats.Interval `json:"interval"`
	Clusters int             `json:"clusters"`
	// More and Less are the problems of which the arm solves more and less than the other.
	More int `json:"more"`
	Less int `json:"less"`
	// P is of McNemar's exact test, or of a sign-flip permutation test of the clusters. Holm
	// is P corrected for all comparisons of the task.
	P      *float64 `json:"p"`
	Holm   *float64 `json:"p_holm"`
	Method string   `json:"method,omitempty"`
	// Needed is how many problems such as these have a chance of 80 % to tell a difference
	// of Result.Points, and Detectable the difference that these have such a chance to
	// tell. They are nil if nothing says how much problems differ.
	Needed     *int     `json:"needed"`
	Detectable *float64 `json:"detectable"`
}

// methodMcNemar is the test of problems with one verdict each.
const methodMcNemar = "McNemar's exact test"

// differences compares pairs of arms in a task.
func (s *Set) differences(task string, cells map[string]*cell, o *Options) (list []Difference) {
	for _, pair := range s.pairs(o.Baseline) {
		if a, b := cells[pair[0]], cells[pair[1]]; a != nil && b != nil {
			d := difference(a, b, s.clustered, o.Points)
			d.Task, d.Arm, d.Than = task, pair[0], pair[1]
			list = append(list, d)
		}
	}
	p := make([]float64, len(list))
	for i, d := range list {
		p[i] = math.NaN()
		if d.P != nil {
			p[i] = *d.P
		}
	}
	for i, v := range stats.Holm(p) {
		if !math.IsNaN(v) {
			list[i].Holm = &v
		}
	}
	return list
}

func difference(a, b *cell, clustered bool, points float64) Difference {
	d := Difference{OnlyThan: len(b.problems)}
	units, single := map[string]*stats.Sum{}, !clustered
	for _, id := range a.sorted() {
		p, q := a.problems[id], b.problems[id]
		if q == nil {
			d.OnlyArm++
			continue
		}
		d.OnlyThan--
		d.Problems++
		single = single && p.n == 1 && q.n == 1 && !p.part && !q.part
		more := p.mean() - q.mean()
		switch {
		case more > 0:
			d.More++
		case more < 0:
			d.Less++
		}
		u := unitOf(units, &problem{cluster: cmp.Or(p.cluster, q.cluster)}, id)
		u.Above, u.Below = u.Above+more, u.Below+1
	}
	d.Clusters = len(units)
	if d.Problems == 0 {
		return d
	}
	list := sums(units)
	d.Mean, d.Interval = stats.Ratio(list)
	d.Interval = d.Interval.Within(-1, 1)
	d.power(list, points)
	if single {
		d.mcNemar()
		return d
	}
	each := make([]float64, len(list))
	for i, u := range list {
		each[i] = u.Above
	}
	sample := stats.NewSample(each)
	test := sample.SignFlip()
	d.P, d.Method = &test.P, test.Method
	return d
}

// mcNemar sets the difference of problems with one verdict each.
func (d *Difference) mcNemar() {
	paired := stats.NewPaired(d.More, d.Less, d.Problems)
	d.Mean, d.Interval, d.P, d.Method = paired.Value, &stats.Interval{Low: paired.Low, High: paired.High}, &paired.P, methodMcNemar
}

// The quantiles of the normal distribution for a two-sided test of 5 % and a power of 80 %.
const forPower = 1.959963984540054 + 0.8416212335729143

// power computes how many problems are needed, from the spread of the clusters.
func (d *Difference) power(units []stats.Sum, points float64) {
	squares := 0.0
	slices.SortFunc(units, func(a, b stats.Sum) int { return cmp.Or(cmp.Compare(a.Above, b.Above), cmp.Compare(a.Below, b.Below)) })
	for _, u := range units {
		e := u.Above - d.Mean*u.Below
		squares += e * e
	}
	groups, n := float64(len(units)), float64(d.Problems)
	if groups < 2 || squares < 1e-12 {
		return
	}
	detectable := forPower * math.Sqrt(squares*groups/(groups-1)) / n
	needed := int(math.Ceil(min(n*math.Pow(detectable/points, 2), 1e15)))
	d.Detectable, d.Needed = &detectable, &needed
}
