package solve_test

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/sotto-llm/sotto/solve"
)

// A file of prices that is nested without end, or full of mistakes, is refused at
// the first, and takes no more to read than its size explains.
func TestHostilePrices(t *testing.T) {
	var keys strings.Builder
	for i := 0; keys.Len() < 490_000; i++ {
		fmt.Fprintf(&keys, "m%d: {inputs: 1}\n", i)
	}
	for text, want := range map[string]string{
		strings.Repeat("[", 200_000):                "prices: line 1, column 101: lists and mappings nest deeper than 100 levels",
		keys.String():                               "prices: more than 100000 keys and values",
		strings.Repeat("m0: {inputs: 1}\n", 15_000): `prices: line 1, column 6: model "m0": unknown key "inputs": there are input and output`,
		"m: {input: 1}":                             `prices: line 1, column 4: model "m": want input and output, per million tokens, each a number and not below 0`,
		"m: {input: 1, output: .nan}":               `prices: line 1, column 23: model "m": output: want a number per million tokens, not below 0`,
		"m: {input: 1, output: -1}":                 `prices: line 1, column 23: model "m": output: want a number per million tokens, not below 0`,
		"m: {input: 1, output: 1, input: 2}":        `prices: line 1, column 26: model "m": input stands twice`,
		"m: {input: 1, output: 1}\nm: {}":           `prices: line 2, column 1: model "m" stands twice`,
		"a: &a {input: 1, output: 1}\nb: *a\n":      `prices: line 1, column 4: model "a": want input and output, per million tokens, each a number and not below 0`,
		"- a":                                       "prices: line 1, column 1: want models with their prices, not a list",
		strings.Repeat("#", 1<<20+1):                "prices: larger than 1 MiB",
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err := solve.ReadPrices([]byte(text))
		runtime.ReadMemStats(&after)
		if n := (after.TotalAlloc - before.TotalAlloc) >> 20; fmt.Sprint(err) != want || n > 300 {
			t.Errorf("%.30q: %d MB, %v, want %s", text, n, err, want)
		}
	}
}
