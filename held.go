package sotto

import "github.com/sotto-llm/sotto/internal/base/holdreason"

// A page that explains a hold asks why the first held byte is held, between two deltas.
func init() {
	holdreason.Of = func(splitter any) holdreason.Reason {
		s := splitter.(*Splitter)
		if s.Held() == 0 {
			return ""
		}
		return doubts[s.heldBy()].reason
	}
}

// heldBy returns which doubt holds the first held byte.
func (s *Splitter) heldBy() doubtKind {
	if s.easy.on { // only a form's first bytes are held there
		return doubtMarker
	}
	return s.doubtAt(s.settled())
}
