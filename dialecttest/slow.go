package dialecttest

// The slow reader implements the grammar of docs/design.md, section 3, a second
// time. It has the whole text, looks ahead in it wherever a byte is in doubt, and
// shares nothing with the machine. Its functions name their rules.
//
//	slow.go         a reading: its state, G7a (rescue), G8 (starts), G10 (output anywhere)
//	slow_lex.go     G1, G2: the markers of a dialect, and one at a position
//	slow_text.go    G3, G4, G9, G10, G14: outer text and output bodies
//	slow_blocks.go  G5, G6, G7, G11 (reasoning, tools), G12 (narration), headers
//	slow_calls.go   G11: calls of declared tools
//	slow_views.go   G13: the views, and the diagnostics that need them

import (
	"fmt"
	"slices"
	"sort"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/dialect"
)

type slowResult struct {
	segments             []sotto.Segment // Block stays 0
	diagnostics          []sotto.Diagnostic
	visible              string
	reasoning, narration []string
	rules                []slowRule // the rule by which each byte was read
}

// A slowRule is the rule of docs/design.md, section 3, by which the bytes from a
// given byte on were read.
type slowRule struct {
	from int
	rule string
}

// ruleAt returns the rule by which byte i was read.
func (r *slowResult) ruleAt(i int) string {
	rule := "G14"
	for _, x := range r.rules {
		if x.from <= i {
			rule = x.rule
		}
	}
	return rule
}

// slowRead reads a whole reply. maxHold <= 0 means unlimited; start "" means the
// dialect's own.
func slowRead(d dialect.Dialect, raw string, start sotto.Beginning, end sotto.Ending, maxHold int) (slowResult, error) {
	g, err := slowCompile(d)
	if err != nil {
		return slowResult{}, err
	}
	return g.read(raw, start, end, maxHold)
}

func (g *slowGrammar) read(raw string, start sotto.Beginning, end sotto.Ending, maxHold int) (slowResult, error) {
	r := slowReader{g: g, s: raw, limit: len(raw), final: true, maxHold: maxHold, force: -1, rescueAt: -1, narrBlank: -1}
	r.cut = end == sotto.EndCut || end == sotto.EndAborted
	r.stopped = end == sotto.EndStopped
	r.out = newStream()
	if g.anywhere && !g.leading {
		r.mode = modeUnset
	}
	if start == "" {
		start = g.start
	}
	if err := r.begin(start); err != nil {
		return slowResult{}, err
	}
	return r.result(), nil
}

// A slowReader is a reading in progress. A copy made by fork reads ahead.
type slowReader struct {
	g            *slowGrammar
	s            string
	cut, stopped bool
	maxHold      int

	limit int  // bytes from here on are not looked at
	final bool // the limit is the reply's end
	stuck bool // what comes next depends on bytes beyond the limit
	halt  bool // stuck, or a reading ahead has found what it looked for

	pos   int
	segs  []slowSeg
	rule  string // the rule by which the next bytes are read
	rules []slowRule
	diags []sotto.Diagnostic
	block int // number of the last block opened

	out       slowStream // outer text
	mode      slowMode
	visible   bool // a visible byte that is not white space is certain
	shown     bool // the same, or outer text whose place is undecided
	delivered bool // outer text is text for good (Output anywhere)
	answered  bool // a non-blank output body was read
	families  uint64
	phrases   uint64 // used openers
	wrappers  uint64 // families of open wrappers
	narrBlank int    // the family of the last narration that a blank line ended, or -1
	literalOu bool   // an <output> kept as text stands unclosed
	padClosed bool   // a scratch pad has closed in outer text (G10)
	force     int    // the marker at this byte counts, whatever G4 says
	toolFrom  int    // 1 + the def of the reasoning block that a tool opener ended
	headed    bool   // a header was read
	inBody    int    // the block of its text body that is open, or 0
	call      int    // the block of the last body if that is a tool call, or 0
	narrating bool   // the block being read stands in a narration

	rescueDone   bool // G7a is decided for the whole reply
	rescueAt     int  // the output opener in a pad that is read again as outer text
	rescueClosed bool // that pad did close
	rescueClose  int  // where the rescue ends: at the close of that pad, or, in a cut reply, after its last output close; or -1

	// A reading ahead stops at, or collects:
	auto         bool // the first marker that settles the start
	autoRes      autoResult
	autoMark     slowMark
	stopAnswered bool
	collect      bool // pads, until a visible byte is certain
	pads         []slowPad
}

type autoResult uint8

const (
	autoNone autoResult = iota
	autoInside
	autoOutside
)

// slowMode says on which channel outer text is.
type slowMode uint8

const (
	modeText        slowMode = iota
	modeUnset                // Output anywhere, only white space so far
	modeUndecided            // reading ahead: text or aside
	modeAsideBefore          // aside: a body is known to come later
	modeExpired              // aside: the wait for a body was given up
	modeAside                // aside for good
)

// A slowPad is a block with Rescue in outer text, as G7a sees it.
type slowPad struct {
	g      *slowGrammar
	opens  []slowMark // output openers, unquoted
	closes []slowMark // output closes, unquoted
	closed bool
	end    int // where its close (or the tool opener that ends it) begins
}

// whole returns the last output opener that is followed by a close of its family.
func (p *slowPad) whole(givenUp int) (int, bool) {
	for i := len(p.opens) - 1; i >= 0; i-- {
		o := p.opens[i]
		closes := func(c slowMark) bool { return c.start > o.start && p.g.defs[c.def].fam == p.g.defs[o.def].fam }
		if o.end > givenUp && slices.ContainsFunc(p.closes, closes) {
			return o.start, true
		}
	}
	return 0, false
}

// first returns the first opener that a later close may make the last whole one.
// If none is whole, that is the last opener of its family.
func (p *slowPad) first(givenUp int) (int, bool) {
	seen := map[int]bool{}
	at, ok := 0, false
	for i := len(p.opens) - 1; i >= 0; i-- {
		if o := p.opens[i]; o.end > givenUp && !seen[p.g.defs[o.def].fam] {
			seen[p.g.defs[o.def].fam] = true
			at, ok = o.start, true
		}
	}
	return at, ok
}

func (p *slowPad) last(givenUp int) (int, bool) {
	if n := len(p.opens); n > 0 && p.opens[n-1].end > givenUp {
		return p.opens[n-1].start, true
	}
	return 0, false
}

// fork returns a copy that reads ahead.
func (r *slowReader) fork(limit int, final bool) *slowReader {
	c := *r
	c.limit, c.final = limit, final
	c.segs, c.diags, c.pads, c.rules = nil, nil, nil, nil
	return &c
}

// window returns how far a doubt that opens at p may look ahead, and whether it
// expires there.
func (r *slowReader) window(p int) (limit int, final, expires bool) {
	if r.maxHold > 0 && p+r.maxHold+1 <= r.limit {
		return p + r.maxHold + 1, false, true
	}
	return r.limit, r.final, false
}

// settle stops if there is no answer within the limit.
func (r *slowReader) settle(t tri) bool {
	if t == maybe {
		r.stuck, r.halt = true, true
	}
	return t == yes
}

// expire settles a doubt that opened at p by OnDoubt.
func (r *slowReader) expire(p int) (deliver bool) {
	r.diag(sotto.CodeHoldExpired, p, "")
	return r.g.deliver
}

func (r *slowReader) done() bool { return r.halt || r.pos >= r.limit }

// atEnd reports whether the reply itself has ended here.
func (r *slowReader) atEnd() bool { return r.final && !r.halt && r.pos >= r.limit }

func (r *slowReader) diag(c sotto.Code, offset int, reason sotto.Reason) {
	r.diags = append(r.diags, sotto.Diagnostic{Code: c, Offset: offset, Reason: reason})
}

func (r *slowReader) open(def int) int {
	r.block++
	r.families |= 1 << r.g.defs[def].fam
	return r.block
}

// white reports whether byte i is white space; a BOM at byte 0 counts as such.
func (r *slowReader) white(i int) bool {
	return isSpace(r.s[i]) || i < 3 && len(r.s) >= 3 && r.s[:3] == "\xef\xbb\xbf"
}

// begin reads the reply by G8.
func (r *slowReader) begin(start sotto.Beginning) error {
	switch {
	case start == sotto.BeginOutside:
		r.outer()
		return nil
	case start == sotto.BeginAuto:
		r.beginAuto()
		return nil
	case start == sotto.BeginInsideFirst:
		for i, d := range r.g.defs {
			if d.role == dialect.RoleReasoning {
				r.beginInside(i)
				return nil
			}
		}
		if r.g.header != nil {
			r.headed = true
			r.headerBody(sotto.ChannelReasoning, -1)
			r.outer()
			return nil
		}
		return fmt.Errorf("start %q: no reasoning block", start)
	case len(start) > 7 && start[:7] == "inside:":
		name := string(start[7:])
		for i, d := range r.g.defs {
			if d.name == name {
				r.beginInside(i)
				return nil
			}
		}
		if r.g.header != nil {
			if ch, ok := r.g.header.Channels[name]; ok {
				r.headed = true
				r.headerBody(channels[ch], -1)
				r.outer()
				return nil
			}
		}
		return fmt.Errorf("start %q: no such block", start)
	}
	return fmt.Errorf("start %q", start)
}

// beginInside reads a reply whose template opened a block (G8).
func (r *slowReader) beginInside(def int) {
	r.by("G8")
	d := &r.g.defs[def]
	r.phrases |= 1 << def
	switch d.role {
	case dialect.RoleReasoning:
		b := slowBlock{def: def, fam: d.fam, own: 1 << def, id: r.open(def), implicit: true, phrase: d.phrase, force: -1}
		b.pad = d.rescue
		r.reasoningBlock(&b, &r.out)
	case dialect.RoleNarration:
		r.narration(slowMark{kOpen, def, 0, 0}, &r.out, nil)
	case dialect.RoleOutput:
		r.body(slowMark{kOpen, def, 0, 0})
	case dialect.RoleTool:
		r.tool(slowMark{kOpen, def, 0, 0}, &r.out)
	case dialect.RoleWrapper:
		r.open(def)
		r.wrappers |= 1 << d.fam
	}
	r.out.afterMarker = true
	r.outer()
}

// beginAuto reads a reply whose start is unknown (G8).
func (r *slowReader) beginAuto() {
	r.by("G8")
	if !r.g.hasOrphans() {
		r.outer()
		return
	}
	limit, final, expires := r.window(0)
	c := r.fork(limit, final)
	c.auto = true
	if c.mode == modeUnset {
		c.mode = modeUndecided
	}
	c.outer()
	switch {
	case c.autoRes == autoInside:
		m := c.autoMark
		if n, got := r.g.lex(r.s, m.start, r.limit, r.final, &slowWatch{all: true}); got == yes && n.def == m.def {
			m = n // with the newlines that follow it
		}
		id := 1
		if m.def < 0 {
			r.block, r.headed = 1, true
		} else {
			id = r.open(m.def)
		}
		r.bytes(sotto.ChannelReasoning, id, false, 0, m.start)
		r.diag(sotto.CodeOrphanClose, m.start, "")
		r.padClosed = m.def >= 0 && r.g.defs[m.def].rescue
		r.mark(sotto.ChannelMarkup, id, false, m)
		r.out.afterMarker = true
	case c.autoRes == autoOutside:
	case expires && r.expire(0):
	case expires, r.cut && r.g.preOpens && !r.g.deliver:
		r.unsettled()
	}
	r.outer()
}

// unsettled reads a reply whose start no marker settles, inside a block that any
// close of reasoning ends.
func (r *slowReader) unsettled() {
	if !r.hasReasoning() {
		r.headed = true
		r.headerBody(sotto.ChannelReasoning, -1)
		return
	}
	r.phrases = ^uint64(0)
	b := slowBlock{def: -1, fam: -1, own: ^uint64(0), implicit: true, force: -1}
	r.block++
	b.id = r.block
	for _, d := range r.g.defs {
		if d.role == dialect.RoleReasoning {
			r.families |= 1 << d.fam
		}
	}
	r.reasoningBlock(&b, &r.out)
	r.out.afterMarker = true
}

// hasOrphans reports whether a close can be an orphan: a token that ends a header's
// body, or a close of reasoning that is not a phrase's and has not the bytes of a
// wrapper's marker (3a, Auto).
func (g *slowGrammar) hasOrphans() bool {
	if g.header != nil && len(g.header.End) > 0 {
		return true
	}
	for _, d := range g.defs {
		if d.role == dialect.RoleReasoning && d.tag != "" {
			return true
		}
	}
	for _, l := range g.lits {
		if l.def < 0 || l.kind != kClose || l.phrase || g.defs[l.def].role != dialect.RoleReasoning {
			continue
		}
		if !slices.ContainsFunc(g.lits, func(w slowLiteral) bool {
			return g.isWrapper(w.def) && w.core == l.core && w.lead == l.lead && w.trail == l.trail
		}) {
			return true
		}
	}
	return false
}

// hasReasoning reports whether a marker of the dialect opens reasoning (G8, expiry).
func (r *slowReader) hasReasoning() bool {
	for _, d := range r.g.defs {
		if d.role == dialect.RoleReasoning {
			return true
		}
	}
	return false
}

// decideOutput is G10 with Output anywhere. At the first outer byte p that is not
// white space, it settles on which channel outer text is. Reading ahead begins at from.
func (r *slowReader) decideOutput(p, from int) {
	limit, final, expires := r.window(p)
	c := r.fork(limit, final)
	c.mode, c.stopAnswered, c.pos = modeUndecided, true, from
	c.outer()
	switch {
	case c.answered:
		r.mode = modeAsideBefore
	case expires:
		r.mode = modeExpired
		if r.expire(p) {
			r.mode, r.delivered = modeText, true
		}
	case !final:
		r.settle(maybe)
	default:
		r.mode = modeUndecided // a rescue may still make it aside
	}
}

// decideRescue settles G7a once, at the first pad, which b has just opened.
func (r *slowReader) decideRescue(b slowBlock) {
	r.rescueDone, r.rescueAt, r.rescueClose, r.rescueClosed = true, -1, -1, false
	ahead := func(limit int, final bool) *slowReader {
		c := r.fork(limit, final)
		c.collect = true
		bb := b
		c.reasoningBlock(&bb, &c.out)
		c.outer()
		return c
	}
	all := ahead(r.limit, r.final)
	givenUp := -1
	for _, p := range all.pads {
		for _, o := range p.opens {
			limit, _, expires := r.window(o.start)
			if !expires || o.end <= givenUp {
				continue
			}
			c := ahead(limit, false)
			if at, pad := c.candidate(givenUp); at != o.start {
				continue
			} else if r.expire(o.start) {
				r.rescueAt = at
				if pad.closed {
					r.rescueClose, r.rescueClosed = pad.end, true
				}
				return
			}
			givenUp = limit
		}
	}
	if !r.final || all.visible {
		return
	}
	n := len(all.pads)
	if p := &all.pads[n-1]; !p.closed {
		at, ok := p.whole(givenUp)
		if !r.cut {
			at, ok = p.last(givenUp)
		} else if ok {
			r.rescueClose = r.core(p.closes[len(p.closes)-1])
		}
		if ok {
			r.rescueAt = at
			return
		}
	}
	for i := n - 1; i >= 0 && !r.cut; i-- {
		if p := &all.pads[i]; p.closed {
			if at, ok := p.whole(givenUp); ok {
				r.rescueAt, r.rescueClose, r.rescueClosed = at, p.end, true
				return
			}
		}
	}
}

// candidate is G7a on expiry. It returns the first opener at which some
// continuation of the bytes read so far would rescue, and its pad.
func (r *slowReader) candidate(givenUp int) (int, *slowPad) {
	if r.visible {
		return -1, nil
	}
	n := len(r.pads)
	if p := &r.pads[n-1]; !p.closed { // it takes over from those before it
		if at, ok := p.whole(givenUp); ok {
			return at, p
		}
	}
	for i := range r.pads { // the earliest is the last whole closed pad, if any
		p := &r.pads[n-1-i]
		if p.closed {
			if at, ok := p.whole(givenUp); ok {
				return at, p
			}
		}
	}
	if p := &r.pads[n-1]; !p.closed {
		if at, ok := p.first(givenUp); ok {
			return at, p
		}
	}
	return -1, nil
}

// by sets the rule by which the next bytes are read.
func (r *slowReader) by(rule string) { r.rule = rule }

// note records the rule of the bytes from byte i on.
func (r *slowReader) note(i int) {
	if n := len(r.rules); n == 0 || r.rules[n-1].rule != r.rule {
		r.rules = append(r.rules, slowRule{i, r.rule})
	}
}

// result sorts the diagnostics (section 3a) and computes the views (G13).
func (r *slowReader) result() slowResult {
	var res slowResult
	for _, g := range r.segs {
		res.segments = append(res.segments, sotto.Segment{Channel: g.ch, Output: g.output, Start: g.start, End: g.end})
	}
	res.rules = r.rules
	r.views(&res)
	sort.SliceStable(r.diags, func(i, j int) bool {
		a, b := r.diags[i], r.diags[j]
		if a.Offset != b.Offset {
			return a.Offset < b.Offset
		}
		return codeRank[a.Code] < codeRank[b.Code]
	})
	for i, d := range r.diags {
		if i == 0 || d != r.diags[i-1] {
			res.diagnostics = append(res.diagnostics, d)
		}
	}
	return res
}

var codeRank = map[sotto.Code]int{
	sotto.CodeTruncated: 0, sotto.CodeRescued: 1, sotto.CodeNested: 2, sotto.CodeMismatchedClose: 3,
	sotto.CodeOrphanClose: 4, sotto.CodeStrayClose: 5, sotto.CodeUnclosedOutput: 6, sotto.CodeUnclosedNarration: 7,
	sotto.CodeAssumedUnclosed: 8, sotto.CodeLiteralMarker: 9, sotto.CodeSplicedMarker: 10,
	sotto.CodeHoldExpired: 11, sotto.CodeUnknownChannel: 12, sotto.CodeMissingReasoning: 13,
	sotto.CodeLateReasoning: 14, sotto.CodeRepeatedReasoning: 15, sotto.CodeNoVisibleAnswer: 16,
}
