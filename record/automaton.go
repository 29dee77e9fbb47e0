package record

import "slices"

// An automaton finds all of its patterns in one pass over a text, by the
// algorithm of Aho and Corasick.
//
// Its states are the prefixes of the patterns, numbered by length and then in
// the order of their bytes, so that the children of a state have consecutive
// numbers. State 0 is the empty prefix. A state costs 13 bytes.
type automaton struct {
	root  [256]int32 // the children of state 0, by byte; 0 if there is none
	first []int32    // the first child of each state; the last is that of the next state
	label []byte     // the last byte of each state's prefix
	fail  []int32    // the longest proper suffix of each state that is a state
	match []int32    // the length of the longest pattern that each state ends with
}

// newAutomaton makes the automaton of some patterns, none of which is empty.
func newAutomaton(patterns []string) *automaton {
	slices.Sort(patterns)
	patterns = slices.Compact(patterns)
	a := &automaton{label: make([]byte, 1), fail: make([]int32, 1)}
	type group struct{ from, to int32 } // the patterns that begin with a prefix
	groups := []group{{0, int32(len(patterns))}}
	depth, level := 0, 1 // level is the number of the first state that is deeper
	for s := 0; s < len(groups); s++ {
		if s == level {
			depth, level = depth+1, len(groups)
		}
		g := groups[s]
		a.first = append(a.first, int32(len(groups)))
		longest := int32(0) // what its suffix matches, if it is not a pattern itself
		if s > 0 {
			longest = a.match[a.fail[s]]
		}
		if int(g.from) < len(patterns) && len(patterns[g.from]) == depth {
			longest = int32(depth)
			g.from++
		}
		a.match = append(a.match, longest)
		for g.from < g.to {
			b, from := patterns[g.from][depth], g.from
			for g.from < g.to && patterns[g.from][depth] == b {
				g.from++
			}
			fail := int32(0)
			if s > 0 {
				fail, _ = a.next(a.fail[s], b)
			} else {
				a.root[b] = int32(len(groups))
			}
			a.label, a.fail = append(a.label, b), append(a.fail, fail)
			groups = append(groups, group{from, g.from})
		}
	}
	a.first = append(a.first, int32(len(groups)))
	return a
}

// child returns the state after a byte, or 0.
func (a *automaton) child(s int32, b byte) int32 {
	if s == 0 {
		return a.root[b]
	}
	from, to := a.first[s], a.first[s+1]
	for to-from > 8 {
		if middle := (from + to) / 2; a.label[middle] <= b {
			from = middle
		} else {
			to = middle
		}
	}
	for ; from < to; from++ {
		if a.label[from] == b {
			return from
		}
	}
	return 0
}

// next returns the state after a byte, and in how many steps. All steps over a
// text are at most twice its bytes, because each that follows fail makes the
// prefix shorter and each byte makes it longer by one.
func (a *automaton) next(s int32, b byte) (state int32, steps int) {
	for {
		steps++
		if c := a.child(s, b); c != 0 || s == 0 {
			return c, steps
		}
		s = a.fail[s]
	}
}

// maxSpans bounds the spans found in one text. If there are more, the last one
// extends to the end of the text.
const maxSpans = 1 << 16

// matches returns the union of all places where patterns stand in a text: spans in
// order that do not overlap. Of the patterns that end at one byte only the
// longest counts, since it covers the others; so the work is linear in the text,
// however many matches there are. steps is that work.
func matches(a *automaton, text string) (spans []Span, steps int) {
	s, n := int32(0), 0
	for i := 0; i < len(text); i++ {
		if s == 0 { // most of a text begins no pattern
			for i < len(text) && a.root[text[i]] == 0 {
				i++
			}
			if i == len(text) {
				break
			}
		}
		s, n = a.next(s, text[i])
		steps += n
		m := int(a.match[s])
		if m == 0 {
			continue
		}
		at := Span{i + 1 - m, i + 1}
		for len(spans) > 0 && spans[len(spans)-1].End > at.Start {
			at.Start = min(at.Start, spans[len(spans)-1].Start)
			spans = spans[:len(spans)-1]
			steps++
		}
		if len(spans) == maxSpans {
			spans[maxSpans-1].End = len(text)
			break
		}
		spans = append(spans, at)
	}
	return spans, steps
}

// has reports whether any pattern stands in a text.
func (a *automaton) has(text []byte) bool {
	s := int32(0)
	for _, b := range text {
		if s == 0 && a.root[b] == 0 {
			continue
		}
		if s, _ = a.next(s, b); a.match[s] > 0 {
			return true
		}
	}
	return false
}
