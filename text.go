package sotto

import "github.com/sotto-llm/sotto/dialect"

// textSpan says what a byte of text is where the reader stands.
func (st *reading) textSpan() span {
	switch {
	case st.body.block > 0:
		return span{ch: ChannelText, output: true, block: st.body.block}
	case st.hdr.ch == ChannelText && st.anyBody:
		return span{ch: ChannelAside, block: st.hdr.block}
	case st.hdr.block > 0:
		return span{ch: st.hdr.ch, block: st.hdr.block}
	case st.aside || st.anyBody || st.hdr.begun && st.g.asideBetween:
		return span{ch: ChannelAside}
	}
	return span{ch: ChannelText}
}

// textIsEasy reports whether a delta without markers changes only the line. No byte is
// pending, so no output block is waited for.
func (st *reading) textIsEasy() bool {
	ts := st.stream()
	return ts.seen && !ts.afterMarker && (st.shown || st.textSpan().ch != ChannelText) && !st.mayBeAside(-1)
}

// mayBeAside reports whether outer text may still turn out to be aside, where no text
// before it may: outHold says that.
func (st *reading) mayBeAside(outHold int) bool {
	return st.g.anywhere && st.body.block == 0 && !st.anyBody && !st.aside && !st.noOutput && st.hdr.block == 0 && outHold < 0
}

// stepText reads text up to the next marker, or reads the marker.
func (s *Splitter) stepText() bool {
	if s.g.leading && s.visible && !s.autoHold {
		s.mode = inRest
		return true
	}
	if s.passed.tok.found() {
		if s.passed.mayGrow(&s.forms, s.in.n) {
			return false // a longer form may follow
		}
		t := s.passed.tok
		s.passed.tok = token{}
		if s.pos < t.end {
			s.scanText(t.end)
		}
		s.keepLiteral(t, s.passed.note)
	}
	if s.pos == s.in.limit {
		return false
	}
	s.forms.pass(s.pos)
	w := s.textWatch()
	stop := s.in.limit
	k := s.forms.ti // it stands here: a waiting reader need not search again
	if !s.forms.standsAt(k, s.pos, w, s.in.limit) {
		k = s.forms.next(s.forms.ti, s.pos, w, s.in.limit)
	}
	if k >= 0 {
		stop = s.forms.token(k).start
	}
	if f := s.forms.lex.frontier(s.pos, s.in.n, w); f >= 0 && f <= stop {
		switch {
		case f > s.pos:
			stop, k = f, -1
		case s.passed.mayGrow(&s.forms, s.in.n), s.stream().mayEnd(), s.forms.lex.frontier(f, s.in.n, s.textHold(s.autoHold)) == f:
			return false
		default: // text, whatever it becomes
			s.passed = passedForm{start: f, note: strayNote{start: f, before: s.in.byteBefore(f), fenced: s.stream().fence.open()}}
			if next := s.forms.lex.frontier(f+1, s.in.n, w); next >= 0 {
				stop = min(stop, next)
			}
			s.scanText(stop)
			return true
		}
	}
	if stop > s.pos {
		s.scanText(stop)
		return true
	}
	return !s.passed.mayGrow(&s.forms, s.in.n) && s.textToken(k)
}

// textWatch returns the kinds of markers that text watches: every one, or, where the
// answer has begun and the placement is leading, what settles an undecided start as
// reasoning.
func (st *reading) textWatch() watch {
	if st.g.leading && st.visible {
		return st.g.closes.header | st.g.closes.reasoning&^st.g.closes.phrase
	}
	return watchAll
}

// A passedForm is a form under way that is text whatever it becomes.
type passedForm struct {
	start int // -1 if there is none
	note  strayNote
	tok   token // what it became
}

// mayGrow reports whether the form is still under way: a marker that begins inside it may
// still be part of it. n is the offset of the next byte.
func (p *passedForm) mayGrow(f *forms, n int) bool {
	return p.start >= 0 && f.lex.frontier(p.start, n, watchAll) == p.start
}

// take notes a marker whose first bytes may be those of the form.
func (p *passedForm) take(t token, f *forms) {
	if t.start == p.start && (!p.tok.found() || f.before(t, p.tok)) {
		p.tok = t
	}
}

// counts returns the kinds of markers that could count in the text or reasoning being read.
func (st *reading) counts(auto, padHolds bool) watch {
	if st.mode == inText {
		return st.textHold(auto)
	}
	return st.reasoningWatch(padHolds)
}

// textHold returns the kinds of markers that could count where the reader
// stands; any other is text, whatever it becomes.
func (st *reading) textHold(auto bool) watch {
	c := &st.g.closes
	w := ^c.all | st.closesHere(auto)&^c.phrase
	if !st.outputCounts() {
		w &^= st.g.outputs.open | st.g.outputs.empty
	}
	return w
}

// outputCounts reports whether an output opener begins a body here (G10).
func (st *reading) outputCounts() bool {
	if st.g.anywhere && !st.noOutput {
		return true
	}
	return st.anyBody || !st.visible || st.padClosed && !st.g.anywhere
}

// closesHere returns the closes that may be markup where the reader stands (G9).
func (st *reading) closesHere(auto bool) watch {
	c := &st.g.closes
	w := c.header
	w |= st.wrapped
	if st.body.block > 0 {
		w |= watching(st.body.group, asClose)
	}
	if auto {
		w |= c.reasoning
	}
	if !st.g.stray {
		return w
	}
	if !st.seenHere() || st.stream().afterMarker {
		return c.all
	}
	if !st.openLit {
		w |= c.output
	}
	return w | st.blockSeen
}

// seenHere reports whether something visible precedes; in a body, in that body.
func (st *reading) seenHere() bool {
	if st.body.block > 0 {
		return st.body.stream.seen
	}
	return st.visible
}

// keepLiteral notes that a marker which could not count is text.
func (s *Splitter) keepLiteral(t token, note strayNote) {
	if s.g.leading && s.visible {
		return // the rest is text, whatever it contains
	}
	role := s.g.groups[t.group].role
	if role == dialect.RoleOutput {
		switch t.kind {
		case kindOpen:
			s.openLit = true
		case kindClose:
			s.openLit = false
		}
		if t.kind != kindClose {
			s.diag(CodeLiteralMarker, t.start, ReasonLateOutput)
			return
		}
	}
	if t.kind != kindClose || s.g.names[t.name].phrase {
		return
	}
	note.start, note.end = t.start, t.end
	note.orphan = role == dialect.RoleReasoning && s.blockSeen&watching(t.group, asClose) == 0
	switch {
	case s.g.code:
		if t.end < s.in.n {
			note.after, note.known = s.in.at(t.end), true
		}
		s.stream().addNote(note, &s.holds)
	case note.orphan:
		s.diag(CodeOrphanClose, t.start, "")
	}
}

// scanText gives the bytes up to stop as text and follows the lines.
func (s *Splitter) scanText(stop int) {
	ts := s.stream()
	from := s.pos
	b := s.in.bytes(from, stop)
	s.in.looks += len(b)
	if s.splice.live {
		s.splice.read(b, s.textSpan().ch, &s.holds)
	}
	if !ts.seen || ts.afterMarker || s.mayBeAside(s.outHold) || !s.visible || !s.shown {
		if i := firstNonSpace(skipMark(b, from)); i >= 0 {
			s.nonSpace(from + i + len(b) - len(skipMark(b, from)))
		}
	}
	lines := skipMark(b, from)
	if s.g.code {
		ts.scanLines(lines, from+len(b)-len(lines), &s.holds)
	} else {
		ts.blank = lineBlank(lines, ts.blank)
	}
	s.put(stop, s.textSpan()) // nonSpace may have given the white space before it
}

// nonSpace notes that byte i is text and not white space.
func (s *Splitter) nonSpace(i int) {
	ts := s.stream()
	switch {
	case s.body.block > 0:
		if !ts.seen {
			s.visible = true
			s.shows()
			if s.anyBody = true; s.outHold >= 0 {
				s.setAside()
			}
		}
	case s.mayBeAside(s.outHold):
		s.put(i, s.textSpan())
		if s.atHold == nil {
			s.atHold = new(state)
		}
		*s.atHold = s.state
		s.outHold, s.visible = i, true
	case s.textSpan().ch == ChannelText:
		s.visible = true
		if s.outHold < 0 {
			s.shows()
		}
	}
	ts.seen, ts.afterMarker = true, false
}

// shows notes that the reply certainly shows something.
func (s *Splitter) shows() {
	if !s.shown {
		s.shown = true
		s.pads.giveUp()
		s.flush()
	}
}

func firstNonSpace(b []byte) int {
	for i, c := range b {
		if !isSpace(c) {
			return i
		}
	}
	return -1
}
