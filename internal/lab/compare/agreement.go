package compare

import (
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/sotto-llm/sotto/internal/base/stats"
)

// Weights say how far apart two labels are.
type Weights string

// The weights of kappa.
const (
	Nominal   Weights = "nominal"   // equal or not
	Linear    Weights = "linear"    // the distance of numbers
	Quadratic Weights = "quadratic" // its square
)

// An Agreement says how far two judges agree on the same replies.
type Agreement struct {
	Task    string `json:"task"`
	Judge   string `json:"judge"`
	With    string `json:"with"`
	Replies int    `json:"replies"` // that both judged
	// Same is the share with the same label.
	Same stats.Rate `json:"same"`
	// Kappa is Cohen's, with the weights that were asked for: 1 means that they agree, 0
	// that they agree as often as by chance. It is nil if a judge has one label only.
	Kappa *float64 `json:"kappa"`
	// Interval is by the jackknife over the replies.
	Interval *stats.Interval `json:"interval"`
}

// maxLabels bounds the different labels of two judges.
const maxLabels = 60

func (s *Set) agreements(task string, cells map[string]*cell, o *Options) (list []Agreement, err error) {
	for _, pair := range s.pairs(o.Baseline) {
		a, b := cells[pair[0]], cells[pair[1]]
		if a == nil || b == nil {
			continue
		}
		x, err := agree(a, b, o.Agreement)
		if err != nil {
			return nil, fmt.Errorf("%s and %s: %w", pair[0], pair[1], err)
		}
		x.Task, x.Judge, x.With = task, pair[0], pair[1]
		list = append(list, x)
	}
	return list, nil
}

// agree compares the labels of the same replies: of those to one problem, in their order.
func agree(a, b *cell, w Weights) (x Agreement, err error) {
	counts := map[[2]string]int{}
	same := 0
	for id, p := range a.problems {
		q := b.problems[id]
		if q == nil {
			continue
		}
		for i := range min(len(p.labels), len(q.labels)) {
			counts[[2]string{p.labels[i], q.labels[i]}]++
			x.Replies++
			if p.labels[i] == q.labels[i] {
				same++
			}
		}
	}
	x.Same = stats.NewRate("", same, x.Replies)
	t, err := newTable(counts, w)
	if err != nil || x.Replies == 0 {
		return x, err
	}
	kappa := t.kappa()
	if math.IsNaN(kappa) {
		return x, nil
	}
	x.Kappa = &kappa
	x.Interval = t.jackknife(kappa).Within(-1, 1)
	return x, nil
}

// A table counts how often two judges give each pair of labels.
type table struct {
	counts   [][]float64 // by the label of each judge
	distance [][]float64
	n        float64
}

func newTable(counts map[[2]string]int, w Weights) (*table, error) {
	var labels []string
	for pair := range counts {
		for _, label := range pair {
			if !slices.Contains(labels, label) {
				if labels = append(labels, label); len(labels) > maxLabels {
					return nil, fmt.Errorf("they have more than %d different labels, which is not a scale", maxLabels)
				}
			}
		}
	}
	slices.Sort(labels)
	t := &table{}
	for _, x := range labels {
		var row, far []float64
		for _, y := range labels {
			d, err := w.distance(x, y)
			if err != nil {
				return nil, err
			}
			n := float64(counts[[2]string{x, y}])
			t.n += n
			row, far = append(row, n), append(far, d)
		}
		t.counts, t.distance = append(t.counts, row), append(t.distance, far)
	}
	return t, nil
}

func (w Weights) distance(x, y string) (float64, error) {
	if w == Nominal {
		if x == y {
			return 0, nil
		}
		return 1, nil
	}
	a, errA := strconv.ParseFloat(x, 64)
	b, errB := strconv.ParseFloat(y, 64)
	if errA != nil || errB != nil || math.IsInf(a-b, 0) || math.IsNaN(a-b) {
		return 0, fmt.Errorf("%s weights need numbers, and not %.40q and %.40q", w, x, y)
	}
	if w == Quadratic {
		return (a - b) * (a - b), nil
	}
	return math.Abs(a - b), nil
}

// kappa is 1 less the mean distance of the labels by their mean distance if the judges were
// independent. It is NaN if the latter is 0.
func (t *table) kappa() float64 {
	rows, columns := make([]float64, len(t.counts)), make([]float64, len(t.counts))
	seen, chance := 0.0, 0.0
	for i := range t.counts {
		for j, n := range t.counts[i] {
			rows[i], columns[j] = rows[i]+n, columns[j]+n
			seen += n * t.distance[i][j]
		}
	}
	for i := range rows {
		for j := range columns {
			chance += rows[i] * columns[j] * t.distance[i][j]
		}
	}
	if chance == 0 {
		return math.NaN()
	}
	return 1 - seen*t.n/chance
}

// jackknife returns the interval of kappa from its values without each reply.
func (t *table) jackknife(kappa float64) *stats.Interval {
	if t.n < 3 {
		return nil
	}
	squares, sum := 0.0, 0.0
	var each []stats.Sum // the value without one reply, and how many replies are so
	for i := range t.counts {
		for j, n := range t.counts[i] {
			if n == 0 {
				continue
			}
			t.counts[i][j], t.n = n-1, t.n-1
			without := t.kappa()
			t.counts[i][j], t.n = n, t.n+1
			if math.IsNaN(without) {
				return nil
			}
			each = append(each, stats.Sum{Above: without, Below: n})
			sum += without * n
		}
	}
	for _, e := range each {
		d := e.Above - sum/t.n
		squares += e.Below * d * d
	}
	if squares == 0 {
		return nil
	}
	margin := stats.StudentQuantile(int(t.n)-1) * math.Sqrt(squares*(t.n-1)/t.n)
	return &stats.Interval{Low: kappa - margin, High: kappa + margin}
}
