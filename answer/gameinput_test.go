package answer_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/sotto-llm/sotto/answer"
)

// A token that is not a number never makes a smaller game, wherever it stands in
// the list.
func TestStrayTokens(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 4))
	strays := []string{"x", "7.5", "-7", "x4", "4x", "1/2", "seven", "七", "|", "(7)", "+", strings.Repeat("9", 101)}
	lists := []string{"%s", "[%s]", "(%s)", "Input: %s", "Using the numbers [%s], make 24.", `{"numbers": [%s], "target": 24}`}
	for range 5000 {
		tokens := make([]string, 3+r.IntN(4))
		for i := range tokens {
			tokens[i] = fmt.Sprint(1 + r.IntN(13))
		}
		list, separator := lists[r.IntN(len(lists))], []string{" ", ", ", ","}[r.IntN(3)]
		if strings.Contains(list, "{") {
			separator = ","
		}
		p := func() answer.Problem {
			return answer.Problem{Input: fmt.Sprintf(list, strings.Join(tokens, separator))}
		}
		whole := strings.Join(tokens, "+")
		if v := answer.Game24.Validate(whole, p()); v.Reason != answer.ReasonOK && v.Reason != answer.MathError {
			t.Fatalf("%s of %+v: %+v", whole, p(), v)
		}
		at, stray := r.IntN(len(tokens)), strays[r.IntN(len(strays))]
		if at == 0 && stray == "seven" || at == 0 && stray == "七" {
			at++ // a text that begins with a word is a sentence
		}
		tokens[at] = stray
		without := strings.Join(append(append([]string{}, tokens[:at]...), tokens[at+1:]...), "+")
		for _, task := range []answer.Task{answer.Game24, answer.Countdown} {
			p := p()
			p.Gold = "24"
			v := task.Validate(without, p)
			if v.Reason != answer.BadGold || !strings.Contains(v.Detail, "where a whole number is wanted") {
				t.Fatalf("%s: %q of %+v: %+v", task.Name(), without, p, v)
			}
			if q, _ := task.Distil(p, ""); q != "" {
				t.Fatalf("%s: %+v: query %q", task.Name(), p, q)
			}
		}
	}
}

func TestStrayNamed(t *testing.T) {
	for in, want := range map[string]string{
		"4 4 7 x":                          "x",
		"4 4 -7 7":                         "-7",
		"4, 4, 7.5, 8":                     "7.5",
		"x 4 4 7":                          "x",
		"4 | 4 | 7 | 8":                    "|",
		`{"numbers": [4, 4, 7, "x"]}`:      "x",
		`{"numbers": [4, 4, 7, 7.5]}`:      "7.5",
		"Use the numbers [4, 4, 7, x] now": "x",
	} {
		v := answer.Game24.Validate("4+4+7", answer.Problem{Input: in})
		if want = fmt.Sprintf("the problem has %q where a whole number is wanted", want); v.Reason != answer.BadGold || v.Detail != want {
			t.Errorf("%s: %+v, want %s", in, v, want)
		}
	}
	for _, in := range []string{
		"3 3 8 8", " 3 3 8 8\n", "[3, 3, 8, 8].", `"3","3","8","8"`, "3, 3, 8 and 8", "3; 3; 8; 8", "Input: 3 3 8 8",
		"3 3 8 8 = 24", "3 3 8 8 -> 24", "3 3 8 8 =", `["3", "3", "8", "8"]`, "Use 8, 8, 3 and 3 to make 24 [it can be done].",
	} {
		if v := answer.Game24.Validate("8/(3-8/3)", answer.Problem{Input: in}); !v.OK {
			t.Errorf("%s: %+v", in, v)
		}
	}
}
