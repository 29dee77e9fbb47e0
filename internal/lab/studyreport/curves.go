package studyreport

import (
	"math"
	"slices"

	"github.com/sotto-llm/sotto/internal/lab/study"
)

// A Curve is a figure over the cycles of runs or over the problems of streams, for
// each group.
type Curve struct {
	Name  string `json:"name"`
	Title string `json:"title"`
	Unit  string `json:"unit"` // share, tokens, …
	X     string `json:"x"`    // cycle or problem
	// Window is over how many problems each point is computed. 0 means over all up
	// to there.
	Window int         `json:"window,omitempty"`
	Note   string      `json:"note"`
	Lines  []CurveLine `json:"lines"`
}

// A CurveLine is the curve of a group.
type CurveLine struct {
	Values []study.Value `json:"values"`
	Points []Point       `json:"points"`
}

// A Point is the mean over the repetitions that reach X, and the least and the largest
// value among them.
type Point struct {
	X    int     `json:"x"`
	N    int     `json:"n"`
	Mean float64 `json:"mean"`
	Low  float64 `json:"low"`
	High float64 `json:"high"`
}

// mostPoints bounds the points of a line.
const mostPoints = 200

// positions are where a curve of some length has points: at most mostPoints, from the
// first to the last.
func positions(first, last int) (list []int) {
	if last < first {
		return nil
	}
	n := min(last-first+1, mostPoints)
	for i := range n {
		at := last
		if n > 1 {
			at = first + int(math.Round(float64(i)*float64(last-first)/float64(n-1)))
		}
		list = append(list, at)
	}
	return list
}

// A track is the values of one cell, by position. NaN means that there is none.
type track func(x int) float64

// lineOf joins the tracks of a group's cells.
func lineOf(g *Group, at []int, tracks []track) CurveLine {
	l := CurveLine{Values: g.Values, Points: []Point{}}
	for _, x := range at {
		p := Point{X: x, Low: math.Inf(1), High: math.Inf(-1)}
		for _, t := range tracks {
			v := t(x)
			if math.IsNaN(v) || math.IsInf(v, 0) {
				continue
			}
			p.N++
			p.Mean += v
			p.Low, p.High = min(p.Low, v), max(p.High, v)
		}
		if p.N == 0 {
			continue
		}
		p.Mean /= float64(p.N)
		l.Points = append(l.Points, p)
	}
	return l
}

// addCurve adds a curve if it has points, and if one of them is not 0.
func (r *Report) addCurve(c Curve) {
	c.Lines = slices.DeleteFunc(c.Lines, func(l CurveLine) bool { return len(l.Points) == 0 })
	for _, l := range c.Lines {
		if slices.ContainsFunc(l.Points, func(p Point) bool { return p.Low != 0 || p.High != 0 }) {
			r.Curves = append(r.Curves, c)
			return
		}
	}
}

// A streamCurve is a kind of curve over a stream.
type streamCurve struct {
	name, title, unit, note string
	total                   bool // up to each problem; otherwise the mean over a window
	of                      func(*problem) float64
	in                      func(*stream) bool // nil means in all
}

// streamCurveKinds are the curves of streams.
var streamCurveKinds = []streamCurve{
	{name: "memory", title: "Memory curve: solved without a call", unit: "share", note: "problems that a known template solved without a call of the model, of all problems", of: func(p *problem) float64 { return one(p.uncalled) }, in: func(s *stream) bool { return s.memory }},
	{name: solvedShare, title: "Solved", unit: "share", note: "problems solved, of all problems", of: func(p *problem) float64 { return one(p.solved) }},
	{name: "tokens", title: "Tokens of a problem", unit: "tokens", note: "tokens read and written for a problem", of: func(p *problem) float64 { return float64(p.tokens) }},
	{name: "cost", title: "Cost up to a problem", unit: "money", note: "what all problems up to there cost, in the unit of the prices", total: true, of: func(p *problem) float64 { return p.cost }, in: func(s *stream) bool { return s.priced }},
	{name: "nodes", title: "Size of the memory", unit: "nodes", note: "traces and templates in memory after a problem", of: func(p *problem) float64 { return float64(p.remembers) }, in: func(s *stream) bool { return s.memory }},
}

func one(is bool) float64 {
	if is {
		return 1
	}
	return 0
}

// streamCurves computes the curves of streams.
func (r *Report) streamCurves(streams map[string]*stream) {
	longest := 0
	for _, s := range streams {
		longest = max(longest, len(s.problems))
	}
	window := windowOf(longest)
	for _, kind := range streamCurveKinds {
		c := Curve{Name: kind.name, Title: kind.title, Unit: kind.unit, X: "problem", Window: window, Note: kind.note}
		if kind.total {
			c.Window = 0
		}
		for i := range r.Groups {
			g := &r.Groups[i]
			var tracks []track
			last := 0
			for _, cell := range r.counted(g) {
				s := streams[cell.ID]
				if s == nil || kind.in != nil && !kind.in(s) {
					continue
				}
				last = max(last, len(s.problems))
				tracks = append(tracks, s.track(&kind, c.Window))
			}
			c.Lines = append(c.Lines, lineOf(g, positions(max(1, c.Window), last), tracks))
		}
		r.addCurve(c)
	}
}

// windowOf returns the window for streams of some length: a tenth, from 5 to 1000
// problems.
func windowOf(problems int) int { return min(max(problems/10, 5), 1000, max(problems, 1)) }

// track returns the values of a curve along a stream.
func (s *stream) track(kind *streamCurve, window int) track {
	sums := make([]float64, len(s.problems)+1)
	for i := range s.problems {
		sums[i+1] = sums[i] + kind.of(&s.problems[i])
	}
	return func(x int) float64 {
		switch {
		case x >= len(sums) || x < window:
			return math.NaN()
		case window == 0:
			return sums[x]
		}
		return (sums[x] - sums[x-window]) / float64(window)
	}
}
