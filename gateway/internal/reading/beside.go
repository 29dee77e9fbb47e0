package reading

import (
	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/gateway/guard"
	"github.com/sotto-llm/sotto/gateway/routing"
	"github.com/sotto-llm/sotto/internal/data/chatjson"
	"github.com/sotto-llm/sotto/wire"
)

// A side is a text beside those of the reply that comes in pieces, such as a refusal.
type side struct {
	choice int
	place  string
	split  *sotto.Splitter
	weight int
}

// refusal is the place of the text by which a model refuses.
const refusal = "refusal"

// beside reads a text that belongs to no text of the reply, or a piece of one, and returns
// the part that goes to the client. Where reasoning is hidden it has no thought in it.
func (r *Reading) beside(choice int, place string, text []byte, piece bool) []wire.Part {
	r.Parts = r.Parts[:0]
	switch {
	case place == chatjson.NarrationField && r.Narration == routing.NarrationDrop:
		return nil
	case r.Display != routing.DisplayHide:
	case !piece && r.Besides != nil:
		text = r.Besides(text)
	default:
		s := r.side(choice, place)
		if s == nil {
			return nil
		}
		text = visibleOf(s.split.Feed(text))
		r.weighSide(s)
	}
	r.part(wire.Content, r.letsBeside(choice, place, text))
	return r.Parts
}

// side returns the text at a place, which may begin; nil if there are too many.
func (r *Reading) side(choice int, place string) *side {
	for _, s := range r.sides {
		if s.choice == choice && s.place == place {
			return s
		}
	}
	if len(r.sides) >= maxSides {
		return nil
	}
	start := sotto.BeginAuto // a close without an opener ends a thought; such texts are short, and can wait
	if place == chatjson.NarrationField {
		start = sotto.BeginOutside // it is progress, which must not wait
	}
	split, err := r.Grammar.NewSplitter(sotto.Options{Start: start, MaxHold: r.MaxHold})
	if err != nil {
		return nil // no dialect refuses this start
	}
	s := &side{choice: choice, place: place, split: split}
	r.sides = append(r.sides, s)
	return s
}

// maxSides bounds how many texts beside those of a reply are read at once.
const maxSides = 256

// endSides ends the texts beside those of a choice.
func (r *Reading) endSides(choice int, end sotto.Ending) {
	left := r.sides[:0]
	for _, s := range r.sides {
		if s.choice != choice {
			left = append(left, s)
			continue
		}
		s.split.Assume(sotto.BeginOutside)
		if text := r.letsBeside(choice, s.place, visibleOf(s.split.Close(end))); len(text) > 0 {
			r.Parts = append(r.Parts, wire.Part{Place: wire.Member, Name: s.place, Text: text})
		}
		r.Weight -= s.weight
	}
	clear(r.sides[len(left):])
	r.sides = left
}

func (r *Reading) weighSide(s *side) {
	n := s.split.Size()
	r.Weight += n - s.weight
	s.weight = n
}

// letsBeside is lets for a text beside those of the reply.
func (r *Reading) letsBeside(choice int, place string, text []byte) []byte {
	if r.Allowance == nil || len(text) == 0 {
		return text
	}
	at := r.judged(choice, guard.Answer)
	at.place = place
	return r.letsAt(at, text)
}
