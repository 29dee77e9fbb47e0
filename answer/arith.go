package answer

import (
	"math/big"
	"strings"
)

// An expression, as the games accept it, has numbers, + - * /, parentheses and
// unary minus. It has no powers, no floor division and no implied products.
//
//	sum     = product { ("+" | "-") product }
//	product = factor { ("*" | "/") factor }
//	factor  = { "-" } ( digits | "(" sum ")" )

// An exprParser reads an expression in two passes. The first checks its form and
// collects its numbers. The second computes its value, once the numbers are known
// to be within the limits.
type exprParser struct {
	s     string
	at    int
	depth int
	eval  bool
	zero  bool   // something was divided by zero
	fault Reason // "" so far

	literals []string // without leading zeros
	total    int      // digits of them
}

// legalExpression returns the place of the first byte that cannot occur in an
// expression, or -1.
func legalExpression(s string) int {
	for i := 0; i < len(s); i++ {
		if c := s[i]; c-'0' >= 10 && !isWhite(c) && (c < '(' || c > '/' || c == ',' || c == '.') {
			return i
		}
	}
	return -1
}

// form checks the form of the expression and collects its numbers. The fault is "",
// format_error or too_large, at p.at.
func (p *exprParser) form() Reason {
	if len(p.s) > maxExpression {
		return TooLarge
	}
	p.read()
	return p.fault
}

// value returns the value of an expression whose form is right. ok is false if it
// divides by zero.
func (p *exprParser) value() (v fraction, ok bool) {
	p.at, p.depth, p.eval = 0, 0, true
	v = p.read()
	return v, !p.zero
}

func (p *exprParser) read() fraction {
	v := p.sum()
	p.space()
	if p.at < len(p.s) {
		p.fail(FormatError)
	}
	return v
}

func (p *exprParser) fail(r Reason) {
	if p.fault == "" {
		p.fault = r
	}
}

func (p *exprParser) space() {
	for p.at < len(p.s) && isWhite(p.s[p.at]) {
		p.at++
	}
}

// peek returns the next byte that is not a space, or 0.
func (p *exprParser) peek() byte {
	p.space()
	if p.at == len(p.s) || p.fault != "" {
		return 0
	}
	return p.s[p.at]
}

func (p *exprParser) sum() fraction {
	v := p.product()
	for {
		switch p.peek() {
		case '+':
			p.at++
			if w := p.product(); p.eval {
				v = v.add(w)
			}
		case '-':
			p.at++
			if w := p.product(); p.eval {
				v = v.add(w.neg())
			}
		default:
			return v
		}
	}
}

func (p *exprParser) product() fraction {
	v := p.factor()
	for {
		switch p.peek() {
		case '*':
			p.at++
			if w := p.factor(); p.eval {
				v = v.mul(w)
			}
		case '/':
			p.at++
			if w := p.factor(); p.eval {
				v = p.quotient(v, w)
			}
		default:
			return v
		}
	}
}

func (p *exprParser) quotient(v, w fraction) fraction {
	if w.isZero() {
		p.zero = true
		return v
	}
	return v.mul(w.inverse())
}

func (p *exprParser) factor() fraction {
	minus := false
	for p.peek() == '-' {
		p.at++
		minus = !minus
	}
	v := p.atom()
	if minus && p.eval {
		v = v.neg()
	}
	return v
}

func (p *exprParser) atom() fraction {
	switch c := p.peek(); {
	case c == '(':
		if p.depth++; p.depth > maxExprDepth {
			p.fail(TooLarge)
			return fraction{}
		}
		p.at++
		v := p.sum()
		if p.peek() != ')' {
			p.fail(FormatError)
			return v
		}
		p.at++
		p.depth--
		return v
	case c != 0 && c-'0' < 10:
		return p.digits()
	}
	p.fail(FormatError)
	return fraction{}
}

func (p *exprParser) digits() fraction {
	from := p.at
	for p.at < len(p.s) && p.s[p.at]-'0' < 10 {
		p.at++
	}
	literal := unpadded(p.s[from:p.at])
	if p.eval {
		return fractionOf(literal)
	}
	p.total += len(literal)
	if len(literal) > maxExprDigits || len(p.literals) == maxLiterals || p.total > maxAllDigits {
		p.fail(TooLarge)
		return fraction{}
	}
	p.literals = append(p.literals, literal)
	return fraction{}
}

// unpadded returns digits without leading zeros.
func unpadded(digits string) string {
	if len(digits) > 1 && digits[0] == '0' {
		if digits = strings.TrimLeft(digits, "0"); digits == "" {
			return "0"
		}
	}
	return digits
}

// A fraction is an exact rational. It is n/d in lowest terms, with d > 0 and both
// within maxSmall; if it does not fit, it is big.
type fraction struct {
	n, d int64
	big  *big.Rat
}

const maxSmall = 1<<31 - 1

func fractionOf(digits string) fraction {
	if len(digits) <= 9 {
		n := int64(0)
		for i := 0; i < len(digits); i++ {
			n = 10*n + int64(digits[i]-'0')
		}
		return fraction{n: n, d: 1}
	}
	n, _ := new(big.Int).SetString(digits, 10)
	return fraction{big: new(big.Rat).SetInt(n)}
}

// newFraction makes n/d. Both parts must be within twice maxSmall².
func newFraction(n, d int64) fraction {
	if a, b := abs(n), d; d != 1 {
		for b != 0 {
			a, b = b, a%b
		}
		n, d = n/a, d/a
	}
	if abs(n) > maxSmall || d > maxSmall {
		return fraction{big: big.NewRat(n, d)}
	}
	return fraction{n: n, d: d}
}

func abs(n int64) int64 {
	if n < 0 {
		return -n
	}
	return n
}

func (v fraction) rat() *big.Rat {
	if v.big != nil {
		return v.big
	}
	return big.NewRat(v.n, v.d)
}

func (v fraction) add(w fraction) fraction {
	if v.big == nil && w.big == nil {
		return newFraction(v.n*w.d+w.n*v.d, v.d*w.d)
	}
	return fraction{big: new(big.Rat).Add(v.rat(), w.rat())}
}

func (v fraction) mul(w fraction) fraction {
	if v.big == nil && w.big == nil {
		return newFraction(v.n*w.n, v.d*w.d)
	}
	return fraction{big: new(big.Rat).Mul(v.rat(), w.rat())}
}

func (v fraction) neg() fraction {
	if v.big == nil {
		return fraction{n: -v.n, d: v.d}
	}
	return fraction{big: new(big.Rat).Neg(v.big)}
}

// inverse returns 1/v; v must not be zero.
func (v fraction) inverse() fraction {
	switch {
	case v.big != nil:
		return fraction{big: new(big.Rat).Inv(v.big)}
	case v.n < 0:
		return fraction{n: -v.d, d: -v.n}
	}
	return fraction{n: v.d, d: v.n}
}

func (v fraction) isZero() bool { return v.big == nil && v.n == 0 || v.big != nil && v.big.Sign() == 0 }

func (v fraction) equal(w fraction) bool {
	if v.big == nil && w.big == nil {
		return v.n == w.n && v.d == w.d
	}
	return v.rat().Cmp(w.rat()) == 0
}

// String returns "27" or "8/3", shortened if it is very long.
func (v fraction) String() string {
	s := v.rat().RatString()
	if len(s) > maxExprDigits {
		s = s[:maxExprDigits] + "…"
	}
	return s
}
