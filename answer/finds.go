package answer

import "slices"

// A find is one place that a tier found.
type find struct {
	value    Span   // where to look for the answer
	label    string // of a marker
	method   string // if no label names it
	emph     string // emphasis that the marker left open
	sentence bool   // a sentence states it, up to its stop
	weak     bool   // in code, or quoted: counts only if there is no other find
	step     bool   // maybe a result on the way: no other answer beside a later one
}

// maxFinds is how many finds of a tier are kept at least, the last ones. More would
// not change the result, and a reply may hold millions.
const maxFinds = 1 << 10

// finds are the finds of a tier, in order.
type finds struct {
	list         []find
	strong, weak int // how many there were, including forgotten ones
}

func (l *finds) forget() { l.list, l.strong, l.weak = l.list[:0], 0, 0 }

func (l *finds) keep(f find) {
	if len(l.list) == 2*maxFinds {
		if l.strong > 0 {
			l.list = slices.DeleteFunc(l.list, func(f find) bool { return f.weak })
		}
		l.list = slices.Delete(l.list, 0, max(0, len(l.list)-maxFinds))
	}
	l.list = append(l.list, f)
	if f.weak {
		l.weak++
	} else {
		l.strong++
	}
}

// choose returns the last find that counts, and the number of finds that count.
func (l *finds) choose() (n int, last find) {
	for _, f := range slices.Backward(l.list) {
		if !f.weak {
			return l.strong, f
		}
	}
	if k := len(l.list); k > 0 {
		return l.weak, l.list[k-1]
	}
	return 0, find{}
}

// differ reports whether an earlier find that counts, and is still remembered,
// gives a different candidate than the one at chosen. A find around that one, such as
// the line of a box, gives no other. Finds may lie within one another, so it reads no
// more than a few times the length of the text.
func (s *search) differ(candidate string, chosen Span, weak bool, tier string) bool {
	budget := 2*len(s.text) + 1024
	for i := len(s.list) - 2; i >= 0; i-- {
		f := s.list[i]
		if f.weak != weak || f.step {
			continue
		}
		whole := s.valueOf(f, tier)
		if budget -= whole.End - f.value.Start; budget < 0 {
			return false
		}
		if whole.Start <= chosen.Start && chosen.End <= whole.End {
			continue
		}
		if next := s.list[i+1].value; f.value.Start < next.Start {
			f.value.End = min(f.value.End, next.Start)
		}
		sp := s.valueOf(f, tier)
		if budget -= sp.End - f.value.Start; budget < 0 {
			return false
		}
		if sp.Start == sp.End {
			continue
		}
		if other := s.normal(s.text[sp.Start:sp.End]); other != "" && other != candidate {
			return true
		}
	}
	return false
}
