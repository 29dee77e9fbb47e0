package written

import "github.com/sotto-llm/sotto/wire"

// slots are the signatures of thoughts that are hidden. A client gets one when the thought's
// block is complete: that of the provider, or what stands in its place ([wire.Settings.Slot]).
type slots struct {
	of    func(index int) string // nil if every signature stays where it is
	index int                    // the block of the proof
	proof []byte                 // what the provider has signed the block with so far
}

// take takes a signature, or a piece of one.
func (s *slots) take(e *wire.Event) {
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
