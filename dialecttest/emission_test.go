package dialecttest

import (
	"testing"

	"github.com/sotto-llm/sotto/dialect"
)

// Only a literal that may turn out to be part of a longer one may wait for it. Other
// bytes of the same dialect may not.
func TestMayGrow(t *testing.T) {
	d := dialect.Dialect{Name: "overlap", Markers: []dialect.Marker{
		{Role: dialect.RoleReasoning, Open: []string{"[t]"}, Close: []string{"[e][t]a"}},
		{Role: dialect.RoleTool, Name: "tool", Open: []string{"[c]"}, Close: []string{"[e]"}},
	}}
	s := mustSuite(t, d, false)
	for _, c := range []struct {
		raw   string
		given int
		may   bool
	}{
		{"x[e]", 1, true},      // it may become [e][t]a
		{"x[e]", 3, true},      // also if its first bytes were given
		{"[e][t]", 0, true},    // the inner [t] may be part of it
		{"x", 0, false},        // no literal
		{"[t]x[e]y", 3, false}, // the longer has failed
		{"[c", 0, false},       // unfinished, and part of nothing
		{"[e", 0, false},       // the shorter is unfinished too
		{"xx[e]", 0, false},    // what comes before need not wait
		{"[e][t]a", 0, false},  // it is the longer
	} {
		if got := s.mayGrow(c.raw, c.given); got != c.may {
			t.Errorf("%q from byte %d on: %v", c.raw, c.given, got)
		}
	}
}
