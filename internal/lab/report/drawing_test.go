package report

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"image/png"
	"io"
	"math"
	"slices"
	"strings"
	"testing"
)

// eight has as many lines as there are styles, with ends close together.
func eight() *Chart {
	c := &Chart{Title: "Solved", X: "problem", Y: "share", Share: true}
	for i := range seriesStyles {
		l := BandLine{Name: fmt.Sprintf("line %d", i), Series: i}
		for x := range 20 {
			y := 0.5 + float64(i)*0.001 + float64(x)*0.01
			l.Points = append(l.Points, BandPoint{float64(x + 1), y, y - 0.1, y + 0.1})
		}
		c.Lines = append(c.Lines, l)
	}
	return c
}

// The labels of lines that end close together do not overlap, and are on the drawing.
func TestLabelsDoNotOverlap(t *testing.T) {
	d := eight().Draw()
	var at []float64
	for _, s := range d.shapes {
		if s.class == "end" {
			at = append(at, s.points[0].y)
		}
	}
	slices.Sort(at)
	if len(at) != seriesStyles || at[0] < 10 || at[len(at)-1] > d.High {
		t.Fatalf("labels at %v", at)
	}
	for i := 1; i < len(at); i++ {
		if at[i]-at[i-1] < labelGap-1e-9 {
			t.Errorf("labels at %.1f and %.1f", at[i-1], at[i])
		}
	}
}

// Without colours, every series has dashes of its own, and
// a marker of its own.
func TestSeriesDifferWithoutColour(t *testing.T) {
	for i := range seriesStyles {
		for j := range i {
			if slices.Equal(dashes[i], dashes[j]) {
				t.Errorf("series %d and %d have the same dashes", i, j)
			}
			if slices.Equal(markers[i], markers[j]) {
				t.Errorf("series %d and %d have the same marker", i, j)
			}
		}
	}
	svg := string(eight().Draw().SVG())
	if n := strings.Count(svg, "stroke-dasharray"); n != seriesStyles-1 {
		t.Errorf("%d dashed lines", n)
	}
}

// An SVG file is XML that needs no other file, and its names are texts in it.
func TestSVGStandsAlone(t *testing.T) {
	c := eight()
	c.Lines[0].Name = "</text><script>"
	svg := c.Draw().SVG()
	for d := xml.NewDecoder(bytes.NewReader(svg)); ; {
		token, err := d.Token()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if e, ok := token.(xml.StartElement); ok && !slices.Contains([]string{"svg", "style", "polyline", "polygon", "text", "title"}, e.Name.Local) {
			t.Errorf("element %s", e.Name.Local)
		}
	}
	for _, colour := range []string{"--s7:", "--ink:", "background: #ffffff"} {
		if !bytes.Contains(svg, []byte(colour)) {
			t.Errorf("the file does not set %q", colour)
		}
	}
	if bytes.Contains(svg, []byte("@media")) {
		t.Error("the file has another look in the dark")
	}
}

// TestPNG looks at pixels: paper in the corner, and the colour of a series on its
// line. The colours of pictures are those of the style sheet.
func TestPNG(t *testing.T) {
	c := &Chart{Title: "x", X: "cycle", Y: "y", Lines: []BandLine{{Name: "one", Series: 1, Points: []BandPoint{{1, 5, 5, 5}, {9, 5, 5, 5}}}}, Most: 10}
	d := c.Draw()
	data, err := d.PNG()
	if err != nil {
		t.Fatal(err)
	}
	picture, err := png.Decode(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	if size := picture.Bounds().Size(); size.X != int(2*d.Wide) || size.Y != int(2*d.High) {
		t.Errorf("%v pixels of a drawing of %v by %v", size, d.Wide, d.High)
	}
	if r, g, b, a := picture.At(0, 0).RGBA(); r != 0xffff || g != 0xffff || b != 0xffff || a != 0xffff {
		t.Errorf("the corner is %v", picture.At(0, 0))
	}
	middle := int(chartTop + chartBottom)
	seen := false
	for y := middle - 3; y <= middle+3; y++ {
		for x := 150; x < 800; x++ {
			r, g, b, _ := picture.At(x, y).RGBA()
			seen = seen || uint8(r>>8) == 0xb5 && uint8(g>>8) == 0x48 && uint8(b>>8) == 0x2f
		}
	}
	if !seen {
		t.Error("the line is not where its values are")
	}
	light, _, _ := strings.Cut(FigureStyle(), "@media")
	for i, c := range seriesColours {
		if rule := fmt.Sprintf("--s%d: #%02x%02x%02x;", i, c.R, c.G, c.B); !strings.Contains(light, rule) {
			t.Errorf("figurecolours.css lacks %s", rule)
		}
	}
	if _, err := (&Drawing{Wide: 1e5, High: 1e5}).PNG(); err == nil {
		t.Error("a picture of any size is made")
	}
}

// A forest plot has the line of zero where the axis says 0, also if all values are on
// one side of it.
func TestForest(t *testing.T) {
	low, high := -0.3, -0.1
	for _, p := range []Dots{
		{Difference: true, Share: true, Rows: []Dot{{Name: "a", Mean: -0.2, Low: &low, High: &high}, {Name: "b", Mean: 0.4}}},
		{Difference: true, Rows: []Dot{{Name: "a", Mean: -12345}}},
		{Difference: true, Rows: []Dot{{Name: "a", Mean: 0}}},
	} {
		d := p.Draw()
		zero, label := math.NaN(), math.NaN()
		for _, s := range d.shapes {
			if s.class == "zero" {
				zero = s.points[0].x
			}
			if s.class == "axis" && strings.Trim(s.text, "0. p") == "" {
				label = s.points[0].x
			}
			for _, at := range s.points {
				if at.x < 0 || at.x > d.Wide || at.y < 0 || at.y > d.High {
					t.Errorf("%s at %v of a drawing of %v by %v", s.class, at, d.Wide, d.High)
				}
			}
		}
		if zero != label || math.IsNaN(zero) {
			t.Errorf("the line at %v, its label at %v", zero, label)
		}
	}
}

// Long names that differ at their ends stay different, in the space that there is.
func TestLongNames(t *testing.T) {
	name := strings.Repeat("memory ", 30)
	p := Dots{Rows: []Dot{{Name: name + "1 reply"}, {Name: name + "10 replies"}}}
	var names []string
	for _, s := range p.Draw().shapes {
		if s.class == "name" {
			names = append(names, s.text)
		}
	}
	if len(names) != 2 || names[0] == names[1] || !strings.HasSuffix(names[1], "10 replies") || len([]rune(names[0])) > dotsName {
		t.Errorf("names %q", names)
	}
	c := Chart{Lines: []BandLine{{Name: name, Points: []BandPoint{{1, 0.123, 0, 1}}}}, Share: true}
	for _, s := range c.Draw().shapes {
		if s.class == "end" && (!strings.HasSuffix(s.text, "… 12.3 %") || len([]rune(s.text)) > chartLabel) {
			t.Errorf("the label is %q", s.text)
		}
	}
}

func TestBetween(t *testing.T) {
	for _, test := range []struct {
		low, high float64
		want      string
	}{{1, 3, "1 2 3"}, {10, 100, "20 40 60 80 100"}, {1, 1, "1"}, {0, 1, "0 1"}} {
		var got []string
		for _, tick := range between(test.low, test.high, problemParts) {
			got = append(got, tick.Label)
		}
		if s := strings.Join(got, " "); s != test.want {
			t.Errorf("%v to %v: %s, want %s", test.low, test.high, s, test.want)
		}
	}
}
