package studyreport

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/sotto-llm/sotto/internal/base/shorttext"
	"github.com/sotto-llm/sotto/internal/base/visible"
	"github.com/sotto-llm/sotto/internal/lab/report"
	"github.com/sotto-llm/sotto/internal/lab/study"
)

// listed is how many missing cells and faults the text and the page name.
const listed = 50

// Print writes the report as text for a terminal. If names are given, it has only
// these measures.
func (r *Report) Print(w io.Writer, names ...string) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s\n", visible.Line(r.Name), r.Summary())
	if r.Question != "" {
		fmt.Fprintf(&b, "%s\n", visible.Text(r.Question))
	}
	wanted := func(name string) bool { return len(names) == 0 || slices.Contains(names, name) }
	for _, m := range r.Measures() {
		if wanted(m.Name) {
			r.printMeasure(&b, m)
		}
	}
	if wanted(solvedShare) {
		r.printSolved(&b)
	}
	r.printDifferences(&b, wanted)
	r.printMissing(&b)
	b.WriteString("\n")
	for _, line := range r.Methods {
		b.WriteString(shorttext.Wrap("* "+line, wide, "  "))
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// wide is how many characters a line of the methods has at most.
const wide = 100

// Summary says how many cells there are, by status.
func (r *Report) Summary() string {
	what := "runs"
	if r.Kind == study.Streams {
		what = "streams of problems"
	}
	var parts []string
	for _, s := range r.Statuses {
		parts = append(parts, fmt.Sprintf("%d %s", s.Cells, s.Status))
	}
	if len(parts) == 0 {
		return "no cells"
	}
	return fmt.Sprintf("%d %s (%s)", len(r.study.Cells), what, strings.Join(parts, ", "))
}

// Measures are the measures that at least one group has.
func (r *Report) Measures() (list []study.Measure) {
	for _, m := range study.Measures(r.Kind) {
		if slices.ContainsFunc(r.Groups, func(g Group) bool { return g.Figure(m.Name) != nil }) {
			list = append(list, m)
		}
	}
	return list
}

// Figure returns the figure of a measure, nil if the group has none.
func (g *Group) Figure(name string) *Figure {
	for i := range g.Measures {
		if g.Measures[i].Name == name {
			return &g.Measures[i]
		}
	}
	return nil
}

func (r *Report) printMeasure(b *strings.Builder, m study.Measure) {
	fmt.Fprintf(b, "\n%s (%s): %s\n", m.Name, m.Unit, m.Help)
	rows := [][]string{append(r.keyNames(), "N", "MEAN", "SD", "95 % INTERVAL", "MIN", "MAX")}
	for i := range r.Groups {
		g := &r.Groups[i]
		row := append(labels(r.Keys, g.Values), ofPlanned(g))
		if f := g.Figure(m.Name); f != nil {
			row = append(row, number(f.Mean), deviation(f), interval(f.Low, f.High), number(f.Min), number(f.Max))
		}
		rows = append(rows, row)
	}
	report.AppendText(b, len(r.Keys), rows)
}

// ofPlanned says how many cells of a group count, and of how many if some do not.
func ofPlanned(g *Group) string {
	if g.Counted == g.Cells {
		return strconv.Itoa(g.Counted)
	}
	return fmt.Sprintf("%d of %d", g.Counted, g.Cells)
}

func (r *Report) printSolved(b *strings.Builder) {
	rows := [][]string{append(r.keyNames(), "PROBLEMS", "SOLVED", "SHARE", "95 % INTERVAL")}
	for i := range r.Groups {
		g := &r.Groups[i]
		if s := g.Solved; s != nil {
			rows = append(rows, append(labels(r.Keys, g.Values), strconv.Itoa(s.Of), strconv.Itoa(s.Count), number(s.Rate), interval(&s.Low, &s.High)))
		}
	}
	if len(rows) > 1 {
		b.WriteString("\nsolved, of all problems of all repetitions (Wilson's interval, by problem)\n")
		report.AppendText(b, len(r.Keys), rows)
	}
}

func (r *Report) printDifferences(b *strings.Builder, wanted func(string) bool) {
	if r.Compare == nil {
		b.WriteString("\nThe study names no comparison, so there are no differences.\n")
		return
	}
	others := r.otherKeys()
	rows := [][]string{append(append([]string{"MEASURE", "PAIRS"}, upper(others)...), strings.ToUpper(visible.Word(r.Compare.By)), "N", "MEAN", "95 % INTERVAL", "MORE", "LESS", "P", "P (HOLM)")}
	for i := range r.Differences {
		d := &r.Differences[i]
		if !wanted(d.Measure) {
			continue
		}
		row := append(append([]string{d.Measure, d.Pairs}, labels(others, d.Others)...), visible.Line(d.Value), d.pairs())
		if d.N > 0 {
			row = append(row, signed(d.Mean), interval(d.Low, d.High), strconv.Itoa(d.More), strconv.Itoa(d.Less), pValue(d.P), pValue(d.Holm))
		}
		rows = append(rows, row)
	}
	fmt.Fprintf(b, "\ndifferences from %s = %s, of pairs of cells and of problems\n", visible.Line(r.Compare.By), visible.Line(r.Compare.Baseline))
	if len(rows) == 1 {
		b.WriteString("  no pairs have a result on both sides\n")
		return
	}
	report.AppendText(b, 3+len(others), rows)
	if len(r.Same) > 0 {
		fmt.Fprintf(b, "equal in all pairs: %s\n", strings.Join(r.Same, ", "))
	}
	if note := r.leastNote(); note != "" {
		fmt.Fprintf(b, "%s\n", note)
	}
}

// leastNote says if there are too few pairs for a small p-value.
func (r *Report) leastNote() string {
	least := 0.0
	for _, d := range r.Differences {
		if d.Pairs == PairsOfCells {
			least = max(least, d.Least)
		}
	}
	if least <= 0.05 {
		return ""
	}
	return fmt.Sprintf("Some differences have so few pairs that p cannot be below %s, whatever the values are.", pValue(&least))
}

// pairs says how many pairs a difference has, and of how many if some lack a result.
func (d *Difference) pairs() string {
	if len(d.Unpaired) == 0 {
		return strconv.Itoa(d.N)
	}
	return fmt.Sprintf("%d (-%d)", d.N, len(d.Unpaired))
}

func (r *Report) printMissing(b *strings.Builder) {
	if len(r.Missing) > 0 {
		fmt.Fprintf(b, "\n%d cells have no part in these figures\n", len(r.Missing))
		rows := [][]string{append(append([]string{"CELL"}, r.keyNames()...), "REPETITION", "STATUS", "REASON")}
		for _, m := range r.Missing[:min(len(r.Missing), listed)] {
			rows = append(rows, append(append([]string{m.Cell}, labels(r.Keys, m.Values)...), strconv.Itoa(m.Repetition), string(m.Status), visible.Line(m.Reason)))
		}
		report.AppendText(b, len(rows[0]), rows)
		more(b, len(r.Missing))
	}
	if len(r.Faults) > 0 {
		b.WriteString("\nnot readable, and left out\n")
		for _, fault := range r.Faults[:min(len(r.Faults), listed)] {
			fmt.Fprintf(b, "  %s\n", visible.Line(fault))
		}
		more(b, len(r.Faults))
	}
}

func more(b *strings.Builder, n int) {
	if n > listed {
		fmt.Fprintf(b, "  and %d more; --json lists all\n", n-listed)
	}
}

func (r *Report) keyNames() []string { return upper(r.Keys) }

func upper(keys []string) []string {
	list := []string{}
	for _, key := range keys {
		list = append(list, strings.ToUpper(visible.Word(key)))
	}
	return list
}

// otherKeys are the keys of the grid that are not compared.
func (r *Report) otherKeys() []string {
	return slices.DeleteFunc(slices.Clone(r.Keys), func(key string) bool { return key == r.Compare.By })
}

// labels are the labels of values in the order of keys.
func labels(keys []string, values []study.Value) []string {
	list := []string{}
	c := study.Cell{Values: values}
	for _, key := range keys {
		list = append(list, visible.Line(c.Value(key)))
	}
	return list
}

// Labels are the labels of values in the order of the keys, safe to show.
func (r *Report) Labels(values []study.Value) []string { return labels(r.Keys, values) }

// A ShownFigure is a figure as text.
type ShownFigure struct{ Mean, SD, Interval, Range string }

// Shown returns the figure as text.
func (f *Figure) Shown() ShownFigure {
	return ShownFigure{number(f.Mean), deviation(f), interval(f.Low, f.High), number(f.Min) + " … " + number(f.Max)}
}

// number prints a number with four digits, or all digits of a whole number.
func number(v float64) string {
	if v == math.Trunc(v) && math.Abs(v) < 1e15 {
		return strconv.FormatFloat(v, 'f', 0, 64)
	}
	if math.Abs(v) >= 1000 {
		return strconv.FormatFloat(v, 'f', 0, 64)
	}
	return strconv.FormatFloat(v, 'g', 4, 64)
}

func signed(v float64) string {
	if v > 0 {
		return "+" + number(v)
	}
	return number(v)
}

func deviation(f *Figure) string {
	if f.N < 2 {
		return "-"
	}
	return number(f.SD)
}

func interval(low, high *float64) string {
	if low == nil || high == nil {
		return "-"
	}
	return number(*low) + " … " + number(*high)
}

func pValue(p *float64) string {
	switch {
	case p == nil:
		return "-"
	case *p < 0.0001:
		return "< 0.0001"
	}
	return strconv.FormatFloat(*p, 'f', 4, 64)
}
