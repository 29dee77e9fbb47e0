package answer

import (
	"testing"
	"unicode"
)

// The blocks of other alphabets that spaced passes over hold no letter of its own.
func TestSpaced(t *testing.T) {
	for r := rune(0x80); r <= unicode.MaxRune; r++ {
		if want := unicode.In(r, unicode.Latin, unicode.Cyrillic); spaced(r) != want {
			t.Fatalf("spaced(%U) = %t, want %t", r, !want, want)
		}
	}
}

// A word is found whatever its case, at its whole length only, and a stem with its ending.
func TestTrie(t *testing.T) {
	table := &table{}
	table.add(map[string]use{"so": useSo, "so far": useNote, "a": useOr | useComma, "wrong*": useWrong, "été": useWere, "和": useBut})
	for text, want := range map[string][]mark{
		"So":             {{0, 2, useSo}},
		"also":           nil,
		"sofa":           nil,
		"so **far**":     {{0, 2, useSo}, {0, 8, useNote}},
		"so         far": {{0, 2, useSo}}, // as much space as no writer leaves
		"À a":            {{3, 4, useOr}},
		"WRONGLY so":     {{0, 7, useWrong}, {8, 10, useSo}},
		"wrong":          {{0, 5, useWrong}},
		"l'Été, 和a":      {{2, 7, useWere}, {9, 12, useBut}, {12, 13, useOr}},
		"so\u212a":       nil,
	} {
		got := table.marks(nil, text, 0, len(text))
		if len(got) != len(want) {
			t.Errorf("%q: %v, want %v", text, got, want)
			continue
		}
		for i := range got {
			if got[i] != want[i] {
				t.Errorf("%q: %v, want %v", text, got, want)
			}
		}
	}
}
