package lexical

import (
	"cmp"
	"hash/fnv"
	"math"
	"slices"
)

// A Vector is the counts of [Groups] in a compact form with a fixed order, so that
// equal texts give equal similarities to the last bit.
type Vector struct {
	groups  []uint64 // digests of the groups, ascending
	weights []float32
	length  float64
}

// NewVector returns the vector of a text. Only its first 16 KiB count.
func NewVector(text string) Vector {
	type weighed struct {
		group  uint64
		weight float32
	}
	counts := Groups(text)
	list := make([]weighed, 0, len(counts))
	for g, n := range counts {
		h := fnv.New64a()
		h.Write([]byte(g))
		list = append(list, weighed{h.Sum64(), float32(n)})
	}
	slices.SortFunc(list, func(a, b weighed) int {
		return cmp.Or(cmp.Compare(a.group, b.group), cmp.Compare(a.weight, b.weight))
	})
	v := Vector{make([]uint64, len(list)), make([]float32, len(list)), 0}
	for i, w := range list {
		v.groups[i], v.weights[i] = w.group, w.weight
		v.length += float64(w.weight) * float64(w.weight)
	}
	v.length = math.Sqrt(v.length)
	return v
}

// Empty reports whether the text has no words that count.
func (v Vector) Empty() bool { return len(v.groups) == 0 }

// All calls each for every group of the vector, in order, with its share of the
// length: the squares of all shares add up to 1.
func (v Vector) All(each func(group uint64, share float64)) {
	for i, g := range v.groups {
		each(g, float64(v.weights[i])/v.length)
	}
}

// Similarity is the cosine of two vectors, as [Cosine], 0 to 1.
func (v Vector) Similarity(w Vector) float64 {
	if v.Empty() || w.Empty() {
		return 0
	}
	dot := 0.0
	for i, j := 0, 0; i < len(v.groups) && j < len(w.groups); {
		switch {
		case v.groups[i] < w.groups[j]:
			i++
		case v.groups[i] > w.groups[j]:
			j++
		default:
			dot += float64(v.weights[i]) * float64(w.weights[j])
			i, j = i+1, j+1
		}
	}
	return min(1, dot/(v.length*w.length))
}
