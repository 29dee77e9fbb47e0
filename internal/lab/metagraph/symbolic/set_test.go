package symbolic

import "iter"

// A templateSet is a list of templates that are tried together, in the order in
// which they were added. The zero templateSet is empty.
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

// Len returns the number of templates.
func (s *templateSet) Len() int { return len(s.keys) }

// Solving yields the templates that make the target from the numbers, which must be
// in ascending order. It tries every template with that number of slots.
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
