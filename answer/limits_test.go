package answer_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/sotto-llm/sotto/answer"
)

// repeated are texts that are repeated until a task refuses them: digits, letters, words,
// groups, and what nests.
var repeated = map[string][]string{
	"game24":       {"1+", "(", "1", strings.Repeat("1", 99) + "+"},
	"math":         {"1", "{"},
	"number":       {"1", "("},
	"choice":       {"A"},
	"yesno":        {"y"},
	"qa":           {"a", "a "},
	"json":         {"[", "{\"a\":", "1"},
	"wordsort":     {"a "},
	"crossword5x5": {"a", "a\n"},
	"checkmate":    {"e4 ", "e4"},
	"exact":        {"a"},
}

// sizes are how often they are repeated: at the limits that tasks have, and beside them.
var sizes = []int{0, 1, 2, 3, 4, 5, 8, 9, 24, 25, 26, 47, 48, 49, 50, 63, 64, 65, 79, 80, 81, 95, 96, 97, 99, 100, 101, 102, 127, 128, 129, 199, 200, 201, 202,
	255, 256, 257, 400, 401, 511, 512, 513, 899, 900, 901, 999, 1000, 1001, 1002, 2000, 2001, 4095, 4096, 4097, 8192, 8193, 16383, 16384, 16385}

// equalForms are pairs of equal answers that grow, and near which sizes they are tried.
var equalForms = []struct {
	name     string
	from, to int // besides 1 to 4
	of       func(n int) (candidate, gold string)
}{
	{"nested brackets", 47, 51, func(n int) (string, string) { return strings.Repeat("(", n) + "2" + strings.Repeat(")", n), "1+1" }},
	{"nested roots", 47, 51, func(n int) (string, string) { return strings.Repeat(`\sqrt{`, n) + "1" + strings.Repeat("}", n), "1" }},
	{"nested fractions", 47, 51, func(n int) (string, string) {
		return strings.Repeat(`\frac{1}{`, n) + "1" + strings.Repeat("}", n), "1"
	}},
	{"factorials", 899, 902, func(n int) (string, string) { return fmt.Sprintf("%d!", n), fmt.Sprintf(`%d \cdot %d!`, n, n-1) }},
	{"powers of 2", 8190, 8193, func(n int) (string, string) { return fmt.Sprintf("2^{%d}", n), fmt.Sprintf(`2 \cdot 2^{%d}`, n-1) }},
	{"powers of x", 8191, 8194, func(n int) (string, string) { return fmt.Sprintf("x^{%d}", n), fmt.Sprintf(`x \cdot x^{%d}`, n-1) }},
	{"roots of x", 1022, 1026, func(n int) (string, string) { return fmt.Sprintf("x^{1/%d}", n), fmt.Sprintf(`\sqrt[%d]{x}`, n) }},
	{"digits", 999, 1002, func(n int) (string, string) { return strings.Repeat("1", n), strings.Repeat("1", n-1) + "0+1" }},
	{"decimals", 997, 1000, func(n int) (string, string) { return "0." + strings.Repeat("0", n) + "1", fmt.Sprintf("10^{-%d}", n+1) }},
	{"sets", 200, 201, func(n int) (string, string) {
		return `\{` + grow(n, ", ", "%d", false) + `\}`, `\{0.0` + strings.TrimPrefix(grow(n, ", ", "%d", false), "0") + `\}`
	}},
	{"intervals", 65, 65, func(n int) (string, string) {
		return grow(n, `\cup `, "(%d,%[1]d.5)", false), grow(n, `\cup `, "(%d,%[1]d.5)", true)
	}},
	{"n out of x", 7, 10, func(n int) (string, string) {
		return fmt.Sprintf(`\binom{x}{%d}`, n), fmt.Sprintf(`\binom{x}{%d}+0`, n)
	}},
}

// between returns the numbers from one to another.
func between(from, to int) (list []int) {
	for n := from; n <= to; n++ {
		list = append(list, n)
	}
	return list
}

// grow joins n terms, in their order or in the other one.
func grow(n int, sep, format string, backward bool) string {
	list := make([]string, n)
	for i := range list {
		k := i
		if backward {
			k = n - 1 - i
		}
		list[i] = fmt.Sprintf(format, k)
	}
	return strings.Join(list, sep)
}

// Where each task begins to refuse, or to say something else, is written down: the limits
// bound time and memory, and none moves by itself. After a change, run
//
//	go test ./answer -run TestLimits -update
func TestLimits(t *testing.T) {
	const name = "testdata/limits.txt"
	var got strings.Builder
	for _, task := range answer.Tasks() {
		for _, unit := range repeated[task.Name()] {
			was := ""
			fmt.Fprintf(&got, "%s %q:", task.Name(), unit)
			for _, n := range sizes {
				text := strings.Repeat(unit, n)
				says := ""
				for _, p := range []answer.Problem{{Input: "1 1", Gold: "1"}, {Input: text, Gold: text}} {
					v := task.Validate(task.Normalise(text), p)
					says += " " + string(v.Reason)
				}
				if says != was {
					fmt.Fprintf(&got, " from %d%s;", n, says)
					was = says
				}
			}
			got.WriteString("\n")
		}
	}
	for _, c := range equalForms {
		was := ""
		fmt.Fprintf(&got, "math, %s:", c.name)
		for _, n := range append([]int{1, 2, 3, 4}, between(c.from, c.to)...) {
			candidate, gold := c.of(n)
			v := answer.Math.Validate(answer.Math.Normalise(candidate), answer.Problem{Gold: gold})
			if says := string(v.Reason) + " by " + v.By; says != was {
				fmt.Fprintf(&got, " from %d %s;", n, says)
				was = says
			}
		}
		got.WriteString("\n")
	}
	if *update {
		if err := os.WriteFile(name, []byte(got.String()), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if got.String() != string(want) {
		t.Errorf("got\n%s\nwant\n%s", got.String(), want)
	}
}
