package sotto_test

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/dialect"
	"github.com/sotto-llm/sotto/internal/base/effort"
)

// fuzzGrammars are the dialects that come with the package, and the corpus's own dialects.
func fuzzGrammars(t testing.TB) []*sotto.Grammar {
	t.Helper()
	var list []*sotto.Grammar
	for _, d := range dialect.All() {
		g, err := sotto.Named(d.Name)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, g)
	}
	own := readKitDialects(t)
	for _, c := range readCorpus(t) { // in the order of the corpus
		if g := own[c.grammar.Dialect().Name]; g != nil {
			list = append(list, g)
			delete(own, c.grammar.Dialect().Name)
		}
	}
	return list
}

func fuzzSeeds(f *testing.F, grammars []*sotto.Grammar, add func(c corpusCase, dialect uint8)) {
	for _, c := range readCorpus(f) {
		for i, g := range grammars {
			if g.Dialect().Name == c.grammar.Dialect().Name {
				add(c, uint8(i))
			}
		}
	}
}

// fuzzStarts are the starts that make sense for a grammar.
func fuzzStarts(g *sotto.Grammar) []sotto.Beginning {
	starts := []sotto.Beginning{sotto.BeginOutside, sotto.BeginAuto}
	if _, err := g.NewSplitter(sotto.Options{Start: sotto.BeginInsideFirst}); err == nil {
		starts = append(starts, sotto.BeginInsideFirst)
	}
	return starts
}

var fuzzEnds = []sotto.Ending{sotto.EndUnknown, sotto.EndStopped, sotto.EndCut, sotto.EndAborted}

// FuzzSplit checks conservation, split invariance and monotony on any bytes.
func FuzzSplit(f *testing.F) {
	grammars := fuzzGrammars(f)
	fuzzSeeds(f, grammars, func(c corpusCase, dialect uint8) {
		start := uint8(0)
		switch {
		case c.start == sotto.BeginAuto:
			start = 1
		case c.start != sotto.BeginOutside:
			start = 2
		}
		f.Add([]byte(c.raw), dialect, start, uint8(c.end), c.maxHold >= 0, uint64(len(c.raw)))
	})
	f.Fuzz(func(t *testing.T, raw []byte, dialect, start, end uint8, tight bool, seed uint64) {
		checkCuts(t, string(raw), grammars[int(dialect)%len(grammars)], start, end, tight, seed)
	})
}

// checkCuts checks that a reply is conserved, and read alike in one piece, byte by byte
// and in random pieces.
func checkCuts(t *testing.T, raw string, g *sotto.Grammar, start, end uint8, tight bool, seed uint64) {
	t.Helper()
	if len(raw) > 1<<12 {
		return // the cost depends on the cuts, not on the length
	}
	starts := fuzzStarts(g)
	c := corpusCase{
		raw: raw, grammar: g, start: starts[int(start)%len(starts)], end: fuzzEnds[int(end)%len(fuzzEnds)], maxHold: -1,
	}
	if tight {
		c.maxHold = 1 // as small as the dialect's markers allow
	}
	whole := c.whole(t)
	if whole.pieces != c.raw || whole.inlineRaw != c.raw {
		t.Fatalf("%s: the segments hold %q", g.Dialect().Name, whole.pieces)
	}
	for _, d := range whole.diagnostics {
		if d.Offset < 0 || d.Offset > len(raw) {
			t.Fatalf("%s: %v", g.Dialect().Name, d)
		}
	}
	rnd := rand.New(rand.NewPCG(seed, 1))
	for _, cuts := range [][]int{everyByte(len(raw)), randomCuts(rnd, len(raw), 3), randomCuts(rnd, len(raw), 1+rnd.IntN(64))} {
		if got := c.stream(t, cuts...); !got.equal(whole) {
			t.Fatalf("%s start %s end %s tight %v %q cut at %v:\n%s\nwhole:\n%s",
				g.Dialect().Name, c.start, c.end, tight, raw, cuts, c.show(got), c.show(whole))
		}
	}
}

// fuzzTokens are an alphabet for replies in a dialect: the shipped dialects' most common
// tags, runs of back-ticks and tildes, white space, beginnings of tags, words, and up to
// as many of the dialect's own markers as a byte has room for.
func fuzzTokens(g *sotto.Grammar) []string {
	d := g.Dialect()
	tokens := []string{
		"`", "``", "```", "````````", "~~~", "~~~~~~~~", "\n", "\n\n", " ", "\t", "<", ">", "</", "\"", "'", "w", "A word. ", "é", "{}",
		"<think>", "</think>", "<output>", "</output>", "<think/>", "<think a=\"", "</think >",
	}
	for _, m := range d.Markers {
		if m.Tag != "" {
			tokens = append(tokens, "<"+m.Tag+">", "</"+m.Tag+">")
		}
		tokens = append(append(tokens, m.Open...), m.Close...)
	}
	if h := d.Header; h != nil {
		for name := range h.Channels {
			tokens = append(tokens, name)
		}
		slices.Sort(tokens[len(tokens)-len(h.Channels):])
		tokens = slices.Concat(tokens, h.Begin, h.Body, h.Lead, h.End, h.Close, h.Name, h.Tokens, []string{" to="})
	}
	return tokens[:min(len(tokens), 256)]
}

// FuzzTokens checks what FuzzSplit checks, on replies that are made of markers, runs of
// back-ticks and white space: each byte of the input stands for one of fuzzTokens. So few
// changes of an input lead to blocks in blocks, in code and in fences.
func FuzzTokens(f *testing.F) {
	grammars := fuzzGrammars(f)
	alphabets := make([][]string, len(grammars))
	for i, g := range grammars {
		alphabets[i] = fuzzTokens(g)
	}
	rnd := rand.New(rand.NewPCG(8, 8))
	for i := range grammars {
		for range 4 {
			b := make([]byte, 4+rnd.IntN(20))
			for k := range b {
				b[k] = byte(rnd.IntN(len(alphabets[i])))
			}
			f.Add(b, uint8(i), uint8(rnd.IntN(3)), uint8(rnd.IntN(4)), rnd.IntN(2) == 0, rnd.Uint64())
		}
	}
	f.Fuzz(func(t *testing.T, indexes []byte, dialect, start, end uint8, tight bool, seed uint64) {
		tokens := alphabets[int(dialect)%len(grammars)]
		var raw strings.Builder
		for _, i := range indexes[:min(len(indexes), 1<<10)] {
			raw.WriteString(tokens[int(i)%len(tokens)])
		}
		checkCuts(t, raw.String(), grammars[int(dialect)%len(grammars)], start, end, tight, seed)
	})
}

// stripped is what Strip promises, by whole readings.
func stripped(t testing.TB, g *sotto.Grammar, raw string, start sotto.Beginning, inline ...sotto.Channel) string {
	t.Helper()
	for range 5 {
		r, err := g.Parse(raw, start, sotto.EndUnknown)
		if err != nil {
			t.Fatal(err)
		}
		text := r.VisibleWith(inline...)
		if text == raw {
			return text
		}
		raw, start = text, sotto.BeginOutside
	}
	return ""
}

// Strip gives what readings of whole replies give, one after the other, in every dialect.
func TestStripIsReadings(t *testing.T) {
	for i, g := range fuzzGrammars(t) {
		tokens := append(fuzzTokens(g), "\n", " ", "\ufeff", "a", "a < b", "<", "```\n", "`")
		rnd := rand.New(rand.NewPCG(uint64(i), 51))
		for range 40 * effort.Times() {
			raw := randomReply(rnd, tokens)
			for _, start := range append(fuzzStarts(g), "") {
				for _, inline := range [][]sotto.Channel{nil, {sotto.ChannelNarration, sotto.ChannelTool}} {
					got, err := g.Strip(raw, start, inline...)
					if want := stripped(t, g, raw, start, inline...); err != nil || got != want {
						t.Fatalf("%s start %q inline %v: Strip gives %q of %q, readings give %q (%v)", g.Dialect().Name, start, inline, got, raw, want, err)
					}
				}
			}
		}
	}
}

// FuzzStrip checks that Strip is idempotent on any bytes, and gives what readings give.
func FuzzStrip(f *testing.F) {
	grammars := fuzzGrammars(f)
	fuzzSeeds(f, grammars, func(c corpusCase, dialect uint8) {
		f.Add([]byte(c.raw), dialect, c.start == sotto.BeginAuto)
	})
	f.Fuzz(func(t *testing.T, raw []byte, dialect uint8, auto bool) {
		g := grammars[int(dialect)%len(grammars)]
		start := sotto.BeginOutside
		if auto {
			start = sotto.BeginAuto
		}
		once, err := g.Strip(string(raw), start)
		if err != nil {
			t.Fatal(err)
		}
		if want := stripped(t, g, string(raw), start); once != want {
			t.Fatalf("%s start %s %q: Strip gives %q, readings give %q", g.Dialect().Name, start, raw, once, want)
		}
		if twice, err := g.Strip(once, sotto.BeginOutside); err != nil || twice != once {
			t.Fatalf("%s start %s %q: Strip gives %q, and of that %q (%v)", g.Dialect().Name, start, raw, once, twice, err)
		}
	})
}
