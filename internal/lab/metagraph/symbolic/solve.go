package symbolic

import "github.com/sotto-llm/sotto/internal/base/arith"

// maxSolve is the maximum count of numbers for Solve. Each further number takes
// some 100 times as long.
const maxSolve = 6

// Solve finds an expression that uses all the numbers, each once, and has the value
// target. It tries every way to join two of the remaining values, and uses no
// templates. For more than 6 numbers it finds none.
func Solve(numbers []int64, target int64) (expression string, ok bool) {
	if len(numbers) == 0 || len(numbers) > maxSolve {
		return "", false
	}
	items := make([]item, len(numbers))
	for i, n := range numbers {
		items[i] = item{arith.Int(n), &expr{op: 's', slot: i}}
	}
	e := join(items, arith.Int(target))
	if e == nil {
		return "", false
	}
	return newTemplate(e, len(numbers)).Fill(numbers), true
}

type item struct {
	value arith.Fraction
	*expr
}

// join tries every pair of the items.
func join(items []item, target arith.Fraction) *expr {
	if len(items) == 1 {
		if items[0].value.Equal(target) {
			return items[0].expr
		}
		return nil
	}
	var rest []item
	if len(items) > 2 {
		rest = make([]item, len(items)-1)
	}
	for i, x := range items {
		for j, y := range items {
			if i == j {
				continue
			}
			others := rest[:0]
			for k, z := range items {
				if k != i && k != j {
					others = append(others, z)
				}
			}
			for _, op := range []byte("+*-/") {
				if (op == '+' || op == '*') && i > j {
					continue // the same pair, in the other order
				}
				v, ok := arith.Apply(op, x.value, y.value)
				// Most of the work is with the last two values. An expression is
				// made of them only if it is the one that is looked for.
				if !ok || len(items) == 2 && !v.Equal(target) {
					continue
				}
				if e := join(append(others, item{v, &expr{op: op, left: x.expr, right: y.expr}}), target); e != nil {
					return e
				}
			}
		}
	}
	return nil
}
