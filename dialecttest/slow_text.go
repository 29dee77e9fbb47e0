package dialecttest

import (
	"strings"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/dialect"
)

// Text: the outer text and the bodies of output blocks (G3, G4, G9, G10).

// A slowSeg is a segment, with the block by which G13 keeps segments apart.
type slowSeg struct {
	ch         sotto.Channel
	output     bool
	marker     bool
	block      int
	start, end int
}

// bytes adds s[start:end] to the segments, joined to the last one if possible.
func (r *slowReader) bytes(ch sotto.Channel, block int, output bool, start, end int) {
	if start == end {
		return
	}
	r.note(start)
	if n := len(r.segs) - 1; n >= 0 {
		if l := &r.segs[n]; !l.marker && l.ch == ch && l.block == block && l.end == start {
			l.end = end
			return
		}
	}
	r.segs = append(r.segs, slowSeg{ch, output, false, block, start, end})
}

// mark adds a marker as a segment of its own and moves past it.
func (r *slowReader) mark(ch sotto.Channel, block int, output bool, m slowMark) {
	if m.start < m.end {
		r.note(m.start)
		r.segs = append(r.segs, slowSeg{ch, output, true, block, m.start, m.end})
	}
	r.pos = m.end
}

// A slowStream is the state that G4 and G9 need about a text stream: its line, its
// unpaired runs of back-ticks, its fence. It is a value, so reading ahead has its own.
type slowStream struct {
	blank       bool // only white space on the line
	visible     bool // a visible byte on the line that is not white space
	afterMarker bool // only white space since a removed marker

	run  int   // back-ticks directly before
	runs []int // unpaired runs on the line; never changed in place

	lead    slowLead // of the line, for a fence
	leadCh  byte
	leadLen int

	fence     bool
	fenceCh   byte
	fenceLen  int
	fenceFrom int    // the newline that opened it
	fenceEnd  int    // after its closing run, or -1
	fenceFams uint64 // families of openers in it
}

type slowLead uint8

const (
	leadIndent slowLead = iota
	leadRun
	leadInfo
	leadNone
)

func newStream() slowStream { return slowStream{blank: true} }

// A slowBody is the output block whose body is being read.
type slowBody struct {
	def, id int
	visible bool
	closed  bool
	next    *slowMark // the opener that ended it and began the next body
}

// outer reads the text outside every block (G3, G9, G10, G14).
func (r *slowReader) outer() {
	r.lead()
	r.text(&r.out, nil)
}

// text reads a text stream: outer text, or an output body (G3, G4, G9, G10).
func (r *slowReader) text(t *slowStream, bd *slowBody) {
	for !r.done() && (bd == nil || !bd.closed) {
		if r.g.leading && r.visible && !r.auto {
			r.by("G3")
			for !r.done() {
				r.textByte(t, bd, false)
			}
			return
		}
		w := r.textWatch()
		m, got := r.g.lex(r.s, r.pos, r.limit, r.final, &w)
		if got == yes && !r.isMarker(m) {
			got = no
		}
		switch got {
		case maybe:
			r.settle(maybe)
		case yes:
			r.textMarker(t, bd, m)
		case no:
			if bd != nil || r.startsText(r.pos, r.pos) {
				r.by("G14")
				if bd != nil || r.mode != modeText {
					r.by("G10")
				}
				r.textByte(t, bd, false)
			}
		}
	}
}

// textWatch returns the markers that text watches: every one, or, with leading
// placement and an undecided start, after the first visible byte, what settles the
// start as reasoning (3a, Leading placement).
func (r *slowReader) textWatch() slowWatch {
	if r.auto && r.g.leading && r.visible {
		return slowWatch{header: true, reasoning: true, fam: -1, own: -1, outputClose: -1}
	}
	return slowWatch{all: true}
}

// isMarker excludes markers that the dialect's switches turn off in text.
func (r *slowReader) isMarker(m slowMark) bool {
	if m.def < 0 { // a header does not count after the answer has begun
		return m.kind == kEndTok || !r.auto || !r.g.leading || !r.visible
	}
	d := &r.g.defs[m.def]
	bit := uint64(1) << m.def
	switch {
	case m.kind == kClose && d.phrase:
		return false
	case m.kind == kClose && r.auto && d.role == dialect.RoleReasoning:
		return true
	case r.auto && r.g.leading && r.visible:
		return false
	case m.kind == kOpen && d.phrase:
		return r.phrases&bit == 0 && !r.shown
	}
	return true
}

// startsText settles G10 with Output anywhere, before the first byte of outer text
// from p on that is not white space.
func (r *slowReader) startsText(p, from int) bool {
	if r.mode == modeUnset && !r.white(p) {
		r.decideOutput(p, from)
	}
	return !r.halt
}

// textByte takes one byte as text. literal reports whether it belongs to a marker.
func (r *slowReader) textByte(t *slowStream, bd *slowBody, literal bool) {
	i := r.pos
	white := r.white(i)
	ch, counts := sotto.ChannelText, !white
	switch {
	case bd != nil:
		if !white {
			bd.visible = true
			r.visible, r.shown, r.answered = true, true, true
			r.mode = modeAside
		}
		r.bytes(ch, bd.id, true, i, i+1)
	case r.mode == modeUndecided || r.mode == modeAsideBefore || r.mode == modeExpired:
		if r.mode != modeUndecided {
			ch = sotto.ChannelAside
		}
		counts = counts && r.mode != modeExpired
		r.shown = r.shown || !white
		r.bytes(ch, r.inBody, false, i, i+1)
	case r.mode == modeAside:
		counts = false
		r.bytes(sotto.ChannelAside, 0, false, i, i+1)
	case r.headed && r.inBody == 0 && r.g.header.Between != dialect.RoleText:
		counts = false
		r.bytes(sotto.ChannelAside, 0, false, i, i+1)
	default:
		if !white {
			r.visible, r.shown = true, true
		}
		r.bytes(ch, r.inBody, false, i, i+1)
	}
	r.pos++
	r.feed(t, i, counts, literal)
	if r.stopAnswered && r.answered || r.collect && r.visible {
		r.halt = true
	}
}

// setAside reports whether text here is aside. G7b does not apply to a block that
// opens there, even if visible text stands before it on its line.
func (r *slowReader) setAside(bd *slowBody) bool {
	return bd == nil && (r.mode == modeAside || r.headed && r.inBody == 0 && r.g.header.Between != dialect.RoleText)
}

// feed advances the stream's line over byte i.
func (r *slowReader) feed(t *slowStream, i int, counts, literal bool) {
	b := r.s[i]
	if t.fence && t.fenceEnd >= 0 && i >= t.fenceEnd {
		t.fence = false
		t.lead = leadNone
		t.run, t.runs = 0, nil
	}
	if b == '\n' {
		if !t.fence && (t.lead == leadRun || t.lead == leadInfo) && t.leadLen >= 3 {
			r.openFence(t, i)
		}
		t.blank, t.visible = true, false
		t.run, t.runs = 0, nil
		t.lead = leadIndent
		return
	}
	if !r.white(i) {
		t.blank, t.afterMarker = false, false
	}
	t.visible = t.visible || counts
	if b == '`' && !literal {
		t.run++
	} else {
		t.endRun()
	}
	if t.fence { // its runs count if it never closes
		return
	}
	switch t.lead {
	case leadIndent:
		if (b == '`' || b == '~') && !literal {
			t.lead, t.leadCh, t.leadLen = leadRun, b, 1
		} else if !r.white(i) {
			t.lead = leadNone
		}
	case leadRun:
		if b == t.leadCh && !literal {
			t.leadLen++
		} else if t.lead = leadInfo; t.leadLen < 3 {
			t.lead = leadNone
		}
	case leadInfo:
		if b == '`' && t.leadCh == '`' && !literal {
			t.lead = leadNone
		}
	}
}

// endRun pairs the run that has just ended with an earlier one of its length.
func (t *slowStream) endRun() {
	if t.run == 0 {
		return
	}
	n := t.run
	t.run = 0
	for i, u := range t.runs {
		if u == n {
			t.runs = t.runs[:i:i]
			return
		}
	}
	t.runs = append(t.runs[:len(t.runs):len(t.runs)], n)
}

// openFence opens a fence at the newline that ends its first line (G4c).
func (r *slowReader) openFence(t *slowStream, newline int) {
	f := *t
	f.fenceCh, f.fenceLen, f.fenceFrom = t.leadCh, t.leadLen, newline
	end, got := r.closeFence(&f, r.limit, r.final)
	if got != yes {
		end = -1
	}
	t.fence, t.fenceCh, t.fenceLen, t.fenceFrom = true, f.fenceCh, f.fenceLen, newline
	t.fenceEnd, t.fenceFams = end, 0
}

// closeFence is G4c: it looks for the run that closes the fence, in the raw text, and
// returns where it ends.
func (r *slowReader) closeFence(t *slowStream, limit int, final bool) (int, tri) {
	unknown := func() (int, tri) {
		if final {
			return 0, no
		}
		return 0, maybe
	}
	all := slowWatch{all: true}
	for line := t.fenceFrom; ; {
		n := strings.IndexByte(r.s[line:limit], '\n')
		if n < 0 {
			return unknown()
		}
		line += n + 1
		i := line
		for i < limit && isSpace(r.s[i]) && r.s[i] != '\n' {
			i++
		}
		end := i
		for end < limit && r.s[end] == t.fenceCh {
			end++
		}
		if end-i < t.fenceLen {
			continue
		}
		i = end
		for i < limit && isSpace(r.s[i]) && r.s[i] != '\n' {
			if _, got := r.g.lex(r.s, i, limit, final, &all); got == yes {
				return end, yes
			}
			i++
		}
		switch {
		case i == limit && final, i < limit && r.s[i] == '\n':
			return end, yes
		case i == limit:
			return 0, maybe
		}
		switch _, got := r.g.lex(r.s, i, limit, final, &all); got {
		case yes:
			return end, yes
		case maybe:
			return 0, maybe
		}
	}
}

// pairs is G4b: it reports whether a run after i on the raw line pairs with one of runs.
func (r *slowReader) pairs(runs []int, i, limit int, final bool) tri {
	all := slowWatch{all: true}
	for i < limit && r.s[i] != '\n' {
		if r.s[i] == '`' {
			n := i
			for n < limit && r.s[n] == '`' {
				n++
			}
			if n == limit && !final {
				return maybe
			}
			for _, u := range runs {
				if u == n-i {
					return yes
				}
			}
			i = n
			continue
		}
		m, got := r.g.lex(r.s, i, limit, final, &all)
		switch {
		case got == maybe:
			return maybe
		case got == yes && strings.Contains(r.s[m.start:m.end], "\n"):
			return no
		case got == yes:
			i = m.end
		default:
			i++
		}
	}
	if i < limit {
		return no
	}
	if !final {
		return maybe
	}
	return no
}

// quoted is G4a.
func (r *slowReader) quoted(m slowMark, limit int, final bool) tri {
	if !r.g.code || m.start == 0 {
		return no
	}
	q := r.s[m.start-1]
	if q != '"' && q != '\'' && q != '`' {
		return no
	}
	m.end = r.core(m)
	switch {
	case m.end < limit && r.s[m.end] == q:
		return yes
	case m.end >= limit && !final:
		return maybe
	}
	return no
}

// core returns where a marker ends without the newlines that may follow it.
func (r *slowReader) core(m slowMark) int {
	for m.end > m.start && r.s[m.end-1] == '\n' {
		m.end--
	}
	return m.end
}

// byCode reports whether G4 makes the marker literal.
func (r *slowReader) byCode(t *slowStream, m slowMark) (sotto.Reason, bool) {
	if !r.g.code || r.force == m.start {
		return "", false
	}
	if r.settle(r.quoted(m, r.limit, r.final)) {
		return sotto.ReasonQuoted, true
	} else if r.halt {
		return "", false
	}
	limit, final, expires := r.window(m.start)
	if t.inFence(m.start) {
		_, got := r.closeFence(t, limit, final)
		switch {
		case got == yes:
			return sotto.ReasonFenced, true
		case got == maybe && expires:
			r.expire(m.start)
			return sotto.ReasonFenced, true
		case got == maybe:
			r.settle(maybe)
			return "", false
		}
		if r.cut {
			return sotto.ReasonFenced, true
		}
		t.fence = false
	}
	if len(t.runs) == 0 || strings.Contains(r.s[m.start:m.end], "\n") {
		return "", false
	}
	got := r.pairs(t.runs, m.end, limit, final)
	if got == maybe && expires {
		if r.expire(m.start) {
			return sotto.ReasonInlineCode, true
		}
		return "", false
	}
	return sotto.ReasonInlineCode, r.settle(got)
}

func (t *slowStream) inFence(i int) bool { return t.fence && (t.fenceEnd < 0 || i < t.fenceEnd) }

// codeReason is byCode for a marker that is text anyway: nothing waits for the result.
func (r *slowReader) codeReason(t *slowStream, m slowMark) sotto.Reason {
	limit, final, expires := r.window(m.start)
	fenced := false
	if t.inFence(m.start) {
		_, got := r.closeFence(t, limit, final)
		fenced = got == yes || expires || r.cut
	}
	switch {
	case !r.g.code || r.force == m.start:
	case r.quoted(m, r.limit, r.final) == yes:
		return sotto.ReasonQuoted
	case fenced:
		return sotto.ReasonFenced
	case len(t.runs) > 0 && !strings.Contains(r.s[m.start:m.end], "\n"):
		if r.pairs(t.runs, m.end, limit, final) == yes {
			return sotto.ReasonInlineCode
		}
	}
	return ""
}

// literal keeps a marker as text.
func (r *slowReader) literal(t *slowStream, bd *slowBody, m slowMark) {
	m.end = r.core(m)
	if bd == nil {
		p := m.start
		for p < m.end-1 && r.white(p) {
			p++
		}
		was := r.mode
		if !r.startsText(p, m.start) {
			return
		}
		now := r.mode
		for r.mode = was; r.pos < p; { // white space before the doubt stays as it was
			r.textByte(t, bd, true)
		}
		r.mode = now
	}
	if m.def >= 0 {
		d := &r.g.defs[m.def]
		if m.kind == kOpen && t.inFence(m.start) {
			t.fenceFams |= 1 << d.fam
		}
		if d.role == dialect.RoleOutput && m.kind != kEmpty {
			r.literalOu = m.kind == kOpen
		}
	}
	for r.pos < m.end && !r.halt {
		r.textByte(t, bd, true)
	}
}

// removed notes that a marker of the stream counts.
func (t *slowStream) removed() {
	t.run, t.runs = 0, nil
	t.afterMarker = true
	if t.lead == leadRun { // a marker ends a run
		t.lead = leadInfo
		if t.leadLen < 3 {
			t.lead = leadNone
		}
	}
}

// textMarker takes a marker that stands in text (G1). Headers have rules of their own.
func (r *slowReader) textMarker(t *slowStream, bd *slowBody, m slowMark) {
	if t.fence && !t.inFence(m.start) {
		t.fence = false
		t.lead = leadNone
		t.run, t.runs = 0, nil
	}
	t.endRun()
	r.by("G1")
	if m.def < 0 {
		r.by("headers")
		r.headerToken(t, bd, m)
		return
	}
	kind := r.textMarkerKind(t, bd, m)
	if r.halt || kind == keptMarker {
		return
	}
	reason, lit := r.literalHere(t, m, kind)
	if r.halt {
		return
	}
	if lit {
		r.by("G4")
		r.diag(sotto.CodeLiteralMarker, m.start, reason)
		r.literal(t, bd, m)
		return
	}
	if r.settlesAuto(m, kind) {
		return
	}
	d := &r.g.defs[m.def]
	if d.role == dialect.RoleReasoning && m.kind == kOpen && t.visible && !r.setAside(bd) && r.proseAboutTag(m) {
		r.by("G7b")
		r.diag(sotto.CodeLiteralMarker, m.start, sotto.ReasonDoubt)
		r.literal(t, bd, m)
		return
	}
	if !r.halt {
		r.applyMarker(t, bd, m, kind)
	}
}

// A textMarkerKind says what a marker does in text if G4 does not make it literal.
type textMarkerKind uint8

const (
	opensBlock   textMarkerKind = iota
	closesBody                  // the close of the output body (G10)
	closesWrap                  // the close of an open wrapper
	orphanClose                 // it settles the start auto (G8)
	strayRemoved                // a stray that is markup (G9)
	keptMarker                  // it was taken as text: a late opener (G10), a kept stray (G9)
)

// textMarkerKind is G8, G9 and G10 for a marker in text. A marker that could not count
// is taken as text.
func (r *slowReader) textMarkerKind(t *slowStream, bd *slowBody, m slowMark) textMarkerKind {
	d := &r.g.defs[m.def]
	switch {
	case bd != nil && d.role == dialect.RoleOutput && m.kind != kOpen && d.fam == r.g.defs[bd.def].fam:
		return closesBody
	case m.kind != kClose:
		if d.role == dialect.RoleOutput && bd == nil && r.force != m.start && !r.outputCounts() {
			r.by("G10")
			r.diag(sotto.CodeLiteralMarker, m.start, sotto.ReasonLateOutput)
			r.literal(t, bd, m)
			return keptMarker
		}
		return opensBlock
	case d.role == dialect.RoleWrapper && r.wrappers&(1<<d.fam) != 0:
		return closesWrap
	case r.auto && d.role == dialect.RoleReasoning:
		return orphanClose
	}
	r.by("G9")
	if r.removesStray(t, bd, m) || r.halt {
		return strayRemoved
	}
	r.keepStray(t, bd, m)
	return keptMarker
}

// keepStray takes a stray close as text and says why (G9).
func (r *slowReader) keepStray(t *slowStream, bd *slowBody, m slowMark) {
	d := &r.g.defs[m.def]
	reason := r.codeReason(t, m)
	r.literal(t, bd, m)
	switch {
	case r.g.leading && r.visible: // the rest is text, this close included
	case reason != "":
		r.diag(sotto.CodeLiteralMarker, m.start, reason)
	case d.role == dialect.RoleReasoning && r.families&(1<<d.fam) == 0:
		r.diag(sotto.CodeOrphanClose, m.start, "")
	}
}

// literalHere reports whether G4 makes a marker in text literal. In an open fence, an
// orphan close is literal only after an opener of its family in that fence (G8).
func (r *slowReader) literalHere(t *slowStream, m slowMark, kind textMarkerKind) (sotto.Reason, bool) {
	if kind != orphanClose || !t.inFence(m.start) {
		return r.byCode(t, m)
	}
	switch {
	case r.settle(r.quoted(m, r.limit, r.final)):
		return sotto.ReasonQuoted, true
	case t.fenceFams&(1<<r.g.defs[m.def].fam) != 0:
		return sotto.ReasonFenced, true
	}
	return "", false
}

// settlesAuto stops a reading ahead at the marker that settles the start (G8).
func (r *slowReader) settlesAuto(m slowMark, kind textMarkerKind) bool {
	switch {
	case kind == orphanClose:
		r.autoRes, r.autoMark, r.halt = autoInside, m, true
	case r.auto && m.kind != kClose:
		r.autoRes, r.halt = autoOutside, true
	}
	return r.halt
}

// applyMarker takes a marker in text that counts (G2, G10, G11, G12).
func (r *slowReader) applyMarker(t *slowStream, bd *slowBody, m slowMark, kind textMarkerKind) {
	d := &r.g.defs[m.def]
	t.removed()
	id, output := 0, false
	if bd != nil {
		id, output = bd.id, true
	}
	switch {
	case kind == closesBody:
		r.by("G10")
		r.mark(sotto.ChannelMarkup, id, true, m)
		bd.closed = true
	case kind == strayRemoved:
		if r.narrBlank == d.fam {
			r.narrBlank = -1
		}
		r.diag(sotto.CodeStrayClose, m.start, "")
		r.mark(sotto.ChannelMarkup, id, output, m)
	case kind == closesWrap:
		r.wrappers &^= 1 << d.fam
		r.mark(sotto.ChannelMarkup, id, output, m)
	case d.role == dialect.RoleTool:
		r.tool(m, t)
	case d.role == dialect.RoleOutput:
		if bd != nil && m.kind == kOpen {
			bd.closed, bd.next = true, &m
			return
		}
		r.body(m)
	case d.role == dialect.RoleNarration:
		r.narration(m, t, bd)
	case m.kind == kEmpty:
		r.mark(sotto.ChannelMarkup, r.open(m.def), false, m)
	case d.role == dialect.RoleWrapper:
		r.open(m.def)
		r.wrappers |= 1 << d.fam
		r.mark(sotto.ChannelMarkup, id, output, m)
	default:
		r.reasoning(m, t, bd)
	}
	t.afterMarker = true
}

// outputCounts reports whether an output opener in outer text begins a body (G10).
func (r *slowReader) outputCounts() bool {
	if r.g.anywhere && !r.g.leading {
		return !r.delivered
	}
	return r.mode != modeText || !r.visible || r.padClosed
}

// removesStray is G9: a close with nothing to close is removed.
func (r *slowReader) removesStray(t *slowStream, bd *slowBody, m slowMark) bool {
	d := &r.g.defs[m.def]
	shown := r.shown
	if bd != nil {
		shown = bd.visible
	}
	switch {
	case !r.g.stray:
		return false
	case !shown, t.afterMarker:
		return true
	case d.role == dialect.RoleNarration && r.narrBlank == d.fam:
		return true
	}
	limit, final, expires := r.window(m.start)
	got := no
	if known := r.families&(1<<d.fam) != 0; known && t.blank {
		got = r.whiteAfter(r.core(m), true, limit, final)
	} else if !known && (d.role != dialect.RoleOutput || r.literalOu) {
		return false
	}
	if got == no {
		got = r.whiteAfter(m.end, false, limit, final)
	}
	if got == maybe && expires {
		return !r.expire(m.start)
	}
	return r.settle(got) || r.halt
}

// whiteAfter reports whether only white space stands from i to the line's end,
// or to the reply's, as far as the limit shows.
func (r *slowReader) whiteAfter(i int, line bool, limit int, final bool) tri {
	for ; i < limit; i++ {
		if line && r.s[i] == '\n' {
			return yes
		}
		if !r.white(i) {
			return no
		}
	}
	if final {
		return yes
	}
	return maybe
}
