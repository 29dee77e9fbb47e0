package sotto

import "slices"

// orphanInAuto reports whether a token settles an undecided start as reasoning,
// if inline code does not make it literal (G8).
func (s *Splitter) orphanInAuto(t token) bool {
	if !s.autoHold || t.kind != kindClose || s.body.block > 0 {
		return false
	}
	ts := s.stream()
	switch s.g.groups[t.group].role {
	case RoleReasoning:
		return !s.g.names[t.name].phrase && !(ts.fence.open() && ts.openers&watching(t.group, asOpen) != 0)
	case "header":
		return true
	}
	return false
}

// orphanClose makes all before an orphan close reasoning.
func (s *Splitter) orphanClose(t token) bool {
	s.forget()
	s.blocks = 1
	s.blockSeen |= watching(t.group, asClose)
	s.put(t.start, span{ch: ChannelReasoning, block: 1})
	s.mark(t, 1)
	s.diag(CodeOrphanClose, t.start, "")
	if t.group == s.g.headerGroup {
		s.hdr.between = true
	}
	s.passTokens()
	return true
}

// forget drops what was read on the assumption that the reply began outside.
func (s *Splitter) forget() {
	s.begin()
	s.autoHold = false
	s.pend, s.diags, s.reported = s.pend[:0], findings{}, -1
	s.splice.live = false
	s.passed, s.covered = passedForm{start: -1}, 0
}

// settleOutside says that the reply began outside every block.
func (s *Splitter) settleOutside() {
	s.autoHold = false
	s.flush()
}

// expire decides the doubt at byte p, which was not settled in time.
func (s *Splitter) expire(p int) {
	s.reportExpired(p)
	switch {
	case s.autoHold && s.g.deliver:
		s.settleOutside()
	case s.autoHold:
		s.readInside()
	case s.pads.hold == p:
		s.expirePads()
	case s.outHold == p:
		if s.g.deliver {
			s.giveUpOutput()
			break
		}
		s.outHold, s.aside = -1, true
		for i := range s.pend {
			if sp := &s.pend[i]; sp.ch == ChannelText && sp.block == 0 && sp.start >= p {
				sp.ch = ChannelAside
			}
		}
		s.flush()
	default:
		s.expired = p
	}
}

// reportExpired says that a hold at byte p ran out. Several doubts that opened at
// one byte are one hold: an undecided start and text that an output may set aside.
func (s *Splitter) reportExpired(p int) {
	if s.reported == p {
		return
	}
	s.reported = p
	s.diag(CodeHoldExpired, p, "")
}

// readInside reads an expired auto start again, inside a block that the close
// of any reasoning name ends.
func (s *Splitter) readInside() {
	s.forget()
	s.reportExpired(0)
	s.ti, s.absorb = s.tok0, absorb{}
	if s.g.firstReasoning < 0 {
		s.openBody(s.insideHeader(), "", 0)
		return
	}
	s.openReasoning(s.g.firstReasoning, 0, true)
	s.r.any, s.r.isPad = true, false
	s.blockSeen |= s.g.closes.reasoning
	s.phrases = ^uint64(0)
}

// insideHeader returns the name of the header's reasoning channel.
func (s *Splitter) insideHeader() string {
	p, err := s.g.place(StartInsideFirst)
	if err != nil {
		return ""
	}
	return p.header
}

// pads are the scratch pads at the reply's head that may hold its answer (G7a).
type pads struct {
	hold  int  // where the doubt began, -1 without
	floor int  // openers that end at this byte or before are given up
	cur   pad  // the one that is open
	last  pad  // the last that closed with a whole output block in it
	inPad bool // cur is open
	done  bool // one has been rescued, and no other is
}

// A pad is what is known of the output blocks in one.
type pad struct {
	at     state                        // where it began
	whole  padOpener                    // of the last whole output block
	later  [maxOutputFamilies]padOpener // the last of each output family, if no close of it stands after it
	closed bool
	stop   int // where a rescue of the whole block ends: at the pad's close, or after the last output close in it
}

// A padOpener is an output opener in a pad.
type padOpener struct {
	token           // end > 0 if there is one
	r     reasoning // the pad's block where it stands
}

// bounds returns the first and the last of the openers without a close.
func (p *pad) bounds() (first, last token) {
	for i := range p.later {
		t := p.later[i].token
		if t.end == 0 {
			continue
		}
		if first.end == 0 || t.start < first.start {
			first = t
		}
		if t.start >= last.start {
			last = t
		}
	}
	return first, last
}

func (p *pads) begin(s *Splitter) { p.cur, p.inPad = pad{at: s.place()}, true }

// outputMarker notes an output marker inside the open pad.
func (p *pads) outputMarker(s *Splitter, t token) {
	c := &p.cur
	later := &c.later[s.g.groups[t.group].number]
	switch {
	case t.end <= p.floor:
		return
	case t.kind == kindOpen:
		*later = padOpener{t, s.r}
	case t.kind == kindClose && later.end > 0:
		if later.start >= c.whole.start {
			c.whole = *later
		}
		later.token = token{}
	}
	if t.kind == kindClose {
		c.stop = t.end
	}
	p.settle(s)
}

// settle moves the barrier to the first output block that may be the answer.
func (p *pads) settle(s *Splitter) {
	hold := -1
	if p.inPad {
		if first, _ := p.cur.bounds(); p.cur.whole.end > 0 {
			hold = p.cur.whole.start
			p.last = pad{}
		} else if first.end > 0 {
			hold = first.start
		}
	}
	if p.last.whole.end > 0 {
		hold = p.last.whole.start
	}
	p.hold = hold
	s.flush()
}

// close notes that the open pad ends at pos.
func (p *pads) close(s *Splitter) {
	p.inPad = false
	if p.cur.whole.end > 0 {
		p.cur.closed, p.cur.stop = true, s.pos
		p.last = p.cur
	}
	p.cur = pad{}
	p.settle(s)
}

// givePadsUp says that the reply shows something: no pad holds its answer.
func (s *Splitter) givePadsUp() {
	s.pads.last = pad{}
	s.pads.cur = pad{}
	s.pads.settle(s)
}

// expirePads decides a pad that was not settled in time.
func (s *Splitter) expirePads() {
	p := &s.pads
	if !s.g.deliver {
		p.floor, p.last, p.cur = s.n, pad{}, pad{at: p.cur.at}
		p.settle(s)
		return
	}
	first, _ := p.cur.bounds()
	switch {
	case p.last.whole.end > 0:
		s.rescueWhole(p.last)
	case p.cur.whole.end > 0:
		s.rescueOpen(p.cur.whole.token)
	default:
		s.rescueOpen(first)
	}
}

// finishPads rescues the answer that a pad holds at the reply's end.
func (s *Splitter) finishPads() {
	p := &s.pads
	if p.hold < 0 {
		return
	}
	if p.inPad {
		_, last := p.cur.bounds()
		switch {
		case s.end.incomplete() && p.cur.whole.end > 0:
			s.rescueWhole(p.cur)
			return
		case s.end.incomplete():
		case last.end > 0 && last.start >= p.cur.whole.start:
			s.rescueOpen(last)
			return
		case p.cur.whole.end > 0:
			s.rescueOpen(p.cur.whole.token)
			return
		}
	}
	if p.last.whole.end > 0 && !s.end.incomplete() && !s.shown {
		s.rescueWhole(p.last)
		return
	}
	p.hold = -1
	s.flush()
}

// rescueOpen reads an open pad again from an output opener on.
func (s *Splitter) rescueOpen(t token) {
	s.rescue(t, s.pads.cur.at)
	s.read()
}

// rescue begins an output block at an opener inside a pad, which began at a state.
func (s *Splitter) rescue(t token, at state) {
	s.rewind(&at, t.start)
	s.pads.done = true
	s.diag(CodeRescued, t.start, "")
	s.outer.afterMarker = true
	s.flush()
	s.openOutput(t)
}

// unread drops what was read from byte at on, which is pending.
func (s *Splitter) unread(at int) {
	for len(s.pend) > 0 && s.pend[len(s.pend)-1].start >= at {
		s.pend = s.pend[:len(s.pend)-1]
	}
	if k := len(s.pend); k > 0 && s.pend[k-1].end > at {
		s.pend[k-1].end = at
	}
	s.diags.pending = slices.DeleteFunc(s.diags.pending, func(d Diagnostic) bool {
		return d.Offset >= at && d.Code != CodeRescued && d.Code != CodeHoldExpired
	})
	s.ti, s.absorb = s.tok0, absorb{}
	s.passed, s.covered = passedForm{start: -1}, 0
	s.pads = pads{hold: -1, done: s.pads.done}
}

// giveUpOutput reads again, as text, what would have been aside had an output block
// come.
func (s *Splitter) giveUpOutput() {
	s.rewind(&s.atHold, s.outHold)
	s.visible, s.noOutput = true, true
	s.flush()
}

// rescueWhole makes the last whole output block of a pad the output. The body is
// read again up to byte p.stop at most, and what follows it as reasoning of the
// pad that ends there; then the rest is read again.
func (s *Splitter) rescueWhole(p pad) {
	s.rescue(p.whole.token, p.at)
	s.limit = p.stop
	ended, end := s.ended, s.end
	s.ended, s.end = true, EndStopped
	for s.body.block > 0 && s.step() {
	}
	if s.body.block > 0 {
		s.closeAtEnd()
		s.body.block = 0
	}
	s.ended, s.end = ended, end
	s.absorb = absorb{}
	s.mode, s.r = inReasoning, p.whole.r
	s.r.isPad, s.r.dupOpen, s.r.stop = false, false, p.stop
	if !p.closed {
		s.r.stop = s.n + 1
	}
	s.forgetScans()
	s.read()
}

// forgetScans drops what was looked up ahead: the reader stands elsewhere, or may
// look further.
func (s *Splitter) forgetScans() {
	s.limit = s.n
	s.scan, s.family, s.white = tokenScan{}, tokenScan{}, whiteAhead{}
	s.ahead.drop()
	s.fences.drop()
}

// closeAtEnd says what the reply's end leaves unclosed.
func (s *Splitter) closeAtEnd() {
	switch s.mode {
	case inReasoning:
		if s.r.resumed && s.r.opener == s.n {
			break
		}
		if s.r.assumed {
			s.diag(CodeAssumedUnclosed, 0, "")
		} else {
			s.diag(CodeTruncated, s.r.opener, "")
		}
		if s.r.inNarr {
			s.diag(CodeUnclosedNarration, s.narr.opener, "")
		}
	case inNarration:
		s.diag(CodeUnclosedNarration, s.narr.opener, "")
	}
	if s.body.block > 0 {
		s.diag(CodeUnclosedOutput, s.body.opener, "")
	}
}

// splice follows the marker forms whose bytes a removed block parts.
type splice struct {
	x    lexer
	live bool
	drop bool // white space behind the block does not show
	from int  // where the text before the block began
	cut  int  // where the block did
	at   int  // the next byte, counted as if nothing had been removed
}

// cutSplice says that a removed block begins at byte at of a text stream.
func (s *Splitter) cutSplice(at int) {
	p := &s.splice
	if p.live || !s.seenHere() {
		return
	}
	for i := len(s.lex.breaks) - 1; i >= 0 && s.lex.breaks[i].at >= at; i-- {
		if b := &s.lex.breaks[i]; b.at == at {
			p.x.slots, p.x.literal, p.x.live = b.slots, b.literal, true
			p.from, p.cut, p.at = s.textFrom, at, at
			p.drop = s.byteBefore(at) == '\n'
			p.live = p.pending()
			return
		}
	}
}

// pending reports whether a form that began before the block is under way.
func (p *splice) pending() bool {
	f := p.x.frontier(p.from, p.at, watchAll)
	return f >= 0 && f < p.cut
}

// spliceText feeds the text behind a removed block to the forms.
func (s *Splitter) spliceText(b []byte) {
	p := &s.splice
	for _, c := range b {
		if p.drop && isSpace(c) {
			continue
		}
		p.drop = false
		p.x.step(c, p.at, func(t token) {
			if t.start >= p.from && t.start < p.cut {
				s.diag(CodeSplicedMarker, t.start, "")
			}
		})
		p.x.breaks = p.x.breaks[:0]
		p.x.last = c
		p.at++
		if p.live = p.pending(); !p.live {
			p.x.end()
			return
		}
	}
}
