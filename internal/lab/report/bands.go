package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
)

// A Chart is curves with bands over the same axis.
type Chart struct {
	Title string
	X, Y  string // what the axes show
	Share bool   // values are shares, and are shown as percentages
	// Most is the top of the scale at least, so that charts can have the same.
	Most float64
	// First and Last are on the axis below at least; both are 0 if they do not matter.
	First, Last float64
	Lines       []BandLine
}

// A BandLine is a curve with its band.
type BandLine struct {
	Name   string
	Series int         // the number of its style
	Points []BandPoint // by X
}

// A BandPoint is a point of a curve, and how far its band reaches there.
type BandPoint struct{ X, Y, Low, High float64 }

// The measures of a chart.
const (
	chartWide, chartHigh  = 636.0, 290.0
	chartLeft, chartRight = 62.0, 440.0
	chartTop, chartBottom = 26.0, 246.0
	chartLabel            = 23 // characters of a label, with its value
	labelGap              = 15.0
)

// Draw draws the chart.
func (c *Chart) Draw() *Drawing {
	d := &Drawing{Title: c.describe(), Wide: chartWide, High: chartHigh}
	unit, scale := "", 1.0
	if c.Share {
		unit, scale = " %", 100
	}
	first, last, most := math.Inf(1), math.Inf(-1), c.Most
	if c.First != c.Last {
		first, last = c.First, c.Last
	}
	for _, l := range c.Lines {
		for _, p := range l.Points {
			first, last, most = min(first, p.X), max(last, p.X), max(most, p.High, p.Y)
		}
	}
	if math.IsInf(first, 1) {
		first, last = 0, 1
	}
	if most == 0 {
		most = 1
	}
	ticks := Ticks(most*scale, valueParts, unit)
	most = ticks[len(ticks)-1].Value / scale
	x := func(v float64) float64 { return chartLeft + (chartRight-chartLeft)*(v-first)/max(last-first, 1e-300) }
	y := func(v float64) float64 { return chartBottom - (chartBottom-chartTop)*min(1, max(0, v/most)) }
	d.write("title", -1, xy{chartLeft, 14}, c.Y)
	for _, t := range ticks {
		at := y(t.Value / scale)
		d.line("grid", -1, xy{chartLeft, at}, xy{chartRight, at})
		d.write("tick", -1, xy{chartLeft - 7, at + 4}, t.Label)
	}
	for _, t := range between(first, last, problemParts) {
		d.line("grid", -1, xy{x(t.Value), chartBottom}, xy{x(t.Value), chartBottom + 4})
		d.write("axis", -1, xy{x(t.Value), chartBottom + 18}, t.Label)
	}
	d.write("axis", -1, xy{(chartLeft + chartRight) / 2, chartBottom + 36}, c.X)
	for _, l := range c.Lines {
		d.band(&l, x, y)
	}
	for i, l := range c.Lines {
		d.curve(i, len(c.Lines), &l, x, y)
	}
	c.labels(d, x, y, unit, scale)
	return d
}

// describe says in words what the chart shows.
func (c *Chart) describe() string {
	var names []string
	for _, l := range c.Lines {
		names = append(names, l.Name)
	}
	return fmt.Sprintf("%s, over %s: %s", c.Title, c.X, strings.Join(names, ", "))
}

func (d *Drawing) band(l *BandLine, x, y func(float64) float64) {
	var upper, lower []xy
	for _, p := range l.Points {
		upper, lower = append(upper, xy{x(p.X), y(p.High)}), append(lower, xy{x(p.X), y(p.Low)})
	}
	slices.Reverse(lower)
	if len(upper) > 1 {
		d.area("band", l.Series, l.Name, append(upper, lower...)...)
	}
}

// curve draws the line and, here and there, its marker: each line at other places.
func (d *Drawing) curve(place, of int, l *BandLine, x, y func(float64) float64) {
	var points []xy
	for _, p := range l.Points {
		points = append(points, xy{x(p.X), y(p.Y)})
	}
	if len(points) == 0 {
		return
	}
	d.line("curve", l.Series, points...)
	const each = 5
	for i := range each {
		at := int((float64(i) + float64(place+1)/float64(of+1)) / each * float64(len(points)))
		d.marker(l.Series, points[min(at, len(points)-1)], l.Name)
	}
}

// labels names the lines at their ends, with the markers of the lines. Labels that
// would overlap move apart.
func (c *Chart) labels(d *Drawing, x, y func(float64) float64, unit string, scale float64) {
	type end struct {
		series  int
		at, was xy
		text    string
	}
	var ends []end
	for _, l := range c.Lines {
		if len(l.Points) == 0 {
			continue
		}
		p := l.Points[len(l.Points)-1]
		at := xy{x(p.X), y(p.Y)}
		value := short(p.Y*scale) + unit
		ends = append(ends, end{l.Series, at, at, cut(l.Name, chartLabel-len(value)-1) + " " + value})
	}
	slices.SortStableFunc(ends, func(a, b end) int { return cmp.Compare(a.at.y, b.at.y) })
	for i := range ends {
		if i > 0 {
			ends[i].at.y = max(ends[i].at.y, ends[i-1].at.y+labelGap)
		}
	}
	for i := len(ends) - 1; i >= 0; i-- {
		limit := chartBottom
		if i < len(ends)-1 {
			limit = ends[i+1].at.y - labelGap
		}
		ends[i].at.y = min(ends[i].at.y, limit)
	}
	for _, e := range ends {
		d.line("grid", -1, e.was, xy{chartRight + 8, e.at.y})
		d.marker(e.series, xy{chartRight + 14, e.at.y}, "")
		d.write("end", e.series, xy{chartRight + 24, e.at.y + 4}, e.text)
	}
}

// cut shortens a name for a label. Text is escaped where it is written.
func cut(name string, long int) string {
	runes := []rune(name)
	if len(runes) > long {
		runes = append(runes[:long-1], '…')
	}
	return string(runes)
}

// between returns round values from low to high, at most n parts.
func between(low, high float64, n int) (list []Tick) {
	step := Step(high-low, n)
	if low == math.Trunc(low) && high == math.Trunc(high) {
		step = max(1, step) // problems and cycles are whole
	}
	for v := math.Ceil(low/step-1e-9) * step; v <= high+step*1e-9 && len(list) <= n+1; v += step {
		list = append(list, Tick{v, figure(v+0, step)})
	}
	return list
}
