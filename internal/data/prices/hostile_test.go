package prices_test

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/sotto-llm/sotto/internal/data/prices"
)

// A price file that is nested without end, or full of mistakes, is refused. Reading
// it costs no more than its size explains.
func TestHostilePrices(t *testing.T) {
	var keys strings.Builder
	for i := 0; keys.Len() < 490_000; i++ {
		fmt.Fprintf(&keys, "m%d: {inputs: 1}\n", i)
	}
	for text, want := range map[string]string{
		strings.Repeat("[", 200_000):           "p.yaml:1:101: lists and mappings nest deeper than 100 levels",
		keys.String():                          "p.yaml: more than 100000 keys and values",
		"m: {input: 1}":                        "p.yaml:1:4: m: want input and output: output is missing",
		"m: {input: 1, outptu: 1}":             `p.yaml:1:15: m.outptu: unknown key: did you mean "output"?`,
		"m: {input: 1, output: .nan}":          `p.yaml:1:23: m.output: want a number, not .nan`,
		"m: {input: 1, output: -1}":            "p.yaml:1:23: m.output: want a number per million tokens, not below 0",
		"m: {input: 1, output: 1, input: 2}":   "p.yaml:1:26: m.input: appears twice, first in line 1",
		"m: {input: 1, output: 1}\nm: {}":      "p.yaml:2:1: m: appears twice, first in line 1",
		"m: {}\nn: x":                          "p.yaml:1:4: m: want input and output: input is missing\np.yaml:2:4: n: want a mapping, not \"x\"",
		"a: &a {input: 1, output: 1}\nb: *a\n": "p.yaml:1:4: a: anchors, aliases and tags are not supported\np.yaml:2:4: b: anchors, aliases and tags are not supported",
		"- a":                                  "p.yaml:1:1: want a mapping, not a list",
		strings.Repeat("#", 1<<20+1):           "p.yaml: larger than 1 MiB",
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err := prices.Read("p.yaml", []byte(text))
		runtime.ReadMemStats(&after)
		if n := (after.TotalAlloc - before.TotalAlloc) >> 20; fmt.Sprint(err) != want || n > 300 {
			t.Errorf("%.30q: %d MB, %v, want %s", text, n, err, want)
		}
	}
	// If there are many mistakes, the first hundred are listed.
	_, err := prices.Read("p.yaml", []byte(strings.Repeat("m0: {inputs: 1}\n", 15_000)))
	if lines := strings.Split(fmt.Sprint(err), "\n"); len(lines) != 101 || lines[100] != "p.yaml:101:1: too many faults: the rest is not listed" {
		t.Errorf("%d lines, the last %q", len(lines), lines[len(lines)-1])
	}
}
