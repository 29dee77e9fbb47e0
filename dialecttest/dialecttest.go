// Package dialecttest checks a dialect against the laws that every reading keeps.
//
//	func TestMyDialect(t *testing.T) {
//		dialecttest.Run(t, myDialect)
//	}
//
// The laws are those of docs/design.md, section 2. They are checked on replies
// made of the dialect's own markers, their prefixes, quotes, code and white
// space, in random order. Each reply is also compared with a slow reader of the
// whole text, which was written from the grammar, independently of the machine.
//
// A broken law is reported by the smallest reply, cuts and dialect that were found
// to break it, as a [Case] that you can paste into a test. If the machine and the
// slow reader differ, the report names the rule of the grammar by which the slow
// reader decided.
//
// The amount of testing is counted in replies and in bytes read, never in time.
// SOTTO_EFFORT multiplies it, and -short divides it.
package dialecttest

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/dialect"
	work "github.com/sotto-llm/sotto/internal/base/effort"
)

// Ends are all the ways in which a reply can end.
var Ends = []sotto.Ending{sotto.EndUnknown, sotto.EndStopped, sotto.EndCut, sotto.EndAborted}

// Run checks every law on a dialect, as subtests. The given replies are checked
// in addition to those made from the dialect. With -short it tries fewer.
func Run(t *testing.T, d dialect.Dialect, replies ...string) {
	t.Helper()
	e := effort{replies: 1500, units: 160, search: 20 << 20}
	if testing.Short() {
		e = effort{replies: 150, units: 24, search: 2 << 20}
	}
	run(t, d, e.times(work.Times()), replies)
}

// run checks every law on a dialect, once as it is and once with bounds as small
// as its markers allow, so that short replies reach them.
func run(t *testing.T, d dialect.Dialect, e effort, replies []string) {
	t.Helper()
	t.Run("as_it_is", func(t *testing.T) { mustSuite(t, d, false).laws(t, e, replies) })
	t.Run("tight", func(t *testing.T) { mustSuite(t, tight(d), true).laws(t, e, replies) })
}

// An effort says how much is tried on a dialect.
type effort struct {
	replies int // random replies
	units   int // strings that are repeated, for linear time
	search  int // how much each brute force over continuations reads, in bytes
	depth   int // if positive, never_late reads all sequences of up to so many tokens instead
}

func (e effort) times(n int) effort {
	return effort{e.replies * n, e.units * n, e.search * n, e.depth}
}

// tight returns the dialect with the smallest MaxMarker and MaxHold, at least 16.
func tight(d dialect.Dialect) dialect.Dialect {
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
		for _, list := range [][]string{h.Begin, h.Body, h.Lead, h.End, h.Close, h.Name, h.Tokens} {
			for _, s := range list {
				d.MaxMarker = max(d.MaxMarker, len(s))
			}
		}
		h.MaxHeader = max(d.MaxMarker, 48)
		d.Header, d.MaxHold = &h, h.MaxHeader
	}
	return d
}

// A suite is a dialect and the data that its laws are checked on.
type suite struct {
	g      *sotto.Grammar
	slow   *slowGrammar
	given  dialect.Dialect // as it was given
	d      dialect.Dialect // with its defaults filled in
	tokens []string
	holds  []int // MaxHold values to try, -1 means unlimited
	starts []sotto.Beginning
	tight  bool // replies outgrow MaxHold
	read   int  // how much the brute force has read
}

func newSuite(d dialect.Dialect, tight bool) (*suite, error) {
	g, err := sotto.Compile(d)
	if err != nil {
		return nil, err
	}
	slow, err := slowCompile(d)
	if err != nil {
		return nil, err
	}
	s := &suite{g: g, slow: slow, given: d, d: g.Dialect(), tokens: Tokens(d), holds: []int{-1}, tight: tight}
	if tight { // also with white space alone
		s.holds = append(s.holds, s.d.MaxHold)
		s.tokens = append(s.tokens, strings.Repeat(" ", s.d.MaxHold), strings.Repeat("\n", s.d.MaxHold))
	}
	s.starts = startsOf(s.d)
	return s, nil
}

func mustSuite(t testing.TB, d dialect.Dialect, tight bool) *suite {
	t.Helper()
	s, err := newSuite(d, tight)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// startsOf returns the starts that make sense for a dialect: two reasoning blocks
// at most, the second of another family if there is one.
func startsOf(d dialect.Dialect) []sotto.Beginning {
	starts := []sotto.Beginning{sotto.BeginOutside, sotto.BeginAuto}
	for _, m := range d.Markers {
		if m.Role == dialect.RoleReasoning && (len(starts) == 2 || m.Rescue && len(starts) == 3) {
			name := m.Tag
			if name == "" {
				name = m.Name
			}
			if name == "" {
				name = m.Open[0]
			}
			starts = append(starts, sotto.BeginInside(name))
		}
	}
	if len(starts) == 2 && d.Header != nil {
		for _, name := range sortedNames(d.Header.Channels) {
			if name != "" && d.Header.Channels[name] == dialect.RoleReasoning {
				return append(starts, sotto.BeginInside(name))
			}
		}
	}
	return starts
}

// Tokens returns what replies of a dialect are made of: its markers, prefixes
// of them, quotes, code, white space and letters.
func Tokens(d dialect.Dialect) []string {
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
		add(sortedNames(h.Channels)...)
		for _, list := range [][]string{h.Begin, h.Body, h.End, h.Tokens, h.Lead} {
			add(list...)
		}
	}
	for _, s := range append([]string(nil), tokens...) {
		add(s[:len(s)/2])
	}
	for _, m := range d.Markers {
		if m.Tag != "" {
			add("<"+m.Tag+"/>", "<"+m.Tag+` a="`, strings.ToUpper("<"+m.Tag+">"))
		}
	}
	add("`", eightTicks, "```", "~~~", "```\n", "\n```", `"`, "'", "\n", "\n\n", " ", "x", ">", "/>", "<", "{", "é")
	return tokens
}

// eightTicks is a run that is longer than most markers: an offset that is wrong by its
// length points to the wrong side of one.
const eightTicks = "````````"

// random returns the i-th random reply of up to n tokens.
func (s *suite) random(i uint64, n int) string {
	seed := uint64(0)
	if s.tight {
		seed = 1
	}
	rnd := rand.New(rand.NewPCG(i, seed))
	var b strings.Builder
	for range 1 + rnd.IntN(n) {
		k := len(s.tokens)
		if rnd.IntN(3) == 0 {
			k = max(k/3, 1) // prefer whole markers
		}
		b.WriteString(s.tokens[rnd.IntN(k)])
	}
	return b.String()
}
