package reading

import (
	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/gateway/guard"
)

// An Allowance is how much of each channel of a reply may be delivered: what a guard
// has judged. It is the second of two locks. The first is that the frames of a stream
// wait until their texts are judged, see [watch]; then a text that nobody has judged
// does not pass even if it comes out of a frame that passed.
type Allowance struct {
	Parts map[JudgedPart]*Allowed
	// Hear is set in the reading that reads ahead for the guard: it gets the texts that
	// a client would get. close says that nothing more comes of a choice for now.
	Hear  func(at JudgedPart, text []byte)
	Close func(choice int)

	Cut   bool // a part was cut
	Ended bool // the guard has ended the reply
}

// Filtered reports whether the reply is cut because of what it says.
func (r *Reading) Filtered() bool { return r.Allowance != nil && r.Allowance.Ended }

// guardFindings adds what a guard did.
func (r *Reading) guardFindings(codes []sotto.Code) []sotto.Code {
	if r.Allowance != nil && r.Allowance.Cut {
		codes = append(codes, guardCut)
	}
	if r.Filtered() {
		codes = append(codes, guardEnded)
	}
	return codes
}

// A JudgedPart is a channel of a choice, or a text beside the reply's own, by its place.
type JudgedPart struct {
	Choice  int
	Channel guard.Channel
	place   string
}

// An Allowed is how many bytes of a part may be delivered, and how many were.
type Allowed struct {
	Bytes, given int64
	All          bool // the part is not judged
	lost         bool // text of it was not delivered
}

// Of returns the state of a part.
func (a *Allowance) Of(at JudgedPart) *Allowed {
	p := a.Parts[at]
	if p == nil {
		p = &Allowed{}
		a.Parts[at] = p
	}
	return p
}

// lets returns the part of a text on its way to the client that is delivered.
func (r *Reading) lets(choice int, channel guard.Channel, text []byte) []byte {
	if r.Allowance == nil {
		return text
	}
	return r.letsAt(r.judged(choice, channel), text)
}

func (r *Reading) letsAt(at JudgedPart, text []byte) []byte {
	if r.Allowance.Hear != nil {
		r.Allowance.Hear(at, text)
		return text
	}
	p := r.Allowance.Of(at)
	if p.All {
		return text
	}
	n := min(int64(len(text)), p.Bytes-p.given)
	p.given += n
	p.lost = p.lost || n < int64(len(text))
	return text[:n]
}

// Lacks reports whether text of a choice's channel was not delivered, so that nothing
// follows on it.
func (r *Reading) Lacks(choice int, channel guard.Channel) bool {
	return r.Allowance != nil && r.Allowance.Hear == nil && r.Allowance.Of(r.judged(choice, channel)).lost
}

// judged returns the part of a choice's channel. The choices of an API whose choices
// are the texts of one reply have their parts in common.
func (r *Reading) judged(choice int, channel guard.Channel) JudgedPart {
	if r.Can.Texts {
		choice = 0
	}
	return JudgedPart{Choice: choice, Channel: channel}
}

// paused tells who reads ahead that nothing more comes of a choice for now.
func (r *Reading) paused(choice int) {
	if r.Allowance != nil && r.Allowance.Close != nil {
		r.Allowance.Close(r.judged(choice, "").Choice)
	}
}

// The findings about a reply that a guard judged.
const (
	guardCut   sotto.Code = "guard_cut"
	guardEnded sotto.Code = "guard_ended"
)
