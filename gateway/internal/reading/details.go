package reading

import (
	"bytes"
	"sync"
	"unicode/utf8"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/dialect"
)

// Some user interfaces write reasoning into the text as a folded section of HTML,
// <details type="reasoning" …>, and send it on as a model's reply. Other sections
// are part of an answer, so no dialect has it as a marker: a plain </details> would
// count as its close. It is read only where reasoning is hidden, by a grammar of
// its own, in the text that remains after the dialect's reading.
var detailsGrammar = sync.OnceValue(func() *sotto.Grammar { return compileDetails(true) })

// LiteralDetails is the same, for texts in which a marker in quotes or code is one.
var LiteralDetails = sync.OnceValue(func() *sotto.Grammar { return compileDetails(false) })

func compileDetails(code bool) *sotto.Grammar {
	off := false
	g, err := sotto.Compile(dialect.Dialect{
		Name: "details", Code: &code, Stray: &off,
		Markers: []dialect.Marker{{
			Role: dialect.RoleReasoning, Name: "details",
			Open: []string{`<details type="reasoning"`, `<details type='reasoning'`}, Close: []string{"</details>"},
		}},
	})
	if err != nil {
		panic(err) // a test covers it
	}
	return g
}

// A detailsReader reads a text without such sections. Few texts have them, so it makes its
// splitter when a byte comes that may begin one, or code. The zero value is ready.
type detailsReader struct {
	split *sotto.Splitter
	last  byte // of the text that passed before there was a splitter; 0 if none did
}

// read returns the decided part of a text.
func (d *detailsReader) read(text []byte, maxHold int) []byte {
	if d.split == nil {
		if d.passes(text) {
			d.last = text[len(text)-1]
			return text
		}
		d.split, _ = detailsGrammar().NewSplitter(sotto.Options{Start: sotto.BeginOutside, MaxHold: maxHold})
		if d.last != 0 { // the splitter stands where it would stand after the text that passed
			d.split.Feed([]byte{'x', d.last})
		}
	}
	return visibleOf(d.split.Feed(text))
}

// passes reports whether a text leaves nothing for a later one to depend on, except its last
// byte: it has no byte of a section or of code, and its last line has begun with something
// visible, or not at all. White space at the beginning may be dropped with a section.
func (d *detailsReader) passes(text []byte) bool {
	if bytes.ContainsAny(text, "<`~") || d.last == 0 && (IsWhite(text[0]) || text[0] >= utf8.RuneSelf) {
		return false
	}
	line := bytes.LastIndexByte(text, '\n') + 1
	within := line == 0 && d.last != 0 && d.last != '\n'
	return within || line == len(text) || len(trimLeft(text[line:])) > 0
}

// size is the memory that it holds.
func (d *detailsReader) size() int {
	if d.split == nil {
		return 0
	}
	return d.split.Size()
}

// withoutDetails returns the decided part of a choice's text, without such
// sections.
func (r *Reading) withoutDetails(c *Choice, text []byte) []byte {
	return c.details.read(text, r.MaxHold)
}

// endDetails returns the rest of that text.
func (r *Reading) endDetails(c *Choice, end sotto.Ending) {
	if c.details.split != nil {
		rest := visibleOf(c.details.split.Close(end))
		r.deliver(c, rest)
	}
	c.details = detailsReader{}
}

// visibleOf returns a copy of the text that pieces made visible, and releases them.
func visibleOf(pieces []sotto.Piece) []byte {
	var b []byte
	for i := range pieces {
		b = append(b, pieces[i].Visible...)
	}
	release(pieces)
	return b
}
