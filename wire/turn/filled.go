package turn

import (
	"slices"
	"strconv"
)

// Filled returns the parts of a message without its empty texts, which some APIs have beside calls
// and others refuse. A text that the codec of an API has read itself stays, as does one with a
// signature, and one if there is nothing else.
func Filled(parts []Part, api string) []Part {
	empty := func(p Part) bool {
		return p.Kind == Text && p.Text == "" && p.Signature == "" && p.Extra.API != api
	}
	if !slices.ContainsFunc(parts, empty) {
		return parts
	}
	if left := slices.DeleteFunc(slices.Clone(parts), empty); len(left) > 0 {
		return left
	}
	return parts[:1]
}

// Cuts reports whether min_p leaves out a token. Zero does not, so an API without it does the same.
func (s *Sampling) Cuts() bool {
	n, err := strconv.ParseFloat(string(s.MinP), 64)
	return s.MinP != "" && (err != nil || n != 0)
}
