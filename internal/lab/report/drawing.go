package report

import (
	_ "embed"
	"fmt"
	"html/template"
	"strings"

	"github.com/sotto-llm/sotto/internal/base/visible"
)

// A Drawing is a picture as shapes, which is written in several formats.
type Drawing struct {
	Title  string // what it shows, in a sentence for those who do not see it
	Wide   float64
	High   float64
	shapes []shape
}

// A shape is a part of a drawing. Its look comes from its class and from the series
// that it belongs to.
type shape struct {
	class  string // of the style sheet: grid, curve, band, axis, …
	series int    // -1: of no series
	points []xy   // of a line, or of an area if closed
	closed bool
	text   string // at the only point
	tip    string // said where the pointer rests
}

type xy struct{ x, y float64 }

// The styles of series: colour, dashes and marker. All three differ for the first
// eight series, so that a print in black and white can be read.
const seriesStyles = 8

// dashes are the dash patterns of series, in the units of the drawing.
var dashes = [seriesStyles][]float64{nil, {8, 4}, {2, 3}, {10, 3, 2, 3}, {5, 2}, {1, 2}, {12, 5}, {8, 2, 2, 2, 2, 2}}

// markers are the outlines of the markers of series, around 0, 0.
var markers = [seriesStyles][]xy{
	{{-3, -3}, {3, -3}, {3, 3}, {-3, 3}},
	{{0, -4.2}, {4, 3}, {-4, 3}},
	{{0, -4.4}, {4.4, 0}, {0, 4.4}, {-4.4, 0}},
	{{0, 4.2}, {4, -3}, {-4, -3}},
	{{-4.2, 0}, {3, -4}, {3, 4}},
	{{4.2, 0}, {-3, -4}, {-3, 4}},
	{{-1.3, -4}, {1.3, -4}, {1.3, -1.3}, {4, -1.3}, {4, 1.3}, {1.3, 1.3}, {1.3, 4}, {-1.3, 4}, {-1.3, 1.3}, {-4, 1.3}, {-4, -1.3}, {-1.3, -1.3}},
	{{-4, -2}, {4, -2}, {4, 2}, {-4, 2}},
}

func (d *Drawing) line(class string, series int, points ...xy) {
	d.shapes = append(d.shapes, shape{class: class, series: series, points: points})
}

func (d *Drawing) area(class string, series int, tip string, points ...xy) {
	d.shapes = append(d.shapes, shape{class: class, series: series, points: points, closed: true, tip: tip})
}

func (d *Drawing) marker(series int, at xy, tip string) {
	outline := markers[series%seriesStyles]
	points := make([]xy, len(outline))
	for i, p := range outline {
		points[i] = xy{at.x + p.x, at.y + p.y}
	}
	d.area("marker", series, tip, points...)
}

// write puts a text at a point. Its class says where it is aligned: texts of the
// class name end there, those of the class axis are centred, others begin there.
func (d *Drawing) write(class string, series int, at xy, text string) {
	if text != "" {
		d.shapes = append(d.shapes, shape{class: class, series: series, points: []xy{at}, text: visible.Line(text)})
	}
}

//go:embed figure.css
var figureText string

//go:embed figurecolours.css
var figureColours string

// FigureRules returns the rules for drawings. The page has --ink, --faint, --paper and
// --rule, and --s0 to --s7, the colours of series.
func FigureRules() string { return figureText }

// FigureStyle returns [FigureRules] with colours of series.
func FigureStyle() string { return figureText + figureColours }

// HTML returns the drawing for a page that has [FigureStyle].
func (d *Drawing) HTML() template.HTML { return template.HTML(d.svg("")) }

// paper are the colours of a drawing in a file.
const paper = `:root { --ink: #1c2430; --faint: #5f6b7a; --paper: #ffffff; --rule: #d5dbe3; background: #ffffff; }
`

// SVG returns the drawing as a file that stands alone, on white paper.
func (d *Drawing) SVG() []byte {
	light, _, _ := strings.Cut(FigureStyle(), "@media")
	return []byte(`<?xml version="1.0" encoding="UTF-8"?>` + "\n" + d.svg("<style>"+paper+light+"</style>") + "\n")
}

func (d *Drawing) svg(begin string) string {
	to := new(SVG)
	to.begin(d.Wide, d.High, `class="figure" role="img" aria-label="%s"`, d.Title)
	to.b.WriteString(begin)
	for _, s := range d.shapes {
		s.svg(to)
	}
	return to.end()
}

func (s *shape) svg(to *SVG) {
	class := s.class
	if s.series >= 0 {
		class = fmt.Sprintf("%s s%d", class, s.series%seriesStyles)
	}
	switch {
	case s.text != "":
		to.Add(`<text class="%s" x="%.1f" y="%.1f">%s</text>`, class, s.points[0].x, s.points[0].y, s.text)
		return
	case s.closed:
		to.Add(`<polygon class="%s" points="`, class)
	default:
		to.Add(`<polyline class="%s"`, class)
		if dash := s.dash(); dash != nil {
			to.Add(` stroke-dasharray="%s"`, strings.Trim(fmt.Sprint(dash), "[]"))
		}
		to.Add(` points="`)
	}
	for i, p := range s.points {
		if i > 0 {
			to.Add(" ")
		}
		to.Add("%.1f,%.1f", p.x, p.y)
	}
	to.Add(`"`)
	switch name := "polyline"; {
	case s.tip == "":
		to.Add("/>")
	default:
		if s.closed {
			name = "polygon"
		}
		to.Add("><title>%s</title></%s>", s.tip, name)
	}
}

// dash returns the dash pattern of a line. Only curves have one.
func (s *shape) dash() []float64 {
	if s.class != "curve" || s.series < 0 {
		return nil
	}
	return dashes[s.series%seriesStyles]
}
