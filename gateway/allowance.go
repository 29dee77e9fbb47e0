package gateway

import (
	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/gateway/guard"
)

// An allowance is how much of each channel of a reply may be delivered: what a guard
// has judged. It is the second of two locks. The first is that the frames of a stream
// wait until their texts are judged, see [watch]; then a text that nobody has judged
// does not pass even if it comes out of a frame that passed.
type allowance struct {
	parts map[judgedPart]*allowed
	// hear is set in the reading that reads ahead for the guard: it gets the texts that
	// a client would get. close says that nothing more comes of a choice for now.
	hear  func(at judgedPart, text []byte)
	close func(choice int)

	cut   bool // a part was cut
	ended bool // the guard has ended the reply
}

// Filtered reports whether the reply is cut because of what it says.
func (r *reading) Filtered() bool { return r.allowance != nil && r.allowance.ended }

// guardFindings adds what a guard did.
func (r *reading) guardFindings(codes []sotto.Code) []sotto.Code {
	if r.allowance != nil && r.allowance.cut {
		codes = append(codes, guardCut)
	}
	if r.Filtered() {
		codes = append(codes, guardEnded)
	}
	return codes
}

// A judgedPart is a channel of a choice, or a text beside the reply's own, by its place.
type judgedPart struct {
	choice  int
	channel guard.Channel
	place   string
}

// An allowed is how many bytes of a part may be delivered, and how many were.
type allowed struct {
	bytes, given int64
	all          bool // the part is not judged
	lost         bool // text of it was not delivered
}

// of returns the state of a part.
func (a *allowance) of(at judgedPart) *allowed {
	p := a.parts[at]
	if p == nil {
		p = &allowed{}
		a.parts[at] = p
	}
	return p
}

// lets returns the part of a text on its way to the client that is delivered.
func (r *reading) lets(choice int, channel guard.Channel, text []byte) []byte {
	if r.allowance == nil {
		return text
	}
	return r.letsAt(r.judged(choice, channel), text)
}

func (r *reading) letsAt(at judgedPart, text []byte) []byte {
	if r.allowance.hear != nil {
		r.allowance.hear(at, text)
		return text
	}
	p := r.allowance.of(at)
	if p.all {
		return text
	}
	n := min(int64(len(text)), p.bytes-p.given)
	p.given += n
	p.lost = p.lost || n < int64(len(text))
	return text[:n]
}

// lacks reports whether text of a choice's channel was not delivered, so that nothing
// follows on it.
func (r *reading) lacks(choice int, channel guard.Channel) bool {
	return r.allowance != nil && r.allowance.hear == nil && r.allowance.of(r.judged(choice, channel)).lost
}

// judged returns the part of a choice's channel. The choices of an API whose choices
// are the texts of one reply have their parts in common.
func (r *reading) judged(choice int, channel guard.Channel) judgedPart {
	if r.can.Texts {
		choice = 0
	}
	return judgedPart{choice: choice, channel: channel}
}

// paused tells who reads ahead that nothing more comes of a choice for now.
func (r *reading) paused(choice int) {
	if r.allowance != nil && r.allowance.close != nil {
		r.allowance.close(r.judged(choice, "").choice)
	}
}
