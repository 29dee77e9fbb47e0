package sidecar

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/sotto-llm/sotto/internal/base/effort"
)

// TestFold: runes that (?i) or strings.ToLower take for the same have one fold, and it is
// stable.
func TestFold(t *testing.T) {
	effort.OneGoroutine(t)
	for r := rune(0); r <= unicode.MaxRune; r++ {
		want := fold(r)
		if got := fold(unicode.SimpleFold(r)); got != want {
			t.Fatalf("%U and %U fold to %U and %U", r, unicode.SimpleFold(r), want, got)
		}
		if got := fold(unicode.ToLower(r)); got != want {
			t.Fatalf("%U and its lower case fold to %U and %U", r, want, got)
		}
		if fold(want) != want {
			t.Fatalf("%U folds to %U, which folds to %U", r, want, fold(want))
		}
	}
}

// TestRuns: the words of a part of a text are parts of the words of the text, and whole
// ones where the part shows both ends.
func TestRuns(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringOfN(rapid.SampledFrom([]rune("ab1_ -.ſKkİi中文字ไท\u0345é\ufffd")), 0, 30, -1).Draw(t, "text")
		if rapid.Bool().Draw(t, "broken") {
			text += "\xe4\xb8"
		}
		from := rapid.IntRange(0, len(text)).Draw(t, "from")
		to := rapid.IntRange(from, len(text)).Draw(t, "to")
		for from < to && !utf8.RuneStart(text[from]) {
			from++
		}
		for to < len(text) && to > from && !utf8.RuneStart(text[to]) {
			to--
		}
		words := map[string]bool{}
		runs(text, true, nil, func(r run) {
			if r.class == ideogram {
				pairs(r.word, func(p []byte) { words[string(p)] = true })
				return
			}
			words[string(r.word)] = true
		})
		runs(text[from:to], false, nil, func(r run) {
			if r.class == ideogram && utf8.RuneCount(r.word) > 1 {
				pairs(r.word, func(p []byte) {
					if !words[string(p)] {
						t.Fatalf("%q has no pair %q of its part %q", text, p, text[from:to])
					}
				})
				return
			}
			for w := range words {
				if strings.Contains(w, string(r.word)) && (!r.opens || r.class == ideogram || strings.HasPrefix(w, string(r.word))) &&
					(!r.closes || r.class == ideogram || strings.HasSuffix(w, string(r.word))) && (!r.opens || !r.closes || r.class == ideogram || w == string(r.word)) {
					return
				}
			}
			t.Fatalf("%q has no word with %q of its part %q", text, r.word, text[from:to])
		})
	})
}
