package arith

import "math/big"

// A Fraction is an exact rational. It is n/d with d > 0, not always in lowest terms,
// while both parts are small; else it is big. The zero Fraction is not valid.
type Fraction struct {
	n, d int64
	big  *big.Rat
}

// maxPart bounds the parts of a small fraction, so that no operation on two of them
// can overflow.
const maxPart = 1 << 30

func within(n int64) bool { return n < maxPart && n > -maxPart }

// Int returns a whole number.
func Int(n int64) Fraction { return newFraction(n, 1) }

// Digits returns the number that decimal digits stand for.
func Digits(digits string) Fraction {
	if len(digits) <= 9 {
		n := int64(0)
		for i := 0; i < len(digits); i++ {
			n = 10*n + int64(digits[i]-'0')
		}
		return Fraction{n: n, d: 1}
	}
	n, _ := new(big.Int).SetString(digits, 10)
	return Fraction{big: new(big.Rat).SetInt(n)}
}

// newFraction makes n/d; d must be positive.
func newFraction(n, d int64) Fraction {
	if within(n) && within(d) {
		return Fraction{n: n, d: d}
	}
	a, b := n, d
	for b != 0 {
		a, b = b, a%b
	}
	if a < 0 {
		a = -a
	}
	if within(n/a) && within(d/a) {
		return Fraction{n: n / a, d: d / a}
	}
	return Fraction{big: big.NewRat(n, d)}
}

func (v Fraction) rat() *big.Rat {
	if v.big != nil {
		return v.big
	}
	return big.NewRat(v.n, v.d)
}

// Apply computes v op w for one of + - * /. ok is false for a division by zero.
func Apply(op byte, v, w Fraction) (_ Fraction, ok bool) {
	if op == '/' && w.IsZero() {
		return Fraction{}, false
	}
	if v.big != nil || w.big != nil {
		return Fraction{big: applyBig(op, v.rat(), w.rat())}, true
	}
	switch op {
	case '+':
		return newFraction(v.n*w.d+w.n*v.d, v.d*w.d), true
	case '-':
		return newFraction(v.n*w.d-w.n*v.d, v.d*w.d), true
	case '*':
		return newFraction(v.n*w.n, v.d*w.d), true
	}
	if w.n < 0 {
		return newFraction(-v.n*w.d, -v.d*w.n), true
	}
	return newFraction(v.n*w.d, v.d*w.n), true
}

func applyBig(op byte, v, w *big.Rat) *big.Rat {
	r := new(big.Rat)
	switch op {
	case '+':
		return r.Add(v, w)
	case '-':
		return r.Sub(v, w)
	case '*':
		return r.Mul(v, w)
	}
	return r.Quo(v, w)
}

// Neg returns -v.
func (v Fraction) Neg() Fraction {
	if v.big == nil {
		return Fraction{n: -v.n, d: v.d}
	}
	return Fraction{big: new(big.Rat).Neg(v.big)}
}

// IsZero reports whether v is 0.
func (v Fraction) IsZero() bool { return v.big == nil && v.n == 0 || v.big != nil && v.big.Sign() == 0 }

// Equal reports whether v and w are the same number.
func (v Fraction) Equal(w Fraction) bool {
	if v.big == nil && w.big == nil {
		return v.n*w.d == w.n*v.d
	}
	return v.rat().Cmp(w.rat()) == 0
}

// String returns "27" or "8/3".
func (v Fraction) String() string { return v.rat().RatString() }
