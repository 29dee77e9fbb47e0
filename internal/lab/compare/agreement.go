package compare

import (
	"fmt"
	"math"
	"strconv"

	"github.com/sotto-llm/sotto/internal/base/stats"
	"github.com/sotto-llm/sotto/internal/lab/agreement"
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
	values, err := valuesOf(counts, w)
	if err != nil || x.Replies == 0 {
		return x, err
	}
	ratings := map[[2]float64]int{}
	for pair, n := range counts {
		ratings[[2]float64{values[pair[0]], values[pair[1]]}] += n
	}
	kappa := agreement.KappaOf(ratings, ratingWeights[w])
	x.Kappa, x.Interval = kappa.Value, kappa.Interval
	return x, nil
}

// ratingWeights are the weights by the names that package agreement has for them.
var ratingWeights = map[Weights]agreement.Weights{Nominal: agreement.Unweighted, Linear: agreement.Linear, Quadratic: agreement.Quadratic}

// valuesOf returns what labels are as ratings: numbers, or of nominal ones any.
func valuesOf(counts map[[2]string]int, w Weights) (map[string]float64, error) {
	values := map[string]float64{}
	for pair := range counts {
		for _, label := range pair {
			if _, ok := values[label]; ok {
				continue
			}
			if len(values) == maxLabels {
				return nil, fmt.Errorf("they have more than %d different labels, which is not a scale", maxLabels)
			}
			v := float64(len(values))
			if w != Nominal {
				var err error
				if v, err = strconv.ParseFloat(label, 64); err != nil || math.IsInf(v, 0) || math.IsNaN(v) {
					return nil, fmt.Errorf("%s weights need numbers, and not %.40q", w, label)
				}
			}
			values[label] = v
		}
	}
	return values, nil
}
