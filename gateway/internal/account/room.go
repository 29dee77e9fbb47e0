package account

import (
	"strings"

	"github.com/sotto-llm/sotto/internal/data/jsonedit"
	"github.com/sotto-llm/sotto/record"
)

// A Room is how many bytes of an exchange may still be kept.
type Room struct {
	// Left may be less than nothing until [Room.Fit] makes room.
	Left int
	// Cut says that something did not fit.
	Cut bool
	// full says that nothing more is kept, because nothing is left that makes room.
	full bool
}

// overhead is what an entry costs in addition to its text.
const overhead = 64

// Take returns as much of a text as there is room for, cut between characters.
func (r *Room) Take(text []byte) []byte {
	if len(text) <= r.Left {
		r.Left -= len(text)
		return text
	}
	n := max(r.Left, 0)
	for n > 0 && text[n]&0xC0 == 0x80 {
		n--
	}
	r.Left, r.Cut = 0, true
	return text[:n]
}

func (r *Room) bounded(text string) string { return string(r.Take(jsonedit.BytesOf(text))) }

// Entry reports whether there is room for one more.
func (r *Room) Entry() bool {
	if r.Left < overhead {
		r.Left, r.Cut = 0, true
		return false
	}
	r.Left -= overhead
	return true
}

// Reserve takes room for a part of a reply, also if there is none: [Room.Fit] makes some.
// It reports false if it cannot.
func (r *Room) Reserve(n int) bool {
	r.Cut = r.Cut || r.full
	if !r.full {
		r.Left -= n
	}
	return !r.full
}

// ReserveEntry is Reserve for an entry without its text.
func (r *Room) ReserveEntry() bool { return r.Reserve(overhead) }

// word keeps a name or an id.
func (r *Room) word(text string) string {
	if !r.Reserve(len(text)) {
		return ""
	}
	return strings.Clone(text)
}

// Return gives back the room of entries that are not kept any more.
func (r *Room) Return(entries int) { r.Left += entries * overhead }

// Close says that nothing more is kept.
func (r *Room) Close() { r.full = true }

// Runs are the runs of a text that may lose their middle, in order.
type Runs struct {
	*Kept
	Thoughts, Others []record.Span
}

// leastRun is how much is kept of the beginning and the end of a text, together, while a
// longer one can make room.
const leastRun = 1 << 10

// Fit makes room for what a reply brings, by leaving out the middle of its longest thoughts;
// if that is not enough, that of its other texts. limit is all the room there is; undecided
// is how many bytes are kept whose channel is not known yet. It reports false if too little
// could be left out.
func (r *Room) Fit(texts []Runs, undecided, limit int) bool {
	if r.full || r.Left+undecided >= 0 {
		return true
	}
	r.Cut = true
	goal := limit / 8 // so that it is not done for every piece
	least := min(leastRun, limit/16)
	thoughts := func(t *Runs) []record.Span { return t.Thoughts }
	others := func(t *Runs) []record.Span { return t.Others }
	return r.bound(texts, thoughts, least, goal-undecided) || r.bound(texts, thoughts, 0, goal-undecided) ||
		r.bound(texts, others, least, goal-undecided)
}

// bound leaves out the middle of runs until so much room is left, if it can keep the least of
// each.
func (r *Room) bound(texts []Runs, runs func(t *Runs) []record.Span, least, goal int) bool {
	most := 0
	for i := range texts {
		most = max(most, texts[i].longest(runs(&texts[i])))
	}
	for most > least && r.Left < goal {
		most = max(most/2, least)
		for i := range texts {
			r.Left += texts[i].bound(runs(&texts[i]), most)
		}
	}
	return r.Left >= goal
}
