package symbolic

import "iter"

// A templateSet is templates that are tried together, in the order in which they were
// added. The zero templateSet is empty.
type templateSet struct {
	bySlots [MaxSlots + 1][]Template
	keys    map[string]bool
}

// Add adds a template, and reports whether it is new.
func (s *templateSet) Add(t Template) bool {
	if t.root == nil || s.keys[t.key] {
		return false
	}
	if s.keys == nil {
		s.keys = map[string]bool{}
	}
	s.keys[t.key] = true
	s.bySlots[t.slots] = append(s.bySlots[t.slots], t)
	return true
}

// Len returns how many templates there are.
func (s *templateSet) Len() int { return len(s.keys) }

// Solving gives the templates that make the target of the numbers, which are
// given from the smallest on. Every template of so many slots is tried.
func (s *templateSet) Solving(numbers []int64, target int64) iter.Seq[Template] {
	return func(yield func(Template) bool) {
		if len(numbers) > MaxSlots {
			return
		}
		for _, t := range s.bySlots[len(numbers)] {
			if t.Makes(numbers, target) && !yield(t) {
				return
			}
		}
	}
}
