package symbolic

import (
	"errors"
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/sotto-llm/sotto/answer"
)

// The distinct functions of n variables by + - * / are 1, 6, 68, 1170, 27142, …
// (OEIS A140606).
func TestFunctions(t *testing.T) {
	for n, want := range []int{0, 1, 6, 68, 1170} {
		if got := len(Functions(n)); got != want {
			t.Errorf("%d slots: %d functions, want %d", n, got, want)
		}
	}
	trees := 0
	for range Trees(4) {
		trees++
	}
	if trees != 3240 {
		t.Errorf("%d trees, want 3240", trees)
	}
}

// Keys are equal if and only if the functions are. The test judges functions
// without their forms: by their exact values, at points at which different
// functions of so few slots differ.
func TestKeysAreFunctions(t *testing.T) {
	points := [][]int64{{1009, 20011, 300007, 4000037}, {100003, 3001, 7, 500009}}
	byValue := map[string]string{}
	byKey := map[string]string{}
	for x := range Trees(4) {
		var values []string
		for _, p := range points {
			values = append(values, bigValue(x, p))
		}
		value := fmt.Sprint(values)
		if key, ok := byValue[value]; ok && key != x.Key() {
			t.Errorf("%s and %s are one function", key, x.Key())
		}
		if v, ok := byKey[x.Key()]; ok && v != value {
			t.Errorf("%s is two functions", x.Key())
		}
		byValue[value], byKey[x.Key()] = x.Key(), value
	}
}

// bigValue computes in rationals of any size, with its own code.
func bigValue(x Template, numbers []int64) string {
	var stack []*big.Rat
	for _, s := range x.code {
		if s.Op == 'n' {
			stack = append(stack, new(big.Rat).SetInt64(numbers[s.Operand]))
			continue
		}
		if s.Op == '~' {
			stack[len(stack)-1].Neg(stack[len(stack)-1])
			continue
		}
		a, b := stack[len(stack)-2], stack[len(stack)-1]
		v, ok := apply(s.Op, a, b)
		if !ok {
			return "none"
		}
		stack = append(stack[:len(stack)-2], v)
	}
	return stack[0].String()
}

func apply(op byte, x, y *big.Rat) (v *big.Rat, ok bool) {
	v = new(big.Rat)
	switch op {
	case '+':
		v.Add(x, y)
	case '-':
		v.Sub(x, y)
	case '*':
		v.Mul(x, y)
	case '/':
		if y.Sign() == 0 {
			return nil, false
		}
		v.Quo(x, y)
	}
	return v, true
}

// Numbers beyond machine words are solved too.
func TestSolveLarge(t *testing.T) {
	const n = 3_000_000_019
	for _, tt := range []struct {
		numbers []int64
		target  int64
		ok      bool
	}{
		{[]int64{n, 8, 3, n}, 24, true}, {[]int64{n, n - 24}, 24, true}, {[]int64{n, 2}, 24, false},
		{[]int64{24}, 24, true}, {nil, 24, false}, {[]int64{1, 1, 1, 1, 1, 1, 1}, 7, false},
	} {
		e, ok := Solve(tt.numbers, tt.target)
		if ok != tt.ok {
			t.Errorf("%v: %q, %v", tt.numbers, e, ok)
		}
		p := answer.Problem{Input: strings.Trim(fmt.Sprint(tt.numbers), "[]")}
		if v := answer.Game24.Validate(e, p); ok && !v.OK {
			t.Errorf("%v: %s: %v", tt.numbers, e, v)
		}
	}
}

// Numbers without a solution take every way to join them, and almost none of those
// needs memory: the last step, most of the work, needs none.
func TestSolveIsLean(t *testing.T) {
	const four, three = 36, 18 // ways to join two of four values, and two of three
	if n := testing.AllocsPerRun(5, func() { Solve([]int64{1, 1, 1, 1}, 24) }); n > four*(three+2) {
		t.Errorf("%v allocations", n)
	}
}

// Every key reads as an expression, and is its own key.
func TestKeysRead(t *testing.T) {
	for _, x := range Functions(4) {
		y, err := Parse(x.Key())
		if err != nil || y.Key() != x.Key() || y.Slots() != 4 {
			t.Errorf("%s: %s, %v", x, y, err)
		}
	}
}

// Makes, the filled text and the exact solver agree about a game's 24.
func TestFillsAreRight(t *testing.T) {
	games := Games(4, 1, 13, 24)
	if len(games) != 1362 {
		t.Fatalf("%d games, want 1362", len(games))
	}
	var all templateSet
	for _, x := range Functions(4) {
		all.Add(x)
	}
	solving := map[string]bool{}
	for _, g := range games {
		p := answer.Problem{Input: strings.Trim(fmt.Sprint(g), "[]")}
		found := 0
		for x := range all.Solving(g, 24) {
			solving[x.Key()] = true
			if found++; found > 3 {
				continue
			}
			if v := answer.Game24.Validate(x.Fill(g), p); !v.OK {
				t.Errorf("%s in %s: %s %s", p.Input, x, x.Fill(g), v.Reason)
			}
		}
		if found == 0 {
			t.Errorf("no template solves %s", p.Input)
		}
		e, _ := Solve(g, 24)
		if v := answer.Game24.Validate(e, p); !v.OK {
			t.Errorf("solved %s as %s: %s", p.Input, e, v.Reason)
		}
	}
	if len(solving) != 369 {
		t.Errorf("%d templates solve a game, want 369", len(solving))
	}
}

// A template is the same however its solution is written.
func TestAbstract(t *testing.T) {
	for key, written := range map[string][]string{
		"(d-a)*(c-b)": {"(8-5)*(11-3)", "(3-11)*(5-8)", "(-5+8)*(11-3)", "-(5-8)*((11)-3)"},
		"a/(d-b/c)":   {"1/(5-3/4)", "1/(5-(3/4))", "-1/(3/4-5)"},
		"a*b*c*d":     {"1*2*3*4", "4*(3*(2*1))"},
		"a+b+c-d":     {"1+2+3-4", "1-(4-2)+3", "-4+(3+(2+1))"},
	} {
		for _, e := range written {
			x, err := Abstract(e)
			if err != nil || x.Key() != key {
				t.Errorf("%s is %s, %v; want %s", e, x, err, key)
			}
		}
	}
	for _, pair := range [][2]string{ // equal numbers change places
		{"4*(7-4)+10", "(7-4)*4+10"}, {"(10*9-9)/4", "(9*10-9)/4"}, {"4/4+10+7", "7+10+4/4"},
	} {
		a, err := Abstract(pair[0])
		b, err2 := Abstract(pair[1])
		if err != nil || err2 != nil || a.Key() != b.Key() {
			t.Errorf("%s and %s: %v %v", pair[0], pair[1], a, b)
		}
	}
}

// However a solution is written, and whichever equal numbers change places, its
// template solves its game and is the same.
func TestAbstractOfTrees(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	functions := Functions(4)
	for range 2000 {
		x := functions[r.IntN(len(functions))]
		numbers := []int64{r.Int64N(5), r.Int64N(5), r.Int64N(5), r.Int64N(5)}
		slices.Sort(numbers)
		text := x.Fill(numbers)
		y, err := Abstract(text)
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		z, err := Abstract("(" + strings.ReplaceAll(text, "*", " * ") + ")")
		if err != nil || y.Key() != z.Key() || y.Key() > x.Key() {
			t.Errorf("%s of %s: %s and %s, %v", text, x, y, z, err)
		}
		if a, b := bigValue(x, numbers), bigValue(y, numbers); a != b {
			t.Errorf("%s: %s is %s, %s is %s", text, x, a, y, b)
		}
	}
}

// Machine words and rationals of any size agree.
func TestLargeNumbers(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	functions := Functions(4)
	beyond := 0
	for range 5000 {
		x := functions[r.IntN(len(functions))]
		numbers := make([]int64, 4)
		for i := range numbers {
			numbers[i] = r.Int64() >> r.IntN(63)
			if r.IntN(2) == 0 {
				numbers[i] = -numbers[i]
			}
		}
		target := r.Int64N(30)
		if v, ok := new(big.Rat).SetString(bigValue(x, numbers)); ok && v.IsInt() && v.Num().IsInt64() {
			target = v.Num().Int64()
		}
		if slices.ContainsFunc(numbers, func(n int64) bool { return n > math.MaxInt32 || n < math.MinInt32 }) {
			beyond++
		}
		if got, want := x.Makes(numbers, target), bigValue(x, numbers) == fmt.Sprintf("%d/1", target); got != want {
			t.Errorf("%s of %v makes %d: %v, want %v", x, numbers, target, got, want)
		}
	}
	if beyond == 0 || beyond == 5000 {
		t.Errorf("%d of 5000 had products beyond machine words", beyond)
	}
}

func TestRefused(t *testing.T) {
	for text, want := range map[string]error{
		"": ErrSyntax, "1+": ErrSyntax, "1 2": ErrSyntax, "(1": ErrSyntax, "1)": ErrSyntax, "2**3": ErrSyntax, "a+b": ErrSyntax, "2^3": ErrSyntax,
		"99999999999999999999":                 ErrTooLarge,
		strings.Repeat("(", 200) + "1":         ErrTooLarge,
		strings.Repeat("1+", 20) + "1":         ErrTooLarge,
		"1" + strings.Repeat("+1", MaxSlots-1): ErrTooLarge, // equal numbers in 16! ways
		strings.Repeat(" ", 5000) + "1":        ErrTooLarge,
	} {
		if x, err := Abstract(text); !errors.Is(err, want) {
			t.Errorf("%.20q: %v, %v; want %v", text, x, err, want)
		}
	}
	for _, text := range []string{"", "a+a", "b", "a+c", "a+1", "A"} {
		if x, err := Parse(text); !errors.Is(err, ErrSyntax) {
			t.Errorf("%q: %v, %v", text, x, err)
		}
	}
	var zero Template
	var set templateSet
	if zero.Makes(nil, 0) || zero.Fill(nil) != "" || set.Add(zero) {
		t.Error("the zero template is one")
	}
}

// No text causes a panic, and an expression that is read makes the value that it
// claims.
func FuzzAbstract(f *testing.F) {
	for _, seed := range []string{"(8-5)*(11-3)", "-1--1", "1/0", "6/(1-3/4)", "((1))", "4*4+4+4", "9999999999*9/9"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		x, err := Abstract(text)
		if err != nil {
			return
		}
		y, err := Parse(x.Key())
		if err != nil || y.Key() != x.Key() {
			t.Errorf("%q: key %s reads as %s, %v", text, x, y, err)
		}
	})
}

func BenchmarkSolving(b *testing.B) {
	var all templateSet
	for _, x := range Functions(4) {
		all.Add(x)
	}
	game := []int64{1, 1, 1, 1} // without a solution, so that every template is tried
	b.ReportAllocs()
	for b.Loop() {
		for range all.Solving(game, 24) {
			b.Fatal("solved")
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(all.Len()), "ns/template")
}
