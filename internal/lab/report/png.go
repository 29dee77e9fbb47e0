package report

import (
	"bytes"
	"fmt"
	"image"
	"image/color"
	"image/draw"
	"image/png"
	"math"
	"sync"

	"golang.org/x/image/font"
	"golang.org/x/image/font/gofont/gobold"
	"golang.org/x/image/font/gofont/goregular"
	"golang.org/x/image/font/opentype"
	"golang.org/x/image/math/fixed"
	"golang.org/x/image/vector"
)

// density is how many pixels of a PNG a unit of the drawing has.
const density = 2

// maxPixels bounds the picture: 64 million pixels are 256 MB in memory.
const maxPixels = 64 << 20

// The colours of a drawing in a file, as in figure.css and paper.
var (
	inkColour   = rgb(0x1c2430)
	faintColour = rgb(0x5f6b7a)
	ruleColour  = rgb(0xd5dbe3)
	// seriesColours are those of the series.
	seriesColours = [seriesStyles]color.NRGBA{rgb(0x2456a6), rgb(0xb5482f), rgb(0x1f7a4d), rgb(0x7a4fa3), rgb(0x8a5a00), rgb(0x0f7285), rgb(0xa02c6d), rgb(0x4a5568)}
)

func rgb(hex uint32) color.NRGBA {
	return color.NRGBA{uint8(hex >> 16), uint8(hex >> 8), uint8(hex), 255}
}

// PNG returns the drawing as a picture of twice its size, on white paper.
func (d *Drawing) PNG() ([]byte, error) {
	wide, high := int(d.Wide*density), int(d.High*density)
	if wide < 1 || high < 1 || wide > maxPixels/high {
		return nil, fmt.Errorf("a picture of %d by %d pixels", wide, high)
	}
	fonts, err := loadFonts()
	if err != nil {
		return nil, fmt.Errorf("picture: %w", err)
	}
	p := &painter{to: image.NewRGBA(image.Rect(0, 0, wide, high)), area: new(vector.Rasterizer), fonts: fonts}
	draw.Draw(p.to, p.to.Bounds(), image.White, image.Point{}, draw.Src)
	for i := range d.shapes {
		p.shape(&d.shapes[i])
	}
	var b bytes.Buffer
	if err := png.Encode(&b, p.to); err != nil {
		return nil, fmt.Errorf("picture: %w", err)
	}
	return b.Bytes(), nil
}

// loadFonts reads the fonts of pictures: the regular one, and that of titles.
var loadFonts = sync.OnceValues(func() (fonts [2]*opentype.Font, err error) {
	for i, data := range [][]byte{goregular.TTF, gobold.TTF} {
		if fonts[i], err = opentype.Parse(data); err != nil {
			return fonts, err
		}
	}
	return fonts, nil
})

// A painter paints shapes.
type painter struct {
	to    *image.RGBA
	area  *vector.Rasterizer
	fonts [2]*opentype.Font
	faces [2]font.Face
}

func (p *painter) shape(s *shape) {
	switch {
	case s.text != "":
		p.text(s)
	case s.class == "band":
		c := s.colour()
		c.A = 38
		p.fill(s.points, c)
	case s.closed:
		p.fill(s.points, s.colour())
	default:
		wide := map[string]float64{"curve": 1.8, "whisker": 1.6, "each": 1.2}[s.class]
		p.stroke(s.points, max(1, wide), s.dash(), s.colour())
	}
}

// colour is the colour of a shape in a file.
func (s *shape) colour() color.NRGBA {
	switch s.class {
	case "curve", "band", "marker":
		return seriesColours[max(0, s.series)%seriesStyles]
	case "grid":
		return ruleColour
	case "axis", "tick", "each":
		return faintColour
	}
	return inkColour
}

// fill fills an area. Only the pixels around it are looked at.
func (p *painter) fill(points []xy, c color.NRGBA) {
	low, high := xy{math.Inf(1), math.Inf(1)}, xy{math.Inf(-1), math.Inf(-1)}
	for _, at := range points {
		low, high = xy{min(low.x, at.x), min(low.y, at.y)}, xy{max(high.x, at.x), max(high.y, at.y)}
	}
	box := image.Rect(int(math.Floor(low.x*density)), int(math.Floor(low.y*density)), int(math.Ceil(high.x*density)), int(math.Ceil(high.y*density))).Intersect(p.to.Bounds())
	if box.Empty() {
		return
	}
	p.area.Reset(box.Dx(), box.Dy())
	for i, at := range points {
		x, y := float32(at.x*density-float64(box.Min.X)), float32(at.y*density-float64(box.Min.Y))
		if i == 0 {
			p.area.MoveTo(x, y)
		} else {
			p.area.LineTo(x, y)
		}
	}
	p.area.ClosePath()
	p.area.Draw(p.to, box, image.NewUniform(c), image.Point{})
}

// stroke draws a line as rectangles around its pieces.
func (p *painter) stroke(points []xy, wide float64, dash []float64, c color.NRGBA) {
	drawn, next := 0.0, 0 // how much of the next dash or gap is used
	for i := 1; i < len(points); i++ {
		a, b := points[i-1], points[i]
		long := math.Hypot(b.x-a.x, b.y-a.y)
		for at := 0.0; at < long; {
			step := long - at
			if dash != nil {
				step = min(step, dash[next]-drawn)
			}
			if dash == nil || next%2 == 0 {
				p.piece(along(a, b, at/long), along(a, b, (at+step)/long), wide, c)
			}
			at += step
			if drawn += step; dash != nil && drawn >= dash[next]-1e-9 {
				drawn, next = 0, (next+1)%len(dash)
			}
		}
	}
}

func along(a, b xy, share float64) xy { return xy{a.x + (b.x-a.x)*share, a.y + (b.y-a.y)*share} }

func (p *painter) piece(a, b xy, wide float64, c color.NRGBA) {
	long := math.Hypot(b.x-a.x, b.y-a.y)
	if long == 0 {
		return
	}
	// A little longer at both ends, so that the pieces of a curve join.
	ux, uy := (b.x-a.x)/long*wide/2, (b.y-a.y)/long*wide/2
	a, b = xy{a.x - ux/4, a.y - uy/4}, xy{b.x + ux/4, b.y + uy/4}
	p.fill([]xy{{a.x - uy, a.y + ux}, {b.x - uy, b.y + ux}, {b.x + uy, b.y - ux}, {a.x + uy, a.y - ux}}, c)
}

// text draws a text where its class aligns it.
func (p *painter) text(s *shape) {
	weight := 0
	if s.class == "title" {
		weight = 1
	}
	if p.faces[weight] == nil {
		face, err := opentype.NewFace(p.fonts[weight], &opentype.FaceOptions{Size: 12 * density, DPI: 72, Hinting: font.HintingNone})
		if err != nil { // only of a font that is not ours
			return
		}
		p.faces[weight] = face
	}
	d := font.Drawer{Dst: p.to, Src: image.NewUniform(s.colour()), Face: p.faces[weight]}
	x := fixed.Int26_6(math.Round(s.points[0].x * density * 64))
	switch s.class {
	case "axis":
		x -= d.MeasureString(s.text) / 2
	case "tick", "name":
		x -= d.MeasureString(s.text)
	}
	d.Dot = fixed.Point26_6{X: x, Y: fixed.Int26_6(math.Round(s.points[0].y * density * 64))}
	d.DrawString(s.text)
}
