package panel

import (
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/sotto-llm/sotto/internal/base/shorttext"
	"github.com/sotto-llm/sotto/internal/base/stats"
	"github.com/sotto-llm/sotto/internal/base/texttable"
	"github.com/sotto-llm/sotto/internal/base/visible"
	"github.com/sotto-llm/sotto/internal/lab/agreement"
	"github.com/sotto-llm/sotto/internal/lab/judge"
	"github.com/sotto-llm/sotto/internal/lab/report"
)

// A Table is a part of the result for people.
type Table struct {
	Title, Note string
	Rows        [][]string // the first has the names of the columns
}

// maxShown bounds the rows of a table for people. The files have all.
const maxShown = 1000

const (
	meansNote = "The rating of a text is the mean of its raters and times, and each different text counts once. Intervals are over the texts, 95 %. Of a nominal scale, the mean is the share of ratings with the label. Ratings are the raters' opinions: nothing checks them."
	itemsNote = "ALPHA is Krippendorff's at the level of the scale: 1 is agreement, 0 as much as by chance. ICC(2,1) is the intraclass correlation for absolute agreement of one rater, ICC(2,k) that of the mean of all. Intervals are 95 %, over the texts: by the bootstrap, or by the F distribution for the intraclass correlation of single ratings; there is none below 10 texts, and no coefficient if all ratings are the same."
	pairsNote = "KAPPA is Cohen's: unweighted, or weighted by the distance of the ratings or its square. Each time of a rater is compared with the same time of the other."
	selfNote  = "How far a rater agrees with itself: alpha of its ratings of the same text at several times."
	cycleNote = "The mean of the raters for each cycle, with the lowest and the highest of them."
)

// Tables returns the parts of the result that have rows.
func (r *Result) Tables() (list []Table) {
	add := func(title, note string, heads []string, n int, row func(i int) []string) {
		if n == 0 {
			return
		}
		t := Table{Title: title, Note: note, Rows: [][]string{heads}}
		for i := range min(n, maxShown) {
			t.Rows = append(t.Rows, row(i))
		}
		if n > maxShown {
			t.Note += fmt.Sprintf(" %d more rows are in the files.", n-maxShown)
		}
		list = append(list, t)
	}
	var raters []string
	for _, x := range r.Raters {
		raters = append(raters, visible.Word(x.Name))
	}
	add("Ratings", meansNote, append([]string{"AUTHOR", "ITEM", "SCALE", "TEXTS", "MEAN", "95 %"}, raters...), len(r.Means), func(i int) []string { return r.Means[i].row() })
	add("Agreement of all raters", itemsNote, []string{"ITEM", "LEVEL", "TEXTS", "RATINGS", "ALPHA", "95 %", "ICC(2,1)", "95 %", "ICC(2,K)", "95 %"}, len(r.Items), func(i int) []string { return r.Items[i].row() })
	add("Agreement of two raters", pairsNote, []string{"ITEM", "RATER", "WITH", "RATINGS", "SAME %", "WEIGHTS", "KAPPA", "95 %"}, len(r.Pairs), func(i int) []string { return r.Pairs[i].row() })
	add("Agreement with itself", selfNote, []string{"ITEM", "RATER", "TEXTS", "ALPHA", "95 %"}, len(r.Self), func(i int) []string { return r.Self[i].row() })
	add("Cycles", cycleNote, append([]string{"RUN", "CYCLE", "ITEM", "MEAN", "LOW", "HIGH"}, raters...), len(r.Cycles), func(i int) []string { return r.Cycles[i].row() })
	add("Raters", "A failed rating had no value on its scale in two replies, or its request failed; a missing one was not asked for to the end.", []string{"RATER", "MODEL", "RATINGS", "RATED", "FAILED", "MISSING", "CALLS NOW", "TOKENS"}, len(r.Raters), func(i int) []string { return r.Raters[i].row() })
	return list
}

// Last is the last line: what became of all ratings.
func (r *Result) Last() string {
	sample := ""
	if r.Found > r.Replies+r.Withheld {
		sample = fmt.Sprintf(" of %d", r.Found-r.Withheld)
	}
	line := fmt.Sprintf("%d ratings of %s (%d replies%s) by %s, each %s: %d rated, %d failed, %d missing; record %s", r.Ratings, shorttext.Plural(r.Texts, "1 text", "%d texts"),
		r.Replies, sample, shorttext.Plural(len(r.Raters), "1 rater", "%d raters"), shorttext.Plural(r.Repeat, "once", "%d times"), r.Rated, r.Failed, r.Missing, visible.Word(r.Record))
	if r.Withheld > 0 {
		line += fmt.Sprintf("; %d replies were not recorded whole", r.Withheld)
	}
	return line
}

func word(s string) string {
	if s == "" {
		return "-"
	}
	return visible.Line(shorttext.Columns(s, 60))
}

func two(v float64) string { return strconv.FormatFloat(v, 'f', 2, 64) }

func maybe(v *float64) string {
	if v == nil {
		return "-"
	}
	return two(*v)
}

func between(i *stats.Interval) string {
	if i == nil {
		return "-"
	}
	return two(i.Low) + " … " + two(i.High)
}

func (m *Mean) row() []string {
	item, scale := word(m.Item), fmt.Sprintf("%g … %g", m.From, m.To)
	if m.Label != "" {
		item += ": " + word(m.Label)
	}
	row := []string{word(m.Author), item, scale, strconv.Itoa(m.Texts), two(m.Mean), between(m.Interval)}
	return append(row, each(m.By)...)
}

func each(by []*float64) (cells []string) {
	for _, v := range by {
		cells = append(cells, maybe(v))
	}
	return cells
}

func coefficient(c *agreement.Coefficient) []string {
	if c == nil {
		return []string{"-", "-"}
	}
	return []string{maybe(c.Value), between(c.Interval)}
}

func (x *ItemAgreement) row() []string {
	row := []string{word(x.Item), string(x.Level), strconv.Itoa(x.Alpha.Units), strconv.Itoa(x.Alpha.Ratings)}
	return slices.Concat(row, coefficient(&x.Alpha), coefficient(x.Single), coefficient(x.Average))
}

func (x *PairAgreement) row() []string {
	same := "-"
	if x.Ratings > 0 {
		same = two(100 * x.Same)
	}
	return append([]string{word(x.Item), word(x.Rater), word(x.With), strconv.Itoa(x.Ratings), same, string(x.Weights)}, coefficient(&x.Kappa)...)
}

func (x *SelfAgreement) row() []string {
	return append([]string{word(x.Item), word(x.Rater), strconv.Itoa(x.Alpha.Units)}, coefficient(&x.Alpha)...)
}

func (x *CycleRow) row() []string {
	return append([]string{word(x.Run), strconv.Itoa(x.Cycle), word(x.Item), two(x.Mean), two(x.Low), two(x.High)}, each(x.By)...)
}

func (x *RaterRow) row() []string {
	tokens := strconv.FormatInt(x.Tokens, 10)
	if x.Estimated {
		tokens = "~" + tokens
	}
	return []string{word(x.Name), word(x.Model), strconv.Itoa(x.Ratings), strconv.Itoa(x.Rated), strconv.Itoa(x.Failed), strconv.Itoa(x.Missing), strconv.Itoa(x.Asked), tokens}
}

// Print writes the result for people. The last line says what became of all ratings.
func (r *Result) Print(w io.Writer) error {
	for _, t := range r.Tables() {
		fmt.Fprintln(w, t.Title)
		if err := texttable.Print(w, t.Rows); err != nil {
			return err
		}
		fmt.Fprintln(w, shorttext.Wrap(t.Note, 110, ""))
	}
	_, err := fmt.Fprintln(w, r.Last())
	return err
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

// CSV returns the result as files.
func (r *Result) CSV() ([]report.File, error) {
	ratings := report.Table{Name: "ratings", Columns: []string{"reply", "author", "run", "cycle", "text", "rater", "time", "item", "value", "label"}}
	for _, x := range r.Each {
		ratings.Rows = append(ratings.Rows, []string{x.Reply, x.Author, x.Run, strconv.Itoa(x.Cycle), strconv.Itoa(x.Text), x.Rater, strconv.Itoa(x.Time), x.Item, number(&x.Value), x.Label})
	}
	means := report.Table{Name: "means", Columns: []string{"author", "item", "label", "from", "to", "rater", "texts", "mean", "low", "high"}}
	for _, m := range r.Means {
		low, high := ends(m.Interval)
		head := []string{m.Author, m.Item, m.Label, number(&m.From), number(&m.To)}
		means.Rows = append(means.Rows, slices.Concat(head, []string{"", strconv.Itoa(m.Texts), number(&m.Mean), low, high}))
		for i, v := range m.By {
			means.Rows = append(means.Rows, slices.Concat(head, []string{r.Raters[i].Name, "", number(v), "", ""}))
		}
	}
	found := report.Table{Name: "agreement", Columns: []string{"item", "level", "coefficient", "rater", "with", "value", "low", "high", "interval", "texts", "ratings"}}
	add := func(item string, level agreement.Level, kind, rater, with string, c *agreement.Coefficient) {
		if c != nil {
			low, high := ends(c.Interval)
			found.Rows = append(found.Rows, []string{item, string(level), kind, rater, with, number(c.Value), low, high, c.Method, strconv.Itoa(c.Units), strconv.Itoa(c.Ratings)})
		}
	}
	for _, x := range r.Items {
		add(x.Item, x.Level, "alpha", "", "", &x.Alpha)
		add(x.Item, x.Level, "icc_2_1", "", "", x.Single)
		add(x.Item, x.Level, "icc_2_k", "", "", x.Average)
	}
	for _, x := range r.Pairs {
		add(x.Item, r.level(x.Item), "kappa_"+string(x.Weights), x.Rater, x.With, &x.Kappa)
	}
	for _, x := range r.Self {
		add(x.Item, r.level(x.Item), "alpha_self", x.Rater, "", &x.Alpha)
	}
	cycles := report.Table{Name: "cycles", Columns: []string{"run", "cycle", "item", "mean", "low", "high"}}
	for _, x := range r.Cycles {
		cycles.Rows = append(cycles.Rows, []string{x.Run, strconv.Itoa(x.Cycle), x.Item, number(&x.Mean), number(&x.Low), number(&x.High)})
	}
	raters := report.Table{Name: "raters", Columns: []string{"rater", "model", "provider", "ratings", "rated", "failed", "missing", "calls", "recalled", "tokens", "error"}}
	for _, x := range r.Raters {
		raters.Rows = append(raters.Rows, []string{x.Name, x.Model, x.Provider, strconv.Itoa(x.Ratings), strconv.Itoa(x.Rated), strconv.Itoa(x.Failed), strconv.Itoa(x.Missing), strconv.Itoa(x.Asked), strconv.Itoa(x.Recalled), strconv.FormatInt(x.Tokens, 10), x.Error})
	}
	return report.Files([]report.Table{ratings, means, found, cycles, raters})
}

func (r *Result) level(item string) agreement.Level {
	i := slices.IndexFunc(r.criteria, func(c judge.Criterion) bool { return c.Name == item })
	return r.criteria[i].Measured()
}

//go:embed page.html.tmpl
var pageText string

// A page is the template's input.
type page struct {
	Title, Last string
	Style       template.CSS
	Policy      string
	Plots       []template.HTML
	Tables      []Table
}

const (
	maxPlots = 50
	maxLines = 8 // runs in one drawing
)

// Page returns the result as one page that stands alone.
func (r *Result) Page() ([]byte, error) {
	p := &page{Title: "sotto panel: " + r.Rubric, Last: r.Last(), Style: report.Style(report.FigureStyle()), Policy: report.Policy(report.FigureStyle()), Tables: r.Tables()}
	for i := range r.criteria {
		if len(p.Plots) < maxPlots {
			p.Plots = append(p.Plots, r.plots(&r.criteria[i])...)
		}
	}
	return report.Render(pageText, nil, p)
}

// plots draws the means of a criterion by author, and its course over the cycles of runs.
func (r *Result) plots(c *judge.Criterion) (list []template.HTML) {
	dots := report.Dots{Title: "Means of " + c.Name, X: c.Name, Least: c.From, Most: c.To}
	if c.Measured() == agreement.Nominal {
		dots.Least, dots.Most, dots.Share = 0, 1, true
	}
	for _, m := range r.Means {
		if m.Item != c.Name || len(dots.Rows) == maxPlots {
			continue
		}
		d := report.Dot{Name: strings.Trim(m.Author+": "+m.Label, ": "), Mean: m.Mean}
		if m.Interval != nil {
			d.Low, d.High = &m.Interval.Low, &m.Interval.High
		}
		for _, v := range m.By {
			if v != nil {
				d.Each = append(d.Each, *v)
			}
		}
		dots.Rows = append(dots.Rows, d)
	}
	if len(dots.Rows) > 0 {
		list = append(list, dots.Draw().HTML())
	}
	chart := report.Chart{Title: c.Name + " over the cycles", X: "cycle", Y: c.Name, Most: c.To}
	at := map[string]int{}
	for _, x := range r.Cycles {
		if x.Item != c.Name {
			continue
		}
		n, known := at[x.Run]
		if !known {
			if n = len(chart.Lines); n == maxLines {
				continue
			}
			at[x.Run] = n
			chart.Lines = append(chart.Lines, report.BandLine{Name: x.Run, Series: n})
		}
		chart.Lines[n].Points = append(chart.Lines[n].Points, report.BandPoint{X: float64(x.Cycle), Y: x.Mean, Low: x.Low, High: x.High})
	}
	if len(chart.Lines) > 0 {
		list = append(list, chart.Draw().HTML())
	}
	return list
}
