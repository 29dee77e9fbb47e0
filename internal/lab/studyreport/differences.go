package studyreport

import (
	"fmt"
	"math"
	"slices"

	"github.com/sotto-llm/sotto/internal/base/stats"
	"github.com/sotto-llm/sotto/internal/lab/study"
)

// What the pairs of a difference are.
const (
	PairsOfCells    = "cells"    // equal in all other values and in the repetition
	PairsOfProblems = "problems" // the same problem, in such cells
)

// A Difference is how much a value of the compared key differs from the baseline.
type Difference struct {
	Measure string `json:"measure"`
	// Pairs says what is paired: cells or problems.
	Pairs string `json:"pairs"`
	// Others are the values of the other keys, which both sides have.
	Others   []study.Value `json:"others"`
	Value    string        `json:"value"`
	Baseline string        `json:"baseline"`
	N        int           `json:"n"`
	// Repetitions is how many pairs of cells there are. Pairs of problems are in these.
	Repetitions int `json:"repetitions"`
	// Unpaired are the planned pairs that at least one side has no result for.
	Unpaired []string `json:"unpaired,omitempty"`
	// Mean is the mean of value minus baseline. Low and High bound it.
	Mean float64  `json:"mean"`
	Low  *float64 `json:"low,omitempty"`
	High *float64 `json:"high,omitempty"`
	// More and Less are the pairs in which the value has more and less than the
	// baseline.
	More int `json:"more"`
	Less int `json:"less"`
	// P is two-sided. Holm is P corrected for the tests of the same measure by the
	// same pairs, of which there are Tests. Least is the smallest P that so few pairs
	// can give.
	P      *float64 `json:"p,omitempty"`
	Holm   *float64 `json:"p_holm,omitempty"`
	Tests  int      `json:"tests"`
	Least  float64  `json:"p_least,omitempty"`
	Method string   `json:"method"`
}

// solvedShare is the measure that single problems have too.
const solvedShare = "solved_share"

// A side is a combination of values of the other keys, and the cells with it by the
// value of the compared key.
type side struct {
	others []study.Value
	values []string // in order
	cells  map[string]map[int]*study.Cell
}

// sides sorts all cells for the comparison.
func (r *Report) sides() (list []*side) {
	at := map[string]*side{}
	for i := range r.study.Cells {
		c := &r.study.Cells[i]
		others := slices.DeleteFunc(slices.Clone(c.Values), func(v study.Value) bool { return v.Key == r.Compare.By })
		key := groupKey(others)
		s := at[key]
		if s == nil {
			s = &side{others: others, cells: map[string]map[int]*study.Cell{}}
			at[key] = s
			list = append(list, s)
		}
		value := c.Value(r.Compare.By)
		if s.cells[value] == nil {
			s.cells[value] = map[int]*study.Cell{}
			s.values = append(s.values, value)
		}
		s.cells[value][c.Repetition] = c
	}
	return list
}

// compare computes the differences from the baseline.
func (r *Report) compare(streams map[string]*stream) {
	if r.Compare == nil {
		return
	}
	sides := r.sides()
	for _, m := range study.Measures(r.Kind) {
		var list []Difference
		differs := false
		for _, s := range sides {
			for _, value := range s.compared(r.Compare.Baseline) {
				d := r.differenceOfCells(m.Name, s, value)
				differs = differs || d.More+d.Less > 0
				list = append(list, d)
			}
		}
		switch {
		case differs:
			r.Differences = append(r.Differences, corrected(list)...)
		case slices.ContainsFunc(list, func(d Difference) bool { return d.N > 0 }):
			r.Same = append(r.Same, m.Name)
		}
		if m.Name != solvedShare || r.Kind != study.Streams {
			continue
		}
		list = nil
		for _, s := range sides {
			for _, value := range s.compared(r.Compare.Baseline) {
				list = append(list, r.differenceOfProblems(s, value, streams))
			}
		}
		r.Differences = append(r.Differences, corrected(list)...)
	}
}

// compared returns the values that are compared with the baseline.
func (s *side) compared(baseline string) []string {
	if s.cells[baseline] == nil {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(s.values), func(v string) bool { return v == baseline })
}

// pairs calls with each planned pair, in the order of the repetitions. Either cell is
// nil if it has no result.
func (r *Report) pairs(s *side, value string, with func(of, base *study.Cell)) (unpaired []string) {
	of, base := s.cells[value], s.cells[r.Compare.Baseline]
	repetitions := map[int]bool{}
	for n := range of {
		repetitions[n] = true
	}
	for n := range base {
		repetitions[n] = true
	}
	usable := func(c *study.Cell) bool { return c != nil && counts(r.study.State(c)) }
	for _, n := range sortedKeys(repetitions) {
		if usable(of[n]) && usable(base[n]) {
			with(of[n], base[n])
			continue
		}
		unpaired = append(unpaired, fmt.Sprintf("repetition %d", n))
	}
	return unpaired
}

func sortedKeys(set map[int]bool) (list []int) {
	for n := range set {
		list = append(list, n)
	}
	slices.Sort(list)
	return list
}

func (r *Report) differenceOfCells(measure string, s *side, value string) Difference {
	var values []float64
	var without []string
	repetitions := 0
	unpaired := r.pairs(s, value, func(of, base *study.Cell) {
		repetitions++
		a, ok := r.study.State(of).Measures[measure]
		b, okBase := r.study.State(base).Measures[measure]
		if ok && okBase {
			values = append(values, a-b)
		} else {
			without = append(without, fmt.Sprintf("repetition %d", of.Repetition))
		}
	})
	d := r.difference(measure, s, value, values)
	d.Pairs, d.Unpaired, d.Repetitions = PairsOfCells, append(unpaired, without...), repetitions-len(without)
	return d
}

// differenceOfProblems pairs the problems that both streams of a repetition have. A
// problem counts once: with the mean of its differences over the repetitions.
func (r *Report) differenceOfProblems(s *side, value string, streams map[string]*stream) Difference {
	type total struct{ sum, n int }
	totals := map[problemID]total{}
	var without []string
	repetitions := 0
	unpaired := r.pairs(s, value, func(of, base *study.Cell) {
		repetitions++
		a, b := streams[of.ID], streams[base.ID]
		if a == nil || b == nil {
			without = append(without, fmt.Sprintf("repetition %d", of.Repetition))
			return
		}
		solved := make(map[problemID]bool, len(b.problems))
		for i := range b.problems {
			solved[b.problems[i].id] = b.problems[i].solved
		}
		for i := range a.problems {
			p := &a.problems[i]
			was, ok := solved[p.id]
			if !ok {
				continue
			}
			t := totals[p.id]
			t.n++
			switch {
			case p.solved && !was:
				t.sum++
			case was && !p.solved:
				t.sum--
			}
			totals[p.id] = t
		}
	})
	values := make([]float64, 0, len(totals))
	for _, t := range totals { // a sample does not depend on the order
		values = append(values, float64(t.sum)/float64(t.n))
	}
	d := r.difference(solvedShare, s, value, values)
	d.Pairs, d.Unpaired, d.Repetitions = PairsOfProblems, append(unpaired, without...), repetitions-len(without)
	return d
}

func (r *Report) difference(measure string, s *side, value string, values []float64) Difference {
	sample := stats.NewSample(values)
	d := Difference{Measure: measure, Others: s.others, Value: value, Baseline: r.Compare.Baseline, N: sample.N(), Mean: sample.Mean()}
	for _, v := range values {
		switch {
		case v > 0:
			d.More++
		case v < 0:
			d.Less++
		}
	}
	if i := sample.IntervalOfMean(); i != nil {
		if unitsOf(r.Kind)[measure] == "share" {
			i = i.Within(-1, 1)
		}
		d.Low, d.High = &i.Low, &i.High
	}
	if test := sample.SignFlip(); !math.IsNaN(test.P) {
		d.P, d.Least, d.Method = &test.P, test.Least, test.Method
	}
	return d
}

// corrected sets the corrected p-values of tests that belong together.
func corrected(list []Difference) []Difference {
	p := make([]float64, len(list))
	tests := 0
	for i, d := range list {
		p[i] = math.NaN()
		if d.P != nil {
			p[i] = *d.P
			tests++
		}
	}
	for i, v := range stats.Holm(p) {
		list[i].Tests = tests
		if !math.IsNaN(v) {
			list[i].Holm = &v
		}
	}
	return list
}
