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

// cutSplice notes that a removed block begins at byte at of a text stream.
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

// spliceText feeds the text after a removed block to the forms.
func (s *Splitter) spliceText(b []byte) {
	p := &s.splice
	if s.textSpan().ch != ChannelText { // aside is not visible
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
				s.diag(CodeSplicedMarker, t.start, "")
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
