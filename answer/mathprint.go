package answer

import (
	"slices"
	"strings"

	"github.com/sotto-llm/sotto/internal/base/lazyregexp"
)

// canonMath writes a formula in the single form that is used for comparison: white
// space only between words, fractions and roots with braces, ", " between elements
// and no separators between thousands.
func canonMath(s string) string {
	if len(s) > maxMath {
		return s
	}
	out, ok := printLatex(lexLatex(peelMath(foldWidth(s))), 0, 0)
	if !ok {
		return s
	}
	return europeanBrackets(strings.TrimSpace(out))
}

var (
	// turnedInterval matches an interval whose open ends are brackets that turn away: ]2, 5].
	turnedInterval = lazyregexp.New(`^((?:[A-Z]|\\mathbb\{[A-Z]\})=)?([\]\[])([^\]\[]+, [^\]\[]+)([\]\[])$`)
	// barredPoint matches the coordinates of a point with a bar between them: (2|3).
	barredPoint = lazyregexp.New(`^\((-?[\d./]+)(?:\\mid|\|)(-?[\d./]+)\)$`)
)

// europeanBrackets writes an interval and a point of German, French and Portuguese books as the
// others write them: ]2, 5] is (2, 5], and (2|3) is (2, 3).
func europeanBrackets(s string) string {
	if s == "" || strings.IndexByte("[])", s[len(s)-1]) < 0 {
		return s
	}
	if m := turnedInterval.FindStringSubmatch(s); m != nil && (m[2] == "]" || m[4] == "[") {
		open, shut := m[2], m[4]
		if open == "]" {
			open = "("
		}
		if shut == "[" {
			shut = ")"
		}
		return m[1] + open + m[3] + shut
	}
	if m := barredPoint.FindStringSubmatch(s); m != nil {
		return "(" + m[1] + ", " + m[2] + ")"
	}
	return s
}

// A latexPrinter writes tokens.
type latexPrinter struct {
	toks     []latexToken
	at       int
	out      strings.Builder
	last     latexKind // of what was written last
	size     int       // letters in it
	brackets int       // open ( [ \{
	depth    int
	spaced   bool // white space precedes the next token
	value    bool // a number or formula has been written
	ordered  bool // there is an inequality, so that "and" and "or" differ
	applied  bool // there is a function: sin x · y is not sin xy
	failed   bool
}

func printLatex(toks []latexToken, brackets, depth int) (string, bool) {
	if depth > maxMathDepth {
		return "", false
	}
	p := latexPrinter{toks: toks, brackets: brackets, depth: depth, last: latexSpace}
	p.ordered = depth == 0 && slices.ContainsFunc(toks, func(t latexToken) bool { return orderSigns[t.text] })
	p.applied = slices.ContainsFunc(toks, func(t latexToken) bool { return valueFunctions[t.text] || functions[t.text] })
	for p.at < len(p.toks) && !p.failed {
		p.step()
	}
	return p.out.String(), !p.failed
}

func (p *latexPrinter) peek(ahead int) latexToken {
	if p.at+ahead < len(p.toks) {
		return p.toks[p.at+ahead]
	}
	return latexToken{kind: latexSpace}
}

// after returns the next token that is not white space.
func (p *latexPrinter) after() latexToken {
	for i := p.at; i < len(p.toks); i++ {
		if k := p.toks[i].kind; k != latexSpace && k != latexThin {
			return p.toks[i]
		}
	}
	return latexToken{kind: latexSpace}
}

func (p *latexPrinter) write(k latexKind, s string) {
	p.out.WriteString(s)
	p.last, p.size, p.spaced = k, len(s), false
}

func (p *latexPrinter) step() {
	t := p.peek(0)
	p.at++
	switch t.kind {
	case latexSpace, latexThin:
		p.spaced = true
	case latexNum:
		p.number(t.text)
	case latexLetters:
		p.letters(t.text)
	case latexText:
		p.text(t.text)
	case latexCommand:
		p.command(t.text)
	case latexOpen:
		p.open()
	case latexClose:
		p.spaced = p.spaced || p.last == latexNum
	case latexSym:
		p.symbol(t.text)
	}
}

// orderSigns are the signs of inequalities.
var orderSigns = setOf(`< > \le \ge \ne`)

// open drops a brace, which only groups: {2}{3} is 2 3. {n \choose k} is a binomial.
func (p *latexPrinter) open() {
	if p.peek(0).text == "," && p.peek(1).kind == latexClose {
		p.at += 2
		p.write(latexSym, "{,}") // the comma follows a complete number: not a list
		return
	}
	p.spaced = p.spaced || p.last == latexNum
	choose := -1
	for i := p.at; i < len(p.toks); i++ {
		switch t := p.toks[i]; {
		case t.kind == latexOpen:
			return // groups within it, so that no token is looked at often
		case t.kind == latexClose && choose >= 0:
			over, under := p.sub(p.toks[p.at:choose]), p.sub(p.toks[choose+1:i])
			p.write(latexSym, `\binom{`+over+"}{"+under+"}")
			p.at, p.value = i+1, true
			return
		case t.kind == latexClose:
			return
		case t.text == `\choose`:
			choose = i
		}
	}
}

// number writes a number without its thousands separators.
func (p *latexPrinter) number(digits string) {
	more := digits
	for len(whole(digits)) <= 3 && digits[0] != '0' || len(more) == 3 && more != digits {
		if strings.Contains(digits, ".") {
			break
		}
		if more = p.thousand(); more == "" {
			break
		}
		digits += more
	}
	if part := p.peek(3); p.peek(0).kind == latexOpen && p.peek(1).text == "," && p.peek(2).kind == latexClose && part.kind == latexNum && !strings.Contains(digits+part.text, ".") {
		digits += "." + part.text // 0{,}5: TeX needs the braces of a decimal comma only
		p.at += 4
	}
	if p.spaced && p.last == latexNum {
		p.out.WriteByte(' ')
	}
	p.write(latexNum, digits)
	p.value = true
}

// thousand takes one more group of three digits and its separator: "{,}", ",\!", a
// thin space or a space. A bare comma counts only outside an open tuple and with no
// space after it, because lists are written with a space.
func (p *latexPrinter) thousand() string {
	n := p.partsThousands()
	if n == 0 {
		return ""
	}
	next := p.peek(n)
	if next.kind != latexNum || len(whole(next.text)) != 3 {
		return ""
	}
	p.at += n + 1
	return next.text
}

// partsThousands returns how many tokens separate two groups of digits.
func (p *latexPrinter) partsThousands() int {
	a, b, c := p.peek(0), p.peek(1), p.peek(2)
	switch {
	case a.kind == latexOpen && b.text == "," && c.kind == latexClose:
		return 3
	case a.text == "," && b.kind == latexThin:
		n := 2
		for p.peek(n).kind == latexSpace && p.at+n < len(p.toks) || p.peek(n).kind == latexThin {
			n++
		}
		return n
	case a.text == "," && p.brackets == 0:
		return 1
	case a.kind == latexThin, a.kind == latexSpace && b.kind == latexNum && c.text != "/":
		return 1
	}
	return 0
}

// whole returns the part of a number before its point.
func whole(number string) string {
	before, _, _ := strings.Cut(number, ".")
	return before
}

// letters writes variables, or words.
func (p *latexPrinter) letters(run string) {
	switch {
	case run == "pi" || run == "Pi":
		p.command(`\pi`)
	case run == "infinity" || run == "inf":
		p.command(`\infty`)
	case run == "sqrt" && p.after().text == "(":
		p.plainRoot()
	case (run == "and" || run == "or") && p.spaced && p.out.Len() > 0 && p.after().kind != latexSpace:
		p.join(run)
	case p.value && p.spaced && (len(run) > 2 || units[run] != "") && !functions[run]:
		p.text(p.phrase(run))
	default:
		if p.spaced && p.last == latexLetters && p.size > 1 && len(run) > 1 {
			p.out.WriteByte(' ')
		}
		p.atom(run)
	}
}

// functions are words that are part of a formula.
var functions = setOf("sin cos tan cot sec csc arcsin arccos arctan log exp min max gcd lcm mod det lim sqrt")

// atom writes letters, separated from a command before them.
func (p *latexPrinter) atom(run string) {
	if p.last == latexCommand {
		p.out.WriteByte(' ')
	}
	p.write(latexLetters, run)
}

// phrase takes the words that follow a first one: "square feet".
func (p *latexPrinter) phrase(first string) string {
	words := []string{first}
	for p.peek(0).kind == latexSpace && p.peek(1).kind == latexLetters && len(p.peek(1).text) > 1 {
		if w := p.peek(1).text; w == "and" || w == "or" {
			break
		}
		words = append(words, p.peek(1).text)
		p.at += 2
	}
	return strings.Join(words, " ")
}

// text writes words. After a value they are its unit and are written as \text{};
// otherwise they are written as they are.
func (p *latexPrinter) text(words string) {
	switch {
	case (words == "and" || words == "or") && p.out.Len() > 0:
		p.join(words)
	case p.value:
		p.write(latexText, `\text{`+words+`}`)
	default:
		if p.last == latexLetters {
			p.out.WriteByte(' ')
		}
		p.atom(words)
		p.size = max(p.size, 2)
	}
}

// join writes "and" or "or" between two elements. Between inequalities they differ.
func (p *latexPrinter) join(word string) {
	if !p.ordered {
		p.comma()
		return
	}
	sign := `\lor`
	if word == "and" {
		sign = `\land`
	}
	s := strings.TrimSuffix(p.out.String(), ", ")
	p.out.Reset()
	p.out.WriteString(s)
	p.write(latexCommand, sign)
	p.value = false
}

// comma separates two elements. "1, 2, and 3" has a comma before the last.
func (p *latexPrinter) comma() {
	s := strings.TrimSuffix(p.out.String(), ", ")
	p.out.Reset()
	p.out.WriteString(s)
	p.write(latexSym, ", ")
}

func (p *latexPrinter) command(name string) {
	switch name {
	case `\frac`, `\binom`:
		over, under := p.argument(), p.argument()
		p.write(latexSym, name+"{"+over+"}{"+under+"}")
	case `\sqrt`:
		p.root()
	case `\begin`:
		p.begin()
	case `\end`, `\mathbb`, `\mathcal`, `\overline`, `\vec`, `\hat`, `\bar`, `\overrightarrow`:
		p.write(latexSym, name+"{"+p.argument()+"}")
	case `\{`:
		p.brackets++
		p.write(latexSym, name)
	case `\}`:
		p.brackets--
		p.write(latexSym, name)
	default:
		k := latexSym
		if isLetter(name[len(name)-1]) {
			k = latexCommand
		}
		p.write(k, name)
	}
	p.value = p.value || name != `\{`
}

// begin writes \begin{array} without the columns.
func (p *latexPrinter) begin() {
	name := p.argument()
	if p.write(latexSym, `\begin{`+name+"}"); name != "array" {
		return
	}
	if p.peek(0).text == "[" && p.peek(2).text == "]" { // \begin{array}[t]{cc}
		p.at += 3
	}
	if p.peek(0).kind == latexOpen {
		p.argument()
	}
}

// root writes \sqrt{2} and \sqrt[3]{2}.
func (p *latexPrinter) root() {
	index := ""
	if p.peek(0).text == "[" {
		for i := p.at; i < len(p.toks); i++ {
			if p.toks[i].text == "]" {
				index = "[" + p.sub(p.toks[p.at+1:i]) + "]"
				p.at = i + 1
				break
			}
		}
	}
	if p.after().text == "(" && index == "" {
		p.plainRoot()
		return
	}
	p.write(latexSym, `\sqrt`+index+"{"+p.argument()+"}")
}

// plainRoot writes sqrt(2), plain notation for a root, as \sqrt.
func (p *latexPrinter) plainRoot() {
	for p.peek(0).text != "(" {
		p.at++
	}
	p.value = true
	end := closingParen(p.toks[p.at:])
	if end < 0 {
		p.write(latexCommand, `\sqrt`)
		return
	}
	inner := p.sub(p.toks[p.at+1 : p.at+end])
	p.at += end + 1
	p.write(latexSym, `\sqrt{`+inner+`}`)
}

func (p *latexPrinter) sub(toks []latexToken) string {
	out, ok := printLatex(toks, p.brackets, p.depth+1)
	p.failed = p.failed || !ok
	return strings.TrimSpace(out)
}

// argument takes the argument of a command: a group, or one character.
func (p *latexPrinter) argument() string {
	for p.peek(0).kind == latexSpace && p.at < len(p.toks) || p.peek(0).kind == latexThin {
		p.at++
	}
	if p.at == len(p.toks) {
		return ""
	}
	t := p.toks[p.at]
	p.at++
	switch {
	case t.kind == latexOpen:
		return p.group()
	case t.kind == latexNum && len(t.text) > 1, t.kind == latexLetters && len(t.text) > 1:
		p.at--
		p.toks[p.at].text = t.text[1:]
		return t.text[:1]
	case t.text == `\frac` || t.text == `\sqrt`:
		q := latexPrinter{toks: p.toks, at: p.at, depth: p.depth + 1, last: latexSpace}
		if q.depth > maxMathDepth {
			p.failed = true
			return ""
		}
		q.command(t.text)
		p.at, p.failed = q.at, p.failed || q.failed
		return q.out.String()
	}
	return p.sub([]latexToken{t})
}

// group takes the tokens before the brace that closes an open one.
func (p *latexPrinter) group() string {
	from, depth := p.at, 1
	for ; p.at < len(p.toks); p.at++ {
		switch p.toks[p.at].kind {
		case latexOpen:
			depth++
		case latexClose:
			depth--
		}
		if depth == 0 {
			p.at++
			return p.sub(p.toks[from : p.at-1])
		}
	}
	return p.sub(p.toks[from:])
}

func (p *latexPrinter) symbol(s string) {
	switch s {
	case "(", "[":
		p.brackets++
	case ")", "]":
		p.brackets--
	case ",":
		p.write(latexSym, ", ")
		p.value = p.value && p.brackets > 0
		return
	case ";":
		if !slices.ContainsFunc(p.toks, func(t latexToken) bool { return t.text == "," }) {
			p.write(latexSym, ", ") // (0;1) and 1;2
			return
		}
	case ">", "<", "!", "=":
		if sign := twoSigns[s]; sign != "" && p.peek(0).text == "=" && (s != "!" || p.spaced) {
			p.at++
			if sign == "=" {
				p.write(latexSym, sign)
			} else {
				p.write(latexCommand, sign)
			}
			return
		}
	case "^", "_":
		p.script(s)
		return
	case "*":
		if p.peek(0).text == "*" { // a power, as programs write it
			p.at++
			p.script("^")
			return
		}
		if next := p.after(); !p.applied && (next.kind == latexLetters || next.text == "(" || next.kind == latexCommand && next.text != `\frac`) {
			return
		}
	}
	p.write(latexSym, s)
}

// twoSigns are the first characters of >=, <=, != and ==, as programs write them.
var twoSigns = map[string]string{">": `\ge`, "<": `\le`, "!": `\ne`, "=": "="}

// script writes a power or an index, with braces only if they are needed. They are
// before a digit: 2^3 5 is not 2^{35}.
func (p *latexPrinter) script(mark string) {
	arg := p.scripted()
	switch {
	case arg == `\circ` || arg == "°":
		p.write(latexSym, "°")
	case len(arg) == 1 && !p.digitFollows():
		p.write(latexSym, mark+arg)
	default:
		p.write(latexSym, mark+"{"+arg+"}")
	}
}

// digitFollows reports whether the next character that is printed is a digit.
func (p *latexPrinter) digitFollows() bool {
	for _, t := range p.toks[p.at:] {
		switch t.kind {
		case latexSpace, latexThin, latexOpen, latexClose:
		default:
			return t.kind == latexNum
		}
	}
	return false
}

// scripted takes the argument of a power. Without braces it is a whole number with
// its sign, or what stands in parentheses: someone who does not write LaTeX writes
// 2^10 for 1024, and someone who does writes 2^{10}.
func (p *latexPrinter) scripted() string {
	from := p.at
	switch a, b := p.peek(0), p.peek(1); {
	case a.kind == latexNum:
		p.at++
	case a.text == "-" && (b.kind == latexNum || b.kind == latexLetters && len(b.text) == 1):
		p.at += 2
	case a.text == "(":
		if end := closingParen(p.toks[p.at:]); end > 0 {
			p.at += end + 1
			return p.sub(p.toks[from+1 : p.at-1])
		}
		return p.argument()
	default:
		return p.argument()
	}
	return p.sub(p.toks[from:p.at])
}

// closingParen returns where the parenthesis that toks begins with ends, or -1.
func closingParen(toks []latexToken) int {
	depth := 0
	for i, t := range toks {
		switch t.text {
		case "(":
			depth++
		case ")":
			depth--
		}
		if depth == 0 {
			return i
		}
	}
	return -1
}
