package dialecttest

import (
	"slices"
	"strings"
	"testing"

	"github.com/sotto-llm/sotto"
)

// A label says what a byte is: its channel, and the segment it belongs to.
type label struct {
	ch  sotto.Channel
	seg int
}

// A bound is a reading and how much of it every continuation shares.
type bound struct {
	labels []label
	agreed int
}

// meet keeps of b what another reading shares.
func (b *bound) meet(labels []label, agreed int) {
	n := min(b.agreed, agreed, len(labels))
	i := 0
	for i < n && b.labels[i] == labels[i] {
		i++
	}
	b.agreed = i
}

// An emission is a brute force over the continuations of a reply's first bytes.
type emission struct {
	s       *suite
	tokens  []string
	start   sotto.Start
	maxHold int
	ahead   int // tokens in a continuation
	tried   int // readings
}

// read returns the bound of a finished reply: what its ends share.
func (e *emission) read(t testing.TB, raw string) bound {
	var b bound
	for i, end := range Ends {
		e.tried++
		r, err := e.s.slow.read(raw, e.start, end, e.maxHold)
		if err != nil {
			t.Fatal(err)
		}
		labels := make([]label, 0, len(raw))
		for n, sg := range r.segments {
			for range sg.End - sg.Start {
				labels = append(labels, label{sg.Channel, n})
			}
		}
		if i == 0 {
			b = bound{labels, len(labels)}
			continue
		}
		b.meet(labels, len(labels))
	}
	return b
}

// future returns what all continuations of p share, p's own ends included.
func (e *emission) future(t testing.TB, p string, depth int) bound {
	b := e.read(t, p)
	if depth == 0 {
		return b
	}
	for _, tok := range e.tokens {
		c := e.future(t, p+tok, depth-1)
		b.meet(c.labels, c.agreed)
	}
	for _, rest := range e.completions(p) {
		c := e.future(t, p+rest, depth-1)
		b.meet(c.labels, c.agreed)
	}
	return b
}

// completions returns what would make the end of p a whole token.
func (e *emission) completions(p string) []string {
	var list []string
	for _, tok := range e.s.tokens {
		for n := 1; n < len(tok) && n <= len(p); n++ {
			if strings.HasSuffix(p, tok[:n]) {
				list = append(list, tok[n:])
			}
		}
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// earliestEmission: having read p, the splitter has given exactly the longest
// prefix that every continuation and end agree on.
func (s *suite) earliestEmission(t *testing.T) {
	depth, ahead, width := 2, 2, 9
	if testing.Short() {
		depth, width = 1, 7
	}
	tried, prefixes := 0, 0
	for _, start := range s.starts() {
		for _, maxHold := range s.holds {
			e := &emission{s: s, tokens: s.narrow(width), start: start, maxHold: maxHold, ahead: ahead}
			seen := map[string]bool{}
			e.walk(t, "", depth, seen)
			tried += e.tried
			prefixes += len(seen)
			if t.Failed() {
				return
			}
		}
	}
	t.Logf("%d prefixes against %d whole readings", prefixes, tried)
}

// narrow returns the tokens that the brute force uses: the first markers, a
// prefix that shares a name, and what G4 knows.
func (s *suite) narrow(width int) []string {
	var tokens []string
	if len(s.tokens) > 0 {
		tokens = append(tokens, s.tokens[:min(4, len(s.tokens))]...)
		tokens = append(tokens, tokens[0][:len(tokens[0])-1])
	}
	return append(tokens, []string{"`", "\n", "x", " ", `"`}[:max(width-len(tokens), 2)]...)
}

// walk checks every byte prefix of every sequence of up to depth tokens.
func (e *emission) walk(t *testing.T, p string, depth int, seen map[string]bool) {
	e.check(t, p, seen)
	if depth == 0 || t.Failed() {
		return
	}
	for _, tok := range e.tokens {
		for i := 1; i < len(tok); i++ {
			e.check(t, p+tok[:i], seen)
		}
		e.walk(t, p+tok, depth-1, seen)
	}
}

func (e *emission) check(t *testing.T, p string, seen map[string]bool) {
	if seen[p] || t.Failed() {
		return
	}
	seen[p] = true
	sp, err := e.s.g.NewSplitter(sotto.Options{Start: e.start, MaxHold: e.maxHold})
	if err != nil {
		t.Fatal(err)
	}
	given := 0
	for i := range len(p) {
		for _, piece := range sp.FeedString(p[i : i+1]) {
			given += len(piece.Bytes)
		}
	}
	want := e.future(t, p, e.ahead)
	// A continuation cannot be seen to differ from what it does not reach.
	agreed := min(want.agreed, len(p))
	if given != agreed {
		t.Errorf("%q start %s max_hold %d: %d bytes given, %q; all continuations agree on %d, %q",
			p, e.start, e.maxHold, given, p[:given], agreed, p[:agreed])
	}
}
