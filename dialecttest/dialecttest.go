// Package dialecttest holds a dialect to the laws that every reading keeps.
//
//	func TestMyDialect(t *testing.T) {
//		dialecttest.Run(t, myDialect)
//	}
//
// The laws are those of docs/design.md, section 2. They are checked on
// replies made of the dialect's own markers, their prefixes, quotes, code and
// white space, in every order up to a length and in random ones beyond, each
// also against a slow reader of the whole text that was written from the
// grammar apart from the machine.
package dialecttest

import (
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/sotto-llm/sotto"
)

// Ends are all the ways in which a reply can end.
var Ends = []sotto.End{sotto.EndUnknown, sotto.EndStopped, sotto.EndCut, sotto.EndAborted}

// Run checks every law on a dialect, as subtests. Replies are further replies
// to check, beside those made from the dialect. With -short it tries fewer.
func Run(t *testing.T, d sotto.Dialect, replies ...string) {
	t.Helper()
	t.Run("as_it_is", func(t *testing.T) { newSuite(t, d, 0).laws(t, replies) })
	// Bounds as small as the markers allow, so that short replies meet them.
	t.Run("tight", func(t *testing.T) { newSuite(t, tight(d), 1).laws(t, replies) })
}

// tight returns the dialect with the least MaxMarker and MaxHold, 16 at least.
func tight(d sotto.Dialect) sotto.Dialect {
	d.MaxMarker = 16
	for _, m := range d.Markers {
		d.MaxMarker = max(d.MaxMarker, len(m.Tag)+3)
		for _, list := range [][]string{m.Open, m.Close} {
			for _, s := range list {
				d.MaxMarker = max(d.MaxMarker, len(s))
			}
		}
	}
	d.MaxHold = d.MaxMarker
	if d.Header != nil {
		h := *d.Header
		for _, list := range [][]string{h.Begin, h.End} {
			for _, s := range list {
				d.MaxMarker = max(d.MaxMarker, len(s))
			}
		}
		h.MaxHeader = max(d.MaxMarker, 48)
		d.Header, d.MaxHold = &h, h.MaxHeader
	}
	return d
}

func newSuite(t testing.TB, d sotto.Dialect, seed uint64) *suite {
	t.Helper()
	g, err := sotto.Compile(d)
	if err != nil {
		t.Fatal(err)
	}
	slow, err := slowCompile(d)
	if err != nil {
		t.Fatal(err)
	}
	s := &suite{g: g, slow: slow, d: g.Dialect(), tokens: Tokens(d), seed: seed}
	s.holds = []int{-1}
	if seed > 0 { // short replies outgrow the bound, also by white space alone
		s.holds = append(s.holds, s.d.MaxHold)
		s.tokens = append(s.tokens, strings.Repeat(" ", s.d.MaxHold), strings.Repeat("\n", s.d.MaxHold))
	}
	return s
}

// effort is how many times the ordinary number of random replies is tried:
// SOTTO_EFFORT, 1 unless set.
func effort() int {
	if n, err := strconv.Atoi(os.Getenv("SOTTO_EFFORT")); err == nil && n > 0 {
		return n
	}
	return 1
}

// laws checks every law as a subtest.
func (s *suite) laws(t *testing.T, replies []string) {
	n := 2000 * effort()
	if testing.Short() {
		n = 200
	}
	replies = slices.Clone(replies)
	for i := range n {
		replies = append(replies, s.random(uint64(i), 14))
	}
	s.quick(t, replies)
	t.Run("ordinary_replies", func(t *testing.T) { s.ordinary(t) })
	t.Run("linear_time", func(t *testing.T) { s.linear(t, 1<<12) })
	t.Run("earliest_emission", func(t *testing.T) { s.earliestEmission(t) })
}

// quick checks the laws of single replies.
func (s *suite) quick(t *testing.T, replies []string) {
	t.Run("conservation", func(t *testing.T) { s.each(t, replies, s.conservation) })
	t.Run("split_invariance", func(t *testing.T) { s.each(t, replies, s.splitInvariance) })
	t.Run("slow_reader", func(t *testing.T) { s.each(t, replies, s.slowReader) })
	t.Run("bounded_hold", func(t *testing.T) { s.each(t, replies, s.boundedHold) })
	t.Run("idempotence", func(t *testing.T) { s.each(t, replies, s.idempotence) })
	t.Run("monotony", func(t *testing.T) { s.each(t, replies, s.monotony) })
}

type suite struct {
	g      *sotto.Grammar
	slow   *slowGrammar
	d      sotto.Dialect
	tokens []string
	holds  []int // MaxHold to try
	seed   uint64
}

// A trial is one reply under one set of parameters.
type trial struct {
	raw     string
	start   sotto.Start
	end     sotto.End
	maxHold int // -1 without bound
}

func (tr trial) String() string {
	return fmt.Sprintf("%q start %s end %s max_hold %d", tr.raw, tr.start, tr.end, tr.maxHold)
}

// starts returns the starts that make sense for the dialect.
func (s *suite) starts() []sotto.Start {
	starts := []sotto.Start{sotto.StartOutside, sotto.StartAuto}
	for _, m := range s.d.Markers {
		if m.Role == sotto.RoleReasoning {
			name := m.Tag
			if name == "" {
				name = m.Name
			}
			if name == "" {
				name = m.Open[0]
			}
			return append(starts, sotto.StartInside(name))
		}
	}
	return starts
}

// each checks a law on every reply under varied parameters.
func (s *suite) each(t *testing.T, replies []string, law func(testing.TB, trial)) {
	t.Helper()
	starts := s.starts()
	for i, raw := range replies {
		tr := trial{raw, starts[i%len(starts)], Ends[i/3%len(Ends)], s.holds[i/5%len(s.holds)]}
		law(t, tr)
		if t.Failed() {
			return
		}
	}
}

// Tokens returns what replies of a dialect are made of: its markers, prefixes
// of them, quotes, code, white space and letters.
func Tokens(d sotto.Dialect) []string {
	seen := map[string]bool{}
	var tokens []string
	add := func(list ...string) {
		for _, s := range list {
			if s != "" && !seen[s] {
				seen[s] = true
				tokens = append(tokens, s)
			}
		}
	}
	for _, m := range d.Markers {
		if m.Tag != "" {
			add("<"+m.Tag+">", "</"+m.Tag+">")
		}
		add(m.Open...)
		add(m.Close...)
	}
	if h := d.Header; h != nil {
		for name := range h.Channels {
			if name != "" {
				add(name)
			}
		}
		for _, list := range [][]string{h.Begin, h.Body, h.End, h.Tokens} {
			add(list...)
		}
	}
	for _, s := range append([]string(nil), tokens...) {
		add(s[:len(s)/2])
	}
	for _, m := range d.Markers {
		if m.Tag != "" {
			add("<"+m.Tag+"/>", "<"+m.Tag+` a="`)
		}
	}
	add("`", "```", "~~~", "```\n", "\n```", `"`, "'", "\n", "\n\n", " ", "x", ">", "/>", "<", "{", "é")
	return tokens
}

// random returns the i-th random reply of up to n tokens.
func (s *suite) random(i uint64, n int) string {
	rnd := rand.New(rand.NewPCG(i, s.seed))
	var b strings.Builder
	for range 1 + rnd.IntN(n) {
		k := len(s.tokens)
		if rnd.IntN(3) == 0 {
			k = max(k/3, 1) // whole markers more often
		}
		b.WriteString(s.tokens[rnd.IntN(k)])
	}
	return b.String()
}
