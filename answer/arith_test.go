package answer_test

import (
	"math/big"
	"strings"
	"testing"
	"time"

	"github.com/sotto-llm/sotto/answer"
)

func TestGame24Verdicts(t *testing.T) {
	long := strings.Repeat("9", 101)
	for _, c := range []struct {
		candidate, input string
		want             answer.Verdict
	}{
		{"8/(3-8/3)", "3 3 8 8", answer.Verdict{OK: true, Reason: answer.ReasonOK, By: "rational"}},
		{"8/(3-8/3)", "[8, 8, 3, 3]", answer.Verdict{OK: true, Reason: answer.ReasonOK, By: "rational"}},
		{"8/(3-8/3)", "Use 8, 8, 3 and 3 to make 24.", answer.Verdict{OK: true, Reason: answer.ReasonOK, By: "rational"}},
		{"(8-5)*(11-2)", "2 5 8 11", answer.Verdict{Reason: answer.MathError, Detail: "27"}},
		{"8/3/3/8", "3 3 8 8", answer.Verdict{Reason: answer.MathError, Detail: "1/9"}},
		{"-8-8-3-3", "3 3 8 8", answer.Verdict{Reason: answer.MathError, Detail: "-22"}},
		{"--8+-(-8)+3+3", "3 3 8 8", answer.Verdict{Reason: answer.MathError, Detail: "22"}},
		{"8/(8-8)", "8 8 8", answer.Verdict{Reason: answer.MathError, Detail: answer.DivisionByZero}},
		{"8/(8-8)", "1 2 3 4", answer.Verdict{Reason: answer.MathError, Detail: answer.DivisionByZero}},
		{"8*3", "3 3 8 8", answer.Verdict{Reason: answer.WrongNumbers, Detail: "8 3"}},
		{"8*3*(8-8+1)", "3 3 8 8", answer.Verdict{Reason: answer.WrongNumbers, Detail: "8 3 8 8 1"}},
		{"24", "3 3 8 8", answer.Verdict{Reason: answer.WrongNumbers, Detail: "24"}},
		{"03*8", "3 8", answer.Verdict{OK: true, Reason: answer.ReasonOK, By: "rational"}},
		{"3**8", "3 8", answer.Verdict{Reason: answer.FormatError, Detail: "at byte 2"}},
		{"(3*8", "3 8", answer.Verdict{Reason: answer.FormatError, Detail: "at byte 4"}},
		{"3*8)", "3 8", answer.Verdict{Reason: answer.FormatError, Detail: "at byte 3"}},
		{"+3*8", "3 8", answer.Verdict{Reason: answer.FormatError, Detail: "at byte 0"}},
		{"3^8", "3 8", answer.Verdict{Reason: answer.IllegalTokens, Detail: "^"}},
		{"3*8 or so", "3 8", answer.Verdict{Reason: answer.IllegalTokens, Detail: "or"}},
		{"3*8 = 24", "3 8", answer.Verdict{Reason: answer.IllegalTokens, Detail: "="}},
		{" ", "3 8", answer.Verdict{Reason: answer.Empty}},
		{"3*8", "", answer.Verdict{Reason: answer.BadGold, Detail: "the problem has no numbers, or no value"}},
		{long + "*8", "3 8", answer.Verdict{Reason: answer.TooLarge}},
		{"3000000000*3000000000/3000000000/3000000000*24", "3000000000 3000000000 3000000000 3000000000 24", answer.Verdict{OK: true, Reason: answer.ReasonOK, By: "rational"}},
	} {
		if v := answer.Game24.Validate(c.candidate, answer.Problem{Input: c.input}); v != c.want {
			t.Errorf("%q of %q: %+v, want %+v", c.candidate, c.input, v, c.want)
		}
	}
}

func TestCountdownProblems(t *testing.T) {
	for _, p := range []answer.Problem{
		{Input: "17 25 40 4 7", Gold: "39"},
		{Input: "[17, 25, 40, 4, 7]", Gold: " 39 "},
		{Input: `{"numbers": [17, 25, 40, 4, 7], "target": 39}`},
		{Gold: `{"numbers": [17, 25, 40, 4, 7], "target": 39}`},
		{Input: "Using the numbers [17, 25, 40, 4, 7], create an equation that equals 39."},
		{Input: "Make 39 from 17, 25, 40, 4 and 7"},
	} {
		if v := answer.Countdown.Validate("40-25+17+(4*7)-(4*7)", p); v.Reason != answer.WrongNumbers {
			t.Errorf("%+v: %+v", p, v)
		}
		if v := answer.Countdown.Validate("40-25+17+7*4", p); v.Detail != "60" {
			t.Errorf("%+v: %+v", p, v)
		}
		if v := answer.Countdown.Validate("25+17+4-7", answer.Problem{Input: "25 17 4 7", Gold: "39"}); !v.OK {
			t.Errorf("%+v: %+v", p, v)
		}
		if q, _ := answer.Countdown.Distil(p, ""); q != "Solve 39 with 4 7 17 25 40" {
			t.Errorf("%+v: query %q", p, q)
		}
	}
}

// No expression costs much, however it is made.
func TestHostileExpressions(t *testing.T) {
	nines := strings.Repeat("9", 100)
	for name, s := range map[string]string{
		"digits":     strings.Repeat("9", 10_000_000),
		"powers":     "9**9**9**9**9**9",
		"products":   strings.TrimSuffix(strings.Repeat(nines+"*", 250), "*"),
		"quotients":  strings.TrimSuffix(strings.Repeat("1/"+nines+"+", 19), "+"),
		"nesting":    strings.Repeat("(", 1_000_000),
		"signs":      strings.Repeat("-", 1_000_000) + "1",
		"long sums":  strings.Repeat("1+", 1_000_000) + "1",
		"whitespace": strings.Repeat(" ", 1_000_000) + "1",
	} {
		begun := time.Now()
		v := answer.Game24.Validate(s, answer.Problem{Input: "1 2 3 4"})
		if d := time.Since(begun); v.OK || d > time.Minute {
			t.Errorf("%s: %s after %s", name, v.Reason, d)
		}
	}
}

// FuzzGame24 compares verdicts with those of a different kind of evaluator: it
// finds the loosest operator by looking at the whole text, while the package's
// parser descends.
func FuzzGame24(f *testing.F) {
	for _, s := range []string{"8/(3-8/3)", "(8-5)*(11-2)", "1/0", "-(2)*3", "2**3", "2--3", "((1))", "1/(2-2)", "3000000000*3000000000", "(1", "1)", "", "5*-3/-2"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if len(s) > 200 || strings.Trim(s, "0123456789+-*/() ") != "" || strings.Trim(s, " ") == "" {
			return
		}
		numbers := strings.FieldsFunc(s, func(r rune) bool { return r < '0' || r > '9' })
		v := answer.Countdown.Validate(s, answer.Problem{Input: strings.Join(numbers, " "), Gold: "24"})
		value, state := slowValue(strings.TrimSpace(s))
		want := answer.FormatError
		switch {
		case v.Reason == answer.TooLarge:
			return
		case len(numbers) == 0 && state == "":
			t.Fatalf("%q: a value without numbers", s)
		case state == "zero":
			want = answer.MathError
		case state == "" && value.Cmp(big.NewRat(24, 1)) == 0:
			want = answer.ReasonOK
		case state == "":
			want = answer.MathError
		}
		if v.Reason != want || v.OK != (want == answer.ReasonOK) {
			t.Fatalf("%q: %+v, want %s (%v %s)", s, v, want, value, state)
		}
		if want == answer.MathError && state == "" && len(v.Detail) < 100 && v.Detail != value.RatString() {
			t.Fatalf("%q: %s, want %s", s, v.Detail, value.RatString())
		}
	})
}

// slowValue evaluates an expression; state is "", "zero" or "bad".
func slowValue(s string) (v *big.Rat, state string) {
	s = strings.TrimSpace(s)
	for _, ops := range []string{"+-", "*/"} {
		depth := 0
		for i := len(s) - 1; i > 0; i-- {
			switch c := s[i]; {
			case c == ')':
				depth++
			case c == '(':
				depth--
			case depth == 0 && strings.IndexByte(ops, c) >= 0 && isOperand(s[:i]):
				return slowOperation(c, s[:i], s[i+1:])
			}
		}
	}
	if rest, ok := strings.CutPrefix(s, "-"); ok {
		if v, state = slowValue(rest); state == "" {
			v = new(big.Rat).Neg(v)
		}
		return v, state
	}
	if strings.HasPrefix(s, "(") && strings.HasSuffix(s, ")") {
		return slowValue(s[1 : len(s)-1])
	}
	if s == "" || strings.Trim(s, "0123456789") != "" {
		return nil, "bad"
	}
	v, _ = new(big.Rat).SetString(s)
	return v, ""
}

// isOperand reports whether an operator after s is one of two operands.
func isOperand(s string) bool {
	s = strings.TrimSpace(s)
	return s != "" && strings.IndexByte("0123456789)", s[len(s)-1]) >= 0
}

func slowOperation(op byte, left, right string) (*big.Rat, string) {
	a, x := slowValue(left)
	b, y := slowValue(right)
	switch {
	case x == "bad" || y == "bad":
		return nil, "bad"
	case x != "" || y != "":
		return nil, "zero"
	case op == '+':
		return a.Add(a, b), ""
	case op == '-':
		return a.Sub(a, b), ""
	case op == '*':
		return a.Mul(a, b), ""
	case b.Sign() == 0:
		return nil, "zero"
	}
	return a.Quo(a, b), ""
}

// FuzzExtract holds every task to the properties of an extraction.
func FuzzExtract(f *testing.F) {
	for i, c := range replies {
		f.Add(c.raw, uint8(i))
	}
	tasks := answer.Tasks()
	for i := range tasks {
		f.Add("Answer: ~~8*4~~ 8~~*4~~*3", uint8(i))
		f.Add("\x7f~~^~\xeae~~~~~r~r: 8*3", uint8(i))
	}
	f.Fuzz(func(t *testing.T, raw string, which uint8) {
		if len(raw) > 1<<14 {
			return
		}
		task := tasks[int(which)%len(tasks)]
		p := answer.Problem{Input: "3 3 8 8", Gold: "24", Options: []string{"Paris", "Rome"}}
		checkExtraction(t, task, raw, p, answer.Options{FromReasoning: which&64 != 0, ScanCut: which&128 != 0})
	})
}
