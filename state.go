package sotto

import "slices"

// A state is where the reader stands: everything that the bytes before pos leave
// for the reading of those after. It is a value. What looks ahead is not part of
// it, since that depends on the bytes alone. What was given out, or waits to be, is
// not part of it either.
type state struct {
	pos    int // the next byte to read: settled() ≤ pos ≤ n
	mode   mode
	blocks int // number of blocks opened
	outer  stream
	body   bodyState
	r      reasoning
	narr   narration
	tool   toolState
	hdr    headerState

	outHold   int    // from here on outer text is aside if an output block comes (G10), or -1
	visible   bool   // text that is not white space has been read
	shown     bool   // such text is visible for certain
	aside     bool   // outer text is aside
	noOutput  bool   // outer text is text, since no output block came in time
	anyBody   bool   // a non-blank output body has been read
	blockSeen watch  // the closes of groups of which a block has occurred
	wrapped   watch  // the closes of wrappers that are open
	phrases   uint64 // phrases that were used
	openLit   bool   // an <output> kept as text is unclosed
	padClosed bool   // a scratch pad has closed in outer text: a late <output> counts
	force     int    // the tool opener at this byte counts, whatever is around it, or -1
	forceFrom int16  // 1 + the name of the reasoning block that it ended
	textFrom  int    // where the text that was read last began
}

type mode uint8

const (
	inText      mode = iota
	inReasoning      // a reasoning block
	inNarration      // a narration block, and not a reasoning block in it
	inTool           // a tool block
	inOpaque         // a header's body that only another header token ends
	inRest           // text to the end: the placement was leading
)

// place returns the state, to rewind to. Such a place is outside every output body,
// and no run of back-ticks is open: before it on the line there is no text, or a
// marker that counts.
func (s *Splitter) place() state { return s.state }

// rewind restores a state and reads on from there. What is pending from byte at on
// is dropped. So is what was seen ahead, since the scans may reach further now.
func (s *Splitter) rewind(to *state, at int) {
	s.unread(at)
	s.outer.runs.clear() // the state has none
	runs, notes := s.outer.runs, s.outer.notes
	for k := len(notes); k > 0 && notes[k-1].start >= at; k-- {
		notes = notes[:k-1] // those before it stay while they wait
	}
	s.state = *to
	s.pos, s.mode, s.force = at, inText, -1
	s.outer.runs, s.outer.notes = runs, notes
	s.splice.live = false
	s.forgetScans()
}

// begin puts the state back to the reply's first byte.
func (s *Splitter) begin() {
	s.outer.reset()
	outer, body := s.outer, s.body.stream
	s.state = state{outer: outer, outHold: -1, force: -1}
	s.body.stream = body
}

// unread drops what was read from byte at on, which is pending.
func (s *Splitter) unread(at int) {
	for len(s.pend) > 0 && s.pend[len(s.pend)-1].start >= at {
		s.pend = s.pend[:len(s.pend)-1]
	}
	if k := len(s.pend); k > 0 {
		s.pend[k-1].end = min(s.pend[k-1].end, at)
	}
	s.diags.pending = slices.DeleteFunc(s.diags.pending, func(d Diagnostic) bool {
		return d.Offset >= at && d.Code != CodeRescued && d.Code != CodeHoldExpired
	})
	s.ti, s.absorb = s.tok0, absorb{}
	s.passed = passedForm{start: -1}
	s.pads.forget()
}

// forgetScans drops what was looked up ahead: the reader is now elsewhere, or may
// look further. The search for a fence's end stays: text that is read again holds no
// fence that was looked up, or holds it at the same place.
func (s *Splitter) forgetScans() {
	s.scan, s.family, s.white, s.far = tokenScan{}, tokenScan{}, whiteAhead{}, farLook{}
	s.ahead.drop()
}
