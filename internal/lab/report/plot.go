// Package report has the forms of reports: drawings, pages and tables.
package report

import (
	"fmt"
	"html/template"
	"math"
	"strings"

	"github.com/sotto-llm/sotto/internal/base/stats"
)

// A Plot is a drawing of rates with their intervals.
type Plot struct {
	Title, Note string
	Drawing     template.HTML
}

// The measures of a plot, in its own units.
const (
	barHigh  = 22
	barFrom  = 250 // where the bars begin
	barLong  = 400 // 100 %
	plotWide = 780
)

// Bars draws a bar for each rate.
func Bars(rates []stats.Rate) template.HTML {
	high := barHigh*len(rates) + 24
	s := NewSVG(plotWide, high)
	for i := 0; i <= 4; i++ {
		x := barFrom + barLong*i/4
		s.Add(`<line class="grid" x1="%d" y1="0" x2="%d" y2="%d"/><text class="axis" x="%d" y="%d">%d %%</text>`, x, x, high-20, x, high-6, 25*i)
	}
	for i, r := range rates {
		y := float64(barHigh*i) + 3
		at := func(share float64) float64 { return barFrom + barLong*share }
		s.Add(`<text class="name" x="%d" y="%.1f">%s</text>`, barFrom-8, y+12, Short(r.Name, 36))
		s.Add(`<rect class="bar" x="%d" y="%.1f" width="%.1f" height="16"/>`, barFrom, y, barLong*r.Rate)
		s.Add(`<line class="whisker" x1="%.1f" y1="%.1f" x2="%.1f" y2="%.1f"/>`, at(r.Low), y+8, at(r.High), y+8)
		s.Add(`<text class="value" x="%d" y="%.1f">%.2f %% of %d</text>`, barFrom+barLong+12, y+12, 100*r.Rate, r.Of)
	}
	return s.HTML()
}

// A KLine is a line of the best-of-k plot.
type KLine struct {
	Name     string
	Points   []stats.Average
	Majority *stats.Average
}

const (
	curveHigh = 260
	curveWide = 560
	curveLeft = 50
	curveTop  = 10
)

// Curve draws best of k over the logarithm of k.
func Curve(lines []KLine) template.HTML {
	most := 1
	for _, l := range lines {
		most = max(most, l.Points[len(l.Points)-1].K)
	}
	x := func(k int) float64 {
		return curveLeft + curveWide*math.Log(float64(k))/math.Log(float64(max(2, most)))
	}
	y := func(share float64) float64 { return curveTop + curveHigh*(1-share) }
	s := NewSVG(plotWide, curveHigh+40)
	for i := 0; i <= 4; i++ {
		at := y(float64(i) / 4)
		s.Add(`<line class="grid" x1="%d" y1="%.1f" x2="%d" y2="%.1f"/><text class="axis left" x="%d" y="%.1f">%d %%</text>`, curveLeft, at, curveLeft+curveWide, at, curveLeft-6, at+4, 25*i)
	}
	for _, k := range stats.Ks {
		if k <= most {
			s.Add(`<text class="axis" x="%.1f" y="%d">%d</text>`, x(k), curveTop+curveHigh+18, k)
		}
	}
	for i, l := range lines {
		l.draw(s, i, x, y)
	}
	return s.HTML()
}

func (l *KLine) draw(s *SVG, i int, x func(int) float64, y func(float64) float64) {
	var path, band []string
	for _, p := range l.Points {
		path = append(path, fmt.Sprintf("%.1f,%.1f", x(p.K), y(p.Rate)))
		band = append(band, fmt.Sprintf("%.1f,%.1f", x(p.K), y(p.High)))
	}
	for j := len(l.Points) - 1; j >= 0; j-- {
		band = append(band, fmt.Sprintf("%.1f,%.1f", x(l.Points[j].K), y(l.Points[j].Low)))
	}
	s.Add(`<polygon class="band c%d" points="%s"/><polyline class="curve c%d" points="%s"/>`, i, strings.Join(band, " "), i, strings.Join(path, " "))
	for _, p := range l.Points {
		s.Add(`<circle class="point c%d" cx="%.1f" cy="%.1f" r="3"><title>best of %d: %.2f %% of %d problems</title></circle>`, i, x(p.K), y(p.Rate), p.K, 100*p.Rate, p.Problems)
	}
	if l.Majority != nil {
		at := y(l.Majority.Rate)
		s.Add(`<line class="majority c%d" x1="%d" y1="%.1f" x2="%d" y2="%.1f"/>`, i, curveLeft, at, curveLeft+curveWide, at)
	}
	last := l.Points[len(l.Points)-1]
	name := Short(l.Name, 18)
	s.Add(`<text class="value c%d" x="%.1f" y="%.1f">%s %.1f %%</text>`, i, x(last.K)+8, y(last.Rate)+4, name, 100*last.Rate)
}
