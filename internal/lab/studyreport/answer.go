package studyreport

import (
	"fmt"
	"slices"
	"strings"

	"github.com/sotto-llm/sotto/internal/base/visible"
	"github.com/sotto-llm/sotto/internal/lab/study"
)

// FewRepetitions is below how many repetitions a figure says little about others.
const FewRepetitions = 10

// A Finding is a sentence that answers the question of a study.
type Finding struct {
	Text string `json:"text"`
	// Shown says that the interval excludes no difference: the values differ.
	Shown bool `json:"shown"`
	// Repetitions is how many it rests on, and Few says that they are too few.
	Repetitions int  `json:"repetitions"`
	Few         bool `json:"few,omitempty"`
	// Of and Base are the cells of the first pair whose measures differ; empty if there is none.
	Of   string `json:"of,omitempty"`
	Base string `json:"base,omitempty"`
}

// maxFindings bounds the sentences of an answer.
const maxFindings = 8

// Answer answers the question of a study: how much the compared values differ in the measure
// that matters most, each with its interval; or, if nothing is compared, which group has most.
func (r *Report) Answer() []Finding {
	if r.Compare != nil {
		return r.compared()
	}
	return r.best()
}

// compared has a finding for each difference of the main measure.
func (r *Report) compared() (list []Finding) {
	measure, pairs, ok := r.mainDifference()
	if !ok {
		if len(r.Same) > 0 {
			return []Finding{{Text: fmt.Sprintf("%s: no measure differs in any pair.", visible.Line(r.Compare.By))}}
		}
		return nil
	}
	for i := range r.Differences {
		d := &r.Differences[i]
		if d.Measure != measure || d.Pairs != pairs || d.N == 0 {
			continue
		}
		if len(list) == maxFindings {
			break
		}
		list = append(list, r.finding(d))
	}
	return list
}

// mainDifference is the measure whose differences answer the question: the first share that is
// better if it is higher or lower, or else the first of all. Pairs of cells are preferred:
// a memory carries over from problem to problem, so pairs of problems are not independent.
func (r *Report) mainDifference() (measure, pairs string, ok bool) {
	for _, better := range []bool{true, false} {
		for _, m := range study.Measures(r.Kind) {
			if better && (m.Unit != "share" || !m.Higher && !m.Lower) {
				continue
			}
			for _, pairs := range []string{PairsOfCells, PairsOfProblems} {
				if slices.ContainsFunc(r.Differences, func(d Difference) bool {
					return d.Measure == m.Name && d.Pairs == pairs && d.N > 0 && d.More+d.Less > 0
				}) {
					return m.Name, pairs, true
				}
			}
		}
	}
	return "", "", false
}

// finding says what a difference says.
func (r *Report) finding(d *Difference) Finding {
	f := Finding{Repetitions: d.Repetitions, Few: d.Repetitions < FewRepetitions}
	var b strings.Builder
	fmt.Fprintf(&b, "%s instead of %s", visible.Line(d.Value), visible.Line(d.Baseline))
	if name := r.groupName(d.Others); name != "" {
		fmt.Fprintf(&b, " (%s)", name)
	}
	unit := r.unitOf(d.Measure, "points")
	fmt.Fprintf(&b, ": %s %s%s", d.Measure, r.change(d.Measure, d.Mean), unit)
	if d.Low != nil && d.High != nil {
		fmt.Fprintf(&b, " (95 %% interval %s … %s)", r.change(d.Measure, *d.Low), r.change(d.Measure, *d.High))
		f.Shown = *d.Low > 0 || *d.High < 0
	}
	fmt.Fprintf(&b, ", over %d pairs of %s", d.N, d.Pairs)
	if !f.Shown {
		b.WriteString(". This does not show a difference")
	}
	f.Text = b.String() + "."
	f.Of, f.Base = r.firstPair(d)
	return f
}

// unitOf is the unit of a measure, after a space; share is what that of a share is called.
func (r *Report) unitOf(measure, share string) string {
	if unit := unitsOf(r.Kind)[measure]; unit != "share" {
		return " " + unit
	}
	return " " + share
}

// change prints a difference of a measure. That of shares is in percentage points.
func (r *Report) change(measure string, v float64) string {
	if unitsOf(r.Kind)[measure] == "share" {
		return fmt.Sprintf("%+.1f", 100*v)
	}
	return signed(v)
}

// firstPair returns the first pair of cells in which a measure differs.
func (r *Report) firstPair(d *Difference) (of, base string) {
	for _, s := range r.sides() {
		if groupKey(s.others) != groupKey(d.Others) {
			continue
		}
		r.pairs(s, d.Value, func(a, b *study.Cell) {
			x, ok := r.study.State(a).Measures[d.Measure]
			y, also := r.study.State(b).Measures[d.Measure]
			if of == "" && ok && also && x != y {
				of, base = a.ID, b.ID
			}
		})
	}
	return of, base
}

// best has the groups with the most, or the least, of the main measure.
func (r *Report) best() (list []Finding) {
	for _, m := range r.Measures() {
		if m.Unit != "share" || !m.Higher && !m.Lower {
			continue
		}
		at := -1
		for i := range r.Groups {
			f := r.Groups[i].Figure(m.Name)
			if f == nil {
				continue
			}
			if at < 0 || m.Higher == (f.Mean > r.Groups[at].Figure(m.Name).Mean) && f.Mean != r.Groups[at].Figure(m.Name).Mean {
				at = i
			}
		}
		if at < 0 {
			continue
		}
		f := r.Groups[at].Figure(m.Name)
		word := "Highest"
		if m.Lower {
			word = "Lowest"
		}
		text := fmt.Sprintf("%s %s: %.1f %%", word, m.Name, 100*f.Mean)
		if name := r.groupName(r.Groups[at].Values); name != "" {
			text += ", " + name
		}
		if f.Low != nil && f.High != nil {
			text += fmt.Sprintf(" (95 %% interval %.1f … %.1f)", 100**f.Low, 100**f.High)
		}
		return []Finding{{Text: text + fmt.Sprintf(", n = %d.", f.N), Repetitions: f.N, Few: f.N < FewRepetitions}}
	}
	return nil
}
