package answer

import "math/big"

// raise returns x to the power e.
func (a *algebra) raise(x, e *quantity) *quantity {
	if x == nil || e == nil {
		return nil
	}
	r, ok := e.rational()
	if !ok {
		return a.symbolic(x, e)
	}
	if !r.Num().IsInt64() || !r.Denom().IsInt64() {
		return nil
	}
	p := power{r.Num().Int64(), r.Denom().Int64()}
	if p.den > maxRootOf || p.num > maxPower*p.den || -p.num > maxPower*p.den || x.zero() && p.num <= 0 {
		return nil
	}
	k := p.floor()
	return a.mul(a.integerPower(x, k), a.root(x, p.plus(whole64(-k))))
}

func (a *algebra) integerPower(x *quantity, n int64) *quantity {
	if n < 0 {
		x, n = a.inverse(x), -n
	}
	if x == nil || n > maxPower {
		return nil
	}
	result := integer(1)
	for n > 0 && result != nil {
		if n&1 == 1 {
			result = a.mul(result, x)
		}
		if n >>= 1; n > 0 {
			if x = a.mul(x, x); x == nil {
				return nil
			}
		}
	}
	return result
}

// root returns x to a power from 0 to 1. A number has a root if it is not negative.
// The root of a product is taken apart only where that holds for all real numbers:
// √(x²) is not x, and √(xy) is not √x√y.
func (a *algebra) root(x *quantity, p power) *quantity {
	switch {
	case p.num == 0:
		return integer(1)
	case x.zero():
		return x
	case !x.under.isOne():
		return a.opaque(x, p)
	}
	content := x.over.content()
	rest := a.mulPoly(x.over, rationalPoly(new(big.Rat).Inv(content)))
	outside := a.rationalRoot(content, p)
	if rest == nil || outside == nil {
		return nil
	}
	if t, ok := rest.single(); ok {
		return a.mul(outside, a.termRoot(t, p))
	}
	if inner := a.denest(rest, p); inner != nil {
		return a.mul(outside, inner)
	}
	return a.mul(outside, a.opaque(&quantity{rest, onePoly()}, p))
}

// content returns the largest positive rational that divides every coefficient.
func (f mathPoly) content() *big.Rat {
	num, den := new(big.Int), big.NewInt(1)
	for _, t := range f {
		num.GCD(nil, nil, num, new(big.Int).Abs(t.coef.Num()))
		d := t.coef.Denom()
		den.Mul(den, new(big.Int).Quo(d, new(big.Int).GCD(nil, nil, den, d)))
	}
	return new(big.Rat).SetFrac(num, den)
}

// termRoot returns the root of a term whose coefficient is 1 or -1.
func (a *algebra) termRoot(t mathTerm, p power) *quantity {
	result, rest := integer(1), mathTerm{t.coef, map[string]power{}}
	for name, have := range t.powers {
		if isNumeral(name) || name == `\pi` {
			result = a.mul(result, a.factorPower(name, have.times(p)))
		} else {
			rest.powers[name] = have
		}
	}
	if len(rest.powers) == 0 && t.coef.Sign() > 0 {
		return result
	}
	if len(rest.powers) == 0 {
		return nil // of a negative number
	}
	if len(rest.powers) == 1 && t.coef.Sign() > 0 {
		for name, have := range rest.powers {
			if have.num%2 != 0 || p.den%2 != 0 {
				return a.mul(result, a.factorPower(name, have.times(p)))
			}
		}
	}
	return a.mul(result, a.opaque(&quantity{polyOf(rest), onePoly()}, p))
}

// factorPower returns a factor to a power.
func (a *algebra) factorPower(name string, p power) *quantity {
	if !p.within() {
		return nil
	}
	if p.num == 0 {
		return integer(1)
	}
	return a.mul(integer(1), factorOf(name, p))
}

// opaque makes a factor of something whose root cannot be taken apart.
func (a *algebra) opaque(x *quantity, p power) *quantity {
	name := "(" + x.String() + ")"
	if x.constant() {
		name = constantMark + name
	}
	if x.under.isOne() {
		a.bases[name] = x.over
	}
	return factorOf(name, p)
}

// rationalRoot returns the root of a positive rational: a product of powers of
// primes, as far as they are found.
func (a *algebra) rationalRoot(r *big.Rat, p power) *quantity {
	result := integer(1)
	for i, n := range []*big.Int{r.Num(), r.Denom()} {
		part := integer(1)
		for _, f := range a.factorise(n) {
			e := p.times(whole64(f.count))
			k := e.floor()
			whole := new(big.Int).Exp(f.base, big.NewInt(k), nil)
			part = a.mul(part, rationalOf(new(big.Rat).SetInt(whole)))
			if e = e.plus(whole64(-k)); e.num > 0 {
				part = a.mul(part, factorOf(f.base.String(), e))
			}
		}
		if i == 1 {
			part = a.inverse(part)
		}
		result = a.mul(result, part)
	}
	return result
}

// A primePower is a factor of a number. The base is a prime, or what is left of a
// large number.
type primePower struct {
	base  *big.Int
	count int64
}

// Limits on taking numbers apart, by trial division.
const (
	maxTrial    = 10000
	maxTrialBig = 1000 // for a number of more than 64 bits
)

// factorise takes a positive number apart. What is left of a large one is a square
// root, if it has one, or stays whole.
func (a *algebra) factorise(n *big.Int) (list []primePower) {
	rest, limit := new(big.Int).Set(n), int64(maxTrial)
	if rest.BitLen() > 64 {
		limit = maxTrialBig
	}
	if !a.spend(100 + int(limit)/100*(1+rest.BitLen()/64)) {
		return []primePower{{rest, 1}}
	}
	divisor, remainder, quotient := new(big.Int), new(big.Int), new(big.Int)
	for d := int64(2); d <= limit && rest.BitLen() > 1; d++ {
		if rest.IsInt64() {
			if m := rest.Int64(); d*d > m {
				break
			} else if m%d != 0 {
				continue
			}
		}
		count := int64(0)
		for divisor.SetInt64(d); ; count++ {
			if quotient.QuoRem(rest, divisor, remainder); remainder.Sign() != 0 {
				break
			}
			rest.Set(quotient)
		}
		if count > 0 {
			list = append(list, primePower{big.NewInt(d), count})
		}
	}
	if rest.BitLen() <= 1 {
		return list
	}
	count := int64(1)
	for {
		root := new(big.Int).Sqrt(rest)
		if new(big.Int).Mul(root, root).Cmp(rest) != 0 {
			break
		}
		rest, count = root, 2*count
	}
	return append(list, primePower{rest, count})
}

// denest returns √(a+b), where a is rational and b is the root of a rational, as a
// sum of two roots, if it is one: with d² = a²-b², it is √((a+d)/2) ± √((a-d)/2).
func (a *algebra) denest(f mathPoly, p power) *quantity {
	if p != (power{1, 2}) || len(f) != 2 || !f.constant() {
		return nil
	}
	plain, ok := f[""]
	if !ok || plain.coef.Sign() <= 0 {
		return nil
	}
	var other mathTerm
	for key, t := range f {
		if key != "" {
			other = t
		}
	}
	square := a.mulTerm(other, other)
	t, ok := square.single()
	if !ok || len(t.powers) > 0 {
		return nil
	}
	d := new(big.Rat).Mul(plain.coef, plain.coef)
	if d.Sub(d, t.coef); d.Sign() < 0 {
		return nil
	}
	root := a.rationalRoot(d, p)
	if d.Sign() == 0 {
		root = integer(0)
	}
	if root == nil {
		return nil
	}
	if d, ok = root.rational(); !ok {
		return nil
	}
	half := big.NewRat(1, 2)
	x := new(big.Rat).Add(plain.coef, d)
	y := new(big.Rat).Sub(plain.coef, d)
	first, second := a.root(rationalOf(x.Mul(x, half)), p), a.root(rationalOf(y.Mul(y, half)), p)
	if other.coef.Sign() < 0 {
		second = a.neg(second)
	}
	return a.add(first, second)
}

// symbolic returns x to a power that is not a number: a product with one factor for
// each term of the exponent, so that 2^{n+1} is 2·2^n.
func (a *algebra) symbolic(x, e *quantity) *quantity {
	if x.zero() || !e.under.isOne() {
		return nil
	}
	if r, ok := x.rational(); ok && r.Sign() > 0 {
		return a.rationalSymbolic(r, e)
	}
	result := integer(1)
	for _, key := range e.over.keys() {
		t := e.over[key]
		if len(t.powers) == 0 {
			result = a.mul(result, a.raise(x, rationalOf(t.coef)))
			continue
		}
		result = a.mul(result, a.symbolicFactor(x.String(), key, t.coef, x.constant() && polyOf(t).constant()))
	}
	return result
}

// rationalSymbolic returns a positive number to a power that is not a number, by
// its prime factors.
func (a *algebra) rationalSymbolic(r *big.Rat, e *quantity) *quantity {
	result := integer(1)
	for i, n := range []*big.Int{r.Num(), r.Denom()} {
		for _, f := range a.factorise(n) {
			count := big.NewRat(f.count*(1-2*int64(i)), 1)
			for _, key := range e.over.keys() {
				t := e.over[key]
				coef := new(big.Rat).Mul(t.coef, count)
				if len(t.powers) == 0 {
					result = a.mul(result, a.raise(rationalOf(new(big.Rat).SetInt(f.base)), rationalOf(coef)))
				} else {
					result = a.mul(result, a.symbolicFactor(f.base.String(), key, coef, polyOf(t).constant()))
				}
			}
		}
	}
	return result
}

// symbolicFactor returns base^(coef·key). The numerator of the coefficient is the
// power of the factor, and its denominator belongs to the name.
func (a *algebra) symbolicFactor(base, key string, coef *big.Rat, constant bool) *quantity {
	if !coef.Num().IsInt64() {
		return nil
	}
	name := "[" + base + "]^{" + key + "/" + coef.Denom().String() + "}"
	if constant {
		name = constantMark + name
	}
	return a.factorPower(name, whole64(coef.Num().Int64()))
}

// maxFactorial is the largest number whose factorial is computed.
const maxFactorial = 900

// factorial returns x!.
func (a *algebra) factorial(x *quantity) *quantity {
	if x == nil {
		return nil
	}
	if n, ok := x.natural(maxFactorial); ok {
		if !a.spend(int(n)) {
			return nil
		}
		return rationalOf(new(big.Rat).SetInt(new(big.Int).MulRange(1, max(1, n))))
	}
	return a.function("!", x)
}

// Limits on binomials.
const (
	maxBinomial = 1 << 20
	maxChoose   = 8 // of a polynomial
)

// binomial returns the number of ways to choose k of n.
func (a *algebra) binomial(n, k *quantity) *quantity {
	if n == nil || k == nil {
		return nil
	}
	choose, small := k.natural(maxBinomial)
	of, number := n.natural(maxBinomial)
	switch {
	case small && number && choose > of:
		return integer(0)
	case small && number:
		choose = min(choose, of-choose)
		if choose*20 > maxBits || !a.spend(int(choose)*8) { // n^k has at most 20k bits
			return nil
		}
		return rationalOf(new(big.Rat).SetInt(new(big.Int).Binomial(of, choose)))
	case small && choose <= maxChoose && !n.constant():
		product := integer(1)
		for i := range choose {
			product = a.div(a.mul(product, a.sub(n, integer(i))), integer(i+1))
		}
		return product
	case n.constant() && k.constant():
		return nil
	}
	return a.named("binom("+n.String()+","+k.String()+")", false)
}

// function returns a function of x as a factor.
func (a *algebra) function(name string, x *quantity) *quantity {
	if x == nil {
		return nil
	}
	return a.named(name+"("+x.String()+")", x.constant())
}

func (a *algebra) named(name string, constant bool) *quantity {
	if constant {
		name = constantMark + name
	}
	return factorOf(name, whole64(1))
}

// logarithm returns a logarithm of x. That of a number is the sum of those of its
// factors.
func (a *algebra) logarithm(name string, x *quantity) *quantity {
	if x == nil {
		return nil
	}
	r, ok := x.rational()
	if !ok {
		if t, single := x.over.single(); single && name == `\ln` && x.under.isOne() && len(t.powers) == 1 && t.coef.Cmp(big.NewRat(1, 1)) == 0 && t.powers["e"].den > 0 {
			return rationalOf(big.NewRat(t.powers["e"].num, t.powers["e"].den))
		}
		return a.function(name, x)
	}
	if r.Sign() <= 0 {
		return nil
	}
	sum := integer(0)
	for i, n := range []*big.Int{r.Num(), r.Denom()} {
		for _, f := range a.factorise(n) {
			t := a.named(name+"("+f.base.String()+")", true)
			sum = a.add(sum, a.mul(t, integer(f.count*(1-2*int64(i)))))
		}
	}
	return sum
}

// logarithmTo returns the logarithm of x to a base.
func (a *algebra) logarithmTo(base, x *quantity) *quantity {
	if base == nil || x == nil {
		return nil
	}
	if r, ok := base.rational(); ok && (r.Sign() <= 0 || r.Cmp(big.NewRat(1, 1)) == 0) {
		return nil
	}
	return a.div(a.logarithm(`\ln`, x), a.logarithm(`\ln`, base))
}

// oddRoot returns \sqrt[n]{x}, which for an odd n exists for negative numbers too.
func (a *algebra) oddRoot(x *quantity, n int64) *quantity {
	if x == nil || n < 1 || n > maxRootOf {
		return nil
	}
	if r, ok := x.rational(); ok && r.Sign() < 0 {
		if n%2 == 0 {
			return nil
		}
		return a.neg(a.oddRoot(a.neg(x), n))
	}
	return a.root1(x, power{1, n})
}

// root1 is root, where the power may be 1.
func (a *algebra) root1(x *quantity, p power) *quantity {
	if p.den == 1 {
		return x
	}
	return a.root(x, p)
}

// absolute returns |x|.
func (a *algebra) absolute(x *quantity) *quantity {
	if x == nil {
		return nil
	}
	if r, ok := x.rational(); ok {
		return rationalOf(new(big.Rat).Abs(r))
	}
	return a.function("||", x)
}
