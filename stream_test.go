package sotto

import (
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/sotto-llm/sotto/internal/base/bytescan"
)

// TestStream: fences, runs and notes are the same however the text is cut, with what is found
// of the closes that are kept in it.
func TestStream(t *testing.T) {
	bits := []string{"`", "``", "```", "\n```\n", "\n~~~~\n", "\n", "\n\n", "a word ", "  ", "~~~", "\n```go\n", strings.Repeat("x", 40)}
	random := rand.New(rand.NewPCG(8, 9))
	for range 3000 {
		var b strings.Builder
		for range random.IntN(12) {
			b.WriteString(bits[random.IntN(len(bits))])
		}
		text := b.String()
		notes := map[int]bool{}
		for range random.IntN(3) {
			notes[random.IntN(len(text)+1)] = true
		}
		read := func(cut func(left int) int) (*stream, []Diagnostic) {
			var ts stream
			var h holds
			ts.reset()
			h.reset(Default(), false)
			for at := 0; at <= len(text); {
				if notes[at] { // a close of no bytes is kept here
					ts.endRun(&h)
					ts.addNote(strayNote{start: at, end: at, known: true, fenced: ts.fence.open(), orphan: true}, &h)
				}
				if at == len(text) {
					break
				}
				k := cut(len(text) - at)
				for i := 1; i < k; i++ {
					if notes[at+i] {
						k = i
					}
				}
				ts.scanLines([]byte(text[at:at+k]), at, &h)
				at += k
			}
			open := ts
			h.ended, h.end = true, EndStopped
			ts.end(len(text), &h)
			h.diags.sort()
			return &open, h.diags.kept
		}
		whole, found := read(func(left int) int { return left })
		parts, foundInParts := read(func(left int) int { return 1 + random.IntN(min(left, 5)) })
		if whole.fence != parts.fence || whole.candidate != parts.candidate || whole.blank != parts.blank || whole.run != parts.run {
			t.Fatalf("%q: whole %+v, in parts %+v", text, whole, parts)
		}
		if len(found)+len(foundInParts) > 0 && !reflect.DeepEqual(found, foundInParts) {
			t.Fatalf("%q with closes at %v: found %v, in parts %v", text, notes, found, foundInParts)
		}
	}
}

// TestNotes: why a close is text shows on its line, or in its fence.
func TestNotes(t *testing.T) {
	for text, want := range map[string]Reason{"a | b\n": "", "`a | b` c\n": ReasonInlineCode, "`a | b\n`": "", "``a | b`\n": "", "```\na | b\n```\n": ReasonFenced,
		"a '|' b\n": ReasonQuoted, "a '| b\n": ""} {
		before, after, _ := strings.Cut(text, "|")
		var ts stream
		var h holds
		ts.reset()
		h.reset(Default(), false)
		ts.scanLines([]byte(before), 0, &h)
		ts.endRun(&h)
		at := len(before)
		ts.addNote(strayNote{start: at, end: at + 1, before: before[at-1], fenced: ts.fence.open()}, &h)
		ts.settleNewest(after[0], at+1, &h)
		ts.scanLines([]byte(after), at+1, &h)
		h.ended = true
		ts.end(len(text), &h)
		got := Reason("")
		for _, d := range h.diags.kept {
			got = d.Reason
		}
		if got != want || len(h.diags.kept) > 1 {
			t.Errorf("%q: %v, want %q", text, h.diags.kept, want)
		}
	}
}

// TestBlocks: a block whose bytes were all found at once leaves a stream as a search through
// it does, whatever stands before it.
func TestBlocks(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	parts := []string{"a", "b c", " ", "\n", "\n\n", "`", "``", "```", "~", "~~~", "\n```\n", "plain words ", "\n   "}
	text := func(n int) []byte {
		var b []byte
		few := parts[:2+r.IntN(len(parts)-1)]
		for len(b) < n {
			b = append(b, few[r.IntN(len(few))]...)
		}
		return b[:n]
	}
	blocks := 0
	for range 20_000 {
		var by [2]stream
		var h [2]holds
		before, block := text(r.IntN(30)), text(32+r.IntN(33))
		note := strayNote{start: len(before), known: true, before: '"', after: '"'}
		for i := range by {
			by[i].reset()
			h[i].diags.reported = -1
			h[i].outHold, h[i].pads.hold = -1, -1
			by[i].searchLines(before, 0, &h[i])
			if len(by[i].runs.list) > 0 {
				by[i].notes = append(by[i].notes, note)
			}
		}
		from := len(before) + 10
		if m, ok := bytescan.Code(block); !ok {
			t.Skip("this machine finds none at once")
		} else if by[0].scanBlock(block, from, &m, &h[0]) {
			blocks++
		} else {
			by[0].searchLines(block, from, &h[0])
		}
		by[1].searchLines(block, from, &h[1])
		for i := range by {
			if by[i].run == 0 {
				by[i].runFrom, by[i].tilde = 0, false
			}
			if !by[i].lines.atRun() {
				by[i].lines = lineScan{phase: by[i].lines.phase}
			}
		}
		if !reflect.DeepEqual(by[0], by[1]) || !slices.Equal(h[0].diags.kept, h[1].diags.kept) {
			t.Fatalf("%q, then %q:\n%+v %v, want\n%+v %v", before, block, by[0], h[0].diags.kept, by[1], h[1].diags.kept)
		}
	}
	if blocks < 5000 {
		t.Errorf("only %d blocks", blocks)
	}
}
