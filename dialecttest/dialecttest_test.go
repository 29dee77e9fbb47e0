package dialecttest

import (
	"slices"
	"testing"

	"github.com/sotto-llm/sotto"
)

// The default dialect is held to every law in full.
func TestDefault(t *testing.T) { Run(t, sotto.Default().Dialect()) }

// Every shipped dialect is, with fewer replies.
func TestShipped(t *testing.T) {
	e := effort{replies: 40, units: 16, readings: 3000}
	if testing.Short() {
		e = effort{replies: 12, units: 8, readings: 600}
	}
	for _, d := range sotto.Dialects() {
		t.Run(d.Name, func(t *testing.T) {
			t.Parallel()
			run(t, d, e.times(times()), nil)
		})
	}
}

// Literals of two and three bytes, of which one begins as another's close does.
func TestShortLiterals(t *testing.T) {
	d := sotto.Default().Dialect()
	d.Markers = append(slices.Clone(d.Markers),
		sotto.Marker{Role: sotto.RoleReasoning, Name: "lead", Open: []string{"< /"}, Close: []string{"<//"}},
		sotto.Marker{Role: sotto.RoleReasoning, Name: "one", Open: []string{"< 1"}, Close: []string{"/1"}})
	run(t, d, effort{replies: 150, units: 24, readings: 3000}.times(times()), nil)
}
