package sotto

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

// A reading is where the reader of a reply stands. Its methods say what counts there, in
// the grammar's dialect.
type reading struct {
	g *Grammar
	state
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

// reset puts the state back to the reply's first byte.
func (st *state) reset() {
	st.outer.reset()
	outer, body := st.outer, st.body.stream
	*st = state{outer: outer, force: -1}
	st.body.stream = body
}

// rewind restores a state and reads on from byte at. Such a state is outside every output
// body, and no run of back-ticks is open: before it on the line there is no text, or a marker
// that counts. outHold is where outer text was held there. What is pending from byte at on is
// dropped. So is what was seen ahead, since the scans may reach further now.
func (s *Splitter) rewind(to *state, outHold, at int) {
	s.out.takeBack(at)
	s.diags.takeBack(at, func(c Code) bool { return c != CodeRescued && c != CodeHoldExpired })
	s.forms.rewind()
	s.passed, s.absorb = passedForm{start: -1}, absorb{}
	s.outer.runs.clear() // the state has none
	runs, notes := s.outer.runs, s.outer.notes
	for k := len(notes); k > 0 && notes[k-1].start >= at; k-- {
		notes = notes[:k-1] // those before it stay while they wait
	}
	s.state, s.outHold = *to, outHold
	s.pos, s.mode, s.force = at, inText, -1
	s.outer.runs, s.outer.notes = runs, notes
	s.pads.forget()
	s.splice.live = false
	s.forgetScans()
}

// forgetScans drops what was looked up ahead: the reader is now elsewhere, or may
// look further. The search for a fence's end stays: text that is read again holds no
// fence that was looked up, or holds it at the same place.
func (s *Splitter) forgetScans() {
	s.forms.forget(scanMarker, scanFamily, scanLine)
	s.ahead.forget()
}
