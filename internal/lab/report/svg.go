package report

import (
	"fmt"
	"html/template"
	"reflect"
	"strings"

	"github.com/sotto-llm/sotto/internal/base/visible"
)

// An SVG is a drawing that is being written. It is the only place that escapes the texts
// of drawings.
type SVG struct{ b strings.Builder }

// NewSVG begins a drawing for a page, of a size in the drawing's own units.
func NewSVG(wide, high int) *SVG {
	s := new(SVG)
	s.begin(wide, high, `role="group"`)
	return s
}

// begin writes the opening tag. Attributes are markup with the values that it names, as
// for [SVG.Add].
func (s *SVG) begin(wide, high any, attributes string, values ...any) {
	s.b.WriteString(`<svg xmlns="http://www.w3.org/2000/svg" `)
	s.Add(attributes, values...)
	s.Add(` viewBox="0 0 %v %v" width="%v" height="%v">`, wide, high, wide, high)
}

// Add adds markup: the format is written as it is, and each string among the values is
// escaped, so that it is text or the value of a quoted attribute, on one line.
func (s *SVG) Add(format string, values ...any) {
	escaped := make([]any, len(values))
	for i, v := range values {
		if r := reflect.ValueOf(v); r.Kind() == reflect.String {
			v = template.HTMLEscapeString(visible.Line(r.String()))
		}
		escaped[i] = v
	}
	fmt.Fprintf(&s.b, format, escaped...)
}

// end writes the closing tag, and returns the drawing.
func (s *SVG) end() string {
	s.b.WriteString("</svg>")
	return s.b.String()
}

// HTML ends the drawing and returns it for a page.
func (s *SVG) HTML() template.HTML { return template.HTML(s.end()) }

// Short cuts a name to so many characters, for a label in a drawing. It is on one line.
func Short(name string, long int) string {
	return cut(strings.NewReplacer("\n", " ", "\t", " ").Replace(visible.Text(name)), long)
}
