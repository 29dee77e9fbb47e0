package answer

import (
	"math/big"
	"sort"
	"strconv"
	"strings"
)

// Limits on exact values. A formula that exceeds them is compared as text.
const (
	maxBits    = 1 << 13 // of a numerator or denominator
	maxRadical = 1e8     // largest number under a root that is taken apart by trial division
	maxTerms   = 64
	maxPower   = 1 << 10
)

// A mathForm is an exact value: a sum of terms. Each term is a product of a
// rational, a root of an integer, and atoms. Atoms are π, variables and what is not
// taken apart. Two formulas with the same form are equal. Two with different forms
// may still be equal, but only a computer algebra system could tell.
type mathForm map[string]mathTerm

type mathTerm struct {
	coef  *big.Rat
	root  int64          // √root, without square factors; 1 if there is no root
	atoms map[string]int // and their powers, never 0
}

// key is the same for terms that differ only in their coefficient.
func (t mathTerm) key() string {
	var b strings.Builder
	b.WriteString(strconv.FormatInt(t.root, 10))
	names := make([]string, 0, len(t.atoms))
	for name := range t.atoms {
		names = append(names, name)
	}
	sort.Strings(names)
	for _, name := range names {
		b.WriteString("*" + name + "^" + strconv.Itoa(t.atoms[name]))
	}
	return b.String()
}

func termOf(r *big.Rat) mathTerm { return mathTerm{coef: r, root: 1} }

func atomTerm(name string, power int) mathTerm {
	return mathTerm{coef: big.NewRat(1, 1), root: 1, atoms: map[string]int{name: power}}
}

func formOf(t mathTerm) mathForm {
	if t.coef.Sign() == 0 {
		return mathForm{}
	}
	return mathForm{t.key(): t}
}

// single returns the only term of a form.
func (f mathForm) single() (mathTerm, bool) {
	if len(f) == 0 {
		return termOf(new(big.Rat)), true
	}
	for _, t := range f {
		return t, len(f) == 1
	}
	return mathTerm{}, false
}

// rational returns the value of a form that is a plain rational.
func (f mathForm) rational() (*big.Rat, bool) {
	t, ok := f.single()
	return t.coef, ok && t.root == 1 && len(t.atoms) == 0
}

// constant reports whether a form has only numbers and π.
func (f mathForm) constant() bool {
	for _, t := range f {
		for name := range t.atoms {
			if name != `\pi` {
				return false
			}
		}
	}
	return true
}

// String returns the same text for equal forms.
func (f mathForm) String() string {
	terms := make([]string, 0, len(f))
	for key, t := range f {
		terms = append(terms, t.coef.RatString()+"*"+key)
	}
	sort.Strings(terms)
	return strings.Join(terms, "+")
}

func small(r *big.Rat) bool { return r.Num().BitLen() <= maxBits && r.Denom().BitLen() <= maxBits }

// add returns f + g, or nil beyond the limits.
func (f mathForm) add(g mathForm) mathForm {
	sum := mathForm{}
	for _, form := range []mathForm{f, g} {
		for key, t := range form {
			if have, ok := sum[key]; ok {
				t.coef = new(big.Rat).Add(have.coef, t.coef)
			}
			if sum[key] = t; !small(t.coef) {
				return nil
			}
			if t.coef.Sign() == 0 {
				delete(sum, key)
			}
		}
	}
	if len(sum) > maxTerms {
		return nil
	}
	return sum
}

// opaque makes an atom of a sum that is multiplied, because products of sums are
// not expanded.
func (f mathForm) opaque() mathTerm {
	if t, ok := f.single(); ok {
		return t
	}
	return atomTerm("("+f.String()+")", 1)
}

// mul returns f × g. It expands sums of constants, but no other sums.
func (f mathForm) mul(g mathForm) mathForm {
	if !f.constant() || !g.constant() || len(f)*len(g) > maxTerms {
		f, g = formOf(f.opaque()), formOf(g.opaque())
	}
	product := mathForm{}
	for _, a := range f {
		for _, b := range g {
			t, ok := a.mul(b)
			if !ok {
				return nil
			}
			if product = product.add(formOf(t)); product == nil {
				return nil
			}
		}
	}
	return product
}

func (t mathTerm) mul(u mathTerm) (mathTerm, bool) {
	coef := new(big.Rat).Mul(t.coef, u.coef)
	shared := gcd(t.root, u.root)
	coef.Mul(coef, new(big.Rat).SetInt64(shared))
	root := (t.root / shared) * (u.root / shared)
	atoms := map[string]int{}
	for _, from := range []map[string]int{t.atoms, u.atoms} {
		for name, power := range from {
			if atoms[name] += power; atoms[name] == 0 {
				delete(atoms, name)
			}
			if p := atoms[name]; p > maxPower || p < -maxPower {
				return t, false
			}
		}
	}
	ok := small(coef) && t.root <= 1e9 && u.root <= 1e9 && len(atoms) <= maxTerms
	return mathTerm{coef, root, atoms}, ok
}

func gcd(a, b int64) int64 {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

// inverse returns 1/f, or nil for 0.
func (f mathForm) inverse() mathForm {
	t := f.opaque()
	if t.coef.Sign() == 0 {
		return nil
	}
	inv := mathTerm{coef: new(big.Rat).Inv(t.coef), root: t.root, atoms: map[string]int{}}
	inv.coef.Mul(inv.coef, big.NewRat(1, t.root)) // 1/√2 is √2/2
	for name, power := range t.atoms {
		inv.atoms[name] = -power
	}
	return formOf(inv)
}

func (f mathForm) negative() mathForm {
	return f.mul(formOf(termOf(big.NewRat(-1, 1))))
}

// power returns f to an integer power, or nil beyond the limits.
func (f mathForm) power(n int64) mathForm {
	if n < 0 {
		if f = f.inverse(); f == nil {
			return nil
		}
		n = -n
	}
	if n > maxPower {
		return nil
	}
	base, result := formOf(f.opaque()), formOf(termOf(big.NewRat(1, 1)))
	for range n {
		if result = result.mul(base); result == nil {
			return nil
		}
	}
	return result
}

// sqrt returns the square root of f. The root of a rational is exact, any other is
// an atom.
func (f mathForm) sqrt() mathForm {
	r, ok := f.rational()
	if !ok {
		return formOf(atomTerm(`\sqrt{`+f.String()+"}", 1))
	}
	if r.Sign() < 0 || !small(r) {
		return nil
	}
	under := new(big.Int).Mul(r.Num(), r.Denom()) // √(a/b) is √(ab)/b
	out, in, ok := squares(under)
	if !ok {
		return formOf(atomTerm(`\sqrt{`+f.String()+"}", 1))
	}
	coef := new(big.Rat).SetFrac(out, r.Denom())
	return formOf(mathTerm{coef: coef, root: in})
}

// squares takes the square factors out of n: √n is out√in.
func squares(n *big.Int) (out *big.Int, in int64, ok bool) {
	if root := new(big.Int).Sqrt(n); new(big.Int).Mul(root, root).Cmp(n) == 0 {
		return root, 1, true
	}
	if !n.IsInt64() || n.Int64() > maxRadical {
		return nil, 0, false
	}
	rest, outside := n.Int64(), int64(1)
	for d := int64(2); d*d <= rest; d++ {
		for rest%(d*d) == 0 {
			rest /= d * d
			outside *= d
		}
	}
	return big.NewInt(outside), rest, true
}
