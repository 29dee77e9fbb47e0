package dialecttest

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/dialect"
	work "github.com/sotto-llm/sotto/internal/base/effort"
)

// The default dialect is checked against every law in full.
func TestDefault(t *testing.T) {
	if work.Brief() {
		RunBrief(t, sotto.Default().Dialect())
		return
	}
	Run(t, sotto.Default().Dialect())
}

// Every shipped dialect is checked too, with fewer replies.
func TestShipped(t *testing.T) {
	e := effort{replies: 40, units: 16, search: 200 << 10}
	if work.Brief() {
		e = effort{replies: 2, units: 6, search: 2 << 10}
	}
	chosen := work.OneIn(3, "dialects")
	for _, d := range dialect.All() {
		if !chosen() {
			continue
		}
		t.Run(d.Name, func(t *testing.T) {
			t.Parallel()
			run(t, d, e.times(work.Times()), nil)
		})
	}
}

// Literals of two and three bytes, where one begins as another's close does.
func TestShortLiterals(t *testing.T) {
	d := sotto.Default().Dialect()
	d.Markers = append(slices.Clone(d.Markers),
		dialect.Marker{Role: dialect.RoleReasoning, Name: "lead", Open: []string{"< /"}, Close: []string{"<//"}},
		dialect.Marker{Role: dialect.RoleReasoning, Name: "one", Open: []string{"< 1"}, Close: []string{"/1"}})
	run(t, d, effort{replies: 150, units: 24, search: 200 << 10}.times(work.Times()), nil)
}

// A late output counts once a scratch pad has closed in outer text (G10), whatever
// else is around the two.
func TestLateOutput(t *testing.T) {
	tokens := []string{
		"<scratch_pad>", "</scratch_pad>", "<scratchpad>", "</scratchpad>", "<output>", "</output>", "x", "y", " ", "\n",
		"<output/>", "<scratch_pad/>", "<think>", "</think>", "<narrate>", "</narrate>", "`", "\"", "\n```\n",
	}
	var replies []string
	rnd := rand.New(rand.NewPCG(10, 13))
	n := 300 * work.Times()
	if work.Brief() {
		n = 60
	}
	for range n {
		var b strings.Builder
		for range 3 + rnd.IntN(12) {
			k := len(tokens)
			if rnd.IntN(3) > 0 {
				k = 8
			}
			b.WriteString(tokens[rnd.IntN(k)])
		}
		replies = append(replies, b.String())
	}
	for _, change := range []func(*dialect.Dialect){
		func(*dialect.Dialect) {},
		func(d *dialect.Dialect) { d.OnDoubt = dialect.DoubtDeliver },
		func(d *dialect.Dialect) { d.Close = dialect.CloseFamily },
		func(d *dialect.Dialect) { d.Output = dialect.PlacementAnywhere },
	} {
		d := sotto.Default().Dialect()
		change(&d)
		run(t, d, effort{replies: 1, units: 1, search: 1}, replies)
	}
	if work.Brief() {
		return
	}
	// Few markers: the brute force then reaches a late output.
	d := dialect.Dialect{Name: "late", Markers: []dialect.Marker{
		{Role: dialect.RoleReasoning, Tag: "p", Rescue: true}, {Role: dialect.RoleOutput, Tag: "o"},
	}}
	s := mustSuite(t, d, false)
	for _, tokens := range [][]string{{"x<p>y</p>", "<o>", "</o>", "z", "`"}, {"x<p>", "</p>", "<o>", " ", "\n```\n"}} {
		for _, a := range tokens {
			for _, b := range tokens {
				for _, c := range tokens {
					if f := s.earliest(trial{raw: a + b + c, start: sotto.BeginOutside, maxHold: -1, tokens: tokens}); f != nil {
						t.Fatal(f)
					}
				}
			}
		}
	}
}
