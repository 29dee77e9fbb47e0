package sotto_test

import (
	"testing"

	"github.com/sotto-llm/sotto"
)

// TestAssume: a reply in which no marker shows where it began is all reasoning or all text as
// the caller says before the end, at every cut and whatever ended it. One that shows it is
// read as without.
func TestAssume(t *testing.T) {
	g, ok := sotto.ForModel("deepseek-r1")
	if !ok {
		t.Fatal("no dialect")
	}
	for raw, settled := range map[string]bool{
		"It is 4.": false, " \n": false, "": false, "a `</think>` b": false,
		"I add.</think>It is 4.": true, "<think>I add.</think>It is 4.": true, "<think>I add": true,
	} {
		for _, end := range []sotto.Ending{sotto.EndStopped, sotto.EndCut, sotto.EndAborted} {
			for i := range 2 * (len(raw) + 1) {
				cut, assumed := i/2, []sotto.Beginning{sotto.BeginInsideFirst, sotto.BeginOutside}[i%2]
				s, err := g.NewSplitter(sotto.Options{Start: sotto.BeginAuto})
				if err != nil {
					t.Fatal(err)
				}
				var visible, reasoning []byte
				take := func(pieces []sotto.Piece) {
					for _, p := range pieces {
						visible = append(visible, p.Visible...)
						if p.Channel == sotto.ChannelReasoning {
							reasoning = append(reasoning, p.Bytes...)
						}
					}
				}
				take(s.FeedString(raw[:cut]))
				take(s.FeedString(raw[cut:]))
				s.Assume(assumed)
				take(s.Close(end))
				start := sotto.BeginAuto
				if !settled && raw != "" {
					start = assumed
				}
				want, err := g.Parse(raw, start, end)
				if err != nil || string(visible) != want.Visible() || string(reasoning) != want.RawOf(sotto.ChannelReasoning) {
					t.Errorf("%q cut at %d, %s, %s: %q and %q, want %q and %q, %v", raw, cut, end, assumed, visible, reasoning, want.Visible(), want.RawOf(sotto.ChannelReasoning), err)
				}
			}
		}
	}
}
