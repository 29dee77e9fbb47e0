package sotto_test

import (
	"strings"
	"testing"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/dialect"
)

// If no marker of the dialect is a tag, an opener inside a block is reasoning. It
// neither deepens the block nor is removed, however the reply is cut. Only a doubled
// opener is markup.
func TestOpenerWhereNothingNests(t *testing.T) {
	g, err := sotto.Compile(dialect.Dialect{Name: "flat", Markers: []dialect.Marker{
		{Role: dialect.RoleReasoning, Name: "think", Open: []string{"[THINK]"}, Close: []string{"[/THINK]"}},
	}})
	if err != nil {
		t.Fatal(err)
	}
	for raw, want := range map[string]string{
		"[THINK][THINK]a[/THINK]b":         "a",
		"[THINK]>[THINK]a[/THINK]b":        ">[THINK]a",
		"[THINK][THINK]a[THINK][/THINK]b":  "a[THINK]",
		"[THINK][THINK][THINK]a[/THINK] b": "a",
	} {
		whole, err := g.Parse(raw, sotto.BeginOutside, sotto.EndStopped)
		if err != nil {
			t.Fatal(err)
		}
		s, err := g.NewSplitter(sotto.Options{Start: sotto.BeginOutside})
		if err != nil {
			t.Fatal(err)
		}
		var thought string
		hear := func(pieces []sotto.Piece) {
			for _, p := range pieces {
				if p.Channel == sotto.ChannelReasoning {
					thought += string(p.Bytes)
				}
			}
		}
		for i := range raw {
			hear(s.FeedString(raw[i : i+1]))
		}
		hear(s.Close(sotto.EndStopped))
		if got := whole.Reasoning(); len(got) != 1 || got[0] != want || thought != want || strings.TrimSpace(whole.Visible()) != "b" {
			t.Errorf("%q: whole %q, byte by byte %q, visible %q", raw, got, thought, whole.Visible())
		}
	}
}
