package leak_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/internal/data/jsontext"
	"github.com/sotto-llm/sotto/internal/reply/leak"
)

// TestCleanIsPlain: a reply in a record that cannot hold a leak is visible as it is in the
// default dialect, so that nothing has to read it.
func TestCleanIsPlain(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	parts := []string{
		"<", "<", "</", "< ", "<\t", "/", "/ ", "think", "Think", "narrate", "output", "scratch_pad", "thi", "nk", ">", ">", " >", "/>", "\v>", "\f>", "\n>", " a='b'>", "\r",
		" ", "\n", "a", "`", "```\n", "\"", "\\", "</think>", "&", "\ufeff", "  ",
	}
	clean, changed := 0, 0
	for range 20_000 {
		text := ""
		for range 1 + rng.IntN(7) {
			text += parts[rng.IntN(len(parts))]
		}
		isClean := !leak.Shipped().MayLeak(append(jsontext.AppendString([]byte(`{"raw":`), text), '}'))
		if isClean {
			clean++
		}
		for _, start := range []sotto.Beginning{sotto.BeginAuto, sotto.BeginOutside} {
			for _, end := range []sotto.Ending{sotto.EndUnknown, sotto.EndStopped} {
				reply, err := sotto.Default().Parse(text, start, end)
				if err != nil {
					t.Fatal(err)
				}
				late := slices.ContainsFunc(reply.Diagnostics, func(d sotto.Diagnostic) bool { return d.Reason == sotto.ReasonLateOutput })
				if reply.Visible() == text && !late {
					continue
				}
				if changed++; isClean {
					t.Fatalf("%q from %s to %s is clean, but %q is visible, with %v", text, start, end, reply.Visible(), reply.Diagnostics)
				}
			}
		}
	}
	if clean < 4000 || changed < 4000 {
		t.Errorf("%d texts are clean, %d readings changed", clean, changed)
	}
}
