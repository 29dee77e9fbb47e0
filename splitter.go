package sotto

import (
	"errors"
	"math"
	"unsafe"

	"github.com/sotto-llm/sotto/internal/base/testhook"
)

// Options are the parameters of a reading, apart from the dialect.
type Options struct {
	Start Beginning // if empty, the dialect's; see "How a reply began and ended"
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
}

// StreamOptions are the parameters of a reading that comes to the end of the reply by
// itself, as [Grammar.Events] and a [Reader] do.
type StreamOptions struct {
	Options
	// End is called after the last byte was read, and says how the reply ended. If nil,
	// EndUnknown. A stream that breaks is EndAborted; End is not called then.
	End func() Ending
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
	start    place
	callable callable // Options.Tools
	called   bool     // there was tool markup

	in    window // the bytes at hand
	forms forms  // the forms of markers in it
	ahead looks  // what later bytes say of them

	reading // where the reader stands, and what counts there
	holds   // what is in doubt, and what was found
	passed  passedForm
	absorb  absorb
	splice  splice

	out  outlet // what is given out
	easy easy   // the way of nearly every delta
}

// ready turns a zero splitter into one of the default dialect.
func (s *Splitter) ready() {
	if s.g == nil {
		fresh, _ := Default().NewSplitter(Options{}) // without a start from the caller it cannot fail
		*s = *fresh
	}
}

// NewSplitter returns a splitter for one reply. An unknown start is an error; so is
// an inline channel other than narration and tool.
func (g *Grammar) NewSplitter(o Options) (*Splitter, error) {
	p, err := g.place(o.Start)
	if err != nil {
		return nil, err
	}
	s := &Splitter{reading: reading{g: g}, start: p, holds: holds{maxHold: o.MaxHold}}
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
			return nil, errors.New("inline channel " + c.String() + ": want narration or tool")
		}
	}
	s.callable = o.Tools
	s.out.order.watched = g.once
	s.out.view = view{inline: inlineMask(o.Inline), most: s.maxHold, parted: g.header != nil}
	s.Reset()
	return s, nil
}

// Reset makes the splitter ready for the next reply, read with the same options.
func (s *Splitter) Reset() {
	if s.g == nil {
		return // the first delta makes it ready
	}
	s.in.reset()
	s.forms.reset(s.g)
	s.state.reset()
	s.holds.reset(s.g, s.start.auto && s.g.orphans)
	s.called = false
	s.ahead.reset()
	s.passed, s.absorb = passedForm{start: -1}, absorb{}
	s.out.reset()
	s.easy = easy{out: s.easy.out}
	s.splice.reset(&s.g.lex)
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
		s.out.drop()
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
	p.Offset, p.Bytes = s.in.n, delta[:len(delta):len(delta)]
	if e.shows {
		p.Visible = p.Bytes
	}
	s.in.n += len(delta)
	e.fed, e.last = true, delta[len(delta)-1]
	return e.piece[:]
}

// feedLong is Feed for a delta that may change where the reader stands.
func (s *Splitter) feedLong(delta []byte) []Piece {
	s.ready()
	s.leaveEasy()
	s.out.drop()
	if s.ended {
		panic("sotto: a delta after the end of the reply: call Reset before the next reply")
	}
	if len(delta) == 0 {
		return nil
	}
	s.in.load(delta, s.settled())
	for s.in.unread() > 0 {
		s.advance(s.room(s.in.unread(), s.settled(), s.in.n))
	}
	s.in.keep(s.settled())
	s.forms.drop(s.settled())
	s.setEasy()
	return s.out.given()
}

// Close ends the reply and returns the rest of its pieces. A second call returns none.
func (s *Splitter) Close(end Ending) []Piece {
	s.ready()
	s.leaveEasy()
	s.out.drop()
	if s.ended {
		return nil
	}
	s.in.load(nil, s.settled())
	s.ended, s.end = true, end
	s.forms.lex.end()
	s.read()
	s.finish()
	return s.out.given()
}

// Held returns the number of bytes read but not yet settled.
func (s *Splitter) Held() int {
	if s.g == nil {
		return 0
	}
	if s.easy.on {
		return len(s.in.buf)
	}
	return s.in.n - s.settled()
}

// settled returns the offset up to which the reply is given out.
func (s *Splitter) settled() int { return min(s.pos, s.barrier()) }

// advance reads the next k bytes.
func (s *Splitter) advance(k int) {
	from := s.in.n
	chunk := s.in.next(k)
	s.stream().settleNewest(chunk[0], from, &s.holds)
	s.forms.lex.run(chunk, from, s.found)
	s.read()
	for s.maxHold > 0 {
		p := s.firstDoubt()
		if p < 0 || s.in.n < p+s.maxHold+1 {
			break
		}
		s.expire(p)
		s.read()
	}
}

// read reads as far as the available bytes decide.
func (s *Splitter) read() {
	s.in.limit = s.in.n
	s.doubt = doubt{at: -1}
	for s.step() {
	}
}

// step reads one thing and reports whether there may be more to read.
func (s *Splitter) step() bool {
	if s.absorb.into.mark != 0 && s.pos < s.in.limit {
		s.absorbWhite()
		return true
	}
	if s.pos == 0 && s.in.maybeMark() {
		if _, over := s.left(doubtMark); !over {
			return s.wait(doubtMark, 0)
		}
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
		more := s.pos < s.in.limit
		s.put(s.in.limit, s.textSpan())
		return more
	}
	return s.stepText()
}

// finish settles everything that waited for the end.
func (s *Splitter) finish() {
	for s.pads.hold >= 0 {
		s.finishPads()
	}
	if s.autoHold {
		s.endStart()
	}
	s.settleOutput()
	s.body.stream.end(s.in.limit, &s.holds)
	s.outer.end(s.in.limit, &s.holds)
	s.closeAtEnd()
	s.out.end(s.in.n, &s.outcomes)
	s.out.order.end(&s.diags)
	if s.out.view.blankSoFar() {
		s.diag(CodeNoVisibleAnswer, s.in.n, "")
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
	s.out.put(sp, s.barrier(), &s.in, &s.diags)
}

// putMark gives the bytes up to byte to as a marker of a block.
func (s *Splitter) putMark(to, block int) {
	s.put(to, span{ch: ChannelMarkup, block: block, mark: s.out.mark()})
}

// flush settles the pending bytes before the barrier.
func (s *Splitter) flush() {
	b := s.barrier()
	s.out.flush(b, &s.in, &s.diags)
	s.diags.settle(b)
}

// found takes a form from the lexer.
func (s *Splitter) found(t token) {
	if t.start < s.pos {
		if s.mode == inText {
			s.passed.take(t, &s.forms)
		}
		if t.start < s.settled() {
			return
		}
	}
	s.forms.add(t)
}

// quoted reports whether the same quote stands before and after a marker. The
// result ready is false if the byte after it has not come.
func (s *Splitter) quoted(t token) (quoted, ready bool) {
	if !s.g.code {
		return false, true
	}
	q := s.in.byteBefore(t.start)
	if q != '"' && q != '\'' && q != '`' {
		return false, true
	}
	return s.in.quotedBy(q, t.end, &s.outcomes)
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
func init() {
	testhook.Looks = func(s any) int { return s.(*Splitter).in.looks + s.(*Splitter).forms.lex.count }
}
