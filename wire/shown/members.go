package shown

import (
	"maps"
	"slices"
	"strings"
)

// A Tree is what passes of one object of an API.
type Tree struct {
	Of    string // the object, in words or by its name
	Value *Value
}

// Common returns the trees of every API.
func Common() []Tree {
	return []Tree{{Of: "the body of an error", Value: ErrorBody}, {Of: "log probabilities", Value: tokens}}
}

// A Leaf is a place of a [Value] at which something passes.
type Leaf struct {
	// Path is the way to it: names with dots between them, [] for each element of a list,
	// [?] for an object or each of a list of them, * for any name, and {a, b} for an object
	// whose type is a or b.
	Path string
	// Kind says what passes, and so why it may: "text", "piece", "word", "label", "number",
	// "sealed", "token", "opaque", "empty", "counts", "texts" or "tokens".
	Kind string
}

// Leaves returns the places at which something passes, sorted by the names of members.
func (s *Value) Leaves() []Leaf { return s.leaves(nil, "") }

func (s *Value) leaves(list []Leaf, path string) []Leaf {
	switch kind := s.whole(); {
	case kind != "":
		return append(list, Leaf{path, kind})
	case s.scalar != nil:
		list = append(list, Leaf{path, s.scalar.name})
	}
	if s.oneOrList() {
		path += "[?]"
	} else if s.each != nil {
		list = s.each.leaves(list, path+"[]")
	}
	for _, name := range slices.Sorted(maps.Keys(s.members)) {
		list = s.members[name].leaves(list, join(path, name))
	}
	if s.rest != nil {
		list = s.rest.leaves(list, join(path, "*"))
	}
	return append(list, s.byType(path)...)
}

// whole names a value that passes, or not, as a whole.
func (s *Value) whole() string {
	switch {
	case s.all:
		return "opaque"
	case s.blank:
		return "empty"
	case s.beside != nil:
		return "tokens"
	case s == Counts:
		return "counts"
	case s == Texts:
		return "texts"
	}
	return ""
}

// oneOrList reports whether a value is an object, or a list of the same objects.
func (s *Value) oneOrList() bool {
	return s.each != nil && len(s.members)+len(s.types) > 0 && maps.Equal(s.members, s.each.members) && maps.Equal(s.types, s.each.types)
}

// byType returns the leaves of objects of several types. Those that several types have come
// once.
func (s *Value) byType(path string) []Leaf {
	var list []Leaf
	types := map[Leaf][]string{}
	for _, kind := range slices.Sorted(maps.Keys(s.types)) {
		for _, leaf := range s.types[kind].Leaves() {
			if types[leaf] == nil {
				list = append(list, leaf)
			}
			types[leaf] = append(types[leaf], kind)
		}
	}
	for i, leaf := range list {
		list[i].Path = join(path+"{"+strings.Join(types[leaf], ", ")+"}", leaf.Path)
	}
	return list
}
