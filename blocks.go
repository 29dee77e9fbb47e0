package sotto

import (
	"bytes"
	"strings"

	"github.com/sotto-llm/sotto/dialect"
)

// narration is an open narration block.
type narration struct {
	block  int
	group  int8
	opener int
	lost   bool // a blank line ended it, and its close is still to come
}

func (st *reading) narrSpan() span { return span{ch: ChannelNarration, block: st.narr.block} }

// stepNarration reads narration up to what ends it, or a reasoning block in it (G12).
func (s *Splitter) stepNarration() bool {
	w := s.narrationWatch()
	stop, k := s.forms.nextMarker(w, s.pos, &s.in)
	if stop > s.pos {
		return s.narrate(stop)
	}
	if k < 0 {
		return false
	}
	t := s.forms.token(k)
	switch role := s.g.groups[t.group].role; {
	case role == dialect.RoleReasoning:
		s.blocks++
		s.putMark(t.end, s.blocks)
		s.absorb.after(t, s.g.names[t.name].phrase, span{ch: ChannelMarkup, block: s.blocks, mark: s.out.marks})
		s.openReasoning(t.name, t.start, false)
	case role == dialect.RoleNarration: // a close of its family
		s.mode = inText
		s.mark(t, s.narr.block)
	default:
		if t.kind == kindOpen {
			quoted, ready := s.quoted(t)
			if !ready {
				return s.wait(doubtQuote, t.start)
			}
			if quoted {
				s.put(t.end, s.narrSpan())
				return true
			}
		}
		s.mode = inText
		s.diag(CodeUnclosedNarration, s.narr.opener, "")
		if !s.outputCounts() { // an empty block: an opener would not have ended the narration
			s.keepLiteral(t, strayNote{})
			return s.literal(t, "")
		}
		return s.apply(t)
	}
	return true
}

// narrationWatch returns the kinds of markers that count in narration.
func (st *reading) narrationWatch() watch {
	w := watching(st.narr.group, asClose|asEmpty)
	for i := range st.g.groups {
		if st.g.reasoningGroups>>i&1 != 0 && !st.g.groups[i].phrase {
			w |= watching(int8(i), asOpen)
		}
	}
	w |= st.g.outputs.empty
	if st.outputCounts() {
		w |= st.g.outputs.open
	}
	if st.body.block > 0 {
		w |= watching(st.body.group, asClose)
	}
	return w
}

// narrate gives narration up to stop, or up to the blank line that ends it.
func (s *Splitter) narrate(stop int) bool {
	b := s.in.bytes(s.pos, stop)
	defer func(from int) { s.in.looks += s.pos - from }(s.pos)
	for i := 0; ; {
		j := bytes.IndexByte(b[i:], '\n')
		if j < 0 {
			break
		}
		nl := s.pos + i + j
		i += j + 1
		to := s.ahead.white.after(&s.in, nl+1)
		ends, ok := s.lapsed(doubtBlank, nl)
		switch {
		case ok:
		case s.ahead.white.newline:
			ends, ok = true, true
		case to < s.in.limit:
			ok = true
		default:
			ends, ok = s.left(doubtBlank)
		}
		if !ok {
			s.put(nl, s.narrSpan())
			return s.wait(doubtBlank, nl)
		}
		if ends {
			s.put(nl, s.narrSpan())
			s.mode = inText
			s.narr.lost = true
			s.diag(CodeUnclosedNarration, s.narr.opener, "")
			return true
		}
	}
	s.put(stop, s.narrSpan())
	return true
}

// bodyState describes the open output body.
type bodyState struct {
	block  int  // 0 if no body is open
	group  int8 // closes of this group end the body; so does an opener of any output marker
	opener int
	stream stream
}

// openOutput begins a body at an output opener.
func (s *Splitter) openOutput(t token) {
	s.splice.live = false
	s.blocks++
	s.blockSeen |= watching(t.group, asClose)
	s.mark(t, s.blocks)
	s.body.block, s.body.group, s.body.opener = s.blocks, t.group, t.start
	s.body.stream.reset()
}

// closeBodyAt ends the body, at its close or at the opener of the next body.
func (s *Splitter) closeBodyAt(t token) {
	s.body.stream.end(s.in.limit, &s.holds)
	if t.kind == kindOpen {
		s.openOutput(t)
		return
	}
	block := s.body.block
	s.body.block = 0 // the text after it is aside, which shows no marker
	s.mark(t, block)
}

// setAside makes the outer text from outHold on aside.
func (s *Splitter) setAside() {
	s.out.setAside(s.outHold)
	s.diags.takeBack(s.outHold, func(c Code) bool { return c == CodeSplicedMarker }) // it is not visible
	s.outHold = -1
	s.flush()
}

// toolState describes an open tool block.
type toolState struct {
	block, mark int
	name        int16
	from        int16 // 1 + the name of the reasoning block that it ended
}

func (st *reading) toolSpan() span {
	return span{ch: ChannelTool, block: st.tool.block, mark: st.tool.mark}
}

// openTool begins a tool block, including its opener.
func (s *Splitter) openTool(t token) {
	s.blocks++
	s.blockSeen |= watching(t.group, asClose)
	s.called = true
	s.tool = toolState{block: s.blocks, mark: s.out.mark(), name: t.name}
	if s.force == t.start {
		s.tool.from = s.forceFrom
	}
	s.put(t.end, s.toolSpan())
	s.mode = inTool
	if t.kind == kindEmpty {
		s.closeTool()
	}
}

// stepTool reads tool markup up to its close, or the next opener.
func (s *Splitter) stepTool() bool {
	n := &s.g.names[s.tool.name]
	w := watching(n.group, asClose) | s.g.tools
	stop, k := s.forms.nextMarker(w, s.pos, &s.in)
	s.put(stop, s.toolSpan())
	if k < 0 {
		return false
	}
	t := s.forms.token(k)
	if t.kind == kindOpen {
		s.mode, s.force, s.forceFrom = inText, t.start, s.tool.from
		return true
	}
	s.put(t.end, s.toolSpan())
	s.absorb.after(t, s.g.names[t.name].phrase, s.toolSpan())
	s.closeTool()
	return true
}

// closeTool resumes after a tool block.
func (s *Splitter) closeTool() {
	s.mode = inText
	s.stream().afterMarker = true
	if !s.g.afterToolReasoning || s.g.firstReasoning < 0 {
		return
	}
	name := s.g.firstReasoning
	if s.tool.from > 0 {
		name = s.tool.from - 1
	}
	s.blocks++
	was := s.r
	s.openReasoning(name, s.pos, false)
	// An answer is looked for only in blocks that the model or the prompt opened.
	s.r.resumed, s.r.isPad = true, false
	if was.own == s.r.own { // what was looked up ahead holds on
		s.r.lookAt, s.r.look, s.r.lookEnd = was.lookAt, was.look, was.lookEnd
	}
}

// toolEnds reports whether a tool opener ends reasoning (G11). The result ok is
// false if what follows the opener has not come yet.
func (s *Splitter) toolEnds(t token, quoted, ready bool) (ends, ok bool) {
	switch {
	case !ready:
		return false, false
	case quoted:
		return false, true
	case s.callable == nil && s.g.names[t.name].special:
		return true, true
	}
	if ends, ok := s.lapsed(s.callable.doubt(), t.start); ok {
		return ends, true
	}
	if s.callable != nil {
		return s.calls(t, doubtCall)
	}
	i := s.ahead.white.after(&s.in, t.end)
	if i == s.in.limit {
		return s.left(doubtTool)
	}
	const function = "<function="
	b := s.in.bytes(i, s.in.limit)
	switch {
	case b[0] == '{' || bytes.HasPrefix(b, []byte(function)):
		return true, true
	case len(b) < len(function) && strings.HasPrefix(function, string(b)):
		return s.left(doubtTool)
	}
	return false, true
}

// toolEndsLater reports whether a tool opener at byte from or later ends reasoning.
func (s *Splitter) toolEndsLater(from int) bool {
	scan := &s.forms.scans[scanTools]
	for {
		k := s.forms.next(scan.tok, s.pos, s.g.tools, s.in.limit)
		if k < 0 {
			scan.tok = s.forms.end()
			return s.ahead.lastTool >= from
		}
		t := s.forms.token(k)
		quoted, ready := s.quoted(t)
		ends, ok := s.toolEnds(t, quoted, ready)
		if !ok {
			scan.tok = k
			return s.ahead.lastTool >= from
		}
		if ends {
			s.ahead.lastTool = t.start
		}
		scan.tok = k + 1
	}
}
