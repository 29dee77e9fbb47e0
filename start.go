package sotto

import "github.com/sotto-llm/sotto/dialect"

// orphan reports whether a token settles an undecided start as reasoning, unless inline
// code makes it literal (G8).
func (st *reading) orphan(t token) bool {
	if t.kind != kindClose {
		return false
	}
	ts := st.stream()
	switch st.g.groups[t.group].role {
	case dialect.RoleReasoning:
		return !st.g.names[t.name].phrase && !(ts.fence.open() && ts.openers&watching(t.group, asOpen) != 0)
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
	s.state.reset()
	s.autoHold, s.outHold = false, -1
	s.out.takeBack(0)
	s.diags = findings{reported: -1}
	s.passed = passedForm{start: -1}
}

// settleOutside settles that the reply began outside every block.
func (s *Splitter) settleOutside() {
	s.autoHold = false
	s.flush()
}

// HasCall reports whether the bytes read so far have the markup of a tool call, as far as
// they have been read.
func (s *Splitter) HasCall() bool { return s.called }

// Assume says where a reply read with [BeginAuto] began if no marker shows it:
// [BeginOutside], or [BeginInsideFirst], with which all of it is reasoning, flagged
// [CodeAssumedUnclosed]. Without it, rule G8 decides at the end. Call it before Close, when
// you have better evidence than the reply's end, such as what the request asked for. It
// changes nothing once a marker has shown where the reply began.
func (s *Splitter) Assume(start Beginning) { s.assumed = start }

// endStart settles a start that no marker has settled, at the reply's end. Where
// prompts open the reasoning, a reply that was cut was most likely cut inside it.
func (s *Splitter) endStart() {
	inside, _ := s.left(doubtStart)
	if s.assumed != "" {
		inside = s.assumed != BeginOutside
	}
	s.settleStart(inside)
	if inside {
		s.read()
	}
}

// settleStart says where the reply began. If that was inside, the reply is read again, in a
// block that the close of any reasoning name ends.
func (s *Splitter) settleStart(inside bool) {
	if !inside {
		s.settleOutside()
		return
	}
	s.forget()
	s.forms.rewind()
	s.absorb = absorb{}
	if s.g.firstReasoning < 0 {
		s.openBodyOn(ChannelReasoning, 0)
		return
	}
	s.openReasoning(s.g.firstReasoning, 0, true)
	s.r.any, s.r.own, s.r.isPad = true, ^uint64(0), false
	s.blockSeen |= s.g.closes.reasoning
	s.phrases = ^uint64(0)
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
		if s.r.resumed && s.r.opener == s.in.n {
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
