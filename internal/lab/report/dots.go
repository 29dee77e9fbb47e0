package report

import (
	"fmt"
	"math"
	"strings"
	"unicode/utf8"
)

// Dots is a plot of means with their intervals, a row each: a forest plot, if zero is
// drawn.
type Dots struct {
	Title string
	X     string // what the axis shows
	Share bool   // values are shares, and are shown as percentages
	// Difference says that values may be below zero, which is drawn as a line.
	Difference bool
	// Least and Most are within the scale at least, so that plots can have the same.
	Least, Most float64
	Rows        []Dot
}

// A Dot is a mean, its interval if it is known, and the single values.
type Dot struct {
	Name      string
	Series    int
	Mean      float64
	Low, High *float64
	Each      []float64
	Note      string // after the value
}

// The measures of a plot of dots.
const (
	dotsHigh = 24.0
	dotsLong = 300.0 // of the axis
	dotsText = 260.0 // for the values
	dotsName = 56    // characters
	dotsRune = 6.7   // the width of a character, about
)

// Draw draws the plot.
func (p *Dots) Draw() *Drawing {
	bottom := dotsHigh*float64(len(p.Rows)) + 8
	long, widest := 8, 0.0
	for _, r := range p.Rows {
		long = max(long, min(utf8.RuneCountInString(r.Name), dotsName))
		widest = max(widest, widthOf(middle(r.Name, dotsName)))
	}
	left := math.Round(max(float64(long)*dotsRune, widest)) + 24
	right := left + dotsLong
	d := &Drawing{Title: p.describe(), Wide: right + dotsText, High: bottom + 42}
	unit, scale := "", 1.0
	if p.Share {
		unit, scale = " %", 100
		if p.Difference {
			unit = " pp"
		}
	}
	low, high := p.span()
	ticks := spread(low*scale, high*scale, valueParts, unit)
	low, high = ticks[0].Value/scale, ticks[len(ticks)-1].Value/scale
	x := func(v float64) float64 { return left + dotsLong*(v-low)/max(high-low, 1e-300) }
	for _, t := range ticks {
		class := "grid"
		if p.Difference && t.Value == 0 {
			class = "zero"
		}
		at := x(t.Value / scale)
		d.line(class, -1, xy{at, 0}, xy{at, bottom})
		d.write("axis", -1, xy{at, bottom + 16}, t.Label)
	}
	d.write("axis", -1, xy{left + dotsLong/2, bottom + 34}, p.X)
	for i, r := range p.Rows {
		y := dotsHigh*float64(i) + dotsHigh/2 + 4
		d.write("name", -1, xy{left - 12, y + 4}, middle(r.Name, dotsName))
		for _, v := range r.Each {
			d.line("each", -1, xy{x(v), y + 3}, xy{x(v), y + 9})
		}
		value := short(r.Mean*scale) + unit
		if p.Difference && r.Mean > 0 {
			value = "+" + value
		}
		if r.Low != nil && r.High != nil {
			d.line("whisker", -1, xy{x(*r.Low), y}, xy{x(*r.High), y})
			value += fmt.Sprintf(" [%s, %s]", short(*r.Low*scale), short(*r.High*scale))
		}
		d.marker(r.Series, xy{x(r.Mean), y}, r.Name+": "+value)
		d.write("end", r.Series, xy{right + 14, y + 4}, strings.TrimSpace(value+" "+r.Note))
	}
	return d
}

// widthOf is at most how wide a name is that has many wide characters.
func widthOf(name string) (wide float64) {
	for _, r := range name {
		switch {
		case strings.ContainsRune("mMWQO@%…", r), r >= 0x1100:
			wide += 11
		case strings.ContainsRune("w<>=+~_&#", r), 'A' <= r && r <= 'Z':
			wide += 9.3
		case strings.ContainsRune(" iljftr.,:;'|()[]/!\"-", r):
			wide += 5
		default:
			wide += dotsRune
		}
	}
	return wide
}

// middle shortens a name in its middle: names that are alike at the start often differ at
// the end.
func middle(name string, long int) string {
	runes := []rune(name)
	if len(runes) <= long {
		return name
	}
	half := (long - 1) / 2
	return string(runes[:half]) + "…" + string(runes[len(runes)-(long-1-half):])
}

func (p *Dots) describe() string {
	var rows []string
	for _, r := range p.Rows {
		rows = append(rows, fmt.Sprintf("%s %s", r.Name, short(r.Mean)))
	}
	return p.Title + ": " + strings.Join(rows, ", ")
}

// span is from the least to the largest value, with 0.
func (p *Dots) span() (low, high float64) {
	take := func(v float64) { low, high = min(low, v), max(high, v) }
	take(p.Least)
	take(p.Most)
	for _, r := range p.Rows {
		take(r.Mean)
		if r.Low != nil && r.High != nil {
			take(*r.Low)
			take(*r.High)
		}
		for _, v := range r.Each {
			take(v)
		}
	}
	if low == high {
		high = low + 1
	}
	return low, high
}

// spread returns round values around low to high, at most about n parts.
func spread(low, high float64, n int, unit string) (list []Tick) {
	step := Step(high-low, n)
	for v := math.Floor(low/step + 1e-9); ; v++ {
		list = append(list, Tick{v * step, figure(v*step, step) + unit})
		if v*step >= high-step*1e-9 {
			return list
		}
	}
}
