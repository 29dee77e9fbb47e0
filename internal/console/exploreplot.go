package console

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/sotto-llm/sotto/internal/console/explore"
	"github.com/sotto-llm/sotto/internal/console/view"
)

// An explorePlot is drawn in a box that is as wide as the page: places are in thousandths of
// its width, and its height is 100.
type explorePlot struct {
	Lines   []plotLine
	Buckets []plotBucket
	// High and Middle are the labels of the axis; the lowest is 0.
	High, Middle string
	Times        []time.Time // under it, from left to right
	// Banded is the series whose interval is drawn, and BandClass its class: several would
	// hide each other.
	Banded, BandClass string
}

// A plotLine is a series: its line, its interval, and where it changes.
type plotLine struct {
	Class, Band, Path string // Band is that of the first one only
	Dots              string // the values that have no neighbours
	Changes           []int
}

// A plotBucket is a part of the time: what it holds in words, and the link to it alone.
type plotBucket struct {
	X, Wide int
	From    string
	To      string
	Title   string
	Link    string
}

// plotTimes is how many times stand below the plot.
const plotTimes = 5

func plotOf(a *explore.Answer) (p explorePlot) {
	if len(a.Series) == 0 {
		return p
	}
	shown := a.Series[:min(len(a.Series), maxPlotted)]
	top := ceiling(shown)
	if half := top / 2; !a.Query.Of.Share() && half != math.Trunc(half) {
		top++ // bytes and milliseconds have no halves
	}
	p.High, p.Middle = tickText(a.Query.Of, top), tickText(a.Query.Of, top/2)
	n := len(shown[0].Points)
	place := func(i float64) int { return int(math.Round(1000 * i / float64(n))) }
	for k := range shown {
		s := &shown[k]
		l := plotLine{Class: "line-" + strconv.Itoa(k)}
		if l.Path, l.Band, l.Dots = pathsOf(s.Points, top, place); k == 0 {
			p.Banded, p.BandClass = seriesName(s), l.Class
		} else {
			l.Band = ""
		}
		at := 0
		for _, part := range s.Stretches[1:] {
			for a.At(at).Before(part.From) {
				at++
			}
			l.Changes = append(l.Changes, place(float64(at)))
		}
		p.Lines = append(p.Lines, l)
	}
	for i := range n {
		to := a.Query
		to.From, to.To = a.At(i).Format(time.RFC3339), a.At(i+1).Format(time.RFC3339)
		x := place(float64(i))
		p.Buckets = append(p.Buckets, plotBucket{x, place(float64(i+1)) - x, to.From, to.To, bucketTitle(a, shown, i), exploreLink(to)})
	}
	times := plotTimes
	if a.To.Sub(a.From) < plotTimes*time.Second { // they would be the same second
		times = 2
	}
	for i := range times {
		p.Times = append(p.Times, a.From.Add(a.To.Sub(a.From)/time.Duration(times-1)*time.Duration(i)))
	}
	return p
}

// tickText labels the axis, without digits that say nothing.
func tickText(m explore.Measure, v float64) string {
	if m.Share() {
		return strconv.FormatFloat(100*v, 'g', 4, 64) + " %"
	}
	if unitOf(m) == view.Millis && v >= 1000 {
		return strconv.FormatFloat(v/1000, 'g', 4, 64) + " s"
	}
	return amount(m, v)
}

// bucketTitle says what a bucket holds.
func bucketTitle(a *explore.Answer, shown []explore.Series, i int) string {
	var b strings.Builder
	b.WriteString(a.At(i).Format("2006-01-02 15:04:05 MST"))
	for k := range shown {
		if v := shown[k].Points[i]; v.N > 0 {
			fmt.Fprintf(&b, "\n%s: %s, n = %s", seriesName(&shown[k]), between(a.Query.Of, v), number(v.N))
		}
	}
	return b.String()
}

// ceiling is the top of the axis: a round number above all values. Intervals of few events may
// go beyond it.
func ceiling(list []explore.Series) float64 {
	most := 0.0
	for i := range list {
		most = max(most, list[i].Total.High)
		for _, v := range list[i].Points {
			if v.N > 0 {
				most = max(most, v.Value)
			}
		}
	}
	if most == 0 {
		most = 1
	}
	base := math.Pow(10, math.Floor(math.Log10(most)))
	for _, step := range []float64{1, 2, 5, 10} {
		if top := step * base; top >= most {
			return top
		}
	}
	return most
}

// pathsOf draws the values of a series and their intervals. Where a bucket is empty, both have
// a gap. A value between gaps is drawn alone.
func pathsOf(points []explore.Value, top float64, place func(float64) int) (line, band, alone string) {
	y := func(v float64) string { return strconv.FormatFloat(100-100*min(v, 1.5*top)/top, 'f', 1, 64) }
	var path, area, dots strings.Builder
	for i := 0; i < len(points); {
		if points[i].N == 0 {
			i++
			continue
		}
		end := i
		for end < len(points) && points[end].N > 0 {
			end++
		}
		for k := i; k < end; k++ {
			fmt.Fprintf(&path, "%s%d %s", map[bool]string{true: "M", false: "L"}[k == i], place(float64(k)+0.5), y(points[k].Value))
		}
		if end == i+1 {
			fmt.Fprintf(&dots, "M%d %sh0", place(float64(i)+0.5), y(points[i].Value)) // a round end makes a dot of it
		}
		for k := i; k < end; k++ {
			fmt.Fprintf(&area, "%s%d %s", map[bool]string{true: "M", false: "L"}[k == i], place(float64(k)+0.5), y(points[k].High))
		}
		for k := end - 1; k >= i; k-- {
			fmt.Fprintf(&area, "L%d %s", place(float64(k)+0.5), y(points[k].Low))
		}
		area.WriteString("Z")
		i = end
	}
	return path.String(), area.String(), dots.String()
}
