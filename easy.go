package sotto

import "github.com/sotto-llm/sotto/internal/base/bytescan"

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
	if s.pos != s.in.n || len(s.out.pend) > 0 || s.forms.lex.live || s.absorb.into.mark != 0 {
		return
	}
	var sp span
	switch {
	case s.mode == inReasoning && !s.r.dupOpen && !s.r.late.found():
		sp = s.r.span()
		e.code, e.blank = 0, &s.r.blank
	case s.mode == inText && s.textIsEasy() && !s.splice.live && s.stream().settled():
		sp, e.ts = s.textSpan(), s.stream()
		e.code, e.blank = 0, &e.ts.blank
		if s.g.code {
			e.code = e.ts.stops()
		}
	default:
		return
	}
	if s.passed.tok.found() || !s.out.order.settled(sp) || !sp.same(&s.out.last) || sp.ch == ChannelText && !s.out.view.easy() {
		return
	}
	e.on, e.shows, e.kinds, e.from = true, sp.ch == ChannelText, &s.g.lex.kinds, s.in.n
	e.last, e.watch = s.in.prior, 0
	e.piece[0] = Piece{Channel: sp.ch, Output: sp.output, Block: sp.block, Segment: s.out.segment}
	e.setStops(len(s.in.buf))
}

// setStops sets which bytes need more than a quick check where the reader stands, if some
// bytes of a form are held.
func (e *easy) setStops(held int) {
	e.stops = mayOpen | e.code
	if held > 0 {
		e.stops = anyKind
	}
}

// feedStops is Feed for a delta with bytes that matter, or after a form whose
// first bytes are held. The delta takes the fast path if every form in it fails,
// or is held in turn.
func (s *Splitter) feedStops(delta []byte, kinds byteKind) []Piece {
	e := &s.easy
	b, held := delta, len(s.in.buf)
	if held > 0 {
		e.out = append(append(e.out[:0], s.in.buf...), delta...)
		b = e.out
		kinds |= e.kinds.of(s.in.buf)
	}
	stop, cut := len(b), false
	var m bytescan.Masks
	block := kinds&e.code != 0 && held == 0 && s.g.lex.forms.Block(b, &m)
	if block {
		stop, cut = s.g.lex.firstViableIn(b, m.Forms)
		if stop < len(b) && !cut && s.formsFail(b, stop) {
			stop = len(b)
		}
	} else if kinds&mayOpen != 0 || held > 0 {
		stop, cut = s.g.lex.firstViable(b)
	}
	if stop < len(b) && (!cut || !s.holdEasy(b, stop)) {
		return s.feedLong(delta)
	}
	if stop < len(b) {
		s.in.buf = append(s.in.buf[:0], b[stop:]...)
	} else if held > 0 {
		s.in.buf = s.in.buf[:0]
		s.forms.lex.end()
	}
	p := &e.piece[0]
	p.Offset, p.Bytes = s.in.n-held, b[:stop:stop]
	if e.shows {
		p.Visible = p.Bytes
	}
	s.in.n += len(delta)
	e.fed = true
	if kinds&e.code != 0 {
		if !block || stop < len(b) {
			e.ts.scanLines(p.Bytes, p.Offset, &s.holds)
		} else if !e.ts.scanBlock(b, p.Offset, &m.CodeMasks, &s.holds) {
			e.ts.searchLines(b, p.Offset, &s.holds)
		}
		e.code = e.ts.stops()
	} else {
		*e.blank = lineBlank(p.Bytes, *e.blank)
	}
	e.setStops(len(s.in.buf))
	if stop == 0 {
		return nil
	}
	e.last = b[stop-1]
	return e.piece[:]
}

// formsFail reports whether every form in b, which begins no sooner than at byte from, fails
// before the end of b.
func (s *Splitter) formsFail(b []byte, from int) bool {
	x, before := &s.forms.lex, s.easy.last
	if from > 0 {
		before = b[from-1]
	}
	whole, last, breaks := false, x.last, len(x.breaks)
	x.restart(b[from:], s.in.n+from, before, func(token) { whole = true })
	fails := !whole && !x.live
	x.end()
	x.last, x.breaks = last, x.breaks[:breaks] // if one lives, the long way reads them again
	return fails
}

// holdEasy feeds the lexer the first bytes of a form in which b ends. It returns
// false if they need not be held, since the form could not count here.
func (s *Splitter) holdEasy(b []byte, from int) bool {
	e, at := &s.easy, s.in.n-len(s.in.buf)
	before := e.last
	if from > 0 {
		before = b[from-1]
	}
	s.forms.lex.restart(b[from:], at+from, before, s.found)
	if e.watch == 0 {
		e.watch = s.counts(s.autoHold, s.pads.hold >= 0)
	}
	if s.forms.lex.frontier(0, at+len(b), e.watch) < 0 {
		s.forms.lex.restart(s.in.buf, at, e.last, s.found)
		return false
	}
	return true
}

// leaveEasy catches up with the deltas that took the fast path.
func (s *Splitter) leaveEasy() {
	e := &s.easy
	if e.fed {
		s.in.skipped(e.last)
		s.pos = s.in.base
		s.in.looks += s.in.n - e.from
		if len(s.in.buf) == 0 {
			s.forms.lex.last = e.last
		}
		if e.shows {
			s.out.view.newline = e.last == '\n'
		}
		e.piece[0] = Piece{} // its delta can be freed
	}
	e.on, e.fed = false, false
}
