package dialecttest

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/dialect"
	work "github.com/sotto-llm/sotto/internal/base/effort"
)

// cutTokens are the tokens of TestEveryCut: what the fast path reads, and what makes the
// splitter leave it.
var cutTokens = []string{"x", " ", "<", "k>", "<k>", "</k>", "<k/>", "<o>", "`", eightTicks, "\n"}

// Law 2 by brute force: all short replies are read at every set of cuts as they are read
// whole, and as the slow reader reads them. Longer ones, in which runs of eight back-ticks
// pair around markers, are read at every byte and at random sets of cuts. So are replies
// with any byte beside and within a marker, and with literals of every form.
func TestEveryCut(t *testing.T) {
	t.Run("bytes", everyByteInForms)
	for d, raws := range literalForms() {
		s := mustSuite(t, *d, false)
		for _, raw := range raws {
			s.everyCut(t, raw)
		}
	}
	s := mustSuite(t, dialect.Dialect{Name: "cuts", Markers: []dialect.Marker{
		{Role: dialect.RoleReasoning, Tag: "k"}, {Role: dialect.RoleOutput, Tag: "o"},
	}}, false)
	short, long := 4, 3000*work.Times()
	if work.Brief() {
		short, long = 3, 300
	}
	for n := 1; n <= short; n++ {
		sequences(cutTokens, n, "", func(raw, _ string) { s.everyCut(t, raw) })
	}
	for _, raw := range []string{
		"x " + eightTicks + " <k> " + eightTicks + " y " + eightTicks + "<k>z</k>" + eightTicks + " w",
		"x " + eightTicks + " <k> " + eightTicks + " y " + eightTicks + "<k>z</k>\n w", // the last run has no partner
		"x" + eightTicks + "<k></k>" + eightTicks + "y" + eightTicks + "<k/>",
		"x<x<k/>k>", // the tag failed before the block: nothing is spliced
	} {
		s.everyCut(t, raw)
	}
	rnd := rand.New(rand.NewPCG(8, 8))
	for range long {
		var b strings.Builder
		for range 5 + rnd.IntN(8) {
			b.WriteString(cutTokens[rnd.IntN(len(cutTokens))])
		}
		s.everyCut(t, b.String())
	}
}

// mostCuts is the length of a reply that is read at every set of cuts.
const mostCuts = 10

// everyCut reads a reply whole, as the slow reader does, and cut.
func (s *suite) everyCut(t *testing.T, raw string) {
	t.Helper()
	end := Ends[len(raw)%len(Ends)]
	tr := trial{raw: raw, start: sotto.BeginOutside, end: end, maxHold: -1}
	if f := s.slowReader(tr); f != nil {
		t.Fatalf("rule %s\n%v\n%s", f.rule, f.trial, f.says)
	}
	whole := s.feed(tr, nil)
	check := func(cuts []int) {
		if got := s.feed(tr, cuts); !got.equal(&whole) {
			t.Fatalf("%v cut at %v\ncut:   %v %q %v\nwhole: %v %q %v", tr, cuts, show(raw, got.segments), got.visible, got.diagnostics,
				show(raw, whole.segments), whole.visible, whole.diagnostics)
		}
	}
	n := len(raw) - 1
	if n < mostCuts {
		for set := range 1 << n {
			check(cutsOf(n, func(i int) bool { return set>>i&1 != 0 }))
		}
		return
	}
	check(everyByte(len(raw)))
	rnd := rand.New(rand.NewPCG(uint64(n), 4))
	for k := range 20 {
		check(cutsOf(n, func(int) bool { return rnd.IntN(2+k%3) == 0 }))
	}
}

// cutsOf returns the cuts of a reply of n+1 bytes that take chooses.
func cutsOf(n int, take func(int) bool) []int {
	var cuts []int
	for i := range n {
		if take(i) {
			cuts = append(cuts, i+1)
		}
	}
	return cuts
}
