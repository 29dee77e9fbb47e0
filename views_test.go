package sotto_test

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"unsafe"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/dialect"
	"github.com/sotto-llm/sotto/internal/base/effort"
	"github.com/sotto-llm/sotto/internal/base/testhook"
)

// viewGrammars are grammars whose views differ: with output bodies that lead and that
// stand anywhere, and channel grammars with text, tools and narration.
func viewGrammars(t *testing.T) map[string]*sotto.Grammar {
	t.Helper()
	between := &dialect.Header{
		Begin: []string{"<|s|>"}, Body: []string{"<|m|>"}, End: []string{"<|e|>"}, Name: []string{"<|s|>"}, Between: dialect.RoleText,
		Channels: map[string]dialect.Role{"r": dialect.RoleReasoning, "t": dialect.RoleText, "n": dialect.RoleNarration, "c": dialect.RoleTool},
	}
	tagged := dialect.Dialect{Header: between, Markers: []dialect.Marker{{Role: dialect.RoleReasoning, Tag: "k"}, {Role: dialect.RoleOutput, Tag: "o"}}}
	grammars := map[string]*sotto.Grammar{"default": sotto.Default(), "header and output": sotto.MustCompile(tagged)}
	for _, name := range []string{"output", "harmony"} {
		g, err := sotto.Named(name)
		if err != nil {
			t.Fatal(err)
		}
		grammars[name] = g
	}
	return grammars
}

// randomReply joins up to 12 tokens.
func randomReply(rnd *rand.Rand, tokens []string) string {
	var b strings.Builder
	for range 1 + rnd.IntN(12) {
		b.WriteString(tokens[rnd.IntN(len(tokens))])
	}
	return b.String()
}

// textAt returns the text at spans of a reply. It fails unless the spans ascend and
// are as long as they can be.
func textAt(t *testing.T, raw string, spans []sotto.Span) string {
	t.Helper()
	var b strings.Builder
	last := -1
	for i, sp := range spans {
		switch {
		case sp.Start < 0:
			b.WriteString("\n\n")
			if i == 0 || i == len(spans)-1 || spans[i-1].Start < 0 {
				t.Errorf("%q: a blank line in %v", raw, spans)
			}
			continue
		case sp.End <= sp.Start || sp.Start < last || sp.Start == last && spans[i-1].Start >= 0 || sp.End > len(raw):
			t.Errorf("%q: the spans are %v", raw, spans)
			return ""
		}
		last = sp.End
		b.WriteString(raw[sp.Start:sp.End])
	}
	return b.String()
}

// A view is the same text however it is made: from a stream, from a whole reply, and
// from the places of its bytes, with the same channels in it.
func TestViewsAgree(t *testing.T) {
	for name, g := range viewGrammars(t) {
		t.Run(name, func(t *testing.T) {
			tokens := append(replyTokens(g.Dialect()), "\n", "\n\n", " ", "a", "b", "a <thx b")
			rnd := rand.New(rand.NewPCG(11, 12))
			for range 2000 * effort.Times() {
				raw := randomReply(rnd, tokens)
				r, err := g.Parse(raw, sotto.BeginOutside, sotto.EndStopped)
				if err != nil {
					t.Fatal(err)
				}
				for _, inline := range [][]sotto.Channel{nil, {sotto.ChannelNarration}, {sotto.ChannelTool}, {sotto.ChannelTool, sotto.ChannelNarration, sotto.ChannelReasoning}} {
					s, err := g.NewSplitter(sotto.Options{Start: sotto.BeginOutside, Inline: slices.DeleteFunc(slices.Clone(inline), isReasoning), MaxHold: -1})
					if err != nil {
						t.Fatal(err)
					}
					cut := rnd.IntN(len(raw) + 1)
					got := visibleOf(s.FeedString(raw[:cut])) + visibleOf(s.FeedString(raw[cut:])) + visibleOf(s.Close(sotto.EndStopped))
					if want := r.VisibleWith(inline...); got != want {
						t.Fatalf("%q cut at %d with %v: a stream shows %q, the reply %q", raw, cut, inline, got, want)
					}
				}
				if got := textAt(t, raw, r.VisibleSpans(nil)); got != r.Visible() {
					t.Fatalf("%q: the spans are of %q, the text is %q", raw, got, r.Visible())
				}
				// With narration kept, the spans give the text with narration in it.
				narrated := textAt(t, raw, r.VisibleSpans(func(sg sotto.Segment) bool { return sg.Channel == sotto.ChannelNarration }))
				if want := r.VisibleWith(sotto.ChannelNarration); g.Dialect().Header == nil && narrated != want {
					t.Fatalf("%q: the spans with narration are of %q, the text is %q", raw, narrated, want)
				}
			}
		})
	}
}

func isReasoning(c sotto.Channel) bool { return c == sotto.ChannelReasoning }

// If all of a reply is kept, its place is one span.
func TestAllKeptIsOneSpan(t *testing.T) {
	keep := func(sotto.Segment) bool { return true }
	for _, raw := range []string{"a<think>b</think>c", "<think>b</think>\n<think>\nc</think> d\n", " <narrate>b</narrate> ", "a</think>b<think> "} {
		if got := sotto.Parse(raw, sotto.EndStopped).VisibleSpans(keep); !slices.Equal(got, []sotto.Span{{Start: 0, End: len(raw)}}) {
			t.Errorf("%q: %v", raw, got)
		}
	}
}

// A blank line separates the bodies of a channel grammar, and nothing else.
func TestBlankLinesBetweenBodies(t *testing.T) {
	g := viewGrammars(t)["header and output"]
	for raw, want := range map[string]string{
		"<|s|>t<|m|>a<|e|><|s|>t<|m|> b<|e|>": "a\n\nb",
		"<|s|>t<|m|>a<|e|>b":                  "ab", // text between bodies
		"<|s|>t<|m|>a<|e|>b<|s|>t<|m|>c":      "ab\n\nc",
		"<|s|>t<|m|>a<|e|><|s|>c<|m|>t<|e|><|s|>n<|m|>n":// tool markup stays whole
		"a<|s|>c<|m|>t<|e|>\n\nn",
		"<|s|>t<|m|>a<|e|><|s|>c<|m|>t<|e|>b":                  "a<|s|>c<|m|>t<|e|>b",
		"<|s|>t<|m|> <|e|><|s|>t<|m|>a<|e|><|s|>t<|m|> ":       "a",
		"<|s|>t<|m|>a<|e|><|s|>r<|m|>r<|e|><|s|>t<|m|>b":       "a\n\nb",
		"<|s|>t<|m|>a<|e|><|s|>t<|m|>\n<|e|><|s|>t<|m|>\n\nb ": "a\n\nb ",
	} {
		r, err := g.Parse(raw, sotto.BeginOutside, sotto.EndStopped)
		if err != nil {
			t.Fatal(err)
		}
		if got := r.VisibleWith(sotto.ChannelNarration, sotto.ChannelTool); got != want {
			t.Errorf("%q: %q, want %q", raw, got, want)
		}
	}
}

// Text that is visible where it stands is not copied: the visible bytes of a piece are
// the bytes of the piece.
func TestVisibleTextIsShared(t *testing.T) {
	for _, raw := range []string{"plain", "a <thx b", "a <thx b <thy c", "<output>a<thxb", "<think>x</think>a <thx b", "a\n\n<thinx>b `c` <th",
		"a `<think>` b", "<output>a `<think>` b"} {
		for _, size := range []int{1, 3, len(raw)} {
			s, err := sotto.Default().NewSplitter(sotto.Options{})
			if err != nil {
				t.Fatal(err)
			}
			for part := range slices.Chunk([]byte(raw), size) {
				for _, p := range s.Feed(part) {
					if len(p.Visible) == len(p.Bytes) && unsafe.SliceData(p.Visible) != unsafe.SliceData(p.Bytes) {
						t.Errorf("%q in deltas of %d: %q is copied", raw, size, p.Bytes)
					}
				}
			}
		}
	}
}

// Text outside is looked at once; the same text in a body, or before anything is shown,
// at most four times (law 5).
func TestTextOutsideIsLookedAtOnce(t *testing.T) {
	const n = 1000
	for _, before := range []string{"a", "<think>x</think>a", "a<think>x</think>b"} {
		s, err := sotto.Default().NewSplitter(sotto.Options{})
		if err != nil {
			t.Fatal(err)
		}
		s.FeedString(before)
		s.FeedString("b")
		from := testhook.Looks(s)
		for range n {
			s.FeedString("word ")
		}
		s.FeedString("<")
		if looks := testhook.Looks(s) - from; looks > len("word ")*n+100 {
			t.Errorf("%q: %d looks at %d bytes", before, looks, len("word ")*n)
		}
	}
}

// What a call copied is forgotten with the next call.
func TestCopiesAreForgotten(t *testing.T) {
	s, err := sotto.Default().NewSplitter(sotto.Options{})
	if err != nil {
		t.Fatal(err)
	}
	s.FeedString("<output>a")
	feed := func() {
		for range 1 << 10 { // the space waits in the view: it is copied, with the letter after it
			s.FeedString(" ")
			s.FeedString("a")
		}
	}
	feed()
	if n := fewestAllocs(func() {
		for range 64 {
			feed()
		}
	}); n > 0 {
		t.Errorf("%v allocations", n)
	}
}
