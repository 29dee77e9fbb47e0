package sotto

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// TestForms: the tokens of a reply that comes in pieces are those that the lexer finds in the
// whole, each from the piece on in which it ends. A search that resumes finds what a new one
// finds. Tokens are dropped only when they are settled, and keep their numbers.
func TestForms(t *testing.T) {
	bits := []string{"<think>", "</think>", "<scratch_pad>", "<", "<<think/>", "</", "think>", " a\n", "<output>", "word", "<reason", "ing>"}
	g := Default()
	random := rand.New(rand.NewPCG(2, 7))
	for range 300 {
		var b strings.Builder
		for range random.IntN(80) {
			b.WriteString(bits[random.IntN(len(bits))])
		}
		text := b.String()
		var f forms
		f.reset(g)
		var whole []token
		var x lexer
		x.reset(&g.lex)
		x.run([]byte(text), 0, func(t token) { whole = append(whole, t) })
		slices.SortFunc(whole, func(a, b token) int {
			if f.before(a, b) {
				return -1
			}
			return 1
		})
		pos := 0
		for n := 0; n < len(text); {
			k := 1 + random.IntN(min(12, len(text)-n))
			f.lex.run([]byte(text[n:n+k]), n, f.add)
			n += k
			come := slices.DeleteFunc(slices.Clone(whole), func(t token) bool { return t.end > n })
			if got := f.toks; !slices.Equal(got, come[f.dropped:]) {
				t.Fatalf("%q: tokens %v, want %v", text[:n], got, come[f.dropped:])
			}
			pos += random.IntN(n - pos + 1)
			f.pass(pos)
			w := []watch{watchAll, g.closes.all, g.closes.reasoning, g.outputs.open}[random.IntN(4)]
			want := slices.IndexFunc(come, func(t token) bool { return t.start >= pos && t.watch()&w != 0 })
			if got := f.scan(scanMarker, f.ti, pos, w, n); got != want {
				t.Fatalf("%q: the next token of %b from byte %d is number %d, want %d", text[:n], w, pos, got, want)
			}
			f.drop(pos)
		}
	}
}

// TestFormsHiddenClose: a close in the quoted value of an opener of its family counts as soon as
// the opener turns out to be none, and never if it is one.
func TestFormsHiddenClose(t *testing.T) {
	g := Default()
	const hidden = `<think a="</think>`
	for rest, want := range map[string]bool{"": false, `">`: false, `"@`: true} {
		var f forms
		f.reset(g)
		f.lex.run([]byte(hidden+rest), 0, f.add)
		if got := f.closeAfter(f.toks[0].group, 1); got != want {
			t.Errorf("%q: a close counts: %v", hidden+rest, got)
		}
	}
}
