package symbolic

import "github.com/sotto-llm/sotto/internal/base/arith"

// compile appends the code of a form, or of its negative. It divides only where the
// text does.
func (f *form) compile(code []arith.Step, minus bool) []arith.Step {
	if f.kind == 's' {
		code = append(code, arith.Step{Op: 'n', Operand: f.slot})
	} else {
		first := true
		for _, inverse := range []bool{false, true} {
			for _, p := range f.parts {
				if p.inverse != inverse {
					continue
				}
				code = p.compile(code, first && inverse) // only a part of a sum can be both
				if !first {
					code = append(code, arith.Step{Op: f.operator(inverse)})
				}
				first = false
			}
		}
	}
	if minus {
		code = append(code, arith.Step{Op: '~'})
	}
	return code
}

// Makes reports whether the template, filled with numbers in ascending order, has
// the value target.
func (t Template) Makes(numbers []int64, target int64) bool {
	if len(numbers) != t.slots || t.root == nil {
		return false
	}
	v, ok := arith.Value(t.code, func(slot int) arith.Fraction { return arith.Int(numbers[slot]) })
	return ok && v.Equal(arith.Int(target))
}
