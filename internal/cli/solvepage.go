package cli

import (
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"fmt"
	"html/template"
	"math"
	"slices"
	"strings"

	"github.com/sotto-llm/sotto/internal/cli/shell"
	"github.com/sotto-llm/sotto/internal/visible"
	"github.com/sotto-llm/sotto/solve"
)

//go:embed solve.html.tmpl
var solvePageText string

// A solvePage is what the template reads.
type solvePage struct {
	Title   string
	Style   template.CSS
	Policy  string
	Plots   []plot
	Streams []shownStream
}

type shownStream struct {
	solve.Summary
	Solved rate
	Last   solve.Row
	Shown  []shownRow
}

// A shownRow is a row as the page prints it.
type shownRow struct {
	solve.Row
	Accuracy, Attempts, Template, Paths, Wrong, Tokens, Cost string
}

// writeSolvePage writes the page of some streams, whole or not at all.
func writeSolvePage(sh *shell.Shell, name string, list []streamSummary) error {
	t, err := template.New("page").Parse(solvePageText)
	if err != nil {
		return fmt.Errorf("page: %w", err)
	}
	hash := sha256.Sum256([]byte(pageStyle))
	p := &solvePage{
		Title: "sotto solve: " + visible.Text(list[0].Task), Style: template.CSS(pageStyle), Plots: solvePlots(list),
		Policy: "default-src 'none'; style-src 'sha256-" + base64.StdEncoding.EncodeToString(hash[:]) + "'; base-uri 'none'; form-action 'none'",
	}
	for _, s := range list {
		p.Streams = append(p.Streams, s.shown())
	}
	return sh.WriteHTML(name, t, p)
}

func (s *streamSummary) shown() shownStream {
	last := s.last()
	shown := shownStream{Summary: s.Summary, Last: last, Solved: newRate("", last.Solved, last.Problems)}
	shown.Name, shown.Model = visible.Text(s.Name), visible.Text(s.Model)
	for _, r := range s.Rows {
		of := func(n int) string { return fmt.Sprintf("%.1f", 100*share1(n, r.Problems)) }
		shown.Shown = append(shown.Shown, shownRow{
			Row: r, Accuracy: of(r.Solved), Attempts: fmt.Sprintf("%.2f", float64(r.Attempts)/float64(r.Problems)),
			Template: of(r.ByTemplate), Paths: of(r.WithPaths), Wrong: fmt.Sprintf("%.1f", 100*share1(r.Wrong, r.Solved)),
			Tokens: perSolved("%.0f", r.TokensPerSolved, r.Solved), Cost: strings.TrimSpace(cost(s.Priced, r)),
		})
	}
	return shown
}

// solvePlots are the page's drawings.
func solvePlots(list []streamSummary) []plot {
	var rates []rate
	for _, s := range list {
		last := s.last()
		rates = append(rates, newRate(s.Name+" ("+string(s.Mode)+")", last.Solved, last.Problems))
	}
	plots := []plot{{"Solved", "Of all problems, with 95 % intervals (Wilson's).", bars(rates)}}
	if hits := hitSeries(list); len(hits) > 0 {
		plots = append(plots, plot{"Hits over the stream", "Cumulative share of problems that a known template solved, or, dashed, that were given examples.", drawSeries(hits, 1, " %", 100)})
	}
	tokens := series(list, anyStream, func(r *pace) float64 { return ratio(float64(r.tokens), r.solved) })
	if len(tokens) > 0 {
		plots = append(plots, plot{"Tokens per solved problem, over the stream", "Cumulative: all tokens so far by all solved so far.", drawSeries(tokens, 0, "", 1)})
	}
	costs := series(list, pricedStream, func(r *pace) float64 { return ratio(r.cost, r.solved) })
	if len(costs) > 0 {
		plots = append(plots, plot{"Cost per solved problem, over the stream", "Cumulative, in the unit of the prices, of the streams that had prices.", drawSeries(costs, 0, "", 1)})
	}
	sizes := series(list, remembering, func(r *pace) float64 { return float64(r.nodes) })
	if len(sizes) > 0 {
		plots = append(plots, plot{"Memory", "Traces and templates after each problem.", drawSeries(sizes, 0, "", 1)})
	}
	return plots
}

// A pace is a stream's state after some problems.
type pace struct {
	n, solved, templates, paths, nodes int
	tokens                             int64
	cost                               float64
}

// A line is a series to draw.
type line struct {
	name   string
	colour int // that of its stream
	dashed bool
	from   int       // how many problems came before the first point
	points []float64 // after each problem from there on
}

// ratio is not a number where nothing is solved yet.
func ratio(x float64, n int) float64 {
	if n == 0 {
		return math.NaN()
	}
	return x / float64(n)
}

func anyStream(*streamSummary) bool      { return true }
func pricedStream(s *streamSummary) bool { return s.Priced }
func remembering(s *streamSummary) bool  { return s.Mode == solve.Graph || s.Mode == solve.Template }

// series gives a line per stream that is of interest. It begins with the first
// value that is a number; a stream without one has no line.
func series(list []streamSummary, of func(*streamSummary) bool, value func(*pace) float64) (lines []line) {
	for i, s := range list[:min(len(list), 8)] {
		if !of(&s) {
			continue
		}
		l := line{name: s.Name, colour: i}
		results := slices.Clone(s.results)
		slices.SortStableFunc(results, func(a, b solve.Result) int { return a.N - b.N })
		var r pace
		for _, x := range results {
			r.add(x)
			if v := value(&r); !math.IsNaN(v) {
				l.points = append(l.points, v)
			} else {
				l.from++
			}
		}
		if len(l.points) > 0 {
			lines = append(lines, l)
		}
	}
	return lines
}

func (r *pace) add(x solve.Result) {
	r.n++
	if x.Solved {
		r.solved++
	}
	switch x.Hit {
	case solve.HitTemplate:
		r.templates++
	case solve.HitPaths:
		r.paths++
	}
	r.tokens += x.Input + x.Output
	r.cost += x.Cost
	if x.Memory != nil {
		r.nodes = x.Memory.Size.Traces + x.Memory.Size.Templates
	}
}

func hitSeries(list []streamSummary) []line {
	lines := series(list, remembering, func(r *pace) float64 { return ratio(float64(r.templates), r.n) })
	for _, l := range series(list, remembering, func(r *pace) float64 { return ratio(float64(r.paths), r.n) }) {
		l.dashed = true
		lines = append(lines, l)
	}
	return lines
}

// drawSeries draws lines over the problems of a stream. Most is the top of the
// scale, or 0 for that of the values; scale is what a value is shown times.
func drawSeries(lines []line, most float64, unit string, scale float64) template.HTML {
	long := 2
	for _, l := range lines {
		long = max(long, l.from+len(l.points))
		if unit == "" {
			most = max(most, slices.Max(l.points[min(len(l.points)-1, len(l.points)/50):]))
		}
	}
	if most == 0 {
		most = 1
	}
	x := func(i int) float64 { return curveLeft + 20 + (curveWide-20)*float64(i)/float64(long-1) }
	y := func(v float64) float64 { return curveTop + curveHigh*(1-min(1, v/most)) }
	var b strings.Builder
	openDrawing(&b, plotWide, curveHigh+40)
	for i := 0; i <= 4; i++ {
		v := most * float64(i) / 4
		fmt.Fprintf(&b, `<line class="grid" x1="%.1f" y1="%.1f" x2="%d" y2="%.1f"/><text class="axis left" x="%.1f" y="%.1f">%s%s</text>`, x(0), y(v), curveLeft+curveWide, y(v), x(0)-6, y(v)+4, short(v*scale), unit)
		n := 1 + (long-1)*i/4
		fmt.Fprintf(&b, `<text class="axis" x="%.1f" y="%d">%d</text>`, x(n-1), curveTop+curveHigh+18, n)
	}
	var taken []float64 // where labels stand
	for _, l := range lines {
		l.draw(&b, x, y, &taken, fmt.Sprintf("%s%s", short(l.last()*scale), unit))
	}
	b.WriteString("</svg>")
	return template.HTML(b.String())
}

func (l *line) last() float64 { return l.points[len(l.points)-1] }

const (
	maxPoints = 400  // of a line, whatever its length
	labelHigh = 13.0 // what a label takes
)

func (l *line) draw(b *strings.Builder, x func(int) float64, y func(float64) float64, taken *[]float64, value string) {
	if l.dashed && slices.Max(l.points) == 0 {
		return
	}
	class := "curve"
	if l.dashed {
		class += " majority"
	}
	var path []string
	step := max(1, len(l.points)/maxPoints)
	for i := 0; i < len(l.points); i += step {
		path = append(path, fmt.Sprintf("%.1f,%.1f", x(l.from+i), y(l.points[i])))
	}
	end := len(l.points) - 1
	path = append(path, fmt.Sprintf("%.1f,%.1f", x(l.from+end), y(l.points[end])))
	fmt.Fprintf(b, `<polyline class="%s c%d" points="%s"/>`, class, l.colour, strings.Join(path, " "))
	at, away := y(l.points[end])+4, -labelHigh
	for slices.ContainsFunc(*taken, func(other float64) bool { return math.Abs(at-other) < labelHigh }) {
		if at += away; at < labelHigh {
			at, away = y(l.points[end])+4+labelHigh, labelHigh
		}
	}
	*taken = append(*taken, at)
	fmt.Fprintf(b, `<text class="value c%d" x="%.1f" y="%.1f">%s %s</text>`, l.colour, x(l.from+end)+8, at, label(l.name, 18), value)
}

// short prints a number in few letters.
func short(v float64) string {
	switch {
	case v >= 1e6:
		return fmt.Sprintf("%.3g M", v/1e6)
	case v >= 1000:
		return fmt.Sprintf("%.0f", v)
	}
	return fmt.Sprintf("%.3g", v)
}
