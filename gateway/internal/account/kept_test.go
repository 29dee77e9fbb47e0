package account

import (
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/sotto-llm/sotto/record"
)

// A told text is one of a reply as it came, with its runs.
type told struct {
	kept     Kept
	whole    string
	runs     []record.Span
	thoughts []bool // of each run
}

func (x *told) of() Runs {
	r := Runs{Kept: &x.kept}
	for i, run := range x.runs {
		if x.thoughts[i] {
			r.Thoughts = append(r.Thoughts, run)
		} else {
			r.Others = append(r.Others, run)
		}
	}
	return r
}

// left returns what is recorded of a run, in order.
func left(c record.Content, run record.Span) (text string, gone int) {
	for _, p := range c.Parts() {
		if from, to := max(p.Start, run.Start), min(p.End, run.End); from < to && p.Why == "" {
			text += p.Text[from-p.Start : to-p.Start]
		} else if from < to {
			gone += to - from
		}
	}
	return text, gone
}

// TestFit: texts that are more than there is room for are kept within it. What is left out
// is marked, and lies in the middle of a thought for as long as the other texts fit; no
// character is divided.
func TestFit(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		limit := rapid.IntRange(600, 4000).Draw(t, "limit")
		room := Room{Left: limit}
		texts := make([]told, rapid.IntRange(1, 2).Draw(t, "texts"))
		others := 0
		for range rapid.IntRange(1, 40).Draw(t, "pieces") {
			x := &texts[rapid.IntRange(0, len(texts)-1).Draw(t, "text")]
			piece := strings.Repeat(rapid.SampledFrom([]string{"a", "b", "é", "世", "𝕏"}).Draw(t, "letter"), rapid.IntRange(1, 200).Draw(t, "letters"))
			thought := rapid.Bool().Draw(t, "thought")
			if last := len(x.runs) - 1; last == 5 { // so that the least of each fits
				thought = x.thoughts[last]
			} else if last < 0 || x.thoughts[last] != thought || rapid.Bool().Draw(t, "begins") {
				x.runs, x.thoughts = append(x.runs, record.Span{Start: len(x.whole), End: len(x.whole)}), append(x.thoughts, thought)
			}
			x.kept.Add([]byte(piece), &room)
			x.whole += piece
			x.runs[len(x.runs)-1].End = len(x.whole)
			if !thought {
				others += len(piece)
			}
			var all []Runs
			for i := range texts {
				all = append(all, texts[i].of())
			}
			if !room.Fit(all, 0, limit) || room.Left < 0 {
				t.Fatalf("%d left of %d", room.Left, limit)
			}
		}
		kept := 0
		for i := range texts {
			kept += checkTold(t, &texts[i], others <= limit*7/8)
		}
		if kept+room.Left != limit {
			t.Fatalf("%d bytes kept, %d left of %d", kept, room.Left, limit)
		}
	})
}

// checkTold checks what is recorded of a text. fits says that there is room for all that is
// not a thought.
func checkTold(t *rapid.T, x *told, fits bool) int {
	c := x.kept.Content()
	if c.Len() != len(x.whole) {
		t.Fatalf("the text has %d bytes, want %d", c.Len(), len(x.whole))
	}
	for i, run := range x.runs {
		text, gone := left(c, run)
		whole := x.whole[run.Start:run.End]
		head := 0
		for head < len(text) && text[head] == whole[head] {
			head++
		}
		if len(text)+gone != len(whole) || !strings.HasSuffix(whole, text[head:]) || !utf8.ValidString(text) {
			t.Fatalf("%d bytes of the run %q are recorded as %q", gone, whole, text)
		}
		if gone > 0 && fits && !x.thoughts[i] {
			t.Fatalf("the text %q is recorded as %q, though there is room for it", whole, text)
		}
	}
	return len(c.Text)
}
