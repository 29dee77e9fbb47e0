package sotto

import "math"

// pads are the scratch pads at the start of the reply that may hold its answer (G7a).
type pads struct {
	hold  int       // where the doubt began, or -1
	floor int       // openers that end at this byte or before are given up
	done  bool      // a pad has been rescued; no other will be
	seen  *seenPads // nil until the first pad begins: they are large, and most replies have none
}

type seenPads struct {
	cur  pad // the open one, without any opener if none is open
	last pad // the last that closed with a whole output block in it
}

// forget drops what is known, and keeps the memory.
func (p *pads) forget() {
	*p = pads{hold: -1, done: p.done, seen: p.seen}
	if p.seen != nil {
		*p.seen = seenPads{}
	}
}

// A pad is what is known about the output blocks in one scratch pad.
type pad struct {
	at      state                        // where it began
	outHold int                          // what was held there
	whole   padOpener                    // of the last whole output block
	later   [maxOutputFamilies]padOpener // the last of each output family
	closed  bool
	stop    int // where a rescue of the whole block ends: at the pad's close, or after the last output close in it
}

// A padOpener is an output opener in a pad.
type padOpener struct {
	token           // end > 0 if there is one
	r     reasoning // the state of the pad's block there
}

// bounds returns the first and the last of the families' last openers.
func (p *pad) bounds() (first, last token) {
	for i := range p.later {
		t := p.later[i].token
		if !t.found() {
			continue
		}
		if !first.found() || t.start < first.start {
			first = t
		}
		if t.start >= last.start {
			last = t
		}
	}
	return first, last
}

// begin notes that a pad begins at a state, and what was held there.
func (p *pads) begin(at *state, outHold int) {
	if p.seen == nil {
		p.seen = new(seenPads)
	}
	p.seen.cur = pad{at: *at, outHold: outHold}
}

// outputMarker notes an output marker of a family inside the open pad, whose block is r.
func (p *pads) outputMarker(t token, family int8, r *reasoning) {
	c := &p.seen.cur
	later := &c.later[family]
	switch {
	case t.end <= p.floor:
		return
	case t.kind == kindOpen:
		*later = padOpener{t, *r}
	case t.kind == kindClose && later.found():
		if later.start >= c.whole.start {
			c.whole = *later
		}
	}
	if t.kind == kindClose {
		c.stop = t.end
	}
	p.settle()
}

// settle moves the barrier to the first output block that may be the answer.
func (p *pads) settle() {
	hold, cur, last := -1, &p.seen.cur, &p.seen.last
	if first, _ := cur.bounds(); cur.whole.found() {
		hold = cur.whole.start
		*last = pad{}
	} else if first.found() {
		hold = first.start
	}
	if last.whole.found() {
		hold = last.whole.start
	}
	p.hold = hold
}

// close notes that the open pad ends at byte pos.
func (p *pads) close(pos int) {
	cur := &p.seen.cur
	if cur.whole.found() {
		cur.closed, cur.stop = true, pos
		p.seen.last = *cur
	}
	*cur = pad{}
	p.settle()
}

// giveUp notes that the reply shows something, so that no closed pad holds its answer.
func (p *pads) giveUp() {
	if p.seen != nil {
		p.seen.last = pad{}
		p.settle()
	}
}

// expire notes that no pad so far was settled in time, when the reply had n bytes.
func (p *pads) expire(n int) {
	p.floor = n
	*p.seen = seenPads{cur: pad{at: p.seen.cur.at, outHold: p.seen.cur.outHold}}
	p.settle()
}

// doubt returns which doubt holds the bytes from hold on.
func (p *pads) doubt() doubtKind {
	switch {
	case p.seen.last.whole.found():
		return doubtClosed
	case p.seen.cur.whole.found():
		return doubtWhole
	}
	return doubtPad
}

// expirePads decides a pad that was not settled in time: whether the answer is in it.
func (s *Splitter) expirePads(answer bool) {
	p := &s.pads
	if !answer {
		p.expire(s.in.n)
		s.flush()
		return
	}
	cur := &p.seen.cur
	switch p.doubt() {
	case doubtClosed:
		s.rescueWhole(p.seen.last)
	case doubtWhole:
		s.rescueOpen(cur.whole.token)
	default:
		first, _ := cur.bounds()
		s.rescueOpen(first)
	}
}

// finishPads rescues the answer that a pad holds at the reply's end.
func (s *Splitter) finishPads() {
	p := &s.pads
	if p.hold < 0 {
		return
	}
	cur, closed := &p.seen.cur, &p.seen.last
	_, last := cur.bounds()
	begins, _ := s.left(doubtPad)
	whole, _ := s.left(doubtWhole)
	before, _ := s.left(doubtClosed)
	switch {
	case last.found() && begins:
		s.rescueOpen(last)
	case cur.whole.found() && whole:
		s.rescueWhole(*cur)
	case closed.whole.found() && before && !s.shown:
		s.rescueWhole(*closed)
	default:
		p.hold = -1
	}
}

// rescueOpen reads an open pad again from an output opener on.
func (s *Splitter) rescueOpen(t token) {
	cur := &s.pads.seen.cur
	s.rescue(t, cur.at, cur.outHold)
	s.read()
}

// rescue begins an output block at an opener inside a pad. The pad began at a state, and
// with what was held there.
func (s *Splitter) rescue(t token, at state, outHold int) {
	s.rewind(&at, outHold, t.start)
	s.pads.done = true
	s.diag(CodeRescued, t.start, "")
	s.openOutput(t)
}

// rescueWhole makes the last whole output block of a pad the output. The body is
// read again, at most up to byte p.stop. What follows it is read as a further block
// of reasoning, which ends where the pad does. Then the rest is read again.
func (s *Splitter) rescueWhole(p pad) {
	s.rescue(p.whole.token, p.at, p.outHold)
	s.in.limit = p.stop
	before := s.stopHere()
	for s.body.block > 0 && s.step() {
	}
	s.closeAtEnd()
	s.body.block = 0
	if s.absorb.into.mark != 0 { // the close's own newlines
		if !p.closed {
			s.in.limit = s.in.n
		}
		s.absorbWhite()
	}
	s.outcomes = before
	s.absorb = absorb{}
	s.mode, s.r = inReasoning, p.whole.r
	s.blocks++
	s.r.block = s.blocks
	s.r.isPad, s.r.dupOpen, s.r.stop = false, false, p.stop
	if !p.closed {
		s.r.stop = math.MaxInt
	}
	s.forgetScans()
	s.read()
}
