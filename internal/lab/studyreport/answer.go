package studyreport

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/sotto-llm/sotto/internal/base/shorttext"
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

// compared has a finding for each difference of the main measure: those that the intervals
// show come first, then the other ones, the larger first, and last all that are none in one.
func (r *Report) compared() (list []Finding) {
	measure, pairs, ok := r.mainDifference()
	if !ok {
		if len(r.Same) > 0 {
			return []Finding{{Text: fmt.Sprintf("%s: no measure differs in any pair.", visible.Line(r.Compare.By))}}
		}
		return nil
	}
	var differ, equal []*Difference
	for i := range r.Differences {
		switch d := &r.Differences[i]; {
		case d.Measure != measure || d.Pairs != pairs || d.N == 0:
		case d.More+d.Less == 0:
			equal = append(equal, d)
		default:
			differ = append(differ, d)
		}
	}
	slices.SortStableFunc(differ, func(a, b *Difference) int {
		if a.shown() != b.shown() {
			return map[bool]int{true: -1, false: 1}[a.shown()]
		}
		return cmp.Compare(math.Abs(b.Mean), math.Abs(a.Mean))
	})
	for _, d := range differ[:min(len(differ), maxFindings)] {
		list = append(list, r.finding(d))
	}
	if more := len(differ) - len(list); more > 0 {
		list = append(list, Finding{Text: shorttext.Plural(more, "1 more comparison differs", "%d more comparisons differ") + " less: the report has all."})
	}
	if len(equal) > 0 {
		list = append(list, r.same(equal))
	}
	return list
}

// shown reports whether the interval of a difference excludes that there is none.
func (d *Difference) shown() bool {
	return d.Low != nil && d.High != nil && (*d.Low > 0 || *d.High < 0)
}

// maxNamed bounds the comparisons that a sentence names.
const maxNamed = 6

// same says of which comparisons no pair differs.
func (r *Report) same(list []*Difference) Finding {
	f := Finding{Repetitions: list[0].Repetitions}
	var names []string
	for _, d := range list {
		f.Repetitions = min(f.Repetitions, d.Repetitions)
		name := visible.Line(d.Value) + " instead of " + visible.Line(d.Baseline)
		if of := r.groupName(d.Others); of != "" {
			name += " (" + of + ")"
		}
		if len(names) < maxNamed {
			names = append(names, name)
		}
	}
	f.Few = f.Repetitions < FewRepetitions
	text := "No difference of the " + spoken(list[0].Measure) + " in any pair: " + strings.Join(names, "; ")
	if more := len(list) - len(names); more > 0 {
		text += fmt.Sprintf("; and %d more", more)
	}
	f.Text = text + "."
	return f
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
	fmt.Fprintf(&b, ": %s %s%s", spoken(d.Measure), r.change(d.Measure, d.Mean), unit)
	if d.Low != nil && d.High != nil {
		fmt.Fprintf(&b, " (95 %% interval %s … %s)", r.change(d.Measure, *d.Low), r.change(d.Measure, *d.High))
		f.Shown = d.shown()
	}
	fmt.Fprintf(&b, ", over %d pairs of %s", d.N, d.Pairs)
	if !f.Shown {
		b.WriteString(". This does not show a difference")
	}
	f.Text = b.String() + "."
	f.Of, f.Base = r.firstPair(d)
	return f
}

// spoken is the name of a measure in a sentence.
func spoken(measure string) string { return strings.ReplaceAll(measure, "_", " ") }

// titled is the name of a measure as a title.
func titled(measure string) string {
	name := spoken(measure)
	return strings.ToUpper(name[:min(1, len(name))]) + name[min(1, len(name)):]
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
		text := fmt.Sprintf("%s %s: %.1f %%", word, spoken(m.Name), 100*f.Mean)
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
