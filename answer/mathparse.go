package answer

import (
	"math/big"
	"strings"
)

// value reads a formula written by canonMath as an exact value. It refuses ambiguous
// formulas, such as 1/2π.
func (a *algebra) value(s string) *quantity {
	if s == "" || len(s) > maxMath {
		return nil
	}
	if q, ok := a.known[s]; ok {
		return q
	}
	var q *quantity
	if a.spend(len(s)) {
		q = a.parse(valueTokens(lexLatex(s)), 0)
	}
	a.known[s] = q
	return q
}

// maxProduct is the length of the longest run of letters that is read as a product
// of variables. A longer one is a word.
const maxProduct = 4

// valueTokens prepares tokens for reading. A run of letters in a formula is a product
// of variables, or the name of a function. Letters that are all of an answer stay a
// word, except x, y and z: "no" is not "on". White space counts only between numbers.
func valueTokens(toks []latexToken) []latexToken {
	bare := true
	for _, t := range toks {
		bare = bare && (t.kind == latexLetters && strings.Trim(t.text, "xyz") != "" || t.kind == latexSpace)
	}
	var out []latexToken
	for i, t := range toks {
		switch {
		case t.kind == latexSpace && !(i > 0 && toks[i-1].kind == latexNum && i+1 < len(toks) && toks[i+1].kind == latexNum):
		case t.kind != latexLetters || bare:
			out = append(out, t)
		case valueFunctions[`\`+t.text]:
			out = append(out, latexToken{latexCommand, `\` + t.text})
		default:
			out = append(out, letterTokens(t.text, i+1 < len(toks) && (toks[i+1].text == "^" || toks[i+1].text == "_"))...)
		}
	}
	return out
}

// letterTokens splits a run of letters into variables. Of a word, only a last letter
// with a power or an index is separate.
func letterTokens(run string, script bool) (toks []latexToken) {
	n := len(run)
	if n > maxProduct {
		if !script {
			return []latexToken{{latexLetters, run}}
		}
		return []latexToken{{latexLetters, run[:n-1]}, {latexLetters, run[n-1:]}}
	}
	for i := range n {
		toks = append(toks, latexToken{latexLetters, run[i : i+1]})
	}
	return toks
}

// parse reads all tokens as one value.
func (a *algebra) parse(toks []latexToken, depth int) *quantity {
	if depth > maxMathDepth || len(toks) == 0 {
		return nil
	}
	p := valueParser{algebra: a, toks: toks, depth: depth}
	q := p.sum()
	if p.at != len(p.toks) {
		return nil
	}
	return q
}

// A valueParser reads sum = [sign] product {sign product}. Its methods return nil
// for what they cannot read.
type valueParser struct {
	*algebra
	toks  []latexToken
	at    int
	depth int
}

func (p *valueParser) peek() latexToken {
	if p.at < len(p.toks) {
		return p.toks[p.at]
	}
	return latexToken{kind: latexClose}
}

func (p *valueParser) is(text string) bool { return p.at < len(p.toks) && p.toks[p.at].text == text }

func (p *valueParser) skip(text string) bool {
	if p.is(text) {
		p.at++
		return true
	}
	return false
}

func (p *valueParser) sum() *quantity {
	total := integer(0)
	for first := true; first || p.is("+") || p.is("-"); first = false {
		minus := p.skip("-")
		if !minus {
			p.skip("+")
		}
		t := p.product()
		if minus {
			t = p.neg(t)
		}
		if total = p.add(total, t); total == nil {
			return nil
		}
	}
	return total
}

// product = factor {["*" | "/"] factor}. A factor after a quotient must have its
// operator.
func (p *valueParser) product() *quantity {
	f, divided := p.factor(), false
	for f != nil && !p.ends() {
		switch {
		case p.skip("/"):
			divided = true
			f = p.div(f, p.signed())
		case p.skip("*"):
			f = p.mul(f, p.signed())
		case divided || p.peek().kind == latexNum && p.toks[p.at-1].text != "!" || p.peek().kind == latexSpace:
			return nil
		default:
			f = p.mul(f, p.factor())
		}
	}
	return f
}

func (p *valueParser) ends() bool {
	return p.at == len(p.toks) || p.is("+") || p.is("-") || p.is(")") || p.is("]")
}

func (p *valueParser) signed() *quantity {
	if p.skip("-") {
		return p.neg(p.factor())
	}
	return p.factor()
}

// factor is an atom, its factorial and its power. What 2^3! or 3!! means is not
// decided.
func (p *valueParser) factor() *quantity {
	q := p.atom()
	if p.skip("!") {
		q = p.factorial(q)
	}
	if q != nil && p.skip("^") {
		q = p.raise(q, p.argument())
	}
	if p.is("!") || p.is("^") {
		return nil
	}
	return q
}

// argument reads {…}, or one token.
func (p *valueParser) argument() *quantity {
	if p.peek().kind == latexOpen {
		return p.parse(p.group(), p.depth+1)
	}
	if p.at == len(p.toks) {
		return nil
	}
	p.at++
	return p.parse(p.toks[p.at-1:p.at], p.depth+1)
}

// group takes the tokens between braces.
func (p *valueParser) group() []latexToken {
	depth, from := 0, p.at+1
	for ; p.at < len(p.toks); p.at++ {
		switch p.toks[p.at].kind {
		case latexOpen:
			depth++
		case latexClose:
			depth--
		}
		if depth == 0 {
			p.at++
			return p.toks[from : p.at-1]
		}
	}
	return nil
}

// valueAtoms are commands that name a number or a variable.
var valueAtoms = setOf(`\pi \alpha \beta \gamma \delta \theta \lambda \mu \phi \varphi \omega \epsilon \rho \sigma \tau \psi \eta`)

// applied are letters that name a function where a bracket follows.
var applied = setOf("f g h F G H P")

// valueFunctions are functions of one argument.
var valueFunctions = setOf(`\sin \cos \tan \cot \sec \csc \arcsin \arccos \arctan \sinh \cosh \tanh \ln \log \lg \exp`)

func (p *valueParser) atom() *quantity {
	t := p.peek()
	if p.at == len(p.toks) {
		return nil
	}
	p.at++
	switch {
	case t.kind == latexNum:
		return p.number(t.text)
	case t.kind == latexLetters:
		return p.variable(t.text)
	case valueAtoms[t.text]:
		return factorOf(t.text+p.index(), whole64(1))
	case valueFunctions[t.text]:
		return p.functionOf(t.text)
	case t.text == `\frac`:
		over := p.argument()
		return p.div(over, p.argument())
	case t.text == `\binom`:
		n := p.argument()
		return p.binomial(n, p.argument())
	case t.text == `\sqrt`:
		return p.rootOf()
	case t.text == "(":
		return p.bracket(")")
	case t.text == "[":
		return p.bracket("]")
	case t.text == "|":
		return p.bars()
	}
	return nil
}

// bracket reads what stands between an open bracket and its close.
func (p *valueParser) bracket(shut string) *quantity {
	if p.depth++; p.depth > maxMathDepth {
		return nil
	}
	q := p.sum()
	if p.depth--; !p.skip(shut) {
		return nil
	}
	return q
}

// bars reads |x|, which holds no other bars.
func (p *valueParser) bars() *quantity {
	for i := p.at; i < len(p.toks); i++ {
		if p.toks[i].text == "|" {
			q := p.parse(p.toks[p.at:i], p.depth+1)
			p.at = i + 1
			return p.absolute(q)
		}
	}
	return nil
}

// variable reads a variable, or the value of a function: f(x).
func (p *valueParser) variable(name string) *quantity {
	of := applied[name]
	name += p.index()
	if of && p.skip("(") {
		return p.function(name, p.bracket(")"))
	}
	return factorOf(name, whole64(1))
}

func (p *valueParser) index() string {
	if !p.skip("_") {
		return ""
	}
	if p.peek().kind != latexOpen {
		p.at++
		return "_{" + p.toks[min(p.at, len(p.toks))-1].text + "}"
	}
	var b strings.Builder
	for _, t := range p.group() {
		b.WriteString(t.text)
	}
	return "_{" + b.String() + "}"
}

// functionOf reads a function: its power and its base, in any order, and what it is
// of. The power -1 means the inverse function.
func (p *valueParser) functionOf(name string) *quantity {
	var base *quantity
	times := int64(1)
	for p.is("^") || p.is("_") {
		if p.skip("_") {
			if base = p.argument(); base == nil || name != `\log` {
				return nil
			}
			continue
		}
		p.at++
		e := p.argument()
		if e == nil {
			return nil
		}
		n, ok := e.natural(maxPower)
		if r, isNumber := e.rational(); isNumber && r.Cmp(big.NewRat(-1, 1)) == 0 {
			name, n, ok = name+"^{-1}", 1, true
		}
		if times = n; !ok || n == 0 {
			return nil
		}
	}
	x := p.functionArgument()
	switch {
	case x == nil:
		return nil
	case base != nil:
		x = p.logarithmTo(base, x)
	case name == `\ln` || name == `\log` || name == `\lg`:
		x = p.logarithm(name, x)
	case name == `\exp`:
		x = p.raise(factorOf("e", whole64(1)), x)
	default:
		x = p.function(name, x)
	}
	if times == 1 {
		return x
	}
	return p.raise(x, integer(times))
}

// functionArgument reads what a function is of: brackets, or a factor that may have
// a number before it. What more may belong to it is not decided: sin xy.
func (p *valueParser) functionArgument() *quantity {
	if p.is("(") || p.is("[") || p.is("|") {
		q := p.atom()
		if p.is("^") || p.is("!") {
			return nil
		}
		return q
	}
	number := p.peek().kind == latexNum
	q := p.factor()
	if number && q != nil && !p.ends() && !p.is("*") && !p.is("/") {
		if t := p.peek(); t.kind != latexLetters && !valueAtoms[t.text] {
			return nil
		}
		q = p.mul(q, p.factor())
	}
	if !p.ends() && !p.is("*") && !valueFunctions[p.peek().text] {
		return nil
	}
	return q
}

// rootOf reads \sqrt{2} and \sqrt[3]{2}.
func (p *valueParser) rootOf() *quantity {
	n := int64(2)
	if p.skip("[") {
		from := p.at
		for !p.is("]") {
			if p.at++; p.at >= len(p.toks) {
				return nil
			}
		}
		index := p.parse(p.toks[from:p.at], p.depth+1)
		p.at++
		var ok bool
		if index == nil {
			return nil
		}
		if n, ok = index.natural(maxRootOf); !ok {
			return nil
		}
	}
	return p.oddRoot(p.argument(), n)
}

// number reads a decimal, a repeating decimal, or a mixed number. 2\frac{1}{2} is
// 5/2 if its fraction is a proper one of integers; 2 1/2 is read the same way.
func (p *valueParser) number(text string) *quantity {
	r, ok := decimal(text)
	if p.is(`\overline`) {
		r, ok = p.repeating(text)
	}
	if !ok {
		return nil
	}
	q := rationalOf(r)
	spaced := p.peek().kind == latexSpace && p.at < len(p.toks)
	if strings.Contains(text, ".") || !spaced && !p.is(`\frac`) {
		return q
	}
	if spaced {
		return p.mixed(q)
	}
	if !plainFraction(p.toks[p.at:]) {
		return q
	}
	part := p.atom()
	if part == nil {
		return nil
	}
	if r, ok := part.rational(); !ok || r.Cmp(big.NewRat(1, 1)) >= 0 {
		return nil // 2\frac{5}{2} may be a sum or a product
	}
	return p.add(q, part)
}

// plainFraction reports whether toks begin with a \frac of two integers, such as
// \frac{1}{2}.
func plainFraction(toks []latexToken) bool {
	return len(toks) >= 7 && toks[2].kind == latexNum && toks[5].kind == latexNum && toks[3].kind == latexClose
}

// mixed reads the " 1/2" of 2 1/2.
func (p *valueParser) mixed(q *quantity) *quantity {
	if p.at+4 > len(p.toks) || p.toks[p.at+2].text != "/" {
		return nil
	}
	over, ok1 := decimal(p.toks[p.at+1].text)
	under, ok2 := decimal(p.toks[p.at+3].text)
	p.at += 4
	if !ok1 || !ok2 || !over.IsInt() || !under.IsInt() || under.Sign() == 0 || over.Cmp(under) >= 0 {
		return nil
	}
	return p.add(q, rationalOf(over.Quo(over, under)))
}

// repeating reads 0.1\overline{6}.
func (p *valueParser) repeating(text string) (*big.Rat, bool) {
	p.at++
	toks := p.group()
	_, tail, point := strings.Cut(text, ".")
	if len(toks) != 1 || toks[0].kind != latexNum || !point || strings.Contains(toks[0].text, ".") {
		return nil, false
	}
	period := toks[0].text
	head, ok1 := decimal(strings.TrimSuffix(text, "."))
	cycle, ok2 := decimal(period)
	if !ok1 || !ok2 {
		return nil, false
	}
	nines := new(big.Int).Sub(tenTo(len(period)), big.NewInt(1))
	cycle.Quo(cycle, new(big.Rat).SetInt(nines.Mul(nines, tenTo(len(tail)))))
	return head.Add(head, cycle), true
}

func tenTo(n int) *big.Int { return new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(n)), nil) }

// maxDigits is how many digits a number may have to be read as one.
const maxDigits = 1000

// decimal reads digits with at most one point.
func decimal(s string) (*big.Rat, bool) {
	if s == "" || s == "." || len(s) > maxDigits || strings.Trim(s, "0123456789.") != "" || strings.Count(s, ".") > 1 {
		return nil, false
	}
	return new(big.Rat).SetString(strings.TrimSuffix(s, "."))
}
