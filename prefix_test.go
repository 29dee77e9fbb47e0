package sotto_test

import (
	"math/rand/v2"
	"testing"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/internal/effort"
)

// prefixGrammars are grammars that hold for every reason there is. In none of them does one
// marker begin another: such a marker waits for the longer one only if no byte of it was
// given as text before.
func prefixGrammars() map[string]*sotto.Grammar {
	k := sotto.Marker{Role: sotto.RoleReasoning, Tag: "k"}
	grammars := map[string]*sotto.Grammar{
		"default": sotto.Default(),
		"tools": sotto.MustCompile(sotto.Dialect{Name: "tools", AfterTool: sotto.ChannelReasoning, Markers: []sotto.Marker{
			k, {Role: sotto.RoleReasoning, Tag: "j", Family: "k"}, {Role: sotto.RoleTool, Tag: "t"},
			{Role: sotto.RoleTool, Special: true, Open: []string{"<|c|>"}, Close: []string{"<|/c|>\n"}},
		}}),
		"lines": sotto.MustCompile(sotto.Dialect{Name: "lines", Output: sotto.OutputAnywhere, Markers: []sotto.Marker{
			k, {Role: sotto.RoleReasoning, Open: []string{"k\nk:"}, Close: []string{"\n/k:"}}, {Role: sotto.RoleOutput, Tag: "o"},
			{Role: sotto.RoleNarration, Tag: "n"}, {Role: sotto.RoleReasoning, Tag: "p", Rescue: true},
		}}),
	}
	for _, name := range []string{"output", "harmony", "granite", "magistral", "gemma4", "kimi_k3"} {
		grammars[name] = mustNamed(name)
	}
	return grammars
}

// TestCutsDelayNothing: what is held after a beginning of a reply depends on its bytes
// alone (law 3), not on the deltas in which it came.
func TestCutsDelayNothing(t *testing.T) {
	for name, g := range prefixGrammars() {
		t.Run(name, func(t *testing.T) {
			tokens := append(replyTokens(g.Dialect()), "`", "`", "\n", "x", "\"", "{", "</think>", "<think>")
			rnd := rand.New(rand.NewPCG(21, 22))
			for i := range 100 * effort.Times() {
				raw := randomReply(rnd, tokens)
				o := sotto.Options{Start: []sotto.Start{sotto.StartOutside, sotto.StartAuto}[i%2], MaxHold: []int{-1, 1}[i/2%2]}
				held := make([]int, len(raw)+1)
				s, err := g.NewSplitter(o)
				if err != nil {
					t.Fatal(err)
				}
				for n := range len(raw) {
					s.FeedString(raw[n : n+1])
					held[n+1] = s.Held()
				}
				for n := range len(raw) {
					whole, err := g.NewSplitter(o)
					if err != nil {
						t.Fatal(err)
					}
					whole.FeedString(raw[:n+1])
					if got := whole.Held(); got != held[n+1] {
						t.Fatalf("%+v: %q: %d bytes are held, and %d if it comes byte by byte", o, raw[:n+1], got, held[n+1])
					}
				}
			}
		})
	}
}
