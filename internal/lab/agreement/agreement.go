// Package agreement says how far raters agree on the same units: by Cohen's weighted kappa,
// Krippendorff's alpha and the intraclass correlation.
//
//	alpha   any number of raters, ratings may be missing, at every level of measurement
//	kappa   two raters, nominal, or weighted by the distance of the ratings
//	ICC     all raters, complete units, numbers: ICC(2,1) of one rater, ICC(2,k) of the mean
//
// Every coefficient is 1 if the raters always agree. Alpha and kappa are 0 if they agree as
// often as by chance. None exists if all ratings are the same: then nothing shows whether the
// raters tell units apart.
//
// A unit may be rated several times by each rater. Then the first ratings are compared with
// the first, the second with the second, and so on, and a coefficient is that of single
// ratings. Intervals count units, not ratings: those of one unit are alike.
//
// No figure depends on the order of the units or of the raters.
package agreement

import (
	"cmp"
	"math"
	"slices"

	"github.com/sotto-llm/sotto/internal/base/stats"
)

// A Unit is what was rated: for each time, the ratings of all raters, in one order. NaN
// stands for a rating that is missing.
type Unit [][]float64

// A Level is the level of measurement of a scale: what the difference of two ratings means.
type Level string

// The levels.
const (
	Nominal  Level = "nominal"  // equal or not
	Ordinal  Level = "ordinal"  // how many ratings lie between them
	Interval Level = "interval" // their difference
)

// A Coefficient is a figure of agreement.
type Coefficient struct {
	// Value is nil if the coefficient does not exist: there are no two ratings of one unit, or
	// all ratings are the same.
	Value *float64 `json:"value"`
	// Interval is the 95 % interval. It is nil if there are too few units.
	Interval *stats.Interval `json:"interval"`
	// Method is how the interval was found: bootstrap, F or jackknife.
	Method string `json:"method,omitempty"`
	// Units and Ratings are how many the coefficient rests on.
	Units   int `json:"units"`
	Ratings int `json:"ratings"`
}

// Methods of intervals.
const (
	byBootstrap = "bootstrap"
	byF         = "F"
	byJackknife = "jackknife"
)

// of returns the coefficient of a figure that exists for any weights of units.
func of(units, ratings int, figure func(weights []int) float64) Coefficient {
	c := Coefficient{Units: units, Ratings: ratings}
	ones := slices.Repeat([]int{1}, units)
	v := figure(ones)
	if math.IsNaN(v) {
		return c
	}
	c.Value = &v
	if c.Interval = stats.UnitInterval(units, figure).Within(-1, 1); c.Interval != nil {
		c.Method = byBootstrap
	}
	return c
}

// A coded unit has ratings by their place among all different ratings.
type coded [][]int

// code replaces ratings by their places. It returns the different ratings, ascending.
func code(units []Unit) (list []coded, values []float64) {
	for _, u := range units {
		for _, line := range u {
			values = append(values, line...)
		}
	}
	slices.Sort(values)
	values = slices.Compact(values)
	for _, u := range units {
		var c coded
		for _, line := range u {
			at := make([]int, len(line))
			for i, v := range line {
				at[i], _ = slices.BinarySearch(values, v)
			}
			c = append(c, at)
		}
		list = append(list, c)
	}
	return list, values
}

// selected returns the lines of units that keep accepts, in the form in which it returns
// them, without units that have none, in one order.
func selected(units []Unit, keep func(line []float64) []float64) (list []Unit, ratings int) {
	for _, u := range units {
		var own Unit
		for _, line := range u {
			if kept := keep(line); kept != nil {
				own = append(own, kept)
				ratings += len(kept)
			}
		}
		if own != nil {
			slices.SortFunc(own, slices.Compare)
			list = append(list, own)
		}
	}
	slices.SortFunc(list, func(a, b Unit) int { return slices.CompareFunc(a, b, slices.Compare) })
	return list, ratings
}

// Alpha returns Krippendorff's alpha. A unit counts if it has two ratings of one time.
func Alpha(units []Unit, level Level) Coefficient {
	pairable, ratings := selected(units, func(line []float64) []float64 {
		line = slices.DeleteFunc(slices.Clone(line), math.IsNaN)
		if len(line) < 2 {
			return nil
		}
		slices.Sort(line)
		return line
	})
	list, values := code(pairable)
	a := &alpha{list: list, values: centred(values), level: level, counts: make([]float64, len(values))}
	return of(len(list), ratings, a.value)
}

// centred returns values less their middle, so that sums of squares keep their digits.
func centred(values []float64) []float64 {
	if len(values) == 0 {
		return nil
	}
	middle := values[len(values)/2]
	list := make([]float64, len(values))
	for i, v := range values {
		list[i] = v - middle
	}
	return list
}

type alpha struct {
	list   []coded
	values []float64
	level  Level
	counts []float64 // of the values, for one set of weights
}

// value is 1 less the distance of the ratings of one unit by the distance of any two.
func (a *alpha) value(weights []int) float64 {
	clear(a.counts)
	n := 0.0
	for i, u := range a.list {
		for _, line := range u {
			for _, at := range line {
				a.counts[at] += float64(weights[i])
				n += float64(weights[i])
			}
		}
	}
	if n < 2 {
		return math.NaN()
	}
	places := a.places()
	seen := 0.0
	for i, u := range a.list {
		for _, line := range u {
			if weights[i] > 0 {
				seen += float64(weights[i]) * a.within(line, places) / float64(len(line)-1)
			}
		}
	}
	var chance float64
	if a.level == Nominal {
		chance = n * n
		for _, c := range a.counts {
			chance -= c * c
		}
	} else {
		sum, squares := 0.0, 0.0
		for i, c := range a.counts {
			sum, squares = sum+c*places[i], squares+c*places[i]*places[i]
		}
		chance = 2 * (n*squares - sum*sum)
	}
	if chance <= 1e-12*n*n {
		return math.NaN()
	}
	return 1 - seen/n/(chance/(n*(n-1)))
}

// places are the values as the level of measurement places them. The distance of two
// ordinal values is that of their middle ranks.
func (a *alpha) places() []float64 {
	if a.level != Ordinal {
		return a.values
	}
	ranks := make([]float64, len(a.counts))
	before := 0.0
	for i, c := range a.counts {
		ranks[i] = before + c/2
		before += c
	}
	for i := range ranks {
		ranks[i] -= before / 2
	}
	return ranks
}

// within is the sum of the distances of all pairs of a line, in both orders.
func (a *alpha) within(line []int, places []float64) float64 {
	sum := 0.0
	for i, x := range line {
		for _, y := range line[i+1:] {
			switch d := places[x] - places[y]; {
			case a.level != Nominal:
				sum += 2 * d * d
			case x != y:
				sum += 2
			}
		}
	}
	return sum
}

// Weights say how far apart two ratings are for kappa.
type Weights string

// The weights.
const (
	Unweighted Weights = "unweighted" // equal or not
	Linear     Weights = "linear"     // the distance of numbers
	Quadratic  Weights = "quadratic"  // its square
)

// A Pair is two raters, by their places in the lines of units.
type Pair struct{ A, B int }

// Same returns how many ratings of two raters there are of the same unit at the same time,
// and how many of them are the same.
func Same(units []Unit, p Pair) (same, of int) {
	for _, u := range units {
		for _, line := range u {
			switch a, b := line[p.A], line[p.B]; {
			case math.IsNaN(a) || math.IsNaN(b):
			case a == b:
				same, of = same+1, of+1
			default:
				of++
			}
		}
	}
	return same, of
}

// Kappa returns Cohen's kappa of two raters.
func Kappa(units []Unit, p Pair, w Weights) Coefficient {
	both, ratings := selected(units, func(line []float64) []float64 {
		if math.IsNaN(line[p.A]) || math.IsNaN(line[p.B]) {
			return nil
		}
		return []float64{line[p.A], line[p.B]}
	})
	if !first(both) { // kappa is the same in both orders, and so must be the interval
		both, _ = selected(both, func(line []float64) []float64 { return []float64{line[1], line[0]} })
	}
	list, values := code(both)
	k := newKappa(list, values, w)
	return of(len(list), ratings, k.value)
}

// KappaOf returns Cohen's kappa of two raters who rated each unit once, from how often they
// gave each pair of ratings. Its interval is by the jackknife over the units.
func KappaOf(counts map[[2]float64]int, w Weights) Coefficient {
	var units []Unit
	for pair := range counts {
		units = append(units, Unit{pair[:]})
	}
	slices.SortFunc(units, func(a, b Unit) int { return slices.Compare(a[0], b[0]) })
	list, values := code(units)
	k := newKappa(list, values, w)
	times, n := make([]int, len(units)), 0
	for i, u := range units {
		times[i] = counts[[2]float64(u[0])]
		n += times[i]
	}
	c := Coefficient{Units: n, Ratings: 2 * n}
	v := k.value(times)
	if math.IsNaN(v) {
		return c
	}
	c.Value = &v
	without := make([]float64, len(times))
	mean, squares := 0.0, 0.0
	for i, n := range times {
		times[i] = n - 1
		without[i] = k.value(times)
		times[i] = n
		mean += without[i] * float64(n) / float64(c.Units)
	}
	for i, n := range times {
		squares += float64(n) * (without[i] - mean) * (without[i] - mean)
	}
	if n < 3 || !(squares > 0) { // also if there is no kappa without one of them
		return c
	}
	margin := stats.StudentQuantile(n-1) * math.Sqrt(squares*float64(n-1)/float64(n))
	c.Interval, c.Method = (&stats.Interval{Low: v - margin, High: v + margin}).Within(-1, 1), byJackknife
	return c
}

func newKappa(list []coded, values []float64, w Weights) *kappa {
	return &kappa{list: list, values: centred(values), weights: w, rows: make([]float64, len(values)), columns: make([]float64, len(values))}
}

// first reports whether units come before the same units with their two raters exchanged.
func first(units []Unit) bool {
	other, _ := selected(units, func(line []float64) []float64 { return []float64{line[1], line[0]} })
	return slices.CompareFunc(units, other, func(a, b Unit) int { return slices.CompareFunc(a, b, slices.Compare) }) <= 0
}

type kappa struct {
	list          []coded
	values        []float64
	weights       Weights
	rows, columns []float64 // how often each rater gives each value, for one set of weights
}

// value is 1 less the mean distance of the ratings by their mean distance if the raters
// were independent.
func (k *kappa) value(weights []int) float64 {
	clear(k.rows)
	clear(k.columns)
	n, seen := 0.0, 0.0
	for i, u := range k.list {
		w := float64(weights[i])
		for _, line := range u {
			n += w
			k.rows[line[0]] += w
			k.columns[line[1]] += w
			seen += w * k.distance(line[0], line[1])
		}
	}
	chance := k.chance(n)
	if n == 0 || chance <= 1e-12*n*n {
		return math.NaN()
	}
	return 1 - seen*n/chance
}

func (k *kappa) distance(a, b int) float64 {
	d := math.Abs(k.values[a] - k.values[b])
	switch {
	case k.weights == Quadratic:
		return d * d
	case k.weights == Linear || a == b:
		return d
	}
	return 1
}

// chance is the sum of the distances of all ratings of one rater from all of the other.
func (k *kappa) chance(n float64) (sum float64) {
	switch k.weights {
	case Quadratic:
		var a, b, squares float64
		for i, v := range k.values {
			a, b, squares = a+k.rows[i]*v, b+k.columns[i]*v, squares+(k.rows[i]+k.columns[i])*v*v
		}
		return n*squares - 2*a*b
	case Linear: // each gap between two values counts for the pairs on both sides of it
		a, b := 0.0, 0.0
		for i := 1; i < len(k.values); i++ {
			a, b = a+k.rows[i-1], b+k.columns[i-1]
			sum += (k.values[i] - k.values[i-1]) * (a*(n-b) + b*(n-a))
		}
		return sum
	}
	sum = n * n
	for i := range k.rows {
		sum -= k.rows[i] * k.columns[i]
	}
	return sum
}

// ICC returns the intraclass correlations for absolute agreement of raters who are a sample
// of all raters (Shrout and Fleiss 1979): ICC(2,1), that of one rater, and ICC(2,k), that of
// the mean of all. Only units that all raters rated count. If each was rated once, the
// intervals are those of McGraw and Wong (1996), by the F distribution, otherwise by the
// bootstrap.
func ICC(units []Unit) (single, mean Coefficient) {
	whole, ratings := selected(units, func(line []float64) []float64 {
		if len(line) < 2 || slices.ContainsFunc(line, math.IsNaN) {
			return nil
		}
		return line
	})
	if len(whole) == 0 {
		return
	}
	whole = byRatings(whole)
	raters := len(whole[0][0])
	of1 := func(weights []int) float64 { return varianceOf(whole, weights).single() }
	stepUp := func(x float64) float64 { return float64(raters) * x / (1 + float64(raters-1)*x) }
	once := !slices.ContainsFunc(whole, func(u Unit) bool { return len(u) > 1 })
	if once {
		single = Coefficient{Units: len(whole), Ratings: ratings}
		v := varianceOf(whole, slices.Repeat([]int{1}, len(whole)))
		if x := v.single(); !math.IsNaN(x) {
			single.Value = &x
			if single.Interval = v.interval(x); single.Interval != nil {
				single.Method = byF
			}
		}
	} else {
		single = of(len(whole), ratings, of1)
	}
	mean = single
	if single.Value == nil {
		return single, mean
	}
	// The mean of k raters follows from one (Spearman and Brown), which rises, so its interval does too.
	if x := stepUp(*single.Value); !math.IsInf(x, 0) && !math.IsNaN(x) {
		mean.Value = &x
	}
	if i := single.Interval; i != nil {
		lowest := -1/float64(raters-1) + 1e-9
		mean.Interval = (&stats.Interval{Low: stepUp(max(i.Low, lowest)), High: stepUp(max(i.High, lowest))}).Within(-1, 1)
	}
	return single, mean
}

// byRatings puts raters into an order that their ratings decide, and then the units.
func byRatings(units []Unit) []Unit {
	columns := make([][]float64, len(units[0][0]))
	for _, u := range units {
		for _, line := range u {
			for i, v := range line {
				columns[i] = append(columns[i], v)
			}
		}
	}
	order := make([]int, len(columns))
	for i := range columns {
		order[i] = i
		slices.Sort(columns[i])
	}
	slices.SortStableFunc(order, func(a, b int) int { return slices.Compare(columns[a], columns[b]) })
	list, _ := selected(units, func(line []float64) []float64 {
		kept := make([]float64, len(line))
		for i, from := range order {
			kept[i] = line[from]
		}
		return kept
	})
	return list
}

// A variance is the mean squares of a table of units and raters.
type variance struct {
	n, k                    float64
	units, raters, residual float64
}

func varianceOf(units []Unit, weights []int) variance {
	k := len(units[0][0])
	columns := make([]float64, k)
	offset := units[0][0][0] // so that sums of squares keep their digits
	n, sum, squares, rows := 0.0, 0.0, 0.0, 0.0
	for i, u := range units {
		w := float64(weights[i])
		for _, line := range u {
			row := 0.0
			for j, v := range line {
				v -= offset
				row += v
				columns[j] += w * v
				squares += w * v * v
			}
			n, sum, rows = n+w, sum+w*row, rows+w*row*row
		}
	}
	v := variance{n: n, k: float64(k)}
	all := sum * sum / (n * v.k)
	between := 0.0
	slices.Sort(columns) // a sum in one order
	for _, c := range columns {
		between += c * c
	}
	ofUnits, ofRaters := rows/v.k-all, between/n-all
	v.units, v.raters = ofUnits/(n-1), ofRaters/(v.k-1)
	v.residual = max(0, squares-all-ofUnits-ofRaters) / ((n - 1) * (v.k - 1))
	return v
}

// single is ICC(2,1).
func (v variance) single() float64 {
	below := v.units + (v.k-1)*v.residual + v.k*(v.raters-v.residual)/v.n
	if v.n < 2 || !(below > 1e-12*cmp.Or(v.units+v.raters+v.residual, 1)) {
		return math.NaN()
	}
	return (v.units - v.residual) / below
}

// interval is that of ICC(2,1). It is nil if the raters agree always, since then nothing
// shows how far they could differ.
func (v variance) interval(x float64) *stats.Interval {
	if v.residual+v.raters <= 1e-12*v.units {
		return nil
	}
	a := v.k * x / (v.n * (1 - x))
	b := 1 + v.k*x*(v.n-1)/(v.n*(1-x))
	degrees := (a*v.raters + b*v.residual) * (a*v.raters + b*v.residual) /
		(a*a*v.raters*v.raters/(v.k-1) + b*b*v.residual*v.residual/((v.n-1)*(v.k-1)))
	if !(degrees > 0) || math.IsInf(degrees, 0) {
		return nil
	}
	low, high := stats.FQuantile(0.975, v.n-1, degrees), stats.FQuantile(0.975, degrees, v.n-1)
	rest := v.k*v.raters + (v.k*v.n-v.k-v.n)*v.residual
	i := &stats.Interval{
		Low:  v.n * (v.units - low*v.residual) / (low*rest + v.n*v.units),
		High: v.n * (high*v.units - v.residual) / (rest + v.n*high*v.units),
	}
	return i.Within(-1, 1)
}
