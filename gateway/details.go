package gateway

import (
	"sync"

	"github.com/sotto-llm/sotto"
)

// Some user interfaces write reasoning into the text as a folded section of HTML,
// <details type="reasoning" …>, and send it on as a model's reply. Other sections
// are part of an answer, so no dialect has it as a marker: a plain </details> would
// count as its close. It is read only where reasoning is hidden, by a grammar of
// its own, in the text that remains after the dialect's reading.
var detailsGrammar = sync.OnceValue(func() *sotto.Grammar {
	on, off := true, false
	g, err := sotto.Compile(sotto.Dialect{
		Name: "details", Code: &on, Stray: &off,
		Markers: []sotto.Marker{{
			Role: sotto.RoleReasoning, Name: "details",
			Open: []string{`<details type="reasoning"`, `<details type='reasoning'`}, Close: []string{"</details>"},
		}},
	})
	if err != nil {
		panic(err) // a test covers it
	}
	return g
})

// withoutDetails returns the decided part of a choice's text, without such
// sections.
func (r *reading) withoutDetails(c *choice, text []byte) []byte {
	if c.details == nil {
		c.details, _ = detailsGrammar().NewSplitter(sotto.Options{Start: sotto.StartOutside, MaxHold: r.maxHold})
	}
	return visibleOf(c.details.Feed(text))
}

// endDetails returns the rest of that text.
func (r *reading) endDetails(c *choice, end sotto.End) {
	if c.details == nil {
		return
	}
	rest := visibleOf(c.details.Close(end))
	c.details = nil
	r.deliver(c, rest)
}

// visibleOf returns a copy of the text that pieces made visible.
func visibleOf(pieces []sotto.Piece) []byte {
	var b []byte
	for i := range pieces {
		b = append(b, pieces[i].Visible...)
	}
	return b
}
