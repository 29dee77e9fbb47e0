// Package lexical compares texts by the letters of their words, which needs no model.
package lexical

import (
	"math"
	"strings"
	"unicode"

	"github.com/sotto-llm/sotto/internal/base/shorttext"
)

// maxCompared bounds how much of a text is compared, in bytes.
const maxCompared = 16 << 10

// Groups counts the groups of four letters in a text's words. Each word
// includes its ends. Function words carry no meaning and are left out.
func Groups(text string) map[string]float64 {
	m := map[string]float64{}
	words := strings.FieldsFunc(strings.ToLower(shorttext.Cut(text, maxCompared)), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
	for _, w := range words {
		if functionWords[w] {
			continue
		}
		letters := []rune(" " + w + " ")
		for i := 0; i < max(1, len(letters)-3); i++ {
			m[string(letters[i:min(len(letters), i+4)])]++
		}
	}
	for g, n := range m {
		m[g] = 1 + math.Log(n)
	}
	return m
}

// Cosine is the cosine of two counts, 0 to 1.
func Cosine(a, b map[string]float64) float64 {
	var dot, x, y float64
	for g, n := range a {
		dot += n * b[g]
		x += n * n
	}
	for _, n := range b {
		y += n * n
	}
	if x == 0 || y == 0 {
		return 0
	}
	return dot / math.Sqrt(x*y)
}

var functionWords = func() map[string]bool {
	m := map[string]bool{}
	for _, w := range strings.Fields(`a an and are as at be been but by can cycle did do for from had has have i if in into is it its me my next no
		not now of on or so than that the their them then there these this those to up was we were what when which will with would you your`) {
		m[w] = true
	}
	return m
}()
