package sotto

import "github.com/sotto-llm/sotto/internal/base/holdreason"

// A doubt is a question about a byte that only later bytes answer. The bytes from it on
// are held: they are read, but pending. A doubt ends when those later bytes come, when
// MaxHold runs out, or when the reply ends. What becomes of it in the last two cases is
// decided here, by one table, and nowhere else.

// A doubtKind is a row of the table.
type doubtKind uint8

const (
	doubtMarker doubtKind = iota
	doubtMark
	doubtLead
	doubtHeader
	doubtQuote
	doubtCode
	doubtFence
	doubtKept
	doubtStray
	doubtOpener
	doubtLine
	doubtCandidate
	doubtUnpaid
	doubtTool
	doubtCall
	doubtMention
	doubtBlank
	doubtStart
	doubtOutput
	doubtPad
	doubtWhole
	doubtClosed
	doubtFirstWhite
	doubtLastWhite
)

// An answer is the answer to a doubt's question if no byte gives one.
type answer uint8

const (
	never answer = iota // the doubt does not come to this
	no
	yes
	ifWithheld  // yes if the dialect withholds on doubt, which is the default
	ifDelivered // yes if it delivers on doubt
	ifPreOpened // yes if it withholds, and its prompts open the reasoning
)

var answerNames = [...]string{"–", "no", "yes", "`withhold`", "`deliver`", "`pre_opens`"}

// A doubtRow describes a kind of doubt. docs/design.md has the same table.
type doubtRow struct {
	name     string
	asks     string // the question
	opened   string // by what
	answered string // by which later bytes

	expired                answer // when MaxHold has run out
	cut, unknown, complete answer // at the reply's end: cut or aborted; unknown; stopped

	reason holdreason.Reason // for a page that explains a hold; empty if no byte is held
}

// doubts are the kinds of doubts. Where expired is never, something else bounds the wait.
var doubts = [...]doubtRow{
	doubtMarker: {"marker", "Is it a marker?", "the first bytes of a marker's form",
		"the rest of the form, or a byte that it cannot have; `MaxMarker` bytes",
		never, no, no, no, holdreason.Marker},
	doubtMark: {"mark", "Is it a byte order mark?", "its first bytes, at byte 0",
		"the next bytes",
		never, no, no, no, holdreason.Marker},
	doubtLead: {"lead", "Did the prompt begin this header?", "the first bytes of a `Lead` string, at byte 0",
		"the rest of the string, or another byte",
		never, no, no, no, holdreason.Marker},
	doubtHeader: {"header", "Is the header whole?", "a token that begins a header",
		"its body token, which no longer token begins with; `MaxHeader` bytes",
		never, yes, yes, yes, holdreason.Marker},
	doubtQuote: {"quote", "Is the marker quoted?", "a marker after a quote",
		"the byte after it",
		never, no, no, no, holdreason.Quote},
	doubtCode: {"code", "Is the marker in inline code?", "a marker after an unpaired run on its line",
		"a run that makes a pair around it; the line's end",
		ifDelivered, no, no, no, holdreason.Code},
	doubtFence: {"fence", "Is the marker in fenced code?", "a marker in an open fence",
		"a line that closes the fence",
		yes, yes, no, no, holdreason.Code},
	doubtKept: {"kept", "Does a pair of runs enclose the close that is kept as text?", "such a close after an unpaired run; it holds nothing",
		"a run that makes a pair around it; the line's end",
		no, no, no, no, ""},
	doubtStray: {"stray", "Is the close markup?", "a close with nothing to close, and only white space after it so far",
		"another byte; the line's end, if the close is alone on its line",
		ifWithheld, yes, yes, yes, holdreason.Stray},
	doubtOpener: {"opener", "Does the marker open a block?", "a reasoning opener in mid-line",
		"a close of its family; a tool opener that ends the block",
		ifWithheld, ifWithheld, ifWithheld, no, holdreason.Opener},
	doubtLine: {"line", "Is the close alone on its line?", "a mismatched close at a line's start, and only white space after it so far",
		"another byte; the line's end",
		ifDelivered, yes, yes, yes, holdreason.Line},
	doubtCandidate: {"candidate", "Does the close end the block?", "a close that is not sure: mismatched, or quoted",
		"the family's next opener; an own close that is not quoted; with unpaid openers, the family's next marker",
		ifDelivered, no, yes, yes, holdreason.Family},
	doubtUnpaid: {"unpaid", "Does the close end the block?", "a sure close while openers are unpaid",
		"the family's next marker",
		ifDelivered, yes, yes, yes, holdreason.Family},
	doubtTool: {"tool", "Does the tool opener end the reasoning?", "a tool opener in reasoning that is not a special token",
		"`{` or `<function=` after white space, or another byte",
		ifDelivered, no, no, no, holdreason.Tool},
	doubtCall: {"call", "Does the call end the reasoning?", "a tool opener in reasoning, where the tools are declared",
		"the call's close, another tool opener, a close of reasoning; where calls have no close, the tool's name",
		ifDelivered, no, no, no, holdreason.Tool},
	doubtMention: {"mention", "Is the call whole?", "a tool opener while the start is undecided, where the tools are declared",
		"as for a call",
		never, yes, yes, yes, holdreason.Start},
	doubtBlank: {"blank", "Does a blank line end the narration?", "a newline in narration",
		"another newline; a byte that is not white space",
		no, no, no, no, holdreason.Blank},
	doubtStart: {"start", "Did the reply begin inside?", "the start `auto`, at byte 0",
		"an orphan close; an opener or a header",
		ifWithheld, ifPreOpened, no, no, holdreason.Start},
	doubtOutput: {"output", "Is the text aside?", "outer text, with `Output: anywhere`",
		"an output body that is not blank",
		ifWithheld, no, no, no, holdreason.Output},
	doubtPad: {"pad", "Does an opener in the open pad begin the answer?", "an output opener in a pad, not quoted",
		"a visible byte; the pad's close; a whole output block in a later pad",
		ifDelivered, no, yes, yes, holdreason.Pad},
	doubtWhole: {"whole", "Is the whole output block in the open pad the answer?", "the close of an output block in a pad",
		"a visible byte; a later whole output block in a pad",
		ifDelivered, yes, never, never, holdreason.Pad},
	doubtClosed: {"closed", "Is the whole output block in the closed pad the answer?", "the close of a pad that holds one",
		"a visible byte; a whole output block in a later pad",
		ifDelivered, no, yes, yes, holdreason.Pad},
	doubtFirstWhite: {"first white", "Is the white space visible?", "white space at the start of the text; the view holds it",
		"a visible byte; a removed block",
		yes, yes, yes, yes, ""},
	doubtLastWhite: {"last white", "Is the white space visible?", "white space in an output body; the view holds it",
		"a further byte of the body; its close",
		yes, no, no, no, ""},
}

// timed reports whether time runs out for a kind of doubt.
func (k doubtKind) timed() bool { return doubts[k].expired != never }

// outcomes answer the doubts that the bytes of a reply leave open.
type outcomes struct {
	deliver  bool // the dialect's OnDoubt
	preOpens bool // and PreOpens
	ended    bool // the reply is over
	end      Ending
	expired  int // the doubt at this byte has expired, or -1
}

// outcomes returns the outcomes of a reply in the dialect that has just begun.
func (g *Grammar) outcomes() outcomes {
	return outcomes{deliver: g.deliver, preOpens: g.preOpens, expired: -1}
}

// expiry answers a doubt whose time has run out.
func (o *outcomes) expiry(k doubtKind) bool { return o.says(doubts[k].expired) }

// lapsed answers a doubt at byte p that has expired; ok is false if it has not.
func (o *outcomes) lapsed(k doubtKind, p int) (yes, ok bool) {
	return p == o.expired && o.expiry(k), p == o.expired
}

// left answers a doubt that no byte of the reply has answered; ok is false while more
// bytes may come.
func (o *outcomes) left(k doubtKind) (yes, ok bool) {
	if !o.ended {
		return false, false
	}
	a := doubts[k].unknown
	switch {
	case o.end.incomplete():
		a = doubts[k].cut
	case o.end == EndStopped:
		a = doubts[k].complete
	}
	return o.says(a), true
}

// says returns what an answer means in this dialect.
func (o *outcomes) says(a answer) bool {
	switch a {
	case yes:
		return true
	case ifWithheld:
		return !o.deliver
	case ifDelivered:
		return o.deliver
	case ifPreOpened:
		return o.preOpens && !o.deliver
	}
	return false
}

// stopHere begins to read a part of the reply as one that stopped at its end. It returns
// the outcomes of the whole reply.
func (o *outcomes) stopHere() (before outcomes) {
	before = *o
	o.ended, o.end = true, EndStopped
	return before
}

// expire decides the doubt at byte p, which was not settled in time.
func (s *Splitter) expire(p int) {
	s.reportExpired(p)
	k := s.doubtAt(p)
	switch yes := s.expiry(k); k {
	case doubtStart:
		s.settleStart(yes)
		s.reportExpired(p) // what was read is forgotten, with its diagnostics
	case doubtPad, doubtWhole, doubtClosed:
		s.expirePads(yes)
	case doubtOutput:
		if yes {
			s.aside = true
			s.setAside()
		} else {
			s.rewind(s.atHold, -1, s.outHold)
			s.noOutput = true
		}
	default:
		s.expired = p
	}
}
