package record

import (
	"math/rand/v2"
	"regexp"
	"testing"

	"github.com/sotto-llm/sotto"
)

// The parts of a text are the text as it was, without gap, and what was recorded.
func TestParts(t *testing.T) {
	g := guard{levels: [2]Level{Redacted, Off}, patterns: []*regexp.Regexp{regexp.MustCompile("b+")}, secrets: NewSecrets("secret").needles()}
	r := rand.New(rand.NewPCG(3, 4))
	for range 2000 {
		var text string
		for range r.IntN(12) {
			text += []string{"<think>", "</think>", "a", "bb", "secret", "ü"}[r.IntN(6)]
		}
		c := g.reply(Reply{Raw: Say(text), Start: sotto.BeginOutside}).Raw
		at, recorded := 0, ""
		for _, p := range c.Parts() {
			if p.Start != at || p.End <= p.Start || p.Why == "" && p.Text != text[p.Start:p.End] {
				t.Fatalf("%q: part %+v at %d", text, p, at)
			}
			at, recorded = p.End, recorded+p.Text
		}
		if at != len(text) || c.Len() != len(text) || recorded != string(c.Text) {
			t.Fatalf("%q: parts up to %d, %q; want %q", text, at, recorded, c.Text)
		}
	}
	for _, c := range []Content{{Text: "abc", Cuts: []Cut{{Start: 2, End: 1}}}, {Text: "abc", Cuts: []Cut{{Start: 9, End: 12}}}, {Text: "abc", Cuts: []Cut{{Start: 1, End: 2, Now: 9}}}} {
		for _, p := range c.Parts() {
			if p.Start > p.End {
				t.Errorf("%+v of %+v", p, c)
			}
		}
	}
}
