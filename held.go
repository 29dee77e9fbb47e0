package sotto

import "github.com/sotto-llm/sotto/internal/base/holdreason"

func init() { holdreason.Of = func(s any) holdreason.Reason { return s.(*Splitter).heldFor() } }

// heldFor returns why the first held byte is held, between two deltas. If several
// doubts hold it, it is the widest one.
func (s *Splitter) heldFor() holdreason.Reason {
	switch b := s.barrier(); {
	case s.Held() == 0:
		return ""
	case s.easy.on: // only a form's first bytes are held there
		return holdreason.Marker
	case b > s.pos:
		return s.waitsFor()
	case s.autoHold:
		return holdreason.Start
	case s.pads.hold == b:
		return holdreason.Pad
	}
	return holdreason.Output
}

// waitsFor returns what the reader waits for at pos.
func (s *Splitter) waitsFor() holdreason.Reason {
	at := s.pos
	if s.doubt >= 0 {
		at = s.doubt
	}
	t, whole := s.tokenAt(at)
	switch {
	case s.doubt < 0 && whole && t.end == s.n:
		return holdreason.Quote
	case s.doubt < 0 || !whole && s.mode != inNarration:
		return holdreason.Marker
	case s.mode == inNarration:
		return holdreason.Blank
	case s.mode == inReasoning:
		return s.closeWaitsFor(t)
	case t.kind == kindClose:
		return holdreason.Stray
	case s.stream().fence.open(), len(s.stream().runs.list) > 0:
		return holdreason.Code
	}
	return holdreason.Opener
}

// closeWaitsFor returns what decides a marker in a reasoning block.
func (s *Splitter) closeWaitsFor(t token) holdreason.Reason {
	switch {
	case t.watch()&s.g.tools != 0:
		return holdreason.Tool
	case s.r.credit == 0 && s.r.blank && s.r.own&s.g.names[t.name].bit == 0 && firstNonSpace(s.buf[t.end-s.base:]) < 0:
		return holdreason.Line
	}
	return holdreason.Family
}

// tokenAt returns the first marker whose form stands at a byte.
func (s *Splitter) tokenAt(at int) (t token, found bool) {
	for _, t := range s.toks {
		if t.start == at {
			return t, true
		}
	}
	return token{}, false
}
