package lexical

import (
	"math"
	"testing"
)

// TestVector compares the similarity of vectors with the cosine of the counts.
func TestVector(t *testing.T) {
	texts := []string{
		"", "the of and", "I will read the note first.", "First I read notes, then I write a note.",
		"Seven times eight is fifty-six.", "Первое слово и второе слово", "wait wait wait wait wait",
	}
	for _, a := range texts {
		for _, b := range texts {
			got, want := NewVector(a).Similarity(NewVector(b)), Cosine(Groups(a), Groups(b))
			if math.Abs(got-want) > 1e-6 {
				t.Errorf("%q and %q: %v, want %v", a, b, got, want)
			}
		}
	}
	squares := 0.0
	NewVector(texts[3]).All(func(_ uint64, share float64) { squares += share * share })
	if math.Abs(squares-1) > 1e-12 {
		t.Errorf("the shares have the length %v", squares)
	}
}
