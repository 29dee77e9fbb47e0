package lexical

import (
	"math"
	"slices"
	"strings"
	"unicode"

	"github.com/sotto-llm/sotto/internal/base/shorttext"
)

// A Vector is the counts of [Groups] in a compact form with a fixed order, so that
// equal texts give equal similarities to the last bit.
type Vector struct {
	groups  []uint64 // digests of the groups, ascending
	weights []float32
	length  float64
}

// NewVector returns the vector of a text. Only its first 16 KiB count. It counts what
// [Groups] counts, without a map.
func NewVector(text string) Vector {
	list := digests(strings.ToLower(shorttext.Cut(text, maxCompared)))
	slices.Sort(list)
	v := Vector{}
	for at := 0; at < len(list); {
		end := at + 1
		for end < len(list) && list[end] == list[at] {
			end++
		}
		weight := float32(1 + math.Log(float64(end-at)))
		v.groups, v.weights = append(v.groups, list[at]), append(v.weights, weight)
		v.length += float64(weight) * float64(weight)
		at = end
	}
	v.length = math.Sqrt(v.length)
	return v
}

// digests returns the digests of all groups of a text in lower case.
func digests(text string) []uint64 {
	list := make([]uint64, 0, len(text))
	var letters []rune
	for word := range strings.FieldsFuncSeq(text, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }) {
		if functionWords[word] {
			continue
		}
		letters = append(letters[:0], ' ')
		for _, r := range word {
			letters = append(letters, r)
		}
		letters = append(letters, ' ')
		for i := 0; i < max(1, len(letters)-3); i++ {
			h := uint64(14695981039346656037) // FNV-1a, of runes
			for _, r := range letters[i:min(len(letters), i+4)] {
				h = (h ^ uint64(r)) * 1099511628211
			}
			list = append(list, h^h>>29)
		}
	}
	return list
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
