package sotto

// reasoning is an open reasoning block.
type reasoning struct {
	block   int
	opener  int // offset
	group   int8
	name    int16
	any     bool   // the closes of all reasoning names end it: the start was undecided
	assumed bool   // the prompt opened it
	own     uint64 // names opened in the block
	credit  int    // unpaid openers
	dupOpen bool   // an opener here would be a duplicate (G6), also where nothing nests
	blank   bool   // the line is white space so far
	inNarr  bool   // narration resumes after it
	hdr     bool   // it is the body of a header
	resumed bool   // it resumes after a tool call
	rejects int    // candidates before this byte do not close the block
	lookAt  int    // the close that look belongs to
	look    int    // number of the token at which the search for an own close resumes
	lookEnd int
	isPad   bool // an output block in it may turn out to be the answer
	stop    int  // only the close or tool opener at this byte ends it: a pad read again

	late      token // an opener inside, read before the byte after it came
	lateQuote byte  // the quote before it
}

// openReasoning begins a block at pos.
func (s *Splitter) openReasoning(name int16, opener int, assumed bool) {
	n := &s.g.names[name]
	if assumed {
		s.blocks++
	}
	s.r = reasoning{
		block: s.blocks, opener: opener, name: name, group: n.group, assumed: assumed, own: n.bit,
		dupOpen: true, blank: true, inNarr: s.mode == inNarration, lookAt: -1,
		isPad: n.rescue && s.g.outputs.open != 0 && s.body.block == 0 && s.mode == inText && !s.shown && s.hdr.block == 0 && !s.pads.done,
	}
	s.blockSeen |= watching(n.group, asClose)
	s.phrases |= n.bit
	s.mode = inReasoning
	if s.r.isPad {
		s.pads.begin(&s.state, s.outHold)
	}
}

func (r *reasoning) span() span { return span{ch: ChannelReasoning, block: r.block} }

// watches returns the kinds of markers that count inside the block.
func (st *reading) watches(r *reasoning) watch {
	if r.hdr {
		return watching(st.g.headerGroup, asAny)
	}
	kinds := asClose | asEmpty
	if (st.g.nest || r.dupOpen) && (r.any || !st.g.names[r.name].phrase) {
		kinds |= asOpen
	}
	return st.familyKinds(r, kinds)
}

// familyKinds returns kinds of the markers whose closes may end the block.
func (st *reading) familyKinds(r *reasoning, kinds watch) watch {
	if !r.any {
		return watching(r.group, kinds)
	}
	var w watch
	for i := range st.g.groups {
		if st.g.groups[i].phrase { // words do not nest
			w |= watching(int8(i), kinds&^asOpen)
		} else if st.g.reasoningGroups>>i&1 != 0 {
			w |= watching(int8(i), kinds)
		}
	}
	return w
}

// stepReasoning reads reasoning up to the next marker, or reads the marker.
func (s *Splitter) stepReasoning() bool {
	r := &s.r
	if t := r.late; t.found() {
		if quoted, ready := s.in.quotedBy(r.lateQuote, t.end, &s.outcomes); ready {
			r.late = token{}
			if !quoted {
				s.deepen(t)
			}
		}
	}
	watched := s.reasoningWatch(s.pads.hold >= 0)
	stop, k := s.forms.nextMarker(watched, s.pos, &s.in)
	if stop > s.pos {
		s.think(stop)
	}
	if k < 0 {
		return false
	}
	if s.reasoningWatch(s.pads.hold >= 0) != watched { // a duplicate opener counts only before the first byte that is not white space
		return true
	}
	return s.reasoningToken(k, s.watches(r))
}

// reasoningWatch returns the kinds of markers that are looked for in the open
// block: those that count, and output markers, which may count later.
func (st *reading) reasoningWatch(padHolds bool) watch {
	w := st.watches(&st.r) | st.g.tools
	if st.r.isPad {
		w |= st.g.outputs.open
		if padHolds {
			w |= st.g.outputs.close
		}
	}
	return w
}

// reasoningToken reads token number k, which stands at pos in a reasoning block;
// family are the kinds that count as the block's own.
func (s *Splitter) reasoningToken(k int, family watch) bool {
	r := &s.r
	t := s.forms.token(k)
	quoted, ready := s.quoted(t)
	switch {
	case t.watch()&s.g.tools != 0 && t.watch()&family == 0:
		ends, ok := s.toolEnds(t, quoted, ready)
		if !ok {
			if !ready {
				return s.wait(doubtQuote, t.start)
			}
			return s.wait(s.callable.doubt(), t.start)
		}
		if !ends {
			s.think(t.end)
			return true
		}
		if r.inNarr {
			s.diag(CodeUnclosedNarration, s.narr.opener, "")
		}
		s.leaveReasoning()
		s.mode, s.force, s.forceFrom = inText, t.start, r.name+1
		return true
	case t.watch()&family == 0: // an output marker in a pad
		if !ready {
			return s.wait(doubtQuote, t.start)
		}
		if !quoted {
			s.pads.outputMarker(t, s.g.groups[t.group].number, r)
			s.flush()
		}
		s.think(t.end)
		return true
	case r.hdr:
		return s.headerToken(t)
	case t.kind == kindOpen:
		if !ready { // reasoning in either case; whether it deepens is seen later
			r.late, r.lateQuote = t, s.in.byteBefore(t.start)
			s.think(t.end)
			return false
		}
		s.nestedOpener(t, quoted)
		return true
	}
	if !ready && !s.g.closeFamily { // there a quoted close is sure as well
		return s.wait(doubtQuote, t.start)
	}
	return s.closeToken(k, t, quoted)
}

// think gives the bytes up to stop as reasoning.
func (s *Splitter) think(stop int) {
	b := s.in.bytes(s.pos, stop)
	r := &s.r
	if r.dupOpen {
		if firstNonSpace(b) >= 0 {
			r.dupOpen = false
		}
	}
	r.blank = lineBlank(b, r.blank)
	s.put(stop, r.span())
}

// nestedOpener reads an opener of the block's family inside it (G6).
func (s *Splitter) nestedOpener(t token, quoted bool) {
	r := &s.r
	if r.dupOpen {
		r.own |= s.g.names[t.name].bit
		s.mark(t, r.block)
		return
	}
	if !quoted {
		s.deepen(t)
	}
	s.think(t.end)
}

func (s *Splitter) deepen(t token) {
	s.r.own |= s.g.names[t.name].bit
	s.r.credit++
	s.diag(CodeNested, t.start, "")
}

// closeToken reads a close of the block's family (G5, G6).
func (s *Splitter) closeToken(k int, t token, quoted bool) bool {
	r := &s.r
	own := r.own&s.g.names[t.name].bit != 0
	alone := false
	if !own && r.stop == 0 && !s.g.closeFamily && r.blank {
		var ok bool
		if alone, ok = s.lapsed(doubtLine, t.start); !ok {
			alone, ok = s.ahead.white.lineEnds(t.end, doubtLine, &s.in, &s.outcomes)
		}
		if !ok {
			return s.wait(doubtLine, t.start)
		}
	}
	sure := s.g.closeFamily || own && !quoted || alone
	kind := doubtCandidate
	if sure {
		kind = doubtUnpaid
	}
	ends, ok := s.lapsed(kind, t.start)
	switch {
	case r.stop > 0:
		ends, ok = t.start == r.stop, true
	case ok:
	case r.credit > 0:
		ends, ok = s.endsUnpaid(k, t, kind)
	case sure:
		ends, ok = true, true
	default:
		ends, ok = s.candidateEnds(k, t)
	}
	if !ok {
		return s.wait(kind, t.start)
	}
	if !ends {
		if r.credit > 0 {
			r.credit--
		}
		s.think(t.end)
		return true
	}
	if !own {
		s.diag(CodeMismatchedClose, t.start, "")
	}
	s.padClosed = s.padClosed || s.g.names[t.name].rescue && s.body.block == 0 && !r.inNarr
	s.leaveReasoning()
	s.mark(t, r.block)
	return true
}

// endsUnpaid decides a close while openers are unpaid: the next marker of the
// family decides.
func (s *Splitter) endsUnpaid(k int, t token, kind doubtKind) (ends, ok bool) {
	r := &s.r
	r.lookFrom(k, t)
	for {
		j, next, ok := s.familyAfter(r.look, r.lookEnd)
		switch {
		case !ok:
			return false, false
		case j < 0:
			return s.left(kind)
		case next.kind != kindOpen:
			return false, true
		}
		quoted, ready := s.quoted(next)
		if !quoted {
			return true, ready
		}
		r.look, r.lookEnd = j, next.end
	}
}

// lookFrom begins the search after token number k, or resumes it.
func (r *reasoning) lookFrom(k int, t token) {
	if r.lookAt != t.start {
		r.lookAt, r.look, r.lookEnd = t.start, k, t.end
	}
}

// A farLook records the result of a block that looked to the reply's end: from byte
// end on there is no opener of the family, and no close of the names in own. Where
// blocks begin without an opener, after tool calls, many blocks would look that far.
type farLook struct {
	end   int
	own   uint64 // 0 if there is no result
	group int8
	any   bool
}

// candidateEnds decides a close that ends the block only if no own close
// follows before the family's next opener, or the end of an uncut reply.
func (s *Splitter) candidateEnds(k int, t token) (ends, ok bool) {
	r := &s.r
	if t.start < r.rejects {
		return false, true
	}
	atEnd, over := s.left(doubtCandidate)
	if f := &s.ahead.far; over && t.end >= f.end && f.own == r.own && f.group == r.group && f.any == r.any {
		return atEnd, true // an earlier block has looked to the end
	}
	if t.start > r.lookAt && t.start < r.lookEnd {
		r.lookAt = t.start // the last candidate already looked beyond this one
	}
	r.lookFrom(k, t)
	for {
		j, next, ok := s.familyAfter(r.look, r.lookEnd)
		if !ok {
			return false, false
		}
		if j < 0 {
			if !atEnd {
				r.rejects = s.in.n + 1
			}
			s.ahead.far = farLook{t.end, r.own, r.group, r.any}
			return atEnd, true
		}
		quoted, ready := s.quoted(next)
		switch {
		case !ready:
			return false, false
		case quoted:
		case next.kind == kindOpen:
			return true, true
		case r.own&s.g.names[next.name].bit != 0:
			r.rejects = next.start
			return false, true
		}
		r.look, r.lookEnd = j, next.end
	}
}

// familyAfter returns the block's next family marker at byte from or later,
// searching after token number k, or -1 if none comes before the reply's end. A
// tool opener that ends the block counts as an opener. The result ok is false if
// the marker has not come completely.
func (s *Splitter) familyAfter(k, from int) (int, token, bool) {
	r := &s.r
	w := s.watches(r)
	if !r.hdr && (r.any || !s.g.groups[r.group].phrase) {
		w = s.familyKinds(r, asAny) // the next opener counts here even if nothing nests
	}
	for {
		j := s.forms.scan(scanFamily, k+1, from, w|s.g.tools, s.in.limit)
		if f := s.forms.lex.frontier(from, s.in.n, w|s.g.tools); f >= 0 && (j < 0 || f <= s.forms.token(j).start) {
			return -1, token{}, false
		}
		if j < 0 {
			return -1, token{}, s.ended
		}
		t := s.forms.token(j)
		if t.watch()&w != 0 {
			return j, t, true
		}
		quoted, ready := s.quoted(t)
		if ends, ok := s.toolEnds(t, quoted, ready); !ok {
			return -1, token{}, false
		} else if ends {
			t.kind = kindOpen
			return j, t, true
		}
		k, from = j, t.end
	}
}

// leaveReasoning goes back to the place where the block began.
func (s *Splitter) leaveReasoning() {
	r := &s.r
	if r.isPad {
		s.pads.close(s.pos)
		s.flush()
	}
	s.mode = inText
	if r.inNarr {
		s.mode = inNarration
	}
	if r.hdr {
		s.hdr.block = 0
	}
}

// closesLater reports whether the block that a token would open in mid-line is
// a block, since something ends it (G7b). The result ok is false if that is undecided.
func (s *Splitter) closesLater(t token) (is, ok bool) {
	if s.in.limit < s.in.n { // a pad is read again: later closes are not its own
		is = s.forms.next(s.forms.ti, t.end, watching(t.group, asClose|asEmpty), s.in.limit) >= 0
	} else {
		is = s.forms.closeAfter(t.group, t.end) || s.toolEndsLater(t.end)
	}
	if is {
		return true, true
	}
	return s.left(doubtOpener)
}
