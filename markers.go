package sotto

import (
	"bytes"

	"github.com/sotto-llm/sotto/dialect"
)

// textToken reads token number k, which stands at pos in a text stream.
func (s *Splitter) textToken(k int) bool {
	t := s.forms.token(k)
	ts := s.stream()
	if s.force == t.start && t.kind == kindOpen {
		return s.apply(t)
	}
	begun := s.g.leading && s.visible // nothing more counts except what settles the start
	ts.endRun(&s.holds)
	if ts.mayEnd() {
		ts.endFence(true, t.start, &s.holds)
	}
	if t.watch()&s.textHold(s.autoHold) == 0 {
		return s.keepText(t)
	}
	quoted, ready := s.quoted(t)
	if !ready {
		return s.wait(doubtQuote, t.start)
	}
	if quoted {
		if begun {
			return s.literal(t, "")
		}
		return s.literal(t, ReasonQuoted)
	}
	if s.autoHold && s.orphan(t) {
		if !ts.fence.open() {
			if in, ok := s.inlineCode(t); !ok {
				return s.wait(doubtCode, t.start)
			} else if in {
				if begun {
					return s.literal(t, "")
				}
				return s.literal(t, ReasonInlineCode)
			}
		}
		return s.orphanClose(t)
	}
	if t.kind == kindClose {
		counts, ok := s.strayCounts(t)
		if !ok {
			if counts, ok = s.lapsed(doubtStray, t.start); !ok {
				return s.wait(doubtStray, t.start)
			}
		}
		if !counts {
			return s.keepText(t)
		}
	}
	if lit, why, ok := s.inCode(t); !ok {
		return false
	} else if lit {
		return s.literal(t, why)
	}
	if s.autoHold && s.callable != nil && s.g.groups[t.group].role == dialect.RoleTool && t.kind != kindClose { // a thought may mention it
		if calls, ok := s.calls(t, doubtMention); !ok {
			return s.wait(doubtMention, t.start)
		} else if !calls {
			return s.keepText(t)
		}
	}
	return s.apply(t)
}

// keepText keeps as text a marker that could not count.
func (s *Splitter) keepText(t token) bool {
	note := strayNote{before: s.in.byteBefore(t.start), fenced: s.stream().fence.open()}
	s.literal(t, "")
	s.keepLiteral(t, note)
	return true
}

// inCode reports whether a marker stands in a fence or in inline code. The result
// ok is false if the reader waits for later bytes, which decide it.
func (s *Splitter) inCode(t token) (lit bool, why Reason, ok bool) {
	ts := s.stream()
	if !s.g.code {
		return false, "", true
	}
	if ts.fence.open() {
		in, ok := s.lapsed(doubtFence, t.start)
		if !ok && s.ahead.fences.closes(ts.fence, t.end, &s.in, &s.forms, s.ended) {
			in, ok = true, true
		}
		if !ok {
			in, ok = s.left(doubtFence)
		}
		if !ok {
			return false, "", s.wait(doubtFence, t.start)
		}
		if in {
			return true, ReasonFenced, true
		}
		ts.endFence(false, s.in.limit, &s.holds)
	}
	in, ok := s.inlineCode(t)
	return in, ReasonInlineCode, ok || s.wait(doubtCode, t.start)
}

// inlineCode reports whether a pair of runs encloses a marker (G4b). The result
// ok is false if the rest of the line has not come yet.
func (s *Splitter) inlineCode(t token) (in, ok bool) {
	runs := &s.stream().runs
	if !s.g.code || len(runs.list) == 0 {
		return false, true
	}
	if bytes.Contains(s.in.bytes(t.start, t.end), newline) {
		in, ok = false, true
	} else if in, ok = s.lapsed(doubtCode, t.start); !ok {
		in, ok = s.ahead.line.encloses(t, runs, &s.in, &s.forms, &s.outcomes)
	}
	if ok && !in {
		runs.clear()
	}
	return in, ok
}

// literal gives a marker as text.
func (s *Splitter) literal(t token, why Reason) bool {
	ts := s.stream()
	role := s.g.groups[t.group].role
	if why != "" {
		s.diag(CodeLiteralMarker, t.start, why)
		if role == dialect.RoleOutput && t.kind != kindEmpty {
			s.openLit = t.kind == kindOpen
		}
		if ts.fence.open() && t.kind == kindOpen {
			ts.openers |= t.watch()
		}
	}
	if i := firstNonSpace(s.in.bytes(s.pos, t.end)); i >= 0 {
		s.nonSpace(s.pos + i)
	}
	b := s.in.bytes(t.start, t.end)
	if s.splice.live {
		s.splice.read(b, s.textSpan().ch, &s.holds)
	}
	for i := 0; i < len(b); { // its newlines end lines; its back-ticks are not runs
		if ts.fence.open() {
			i += ts.scanFenced(b[i:], t.start+i, false, &s.holds)
			continue
		}
		nl := bytes.IndexByte(b[i:], '\n')
		if nl < 0 {
			break
		}
		i += nl + 1
		ts.endLine(&s.holds)
		ts.beginFence()
	}
	ts.blank = false
	s.put(t.end, s.textSpan())
	return true
}

// apply reads a marker that counts.
func (s *Splitter) apply(t token) bool {
	n := &s.g.names[t.name]
	calls := n.role == dialect.RoleTool && s.callable != nil // from a thought, it may be, that the prompt opened
	if t.kind != kindClose && s.autoHold && n.role != "header" && !calls {
		s.settleOutside()
	}
	switch n.role {
	case dialect.RoleReasoning:
		switch t.kind {
		case kindOpen:
			return s.applyReasoning(t)
		case kindEmpty:
			return s.removeMark(t, true)
		}
	case dialect.RoleNarration:
		switch t.kind {
		case kindOpen:
			s.cutSplice(t.start)
			s.blocks++
			s.blockSeen |= watching(t.group, asClose)
			s.mark(t, s.blocks)
			s.mode = inNarration
			s.narr = narration{block: s.blocks, group: t.group, opener: t.start}
			return true
		case kindEmpty:
			return s.removeMark(t, true)
		default:
			s.narr.lost = s.narr.lost && t.group != s.narr.group
		}
	case dialect.RoleOutput:
		if s.body.block > 0 && (t.kind == kindOpen || t.group == s.body.group) {
			s.closeBodyAt(t)
			return true
		}
		switch t.kind {
		case kindOpen:
			s.openOutput(t)
			return true
		case kindEmpty:
			return s.removeMark(t, true)
		}
	case dialect.RoleTool:
		if t.kind != kindClose {
			s.cutSplice(t.start)
			s.openTool(t)
			return true
		}
	case dialect.RoleWrapper:
		if bit := watching(t.group, asClose); t.kind != kindClose || s.wrapped&bit != 0 {
			s.blockSeen |= watching(t.group, asClose)
			switch t.kind {
			case kindOpen:
				s.wrapped |= bit
			case kindClose:
				s.wrapped &^= bit
			}
			s.cutSplice(t.start)
			s.mark(t, 0)
			return true
		}
	case "header":
		return s.headerToken(t)
	}
	s.diag(CodeStrayClose, t.start, "")
	return s.removeMark(t, false)
}

// removeMark drops a marker that stands alone: a stray, or an empty block.
func (s *Splitter) removeMark(t token, empty bool) bool {
	s.cutSplice(t.start)
	block := 0
	if empty {
		s.blocks++
		block = s.blocks
		s.blockSeen |= watching(t.group, asClose)
	}
	s.mark(t, block)
	return true
}

// mark gives a token as markup of a block.
func (s *Splitter) mark(t token, block int) {
	s.putMark(t.end, block)
	s.stream().afterMarker = true
	s.absorb.after(t, s.g.names[t.name].phrase, span{ch: ChannelMarkup, block: block, mark: s.out.marks})
}

// applyReasoning opens a reasoning block, unless its opener stands in mid-line
// and the block never closes (G7b).
func (s *Splitter) applyReasoning(t token) bool {
	n := &s.g.names[t.name]
	if n.phrase && s.phrases&n.bit != 0 {
		return s.literal(t, "")
	}
	ts := s.stream()
	if midLine := s.textSpan().ch == ChannelText && !ts.blank; midLine {
		opens, ok := s.lapsed(doubtOpener, t.start)
		if !ok {
			opens, ok = s.closesLater(t)
		}
		switch {
		case !ok:
			return s.wait(doubtOpener, t.start)
		case !opens:
			return s.literal(t, ReasonDoubt)
		}
	}
	s.cutSplice(t.start)
	s.blocks++
	s.mark(t, s.blocks)
	s.openReasoning(t.name, t.start, false)
	return true
}

// strayCounts reports whether a close with nothing to close is markup (G9). The
// result ok is false if the white space after it has not ended yet.
func (s *Splitter) strayCounts(t token) (counts, ok bool) {
	ts := s.stream()
	role := s.g.groups[t.group].role
	switch {
	case role == dialect.RoleWrapper && s.wrapped&watching(t.group, asClose) != 0, role == "header", s.body.block > 0 && t.group == s.body.group:
		return true, true
	case s.g.stray && (!s.seenHere() || ts.afterMarker || s.narr.lost && t.group == s.narr.group):
		return true, true
	}
	known := s.blockSeen&watching(t.group, asClose) != 0
	if known && ts.blank {
		if alone, ok := s.ahead.white.lineEnds(t.end, doubtStray, &s.in, &s.outcomes); !ok || alone {
			return alone, ok
		}
	}
	if known || role == dialect.RoleOutput {
		if s.ahead.white.after(&s.in, t.end) == s.in.limit {
			return s.left(doubtStray)
		}
	}
	return false, true
}
