package sotto

// easy is the fast path, which nearly every delta takes: the delta continues the
// current segment, and no marker begins in it. On this path pos, base and what
// else a byte moves lag behind n, until leaveEasy.
type easy struct {
	on    bool
	fed   bool       // the last delta took the fast path
	shows bool       // the bytes are visible as they come
	last  byte       // the last byte given
	stops byteKind   // the kinds of bytes that matter where the reader stands
	code  byteKind   // those of them that matter to back-tick runs and fences
	kinds *byteKinds // the grammar's
	ts    *stream    // the stream in which text is read
	blank *bool      // whether the line is blank
	watch watch      // what could count here; 0 if not computed yet
	from  int        // where the fast path began
	out   []byte     // backs the piece if bytes were held before it
	piece [1]Piece
}

// setEasy checks whether the next delta may take the fast path.
func (s *Splitter) setEasy() {
	e := &s.easy
	if s.pos != s.n || len(s.pend) > 0 || s.lex.live || s.absorb.into.mark != 0 {
		return
	}
	var sp span
	switch {
	case s.mode == inReasoning && !s.r.dupOpen && !s.r.late.found():
		sp = s.r.span()
		e.code, e.blank = 0, &s.r.blank
	case s.mode == inText && s.textIsEasy() && s.stream().settled():
		sp, e.ts = s.textSpan(), s.stream()
		e.code, e.blank = 0, &e.ts.blank
		if s.g.code {
			e.code = e.ts.stops()
		}
	default:
		return
	}
	if s.passed.tok.found() || !sp.same(s.lastSpan) || sp.ch == ChannelText && !s.view.easy() {
		return
	}
	e.on, e.shows, e.kinds, e.from = true, sp.ch == ChannelText, &s.g.lex.kinds, s.n
	e.last, e.watch = s.prior, 0
	e.piece[0] = Piece{Channel: sp.ch, Output: sp.output, Block: sp.block, Segment: s.segment}
	s.setStops()
}

// setStops sets which bytes need more than a quick check where the reader stands.
func (s *Splitter) setStops() {
	e := &s.easy
	e.stops = mayOpen | e.code
	if len(s.buf) > 0 {
		e.stops = anyKind
	}
}

// feedStops is Feed for a delta with bytes that matter, or after a form whose
// first bytes are held. The delta takes the fast path if every form in it fails,
// or is held in turn.
func (s *Splitter) feedStops(delta []byte, kinds byteKind) []Piece {
	e := &s.easy
	b, held := delta, len(s.buf)
	if held > 0 {
		e.out = append(append(e.out[:0], s.buf...), delta...)
		b = e.out
		kinds |= e.kinds.of(s.buf)
	}
	stop, cut := len(b), false
	if kinds&mayOpen != 0 || held > 0 {
		stop, cut = s.g.lex.firstViable(b)
	}
	if stop < len(b) && (!cut || !s.holdEasy(b, stop)) {
		return s.feedLong(delta)
	}
	if stop < len(b) {
		s.buf = append(s.buf[:0], b[stop:]...)
	} else if held > 0 {
		s.buf = s.buf[:0]
		s.lex.end()
	}
	p := &e.piece[0]
	p.Offset, p.Bytes = s.n-held, b[:stop:stop]
	if e.shows {
		p.Visible = p.Bytes
	}
	s.n += len(delta)
	e.fed = true
	if kinds&e.code != 0 {
		s.scanLines(e.ts, p.Bytes, p.Offset)
		e.code = e.ts.stops()
	} else {
		*e.blank = lineBlank(p.Bytes, *e.blank)
	}
	s.setStops()
	if stop == 0 {
		return nil
	}
	e.last = b[stop-1]
	return e.piece[:]
}

// holdEasy feeds the lexer the first bytes of a form in which b ends. It returns
// false if they need not be held, since the form could not count here.
func (s *Splitter) holdEasy(b []byte, from int) bool {
	e, at := &s.easy, s.n-len(s.buf)
	before := e.last
	if from > 0 {
		before = b[from-1]
	}
	s.relex(b[from:], at+from, before)
	if e.watch == 0 {
		e.watch = s.watched()
	}
	if s.lex.frontier(0, at+len(b), e.watch) < 0 {
		s.relex(s.buf, at, e.last)
		return false
	}
	return true
}

// relex starts the lexer at the first bytes of a form; before is the byte before them.
func (s *Splitter) relex(b []byte, at int, before byte) {
	s.lex.end()
	s.lex.last = before
	s.lex.run(b, at, s.found)
}

// watched returns the kinds of markers that could count in the text or reasoning
// being read.
func (s *Splitter) watched() watch {
	if s.mode == inText {
		return s.textHold()
	}
	return s.reasoningWatch()
}

// leaveEasy catches up with the deltas that took the fast path.
func (s *Splitter) leaveEasy() {
	e := &s.easy
	if e.fed {
		s.pos = s.n - len(s.buf)
		s.base, s.prior = s.pos, e.last
		s.lex.count += s.n - e.from
		if len(s.buf) == 0 {
			s.lex.last = e.last
		}
		if e.shows {
			s.view.newline = e.last == '\n'
		}
		e.piece[0] = Piece{} // its delta can be freed
	}
	e.on, e.fed = false, false
}
