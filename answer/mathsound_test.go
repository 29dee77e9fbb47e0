package answer

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/sotto-llm/sotto/internal/base/effort"
)

// A formula is written in LaTeX, normalised, and computed at some points.
type formula struct {
	text   string
	normal string
	values [3]float64
	tight  bool // it needs no brackets as a factor
}

// points are values of x and y. A formula may have no real value at some of them.
var points = [3][2]float64{{1.3, 0.7}, {-1.7, 2.1}, {-0.4, -3.2}}

func leaf(text string, f func(x, y float64) float64) formula {
	e := formula{text: text, tight: true}
	for i, p := range points {
		e.values[i] = f(p[0], p[1])
	}
	return e
}

// randomFormula returns a formula of at most a number of operations.
func randomFormula(rng *rand.Rand, size int) formula {
	if size == 0 {
		n := float64(rng.IntN(5))
		return []formula{
			leaf("x", func(x, _ float64) float64 { return x }),
			leaf("y", func(_, y float64) float64 { return y }),
			leaf(fmt.Sprint(n), func(_, _ float64) float64 { return n }),
			leaf(`\frac{1}{2}`, func(_, _ float64) float64 { return 0.5 }),
			leaf(`\pi`, func(_, _ float64) float64 { return math.Pi }),
		}[rng.IntN(5)]
	}
	left := rng.IntN(size)
	a := randomFormula(rng, left)
	switch rng.IntN(8) {
	case 0:
		return combine(`\sqrt{`+a.text+"}", true, a, a, func(a, _ float64) float64 { return math.Sqrt(a) })
	case 1:
		n := rng.IntN(4) - 1
		return combine(fmt.Sprintf("%s^{%d}", inBrackets(a), n), false, a, a, func(a, _ float64) float64 { return math.Pow(a, float64(n)) })
	case 2:
		return combine(inBrackets(a)+`^{\frac{2}{3}}`, false, a, a, func(a, _ float64) float64 { return math.Pow(a, 2.0/3) })
	}
	b := randomFormula(rng, size-1-left)
	switch rng.IntN(5) {
	case 0:
		return combine(a.text+"+"+b.text, false, a, b, func(a, b float64) float64 { return a + b })
	case 1:
		return combine(a.text+"-("+b.text+")", false, a, b, func(a, b float64) float64 { return a - b })
	case 2:
		return combine(inBrackets(a)+`\cdot `+inBrackets(b), false, a, b, func(a, b float64) float64 { return a * b })
	case 3:
		return combine(`\frac{`+a.text+"}{"+b.text+"}", true, a, b, func(a, b float64) float64 { return a / b })
	}
	return combine("("+a.text+")("+b.text+")", false, a, b, func(a, b float64) float64 { return a * b })
}

func inBrackets(f formula) string {
	if f.tight && f.text[0] != '\\' {
		return f.text
	}
	return `\left(` + f.text + `\right)`
}

func combine(text string, tight bool, a, b formula, f func(a, b float64) float64) formula {
	e := formula{text: text, tight: tight}
	for i := range points {
		e.values[i] = f(a.values[i], b.values[i])
	}
	return e
}

// differs reports whether two formulas have different values at a point where both
// have one.
func (f formula) differs(g formula) bool {
	for i, x := range f.values {
		y := g.values[i]
		if math.IsNaN(x-y) || math.IsInf(x-y, 0) {
			continue
		}
		if math.Abs(x-y) > 1e-6*(1+math.Abs(x)+math.Abs(y)) {
			return true
		}
	}
	return false
}

// TestMathSound compares many small formulas with one another. Those that are found
// equal must have the same values, also for negative numbers.
func TestMathSound(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	n := 400
	if effort.Brief() {
		n = 90
	}
	list := make([]formula, n)
	classes := map[string][]formula{}
	for i := range list {
		list[i] = randomFormula(rng, 1+rng.IntN(3))
		list[i].normal = Math.Normalise(list[i].text)
		key := ""
		for _, x := range list[i].values {
			key += fmt.Sprintf("%.6g ", x)
		}
		classes[key] = append(classes[key], list[i])
	}
	equal := 0
	for i, f := range list {
		for _, g := range list[:i] {
			if by := equalMath(f.normal, g.normal); by != byNone {
				if equal++; f.differs(g) {
					t.Fatalf("%q and %q are equal by %s, but have the values %v and %v", f.text, g.text, by, f.values, g.values)
				}
			}
		}
	}
	same, found := 0, 0
	for _, class := range classes {
		for i, f := range class {
			for _, g := range class[:i] {
				same++
				if equalMath(f.normal, g.normal) != byNone {
					found++
				} else if same-found < 40 {
					t.Logf("not found: %s and %s", f.text, g.text)
				}
			}
		}
	}
	t.Logf("%d pairs are equal here, all of them in value; of %d pairs with the same values, %d are found", equal, same, found)
	if 100*found < 70*same {
		t.Errorf("of %d pairs with the same values, %d are found", same, found)
	}
}
