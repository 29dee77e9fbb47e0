package sotto_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/dialect"
	"github.com/sotto-llm/sotto/internal/base/effort"
)

// A splitter that was reset reads as a new one: after a whole reply, in the middle of
// one, and reset twice. A second Close gives nothing.
func TestResetReadsAfresh(t *testing.T) {
	for _, name := range []string{"default", "output", "harmony", "granite", "inkling", "ollama_cli"} {
		g, err := sotto.Named(name)
		if err != nil {
			t.Fatal(err)
		}
		tokens := replyTokens(g.Dialect())
		for _, o := range []sotto.Options{
			{}, {Start: sotto.BeginAuto}, {MaxHold: 1}, {Start: sotto.BeginAuto, MaxHold: 1},
			{Inline: []sotto.Channel{sotto.ChannelNarration, sotto.ChannelTool}},
		} {
			rnd := rand.New(rand.NewPCG(3, 4))
			used, err := g.NewSplitter(o)
			if err != nil {
				t.Fatal(err)
			}
			for range 150 * effort.Times() {
				var deltas []string
				for range 1 + rnd.IntN(12) {
					tok := tokens[rnd.IntN(len(tokens))]
					cut := rnd.IntN(len(tok) + 1)
					deltas = append(deltas, tok[:cut], tok[cut:])
				}
				whole := rnd.IntN(3) > 0
				if !whole {
					deltas = deltas[:rnd.IntN(len(deltas))]
				}
				end := sotto.Ending(rnd.IntN(4))
				fresh, err := g.NewSplitter(o)
				if err != nil {
					t.Fatal(err)
				}
				if a, b := played(fresh, deltas, whole, end), played(used, deltas, whole, end); a != b {
					t.Fatalf("%s %+v %q\nnew   %s\nreset %s", name, o, deltas, a, b)
				}
				used.Reset()
				if rnd.IntN(5) == 0 {
					used.Reset()
				}
			}
		}
	}
}

// What a splitter saw ahead in the code of one reply is not read in the next.
func TestResetForgetsCode(t *testing.T) {
	for _, replies := range [][2]string{
		{"x `a<think>b`", "`<think>a</think>b"},
		{"```\n<think>a</think>\n```\nb", "```\n<think>a\n"},
		{"~~~\n<think>\n~~~\n", "````\n<think>a</think>\n````\n~~~\n"}, // closes of both kinds, the shorter later
	} {
		var used sotto.Splitter
		for _, raw := range replies {
			var fresh sotto.Splitter
			if a, b := played(&fresh, []string{raw}, true, sotto.EndStopped), played(&used, []string{raw}, true, sotto.EndStopped); a != b {
				t.Errorf("%q of %q\nnew   %s\nreset %s", raw, replies, a, b)
			}
			used.Reset()
		}
	}
}

// What was seen ahead in a reply says nothing about the next one that begins alike.
func TestResetForgetsWhatWasAhead(t *testing.T) {
	replies := []string{
		"` <think> ` a\n", "` <think>b</think>c\n", "` <think> b\n` d", "```\n<think>a</think>\n```\nb", "```\n<think>a</think>\nb", "```\n<think>a</think>\n~~~\nb",
		"~~~\n<think>a</think>\n~~~\nb", "~~~\n<think>a</think>\nbcd",
	}
	for _, first := range replies {
		for _, second := range replies {
			used, err := sotto.Default().NewSplitter(sotto.Options{})
			if err != nil {
				t.Fatal(err)
			}
			fresh, err := sotto.Default().NewSplitter(sotto.Options{})
			if err != nil {
				t.Fatal(err)
			}
			played(used, []string{first}, true, sotto.EndStopped)
			used.Reset()
			if a, b := played(fresh, []string{second}, true, sotto.EndStopped), played(used, []string{second}, true, sotto.EndStopped); a != b {
				t.Errorf("%q after %q\nnew   %s\nreset %s", second, first, a, b)
			}
		}
	}
}

// replyTokens are the dialect's markers, and what disturbs their reading.
func replyTokens(d dialect.Dialect) []string {
	tokens := []string{"`", "```\n", "\n", " ", "x", "<thi", "\"", "<think a=\"", "</thought>", "\xef\xbb\xbf", "\x00", "\xff"}
	for _, m := range d.Markers {
		if m.Tag != "" {
			tokens = append(tokens, "<"+m.Tag+">", "</"+m.Tag+">")
		}
		tokens = append(append(tokens, m.Open...), m.Close...)
	}
	if h := d.Header; h != nil {
		tokens = append(append(append(tokens, h.Begin...), h.Body...), h.End...)
		tokens = append(tokens, "analysis", "final", "commentary to=f")
	}
	return tokens
}

// played returns what a splitter gives for a reply. A whole reply is closed, closed
// again and fed again.
func played(s *sotto.Splitter, deltas []string, whole bool, end sotto.Ending) string {
	var b strings.Builder
	take := func(pieces []sotto.Piece) {
		for _, p := range pieces {
			fmt.Fprintf(&b, "%s/%t/%d/%d/%d%q%q ", p.Channel, p.Output, p.Block, p.Segment, p.Offset, p.Bytes, p.Visible)
		}
		b.WriteByte(';')
	}
	for _, delta := range deltas {
		take(s.FeedString(delta))
	}
	if whole {
		take(s.Close(end))
		fmt.Fprint(&b, s.Diagnostics(), s.Counts(), s.Held())
		take(s.Close(end))
	}
	return b.String()
}

// Many goroutines may use one Grammar at once. The race detector watches this test.
func TestGrammarIsShared(t *testing.T) {
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for i := range 50 {
				g, want := sotto.Default(), strings.Repeat("b", 1+i%5)
				raw := strings.ReplaceAll(want, "b", "<think>a</think>b")
				if r, err := g.Parse(raw, sotto.BeginAuto, sotto.EndStopped); err != nil || r.Visible() != want {
					t.Errorf("Parse: %v, visible %q", err, r.Visible())
				}
				if got, err := g.Strip(raw, sotto.BeginAuto); err != nil || got != want {
					t.Errorf("Strip: %v, %q", err, got)
				}
				s, err := g.NewSplitter(sotto.Options{})
				if err != nil {
					t.Error(err)
					return
				}
				visible := ""
				for k := range raw {
					for _, p := range s.FeedString(raw[k : k+1]) {
						visible += string(p.Visible)
					}
				}
				for _, p := range s.Close(sotto.EndStopped) {
					visible += string(p.Visible)
				}
				if visible != want {
					t.Errorf("stream: %q, want %q", visible, want)
				}
				sotto.ForModel("qwen3")
			}
		})
	}
	wg.Wait()
}
