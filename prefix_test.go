package sotto_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/dialect"
	"github.com/sotto-llm/sotto/internal/base/effort"
)

// prefixGrammars are grammars that hold for every reason there is. In none of them does one
// marker begin another: such a marker waits for the longer one only if no byte of it was
// given as text before.
func prefixGrammars() map[string]*sotto.Grammar {
	k := dialect.Marker{Role: dialect.RoleReasoning, Tag: "k"}
	grammars := map[string]*sotto.Grammar{
		"default": sotto.Default(),
		"tools": sotto.MustCompile(dialect.Dialect{Name: "tools", AfterTool: dialect.RoleReasoning, Markers: []dialect.Marker{
			k, {Role: dialect.RoleReasoning, Tag: "j", Family: "k"}, {Role: dialect.RoleTool, Tag: "t"},
			{Role: dialect.RoleTool, Special: true, Open: []string{"<|c|>"}, Close: []string{"<|/c|>\n"}},
		}}),
		"lines": sotto.MustCompile(dialect.Dialect{Name: "lines", Output: dialect.PlacementAnywhere, Markers: []dialect.Marker{
			k, {Role: dialect.RoleReasoning, Open: []string{"k\nk:"}, Close: []string{"\n/k:"}}, {Role: dialect.RoleOutput, Tag: "o"},
			{Role: dialect.RoleNarration, Tag: "n"}, {Role: dialect.RoleReasoning, Tag: "p", Rescue: true},
		}}),
	}
	for _, name := range []string{"output", "harmony", "granite", "magistral", "gemma4", "kimi_k3"} {
		grammars[name] = mustNamed(name)
	}
	return grammars
}

// piecesOf copies pieces, which are valid until the next call.
func piecesOf(pieces []sotto.Piece) []sotto.Piece {
	list := slices.Clone(pieces)
	for i := range list {
		list[i].Bytes = slices.Clone(list[i].Bytes)
	}
	return list
}

// readingOf writes the segments of a reply and what was found in it.
func readingOf(pieces []sotto.Piece, s *sotto.Splitter) string {
	var b strings.Builder
	last := -1
	for _, p := range pieces {
		if p.Segment != last {
			last = p.Segment
			fmt.Fprintf(&b, " %d %s/%d:", p.Offset, p.Channel, p.Block)
		}
		b.Write(p.Bytes)
	}
	return fmt.Sprint(b.String(), s.Diagnostics())
}

// TestCutsDelayNothing: what is held after a beginning of a reply depends on its bytes
// alone (law 3), not on the deltas in which it came. So does the whole reading (law 2).
func TestCutsDelayNothing(t *testing.T) {
	for name, g := range prefixGrammars() {
		t.Run(name, func(t *testing.T) {
			tokens := append(replyTokens(g.Dialect()), "`", "`", "\n", "x", "\"", "{", "</think>", "<think>")
			rnd := rand.New(rand.NewPCG(21, 22))
			for i := range 100 * effort.Times() {
				raw := randomReply(rnd, tokens)
				o := sotto.Options{Start: []sotto.Beginning{sotto.BeginOutside, sotto.BeginAuto}[i%2], MaxHold: []int{-1, 1}[i/2%2]}
				held := make([]int, len(raw)+1)
				s, err := g.NewSplitter(o)
				if err != nil {
					t.Fatal(err)
				}
				var bytewise []sotto.Piece
				for n := range len(raw) {
					bytewise = append(bytewise, piecesOf(s.FeedString(raw[n:n+1]))...)
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
				end := sotto.Ending(i % 4)
				whole, err := g.NewSplitter(o)
				if err != nil {
					t.Fatal(err)
				}
				bytewise = append(bytewise, s.Close(end)...)
				if got, want := readingOf(bytewise, s), readingOf(append(piecesOf(whole.FeedString(raw)), whole.Close(end)...), whole); got != want {
					t.Fatalf("%+v, %s: %q:\n%s, and byte by byte\n%s", o, end, raw, want, got)
				}
			}
		})
	}
}

// TestHeldAfter: what is held is not more than is in doubt, where the random replies above
// seldom come.
func TestHeldAfter(t *testing.T) {
	grammars := prefixGrammars()
	for _, c := range []struct {
		grammar, delta string
		held           int
	}{
		{"default", "\xef\xbb", 2}, // it may become a byte order mark
		{"default", "\xef\xbb\xbf", 0},
		{"tools", "x <k><t>{<t>", 0}, // the first call settles the opener before it
		{"tools", "x <k>y", len("<k>y")},
	} {
		s, err := grammars[c.grammar].NewSplitter(sotto.Options{Start: sotto.BeginOutside})
		if err != nil {
			t.Fatal(err)
		}
		s.FeedString(c.delta)
		if got := s.Held(); got != c.held {
			t.Errorf("%s: %d bytes are held after %q, want %d", c.grammar, got, c.delta, c.held)
		}
	}
}

// TestByteOrderMark: at the reply's start it is white space, in whatever deltas it comes, so
// that an output block may follow. Elsewhere it is text.
func TestByteOrderMark(t *testing.T) {
	const mark, output = "\xef\xbb\xbf", "<output>a</output>"
	for before, want := range map[string]string{
		mark: "a", mark + mark: mark + mark + output, "<think>x</think>" + mark: mark + output, "\n" + mark: "\n" + mark + output,
	} {
		raw := before + output
		for cut := range len(raw) {
			s, err := sotto.Default().NewSplitter(sotto.Options{})
			if err != nil {
				t.Fatal(err)
			}
			got := visibleOf(s.FeedString(raw[:cut])) + visibleOf(s.FeedString(raw[cut:])) + visibleOf(s.Close(sotto.EndStopped))
			if got != want {
				t.Errorf("%q cut at %d: %q, want %q", raw, cut, got, want)
			}
		}
	}
}

// TestCloseGivesTheRest: of a reply that was given whole Close gives nothing.
func TestCloseGivesTheRest(t *testing.T) {
	for raw, rest := range map[string]int{"": 0, "a": 0, "<think>a</think>b": 0, "<think>a": 0, "a<": 1, "<output>a</output> ": 0} {
		s, err := sotto.Default().NewSplitter(sotto.Options{})
		if err != nil {
			t.Fatal(err)
		}
		s.FeedString(raw)
		if got := s.Close(sotto.EndStopped); len(got) != rest {
			t.Errorf("%q: %v", raw, got)
		}
	}
}

// TestAsideIsNotSpliced: text that is set aside shows no marker, from its first byte on.
func TestAsideIsNotSpliced(t *testing.T) {
	g := prefixGrammars()["lines"]
	for raw, want := range map[string]int{"<<k></k>k>y": 1, "<<k></k>k>y<o>z</o>": 0, "x<<k></k>k>y<o>z</o>": 0} {
		r, err := g.Parse(raw, sotto.BeginOutside, sotto.EndStopped)
		if err != nil {
			t.Fatal(err)
		}
		if got := r.Counts[sotto.CodeSplicedMarker]; got != want {
			t.Errorf("%q: %d spliced markers, want %d", raw, got, want)
		}
	}
}
