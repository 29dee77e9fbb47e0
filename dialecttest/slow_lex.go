package dialecttest

import (
	"fmt"
	"slices"
	"strings"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/dialect"
)

// This file holds the markers of a dialect with its defaults filled in, and
// recognises a marker at a position (G1).

type slowGrammar struct {
	defs    []slowDef
	lits    []slowLiteral // of all defs, and the header's tokens
	first   [256]bool     // bytes that a marker may begin with
	header  *dialect.Header
	maxHead int
	start   sotto.Beginning
	tools   []string // those that the request declares, or nil

	leading  bool // Placement
	anywhere bool // Output
	family   bool // Close
	deliver  bool // OnDoubt
	preOpens bool
	afterRea bool // AfterTool
	once     bool // Once

	code, stray        bool
	nest               bool // openers inside reasoning count, also those that are not doubled (G6)
	maxMarker, maxHold int
}

type slowDef struct {
	role    dialect.Role
	tag     string // lower case; empty for a literal
	name    string
	fam     int
	special bool
	phrase  bool
	rescue  bool
}

type slowKind uint8

const (
	kOpen   slowKind = iota
	kClose           // </x>
	kEmpty           // <x/>
	kHeader          // a token that begins a header
	kEndTok          // a token that ends a header's body
)

// A slowLiteral is a literal marker: lead and trail optional newlines around core.
type slowLiteral struct {
	def         int // -1: a header's token
	kind        slowKind
	lead, trail int
	core        string
	phrase      bool
}

type slowMark struct {
	kind       slowKind
	def        int
	start, end int
}

type tri uint8

const (
	no tri = iota
	yes
	maybe // the window ends before this is settled
)

// slowCompile fills in the defaults of a dialect.
func slowCompile(d dialect.Dialect) (*slowGrammar, error) {
	if len(d.Markers) > 64 {
		return nil, fmt.Errorf("markers: more than 64")
	}
	g := &slowGrammar{}
	g.choices(d)
	g.bounds(d)
	families := slowFamilies{}
	for i, m := range d.Markers {
		g.forms(i, m)
		g.defs = append(g.defs, families.def(m))
	}
	g.headerTokens(d.Header)
	g.byForm(d)
	return g, nil
}

// channels are the channels of the bodies of headers.
var channels = map[dialect.Role]sotto.Channel{
	dialect.RoleText: sotto.ChannelText, dialect.RoleReasoning: sotto.ChannelReasoning, dialect.RoleNarration: sotto.ChannelNarration,
	dialect.RoleTool: sotto.ChannelTool, dialect.RoleAside: sotto.ChannelAside,
}

// choices are what a dialect says where the grammar leaves a choice: G3 (placement),
// G5 (close), G7b and law 4 (on doubt), G8 (start), G10 (output), G11 (after tool).
func (g *slowGrammar) choices(d dialect.Dialect) {
	g.leading = d.Placement == dialect.PlacementLeading
	g.family = d.Close == dialect.CloseFamily
	g.deliver = d.OnDoubt == dialect.DoubtDeliver
	g.preOpens = d.PreOpens == dialect.PreOpensYes
	g.anywhere = d.Output == dialect.PlacementAnywhere && slices.ContainsFunc(d.Markers, func(m dialect.Marker) bool { return m.Role == dialect.RoleOutput })
	g.afterRea = d.AfterTool == dialect.RoleReasoning
	g.once = d.Once
	g.start = sotto.Beginning(d.Start)
	if g.start == "" {
		g.start = sotto.BeginOutside
	}
}

// bounds are those of law 4 and of headers (3a, Headers).
func (g *slowGrammar) bounds(d dialect.Dialect) {
	g.maxMarker, g.maxHold = d.MaxMarker, d.MaxHold
	if g.maxMarker == 0 {
		g.maxMarker = 128
	}
	if d.Header != nil {
		g.maxHead = d.Header.MaxHeader
		if g.maxHead == 0 {
			g.maxHead = 1024
		}
	}
}

// forms adds the forms of marker i: those of a tag, or each literal (G1).
func (g *slowGrammar) forms(i int, m dialect.Marker) {
	if m.Tag != "" {
		g.first['<'] = true
		return
	}
	for _, o := range m.Open {
		g.literal(i, kOpen, o, m.Phrase)
	}
	for _, c := range m.Close {
		g.literal(i, kClose, c, m.Phrase)
	}
}

// slowFamilies numbers the families by their roles and names.
type slowFamilies map[string]int

// def returns what is known of a marker. A marker that names no family is a family
// of its own, and markers of different roles are of different families (G2).
func (f slowFamilies) def(m dialect.Marker) slowDef {
	d := slowDef{role: m.Role, tag: asciiLower(m.Tag), name: m.Tag, special: m.Special, phrase: m.Phrase, rescue: m.Rescue}
	if m.Tag == "" {
		d.name = m.Name
		if d.name == "" && len(m.Open) > 0 {
			d.name = m.Open[0]
		}
	}
	family := m.Family
	if family == "" {
		family = d.name
	}
	family = string(m.Role) + ":" + family
	if _, ok := f[family]; !ok {
		f[family] = len(f)
	}
	d.fam = f[family]
	return d
}

// headerTokens adds the tokens that begin a header or end its body (section 4).
func (g *slowGrammar) headerTokens(h *dialect.Header) {
	if h == nil {
		return
	}
	g.header = h
	for _, t := range slices.Concat(h.Begin, h.Close) {
		g.literal(-1, kHeader, t, false)
	}
	for _, t := range h.End {
		g.literal(-1, kEndTok, t, false)
	}
}

// byForm sets what depends on the form of the markers, where the dialect does not
// say it: with a tag, strays count (G9), openers nest (G6), and code protects (G4)
// unless there is a header.
func (g *slowGrammar) byForm(d dialect.Dialect) {
	tags := slices.ContainsFunc(d.Markers, func(m dialect.Marker) bool { return m.Tag != "" })
	g.nest, g.stray, g.code = tags, tags, tags && d.Header == nil
	if d.Stray != nil {
		g.stray = *d.Stray
	}
	if d.Code != nil {
		g.code = *d.Code
	}
}

// literal adds a literal marker. The newlines at its ends are each optional, up to
// as many as are written (3a, Lexing).
func (g *slowGrammar) literal(def int, kind slowKind, text string, phrase bool) {
	core := strings.TrimLeft(text, "\n")
	lead := len(text) - len(core)
	body := strings.TrimRight(core, "\n")
	if body == "" { // a header's token may be newlines alone
		core, body, lead = text, text, 0
	}
	g.lits = append(g.lits, slowLiteral{def, kind, lead, len(core) - len(body), body, phrase})
	g.first[body[0]] = true
	if lead > 0 {
		g.first['\n'] = true
	}
}

// A slowWatch says which markers a state looks for.
type slowWatch struct {
	all    bool // every marker, and the header's tokens
	header bool // the header's tokens
	tools  bool // openers of tool blocks

	opens         bool // with reasoning: openers too
	reasoning     bool // the markers of reasoning names: of family fam, or all
	fam           int  // -1: all families
	reasoningOpen bool // the openers of every reasoning name

	output      bool // every output marker
	outputOpen  bool // output openers and <output/>
	own         int  // closes and <x/> of this def's family, or -1
	ownNoEmpty  bool // the same without its <x/>
	outputClose int  // closes of output names of this family, or -1
}

func (g *slowGrammar) watches(w *slowWatch, def int, kind slowKind) bool {
	if w.all {
		return true
	}
	if def < 0 {
		return w.header
	}
	d := &g.defs[def]
	if w.own >= 0 && g.defs[w.own].fam == d.fam && (kind == kClose || kind == kEmpty && !w.ownNoEmpty) {
		return true
	}
	switch d.role {
	case dialect.RoleTool:
		return w.tools && kind == kOpen
	case dialect.RoleReasoning:
		if w.reasoning && (w.fam < 0 || w.fam == d.fam) {
			return kind != kOpen || w.opens
		}
		return w.reasoningOpen && kind == kOpen
	case dialect.RoleOutput:
		if w.output {
			return true
		}
		if w.outputOpen && kind != kClose {
			return true
		}
		return w.outputClose == d.fam && kind == kClose
	}
	return false
}

// lex reports the longest watched marker that begins at s[i], looking no
// further than limit. If more bytes could make a marker, or a longer one, it
// reports maybe, unless the limit is the end of the reply.
func (g *slowGrammar) lex(s string, i, limit int, final bool, w *slowWatch) (slowMark, tri) {
	var best slowMark
	if !g.first[s[i]] {
		return best, no
	}
	part := false
	if s[i] == '<' {
		m, t := g.lexTag(s, i, limit, w)
		if t == yes {
			best = m
		}
		part = t == maybe
	}
	for k := range g.lits {
		l := &g.lits[k]
		if !g.watches(w, l.def, l.kind) {
			continue
		}
		end, t := l.match(s, i, limit)
		if t == yes && (end > best.end || end == best.end && g.isWrapper(l.def) && !g.isWrapper(best.def)) {
			best = slowMark{l.kind, l.def, i, end}
		}
		part = part || t == maybe
	}
	switch {
	case part && !final:
		return best, maybe
	case best.end > 0:
		return best, yes
	}
	return best, no
}

// isWrapper reports whether a def is a wrapper; of two markers with the same bytes the wrapper's counts.
func (g *slowGrammar) isWrapper(def int) bool {
	return def >= 0 && g.defs[def].role == dialect.RoleWrapper
}

func (l *slowLiteral) match(s string, i, limit int) (int, tri) {
	j := i
	for l.lead > 0 && j < limit && s[j] == '\n' {
		j++
	}
	if j-i > l.lead {
		return 0, no
	}
	have := s[j:limit]
	if len(have) < len(l.core) {
		if strings.HasPrefix(l.core, have) {
			return 0, maybe
		}
		return 0, no
	}
	if !strings.HasPrefix(have, l.core) {
		return 0, no
	}
	j += len(l.core)
	for n := 0; n < l.trail && j < limit && s[j] == '\n'; n++ {
		j++
	}
	for l.phrase && j < limit && isSpace(s[j]) {
		j++
	}
	return j, yes
}

func (g *slowGrammar) lexTag(s string, i, limit int, w *slowWatch) (slowMark, tri) {
	blanks := func(j int) int {
		for j < limit && (s[j] == ' ' || s[j] == '\t') {
			j++
		}
		return j
	}
	j := blanks(i + 1)
	kind := kOpen
	if j < limit && s[j] == '/' {
		kind = kClose
		j = blanks(j + 1)
	}
	inWord := i > 0 && isWord(s[i-1])
	part := false
	for n := range g.defs {
		d := &g.defs[n]
		if d.tag == "" || !g.watches(w, n, kind) && (kind == kClose || !g.watches(w, n, kEmpty)) {
			continue
		}
		k := 0
		upper := false
		for k < len(d.tag) && j+k < limit && lower(s[j+k]) == d.tag[k] {
			upper = upper || s[j+k] != lower(s[j+k])
			k++
		}
		if kind == kOpen && upper && inWord {
			continue
		}
		if k < len(d.tag) {
			part = part || j+k == limit && limit-i+len(d.tag)-k+1 <= g.maxMarker
			continue
		}
		end, self, t := lexRest(s, j+k, limit, d.role == dialect.RoleReasoning && kind == kOpen)
		if t == maybe {
			part = part || limit-i+lexLeft(s[j+k:limit]) <= g.maxMarker
		}
		if t != yes {
			continue
		}
		m := slowMark{kind, n, i, end}
		if self && kind == kOpen {
			m.kind = kEmpty
		}
		if end-i <= g.maxMarker && g.watches(w, n, m.kind) {
			return m, yes
		}
	}
	if part {
		return slowMark{}, maybe
	}
	return slowMark{}, no
}

// lexLeft returns the least number of bytes that a tag still needs; rest is what
// was read after its NAME.
func lexLeft(rest string) int {
	for n := 1; n < 4; n++ {
		for _, tail := range []string{">", "x>", "\">", "'>", "=x>"} {
			if len(tail) == n {
				if end, _, t := lexRest(rest+tail, 0, len(rest)+n, true); t == yes && end == len(rest)+n {
					return n
				}
			}
		}
	}
	return 4
}

// lexRest reads what may follow a tag's NAME, up to its '>'.
func lexRest(s string, j, limit int, attrs bool) (end int, self bool, t tri) {
	for {
		k := j
		for k < limit && isSpace(s[k]) {
			k++
		}
		if k == limit {
			return 0, false, maybe
		}
		if s[k] == '>' {
			return k + 1, false, yes
		}
		if s[k] == '/' {
			switch {
			case k+1 == limit:
				return 0, false, maybe
			case s[k+1] == '>':
				return k + 2, true, yes
			}
			return 0, false, no
		}
		if k == j || !attrs || !attrByte(s[k], true) {
			return 0, false, no
		}
		for k < limit && attrByte(s[k], false) {
			k++
		}
		if k == limit {
			return 0, false, maybe
		}
		if s[k] != '=' {
			return 0, false, no
		}
		k++
		if k == limit {
			return 0, false, maybe
		}
		if q := s[k]; q == '"' || q == '\'' {
			n := strings.IndexByte(s[k+1:limit], q)
			if n < 0 {
				return 0, false, maybe
			}
			j = k + 1 + n + 1
			continue
		}
		v := k
		for k < limit && !isSpace(s[k]) && strings.IndexByte("\"'`<>", s[k]) < 0 {
			k++
		}
		if k == limit {
			return 0, false, maybe
		}
		if s[k] == '>' && k > v && s[k-1] == '/' {
			k-- // the slash marks an empty block
		}
		if k == v || !isSpace(s[k]) && s[k] != '>' && s[k] != '/' {
			return 0, false, no
		}
		j = k
	}
}

func attrByte(c byte, first bool) bool {
	switch {
	case 'a' <= lower(c) && lower(c) <= 'z', c == '_', c == ':':
		return true
	}
	return !first && ('0' <= c && c <= '9' || c == '.' || c == '-')
}

func lower(c byte) byte {
	if 'A' <= c && c <= 'Z' {
		return c + 'a' - 'A'
	}
	return c
}

func asciiLower(s string) string {
	b := []byte(s)
	for i, c := range b {
		b[i] = lower(c)
	}
	return string(b)
}

func isWord(c byte) bool {
	return 'a' <= lower(c) && lower(c) <= 'z' || '0' <= c && c <= '9' || c == '_'
}

func isSpace(c byte) bool { return c == ' ' || '\t' <= c && c <= '\r' }

// hasMarker reports whether a text contains a marker's form.
func (g *slowGrammar) hasMarker(text string) bool {
	if g.header != nil {
		for _, lead := range g.header.Lead {
			if strings.Contains(text, lead) {
				return true
			}
		}
	}
	for i := range len(text) {
		if _, t := g.lex(text, i, len(text), true, &slowWatch{all: true}); t == yes {
			return true
		}
	}
	return false
}

// underWay reports whether the bytes from i on are, or may become, a marker.
func (g *slowGrammar) underWay(text string, i int) bool {
	_, t := g.lex(text, i, len(text), false, &slowWatch{all: true})
	return t != no
}
