package sotto

// splice follows marker forms whose bytes are parted by a removed block.
type splice struct {
	x    lexer
	live bool
	drop bool // white space after the block does not show
	from int  // where the text before the block began
	cut  int  // where the block began
	at   int  // the next byte, counted as if nothing had been removed
}

// reset begins the next reply, and keeps the memory.
func (p *splice) reset(t *lexTables) {
	p.x.reset(t)
	*p = splice{x: p.x}
}

// cutSplice notes that a removed block begins at byte at of a text stream.
func (s *Splitter) cutSplice(at int) {
	if !s.splice.live && s.seenHere() {
		s.splice.cutAt(at, s.textFrom, s.in.byteBefore(at), s.forms.lex.breaks)
	}
}

// cutAt notes that a removed block begins at byte at. The text before it began at byte from
// and ends in byte before. breaks are the places where forms under way may be cut.
func (p *splice) cutAt(at, from int, before byte, breaks []lexBreak) {
	for i := len(breaks) - 1; i >= 0 && breaks[i].at >= at; i-- {
		if b := &breaks[i]; b.at == at {
			p.x.slots, p.x.literal, p.x.live = b.slots, b.literal, true
			p.from, p.cut, p.at = from, at, at
			p.drop = before == '\n'
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

// read feeds the text after a removed block, which is on channel ch, to the forms.
func (p *splice) read(b []byte, ch Channel, h *holds) {
	if ch != ChannelText { // aside is not visible
		p.live = false
		p.x.end()
		return
	}
	for _, c := range b {
		if p.drop && isSpace(c) {
			continue
		}
		p.drop = false
		flagged := false // a shorter form of it ends here too
		p.x.step(c, p.at, func(t token) {
			// A marker of which only optional newlines are before the block is whole.
			if !flagged && t.start >= p.from && t.start+int(t.lead) < p.cut {
				h.diag(CodeSplicedMarker, t.start, "")
				flagged = true
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
