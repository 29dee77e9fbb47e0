package solvereport

import (
	_ "embed"
	"fmt"
	"html/template"
	"math"
	"slices"

	"github.com/sotto-llm/sotto/internal/base/stats"
	"github.com/sotto-llm/sotto/internal/base/visible"
	"github.com/sotto-llm/sotto/internal/lab/compare"
	"github.com/sotto-llm/sotto/internal/lab/report"
	"github.com/sotto-llm/sotto/internal/lab/solve"
)

//go:embed page.html.tmpl
var pageText string

// A pageData is the template's input.
type pageData struct {
	Title   string
	Style   template.CSS
	Policy  string
	Plots   []report.Plot
	Streams []shownStream
	Tables  []compare.Table // of the comparison
}

type shownStream struct {
	solve.Summary
	Solved stats.Rate
	By     string // whose templates solved problems
	Last   solve.Row
	Shown  []shownRow
}

// A shownRow is a row as the page prints it.
type shownRow struct {
	solve.Row
	Accuracy, Attempts, Template, Paths, Wrong, Tokens, Cost string
}

// Page returns the page for some streams.
func Page(list []Stream) ([]byte, error) {
	r, err := Compared(list)
	if err != nil {
		return nil, err
	}
	p := &pageData{Title: "sotto solve: " + visible.Text(list[0].Task), Style: report.Style(), Plots: append([]report.Plot{r.Plot()}, solvePlots(list)...), Policy: report.Policy()}
	if len(list) > 1 {
		p.Tables = r.Tables()
	}
	for _, s := range list {
		p.Streams = append(p.Streams, s.shown())
	}
	return report.Render(pageText, nil, p)
}

func (s *Stream) shown() shownStream {
	last := s.last()
	shown := shownStream{Summary: s.Summary, By: templatesBy(s.ByTemplateOf), Last: last, Solved: stats.NewRate("", last.Solved, last.Problems)}
	shown.Name, shown.Model = visible.Text(s.Name), visible.Text(s.Model)
	for _, r := range s.Rows {
		of := func(n int) string { return fmt.Sprintf("%.1f", 100*share1(n, r.Problems)) }
		shown.Shown = append(shown.Shown, shownRow{
			Row: r, Accuracy: of(r.Solved), Attempts: fmt.Sprintf("%.2f", float64(r.Attempts)/float64(r.Problems)),
			Template: of(r.ByTemplate), Paths: of(r.WithPaths), Wrong: fmt.Sprintf("%.1f", 100*share1(r.Wrong, r.Solved)),
			Tokens: perSolved("%.0f", r.TokensPerSolved, r.Solved), Cost: cost(s.Priced, r),
		})
	}
	return shown
}

// solvePlots are the page's drawings of the streams over their problems.
func solvePlots(list []Stream) []report.Plot {
	var plots []report.Plot
	if hits := hitSeries(list); len(hits) > 0 {
		plots = append(plots, report.Plot{Title: "Hits over the stream", Note: "Cumulative share of problems that a known template solved (solid), or that were given examples (dashed).", Drawing: report.Series(hits, 1, " %", 100)})
	}
	tokens := series(list, anyStream, func(r *pace) float64 { return ratio(float64(r.tokens), r.solved) })
	if len(tokens) > 0 {
		plots = append(plots, report.Plot{Title: "Tokens per solved problem, over the stream", Note: "Cumulative: all tokens so far, divided by all problems solved so far.", Drawing: report.Series(tokens, 0, "", 1)})
	}
	costs := series(list, pricedStream, func(r *pace) float64 { return ratio(r.cost, r.solved) })
	if len(costs) > 0 {
		plots = append(plots, report.Plot{Title: "Cost per solved problem, over the stream", Note: "Cumulative, in the unit of the prices, of the streams that had prices.", Drawing: report.Series(costs, 0, "", 1)})
	}
	sizes := series(list, remembering, func(r *pace) float64 { return float64(r.nodes) })
	if len(sizes) > 0 {
		plots = append(plots, report.Plot{Title: "Memory", Note: "Traces and templates after each problem.", Drawing: report.Series(sizes, 0, "", 1)})
	}
	return plots
}

// A pace is a stream's totals after some problems.
type pace struct {
	n, solved, templates, paths, nodes int
	tokens                             int64
	cost                               float64
}

// ratio returns NaN if nothing is solved yet.
func ratio(x float64, n int) float64 {
	if n == 0 {
		return math.NaN()
	}
	return x / float64(n)
}

func anyStream(*Stream) bool      { return true }
func pricedStream(s *Stream) bool { return s.Priced }
func remembering(s *Stream) bool {
	return s.Mode == solve.Graph || s.Mode == solve.Template || slices.ContainsFunc(s.Results, func(r solve.Result) bool { return r.Memory != nil })
}

// series returns a line for each relevant stream. A line begins with its first
// value that is a number. A stream without one has no line.
func series(list []Stream, of func(*Stream) bool, value func(*pace) float64) (lines []report.Line) {
	for i, s := range list[:min(len(list), 8)] {
		if !of(&s) {
			continue
		}
		l := report.Line{Name: s.Name, Colour: i}
		results := slices.Clone(s.Results)
		slices.SortStableFunc(results, func(a, b solve.Result) int { return a.N - b.N })
		var r pace
		for _, x := range results {
			r.add(x)
			if v := value(&r); !math.IsNaN(v) {
				l.Points = append(l.Points, v)
			} else {
				l.From++
			}
		}
		if len(l.Points) > 0 {
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

func hitSeries(list []Stream) []report.Line {
	lines := series(list, remembering, func(r *pace) float64 { return ratio(float64(r.templates), r.n) })
	for _, l := range series(list, remembering, func(r *pace) float64 { return ratio(float64(r.paths), r.n) }) {
		l.Dashed = true
		lines = append(lines, l)
	}
	return lines
}
