package record

import (
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
)

// naive finds what an automaton must, one pattern and one place after another.
func naive(patterns []string, text string) []Span {
	var all []Span
	for _, p := range patterns {
		for i := range len(text) - len(p) + 1 {
			if text[i:i+len(p)] == p {
				all = append(all, Span{i, i + len(p)})
			}
		}
	}
	return merged(all)
}

func letters(r *rand.Rand, alphabet string, n int) string {
	b := make([]byte, n)
	for i := range b {
		b[i] = alphabet[r.IntN(len(alphabet))]
	}
	return string(b)
}

// An automaton finds the union of all matches: patterns that overlap, that begin
// or end alike, and that stand within another.
func TestAutomatonIsAsTheNaiveSearch(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	found := 0
	for range 20_000 {
		alphabet := "abcdefghij"[:1+r.IntN(4)]
		if r.IntN(10) == 0 {
			alphabet = "\x00\x7f\x80\xfe\xffabcdefgh"
		}
		var patterns []string
		for range 1 + r.IntN(6) {
			patterns = append(patterns, letters(r, alphabet, 1+r.IntN(6)))
		}
		text := letters(r, alphabet, r.IntN(40))
		want := naive(patterns, text)
		a := newAutomaton(append([]string{}, patterns...))
		got, _ := matches(a, text)
		if len(got) != len(want) || len(got) > 0 && !reflect.DeepEqual(got, want) || a.has([]byte(text)) != (len(want) > 0) {
			t.Fatalf("%q in %q: found %v, want %v", patterns, text, got, want)
		}
		found += len(want)
	}
	if found < 20_000 {
		t.Errorf("the law was held against %d spans only", found)
	}
}

// A child is found among few and among many.
func TestAutomatonOfManyBytes(t *testing.T) {
	var patterns []string
	for c := range 256 {
		patterns = append(patterns, "x"+string([]byte{byte(c)}))
	}
	a := newAutomaton(patterns)
	for c := range 256 {
		if got, _ := matches(a, "-x"+string([]byte{byte(c)})+"-"); len(got) == 0 || got[0] != (Span{1, 3}) && c != 'x' {
			t.Errorf("byte %d: found %v", c, got)
		}
	}
}

// The work is linear in the text, and what is held in the patterns and in the
// merged spans, also where every letter is the same and the matches are
// quadratic.
func TestAutomatonIsLinear(t *testing.T) {
	alike := func(n int) (patterns []string) {
		for i := range 16 {
			patterns = append(patterns, strings.Repeat("a", n+i))
		}
		return patterns
	}
	for name, text := range map[string]func(n int) string{
		"of one letter": func(n int) string { return strings.Repeat("a", n) },
		"of near misses": func(n int) string {
			return strings.Repeat(strings.Repeat("a", 1023)+"b", n/1024)
		},
	} {
		const n = 1 << 18
		a := newAutomaton(alike(1024))
		_, one := matches(a, text(n))
		spans, two := matches(a, text(2*n))
		if two > 2*one+4096 || two > 3*2*n {
			t.Errorf("a text %s: %d steps for %d bytes, %d for twice as many", name, one, n, two)
		}
		if len(spans) > 1 || cap(spans) > 4 {
			t.Errorf("a text %s: %d spans in room for %d", name, len(spans), cap(spans))
		}
	}
	if got, most := len(newAutomaton(alike(4096)).label), 4096+16; got > most {
		t.Errorf("patterns with a common beginning have %d states, want %d at most", got, most)
	}
}

// Matches without end are one span from the bound on, so that no text costs more
// cuts than are worth reading.
func TestSpansAreBounded(t *testing.T) {
	text := strings.Repeat("ab", 2*maxSpans)
	spans, _ := matches(newAutomaton([]string{"a"}), text)
	if len(spans) != maxSpans || spans[maxSpans-1].End != len(text) {
		t.Errorf("%d spans, the last %v of %d bytes", len(spans), spans[len(spans)-1], len(text))
	}
}
