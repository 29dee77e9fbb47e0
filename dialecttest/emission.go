package dialecttest

import (
	"fmt"
	"iter"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/dialect"
)

// A label says what a byte is: its channel, and the segment it belongs to.
type label struct {
	ch  sotto.Channel
	seg int
}

// A bound is a reading, and how much of it every continuation shares.
type bound struct {
	labels  []label
	agreed  int
	visible string // the common beginning of the visible texts
}

// meet reduces b to what another reading shares with it.
func (b *bound) meet(c bound) {
	n := min(b.agreed, c.agreed, len(c.labels))
	i := 0
	for i < n && b.labels[i] == c.labels[i] {
		i++
	}
	b.agreed = i
	n = min(len(b.visible), len(c.visible))
	for i = 0; i < n && b.visible[i] == c.visible[i]; {
		i++
	}
	b.visible = b.visible[:i]
}

// An emission is a brute-force search over the continuations of a reply's first bytes.
type emission struct {
	s       *suite
	tokens  []string
	start   sotto.Beginning
	maxHold int
}

// shortReading is what reading an empty reply costs, in bytes read.
const shortReading = 25

// read returns the bound of a finished reply: what its readings under all ends
// share. An aborted reply is read as a cut one.
func (e *emission) read(raw string) bound {
	e.s.read += len(Ends[:3]) * (len(raw) + shortReading)
	var b bound
	for i, end := range Ends[:3] {
		r, err := e.s.slow.read(raw, e.start, end, e.maxHold)
		if err != nil {
			panic(err)
		}
		labels := make([]label, 0, len(raw))
		for n, sg := range r.segments {
			for range sg.End - sg.Start {
				labels = append(labels, label{sg.Channel, n})
			}
		}
		c := bound{labels, len(labels), r.visible}
		if i == 0 {
			b = c
			continue
		}
		b.meet(c)
	}
	return b
}

// future returns what all continuations of p share, including the ends of p itself.
func (e *emission) future(p string, depth int) bound {
	b := e.read(p)
	if depth == 0 {
		return b
	}
	for _, tok := range e.tokens {
		b.meet(e.future(p+tok, depth-1))
	}
	for _, rest := range e.completions(p) {
		b.meet(e.future(p+rest, depth-1))
	}
	return b
}

// completions returns the strings that would make the end of p a whole token.
func (e *emission) completions(p string) []string {
	var list []string
	if i := strings.LastIndexByte(p, '<'); i >= 0 && len(p)-i < e.s.d.MaxMarker {
		list = append(list, ">", "/>", "=x>", `">`, "'>") // whatever a tag may still need
		name := strings.TrimLeft(p[i+1:], " \t/")
		for _, m := range e.s.d.Markers {
			if len(name) < len(m.Tag) && strings.EqualFold(name, m.Tag[:len(name)]) {
				list = append(list, m.Tag[len(name):]+">")
			}
		}
	}
	for _, tok := range slices.Concat(e.tokens, e.s.tokens, []string{"<function="}) { // which may follow a tool opener
		for n := 1; n < len(tok) && n <= len(p); n++ {
			if strings.HasSuffix(p, tok[:n]) {
				list = append(list, tok[n:])
			}
		}
	}
	if run := longFence.FindAllString(p, -1); run != nil { // longer than that of the alphabets
		list = append(list, "\n"+run[len(run)-1]+"\n")
	}
	slices.Sort(list)
	return slices.Compact(list)
}

var longFence = regexp.MustCompile("````+|~~~+")

// earliest is law 3: having read a prefix, the splitter has given exactly the
// longest part of it that every continuation and end agree on.
func (s *suite) earliest(tr trial) *fault {
	e := &emission{s: s, tokens: tr.tokens, start: tr.start, maxHold: tr.maxHold}
	sp := s.splitter(tr)
	given, visible := 0, ""
	for i := range len(tr.raw) {
		for _, piece := range sp.FeedString(tr.raw[i : i+1]) {
			given += len(piece.Bytes)
			visible += string(piece.Visible)
		}
	}
	want := e.future(tr.raw, ahead)
	// A continuation that does not reach a byte cannot show a difference there.
	agreed := min(want.agreed, len(tr.raw))
	if given > agreed || given < agreed && !e.mayWait(tr.raw, given, want) {
		return tr.fault("%d bytes given, %q; all continuations agree on %d, %q", given, tr.raw[:given], agreed, tr.raw[:agreed])
	}
	if !strings.HasPrefix(want.visible, visible) {
		return tr.fault("shows %q; all continuations agree on %q", visible, want.visible)
	}
	return nil
}

// neverLate is the half of law 3 that needs no search to the end: what the splitter
// holds, some continuation reads differently. The other half, that it gives nothing
// too early, follows where pieces agree with the whole reading.
func (s *suite) neverLate(tr trial) *fault {
	e := &emission{s: s, tokens: tr.tokens, start: tr.start, maxHold: tr.maxHold}
	sp := s.splitter(tr)
	for i := range len(tr.raw) {
		sp.FeedString(tr.raw[i : i+1])
	}
	given := len(tr.raw) - sp.Held()
	if given == len(tr.raw) {
		return nil
	}
	b := e.read(tr.raw)
	if e.parts(&b, tr.raw, given, ahead) || e.mayWait(tr.raw, given, b) {
		return nil
	}
	e.tokens = s.tokens // what the alphabet lacks, such as a brace after a tool opener
	if e.parts(&b, tr.raw, given, ahead) {
		return nil
	}
	return tr.fault("%d bytes given, %q; all continuations agree on %d, %q", given, tr.raw[:given], b.agreed, tr.raw[:b.agreed])
}

// parts reports whether b agrees on no more than the given bytes once the
// continuations of p have been met.
func (e *emission) parts(b *bound, p string, given, depth int) bool {
	if b.agreed <= given {
		return true
	}
	if depth == 0 {
		return false
	}
	next := append(e.completions(p), e.tokens...)
	for _, tok := range next {
		if b.meet(e.read(p + tok)); b.agreed <= given {
			return true
		}
	}
	for _, tok := range next {
		if e.parts(b, p+tok, given, depth-1) {
			return true
		}
	}
	return false
}

// mayWait reports whether the bytes from byte given on, which all continuations
// agree on, are among those that law 3 lets wait: an unfinished marker of which its
// point (a) says so, and a doubt that will expire undecided.
func (e *emission) mayWait(raw string, given int, want bound) bool {
	if e.maxHold > 0 && len(raw) <= given+e.maxHold {
		long := *e
		long.maxHold = -1
		for _, long.start = range []sotto.Beginning{e.start, sotto.BeginOutside} { // auto may have expired
			if b := long.read(raw); long.parts(&b, raw, given, ahead) {
				return true
			}
		}
	}
	if e.s.mayGrow(raw, given) {
		return true
	}
	if _, got := e.s.slow.lex(raw, given, len(raw), false, &slowWatch{all: true}); got != maybe {
		return false
	}
	ch := want.labels[given].ch
	line := raw[strings.LastIndexByte(raw[:given], '\n')+1 : given]
	if e.tagFillsMarker(raw[given:]) || e.withinMarker(raw, given) {
		return true
	}
	return ch == sotto.ChannelTool || len(line) >= 3 && strings.Trim(line, "`~ \t") == "" || e.literalMayWait(raw, given, ch)
}

// tagFillsMarker reports whether an unfinished tag has so much white space in it that
// the longest name no longer fits into MaxMarker.
func (e *emission) tagFillsMarker(form string) bool {
	longest := 0
	for _, m := range e.s.d.Markers {
		longest = max(longest, len(m.Tag))
	}
	return form[0] == '<' && strings.ContainsAny(form, " \t\n\v\f\r") && len(form)+longest+len("/>") > e.s.d.MaxMarker
}

// withinMarker reports whether byte given is within an unfinished marker that began
// before it, and whose first bytes were given as text.
func (e *emission) withinMarker(raw string, given int) bool {
	for i := max(0, len(raw)-e.s.d.MaxMarker); i < given; i++ {
		if _, got := e.s.slow.lex(raw, i, len(raw), false, &slowWatch{all: true}); got == maybe {
			return true
		}
	}
	return false
}

// literalMayWait reports whether a literal that begins at byte given is unfinished
// and changes nothing: an opener in reasoning, a phrase, or what follows the newlines
// of a marker that were given.
func (e *emission) literalMayWait(raw string, given int, ch sotto.Channel) bool {
	for _, l := range e.s.slow.lits {
		if !strings.HasPrefix(l.core, raw[given:]) {
			continue
		}
		if l.phrase || l.kind == kOpen && ch == sotto.ChannelReasoning || l.lead > 0 && given > 0 && raw[given-1] == '\n' {
			return true
		}
	}
	return false
}

// ahead is the number of tokens in a continuation.
const ahead = 2

// emissionTrials returns prefixes of sequences of tokens, whole and cut within the
// last token, with the alphabets that continue them: first all sequences of one
// token, then random ones of two and three. They end when the brute force has read
// the given number of bytes.
func (s *suite) emissionTrials(search int) iter.Seq[trial] {
	return func(yield func(trial) bool) {
		combos := s.emissionCombos()
		seen := map[string]bool{}
		rnd := rand.New(rand.NewPCG(5, uint64(len(combos))))
		s.read = 0
		for n := 0; s.read < search && n < 1<<20; n++ {
			i := n % len(combos)
			c := combos[i]
			p := c.prefix(n/len(combos), rnd)
			// The last token is cut too, at a byte within it.
			for _, raw := range []string{p, p[:len(p)-rnd.IntN(min(len(p), 8)+1)]} {
				if key := fmt.Sprint(i, raw); !seen[key] && len(raw) < 256 {
					seen[key] = true
					c.raw = raw
					s.read += len(raw) + shortReading // also where the law need not read on
					if !yield(c) {
						return
					}
				}
			}
		}
	}
}

// prefix returns the reply of a round: none, each token, then two or three random
// ones.
func (tr trial) prefix(round int, rnd *rand.Rand) string {
	switch {
	case round == 0:
		return ""
	case round <= len(tr.tokens):
		return tr.tokens[round-1]
	}
	p := ""
	for range 2 + rnd.IntN(2) {
		p += tr.tokens[rnd.IntN(len(tr.tokens))]
	}
	return p
}

// emissionCombos returns a trial without a reply for each alphabet, start and hold.
func (s *suite) emissionCombos() []trial {
	var combos []trial
	for _, tokens := range s.alphabets() {
		for _, start := range s.starts {
			for _, hold := range s.holds {
				combos = append(combos, trial{start: start, maxHold: hold, tokens: tokens})
			}
		}
	}
	return combos
}

// lateTrials returns all sequences of up to n tokens, whole and cut at each byte of
// their last token.
func (s *suite) lateTrials(n int) iter.Seq[trial] {
	return func(yield func(trial) bool) {
		more := true
		for _, c := range s.emissionCombos() {
			for n := range n {
				sequences(c.tokens, n+1, "", func(p, last string) {
					for cut := range min(len(last), 16) {
						c.raw = p[:len(p)-cut]
						more = more && yield(c)
					}
				})
			}
		}
	}
}

// sequences calls f with each sequence of n tokens after a prefix, and its last token.
func sequences(tokens []string, n int, prefix string, f func(p, last string)) {
	for _, tok := range tokens {
		if n == 1 {
			f(prefix+tok, tok)
		} else {
			sequences(tokens, n-1, prefix+tok, f)
		}
	}
}

// alphabets returns the sets of tokens that the brute force combines: markers
// that meet in a rule, a prefix that shares a name, and the characters of G4.
func (s *suite) alphabets() [][]string {
	a := alphabets{s: s, byRole: map[dialect.Role][]dialect.Marker{}}
	for _, m := range s.d.Markers {
		a.byRole[m.Role] = append(a.byRole[m.Role], m)
	}
	for i, m := range a.byRole[dialect.RoleReasoning] {
		if first := a.byRole[dialect.RoleReasoning][0]; i > 0 && s.suiteFamily(m) == s.suiteFamily(first) || i > 2 {
			continue
		}
		tokens := a.family(m)
		a.add(tokens, append([]string{`"`}, aroundMarkers...)...)
		if i == 0 {
			a.firstReasoning(tokens)
		}
	}
	a.pad()
	a.narration()
	a.header()
	if len(a.all) == 0 {
		a.all = append(a.all, aroundMarkers)
	}
	return a.all
}

// An alphabets collects sets of tokens of a dialect.
type alphabets struct {
	s      *suite
	byRole map[dialect.Role][]dialect.Marker
	all    [][]string
}

// aroundMarkers are the tokens that most sets have beside markers.
var aroundMarkers = []string{"`", "\n", " ", "x"}

// add adds a set: tokens, a prefix of the first one, and more.
func (a *alphabets) add(tokens []string, more ...string) {
	if len(tokens) == 0 {
		return
	}
	if a.s.d.Output == dialect.PlacementAnywhere {
		more = append(more, "<output>x")
	}
	prefix := tokens[0][:len(tokens[0])-1]
	a.all = append(a.all, slices.Compact(slices.Concat(tokens, []string{prefix}, more)))
}

// markerForms returns an opener and a close of a marker.
func markerForms(m dialect.Marker) []string {
	if m.Tag != "" {
		return []string{"<" + m.Tag + ">", "</" + m.Tag + ">"}
	}
	list := slices.Concat(m.Open[:min(1, len(m.Open))], m.Close[:min(1, len(m.Close))])
	for i, s := range list {
		list[i] = strings.Trim(s, "\n")
	}
	return list
}

// family returns the forms of a reasoning marker and of another one of its family.
func (a *alphabets) family(m dialect.Marker) []string {
	tokens := markerForms(m)
	for _, n := range a.byRole[dialect.RoleReasoning] {
		if n.Tag != m.Tag && a.s.suiteFamily(n) == a.s.suiteFamily(m) {
			return append(tokens, markerForms(n)...)
		}
	}
	return tokens
}

// firstReasoning adds the dialect's first reasoning marker in a fence, with a marker
// of each other role, and with white space that outgrows a tight bound.
func (a *alphabets) firstReasoning(tokens []string) {
	if a.s.tight {
		a.add(tokens, strings.Repeat(" ", a.s.d.MaxHold), "\n", "x")
	}
	first := tokens[:min(2, len(tokens))]
	a.add(first, "```\n", "\n```", "\n", "x")
	for _, role := range []dialect.Role{dialect.RoleTool, dialect.RoleWrapper, dialect.RoleNarration, dialect.RoleOutput} {
		if list := a.byRole[role]; len(list) > 0 {
			a.add(slices.Concat(markerForms(list[0]), first), append([]string{"{"}, aroundMarkers...)...)
		}
	}
}

// pad adds a scratch pad and an output block (G7a).
func (a *alphabets) pad() {
	reasoning, output := a.byRole[dialect.RoleReasoning], a.byRole[dialect.RoleOutput]
	i := slices.IndexFunc(reasoning, func(m dialect.Marker) bool { return m.Rescue })
	if i < 0 || len(output) == 0 {
		return
	}
	pad := markerForms(reasoning[i])
	a.add(slices.Concat(markerForms(output[0]), pad), aroundMarkers...)
	if a.s.tight {
		a.add(append(markerForms(output[0]), pad[1]), strings.Repeat("\n", a.s.d.MaxHold), " ", "x")
	}
}

// narration adds narration, an output block and reasoning, which may stand in both.
func (a *alphabets) narration() {
	n, o := a.byRole[dialect.RoleNarration], a.byRole[dialect.RoleOutput]
	if len(n) == 0 || len(o) == 0 {
		return
	}
	tokens := slices.Concat(markerForms(n[0]), markerForms(o[0]))
	if r := a.byRole[dialect.RoleReasoning]; len(r) > 0 {
		tokens = append(tokens, markerForms(r[0])...)
	}
	a.add(tokens, "\n", " ", "x")
}

// header adds the tokens of a header, and text that is as long as a header may be.
func (a *alphabets) header() {
	h := a.s.d.Header
	if h == nil {
		return
	}
	tokens := []string{h.Begin[0], h.Body[0], strings.Repeat("x", h.MaxHeader), "x"}
	if len(h.End) > 0 {
		tokens = append(tokens, h.End[0])
	}
	tokens = append(tokens, sortedNames(h.Channels)...)
	tokens = slices.DeleteFunc(tokens, func(s string) bool { return s == "" })
	a.add(tokens[:min(len(tokens), 8)])
}

func (s *suite) suiteFamily(m dialect.Marker) string {
	if m.Family != "" {
		return m.Family
	}
	return m.Tag + m.Name
}

// mayGrow reports whether a literal that has been read, and that ends after byte given,
// may turn out to be part of a longer one. The shorter waits until the longer has
// failed, even if both would read the same. The longer begins at byte given or before
// it, or, in a header that begins there, after it.
func (s *suite) mayGrow(raw string, given int) bool {
	all := s.literals()
	last := given
	if s.d.Header != nil {
		last = len(raw) - 1
	}
	for i := range last + 1 {
		under := strings.TrimLeft(raw[i:], "\n")
		for _, long := range all {
			if len(under) >= len(long) || !strings.HasPrefix(long, under) {
				continue
			}
			for _, short := range all {
				if k := strings.LastIndex(under, short); k >= 0 && len(raw)-len(under)+k+len(short) > given {
					return true
				}
			}
		}
	}
	return false
}

// literals returns the literals and tokens of the dialect, without the newlines at
// their ends.
func (s *suite) literals() []string {
	var all []string
	for _, m := range s.d.Markers {
		for _, text := range slices.Concat(m.Open, m.Close) {
			all = append(all, strings.Trim(text, "\n"))
		}
	}
	if h := s.d.Header; h != nil {
		all = slices.Concat(all, h.Begin, h.Body, h.Lead, h.End, h.Close)
	}
	return all
}
