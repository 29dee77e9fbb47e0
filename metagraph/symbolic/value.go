package symbolic

import "math/big"

// A step of a template's code. A slot pushes its number, an operator takes two
// values and pushes one, and '~' changes the sign of the last value.
type step struct {
	op   byte
	slot uint8
}

// compile appends the code of a form, or of its negative. It divides only where the
// text does.
func (f *form) compile(code []step, minus bool) []step {
	if f.kind == 's' {
		code = append(code, step{'s', uint8(f.slot)})
	} else {
		first := true
		for _, inverse := range []bool{false, true} {
			for _, p := range f.parts {
				if p.inverse != inverse {
					continue
				}
				code = p.compile(code, first && inverse) // only a part of a sum can be both
				if !first {
					code = append(code, step{op: f.operator(inverse)})
				}
				first = false
			}
		}
	}
	if minus {
		code = append(code, step{op: '~'})
	}
	return code
}

// Makes reports whether the template, filled with numbers in ascending order, has
// the value target.
func (t Template) Makes(numbers []int64, target int64) bool {
	if len(numbers) != t.slots || t.root == nil {
		return false
	}
	v, ok, fits := t.small(numbers)
	if !fits {
		return t.makesBig(numbers, target)
	}
	return ok && v.n%v.d == 0 && v.n/v.d == target
}

// A ratio is n/d, with d not 0.
type ratio struct{ n, d int64 }

// maxPart bounds the parts of a ratio, so that a step on two ratios cannot
// overflow.
const maxPart = 1 << 30

// small computes in machine words. ok is false if a divisor is zero. fits is false
// if a number grew too large, whatever ok is.
func (t Template) small(numbers []int64) (v ratio, ok, fits bool) {
	var stack [MaxSlots]ratio
	top := -1
	for _, s := range t.code {
		switch s.op {
		case 's':
			top++
			stack[top] = ratio{numbers[s.slot], 1}
		case '~':
			stack[top].n = -stack[top].n
			continue
		default:
			top--
			if stack[top], ok = combine(s.op, stack[top], stack[top+1]); !ok {
				return ratio{}, false, true
			}
		}
		if !stack[top].settle() {
			return ratio{}, false, false
		}
	}
	return stack[0], true, true
}

// settle reduces large parts to lowest terms, and reports whether they are within
// the bounds.
func (v *ratio) settle() bool {
	if within(v.n) && within(v.d) {
		return true
	}
	a, b := v.n, v.d
	for b != 0 {
		a, b = b, a%b
	}
	v.n, v.d = v.n/a, v.d/a
	return within(v.n) && within(v.d)
}

func within(n int64) bool { return n < maxPart && n > -maxPart }

// makesBig is Makes for numbers of any size.
func (t Template) makesBig(numbers []int64, target int64) bool {
	var stack []*big.Rat
	for _, s := range t.code {
		switch s.op {
		case 's':
			stack = append(stack, new(big.Rat).SetInt64(numbers[s.slot]))
			continue
		case '~':
			stack[len(stack)-1].Neg(stack[len(stack)-1])
			continue
		}
		x, y := stack[len(stack)-2], stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		switch s.op {
		case '+':
			x.Add(x, y)
		case '-':
			x.Sub(x, y)
		case '*':
			x.Mul(x, y)
		case '/':
			if y.Sign() == 0 {
				return false
			}
			x.Quo(x, y)
		}
	}
	return stack[0].Cmp(new(big.Rat).SetInt64(target)) == 0
}
