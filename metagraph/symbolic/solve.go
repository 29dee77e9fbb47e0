package symbolic

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
		items[i] = item{ratio{n, 1}, &expr{op: 's', slot: i}}
	}
	e, fits := join(items, target)
	if !fits {
		e = solveBig(numbers, target)
	}
	if e == nil {
		return "", false
	}
	return newTemplate(e, len(numbers)).Fill(numbers), true
}

type item struct {
	value ratio
	*expr
}

// join tries every pair of the items. fits is false if a value grew too large.
func join(items []item, target int64) (e *expr, fits bool) {
	if len(items) == 1 {
		if v := items[0].value; v.n%v.d == 0 && v.n/v.d == target {
			return items[0].expr, true
		}
		return nil, true
	}
	rest := make([]item, len(items)-1)
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
				v, ok := combine(op, x.value, y.value)
				if !ok {
					continue
				}
				if !v.settle() {
					return nil, false
				}
				if e, fits := join(append(others, item{v, &expr{op: op, left: x.expr, right: y.expr}}), target); e != nil || !fits {
					return e, fits
				}
			}
		}
	}
	return nil, true
}

// combine computes one step. ok is false for a division by zero.
func combine(op byte, x, y ratio) (v ratio, ok bool) {
	switch op {
	case '+':
		return ratio{x.n*y.d + y.n*x.d, x.d * y.d}, true
	case '-':
		return ratio{x.n*y.d - y.n*x.d, x.d * y.d}, true
	case '*':
		return ratio{x.n * y.n, x.d * y.d}, true
	}
	return ratio{x.n * y.d, x.d * y.n}, y.n != 0
}

// solveBig is Solve for numbers too large for machine words. It tries every tree.
func solveBig(numbers []int64, target int64) (found *expr) {
	trees(1<<len(numbers)-1, func(e *expr) bool {
		if newTemplate(e, len(numbers)).makesBig(numbers, target) {
			found = e
		}
		return found == nil
	})
	return found
}
