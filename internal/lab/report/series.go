package report

import (
	_ "embed"
	"fmt"
	"html/template"
	"math"
	"slices"
	"strings"
)

// A Line is a series to draw.
type Line struct {
	Name   string
	Colour int // that of its stream
	Dashed bool
	From   int       // how many problems came before the first point
	Points []float64 // after each problem from there on
}

func (l *Line) last() float64 { return l.Points[len(l.Points)-1] }

func (l *Line) draw(s *SVG, x func(int) float64, y func(float64) float64, taken *[]float64, value string) {
	if l.Dashed && slices.Max(l.Points) == 0 {
		return
	}
	class := "curve"
	if l.Dashed {
		class += " majority"
	}
	var path []string
	step := max(1, len(l.Points)/maxPoints)
	for i := 0; i < len(l.Points); i += step {
		path = append(path, fmt.Sprintf("%.1f,%.1f", x(l.From+i), y(l.Points[i])))
	}
	end := len(l.Points) - 1
	path = append(path, fmt.Sprintf("%.1f,%.1f", x(l.From+end), y(l.Points[end])))
	s.Add(`<polyline class="%s c%d" points="%s"/>`, class, l.Colour, strings.Join(path, " "))
	if end == 0 { // a line of one point is not seen
		s.Add(`<circle class="%s c%d" cx="%.1f" cy="%.1f" r="2"/>`, class, l.Colour, x(l.From), y(l.Points[0]))
	}
	at, away := y(l.Points[end])+4, -labelHigh
	for slices.ContainsFunc(*taken, func(other float64) bool { return math.Abs(at-other) < labelHigh }) {
		if at += away; at < labelHigh {
			at, away = y(l.Points[end])+4+labelHigh, labelHigh
		}
	}
	*taken = append(*taken, at)
	s.Add(`<text class="value c%d" x="%.1f" y="%.1f">%s %s</text>`, l.Colour, x(l.From+end)+8, at, Short(l.Name, 15), value) // what fits beside the plot
}

// Series draws lines over the problems of a stream. Most is the top of the scale;
// if 0, the largest value is. scale is the factor for shown values.
func Series(lines []Line, most float64, unit string, scale float64) template.HTML {
	long := 2
	for _, l := range lines {
		long = max(long, l.From+len(l.Points))
		if unit == "" {
			most = max(most, slices.Max(l.Points[min(len(l.Points)-1, len(l.Points)/50):]))
		}
	}
	if most == 0 {
		most = 1
	}
	ticks := Ticks(most*scale, valueParts, unit)
	if unit == "" && counts(lines) {
		ticks = WholeTicks(most, valueParts, unit)
	}
	most = ticks[len(ticks)-1].Value / scale
	x := func(i int) float64 { return curveLeft + 20 + (curveWide-20)*float64(i)/float64(long-1) }
	y := func(v float64) float64 { return curveTop + curveHigh*(1-min(1, v/most)) }
	s := NewSVG(plotWide, curveHigh+40)
	for _, t := range ticks {
		at := y(t.Value / scale)
		s.Add(`<line class="grid" x1="%.1f" y1="%.1f" x2="%d" y2="%.1f"/><text class="axis left" x="%.1f" y="%.1f">%s</text>`, x(0), at, curveLeft+curveWide, at, x(0)-6, at+4, t.Label)
	}
	labelled := 0
	for _, t := range WholeTicks(float64(long), problemParts, "") {
		if n := max(1, int(t.Value)); n <= long && n > labelled {
			labelled = n
			s.Add(`<text class="axis" x="%.1f" y="%d">%s</text>`, x(n-1), curveTop+curveHigh+18, figure(float64(n), 1))
		}
	}
	var taken []float64 // where labels are
	for _, l := range lines {
		l.draw(s, x, y, &taken, fmt.Sprintf("%s%s", short(l.last()*scale), unit))
	}
	return s.HTML()
}

// counts reports whether all values are whole: how many there are of something.
func counts(lines []Line) bool {
	return !slices.ContainsFunc(lines, func(l Line) bool {
		return slices.ContainsFunc(l.Points, func(v float64) bool { return v != math.Trunc(v) })
	})
}

// short prints a number in few letters.
func short(v float64) string {
	switch {
	case v < 0:
		return "-" + short(-v)
	case v >= 1e6:
		return fmt.Sprintf("%.3g M", v/1e6)
	case v >= 1000:
		return fmt.Sprintf("%.0f", v)
	}
	return fmt.Sprintf("%.3g", v)
}

const (
	maxPoints = 400 // of a line, whatever its length
	// valueParts and problemParts are how many parts the axes have at most.
	valueParts, problemParts = 5, 8
	labelHigh                = 13.0 // the space that a label needs
)
