package agreement

import (
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"github.com/sotto-llm/sotto/internal/base/effort"
	"github.com/sotto-llm/sotto/internal/base/stats"
)

var none = math.NaN()

// once returns units that were rated once.
func once(lines ...[]float64) (list []Unit) {
	for _, line := range lines {
		list = append(list, Unit{line})
	}
	return list
}

// krippendorff has the reliability data of Krippendorff's examples (Content Analysis, 3rd
// edition, 2013, chapter 12): four observers, twelve units, with missing values.
var krippendorff = once(
	[]float64{1, 1, none, 1}, []float64{2, 2, 3, 2}, []float64{3, 3, 3, 3}, []float64{3, 3, 3, 3}, []float64{2, 2, 2, 2}, []float64{1, 2, 3, 4},
	[]float64{4, 4, 4, 4}, []float64{1, 1, 2, 1}, []float64{2, 2, 2, 2}, []float64{none, 5, 5, 5}, []float64{none, none, 1, 1}, []float64{none, 3, none, none},
)

// shrout has the ratings of table 2 of Shrout and Fleiss (1979): six targets, four judges.
var shrout = once(
	[]float64{9, 2, 5, 8}, []float64{6, 1, 3, 2}, []float64{8, 4, 6, 8}, []float64{7, 1, 2, 6}, []float64{10, 5, 6, 9}, []float64{6, 2, 4, 7},
)

// table returns the units of two raters who gave each pair of ratings so often.
func table(counts ...[]int) (list []Unit) {
	for a, row := range counts {
		for b, n := range row {
			for range n {
				list = append(list, Unit{{float64(a), float64(b)}})
			}
		}
	}
	return list
}

func near(t *testing.T, what string, got *float64, want, within float64) {
	t.Helper()
	if got == nil || !(math.Abs(*got-want) <= within) {
		t.Errorf("%s: got %v, want %g", what, shown(got), want)
	}
}

func shown(v *float64) any {
	if v == nil {
		return nil
	}
	return *v
}

// TestPublished computes published and hand-computed examples.
func TestPublished(t *testing.T) {
	for level, want := range map[Level]float64{Nominal: 0.743, Ordinal: 0.815, Interval: 0.849} {
		a := Alpha(krippendorff, level)
		near(t, "alpha "+string(level), a.Value, want, 0.0005)
		if a.Units != 11 || a.Ratings != 40 {
			t.Errorf("alpha %s rests on %d units and %d ratings", level, a.Units, a.Ratings)
		}
	}
	single, mean := ICC(shrout)
	near(t, "ICC(2,1)", single.Value, 0.29, 0.005)
	near(t, "ICC(2,k)", mean.Value, 0.62, 0.005)
	// The intervals that the packages psych and irr of R print for this table.
	for _, x := range []struct{ got, want float64 }{{single.Interval.Low, 0.019}, {single.Interval.High, 0.761}, {mean.Interval.Low, 0.071}, {mean.Interval.High, 0.927}} {
		if math.Abs(x.got-x.want) > 0.001 {
			t.Errorf("interval of ICC: got %.4f, want %.3f", x.got, x.want)
		}
	}
	three := table([]int{10, 2, 0}, []int{1, 8, 3}, []int{0, 2, 4})
	for _, x := range []struct {
		units []Unit
		w     Weights
		want  float64
	}{
		{table([]int{20, 5}, []int{10, 15}), Unweighted, 0.4},
		{three, Unweighted, 1 - 8*30.0/(900-12*11-12*12-6*7)},
		{three, Linear, 1 - 8*30.0/732},
		{three, Quadratic, 1 - 8*30.0/1032},
	} {
		near(t, "kappa "+string(x.w), Kappa(x.units, Pair{0, 1}, x.w).Value, x.want, 1e-12)
	}
	if same, of := Same(three, Pair{0, 1}); same != 22 || of != 30 {
		t.Errorf("%d of %d are the same", same, of)
	}
}

// TestFQuantile compares with tables of the distribution.
func TestFQuantile(t *testing.T) {
	for _, x := range []struct{ p, above, below, want float64 }{{0.95, 1, 10, 4.9646}, {0.975, 5, 15, 3.5764}, {0.975, 15, 5, 6.4277}, {0.05, 3, 7, 0.1125}} {
		if got := stats.FQuantile(x.p, x.above, x.below); math.Abs(got-x.want) > 0.0001 {
			t.Errorf("F(%g; %g, %g) = %.5f, want %g", x.p, x.above, x.below, got, x.want)
		}
	}
}

// figures are all coefficients of a list of units with three raters.
func figures(units []Unit) map[string]Coefficient {
	m := map[string]Coefficient{}
	for _, level := range []Level{Nominal, Ordinal, Interval} {
		m["alpha "+string(level)] = Alpha(units, level)
	}
	for _, w := range []Weights{Unweighted, Linear, Quadratic} {
		m["kappa "+string(w)] = Kappa(units, Pair{0, 1}, w)
	}
	m["ICC(2,1)"], m["ICC(2,k)"] = ICC(units)
	return m
}

// TestPerfect finds 1 where raters always agree, nothing where all ratings are the same, and
// about 0 where they rate by chance.
func TestPerfect(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 3))
	var perfect, constant, chance []Unit
	for i := range 400 {
		v := float64(i % 5)
		perfect = append(perfect, Unit{{v, v, v}})
		constant = append(constant, Unit{{3, 3, 3}})
		chance = append(chance, Unit{{float64(r.IntN(5)), float64(r.IntN(5)), float64(r.IntN(5))}})
	}
	for name, c := range figures(perfect) {
		near(t, name+" of perfect agreement", c.Value, 1, 1e-9)
	}
	for name, c := range figures(constant) {
		if c.Value != nil || c.Interval != nil {
			t.Errorf("%s of equal ratings: %v %v", name, shown(c.Value), c.Interval)
		}
	}
	for name, c := range figures(chance) {
		near(t, name+" of chance", c.Value, 0, 0.25)
		if c.Interval == nil || c.Interval.Low > 0 || c.Interval.High < 0 {
			t.Errorf("%s of chance: %v", name, c.Interval)
		}
	}
	for name, c := range figures(nil) {
		if c.Value != nil || c.Units != 0 {
			t.Errorf("%s of nothing: %v", name, c)
		}
	}
}

// sample draws units from a population: each has a quality of its own, that each rater sees
// with an error of his own.
func sample(r *rand.Rand, n, times int) (list []Unit) {
	for range n {
		quality := r.NormFloat64()
		var u Unit
		for range times {
			var line []float64
			for range 3 {
				line = append(line, math.Round(min(max(3+1.2*quality+0.8*r.NormFloat64(), 1), 5)))
			}
			u = append(u, line)
		}
		list = append(list, u)
	}
	return list
}

// TestOrder exchanges units and raters, which changes no figure and no interval, and moves
// the scale, which changes neither.
func TestOrder(t *testing.T) {
	for _, times := range []int{1, 2} {
		r := rand.New(rand.NewPCG(3, 4))
		units := sample(r, 40, times)
		want := figures(units)
		var other []Unit
		for _, i := range r.Perm(len(units)) {
			var u Unit
			for _, line := range units[i] {
				u = append(u, []float64{line[1], line[0], line[2]})
			}
			other = append(other, u)
		}
		for name, c := range figures(other) {
			if !alike(c, want[name], 1e-9) {
				t.Errorf("%s in another order: %v %v, want %v %v", name, shown(c.Value), c.Interval, shown(want[name].Value), want[name].Interval)
			}
		}
		for _, u := range other {
			for _, line := range u {
				for i := range line {
					line[i] = 1000 + 10*line[i]
				}
			}
		}
		for name, c := range figures(other) {
			if !alike(c, want[name], 1e-6) {
				t.Errorf("%s on another scale: %v %v, want %v %v", name, shown(c.Value), c.Interval, shown(want[name].Value), want[name].Interval)
			}
		}
	}
}

func alike(a, b Coefficient, within float64) bool {
	if a.Value == nil || b.Value == nil || a.Interval == nil || b.Interval == nil {
		return reflect.DeepEqual(a, b)
	}
	return math.Abs(*a.Value-*b.Value) < within && math.Abs(a.Interval.Low-b.Interval.Low) < within && math.Abs(a.Interval.High-b.Interval.High) < within
}

// TestMissing leaves ratings out: alpha and kappa use what is there, and the intraclass
// correlation only whole units.
func TestMissing(t *testing.T) {
	units := sample(rand.New(rand.NewPCG(5, 6)), 60, 1)
	for i := range units {
		if i%3 == 0 {
			units[i][0][i%2] = none
		}
	}
	a, k := Alpha(units, Ordinal), Kappa(units, Pair{0, 1}, Linear)
	single, _ := ICC(units)
	if a.Units != 60 || a.Ratings != 160 || k.Units != 40 || single.Units != 40 {
		t.Errorf("units: alpha %d with %d ratings, kappa %d, ICC %d", a.Units, a.Ratings, k.Units, single.Units)
	}
	whole, _ := ICC(slices.DeleteFunc(slices.Clone(units), func(u Unit) bool { return slices.ContainsFunc(u[0], math.IsNaN) }))
	near(t, "ICC of whole units", single.Value, *whole.Value, 0)
}

// TestRepeated takes each unit twice, which says nothing new about others: the interval must
// not become narrower.
func TestRepeated(t *testing.T) {
	units := sample(rand.New(rand.NewPCG(7, 8)), 40, 1)
	var twice []Unit
	for _, u := range units {
		twice = append(twice, Unit{u[0], u[0]})
	}
	a, b := Alpha(units, Interval), Alpha(twice, Interval)
	if math.Abs(*a.Value-*b.Value) > 0.01 || math.Abs((a.Interval.High-a.Interval.Low)-(b.Interval.High-b.Interval.Low)) > 0.01 {
		t.Errorf("once %g %v, twice %g %v", *a.Value, *a.Interval, *b.Value, *b.Interval)
	}
}

// TestCoverage simulates: the 95 % intervals hold the figure of the population in about as
// many samples as they say.
func TestCoverage(t *testing.T) {
	trials := 100 * effort.Times()
	if effort.Brief() {
		trials = 40
	}
	r := rand.New(rand.NewPCG(9, 10))
	truth := map[string]float64{}
	population := sample(r, 30_000, 1)
	ones := slices.Repeat([]int{1}, len(population))
	for _, level := range []Level{Nominal, Ordinal, Interval} {
		list, values := code(population)
		truth["alpha "+string(level)] = (&alpha{list: list, values: centred(values), level: level, counts: make([]float64, len(values))}).value(ones)
	}
	for _, w := range []Weights{Unweighted, Linear, Quadratic} {
		list, values := code(population)
		k := &kappa{list: list, values: centred(values), weights: w, rows: make([]float64, len(values)), columns: make([]float64, len(values))}
		for i := range k.list {
			k.list[i][0] = k.list[i][0][:2]
		}
		truth["kappa "+string(w)] = k.value(ones)
	}
	truth["ICC(2,1)"] = varianceOf(population, ones).single()
	for _, times := range []int{1, 2} {
		held := map[string]int{}
		for range trials {
			for name, c := range figures(sample(r, 30, times)) {
				if v, known := truth[name]; known && c.Interval != nil && c.Interval.Low <= v && v <= c.Interval.High {
					held[name]++
				}
			}
		}
		for name := range truth {
			if share := float64(held[name]) / float64(trials); share < 0.88 {
				t.Errorf("%s of 30 units, rated %d times: the interval holds in %.3f of samples", name, times, share)
			} else {
				t.Logf("%s, %d times: %.3f", name, times, share)
			}
		}
	}
}
