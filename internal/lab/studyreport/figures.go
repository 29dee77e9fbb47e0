package studyreport

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/sotto-llm/sotto/internal/base/shorttext"
	"github.com/sotto-llm/sotto/internal/base/visible"
	"github.com/sotto-llm/sotto/internal/lab/report"
	"github.com/sotto-llm/sotto/internal/lab/study"
)

// A Picture is a figure of the report as a drawing.
type Picture struct {
	// Name is the name of its file, without the format: small letters, digits and
	// hyphens.
	Name string
	// Section is the figure that the picture is of.
	Section string
	Title   string
	Note    string
	Drawing *report.Drawing
}

const (
	// mostLines bounds the lines of a picture: so many can be distinguished.
	mostLines = 8
	// mostPanels bounds the pictures of a curve.
	mostPanels = 24
	// mostRows bounds the rows of a picture of means.
	mostRows = 60
)

// Means are the pictures of the measures that are shares, or of the first measure if
// there is none.
func (r *Report) Means() (list []Picture) {
	for _, m := range r.Measures() {
		if m.Unit != "share" {
			continue
		}
		d := report.Dots{Title: "Mean " + spoken(m.Name), X: m.Help, Share: true}
		left := 0
		for i := range r.Groups {
			g := &r.Groups[i]
			f := g.Figure(m.Name)
			if f == nil {
				continue
			}
			if len(d.Rows) == mostRows {
				left++
				continue
			}
			row := report.Dot{Name: r.groupName(g.Values), Series: r.series(g.Values), Mean: f.Mean, Low: f.Low, High: f.High, Note: repetitions(f.N)}
			for _, c := range r.counted(g) {
				if v, ok := r.study.State(c).Measures[m.Name]; ok {
					row.Each = append(row.Each, v)
				}
			}
			d.Rows = append(d.Rows, row)
		}
		note := "Means with 95 % intervals; a small line under each is a repetition."
		list = append(list, Picture{Name: "mean-" + fileName(m.Name), Section: "means", Title: titled(m.Name), Note: note + leftOut(left, "groups"), Drawing: d.Draw()})
	}
	return list
}

// Forests are the pictures of the differences of shares.
func (r *Report) Forests() (list []Picture) {
	units := unitsOf(r.Kind)
	low, high := r.differenceSpan()
	for _, pairs := range []string{PairsOfCells, PairsOfProblems} {
		for _, m := range r.Measures() {
			if units[m.Name] != "share" {
				continue
			}
			few := ""
			d := report.Dots{Title: "Difference in " + spoken(m.Name), X: "difference in percentage points", Share: true, Difference: true, Least: low, Most: high}
			left := 0
			for i := range r.Differences {
				x := &r.Differences[i]
				if x.Measure != m.Name || x.Pairs != pairs || x.N == 0 {
					continue
				}
				if len(d.Rows) == mostRows {
					left++
					continue
				}
				few = cmp.Or(few, x.fewCells())
				values := append(slices.Clone(x.Others), study.Value{Key: r.Compare.By, Label: x.Value})
				d.Rows = append(d.Rows, report.Dot{Name: r.groupName(values), Series: r.series(values), Mean: x.Mean, Low: x.Low, High: x.High, Note: x.note()})
			}
			if len(d.Rows) == 0 {
				continue
			}
			note := fmt.Sprintf("Value minus %s, over pairs of %s, with 95 %% intervals.", visible.Line(r.Compare.Baseline), pairs)
			list = append(list, Picture{Name: "difference-" + fileName(m.Name) + "-" + pairs, Section: "differences", Title: titled(m.Name) + ", difference of pairs of " + pairs, Note: note + few + leftOut(left, "differences"), Drawing: d.Draw()})
		}
	}
	return list
}

// differenceSpan is from the least to the largest difference of shares, with their intervals:
// their pictures have one scale.
func (r *Report) differenceSpan() (low, high float64) {
	units := unitsOf(r.Kind)
	for i := range r.Differences {
		d := &r.Differences[i]
		if units[d.Measure] != "share" || d.N == 0 {
			continue
		}
		low, high = min(low, d.Mean), max(high, d.Mean)
		if d.Low != nil && d.High != nil {
			low, high = min(low, *d.Low), max(high, *d.High)
		}
	}
	return low, high
}

// repetitions says how many there are, and whether they are too few.
func repetitions(n int) string {
	if n < FewRepetitions {
		return fmt.Sprintf("n = %d: too few", n)
	}
	return fmt.Sprintf("n = %d", n)
}

// note says over how many pairs a difference is, and whether these are too few. Problems are
// not repetitions: see fewCells.
func (d *Difference) note() string {
	if d.Pairs == PairsOfProblems {
		return fmt.Sprintf("n = %d", d.N)
	}
	return repetitions(d.N)
}

// fewCells is a note on pairs of problems from few repetitions.
func (d *Difference) fewCells() string {
	if d.Pairs != PairsOfProblems || d.Repetitions >= FewRepetitions {
		return ""
	}
	return fmt.Sprintf(" The problems are those of %d repetitions: too few to rely on.", d.Repetitions)
}

// Panels are the pictures of a curve: one for each combination of the values that are
// not compared, with a line for each value that is.
func (r *Report) Panels(c *Curve) (list []Picture) {
	by := r.lineKey()
	type panel struct {
		others []study.Value
		lines  []*CurveLine
	}
	var panels []*panel
	at := map[string]*panel{}
	for i := range c.Lines {
		l := &c.Lines[i]
		others := slices.DeleteFunc(slices.Clone(l.Values), func(v study.Value) bool { return v.Key == by })
		key := groupKey(others)
		if at[key] == nil {
			at[key] = &panel{others: others}
			panels = append(panels, at[key])
		}
		at[key].lines = append(at[key].lines, l)
	}
	for i, p := range panels[:min(len(panels), mostPanels)] {
		chart := report.Chart{Title: c.Title, X: c.X, Y: c.Title, Share: c.Unit == "share", Most: c.most()}
		chart.First, chart.Last = c.span()
		if name := r.groupName(p.others); name != "" {
			chart.Y += " · " + shorttext.Ellipsis(name, maxTitled)
		}
		n := map[int]bool{}
		for _, l := range p.lines[:min(len(p.lines), mostLines)] {
			name := (&study.Cell{Values: l.Values}).Value(by)
			line := report.BandLine{Name: visible.Line(name), Series: r.series(l.Values)}
			for _, point := range l.Points {
				line.Points = append(line.Points, report.BandPoint{X: float64(point.X), Y: point.Mean, Low: point.Low, High: point.High})
				n[point.N] = true
			}
			chart.Lines = append(chart.Lines, line)
		}
		note := fmt.Sprintf("Mean and range of %s repetitions.%s", ranges(n), leftOut(len(p.lines)-mostLines, "lines"))
		list = append(list, Picture{Name: fmt.Sprintf("curve-%s-%d", fileName(c.Name), i+1), Section: c.Name, Note: note, Drawing: chart.Draw()})
	}
	return list
}

// maxTitled bounds the name of a group above a picture, which has room for so much.
const maxTitled = 32

// most is the largest value of a curve: its pictures have one scale, since they are compared.
func (c *Curve) most() (most float64) {
	for _, l := range c.Lines {
		for _, p := range l.Points {
			most = max(most, p.High)
		}
	}
	return most
}

// span is the first and the last position of a curve.
func (c *Curve) span() (first, last float64) {
	first, last = math.Inf(1), math.Inf(-1)
	for _, l := range c.Lines {
		for _, p := range l.Points {
			first, last = min(first, float64(p.X)), max(last, float64(p.X))
		}
	}
	return first, last
}

// ranges prints how many repetitions points have.
func ranges(n map[int]bool) string {
	list := sortedKeys(n)
	switch len(list) {
	case 0:
		return "0"
	case 1:
		return fmt.Sprint(list[0])
	}
	return fmt.Sprintf("%d to %d", list[0], list[len(list)-1])
}

func leftOut(n int, what string) string {
	if n <= 0 {
		return ""
	}
	return fmt.Sprintf(" %d more %s are not drawn; the CSV has them.", n, what)
}

// Pictures are all pictures of the report.
func (r *Report) Pictures() []Picture {
	list := append(r.Means(), r.Forests()...)
	for i := range r.Curves {
		list = append(list, r.Panels(&r.Curves[i])...)
	}
	return list
}

// lineKey is the key whose values are lines: the compared one, or the first of which
// there is more than one value.
func (r *Report) lineKey() string {
	if r.Compare != nil {
		return r.Compare.By
	}
	for _, key := range r.Keys {
		for i := range r.Groups {
			if (&study.Cell{Values: r.Groups[i].Values}).Value(key) != (&study.Cell{Values: r.Groups[0].Values}).Value(key) {
				return key
			}
		}
	}
	if len(r.Keys) > 0 {
		return r.Keys[0]
	}
	return ""
}

// series is the number of the style of a group: that of its value of the key whose
// values are lines.
func (r *Report) series(values []study.Value) int {
	by := r.lineKey()
	of := (&study.Cell{Values: values}).Value(by)
	var seen []string
	for i := range r.Groups {
		v := (&study.Cell{Values: r.Groups[i].Values}).Value(by)
		if v == of {
			break
		}
		if !slices.Contains(seen, v) {
			seen = append(seen, v)
		}
	}
	return len(seen)
}

// groupName names a group by its labels, in the order of the keys.
func (r *Report) groupName(values []study.Value) string {
	var parts []string
	for _, label := range labels(r.Keys, values) {
		if label != "" {
			parts = append(parts, label)
		}
	}
	return strings.Join(parts, " · ")
}

// fileName makes a part of a file's name of the name of a measure.
func fileName(name string) string { return strings.ReplaceAll(name, "_", "-") }
