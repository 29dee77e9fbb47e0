package agent

import (
	"bufio"
	"bytes"
	"encoding/json"
	"math"
	"os"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/sotto-llm/sotto/internal/base/lexical"
)

// A pair of reflections; people say whether one says again what the other said.
type pair struct {
	Again bool   `json:"again"`
	A     string `json:"a"`
	B     string `json:"b"`
}

func pairs(t *testing.T) []pair {
	t.Helper()
	data, err := os.ReadFile("testdata/pairs.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	var list []pair
	for in := bufio.NewScanner(bytes.NewReader(data)); in.Scan(); {
		var p pair
		if err := json.Unmarshal(in.Bytes(), &p); err != nil {
			t.Fatal(err)
		}
		list = append(list, p)
	}
	return list
}

// told counts the pairs that a threshold tells right.
func told(list []pair, scores []float64, threshold float64) int {
	n := 0
	for i, p := range list {
		if (scores[i] >= threshold) == p.Again {
			n++
		}
	}
	return n
}

// The threshold of the lexical method is in the middle of those that tell most
// pairs right, and it tells nine in ten.
func TestLexicalThreshold(t *testing.T) {
	list := pairs(t)
	scores := make([]float64, len(list))
	for i, p := range list {
		scores[i] = similarities(p.A, []string{p.B})[0]
	}
	best, from, to := 0, 0.0, 0.0
	for x := 0.0; x <= 1; x += 0.005 {
		switch n := told(list, scores, x); {
		case n > best:
			best, from, to = n, x, x
		case n == best:
			to = x
		}
	}
	got := told(list, scores, LexicalThreshold)
	t.Logf("%d of %d pairs at %.2f; the best is %d, from %.3f to %.3f", got, len(list), LexicalThreshold, best, from, to)
	if got < best || LexicalThreshold < from || LexicalThreshold > to || got*10 < len(list)*9 {
		t.Errorf("the threshold tells %d of %d pairs right; %d would from %.3f to %.3f", got, len(list), best, from, to)
	}
	right := 0 // where the threshold is found without the pair that it is tried on
	for i, p := range list {
		others, rest := slices.Delete(slices.Clone(list), i, i+1), slices.Delete(slices.Clone(scores), i, i+1)
		from, to, best := 0.0, 0.0, -1
		for x := 0.0; x <= 1; x += 0.005 {
			if n := told(others, rest, x); n > best {
				best, from, to = n, x, x
			} else if n == best {
				to = x
			}
		}
		right += told([]pair{p}, scores[i:i+1], (from+to)/2)
	}
	t.Logf("%d of %d where each pair is left out of the search", right, len(list))
	for i, p := range list {
		if (scores[i] >= LexicalThreshold) != p.Again {
			t.Logf("told wrong: %.3f %q / %q", scores[i], p.A, p.B)
		}
	}
}

// A similarity is symmetric, between 0 and 1, and 1 of a text with itself.
func TestSimilarity(t *testing.T) {
	word := rapid.StringMatching(`[a-zäé]{3,9}`)
	text := rapid.SliceOfN(word, 1, 30)
	rapid.Check(t, func(t *rapid.T) {
		a, b := join2(text.Draw(t, "a")), join2(text.Draw(t, "b"))
		x, y := similarities(a, []string{b, a}), similarities(b, []string{a})
		if math.Abs(x[0]-y[0]) > 1e-9 || x[0] < 0 || x[0] > 1+1e-9 {
			t.Fatalf("%v, %v", x, y)
		}
		if len(lexical.Groups(a)) > 0 && math.Abs(x[1]-1) > 1e-9 {
			t.Fatalf("%q with itself: %v", a, x[1])
		}
	})
}

func join2(words []string) string {
	slices.Sort(words)
	s := ""
	for _, w := range words {
		s += w + " "
	}
	return s
}
