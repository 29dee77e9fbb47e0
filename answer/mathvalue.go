package answer

import (
	"math/big"
	"slices"
	"sort"
	"strconv"
	"strings"
)

// Limits on exact values. A formula that exceeds one of them has no value here, and
// is compared as text.
const (
	maxBits     = 1 << 13 // of a numerator or denominator
	maxTerms    = 512     // of a polynomial: (a+b+c)^30 has 496
	maxPower    = 1 << 13 // of a factor
	maxRootOf   = 1 << 10 // the denominator of a power
	maxNameSize = 1 << 12 // bytes of the name of a factor
	// maxSteps bounds the work of one comparison. A product of two terms takes one
	// step, and more for long coefficients and many factors.
	maxSteps = 1 << 17
)

// An algebra computes with exact values, within the limits. Its methods return nil
// for what exceeds them, and for what has no value, such as a quotient by zero.
type algebra struct {
	steps int
	bases map[string]mathPoly // by the name of the factor that is raised to a fraction
	known map[string]*quantity
}

func newAlgebra() *algebra {
	return &algebra{steps: maxSteps, bases: map[string]mathPoly{}, known: map[string]*quantity{}}
}

// spend takes n steps of the work that is left.
func (a *algebra) spend(n int) bool {
	a.steps -= n
	return a.steps > 0
}

// A quantity is an exact value: a quotient of two polynomials. Two quantities are
// equal if the products across are the same polynomial.
type quantity struct{ over, under mathPoly }

// A mathPoly is a sum of terms with different keys. Each term is a product of a
// rational and factors raised to rational powers.
//
// A factor is a positive integer, π, a variable, a function of something or a sum
// that is not taken apart. The power of an integer or a sum is between 0 and 1;
// whole powers of them are multiplied out. So the sum of terms is unique for roots
// of integers, and for polynomials. Two values that are written as different sums
// may still be equal in the other cases, but only a computer algebra system could
// tell.
type mathPoly map[string]mathTerm

type mathTerm struct {
	coef   *big.Rat
	powers map[string]power // never 0
}

// A power is a fraction in lowest terms.
type power struct{ num, den int64 }

func whole64(n int64) power { return power{n, 1} }

func newPower(num, den int64) power {
	d := gcd(num, den)
	return power{num / d, den / d}
}

func gcd(a, b int64) int64 {
	if a < 0 {
		a = -a
	}
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

func (p power) plus(q power) power { return newPower(p.num*q.den+q.num*p.den, p.den*q.den) }

func (p power) times(q power) power { return newPower(p.num*q.num, p.den*q.den) }

// floor returns the largest integer that is not larger.
func (p power) floor() int64 {
	k := p.num / p.den
	if p.num%p.den < 0 {
		k--
	}
	return k
}

func (p power) within() bool {
	return p.den <= maxRootOf && p.num <= maxPower*p.den && -p.num <= maxPower*p.den
}

// key is the same for terms that differ only in their coefficient.
func (t mathTerm) key() string {
	names := make([]string, 0, len(t.powers))
	for name := range t.powers {
		names = append(names, name)
	}
	sort.Strings(names)
	var b strings.Builder
	for _, name := range names {
		p := t.powers[name]
		b.WriteString("*" + name + "^" + strconv.FormatInt(p.num, 10))
		if p.den != 1 {
			b.WriteString("/" + strconv.FormatInt(p.den, 10))
		}
	}
	return b.String()
}

func polyOf(t mathTerm) mathPoly {
	if t.coef.Sign() == 0 {
		return mathPoly{}
	}
	return mathPoly{t.key(): t}
}

func rationalPoly(r *big.Rat) mathPoly { return polyOf(mathTerm{coef: r}) }

func onePoly() mathPoly { return rationalPoly(big.NewRat(1, 1)) }

func rationalOf(r *big.Rat) *quantity { return &quantity{rationalPoly(r), onePoly()} }

func integer(n int64) *quantity { return rationalOf(big.NewRat(n, 1)) }

// factorOf returns a factor raised to a power.
func factorOf(name string, p power) *quantity {
	if len(name) > maxNameSize {
		return nil
	}
	return &quantity{polyOf(mathTerm{big.NewRat(1, 1), map[string]power{name: p}}), onePoly()}
}

// isNumeral reports whether a factor is an integer, so that it is known to be
// positive and its whole powers belong to the coefficient.
func isNumeral(name string) bool { return isDigit(name[0]) }

// constantMark begins the names of factors that hold no variable.
const constantMark = "#"

func isConstant(name string) bool {
	return isNumeral(name) || name == `\pi` || strings.HasPrefix(name, constantMark)
}

// single returns the only term of a polynomial.
func (f mathPoly) single() (mathTerm, bool) {
	for _, t := range f {
		return t, len(f) == 1
	}
	return mathTerm{}, false
}

func (f mathPoly) keys() []string {
	keys := make([]string, 0, len(f))
	for key := range f {
		keys = append(keys, key)
	}
	sort.Strings(keys)
	return keys
}

// String returns the same text for equal sums.
func (f mathPoly) String() string {
	var b strings.Builder
	for _, key := range f.keys() {
		b.WriteString("+" + f[key].coef.RatString() + key)
	}
	return b.String()
}

func (f mathPoly) same(g mathPoly) bool {
	for key, t := range f {
		if u, ok := g[key]; !ok || t.coef.Cmp(u.coef) != 0 {
			return false
		}
	}
	return len(f) == len(g)
}

func (f mathPoly) isOne() bool {
	t, ok := f.single()
	return ok && len(t.powers) == 0 && t.coef.Cmp(big.NewRat(1, 1)) == 0
}

func (f mathPoly) constant() bool {
	for _, t := range f {
		for name := range t.powers {
			if !isConstant(name) {
				return false
			}
		}
	}
	return true
}

func (q *quantity) String() string {
	if q.under.isOne() {
		return q.over.String()
	}
	return "(" + q.over.String() + ")/(" + q.under.String() + ")"
}

func (q *quantity) constant() bool { return q.over.constant() && q.under.constant() }

func (q *quantity) zero() bool { return len(q.over) == 0 }

// rational returns the value of a quantity that is a plain rational.
func (q *quantity) rational() (*big.Rat, bool) {
	if len(q.over) == 0 {
		return new(big.Rat), true
	}
	t, ok := q.over.single()
	if !ok || len(t.powers) > 0 || !q.under.isOne() {
		return nil, false
	}
	return t.coef, true
}

// natural returns the value of a quantity that is an integer up to a bound.
func (q *quantity) natural(most int64) (int64, bool) {
	r, ok := q.rational()
	if !ok || !r.IsInt() || !r.Num().IsInt64() || r.Sign() < 0 || r.Num().Int64() > most {
		return 0, false
	}
	return r.Num().Int64(), true
}

// variables returns the factors that are not constants.
func (q *quantity) variables() map[string]bool {
	set := map[string]bool{}
	for _, f := range []mathPoly{q.over, q.under} {
		for _, t := range f {
			for name := range t.powers {
				if !isConstant(name) {
					set[name] = true
				}
			}
		}
	}
	return set
}

func small(r *big.Rat) bool { return r.Num().BitLen() <= maxBits && r.Denom().BitLen() <= maxBits }

// addPoly returns f + g.
func (a *algebra) addPoly(f, g mathPoly) mathPoly {
	if f == nil || g == nil || !a.spend(len(f)+len(g)) {
		return nil
	}
	sum := make(mathPoly, len(f)+len(g))
	for key, t := range f {
		sum[key] = t
	}
	for key, t := range g {
		if have, ok := sum[key]; ok {
			if !a.spend((t.coef.Num().BitLen() + have.coef.Num().BitLen()) / 64) {
				return nil
			}
			t.coef = new(big.Rat).Add(have.coef, t.coef)
		}
		if !small(t.coef) {
			return nil
		}
		if sum[key] = t; t.coef.Sign() == 0 {
			delete(sum, key)
		}
	}
	if len(sum) > maxTerms {
		return nil
	}
	return sum
}

// mulPoly returns f × g.
func (a *algebra) mulPoly(f, g mathPoly) mathPoly {
	if f == nil || g == nil {
		return nil
	}
	product := mathPoly{}
	for _, key := range f.keys() {
		part := make(mathPoly, len(g))
		for _, u := range g {
			p := a.mulTerm(f[key], u)
			if t, ok := p.single(); ok && part[t.key()].coef == nil {
				part[t.key()] = t // the usual case
			} else if part = a.addPoly(part, p); part == nil {
				return nil
			}
		}
		if product = a.addPoly(product, part); product == nil {
			return nil
		}
	}
	return product
}

// mulTerm returns t × u. Whole powers of integers go to the coefficient, and whole
// powers of sums are multiplied out.
func (a *algebra) mulTerm(t, u mathTerm) mathPoly {
	if !a.spend(1 + (t.coef.Num().BitLen()+t.coef.Denom().BitLen()+u.coef.Num().BitLen()+u.coef.Denom().BitLen())/64) {
		return nil
	}
	product := mathTerm{new(big.Rat).Mul(t.coef, u.coef), make(map[string]power, len(t.powers)+len(u.powers))}
	for name, p := range t.powers {
		product.powers[name] = p
	}
	var sums []string
	for name, p := range u.powers {
		if have, ok := product.powers[name]; ok {
			p = p.plus(have)
		}
		if k := p.floor(); k > 0 && isNumeral(name) {
			n, _ := new(big.Int).SetString(name, 10)
			product.coef.Mul(product.coef, new(big.Rat).SetInt(n.Exp(n, big.NewInt(k), nil)))
			p = p.plus(whole64(-k))
		} else if k > 0 && a.bases[name] != nil {
			sums = append(sums, name)
			p = p.plus(whole64(-1))
		}
		if !p.within() {
			return nil
		}
		if product.powers[name] = p; p.num == 0 {
			delete(product.powers, name)
		}
	}
	if !small(product.coef) || len(product.powers) > maxTerms {
		return nil
	}
	size := 0
	for name := range product.powers {
		size += len(name)
	}
	if !a.spend(size / 16) { // the key is as long
		return nil
	}
	result := polyOf(product)
	slices.Sort(sums)
	for _, name := range sums {
		result = a.mulPoly(result, a.bases[name])
	}
	return result
}

// quotient returns over/under in its simplest form here: under is 1 where it has one
// term, and its first coefficient is 1 elsewhere.
func (a *algebra) quotient(over, under mathPoly) *quantity {
	if over == nil || len(under) == 0 {
		return nil
	}
	if len(over) == 0 {
		return &quantity{over, onePoly()}
	}
	if under.isOne() || over.same(under) {
		if !under.isOne() {
			over = onePoly()
		}
		return &quantity{over, onePoly()}
	}
	scale := mathTerm{coef: new(big.Rat).Inv(under[under.keys()[0]].coef)}
	if t, ok := under.single(); ok {
		scale = a.inverseTerm(t)
	}
	over, under = a.mulPoly(over, polyOf(scale)), a.mulPoly(under, polyOf(scale))
	if over == nil || under == nil {
		return nil
	}
	return &quantity{over, under}
}

// inverseTerm returns 1/t, except that the root of a sum stays where it is.
func (a *algebra) inverseTerm(t mathTerm) mathTerm {
	inv := mathTerm{new(big.Rat).Inv(t.coef), make(map[string]power, len(t.powers))}
	for name, p := range t.powers {
		switch {
		case isNumeral(name): // 1/√2 is √2/2
			n, _ := new(big.Int).SetString(name, 10)
			inv.coef.Quo(inv.coef, new(big.Rat).SetInt(n))
			inv.powers[name] = power{p.den - p.num, p.den}
		case a.bases[name] == nil:
			inv.powers[name] = power{-p.num, p.den}
		}
	}
	return inv
}

func (a *algebra) add(x, y *quantity) *quantity {
	switch {
	case x == nil || y == nil:
		return nil
	case x.under.same(y.under):
		return a.quotient(a.addPoly(x.over, y.over), x.under)
	}
	return a.quotient(a.addPoly(a.mulPoly(x.over, y.under), a.mulPoly(y.over, x.under)), a.mulPoly(x.under, y.under))
}

func (a *algebra) mul(x, y *quantity) *quantity {
	if x == nil || y == nil {
		return nil
	}
	return a.quotient(a.mulPoly(x.over, y.over), a.mulPoly(x.under, y.under))
}

func (a *algebra) inverse(x *quantity) *quantity {
	if x == nil {
		return nil
	}
	return a.quotient(x.under, x.over)
}

func (a *algebra) div(x, y *quantity) *quantity { return a.mul(x, a.inverse(y)) }

func (a *algebra) neg(x *quantity) *quantity { return a.mul(x, integer(-1)) }

func (a *algebra) sub(x, y *quantity) *quantity { return a.add(x, a.neg(y)) }

// equal reports whether two quantities are the same: whether the products across
// are.
func (a *algebra) equal(x, y *quantity) bool {
	if x == nil || y == nil {
		return false
	}
	f, g := a.mulPoly(x.over, y.under), a.mulPoly(y.over, x.under)
	return f != nil && g != nil && f.same(g)
}

// ratio returns the rational k for which x is k times y.
func (a *algebra) ratio(x, y *quantity) (*big.Rat, bool) {
	if x == nil || y == nil || x.zero() || y.zero() {
		return nil, false
	}
	f, g := a.mulPoly(x.over, y.under), a.mulPoly(y.over, x.under)
	if len(f) == 0 || len(g) == 0 {
		return nil, false
	}
	first := f.keys()[0]
	u, ok := g[first]
	if !ok {
		return nil, false
	}
	k := new(big.Rat).Quo(f[first].coef, u.coef)
	g = a.mulPoly(g, rationalPoly(k))
	return k, g != nil && f.same(g)
}
