package answer

import (
	"cmp"
	"slices"
	"strings"
	"unicode"

	"github.com/sotto-llm/sotto/internal/base/shorttext"
)

// WordSort is the task of sorting words: "wordsort". The input holds the words,
// after the last colon if there is one ("Sort these: pear apple fig"). An answer is
// right if it has exactly these words, each as often, in lower case and in byte
// order. No gold is needed.
var WordSort Task = wordSort{Exact}

type wordSort struct{ Task }

func (wordSort) Name() string { return "wordsort" }

func (t wordSort) Form() Form {
	f := t.Task.Form()
	f.Rules, f.Extent = "wordsort/1", FirstLine
	return f
}

// maxSorted is the maximum number of words in a problem or an answer.
const maxSorted = 1000

// wordList returns the words of a list, in lower case.
func wordList(list string) []string {
	return strings.FieldsFunc(strings.ToLower(list), func(r rune) bool {
		return unicode.IsSpace(r) || strings.ContainsRune(",;[]()\"`", r)
	})
}

func wordsOf(p Problem) []string {
	return wordList(p.Input[strings.LastIndexByte(p.Input, ':')+1:])
}

// Normalise returns the words in lower case, separated by single spaces.
func (t wordSort) Normalise(candidate string) string {
	return strings.Join(wordList(strings.TrimSuffix(t.Task.Normalise(candidate), ".")), " ")
}

func (wordSort) Precheck(string, Problem) bool { return false }

// Validate returns wrong_numbers if the words are not the problem's, and different
// if the right words are in the wrong order.
func (wordSort) Validate(candidate string, p Problem) Verdict {
	want, got := wordsOf(p), strings.Fields(candidate)
	switch {
	case len(got) == 0:
		return Verdict{Reason: Empty}
	case len(want) == 0:
		return Verdict{Reason: BadGold, Detail: "the problem has no words"}
	case len(want) > maxSorted || len(got) > maxSorted:
		return Verdict{Reason: TooLarge}
	}
	counts := map[string]int{}
	for _, w := range want {
		counts[w]++
	}
	for _, w := range got {
		if counts[w]--; counts[w] < 0 {
			return Verdict{Reason: WrongNumbers, Detail: "the word " + shorttext.Ellipsis(w, 40) + " does not appear that often"}
		}
	}
	if len(got) < len(want) {
		return Verdict{Reason: WrongNumbers, Detail: "words are missing"}
	}
	for i := 1; i < len(got); i++ {
		if cmp.Compare(got[i-1], got[i]) > 0 {
			return Verdict{Reason: Different, Detail: shorttext.Ellipsis(got[i-1], 40) + " stands before " + shorttext.Ellipsis(got[i], 40), By: "none"}
		}
	}
	return Verdict{OK: true, Reason: ReasonOK, By: "string"}
}

// Distil treats the words as a multiset: the query is the same in whatever order
// they are given.
func (t wordSort) Distil(p Problem, solution string) (query, trace string) {
	list := wordsOf(p)
	if len(list) == 0 {
		return "", ""
	}
	slices.Sort(list)
	query = "Sort " + strings.Join(list, " ")
	if solution = t.Normalise(solution); solution != "" {
		trace = traceOf("WordSort", strings.Join(list, " "), solution)
	}
	return query, trace
}
