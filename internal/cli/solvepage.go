package cli

import (
	_ "embed"
	"fmt"
	"html/template"
	"math"
	"slices"
	"strings"

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

// renderSolvePage returns the page of some streams.
func renderSolvePage(list []streamSummary) ([]byte, error) {
	t, err := template.New("page").Parse(solvePageText)
	if err != nil {
		return nil, fmt.Errorf("page: %w", err)
	}
	p := &solvePage{Title: "sotto solve: " + visible.Text(list[0].Task), Style: pageStyle(), Plots: solvePlots(list), Policy: pagePolicy()}
	for _, s := range list {
		p.Streams = append(p.Streams, s.shown())
	}
	return render(t, p)
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
	plots := []plot{{Title: "Solved", Note: "Of all problems, with 95 % intervals (Wilson's).", Drawing: bars(rates)}}
	if hits := hitSeries(list); len(hits) > 0 {
		plots = append(plots, plot{Title: "Hits over the stream", Note: "Cumulative share of problems that a known template solved, or, dashed, that were given examples.", Drawing: drawSeries(hits, 1, " %", 100)})
	}
	tokens := series(list, anyStream, func(r *pace) float64 { return ratio(float64(r.tokens), r.solved) })
	if len(tokens) > 0 {
		plots = append(plots, plot{Title: "Tokens per solved problem, over the stream", Note: "Cumulative: all tokens so far by all solved so far.", Drawing: drawSeries(tokens, 0, "", 1)})
	}
	costs := series(list, pricedStream, func(r *pace) float64 { return ratio(r.cost, r.solved) })
	if len(costs) > 0 {
		plots = append(plots, plot{Title: "Cost per solved problem, over the stream", Note: "Cumulative, in the unit of the prices, of the streams that had prices.", Drawing: drawSeries(costs, 0, "", 1)})
	}
	sizes := series(list, remembering, func(r *pace) float64 { return float64(r.nodes) })
	if len(sizes) > 0 {
		plots = append(plots, plot{Title: "Memory", Note: "Traces and templates after each problem.", Drawing: drawSeries(sizes, 0, "", 1)})
	}
	return plots
}

// A pace is a stream's state after some problems.
type pace struct {
	n, solved, templates, paths, nodes int
	tokens                             int64
	cost                               float64
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
