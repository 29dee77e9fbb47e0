package compare

import (
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"strconv"

	"github.com/sotto-llm/sotto/internal/base/shorttext"
	"github.com/sotto-llm/sotto/internal/base/stats"
	"github.com/sotto-llm/sotto/internal/base/texttable"
	"github.com/sotto-llm/sotto/internal/base/visible"
	"github.com/sotto-llm/sotto/internal/lab/report"
)

// A Table is a part of the comparison for people.
type Table struct {
	Title, Note string
	Rows        [][]string // the first has the names of the columns
}

// maxShown bounds the rows of a table for people. The files have all.
const maxShown = 1000

// Tables returns the parts of the comparison that have rows.
func (r *Result) Tables() (list []Table) {
	add := func(t Table, heads []string, n int, row func(i int) []string) {
		if n == 0 {
			return
		}
		t.Rows = [][]string{heads}
		for i := range min(n, maxShown) {
			t.Rows = append(t.Rows, row(i))
		}
		if n > maxShown {
			t.Note += fmt.Sprintf(" %d more rows are in the files.", n-maxShown)
		}
		list = append(list, t)
	}
	add(Table{Title: "Right", Note: "95 % intervals are Wilson's, for as many independent replies as the problems or clusters allow; of parts of a score, Student's. A reply that failed has no verdict, and no part in any figure."},
		[]string{"TASK", "ARM", "PROBLEMS", "REPLIES", "FAILED", "RIGHT", "%", "95 %"}, len(r.Rates), func(i int) []string { return r.Rates[i].row() })
	var at [][]string
	for i := range r.Rates {
		at = append(at, r.Rates[i].atRows()...)
	}
	add(Table{Title: "Several replies to a problem", Note: "pass@k is the chance that one of k replies is right, pass^k that all of them are: means over problems, 95 % intervals."},
		[]string{"TASK", "ARM", "K", "PROBLEMS", "PASS@K %", "95 %", "PASS^K %", "95 %"}, len(at), func(i int) []string { return at[i] })
	add(Table{Title: "Differences", Note: fmt.Sprintf("ARM minus THAN in percentage points, of the problems that both have. P is of McNemar's exact test or, if problems have several replies, parts of a score or clusters, of flips of the signs of the clusters; HOLM is corrected for all comparisons of the task. NEEDED is how many problems such as these have a chance of 80 %% to tell %.3g points, DETECTABLE how many points these can tell so.", 100*r.Points)},
		[]string{"TASK", "ARM", "THAN", "PROBLEMS", "POINTS", "95 %", "MORE", "LESS", "P", "HOLM", "NEEDED", "DETECTABLE"}, len(r.Differences), func(i int) []string { return r.Differences[i].row() })
	add(Table{Title: "Agreement", Note: "Of the verdicts on the same replies. Kappa is Cohen's: 1 is agreement, 0 as much as by chance. Its 95 % interval is by the jackknife."},
		[]string{"TASK", "JUDGE", "WITH", "REPLIES", "SAME %", "95 %", "KAPPA", "95 %"}, len(r.Agreement), func(i int) []string { return r.Agreement[i].row() })
	return list
}

func name(s string) string {
	if s == "" {
		return "-"
	}
	return visible.Line(shorttext.Columns(s, 60))
}

func percent(v float64) string { return strconv.FormatFloat(100*v, 'f', 2, 64) }

func between(i *stats.Interval, format func(float64) string) string {
	if i == nil {
		return "-"
	}
	return format(i.Low) + " … " + format(i.High)
}

func average(a stats.Average) string { return percent(a.Low) + " … " + percent(a.High) }

func (r *Rate) row() []string {
	rate := "-"
	if r.Replies > 0 {
		rate = percent(r.Rate)
	}
	return []string{
		name(r.Task), name(r.Arm), strconv.Itoa(r.Problems), strconv.Itoa(r.Replies), strconv.Itoa(r.Failed),
		strconv.FormatFloat(r.Right, 'f', -1, 64), rate, between(r.Interval, percent),
	}
}

func (r *Rate) atRows() (rows [][]string) {
	for _, k := range r.AtK {
		rows = append(rows, []string{
			name(r.Task), name(r.Arm), strconv.Itoa(k.K), strconv.Itoa(k.Problems), percent(k.Pass.Rate), average(k.Pass), percent(k.All.Rate), average(k.All),
		})
	}
	return rows
}

func (d *Difference) row() []string {
	signed := func(v float64) string { return fmt.Sprintf("%+.2f", 100*v) }
	p := func(v *float64) string {
		if v == nil {
			return "-"
		}
		return fmt.Sprintf("%.3g", *v)
	}
	needed, detectable := "-", "-"
	if d.Needed != nil {
		needed, detectable = strconv.Itoa(*d.Needed), percent(*d.Detectable)
	}
	mean := "-"
	if d.Problems > 0 {
		mean = signed(d.Mean)
	}
	return []string{
		name(d.Task), name(d.Arm), name(d.Than), strconv.Itoa(d.Problems), mean, between(d.Interval, signed),
		strconv.Itoa(d.More), strconv.Itoa(d.Less), p(d.P), p(d.Holm), needed, detectable,
	}
}

func (a *Agreement) row() []string {
	two := func(v float64) string { return strconv.FormatFloat(v, 'f', 2, 64) }
	kappa := "-"
	if a.Kappa != nil {
		kappa = two(*a.Kappa)
	}
	return []string{
		name(a.Task), name(a.Judge), name(a.With), strconv.Itoa(a.Replies), percent(a.Same.Rate), percent(a.Same.Low) + " … " + percent(a.Same.High),
		kappa, between(a.Interval, two),
	}
}

// Print writes the comparison for people.
func (r *Result) Print(w io.Writer) error {
	for i, t := range r.Tables() {
		if i > 0 {
			fmt.Fprintln(w)
		}
		fmt.Fprintln(w, t.Title)
		if err := texttable.Print(w, t.Rows); err != nil {
			return err
		}
		if _, err := io.WriteString(w, shorttext.Wrap(t.Note, 110, "")+"\n"); err != nil {
			return err
		}
	}
	return nil
}

// CSV returns the comparison as files.
func (r *Result) CSV() ([]report.File, error) {
	rates := report.Table{Name: "rates", Columns: []string{"task", "arm", "problems", "replies", "failed", "right", "rate", "low", "high", "clusters"}}
	pass := report.Table{Name: "at_k", Columns: []string{"task", "arm", "k", "problems", "pass", "pass_low", "pass_high", "all", "all_low", "all_high"}}
	for _, x := range r.Rates {
		low, high := ends(x.Interval)
		rates.Rows = append(rates.Rows, []string{x.Task, x.Arm, strconv.Itoa(x.Problems), strconv.Itoa(x.Replies), strconv.Itoa(x.Failed), number(&x.Right), number(&x.Rate), low, high, strconv.Itoa(x.Clusters)})
		for _, k := range x.AtK {
			pass.Rows = append(pass.Rows, []string{x.Task, x.Arm, strconv.Itoa(k.K), strconv.Itoa(k.Problems), number(&k.Pass.Rate), number(&k.Pass.Low), number(&k.Pass.High), number(&k.All.Rate), number(&k.All.Low), number(&k.All.High)})
		}
	}
	differences := report.Table{Name: "differences", Columns: []string{"task", "arm", "than", "problems", "only_arm", "only_than", "mean", "low", "high", "clusters", "more", "less", "p", "p_holm", "method", "needed", "detectable"}}
	for _, d := range r.Differences {
		low, high := ends(d.Interval)
		needed := ""
		if d.Needed != nil {
			needed = strconv.Itoa(*d.Needed)
		}
		differences.Rows = append(differences.Rows, []string{
			d.Task, d.Arm, d.Than, strconv.Itoa(d.Problems), strconv.Itoa(d.OnlyArm), strconv.Itoa(d.OnlyThan), number(&d.Mean), low, high, strconv.Itoa(d.Clusters),
			strconv.Itoa(d.More), strconv.Itoa(d.Less), number(d.P), number(d.Holm), d.Method, needed, number(d.Detectable),
		})
	}
	agreement := report.Table{Name: "agreement", Columns: []string{"task", "judge", "with", "replies", "same", "same_rate", "same_low", "same_high", "kappa", "kappa_low", "kappa_high"}}
	for _, a := range r.Agreement {
		low, high := ends(a.Interval)
		agreement.Rows = append(agreement.Rows, []string{
			a.Task, a.Judge, a.With, strconv.Itoa(a.Replies), strconv.Itoa(a.Same.Count), number(&a.Same.Rate), number(&a.Same.Low), number(&a.Same.High), number(a.Kappa), low, high,
		})
	}
	return report.Files([]report.Table{rates, pass, differences, agreement})
}

func number(v *float64) string {
	if v == nil {
		return ""
	}
	return strconv.FormatFloat(*v, 'g', -1, 64)
}

func ends(i *stats.Interval) (low, high string) {
	if i == nil {
		return "", ""
	}
	return number(&i.Low), number(&i.High)
}

//go:embed page.html.tmpl
var pageText string

// A page is the template's input.
type page struct {
	Title  string
	Style  template.CSS
	Policy string
	Plots  []report.Plot
	Tables []Table
}

// mostBars bounds the bars of a plot.
const mostBars = 60

// Page returns the comparison as one page that stands alone.
func (r *Result) Page() ([]byte, error) {
	p := &page{Title: "sotto compare", Style: report.Style(), Policy: report.Policy(), Tables: r.Tables()}
	if len(r.Rates) > 0 {
		p.Plots = []report.Plot{r.Plot()}
	}
	return report.Render(pageText, nil, p)
}

// Plot draws the rates.
func (r *Result) Plot() report.Plot {
	var list []stats.Rate
	for _, x := range r.Rates[:min(len(r.Rates), mostBars)] {
		rate := stats.Rate{Name: x.Arm, Of: x.Replies, Rate: x.Rate, High: 1}
		if len(r.Tasks) > 1 {
			rate.Name = x.Task + ": " + x.Arm
		}
		if x.Interval != nil {
			rate.Low, rate.High = x.Interval.Low, x.Interval.High
		}
		list = append(list, rate)
	}
	return report.Plot{Title: "Right", Note: "With 95 % intervals.", Drawing: report.Bars(list)}
}
