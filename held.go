package sotto

import "github.com/sotto-llm/sotto/internal/base/holdreason"

func init() { holdreason.Of = func(s any) holdreason.Reason { return s.(*Splitter).heldFor() } }

// heldFor returns why the first held byte is held, between two deltas.
func (s *Splitter) heldFor() holdreason.Reason {
	if s.Held() == 0 {
		return ""
	}
	return doubts[s.holds()].reason
}

// holds returns which doubt holds the first held byte.
func (s *Splitter) holds() doubtKind {
	if s.easy.on { // only a form's first bytes are held there
		return doubtMarker
	}
	return s.doubtAt(s.settled())
}
