package answer

import (
	"strings"
	"unicode/utf8"

	"github.com/sotto-llm/sotto/internal/base/lazyregexp"
)

// formulaExpr matches a formula, in any delimiters.
var formulaExpr = lazyregexp.New(`(?s)\$\$(.+?)\$\$|\$([^$\n]+?)\$|\\\((.+?)\\\)|\\\[(.+?)\\\]`)

// plainFormula matches a root or a multiple of π in plain text.
var plainFormula = lazyregexp.New(`[-−]?(?:\p{Nd}+(?:[.,/]\p{Nd}+)? ?)?(?:√ ?(?:\p{Nd}+|\([^()]{1,20}\)))(?: ?/ ?\p{Nd}+)?|[-−]?(?:\p{Nd}+(?:[.,/]\p{Nd}+)? ?)?π(?: ?/ ?\p{Nd}+)?`)

// maxFormulas is how many formulas of a sentence are looked at.
const maxFormulas = 8

// formulasIn returns the formulas of a text that nothing in it denies, each without what
// leads to its last equals sign, and without its approximation. money says that a dollar
// sign stands before an amount.
func formulasIn(text string, marks []mark) (list amounts, money bool) {
	for _, m := range formulaExpr.FindAllStringSubmatchIndex(text, maxFormulas) {
		inner := Span{m[0], m[1]}
		for k := 2; k < len(m); k += 2 {
			if m[k] >= 0 {
				inner = trim(text, Span{m[k], m[k+1]})
			}
		}
		if text[m[0]] == '$' && isMoney(text[m[0]:]) {
			return nil, true
		}
		if inner.End-inner.Start <= 2 && isLetter(text[inner.Start]) || deniedIn(text, marks, Span{m[0], m[1]}) {
			continue
		}
		if f := text[inner.Start:inner.End]; strings.HasPrefix(f, `\approx`) || f == `\square` || f == `\blacksquare` || f == `\checkmark` {
			continue // an approximation, or the end of a proof
		}
		list = append(list, amount{rightOf(text, inner), ""})
	}
	if len(list) > 0 {
		return valued(text, list), false
	}
	if strings.IndexByte(text, '\\') >= 0 { // the formulas that are left are approximations
		text = formulaExpr.ReplaceAllStringFunc(text, func(f string) string { return strings.Repeat(" ", len(f)) })
	}
	if strings.ContainsAny(text, "√π") && !texCommand.MatchString(text) {
		if sp := lastAssigned(text); sp.Start < sp.End && !deniedIn(text, marks, sp) {
			return amounts{{sp, text[sp.Start:sp.End]}}, false
		}
		for _, m := range plainFormula.FindAllStringIndex(text, maxFormulas) {
			if sp := (Span{m[0], m[1]}); !strings.HasPrefix(strings.TrimLeft(text[sp.End:], " "), "=") && !deniedIn(text, marks, sp) {
				list = append(list, amount{trim(text, sp), ""})
			}
		}
	}
	if len(list) == 0 && !texCommand.MatchString(text) {
		list = polynomialsIn(text, marks)
	}
	return valued(text, list), false
}

// valued returns a list whose values are the texts of its spans.
func valued(text string, list amounts) amounts {
	for i, f := range list {
		list[i].value = text[f.Start:f.End]
	}
	return list
}

// polynomialExpr matches a polynomial in plain text, a product of several in brackets, or the bounds of
// an unknown.
var polynomialExpr = lazyregexp.New(`(?:\d+ ?)?(?:\([^()\n]{1,24}\)(?:\^\d|[²³])? ?[·*]? ?){2,}|` +
	`[-−]?` + polynomialTerm + `(?: ?[-+−] ?` + polynomialTerm + `)+|` +
	`(?:[-−]?\d+(?:[.,]\d+)? ?[<＜≤] ?)?\b[xyznt] ?[<>＜＞≤≥] ?[-−]?\d+(?:[.,/]\d+)?`)

const polynomialTerm = `(?:(?:\d+(?:[.,/]\d+)? ?)?[xyztnkC](?:\^\{?\d+\}?|[²³⁴])?|\d+(?:[.,]\d+)?)`

// relates reports whether a text begins with the sign of an equation or an inequality.
func relates(text string) bool {
	r, _ := utf8.DecodeRuneInString(text)
	return strings.ContainsRune("=＝<>＜＞≤≥≠", r)
}

// polynomialsIn returns the polynomials of a text that stand by themselves, and on no left side.
func polynomialsIn(text string, marks []mark) (list amounts) {
	if !strings.ContainsAny(text, "xyztnk") {
		return nil
	}
	for _, m := range polynomialExpr.FindAllStringIndex(text, maxFormulas) {
		sp := trim(text, Span{m[0], m[1]})
		rest := strings.TrimLeft(text[sp.End:], " *_")
		if !strings.ContainsAny(text[sp.Start:sp.End], "xyztnk") || !apart(text, sp.Start, sp.End) || deniedIn(text, marks, sp) ||
			sp.Start > 0 && strings.IndexByte("(+-*/^", text[sp.Start-1]) >= 0 || relates(rest) || strings.HasPrefix(rest, ")") {
			continue
		}
		if strings.ContainsAny(text[sp.Start:sp.End], "<>＜＞≤≥") && strings.ContainsAny(text[:sp.Start]+text[sp.End:], bareDigits) {
			continue // a condition on the value: "x < 0, so only −2 is left"
		}
		list = append(list, amount{sp, ""})
	}
	return list
}

// approximate are the marks before the approximation of a value.
var approximate = []string{`\approx`, `\simeq`, `\thickapprox`, "≈"}

// rightOf returns the part of a formula that is its value: what follows its last equals
// sign, up to an approximation.
func rightOf(text string, sp Span) Span {
	for _, about := range approximate {
		if k := strings.Index(text[sp.Start:sp.End], about); k > 0 {
			sp.End = sp.Start + k
		}
	}
	if k := strings.LastIndexByte(text[sp.Start:sp.End], '='); k >= 0 {
		sp.Start += k + 1
	}
	sp = trim(text, sp)
	for sp.End-1 > sp.Start && text[sp.End-1] == '\\' { // a space of TeX
		sp = trim(text, Span{sp.Start, sp.End - 1})
	}
	if k := pointName.FindStringIndex(text[sp.Start:sp.End]); k != nil {
		sp.Start += k[1] - 1
	}
	return sp
}

// theFormula returns the only formula of a list, or of several the one that the sentence
// is about, as theAmount does. A formula that a verb follows is what the sentence says the
// value of: "$\cos 30°$ is $\frac{\sqrt3}{2}$".
func theFormula(text string, marks []mark, list amounts) Span {
	for _, other := range []func(string, []mark, amount) bool{nil, bracketedIn, rejected, restates, subordinate, subject(list), beforeLast(list)} {
		if other != nil {
			list = without(list, func(a amount) bool { return other(text, marks, a) })
		}
		same := true
		for _, f := range list[1:] {
			same = same && f.value == list[0].value
		}
		if same {
			return list[0].Span
		}
	}
	if list.alternatives(text, marks) {
		return Span{}
	}
	return lastStep(text, list)
}

// lastStep returns the last formula of a sentence if the sentence ends with it: the others lead to
// it ("From $x^2 = 7$ follows $x = \pm\sqrt7$"). It is not the last step if it is a part of a list.
func lastStep(text string, list amounts) Span {
	last := list[len(list)-1]
	rest := strings.TrimLeft(text[last.End:], "$)] \\*_,.。")
	if len(strings.Fields(rest)) > 1 || utf8.RuneCountInString(rest) > maxLabel {
		return Span{}
	}
	between := text[list[len(list)-2].End:last.Start]
	if strings.IndexByte(between, ';') >= 0 || len(strings.Fields(strings.Trim(between, "$ "))) < 2 && !strings.ContainsFunc(between, isCJK) {
		return Span{}
	}
	return last.Span
}

// rejected reports whether the clause of a formula calls it wrong.
func rejected(text string, marks []mark, a amount) bool {
	from, to := clauseBefore(text, a.Start), clauseAfter(text, a.End, len(text))
	for _, m := range marks {
		if m.uses&(useNever|useWrong) != 0 && m.start >= from && m.end <= to {
			return true
		}
	}
	return false
}

// subject returns a filter for the formulas whose value the sentence says.
func subject(list amounts) func(string, []mark, amount) bool {
	return func(text string, marks []mark, a amount) bool {
		for _, m := range marks {
			if m.uses&useIs == 0 || m.start < a.End || m.start > a.End+4 || strings.ContainsAny(text[m.start:m.end], "=:") {
				continue
			}
			if last := list[len(list)-1]; last.Start >= m.end {
				return true
			}
		}
		return false
	}
}

// formulaIn finds the only formula, or else the amount, that a part of a sentence
// gives. Neither the name of a variable nor what leads to an equals sign is a formula.
func formulaIn(text string, p Problem) Span {
	marks := lexicon().marks(nil, text, 0, len(text))
	if sp := rootsIn(text, marks); sp.End > 0 {
		return sp
	}
	list, money := formulasIn(text, marks)
	if money {
		return amountIn(text, p)
	}
	if len(list) > 0 {
		return theFormula(text, marks, list)
	}
	if texCommand.MatchString(text) {
		return Span{}
	}
	if sp := definedIn(text); sp.End > 0 && !deniedIn(text, marks, sp) {
		return sp
	}
	if m := tupleExpr.FindAllStringIndex(text, 2); len(m) == 1 {
		return Span{m[0][0], m[0][1]}
	}
	if strings.Count(text, "=") > 1 {
		if sp := lastAssigned(text); sp.Start < sp.End && !deniedIn(text, marks, sp) {
			return sp
		}
	}
	if sp := numberOnly(text, amountIn(text, p)); sp.Start == 0 || strings.IndexByte("[{|,", text[sp.Start-1]) < 0 {
		return sp
	}
	return Span{} // a part of a formula
}

// numberOnly returns an amount without the words that another alphabet writes together with
// it: "42です".
func numberOnly(text string, sp Span) Span {
	if !strings.ContainsFunc(text[sp.Start:sp.End], isCJK) {
		return sp
	}
	if m := amountExpr.FindStringIndex(text[sp.Start:sp.End]); m != nil {
		return trim(text, Span{sp.Start + m[0], sp.Start + m[1]})
	}
	return sp
}

// lastAssigned returns the value of the last clause of a sentence, if that is a name, an equals sign and a
// value, and no other clause gives a name its value: "c² = 25 + 144 = 169, c = 13".
func lastAssigned(text string) Span {
	found, name := Span{}, ""
	for at, left := 0, maxCases; at < len(text) && left > 0; left-- {
		end := clauseAfter(text, at, len(text))
		clause := text[at:end]
		m := assignment.FindStringSubmatchIndex(clause)
		if m != nil {
			if found.End > 0 {
				return Span{} // two unknowns, or two solutions
			}
			found, name = Span{at + m[4], at + m[5]}, clause[m[2]:m[3]]
		} else if found.End > 0 && strings.ContainsAny(clause, bareDigits) {
			return Span{}
		}
		_, n := utf8.DecodeRuneInString(text[end:])
		at = max(end+n, at+1)
	}
	if found.End == 0 || !strings.Contains(text[:found.Start-len(name)], name) {
		return Span{}
	}
	return found
}

// assignment matches a clause that gives a name its value, with a unit or an ending after it.
var assignment = lazyregexp.New(`(?:^|[ \x{3000}])(\p{L}) ?[=＝] ?([-−]?(?:\p{Nd}+(?:[.,]\p{Nd}+)?)?(?:[√π]\p{Nd}*)?(?:/\p{Nd}+)?)(?: ?[\p{L}°²³%]+){0,3}[ .。!]*$`)

// texCommand matches a command of TeX. Outside delimiters it shows that what is around it
// is a formula, whose parts are not the answer.
var texCommand = lazyregexp.New(`\\[A-Za-z]`)

// pointName matches the name before the coordinates of a point.
var pointName = lazyregexp.New(`^[A-Z](?:\\,)? ?\(`)

// tupleExpr matches coordinates in plain text.
var tupleExpr = lazyregexp.New(`[(（\[\]] ?[-−]?(?:[\p{Nd}./]+|∞) ?[,，;] ?[-−+]?(?:[\p{Nd}./]+|∞) ?[)）\]\[]`)
