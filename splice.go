package sotto

// splice looks for the marker form whose bytes a removed block parted. Text that is
// read again takes the form that starts first, and the longest of those that start
// together, so a block parts one form at most.
type splice struct {
	x    lexer
	live bool
	drop bool  // white space after the block does not show
	kept int   // where the last marker in the text before the block began, which may grow
	from int   // where that marker ended, or the text began
	cut  int   // where the block began
	at   int   // the next byte, counted as if nothing had been removed
	tok  token // the form found so far
}

// cutSplice notes that a removed block begins at byte at of a text stream.
func (s *Splitter) cutSplice(at int) {
	p := &s.splice
	if p.live || !s.seenHere() {
		return
	}
	for i := len(s.lex.breaks) - 1; i >= 0 && s.lex.breaks[i].at >= at; i-- {
		if b := &s.lex.breaks[i]; b.at == at {
			p.x.slots, p.x.literal, p.x.live = b.slots, b.literal, true
			p.kept, p.from, p.cut, p.at, p.tok = s.keptFrom, s.textFrom, at, at, token{}
			p.drop = s.byteBefore(at) == '\n'
			p.live = p.pending()
			return
		}
	}
}

// pending reports whether a form that began before the block is under way, and would
// take precedence over what was found.
func (p *splice) pending() bool {
	f := p.x.frontier(p.kept, p.at, watchAll)
	if f > p.kept && f < p.from {
		f = p.x.frontier(p.from, p.at, watchAll)
	}
	return f >= 0 && f < p.cut && (!p.tok.found() || f <= p.tok.start)
}

// spliceText feeds the text after a removed block to the forms. Its first byte stands at pos.
func (s *Splitter) spliceText(b []byte) {
	p := &s.splice
	if s.textSpan().ch != ChannelText { // aside is not visible
		p.live = false
		return
	}
	for i, c := range b {
		if p.drop && isSpace(c) {
			continue
		}
		p.drop = false
		p.x.step(c, p.at, func(t token) {
			if (t.start >= p.from || t.start == p.kept) && t.start < p.cut && (!p.tok.found() || s.before(t, p.tok)) {
				p.tok = t
			}
		})
		p.x.breaks = p.x.breaks[:0]
		p.at++
		if !p.pending() {
			if p.tok.found() { // no form begins in it
				s.textFrom = max(s.textFrom, s.pos+i+1-(p.at-p.tok.end))
				s.keptFrom = s.textFrom
			}
			s.endSplice()
			return
		}
	}
}

// keepForm notes that a marker is text: no form begins inside it, unless it begins inside
// another one itself.
func (s *Splitter) keepForm(t token) {
	if t.start >= s.textFrom {
		s.keptFrom, s.textFrom = t.start, t.end
	}
}

// endSplice reports the form that was found: the text after the block ends, or no other
// form can take precedence. A marker of which only optional newlines are before the block
// is whole.
func (s *Splitter) endSplice() {
	p := &s.splice
	if p.live && p.tok.found() && p.tok.start+int(p.tok.lead) < p.cut {
		s.diag(CodeSplicedMarker, p.tok.start, "")
	}
	p.live = false
}
