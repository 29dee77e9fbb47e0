package view

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/internal/base/holdreason"
)

// replies are made of what markers are made of, of several dialects.
func replies(n int) []string {
	parts := []string{"<", ">", "</", "think", "output", "`", "```", "\n", "\n\n", " ", "a", "é", "\"", "{", "<think>", "</think>", "<output>", "</output>", "<narrate>", "</narrate>", "<|channel|>analysis<|message|>", "<|end|>"}
	r := rand.New(rand.NewPCG(7, 7))
	var list []string
	for range n {
		var b strings.Builder
		for range 1 + r.IntN(14) {
			b.WriteString(parts[r.IntN(len(parts))])
		}
		list = append(list, b.String())
	}
	return list
}

// certain returns the end of what is certain of spans once n bytes have come.
func certain(spans []PlaySpan, n int) (to int) {
	for _, s := range spans {
		switch {
		case s.At > n:
		case s.Each:
			to = min(s.To, s.From+n-s.At+1)
		default:
			to = s.To
		}
	}
	return to
}

// At every cut, the playground shows what a splitter has given that read the reply
// up to there at once, and says why exactly if bytes wait.
func TestPlayShowsWhatIsCertain(t *testing.T) {
	for _, name := range []string{"default", "output", "qwen3", "harmony"} {
		g, err := sotto.Named(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, text := range replies(100) {
			for _, start := range []sotto.Beginning{"", sotto.BeginAuto} {
				p, err := PlayReply(g, text, start, sotto.EndStopped)
				if err != nil {
					t.Fatal(err)
				}
				var spans []PlaySpan
				for i, x := range p.Pieces {
					if spans = append(spans, x.PlaySpan); i > 0 && x.From != p.Pieces[i-1].To {
						t.Fatalf("%s %q: piece %d begins at %d", name, text, i, x.From)
					}
				}
				if end := certain(spans, len(text)+1); end != len(text) || certain(p.Shown, len(text)+1) != len(p.Reply.Answer.Text) {
					t.Fatalf("%s %q: the pieces end at %d", name, text, end)
				}
				for n := 1; n <= len(text); n++ {
					s, _ := g.NewSplitter(sotto.Options{Start: start})
					given, shown := 0, 0
					for _, x := range s.FeedString(text[:n]) {
						given, shown = given+len(x.Bytes), shown+len(x.Visible)
					}
					if got := certain(spans, n); got != given || certain(p.Shown, n) != shown {
						t.Fatalf("%s %q at %d: %d bytes are certain and %d visible, want %d and %d", name, text, n, got, certain(p.Shown, n), given, shown)
					}
					why := holdreason.Reason("")
					for _, h := range p.Holds {
						if h.From <= n && n <= h.To {
							if why != "" || h.At != given {
								t.Fatalf("%s %q at %d: %+v, and %d bytes are given", name, text, n, h, given)
							}
							why = h.Why
						}
					}
					if (why == "") != (given == n) {
						t.Fatalf("%s %q at %d: %q, and %d bytes are given", name, text, n, why, given)
					}
				}
			}
		}
	}
}

// The reason says what the bytes wait for: what decides it ends the wait.
func TestPlayReasons(t *testing.T) {
	for _, c := range []struct {
		dialect string
		start   sotto.Beginning
		text    string // the last byte waits
		why     holdreason.Reason
		next    string // what ends the wait
	}{
		{"default", "", "a <thi", holdreason.Marker, "s"},
		{"default", "", "<think>a\n</thinking>", holdreason.Line, "\n"},
		{"default", "", "<think>a\n</thinking>  ", holdreason.Line, "\n"},
		{"default", "", "<think>a </thinking> b", holdreason.Family, "</think>"},
		{"default", "", "<think>a<think>b</think>", holdreason.Family, "</think>"},
		{"default", "", "b \"<think>", holdreason.Quote, "\""},
		{"default", "", "say <think>a", holdreason.Opener, "</think>"},
		{"default", "", "say `<think> ", holdreason.Code, "` x"},
		{"default", "", "```\n<think>", holdreason.Code, "\n```\n"},
		{"default", "", "<narrate>a\n", holdreason.Blank, "\n"},
		{"qwen3", sotto.BeginAuto, "They ask", holdreason.Start, "\n</think>\n"},
		{"output", "", "Let me see. ", holdreason.Output, "<output>b"},
		{"default", "", "<scratchpad><output>b</output>", holdreason.Pad, "</scratchpad>c"},
		{"qwen3", "", "<think>a<tool_call> ", holdreason.Tool, "{"},
		{"default", "", "<think>a</think>b</think> ", holdreason.Stray, "c"},
	} {
		g, err := sotto.Named(c.dialect)
		if err != nil {
			t.Fatal(err)
		}
		p, err := PlayReply(g, c.text+c.next, c.start, sotto.EndStopped)
		if err != nil {
			t.Fatal(err)
		}
		var at, after *Hold
		for i, h := range p.Holds {
			if h.From <= len(c.text) && len(c.text) <= h.To {
				at = &p.Holds[i]
			}
			if h.From <= p.Total && p.Total <= h.To {
				after = &p.Holds[i]
			}
		}
		if at == nil || at.Why != c.why || after != nil && after.At == at.At {
			t.Errorf("%q: waits for %+v, want %s; after %q, %+v", c.text, at, c.why, c.next, after)
		}
	}
}

// A reply that is longer than the playground reads is refused, and one of full length
// that waits all the time costs a bounded answer.
func TestPlayIsBounded(t *testing.T) {
	if _, err := PlayReply(sotto.Default(), strings.Repeat("a", MaxPlay+1), "", sotto.EndStopped); err == nil {
		t.Error("a reply that is too long was read")
	}
	p, err := PlayReply(sotto.Default(), strings.Repeat("a", MaxPlay), "", sotto.EndStopped)
	if err != nil || len(p.Pieces) > 8 || len(p.Holds) > 8 {
		t.Errorf("%v, %d pieces and %d holds", err, len(p.Pieces), len(p.Holds))
	}
	for _, text := range []string{"<a", "<think></think>", "<think>a\n</thinking>", "`<think>"} {
		if _, err := PlayReply(sotto.Default(), strings.Repeat(text, MaxPlay/len(text)), "", sotto.EndStopped); err != nil {
			t.Error(err)
		}
	}
}
