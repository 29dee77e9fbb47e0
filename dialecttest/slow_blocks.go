package dialecttest

import (
	"slices"
	"strings"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/dialect"
)

// Blocks: reasoning (G5–G7, G11), narration (G12), output bodies, tools, headers.

// A slowBlock is an open reasoning block.
type slowBlock struct {
	def, fam int // -1: every reasoning name
	own      uint64
	id       int
	start    int // of its opener
	lastOpen int // end of its opener or of the last duplicate
	unpaid   int
	implicit bool // no opener: the template's, or assumed
	resumed  bool // no opener: it resumes after a tool call
	phrase   bool
	pad      bool // G7a concerns it
	force    int  // the close that ends it is known to be here, or -1
}

func (b *slowBlock) watch(g *slowGrammar) slowWatch {
	w := slowWatch{reasoning: true, fam: b.fam, tools: true, own: -1, outputClose: -1, output: b.pad, opens: g.nest}
	return w
}

// reasoning opens a reasoning block at its marker (G2, G7a).
func (r *slowReader) reasoning(m slowMark, t *slowStream, bd *slowBody) {
	d := &r.g.defs[m.def]
	b := slowBlock{def: m.def, fam: d.fam, own: 1 << m.def, start: m.start, lastOpen: m.end, phrase: d.phrase, force: -1}
	b.id = r.open(m.def)
	b.pad = d.rescue && t == &r.out && bd == nil && !r.visible && !r.narrating
	r.phrases |= 1 << m.def
	r.mark(sotto.ChannelMarkup, b.id, false, m)
	r.reasoningBlock(&b, t)
}

// reasoningBlock reads from the end of the block's opener to the end of the block
// (G5, G6, G7, G11).
func (r *slowReader) reasoningBlock(b *slowBlock, t *slowStream) {
	var pad *slowPad
	if b.pad {
		if r.collect {
			r.pads = append(r.pads, slowPad{g: r.g})
			pad = &r.pads[len(r.pads)-1]
		} else if !r.rescueDone {
			r.decideRescue(*b)
		}
	}
	w := b.watch(r.g)
	for !r.done() {
		ended := false
		w.opens = r.g.nest || !b.phrase && r.onlyWhite(b.lastOpen, r.pos) // doubled ones count in every dialect
		m, got := r.g.lex(r.s, r.pos, r.limit, r.final, &w)
		switch got {
		case maybe:
			r.settle(maybe)
			return
		case yes:
			ended = r.reasoningMarker(b, t, pad, m)
		default:
			r.by("G11")
			r.think(b, 1)
		}
		if ended || r.halt {
			return
		}
	}
	if r.atEnd() {
		switch {
		case b.implicit:
			r.diag(sotto.CodeAssumedUnclosed, 0, "")
		case !b.resumed || r.pos > b.start:
			r.diag(sotto.CodeTruncated, b.start, "")
		}
	}
}

// think takes n bytes as reasoning (G11).
func (r *slowReader) think(b *slowBlock, n int) {
	r.bytes(sotto.ChannelReasoning, b.id, false, r.pos, r.pos+n)
	r.pos += n
}

// thinkMarker takes a marker as reasoning. The newlines after it are ordinary bytes, as
// after a literal marker in text: the next marker may begin with them (3a, Lexing).
func (r *slowReader) thinkMarker(b *slowBlock, m slowMark) { r.think(b, r.core(m)-m.start) }

// reasoningMarker takes a marker that stands in a reasoning block (G5, G6, G7a, G11).
// It reports whether the block ends.
func (r *slowReader) reasoningMarker(b *slowBlock, t *slowStream, pad *slowPad, m slowMark) (ends bool) {
	d := &r.g.defs[m.def]
	quoted := false
	if !r.g.family || d.role != dialect.RoleReasoning || m.kind == kOpen { // else a quoted close is sure too
		quoted = r.settle(r.quoted(m, r.limit, r.final))
	}
	if r.halt {
		return true
	}
	switch {
	case d.role == dialect.RoleOutput:
		return r.outputInPad(b, t, pad, m, quoted)
	case d.role == dialect.RoleTool:
		return r.toolInReasoning(b, pad, m)
	case m.kind == kOpen:
		r.openerInReasoning(b, m, quoted)
		return false
	case r.closes(b, m, quoted):
		if pad != nil {
			pad.closed, pad.end = true, m.start
		}
		if b.own&(1<<m.def) == 0 {
			r.diag(sotto.CodeMismatchedClose, m.start, "")
		}
		r.padClosed = r.padClosed || d.rescue && t == &r.out && !r.narrating
		r.mark(sotto.ChannelMarkup, b.id, false, m)
		t.afterMarker = true
		return true
	case !r.halt:
		b.unpaid = max(0, b.unpaid-1)
		r.thinkMarker(b, m)
	}
	return false
}

// outputInPad takes an output marker in a pad: reasoning, or the beginning of the
// output block that is rescued (G7a).
func (r *slowReader) outputInPad(b *slowBlock, t *slowStream, pad *slowPad, m slowMark, quoted bool) (ends bool) {
	if pad != nil && !quoted && m.kind == kOpen {
		pad.opens = append(pad.opens, m)
	} else if pad != nil && !quoted && m.kind == kClose {
		pad.closes = append(pad.closes, m)
	}
	if !b.pad || r.collect || m.start != r.rescueAt {
		r.thinkMarker(b, m)
		return false
	}
	r.rescueAt = -1
	r.by("G7a")
	r.diag(sotto.CodeRescued, m.start, "")
	t.removed()
	if r.rescueClose < 0 {
		r.body(m)
	} else { // read as a reply that ends where the pad closes
		limit, final, cut, stopped := r.limit, r.final, r.cut, r.stopped
		r.limit, r.final, r.cut, r.stopped = r.rescueClose, true, false, true
		r.body(m)
		r.limit, r.final, r.cut, r.stopped = limit, final, cut, stopped
	}
	if r.rescueClose < r.pos || r.halt {
		return true // the rest is outer text
	}
	if !r.rescueClosed {
		r.endRescue()
	}
	b.id = r.open(b.def) // the rest is a block of its own
	b.force = r.rescueClose
	if !r.rescueClosed {
		b.force = len(r.s) + 1
	}
	return false
}

// endRescue gives the output close at which a rescue in a cut reply ends the newlines
// that follow it. They belong to it only if it is markup (3a, Lexing).
func (r *slowReader) endRescue() {
	last := &r.segs[len(r.segs)-1]
	if !last.marker || last.end != r.rescueClose {
		return
	}
	if m, got := r.g.lex(r.s, last.start, r.limit, r.final, &slowWatch{all: true}); got == yes && m.end > last.end {
		last.end, r.pos, r.rescueClose = m.end, m.end, m.end
	}
}

// toolInReasoning takes a tool opener, which may end the block (G11).
func (r *slowReader) toolInReasoning(b *slowBlock, pad *slowPad, m slowMark) (ends bool) {
	r.by("G11")
	limit, final, expires := r.window(m.start)
	got := r.toolEnds(m, limit, final)
	if got == maybe && expires {
		got = no
		if r.expire(m.start) {
			got = yes
		}
	}
	if r.settle(got) {
		if pad != nil {
			pad.closed, pad.end = true, m.start
		}
		r.force, r.toolFrom = m.start, b.def+1
		return true
	}
	if !r.halt {
		r.thinkMarker(b, m)
	}
	return false
}

// openerInReasoning takes an opener of the family inside the block (G6).
func (r *slowReader) openerInReasoning(b *slowBlock, m slowMark, quoted bool) {
	r.by("G6")
	switch {
	case quoted || b.phrase || r.g.defs[m.def].phrase:
		r.thinkMarker(b, m)
	case r.onlyWhite(b.lastOpen, m.start):
		b.own |= 1 << m.def
		r.mark(sotto.ChannelMarkup, b.id, false, m)
		b.lastOpen = m.end
	default:
		b.own |= 1 << m.def
		b.unpaid++
		r.diag(sotto.CodeNested, m.start, "")
		r.thinkMarker(b, m)
	}
}

// onlyWhite reports whether only white space stands between (the duplicates of G6).
func (r *slowReader) onlyWhite(i, end int) bool {
	for ; i < end; i++ {
		if !r.white(i) {
			return false
		}
	}
	return true
}

// closes reports whether the close m ends the block (G5, G6).
func (r *slowReader) closes(b *slowBlock, m slowMark, quoted bool) bool {
	r.by("G5")
	if b.unpaid > 0 {
		r.by("G6")
	}
	if b.force >= 0 {
		return m.start == b.force
	}
	own := b.own&(1<<m.def) != 0
	sure := own && !quoted || r.g.family
	limit, final, expires := r.window(m.start)
	if !own && !sure {
		alone := r.aloneInBlock(b, m, limit, final)
		if alone == maybe && expires {
			return r.expire(m.start)
		}
		if sure = r.settle(alone); r.halt {
			return false
		}
	}
	if sure && b.unpaid == 0 {
		return true
	}
	got := r.closesAhead(b, m, sure, limit, final)
	if got == maybe && expires {
		return r.expire(m.start)
	}
	return r.settle(got)
}

// aloneInBlock reports whether m stands alone on its line of the block's raw body (G5).
func (r *slowReader) aloneInBlock(b *slowBlock, m slowMark, limit int, final bool) tri {
	for i := m.start - 1; i >= b.lastOpen && r.s[i] != '\n'; i-- {
		if !r.white(i) {
			return no
		}
	}
	return r.whiteAfter(r.core(m), true, limit, final)
}

// closesAhead looks at the markers of the family after the close m (G5, G6).
func (r *slowReader) closesAhead(b *slowBlock, m slowMark, sure bool, limit int, final bool) tri {
	w := b.watch(r.g)
	w.opens = !b.phrase // the family's next opener counts here even if nothing nests
	for i := m.end; i < limit; {
		n, got := r.g.lex(r.s, i, limit, final, &w)
		if got == maybe {
			return maybe
		}
		if got == no {
			i++
			continue
		}
		d := &r.g.defs[n.def]
		switch {
		case d.role == dialect.RoleOutput:
		case d.role == dialect.RoleTool:
			if ends := r.toolEnds(n, limit, final); ends != no {
				return ends
			}
		case n.kind == kOpen:
			if b.phrase || d.phrase { // words do not nest
				break
			}
			switch r.quoted(n, limit, final) {
			case no:
				return yes
			case maybe:
				return maybe
			}
		case b.unpaid > 0:
			return no
		default:
			if b.own&(1<<n.def) != 0 {
				switch r.quoted(n, limit, final) {
				case no:
					return no
				case maybe:
					return maybe
				}
			}
			i = n.end
			continue
		}
		i++
	}
	if !final {
		return maybe
	}
	if r.cut && !(sure && b.unpaid > 0) {
		return no
	}
	return yes
}

// toolEnds reports whether a tool opener inside reasoning ends the block (G11).
func (r *slowReader) toolEnds(m slowMark, limit int, final bool) tri {
	if q := r.quoted(m, limit, final); q != no {
		if q == yes {
			return no
		}
		return maybe
	}
	if r.g.tools != nil {
		return r.callEnds(m, limit, final)
	}
	if r.g.defs[m.def].special {
		return yes
	}
	i := m.end
	for i < limit && isSpace(r.s[i]) {
		i++
	}
	const function = "<function="
	rest := r.s[min(i, limit):limit]
	switch {
	case strings.HasPrefix(rest, "{"), strings.HasPrefix(rest, function):
		return yes
	case !final && strings.HasPrefix(function, rest):
		return maybe
	}
	return no
}

// proseAboutTag is G7b: the opener m, in mid-line, would open a block that never closes.
func (r *slowReader) proseAboutTag(m slowMark) bool {
	limit, final, expires := r.window(m.start)
	b := slowBlock{fam: r.g.defs[m.def].fam}
	w := b.watch(r.g)
	got := no
	for i := m.end; i < limit; {
		n, is := r.g.lex(r.s, i, limit, final, &w)
		if is == maybe && (n.end == 0 || n.kind == kOpen) {
			got = maybe
			break
		}
		if is == no {
			i++
			continue
		}
		w.opens = r.g.nest
		if r.g.defs[n.def].role == dialect.RoleTool {
			switch r.toolEnds(n, limit, final) {
			case yes:
				return false
			case maybe:
				got = maybe
			}
			i = n.end
			continue
		}
		if n.kind != kOpen {
			return false
		}
		i = n.end // its VALUE does not hold a close
	}
	if !final {
		if !expires {
			r.settle(maybe)
			return false
		}
		return r.expire(m.start)
	}
	if got == no && (r.stopped || r.g.deliver) {
		return true
	}
	return false
}

// A slowNarration is an open narration block, and the text that it stands in.
type slowNarration struct {
	opener slowMark
	id     int
	t      *slowStream
	bd     *slowBody // nil outside output bodies
}

// A narrationStep says how narration goes on.
type narrationStep uint8

const (
	narrationByte   narrationStep = iota // with the byte that stands here
	narrationMarker                      // after the marker that stood here, or the block that it opened
	narrationOver                        // not at all: it has ended, or what comes next is not known
)

// narration reads a narration block up to the first of what ends it (G12).
func (r *slowReader) narration(m slowMark, t *slowStream, bd *slowBody) {
	r.by("G12")
	n := slowNarration{m, r.open(m.def), t, bd}
	r.mark(sotto.ChannelMarkup, n.id, false, m)
	if m.kind == kEmpty {
		return
	}
	r.narrBlank = -1
	w := n.watch(r.g)
	for !r.done() {
		switch r.markerInNarration(&n, &w) {
		case narrationOver:
			return
		case narrationMarker:
			continue
		}
		if r.blankLineEnds(&n) || r.halt {
			return
		}
		r.by("G12")
		r.bytes(sotto.ChannelNarration, n.id, false, r.pos, r.pos+1)
		r.pos++
	}
	if r.atEnd() {
		r.unclosed(&n)
	}
}

// watch returns the markers that narration watches (3a, Lexing): the closes and the
// empty form of its family, output openers, reasoning openers and, in an output
// body, the closes of that body.
func (n *slowNarration) watch(g *slowGrammar) slowWatch {
	w := slowWatch{own: n.opener.def, outputOpen: true, reasoningOpen: true, outputClose: -1, fam: -1}
	if n.bd != nil {
		w.outputClose = g.defs[n.bd.def].fam
	}
	return w
}

// unclosed flags a narration that ends without a close of its family.
func (r *slowReader) unclosed(n *slowNarration) {
	r.diag(sotto.CodeUnclosedNarration, n.opener.start, "")
}

// markerInNarration reads the watched marker that stands here, if there is one, by
// its role: a close of the family ends narration, reasoning openers count in it, and
// a phrase opens nothing in it (G12; 3a, Phrases).
func (r *slowReader) markerInNarration(n *slowNarration, w *slowWatch) narrationStep {
	m, got := r.g.lex(r.s, r.pos, r.limit, r.final, w)
	switch got {
	case no:
		return narrationByte
	case maybe:
		r.settle(maybe)
		return narrationOver
	}
	switch d := &r.g.defs[m.def]; {
	case d.role == dialect.RoleNarration:
		r.mark(sotto.ChannelMarkup, n.id, false, m)
		return narrationOver
	case d.role == dialect.RoleReasoning && d.phrase:
		return narrationByte
	case d.role == dialect.RoleReasoning:
		return r.reasoningInNarration(n, m)
	case m.kind == kOpen:
		return r.outputInNarration(n, m)
	}
	r.outputEndsNarration(n, m)
	return narrationOver
}

// reasoningInNarration reads a reasoning block in a narration. The narration around
// it is one narration (G12), unless a tool opener ended the block (G11).
func (r *slowReader) reasoningInNarration(n *slowNarration, m slowMark) narrationStep {
	r.narrating = true
	r.reasoning(m, n.t, n.bd)
	r.narrating = false
	switch {
	case r.halt:
		return narrationOver
	case r.toolFrom > 0 && r.force == r.pos:
		r.unclosed(n)
		return narrationOver
	}
	return narrationMarker
}

// outputInNarration: an output opener that counts (G10) and is not quoted ends
// narration (G12). Any other is narration.
func (r *slowReader) outputInNarration(n *slowNarration, m slowMark) narrationStep {
	quoted := r.settle(r.quoted(m, r.limit, r.final))
	switch {
	case r.halt:
		return narrationOver
	case quoted || n.bd == nil && !r.outputCounts():
		return narrationByte
	}
	r.unclosed(n)
	return narrationOver
}

// outputEndsNarration: the empty form of an output marker always ends narration
// (3a, Narration), and so does the close of the output body it stands in (G12).
// Where output counts, the marker is one whatever G4 says.
func (r *slowReader) outputEndsNarration(n *slowNarration, m slowMark) {
	r.unclosed(n)
	if n.bd != nil || r.outputCounts() {
		r.force = m.start
	}
}

// blankLineEnds: narration ends before the first newline that a blank line follows
// (G12). Waiting for it is a doubt, and on expiry narration goes on (3a, Narration).
func (r *slowReader) blankLineEnds(n *slowNarration) bool {
	if r.s[r.pos] != '\n' {
		return false
	}
	limit, final, expires := r.window(r.pos)
	got := r.blankLine(r.pos, limit, final)
	if got == maybe && expires {
		r.expire(r.pos)
		got = no
	}
	if !r.settle(got) {
		return false
	}
	r.unclosed(n)
	r.narrBlank = r.g.defs[n.opener.def].fam
	return true
}

// blankLine reports whether a blank line follows the newline at i (G12).
func (r *slowReader) blankLine(i, limit int, final bool) tri {
	for i++; i < limit && isSpace(r.s[i]); i++ {
		if r.s[i] == '\n' {
			return yes
		}
	}
	if i < limit || final {
		return no
	}
	return maybe
}

// body reads an output block, and the output blocks that re-open it (G10).
func (r *slowReader) body(m slowMark) {
	for {
		bd := slowBody{def: m.def, id: r.open(m.def)}
		r.mark(sotto.ChannelMarkup, bd.id, true, m)
		if m.kind == kEmpty {
			return
		}
		t := newStream()
		r.text(&t, &bd)
		if bd.next == nil {
			if !bd.closed && r.atEnd() {
				r.diag(sotto.CodeUnclosedOutput, m.start, "")
			}
			return
		}
		m = *bd.next
	}
}

// tool reads a tool block, one segment, and what the dialect puts after it (G11).
func (r *slowReader) tool(m slowMark, t *slowStream) {
	r.by("G11")
	from := r.toolFrom
	r.toolFrom = 0
	id := r.open(m.def)
	w := slowWatch{own: m.def, ownNoEmpty: true, tools: true, outputClose: -1}
	end, closed := m.end, m.kind == kEmpty
	for end < r.limit && !closed {
		n, got := r.g.lex(r.s, end, r.limit, r.final, &w)
		if got == maybe {
			r.settle(maybe)
			return
		}
		if got == no {
			end++
			continue
		}
		if n.kind == kOpen {
			r.force, r.toolFrom = n.start, from
			break
		}
		end, closed = n.end, true
	}
	r.mark(sotto.ChannelTool, id, false, slowMark{m.kind, m.def, m.start, end})
	t.removed()
	if !closed || !r.g.afterRea {
		return
	}
	def := from - 1
	for i := 0; i < len(r.g.defs) && def < 0; i++ {
		if r.g.defs[i].role == dialect.RoleReasoning {
			def = i
		}
	}
	if def < 0 {
		return
	}
	d := &r.g.defs[def]
	b := slowBlock{def: def, fam: d.fam, own: 1 << def, id: r.open(def), start: r.pos, lastOpen: r.pos, resumed: true, phrase: d.phrase, force: -1}
	r.reasoningBlock(&b, t)
}

// lead takes a header that the prompt began, at the very start.
func (r *slowReader) lead() {
	r.by("headers")
	if r.pos > 0 || r.g.header == nil || r.headed {
		return
	}
	longest := ""
	for _, l := range r.g.header.Lead {
		n := min(len(l), r.limit)
		if r.s[:n] != l[:n] {
			continue
		}
		if n < len(l) {
			if !r.final {
				r.settle(maybe)
				return
			}
			continue
		}
		if n > len(longest) {
			longest = l
		}
	}
	if longest == "" {
		return
	}
	m := slowMark{kHeader, -1, 0, len(longest)}
	for _, b := range r.g.header.Body {
		if b == longest {
			if r.auto {
				r.autoRes, r.halt = autoOutside, true
				return
			}
			r.block++
			r.mark(sotto.ChannelMarkup, r.block, false, m)
			r.out.afterMarker, r.headed = true, true
			ch, known := r.g.header.Channels[""]
			if !known {
				ch = dialect.RoleReasoning
				r.diag(sotto.CodeUnknownChannel, 0, "")
			}
			if ch == dialect.RoleText {
				r.inBody = r.block
			} else {
				r.headerBody(channels[ch], 0)
			}
			return
		}
	}
	if _, _, _, ok := r.header(m); ok && !r.halt {
		r.headerToken(&r.out, nil, m)
	}
}

// headerToken takes a token that begins a header, or ends a body, in text.
func (r *slowReader) headerToken(t *slowStream, bd *slowBody, m slowMark) {
	if m.kind == kEndTok {
		if r.auto && !r.headed {
			r.autoRes, r.autoMark, r.halt = autoInside, m, true
			return
		}
		if !r.headed {
			r.diag(sotto.CodeStrayClose, m.start, "")
		}
		r.inBody = 0
		r.mark(sotto.ChannelMarkup, 0, bd != nil, m)
		*t = newStream()
		t.afterMarker = true
		return
	}
	ch, end, known, ok := r.header(m)
	switch {
	case r.halt:
		return
	case !ok:
		r.literal(t, bd, m)
		return
	}
	if r.auto {
		r.autoRes, r.halt = autoOutside, true
		return
	}
	closes := slices.Contains(r.g.header.Close, r.s[m.start:m.end])
	if !closes || r.call == 0 {
		r.block++
	}
	switch {
	case closes && r.call > 0:
		r.bytes(sotto.ChannelTool, r.call, false, m.start, end)
		r.pos = end
	case !closes && ch == sotto.ChannelTool:
		r.bytes(sotto.ChannelTool, r.block, false, m.start, end)
		r.pos = end
	default:
		r.mark(sotto.ChannelMarkup, r.block, false, slowMark{m.kind, -1, m.start, end})
	}
	*t = newStream()
	t.afterMarker = true
	r.headed, r.inBody = true, 0
	if closes {
		return
	}
	r.call = 0
	if ch == sotto.ChannelTool {
		r.call = r.block
	}
	if !known {
		r.diag(sotto.CodeUnknownChannel, m.start, "")
	}
	if ch == sotto.ChannelText {
		r.inBody = r.block
		return
	}
	r.headerBody(ch, m.start)
}

// headerBody reads a body that is not text, up to the next header or its end token.
func (r *slowReader) headerBody(ch sotto.Channel, start int) {
	r.by("headers")
	if r.block == 0 {
		r.block++
	}
	id := r.block
	if ch == sotto.ChannelText {
		r.inBody = r.block
		return
	}
	w := slowWatch{header: true, own: -1, outputClose: -1, tools: ch == sotto.ChannelReasoning}
	for !r.done() {
		m, got := r.g.lex(r.s, r.pos, r.limit, r.final, &w)
		n := 1
		if got == maybe {
			r.settle(maybe)
			return
		}
		if got == yes && m.def >= 0 {
			ends := r.toolEnds(m, r.limit, r.final)
			if ends == maybe {
				r.settle(maybe)
				return
			}
			if ends == yes {
				r.force = m.start
				return
			}
			r.bytes(ch, id, false, r.pos, m.end)
			r.pos = m.end
			continue
		}
		if got == yes && m.kind == kEndTok {
			if ch == sotto.ChannelTool {
				r.bytes(ch, id, false, m.start, m.end)
				r.pos = m.end
			} else {
				r.mark(sotto.ChannelMarkup, id, false, m)
			}
			return
		}
		if got == yes {
			if _, _, _, ok := r.header(m); ok || r.halt {
				return
			}
			n = m.end - m.start
		}
		r.bytes(ch, id, false, r.pos, r.pos+n)
		r.pos += n
	}
	if r.atEnd() && ch == sotto.ChannelReasoning {
		if start < 0 {
			r.diag(sotto.CodeAssumedUnclosed, 0, "")
		} else {
			r.diag(sotto.CodeTruncated, start, "")
		}
	}
}

// header reads the header that begins with m: its channel, where it ends, and
// whether its name is known. If it outgrows MaxHeader, it is not a header.
func (r *slowReader) header(m slowMark) (ch sotto.Channel, end int, known, ok bool) {
	h := r.g.header
	s := r.s
	limit := min(r.limit, m.start+r.g.maxHead)
	bodyAt := -1
	for i := m.end; i < limit && bodyAt < 0; i++ {
		for _, t := range h.Body { // of those that begin together, the longest
			if strings.HasPrefix(s[i:limit], t) && i+len(t) > end {
				bodyAt, end = i, i+len(t)
			}
		}
	}
	if bodyAt >= 0 && end == r.limit && !r.final {
		for _, t := range h.Body {
			if len(t) > end-bodyAt && strings.HasPrefix(t, s[bodyAt:end]) {
				r.settle(maybe)
				return 0, 0, false, false
			}
		}
	}
	if bodyAt < 0 {
		switch {
		case limit < r.limit || limit == m.start+r.g.maxHead:
			return 0, 0, false, false
		case !r.final:
			r.settle(maybe)
			return 0, 0, false, false
		}
		return sotto.ChannelText, r.limit, true, true // unfinished: all markup
	}
	head := s[m.start:bodyAt]
	word := func(i int) string {
		rest := head[i:]
		n := strings.IndexFunc(rest, func(c rune) bool { return c < 128 && isSpace(byte(c)) })
		if n < 0 {
			n = len(rest)
		}
		for _, list := range [][]string{h.Begin, h.End, h.Close, h.Name, h.Tokens} {
			for _, t := range list {
				if k := strings.Index(rest, t); k >= 0 && k < n {
					n = k
				}
			}
		}
		return rest[:n]
	}
	name, last := "", -1
	for _, t := range h.Name {
		if k := strings.LastIndex(head, t); k >= 0 && k+len(t) > last {
			last = k + len(t)
		}
	}
	if last >= 0 {
		name = word(last)
	}
	recipient := ""
	if k := strings.LastIndex(head, "to="); k > 0 && isSpace(head[k-1]) {
		recipient = word(k + 3)
	}
	if recipient != "" {
		if h.Recipients == nil {
			return sotto.ChannelTool, end, true, true
		}
		if c, is := h.Recipients[recipient]; is {
			return channels[c], end, true, true
		}
		if c, is := h.Recipients["*"]; is {
			return channels[c], end, true, true
		}
	}
	if c, is := h.Channels[name]; is {
		return channels[c], end, true, true
	}
	return sotto.ChannelReasoning, end, false, true
}
