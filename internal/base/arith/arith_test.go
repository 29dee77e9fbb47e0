package arith_test

import (
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/sotto-llm/sotto/internal/base/arith"
)

var limits = arith.Limits{Text: 100, Depth: 3, Operands: 6}

func TestParse(t *testing.T) {
	letters := limits
	letters.Letters = true
	for _, c := range []struct {
		limits arith.Limits
		text   string
		code   string // each step as its operator or operand
		at     int
		fault  arith.Fault
	}{
		{limits, "1", "1", 1, ""},
		{limits, " 1 +2* 3 ", "1 2 3 * +", 9, ""},
		{limits, "8/(3-8/3)", "8 3 8 3 / - /", 9, ""},
		{limits, "1-2-3/4/5", "1 2 - 3 4 / 5 / -", 9, ""},
		{limits, "-(1)*--2*-3", "1 ~ 2 * 3 ~ *", 11, ""},
		{limits, "007", "007", 3, ""},
		{letters, "(d-a)*(c-b)", "d a - c b - *", 11, ""},
		{letters, "ab", "", 1, arith.Malformed},
		{letters, "1", "", 0, arith.Malformed},
		{limits, "a", "", 0, arith.Malformed},
		{limits, "", "", 0, arith.Malformed},
		{limits, "1 2", "", 2, arith.Malformed},
		{limits, "1+", "", 2, arith.Malformed},
		{limits, "(1", "", 2, arith.Malformed},
		{limits, "1)", "", 1, arith.Malformed},
		{limits, "1**2", "", 2, arith.Malformed},
		{limits, "+1", "", 0, arith.Malformed},
		{limits, "2(3)", "", 1, arith.Malformed},
		{limits, "(((1)))", "1", 7, ""},
		{limits, "((((1))))", "", 3, arith.TooLarge},
		{limits, "1+1+1+1+1+1+1", "", 13, arith.TooLarge},
		{limits, strings.Repeat(" ", 101), "", 0, arith.TooLarge},
		{limits, strings.Repeat("-", 99) + "1", "1 ~", 100, ""},
	} {
		var e arith.Expression
		at, fault := c.limits.Parse(&e, c.text)
		if at != c.at || fault != c.fault {
			t.Errorf("%q: %q at byte %d, want %q at %d", c.text, fault, at, c.fault, c.at)
		}
		if fault != "" {
			continue
		}
		var code []string
		for _, s := range e.Steps {
			if s.Op == 'n' {
				code = append(code, e.Operands[s.Operand])
			} else {
				code = append(code, string(s.Op))
			}
		}
		if got := strings.Join(code, " "); got != c.code {
			t.Errorf("%q: %s, want %s", c.text, got, c.code)
		}
	}
}

// interesting numbers are near the bounds of small fractions and of int64.
var interesting = []int64{0, 1, -1, 2, 3, 7, 24, 1<<30 - 1, 1 << 30, -(1 << 30), 1<<31 + 1, math.MaxInt64, math.MinInt64}

// TestFractions: every operation has the value that big.Rat has, and the parts of a
// value do not matter, only the number.
func TestFractions(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	type pair struct {
		f arith.Fraction
		x *big.Rat
	}
	var pool []pair
	for _, n := range interesting {
		pool = append(pool, pair{arith.Int(n), new(big.Rat).SetInt64(n)})
	}
	for range 20_000 {
		a, b := pool[r.IntN(len(pool))], pool[r.IntN(len(pool))]
		op := "+-*/"[r.IntN(4)]
		f, ok := arith.Apply(op, a.f, b.f)
		if ok != (op != '/' || b.x.Sign() != 0) {
			t.Fatalf("%s %c %s: %v", a.x, op, b.x, ok)
		}
		if !ok {
			continue
		}
		x := new(big.Rat)
		switch op {
		case '+':
			x.Add(a.x, b.x)
		case '-':
			x.Sub(a.x, b.x)
		case '*':
			x.Mul(a.x, b.x)
		default:
			x.Quo(a.x, b.x)
		}
		if f.String() != x.RatString() || f.IsZero() != (x.Sign() == 0) || f.Neg().String() != new(big.Rat).Neg(x).RatString() {
			t.Fatalf("%s %c %s = %s, want %s", a.x, op, b.x, f, x.RatString())
		}
		other := pool[r.IntN(len(pool))]
		if f.Equal(other.f) != (x.Cmp(other.x) == 0) || !f.Equal(f) {
			t.Fatalf("%s and %s are not compared", f, other.f)
		}
		if x.Num().BitLen() < 200 && x.Denom().BitLen() < 200 {
			pool[r.IntN(len(pool)-len(interesting)+1)+len(interesting)-1] = pair{f, x}
			if len(pool) < 200 {
				pool = append(pool, pair{f, x})
			}
		}
	}
	for _, digits := range []string{"0", "999999999", "1073741824", "123456789012345678901234567890"} {
		if got := arith.Digits(digits).String(); got != digits {
			t.Errorf("%s: %s", digits, got)
		}
	}
}

// TestValue: a code has the value of its text, and usual ones cost no memory.
func TestValue(t *testing.T) {
	for text, want := range map[string]string{
		"8/(3-8/3)": "24", "1/3+1/6": "1/2", "-(2-5)*4": "12", "1/(1-1)": "", "0/5": "0", "7-7/(2-2)": "",
		"999999999*999999999*999999999": "999999997000000002999999999",
	} {
		var e arith.Expression
		if _, fault := limits.Parse(&e, text); fault != "" {
			t.Fatal(fault)
		}
		operand := func(i int) arith.Fraction { return arith.Digits(e.Operands[i]) }
		v, ok := arith.Value(e.Steps, operand)
		if got := fmt.Sprint(v); ok != (want != "") || ok && got != want {
			t.Errorf("%s: %s, %v; want %s", text, got, ok, want)
		}
	}
	var e arith.Expression
	limits.Parse(&e, "(8-5)*(11-3)/1")
	if n := testing.AllocsPerRun(100, func() {
		limits.Parse(&e, "(8-5)*(11-3)/1")
		if v, ok := arith.Value(e.Steps, func(i int) arith.Fraction { return arith.Digits(e.Operands[i]) }); !ok || !v.Equal(arith.Int(24)) {
			t.Error(v)
		}
	}); n > 0 {
		t.Errorf("%v allocations", n)
	}
}
