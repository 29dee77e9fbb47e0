package sotto

import (
	"fmt"
	"math"
	"slices"
	"unsafe"

	"github.com/sotto-llm/sotto/internal/base/testhook"
)

// Options are the parameters of a reading, apart from the dialect.
type Options struct {
	Start Start // if empty, the dialect's; see "How a reply began and ended"
	// MaxHold is in bytes; if zero, the dialect's; if negative, or longer than any
	// reply can be, unlimited. A value smaller than the dialect's MaxMarker or
	// MaxHeader is raised to it.
	MaxHold int
	// Inline are channels that Visible includes in the text, for a consumer with
	// no other place for them: ChannelNarration, ChannelTool.
	Inline []Channel
	// Tools are the names of the tools that the model may call, as the request declares
	// them. Only a whole call of one of them ends an open reasoning block; any other call
	// there is one that the model thinks about. If nil, the tools are not known, and every
	// call ends the block (G11). An empty list that is not nil says that there are none.
	Tools []string
	// Events, Reader and Writer call End after the last byte was read, to learn
	// how the reply ended if nothing else says so. If nil, EndUnknown.
	End func() End
}

// A Piece is settled bytes: a segment, or a part of one, that will not be taken
// back. Pieces come in the order of the reply; pieces of one segment share its number.
type Piece struct {
	Channel Channel
	Output  bool // the text of an output block
	Block   int  // the block's number, 0 outside every block
	Segment int  // the segment's number, from 0
	Offset  int  // offset of the first byte in the raw reply
	// Bytes are the piece's bytes, valid until the next call on the Splitter. The
	// last piece of a reply may have none.
	Bytes []byte
	// Visible are the bytes of the visible text that became certain with the piece:
	// its own bytes, some of them, or white space before them that waited. Joined,
	// those of all pieces are Reply.Visible. They are valid as long as Bytes.
	Visible []byte
}

// A Splitter reads a reply as it streams in. The zero Splitter reads in the
// [Default] dialect. It is not safe for concurrent use.
//
// The bytes of the reply lie before it as
//
//	settled | pending | read | forms under way
//	        base      pos    n
//
// Settled bytes are given out and forgotten. Pending bytes are read, but a doubt
// that opened before them may still change how they are read. From pos on the
// reader waits for the rest of a marker, or for what decides a doubt.
type Splitter struct {
	g        *Grammar
	start    place
	maxHold  int // 0 means unlimited
	inline   uint8
	callable []string // Options.Tools

	lex  lexer
	toks []token // forms at pos or later, and pending ones, by start
	tok0 int     // number of tokens dropped before toks[0]
	ti   int     // number of the first token that the reader has not passed

	full  []byte // the available bytes; data is the part of them that was read
	data  []byte
	base  int // offset of data[0]
	prior byte
	buf   []byte // backs full if bytes are held between calls
	n     int    // bytes read
	limit int    // reading stops here: n, or less while a pad is read again

	outcomes
	doubt    doubt
	reported int // the byte whose expired hold was reported last, or -1
	pend     []span
	autoHold bool  // the start is undecided: pending from 0
	called   bool  // there was tool markup
	assumed  Start // where the reply began if no marker decides it; empty for G8

	state         // where the reader stands: place copies it, rewind puts a copy back
	atHold *state // the state at outHold; nil until there is one
	pads   pads
	marks  int // number of markers given, to tell the spans of two markers apart
	ahead  lineAhead
	fences fenceAhead
	white  whiteAhead
	tools  toolsAhead
	scan   tokenScan // for the next marker
	family tokenScan // for the next of a block's family
	far    farLook

	lastClose [maxGroups]int // where each group's last close begins, or 0
	hidden    []hiddenClose
	passed    passedForm
	absorb    absorb

	easy     easy
	pieces   []Piece
	segment  int
	lastSpan span
	diags    findings
	view     view
	splice   splice
}

// A span is read bytes before they are settled.
type span struct {
	start, end int
	ch         Channel
	output     bool
	block      int
	mark       int // the marker's number, or 0 if it is not a marker
}

func (a span) same(b span) bool {
	return a.ch == b.ch && a.output == b.output && a.block == b.block && a.mark == b.mark
}

// absorb says which white space after a marker still belongs to it.
type absorb struct {
	newlines int
	white    bool
	into     span
}

// passedForm is a form under way that is text whatever it becomes.
type passedForm struct {
	start int // -1 if there is none
	note  strayNote
	tok   token // what it became
}

// ready turns a zero splitter into one of the default dialect.
func (s *Splitter) ready() {
	if s.g == nil {
		fresh, _ := Default().NewSplitter(Options{}) // without a start from the caller it cannot fail
		s.g, s.start, s.maxHold, s.inline = fresh.g, fresh.start, fresh.maxHold, fresh.inline
		s.Reset()
	}
}

// NewSplitter returns a splitter for one reply. An unknown start is an error; so is
// an inline channel other than narration and tool.
func (g *Grammar) NewSplitter(o Options) (*Splitter, error) {
	p, err := g.place(o.Start)
	if err != nil {
		return nil, err
	}
	s := &Splitter{g: g, start: p, maxHold: o.MaxHold}
	if s.maxHold == 0 {
		s.maxHold = g.d.MaxHold
	}
	switch {
	case s.maxHold < 0, s.maxHold > math.MaxInt/2: // no reply is that long
		s.maxHold = 0
	default: // a doubt may open after an unfinished marker
		s.maxHold = max(s.maxHold, g.d.MaxMarker)
		if g.header != nil {
			s.maxHold = max(s.maxHold, g.header.MaxHeader)
		}
	}
	for _, c := range o.Inline {
		if !mayInline(c) {
			return nil, fmt.Errorf("inline channel %s: want narration or tool", c)
		}
	}
	s.inline, s.callable = inlineMask(o.Inline), o.Tools
	s.Reset()
	return s, nil
}

// Reset makes the splitter ready for the next reply, read with the same options.
func (s *Splitter) Reset() {
	if s.g == nil {
		return // the first delta makes it ready
	}
	// A composite literal with the kept fields would be built on the stack, and be most of it.
	g, start, maxHold, inline, callable := s.g, s.start, s.maxHold, s.inline, s.callable
	lex, view, outer, body := s.lex, s.view, s.outer, s.body
	toks, buf, pend, pieces, out := s.toks[:0], s.buf[:0], s.pend[:0], s.pieces[:0], s.easy.out
	ahead, fences, atHold, seen := s.ahead, s.fences, s.atHold, s.pads.seen
	*s = Splitter{}
	s.g, s.start, s.maxHold, s.inline, s.callable = g, start, maxHold, inline, callable
	s.lex, s.view, s.outer, s.body = lex, view, outer, body
	s.toks, s.buf, s.pend, s.pieces, s.easy.out = toks, buf, pend, pieces, out
	s.ahead, s.fences, s.atHold, s.pads.seen = ahead, fences, atHold, seen
	s.outcomes = g.outcomes()
	s.doubt.at, s.segment = -1, -1
	s.reported = -1
	s.lastSpan.mark, s.passed.start = -1, -1
	s.lex.reset(&s.g.lex)
	s.begin()
	s.ahead.drop()
	s.fences.drop()
	s.view.reset(s.inline, s.maxHold, s.g.header != nil)
	s.splice.x.reset(&s.g.lex)
	s.pads.forget()
	s.autoHold = s.start.auto && s.g.orphans
	switch {
	case s.start.name >= 0:
		s.openReasoning(s.start.name, 0, true)
	case s.start.inBody:
		s.openBody(s.start.header, "", 0)
	}
}

// FeedString is Feed for a string.
func (s *Splitter) FeedString(delta string) []Piece {
	return s.Feed(bytesOf(delta))
}

// bytesOf returns the bytes of s without a copy; nobody may change them.
func bytesOf(s string) []byte { return unsafe.Slice(unsafe.StringData(s), len(s)) }

// Feed reads a delta and returns what it settled, valid until the next call.
// The pieces may share the delta's memory, so do not change their bytes; you may append to
// them. The delta itself is not kept. Feed panics after Close: a splitter reads one reply,
// and another after Reset.
func (s *Splitter) Feed(delta []byte) []Piece {
	e := &s.easy
	if !e.on || len(delta) == 0 {
		return s.feedLong(delta)
	}
	if !e.fed {
		s.dropPieces()
	}
	kinds := anyKind
	if len(delta) < fewBytes {
		kinds = e.kinds.of(delta)
	}
	if kinds&e.stops != 0 {
		return s.feedStops(delta, kinds)
	}
	if kinds&mayNewline != 0 {
		*e.blank = lineBlank(delta, *e.blank)
	} else if kinds&mayNonSpace != 0 {
		*e.blank = false
	}
	p := &e.piece[0]
	p.Offset, p.Bytes = s.n, delta[:len(delta):len(delta)]
	if e.shows {
		p.Visible = p.Bytes
	}
	s.n += len(delta)
	e.fed, e.last = true, delta[len(delta)-1]
	return e.piece[:]
}

// feedLong is Feed for a delta that may change where the reader stands.
func (s *Splitter) feedLong(delta []byte) []Piece {
	s.ready()
	s.leaveEasy()
	s.dropPieces()
	if s.ended {
		panic("sotto: a delta after the end of the reply: call Reset before the next reply")
	}
	if len(delta) == 0 {
		return nil
	}
	s.load(delta)
	for s.n < s.base+len(s.full) {
		s.take(s.room(s.base + len(s.full) - s.n))
	}
	s.keep()
	return s.given()
}

// dropPieces forgets the pieces of the last call, so that their deltas can be freed.
func (s *Splitter) dropPieces() {
	clear(s.pieces)
	s.pieces = s.pieces[:0]
	s.view.begin()
}

// given returns the pieces, without room to append to what they share.
func (s *Splitter) given() []Piece {
	s.view.one = nil // it is a part of the delta, which the caller may free
	for i := range s.pieces {
		p := &s.pieces[i]
		p.Bytes, p.Visible = slices.Clip(p.Bytes), slices.Clip(p.Visible)
	}
	return slices.Clip(s.pieces)
}

// Close ends the reply and returns the rest of its pieces. A second call returns none.
func (s *Splitter) Close(end End) []Piece {
	s.ready()
	s.leaveEasy()
	s.dropPieces()
	if s.ended {
		return nil
	}
	s.load(nil)
	s.ended, s.end = true, end
	s.lex.end()
	s.read()
	s.finish()
	return s.given()
}

// Held returns the number of bytes read but not yet settled.
func (s *Splitter) Held() int {
	if s.g == nil {
		return 0
	}
	if s.easy.on {
		return len(s.buf)
	}
	return s.n - s.settled()
}

// load appends a delta to the held bytes.
func (s *Splitter) load(delta []byte) {
	if len(s.buf) == 0 {
		s.full, s.base = delta, s.n
		return
	}
	if off := s.settled() - s.base; off > len(s.buf)/2 {
		s.prior = s.buf[off-1]
		s.buf = s.buf[:copy(s.buf, s.buf[off:])]
		s.base += off
	}
	s.buf = append(s.buf, delta...)
	s.full = s.buf
	s.data = s.full[:s.n-s.base]
}

// keep holds what is not settled until the next call.
func (s *Splitter) keep() {
	off := s.settled() - s.base
	if off == len(s.full) {
		s.prior = s.full[off-1]
		s.buf = s.buf[:0]
	} else if len(s.buf) == 0 {
		if off > 0 {
			s.prior = s.full[off-1]
		}
		s.buf = append(s.buf, s.full[off:]...)
		s.base += off
	}
	s.full, s.data = nil, nil
	s.dropTokens()
	s.setEasy()
}

// settled returns the offset up to which the reply is given out.
func (s *Splitter) settled() int { return min(s.pos, s.barrier()) }

// room returns how many of the next k bytes may be read at once, so that no doubt
// is decided by bytes that come after its expiry.
func (s *Splitter) room(k int) int {
	if s.maxHold > 0 {
		k = min(k, max(s.settled()+s.maxHold+1-s.n, 1))
	}
	return k
}

// take reads the next k bytes.
func (s *Splitter) take(k int) {
	chunk := s.full[s.n-s.base:][:k]
	s.data = s.full[:s.n-s.base+k]
	s.settleNewest(chunk[0])
	s.lex.run(chunk, s.n, s.found)
	s.n += k
	s.read()
	for s.maxHold > 0 {
		p := s.firstDoubt()
		if p < 0 || s.n < p+s.maxHold+1 {
			break
		}
		s.expire(p)
		s.read()
	}
}

// read reads as far as the available bytes decide.
func (s *Splitter) read() {
	s.limit = s.n
	s.doubt = doubt{at: -1}
	for s.step() {
	}
}

// step reads one thing and reports whether there may be more to read.
func (s *Splitter) step() bool {
	if s.absorb.into.mark != 0 && s.pos < s.limit {
		s.absorbWhite()
		return true
	}
	if s.pos == 0 && s.markInDoubt() {
		return s.wait(doubtMark, 0)
	}
	if s.pos == 0 && s.mode == inText && s.g.header != nil {
		if done, more := s.stepLead(); done {
			return more
		}
	}
	switch s.mode {
	case inReasoning:
		return s.stepReasoning()
	case inNarration:
		return s.stepNarration()
	case inTool:
		return s.stepTool()
	case inOpaque:
		return s.stepOpaque()
	case inRest:
		more := s.pos < s.limit
		s.put(s.limit, s.textSpan())
		return more
	}
	return s.stepText()
}

// byteOrderMark counts as white space at the reply's start.
const byteOrderMark = "\xEF\xBB\xBF"

// markInDoubt reports whether the reply so far is part of a byte order mark.
func (s *Splitter) markInDoubt() bool {
	if s.n >= len(byteOrderMark) || string(s.data[:s.n]) != byteOrderMark[:s.n] {
		return false
	}
	_, ok := s.left(doubtMark)
	return !ok
}

// skipMark drops a byte order mark from b, whose first byte is byte from.
func skipMark(b []byte, from int) []byte {
	if from == 0 && len(b) >= len(byteOrderMark) && string(b[:len(byteOrderMark)]) == byteOrderMark {
		return b[len(byteOrderMark):]
	}
	return b
}

// finish settles everything that waited for the end.
func (s *Splitter) finish() {
	for s.pads.hold >= 0 {
		s.finishPads()
	}
	if s.autoHold {
		s.settleStart()
	}
	s.settleOutput()
	s.body.stream.end(s)
	s.outer.end(s)
	s.closeAtEnd()
	s.endView()
	if s.view.blankSoFar() {
		s.diag(CodeNoVisibleAnswer, s.n, "")
	}
	s.diags.sort()
}

// put gives the bytes up to byte to as sp says.
func (s *Splitter) put(to int, sp span) {
	if to <= s.pos {
		return
	}
	sp.start, sp.end = s.pos, to
	s.pos = to
	if sp.ch != ChannelText {
		s.textFrom = to
	}
	if len(s.pend) == 0 && s.barrier() > sp.start {
		s.release(sp)
		return
	}
	if k := len(s.pend); k > 0 && s.pend[k-1].same(sp) {
		s.pend[k-1].end = to
		return
	}
	s.pend = append(s.pend, sp)
}

// putMark gives the bytes up to byte to as a marker of a block.
func (s *Splitter) putMark(to, block int) {
	s.marks++
	s.put(to, span{ch: ChannelMarkup, block: block, mark: s.marks})
}

// flush settles the pending bytes before the barrier.
func (s *Splitter) flush() {
	b := s.barrier()
	i := 0
	for ; i < len(s.pend) && s.pend[i].start < b; i++ {
		sp := s.pend[i]
		if sp.end > b {
			sp.end = b
			s.pend[i].start = b
			s.release(sp)
			break
		}
		s.release(sp)
	}
	s.pend = append(s.pend[:0], s.pend[i:]...)
	s.diags.settle(b)
}

// release hands a span out.
func (s *Splitter) release(sp span) {
	b := s.data[sp.start-s.base : sp.end-s.base]
	if !sp.same(s.lastSpan) {
		s.segment++
		s.lastSpan = sp
	} else if k := len(s.pieces); k > 0 {
		p := &s.pieces[k-1]
		p.Bytes = s.data[p.Offset-s.base : sp.end-s.base]
		s.view.add(sp, b)
		p.Visible = s.view.out()
		return
	}
	s.view.next()
	s.view.add(sp, b)
	s.pieces = append(s.pieces, Piece{sp.ch, sp.output, sp.block, s.segment, sp.start, b, s.view.out()})
}

// endView gives the bytes that waited for the reply's end to be visible, with the last piece.
func (s *Splitter) endView() {
	if len(s.pieces) == 0 {
		s.view.next()
	}
	s.view.end(&s.outcomes)
	v := s.view.out()
	switch k := len(s.pieces); {
	case k > 0:
		s.pieces[k-1].Visible = v
	case len(v) > 0:
		sp := s.lastSpan
		s.pieces = append(s.pieces, Piece{sp.ch, sp.output, sp.block, s.segment, s.n, nil, v})
	}
}

// absorbWhite adds to a marker the white space that belongs to it.
func (s *Splitter) absorbWhite() {
	a := &s.absorb
	to := s.pos
	for to < s.limit && (a.white && isSpace(s.at(to)) || a.newlines > 0 && s.at(to) == '\n') {
		if !a.white {
			a.newlines--
		}
		to++
	}
	if s.r.resumed && s.r.opener == s.pos {
		s.r.opener = to // the block resumes after the tool call's own newlines
	}
	s.put(to, a.into)
	if to < s.limit || !a.white && a.newlines == 0 {
		a.into = span{}
	}
}

// at returns byte i of the reply, which is available.
func (s *Splitter) at(i int) byte { return s.data[i-s.base] }

// byteBefore returns the raw byte before byte i, 0 at the reply's start.
func (s *Splitter) byteBefore(i int) byte {
	if i > s.base {
		return s.data[i-1-s.base]
	}
	if i == 0 {
		return 0
	}
	return s.prior
}

// quoted reports whether the same quote stands before and after a marker. The
// result ready is false if the byte after it has not come.
func (s *Splitter) quoted(t token) (quoted, ready bool) {
	if !s.g.code {
		return false, true
	}
	q := s.byteBefore(t.start)
	if q != '"' && q != '\'' && q != '`' {
		return false, true
	}
	return s.quotedBy(q, t.end)
}

// quotedBy reports whether the byte at end, after a marker, is the quote before it.
func (s *Splitter) quotedBy(q byte, end int) (quoted, ready bool) {
	if end < s.limit {
		return s.at(end) == q, true
	}
	return s.left(doubtQuote)
}

// lineBlank reports whether the line that b ends in is blank so far; before
// says so of the beginning of that line, before b.
func lineBlank(b []byte, before bool) bool {
	for i := len(b) - 1; i >= 0; i-- {
		if b[i] == '\n' {
			return true
		}
		if !isSpace(b[i]) {
			return false
		}
	}
	return before
}

// The tests require that the splitter looks at no more than a small multiple of
// the reply's length.
func init() { testhook.Looks = func(s any) int { return s.(*Splitter).lex.count } }
