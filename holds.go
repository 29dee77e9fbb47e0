package sotto

// orphanInAuto reports whether a token settles an undecided start as reasoning,
// unless inline code makes it literal (G8).
func (s *Splitter) orphanInAuto(t token) bool {
	if !s.autoHold || t.kind != kindClose {
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

// orphanClose makes everything before an orphan close reasoning.
func (s *Splitter) orphanClose(t token) bool {
	s.forget()
	s.blocks = 1
	s.blockSeen |= watching(t.group, asClose)
	s.put(t.start, span{ch: ChannelReasoning, block: 1})
	s.mark(t, 1)
	s.diag(CodeOrphanClose, t.start, "")
	s.padClosed = s.g.names[t.name].rescue
	if t.group == s.g.headerGroup {
		s.hdr.begun = true
	}
	return true
}

// forget drops what was read under the assumption that the reply began outside.
func (s *Splitter) forget() {
	s.begin()
	s.autoHold = false
	s.pend, s.diags, s.reported = s.pend[:0], findings{}, -1
	s.passed = passedForm{start: -1}
}

// settleOutside settles that the reply began outside every block.
func (s *Splitter) settleOutside() {
	s.autoHold = false
	s.flush()
}

// reportExpired reports that a hold at byte p ran out. Several doubts that opened
// at one byte are one hold: an undecided start, and text that an output block may
// set aside.
func (s *Splitter) reportExpired(p int) {
	if s.reported == p {
		return
	}
	s.reported = p
	s.diag(CodeHoldExpired, p, "")
}

// HasCall reports whether the bytes read so far have the markup of a tool call, as far as
// they have been read.
func (s *Splitter) HasCall() bool { return s.called }

// Assume says where a reply read with [StartAuto] began if no marker shows it:
// [StartOutside], or [StartInsideFirst], with which all of it is reasoning, flagged
// [CodeAssumedUnclosed]. Without it, rule G8 decides at the end. Call it before Close, when
// you have better evidence than the reply's end, such as what the request asked for. It
// changes nothing once a marker has shown where the reply began.
func (s *Splitter) Assume(start Start) { s.assumed = start }

// settleStart settles a start that no marker has settled, at the reply's end. Where
// prompts open the reasoning, a reply that was cut was most likely cut inside it.
func (s *Splitter) settleStart() {
	inside, _ := s.left(doubtStart)
	if s.assumed != "" {
		inside = s.assumed != StartOutside
	}
	s.beganInside(inside)
	if inside {
		s.read()
	}
}

// beganInside says where the reply began.
func (s *Splitter) beganInside(inside bool) {
	if inside {
		s.readInside()
	} else {
		s.settleOutside()
	}
}

// readInside reads a reply with an undecided start again, inside a block that the
// close of any reasoning name ends.
func (s *Splitter) readInside() {
	s.forget()
	s.ti, s.absorb = s.tok0, absorb{}
	if s.g.firstReasoning < 0 {
		s.openBodyOn(ChannelReasoning, 0)
		return
	}
	s.openReasoning(s.g.firstReasoning, 0, true)
	s.r.any, s.r.own, s.r.isPad = true, ^uint64(0), false
	s.blockSeen |= s.g.closes.reasoning
	s.phrases = ^uint64(0)
}

// giveUpOutput reads again, as text, the bytes that would have been aside if an
// output block had come.
func (s *Splitter) giveUpOutput() {
	s.rewind(s.atHold, s.outHold)
	s.noOutput = true
}

// settleOutput settles, at the reply's end, text that an output block might have set
// aside.
func (s *Splitter) settleOutput() {
	if aside, _ := s.left(doubtOutput); aside && s.outHold >= 0 {
		s.setAside()
	}
	s.outHold = -1
	s.flush()
}

// closeAtEnd reports what is unclosed at the reply's end.
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
