package sotto

import "math"

// A doubt is a byte whose channel later bytes decide. The bytes from it on are held:
// they are read, but pending. A doubt ends when those later bytes come, when the
// reply ends, or when MaxHold runs out.

// wait notes that the reader waits for the bytes that decide the doubt at byte p.
func (s *Splitter) wait(p int) bool {
	s.doubt = p
	return false
}

// firstDoubt returns the first undecided byte of the timed doubt, or -1.
func (s *Splitter) firstDoubt() int {
	p := s.barrier()
	if s.doubt >= 0 {
		p = min(p, s.doubt)
	}
	if p == math.MaxInt {
		return -1
	}
	return p
}

// barrier returns where the pending bytes begin; nothing from there on is final.
func (s *Splitter) barrier() int {
	b := math.MaxInt
	if s.autoHold {
		b = 0
	}
	if s.outHold >= 0 {
		b = min(b, s.outHold)
	}
	if s.pads.hold >= 0 {
		b = min(b, s.pads.hold)
	}
	return b
}

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

// expire decides the doubt at byte p, which was not settled in time.
func (s *Splitter) expire(p int) {
	s.reportExpired(p)
	switch {
	case s.autoHold && s.g.deliver:
		s.settleOutside()
	case s.autoHold:
		s.readInside()
		s.reportExpired(p)
	case s.pads.hold == p:
		s.expirePads()
	case s.outHold == p:
		if s.g.deliver {
			s.giveUpOutput()
			break
		}
		s.aside = true
		s.setAside()
	default:
		s.expired = p
	}
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
	inside := s.g.preOpens && !s.g.deliver && s.end.incomplete()
	if s.assumed != "" {
		inside = s.assumed != StartOutside
	}
	if inside {
		s.readInside()
		s.read()
		return
	}
	s.settleOutside()
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
