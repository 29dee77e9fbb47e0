package sotto_test

import (
	"testing"

	"github.com/sotto-llm/sotto"
)

// An opener behind the first ink of a block is text where nothing nests, however
// the reply is cut.
func TestOpenerWhereNothingNests(t *testing.T) {
	off := false
	d := sotto.Default().Dialect()
	d.Name, d.Nest = "flat", &off
	g, err := sotto.Compile(d)
	if err != nil {
		t.Fatal(err)
	}
	const raw = "<scratchpad>><scratchpad>a"
	whole, err := g.Parse(raw, sotto.StartOutside, sotto.EndStopped)
	if err != nil {
		t.Fatal(err)
	}
	s, err := g.NewSplitter(sotto.Options{Start: sotto.StartOutside})
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
	if got := whole.Reasoning(); len(got) != 1 || got[0] != "><scratchpad>a" || thought != got[0] {
		t.Errorf("whole %q, byte by byte %q", got, thought)
	}
}
