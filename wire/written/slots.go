package written

import (
	"slices"

	"github.com/sotto-llm/sotto/wire"
)

// slots are the signatures of thoughts that are hidden. A client gets one when the thought's
// block is complete: that of the provider, or what stands in its place ([wire.Settings.Slot]).
type slots struct {
	of    func(index int) string // nil if every signature stays where it is
	index int                    // the block of the proof
	proof []byte                 // what the provider has signed the block with so far

	lists []int // the choices whose list of details is not complete
}

// maxLists bounds the choices that may have such a list.
const maxLists = 128

// list notes that the provider sends details of a choice's thoughts in a list.
func (s *slots) list(choice int) {
	if !slices.Contains(s.lists, choice) && len(s.lists) < maxLists {
		s.lists = append(s.lists, choice)
	}
}

// endList returns what a client gets in place of the list of a choice that ends, or "".
func (s *slots) endList(choice int) string {
	i := slices.Index(s.lists, choice)
	if i < 0 {
		return ""
	}
	s.lists = slices.Delete(s.lists, i, i+1)
	return s.of(choice)
}

// sign takes a signature, or a piece of one.
func (s *slots) sign(e *wire.Event) {
	if s.index != e.Index {
		s.index, s.proof = e.Index, s.proof[:0]
	}
	s.proof = append(s.proof, e.Text...)
}

// end returns the signature of a block that is complete, and of the thought that came last; ok is
// false if the block has none.
func (s *slots) end(e wire.Event, last share) (signature wire.Event, ok bool) {
	if s.of == nil {
		return e, false
	}
	var text []byte
	if s.index == e.Index {
		text, s.proof = s.proof, nil
	}
	if last.index == e.Index && last.came > 0 {
		if slot := s.of(e.Index); slot != "" {
			text = []byte(slot)
		}
	}
	return wire.Event{Kind: wire.EventSealed, Choice: e.Choice, Index: e.Index, Name: "signature", Text: text}, len(text) > 0
}
