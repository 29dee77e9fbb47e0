package sotto

import (
	"iter"
	"strings"
	"unicode/utf8"
)

// An Event is one of [VisibleDelta], [ReasoningDelta], [ReasoningEnd],
// [NarrationDelta], [ToolDelta] and [ReplyEnd]. Events come in the order of the
// reply, however it was cut into deltas. No event's text ends within a UTF-8
// sequence that continues in the next event of its kind.
type Event interface{ event() }

// A VisibleDelta is visible text that became certain.
type VisibleDelta struct{ Text string }

// A ReasoningDelta is reasoning as it comes, untrimmed.
type ReasoningDelta struct {
	Block int
	Text  string
}

// ReasoningEnd says that a non-blank block of reasoning is over. Closed reports
// whether it ended before the reply did.
type ReasoningEnd struct {
	Block  int
	Closed bool
}

// A NarrationDelta is progress for the user as it comes.
type NarrationDelta struct {
	Block int
	Text  string
}

// A ToolDelta is tool-call markup as it comes.
type ToolDelta struct {
	Block int
	Text  string
}

// ReplyEnd is the last event of a reply.
type ReplyEnd struct {
	End         Ending
	Diagnostics []Diagnostic // the first MaxDiagnostics
	Counts      Counts       // of all diagnostics
}

func (VisibleDelta) event()   {}
func (ReasoningDelta) event() {}
func (ReasoningEnd) event()   {}
func (NarrationDelta) event() {}
func (ToolDelta) event()      {}
func (ReplyEnd) event()       {}

// Events reads the deltas of a reply as events. An error among the deltas aborts
// the reply: the held text comes first, then ReplyEnd, then the error.
func (g *Grammar) Events(deltas iter.Seq2[string, error], o StreamOptions) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		s, err := g.NewSplitter(o.Options)
		if err != nil {
			yield(nil, err)
			return
		}
		e := emitter{s: s, give: func(ev Event) bool { return yield(ev, nil) }}
		end := EndUnknown
		var broken error
		for delta, err := range deltas {
			if err != nil {
				broken, end = err, EndAborted
				break
			}
			if !e.feed(delta) {
				return
			}
		}
		if o.End != nil && broken == nil {
			end = o.End()
		}
		if e.close(end) && broken != nil {
			yield(nil, broken)
		}
	}
}

// An emitter turns the pieces of one reply into events. Once give has returned
// false, nothing more is given.
type emitter struct {
	s       *Splitter
	give    func(Event) bool
	delta   string // the delta being read
	stopped bool
	marked  bool // something was not text

	kind  Channel // of the last text; Text means visible text
	block int
	cut   []byte // the end of that text: an unfinished UTF-8 sequence

	thought int  // the open block of reasoning, or 0
	solid   bool // that block is not blank
}

// feed reads a delta; false means that no more is wanted.
func (e *emitter) feed(delta string) bool {
	e.delta = delta
	return e.convert(e.s.FeedString(delta))
}

// close ends the reply and gives the rest, then ReplyEnd.
func (e *emitter) close(end Ending) bool {
	e.delta = ""
	e.convert(e.s.Close(end))
	e.flush()
	e.endThought(false)
	e.emit(ReplyEnd{end, e.s.Diagnostics(), e.s.Counts()})
	return !e.stopped
}

func (e *emitter) convert(pieces []Piece) bool {
	for i := range pieces {
		p := &pieces[i]
		if e.thought > 0 && e.ends(p) {
			e.flush()
			e.endThought(true)
		}
		e.marked = e.marked || p.Channel != ChannelText
		inline := e.s.out.view.inline>>p.Channel&1 != 0
		switch {
		case p.Channel == ChannelReasoning: // never inline
			e.thought, e.solid = p.Block, e.solid || firstNonSpace(p.Bytes) >= 0
			fallthrough
		case (p.Channel == ChannelNarration || p.Channel == ChannelTool) && !inline:
			e.text(p.Channel, p.Block, p.Bytes)
		}
		e.text(ChannelText, 0, p.Visible)
	}
	return !e.stopped
}

// ends reports whether a piece shows that the open block of reasoning is over. If
// the block is still blank, a marker of it may be a duplicate of its opener.
func (e *emitter) ends(p *Piece) bool {
	return p.Block != e.thought || p.Channel != ChannelReasoning && e.solid
}

func (e *emitter) endThought(closed bool) {
	if e.solid {
		e.emit(ReasoningEnd{e.thought, closed})
	}
	e.thought, e.solid = 0, false
}

// text gives bytes of one kind, except for an unfinished UTF-8 sequence at their
// end.
func (e *emitter) text(kind Channel, block int, b []byte) {
	if len(b) == 0 {
		return
	}
	if len(e.cut) > 0 {
		if kind == e.kind && block == e.block {
			b = append(e.cut, b...)
		} else {
			e.flush()
		}
	}
	e.kind, e.block = kind, block
	n := len(b) - cutSequence(b)
	e.say(b[:n])
	e.cut = append(e.cut[:0], b[n:]...)
}

// cutSequence returns the length of the unfinished UTF-8 sequence at the end of b.
func cutSequence(b []byte) int {
	for n := 1; n < utf8.UTFMax && n <= len(b); n++ {
		if last := b[len(b)-n:]; utf8.RuneStart(last[0]) {
			if utf8.FullRune(last) {
				return 0
			}
			return n
		}
	}
	return 0
}

// flush gives an unfinished UTF-8 sequence that does not continue.
func (e *emitter) flush() {
	e.say(e.cut)
	e.cut = e.cut[:0]
}

func (e *emitter) say(b []byte) {
	if len(b) == 0 {
		return
	}
	text := e.delta
	if len(b) != len(text) || &b[0] != &bytesOf(text)[0] { // nearly always it is the delta itself
		text = string(b)
	}
	switch e.kind {
	case ChannelText:
		e.emit(VisibleDelta{text})
	case ChannelReasoning:
		e.emit(ReasoningDelta{e.block, text})
	case ChannelNarration:
		e.emit(NarrationDelta{e.block, text})
	case ChannelTool:
		e.emit(ToolDelta{e.block, text})
	}
}

func (e *emitter) emit(ev Event) {
	e.stopped = e.stopped || !e.give(ev)
}

func trimWhite(s string) string { return strings.Trim(s, " \t\n\v\f\r") }
