package sotto_test

import (
	"math/rand/v2"
	"testing"

	"github.com/sotto-llm/sotto"
)

// fuzzGrammars are the dialects that come with the package, and the corpus's own dialects.
func fuzzGrammars(t testing.TB) []*sotto.Grammar {
	t.Helper()
	var list []*sotto.Grammar
	for _, d := range sotto.Dialects() {
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
func fuzzStarts(g *sotto.Grammar) []sotto.Start {
	starts := []sotto.Start{sotto.StartOutside, sotto.StartAuto}
	if _, err := g.NewSplitter(sotto.Options{Start: sotto.StartInsideFirst}); err == nil {
		starts = append(starts, sotto.StartInsideFirst)
	}
	return starts
}

var fuzzEnds = []sotto.End{sotto.EndUnknown, sotto.EndStopped, sotto.EndCut, sotto.EndAborted}

// FuzzSplit checks conservation, split invariance and monotony on any bytes.
func FuzzSplit(f *testing.F) {
	grammars := fuzzGrammars(f)
	fuzzSeeds(f, grammars, func(c corpusCase, dialect uint8) {
		start := uint8(0)
		switch {
		case c.start == sotto.StartAuto:
			start = 1
		case c.start != sotto.StartOutside:
			start = 2
		}
		f.Add([]byte(c.raw), dialect, start, uint8(c.end), c.maxHold >= 0, uint64(len(c.raw)))
	})
	f.Fuzz(func(t *testing.T, raw []byte, dialect, start, end uint8, tight bool, seed uint64) {
		if len(raw) > 1<<12 {
			return // the cost depends on the cuts, not on the length
		}
		g := grammars[int(dialect)%len(grammars)]
		starts := fuzzStarts(g)
		c := corpusCase{
			raw: string(raw), grammar: g, start: starts[int(start)%len(starts)], end: fuzzEnds[int(end)%len(fuzzEnds)], maxHold: -1,
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
				t.Fatalf("%s start %s end %s tight %v cut at %v:\n%s\nwhole:\n%s",
					g.Dialect().Name, c.start, c.end, tight, cuts, c.show(got), c.show(whole))
			}
		}
	})
}

// FuzzStrip checks the idempotence of Strip on any bytes.
func FuzzStrip(f *testing.F) {
	grammars := fuzzGrammars(f)
	fuzzSeeds(f, grammars, func(c corpusCase, dialect uint8) {
		f.Add([]byte(c.raw), dialect, c.start == sotto.StartAuto)
	})
	f.Fuzz(func(t *testing.T, raw []byte, dialect uint8, auto bool) {
		g := grammars[int(dialect)%len(grammars)]
		start := sotto.StartOutside
		if auto {
			start = sotto.StartAuto
		}
		once, err := g.Strip(string(raw), start)
		if err != nil {
			t.Fatal(err)
		}
		if twice, err := g.Strip(once, sotto.StartOutside); err != nil || twice != once {
			t.Fatalf("%s start %s %q: Strip gives %q, and of that %q (%v)", g.Dialect().Name, start, raw, once, twice, err)
		}
	})
}
