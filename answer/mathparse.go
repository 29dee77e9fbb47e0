package answer

import (
	"math/big"
	"strings"
)

// mathValue reads a formula written by canonMath as an exact value. It refuses
// ambiguous formulas, such as 1/2π.
func mathValue(s string) (mathForm, bool) {
	if s == "" || len(s) > maxMath {
		return nil, false
	}
	return valueOf(splitRuns(lexLatex(s)), 0)
}

// splitRuns separates the last letter of a run if it has a power or an index,
// because xy^2 is x·y^2.
func splitRuns(toks []latexToken) []latexToken {
	var out []latexToken
	for i, t := range toks {
		if n := len(t.text) - 1; t.kind == latexLetters && n > 0 && i+1 < len(toks) && (toks[i+1].text == "^" || toks[i+1].text == "_") {
			out = append(out, latexToken{latexLetters, t.text[:n]})
			t.text = t.text[n:]
		}
		out = append(out, t)
	}
	return out
}

func valueOf(toks []latexToken, depth int) (mathForm, bool) {
	p := valueParser{toks: toks, depth: depth}
	if depth > maxMathDepth || len(toks) == 0 {
		return nil, false
	}
	f := p.sum()
	return f, f != nil && p.at == len(p.toks)
}

// A valueParser reads sum = [sign] product {sign product}. Its methods return nil
// for what they cannot read.
type valueParser struct {
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

func (p *valueParser) take(text string) bool {
	if p.is(text) {
		p.at++
		return true
	}
	return false
}

func (p *valueParser) sum() mathForm {
	total := mathForm{}
	for first := true; first || p.is("+") || p.is("-"); first = false {
		minus := p.take("-")
		if !minus {
			p.take("+")
		}
		t := p.product()
		if t != nil && minus {
			t = t.negative()
		}
		if t == nil {
			return nil
		}
		if total = total.add(t); total == nil {
			return nil
		}
	}
	return total
}

// product = factor {["*" | "/"] factor}. A factor after a quotient must have its
// operator.
func (p *valueParser) product() mathForm {
	f, divided := p.factor(), false
	for f != nil && !p.ends() {
		var g mathForm
		switch {
		case p.take("/"):
			divided = true
			if g = p.signed(); g != nil {
				g = g.inverse()
			}
		case p.take("*"):
			g = p.signed()
		case divided || p.peek().kind == latexNum || p.peek().kind == latexSpace:
			return nil
		default:
			g = p.factor()
		}
		if g == nil {
			return nil
		}
		f = f.mul(g)
	}
	return f
}

func (p *valueParser) ends() bool {
	return p.at == len(p.toks) || p.is("+") || p.is("-") || p.is(")")
}

func (p *valueParser) signed() mathForm {
	if p.take("-") {
		if f := p.factor(); f != nil {
			return f.negative()
		}
		return nil
	}
	return p.factor()
}

// factor is an atom and its power.
func (p *valueParser) factor() mathForm {
	base := p.atom()
	if base == nil || !p.take("^") {
		return base
	}
	return p.raised(base)
}

// raised applies a power.
func (p *valueParser) raised(base mathForm) mathForm {
	e := p.argument()
	if e == nil {
		return nil
	}
	r, ok := e.rational()
	b, rational := base.rational()
	switch {
	case ok && r.IsInt() && r.Num().IsInt64():
		n := r.Num().Int64()
		if n > maxPower || n < -maxPower || rational && int64(max(b.Num().BitLen(), b.Denom().BitLen()))*max(n, -n) > maxBits {
			return nil
		}
		return base.power(n)
	case ok && rational && r.Cmp(big.NewRat(1, 2)) == 0:
		return base.sqrt()
	case ok && !r.IsInt() || !ok:
		return formOf(atomTerm("("+base.String()+")^{"+e.String()+"}", 1))
	}
	return nil
}

// argument reads {…}, or one token.
func (p *valueParser) argument() mathForm {
	if p.peek().kind != latexOpen {
		p.at++
		if p.at > len(p.toks) {
			return nil
		}
		f, _ := valueOf(p.toks[p.at-1:p.at], p.depth+1)
		return f
	}
	toks := p.group()
	f, ok := valueOf(toks, p.depth+1)
	if !ok {
		return nil
	}
	return f
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

func (p *valueParser) atom() mathForm {
	t := p.peek()
	p.at++
	switch {
	case t.kind == latexNum:
		return p.number(t.text)
	case t.kind == latexLetters:
		return formOf(atomTerm(t.text+p.index(), 1))
	case valueAtoms[t.text]:
		for p.peek().kind == latexSpace && p.at < len(p.toks) {
			p.at++
		}
		return formOf(atomTerm(t.text+p.index(), 1))
	case t.text == `\frac`:
		return p.fraction()
	case t.text == `\sqrt`:
		return p.root()
	case t.text == "(":
		if p.depth++; p.depth > maxMathDepth {
			return nil
		}
		f := p.sum()
		if p.depth--; !p.take(")") {
			return nil
		}
		return f
	}
	return nil
}

// index reads the subscript of a variable, as it is written.
func (p *valueParser) index() string {
	if !p.take("_") {
		return ""
	}
	if p.peek().kind != latexOpen {
		p.at++
		return "_" + p.toks[min(p.at, len(p.toks))-1].text
	}
	var b strings.Builder
	for _, t := range p.group() {
		b.WriteString(t.text)
	}
	return "_{" + b.String() + "}"
}

func (p *valueParser) fraction() mathForm {
	over := p.argument()
	if over == nil || p.peek().kind != latexOpen {
		return nil
	}
	under := p.argument()
	if under == nil {
		return nil
	}
	if under = under.inverse(); under == nil {
		return nil
	}
	return over.mul(under)
}

func (p *valueParser) root() mathForm {
	index := ""
	for p.is("[") || index != "" && !strings.HasSuffix(index, "]") {
		index += p.peek().text
		if p.at++; p.at >= len(p.toks) {
			return nil
		}
	}
	f := p.argument()
	switch {
	case f == nil:
		return nil
	case index == "":
		return f.sqrt()
	}
	return formOf(atomTerm(`\sqrt`+index+"{"+f.String()+"}", 1))
}

// number reads a decimal, a repeating decimal, or a mixed number. 2\frac{1}{2} is
// 5/2 if its fraction is a proper one of integers; 2 1/2 is read the same way.
func (p *valueParser) number(text string) mathForm {
	r, ok := decimal(text)
	if p.is(`\overline`) {
		r, ok = p.repeating(text)
	}
	if !ok {
		return nil
	}
	f := formOf(termOf(r))
	spaced := p.peek().kind == latexSpace && p.at < len(p.toks)
	if strings.Contains(text, ".") || !spaced && !p.is(`\frac`) {
		return f
	}
	if spaced {
		return p.mixed(f)
	}
	if !plainFraction(p.toks[p.at:]) {
		return f
	}
	p.at++
	part := p.fraction()
	if r, ok := part.rational(); part == nil || !ok || r.Cmp(big.NewRat(1, 1)) >= 0 {
		return nil // 2\frac{5}{2} may be a sum or a product
	}
	return f.add(part)
}

// plainFraction reports whether toks begin with a \frac of two integers, such as
// \frac{1}{2}.
func plainFraction(toks []latexToken) bool {
	return len(toks) >= 7 && toks[2].kind == latexNum && toks[5].kind == latexNum && toks[3].kind == latexClose
}

// mixed reads the " 1/2" of 2 1/2.
func (p *valueParser) mixed(f mathForm) mathForm {
	if p.at+4 > len(p.toks) || p.toks[p.at+2].text != "/" {
		return nil
	}
	over, ok1 := decimal(p.toks[p.at+1].text)
	under, ok2 := decimal(p.toks[p.at+3].text)
	p.at += 4
	if !ok1 || !ok2 || !over.IsInt() || !under.IsInt() || over.Cmp(under) >= 0 {
		return nil
	}
	return f.add(formOf(termOf(over.Quo(over, under))))
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
