package answer

import (
	"slices"
	"strings"

	"github.com/sotto-llm/sotto/internal/base/lazyregexp"
)

// The ways in which two answers can be equal.
const (
	byString   = "string"   // as text, after normalisation
	byRational = "rational" // in value, exactly
	byElement  = "element"  // member by member
	byNone     = "none"
)

// maxElements bounds lists and sets, because unordered ones are compared pair by
// pair.
const maxElements = 200

// equalMath returns how two formulas written by canonMath are equal. Two answers
// are not equal because one contains the other, because they differ by a factor of
// 100, or because a number occurs somewhere in the text.
func equalMath(a, b string) string {
	if b < a {
		a, b = b, a // so that the limits act in the same way, whichever is the gold
	}
	c := comparer{newAlgebra()}
	return c.equal(a, b, 0)
}

// A comparer compares formulas, with a bound on the work for all of them.
type comparer struct{ *algebra }

// equal returns how two formulas are equal. The first rule that applies to their
// shapes decides.
func (c comparer) equal(a, b string, depth int) string {
	a, b = oneSpelling(a), oneSpelling(b)
	switch {
	case textKey(a) == textKey(b):
		return byString
	case depth > 8 || !c.spend(1):
		return byNone
	}
	for _, rule := range []func(a, b string, depth int) (by string, applies bool){c.equalRegions, c.equalAssignments, c.equalRelations} {
		if by, applies := rule(a, b, depth); applies {
			return by
		}
	}
	_, a = cutName(a)
	_, b = cutName(b)
	if a, b = withoutParens(a), withoutParens(b); textKey(a) == textKey(b) {
		return byString
	}
	x, y := splitMath(a), splitMath(b)
	if x.kind == "" && y.kind == "" {
		return c.equalScalars(a, b)
	}
	return c.equalGroups(x, y, depth)
}

// emptySets are ways to write the empty set.
var emptySets = map[string]bool{`\{\}`: true, "no solution": true, "no solutions": true}

// scientific matches 2e5. A sign in the exponent is not read: 2e-3 may be 2e less 3.
var scientific = lazyregexp.New(`^([-+]?\d+(?:\.\d+)?)[eE](\d{1,3})$`)

// oneSpelling writes the empty set in one way, powers of ten as products, and cases
// without their brace.
func oneSpelling(s string) string {
	if m := scientific.FindStringSubmatch(s); m != nil {
		return m[1] + "*10^{" + m[2] + "}"
	}
	if emptySets[s] {
		return `\emptyset`
	}
	if rest, ok := strings.CutPrefix(s, `\begin{cases}`); ok {
		if inner, ok := strings.CutSuffix(rest, `\end{cases}`); ok && !strings.ContainsAny(inner, "&<>") && strings.Contains(inner, "=") {
			return strings.ReplaceAll(strings.TrimSuffix(inner, `\\`), `\\`, ", ")
		}
	}
	return s
}

// textKey returns the form in which formulas are compared as text: without text
// commands, without case of words, and without signs that change nothing.
func textKey(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		switch {
		case strings.HasPrefix(s[i:], `\text{`):
			i += len(`\text{`) - 1
			end := strings.IndexByte(s[i:], '}')
			b.WriteString(strings.ReplaceAll(s[i+1:i+end], " ", ""))
			i += end
		case s[i] == ' ' && !(i > 0 && isDigit(s[i-1]) && i+1 < len(s) && isDigit(s[i+1])):
		default:
			b.WriteByte(s[i])
		}
	}
	key := strings.TrimPrefix(b.String(), "+")
	if len(key) > 2 && lettersLen(key) == len(key) && !namesThings(key) {
		return strings.ToLower(key)
	}
	return key
}

// namesThings reports whether letters are a few capitals that name things, such as
// the triangle ABC.
func namesThings(letters string) bool {
	return len(letters) <= 4 && strings.ToUpper(letters) == letters && !capitalWords[letters]
}

var capitalWords = setOf("YES TRUE NONE ODD EVEN DNE ZERO ONE TWO BOTH")

// cutName splits "x=5", "f(x)=5", "x_1=5", "\theta=5", "Area=5", "(x, y)=(1, 2)",
// "x\in…" and "5=x".
func cutName(s string) (name, value string) {
	if n := namesLen(s); n > 0 {
		for _, mark := range []string{"=", `\in `, `\in`} {
			rest, ok := strings.CutPrefix(s[n:], mark)
			if ok && rest != "" && !(mark == `\in` && lettersLen(rest) > 0) && !strings.Contains(rest, "=") {
				return s[:n], rest
			}
		}
		return "", s
	}
	if i := strings.LastIndexByte(s, '='); i > 0 && strings.IndexByte(s, '=') == i && nameLen(s[i+1:]) == len(s)-i-1 && !strings.Contains(s, ", ") {
		return s[i+1:], s[:i]
	}
	return "", s
}

// namesLen returns the length of the name, or of the names in parentheses, that s
// begins with.
func namesLen(s string) int {
	if !strings.HasPrefix(s, "(") {
		return nameLen(s)
	}
	end := strings.IndexByte(s, ')')
	if end < 0 {
		return 0
	}
	names := strings.Split(s[1:end], ", ")
	for _, name := range names {
		if name == "" || nameLen(name) != len(name) {
			return 0
		}
	}
	if len(names) < 2 {
		return 0
	}
	return end + 1
}

// withoutParens removes parentheses around a single thing.
func withoutParens(s string) string {
	for range maxMathDepth {
		open, inner, shut := cutBrackets(s)
		if open != "(" || shut != ")" || inner == "" || len(splitTop(inner, ", ")) > 1 {
			break
		}
		s = inner
	}
	return s
}

func nameLen(s string) int {
	n := lettersLen(s)
	if strings.HasPrefix(s, `\`) {
		if n = 1 + lettersLen(s[1:]); !valueAtoms[s[:n]] || s[:n] == `\pi` {
			return 0
		}
	}
	if n == 0 {
		return 0
	}
	if strings.HasPrefix(s[n:], "_{") {
		end := strings.IndexByte(s[n:], '}')
		if end < 0 {
			return 0
		}
		return n + end + 1
	}
	if len(s) > n+1 && s[n] == '_' {
		return n + 2
	}
	primes := n
	for primes < len(s) && s[primes] == '\'' {
		primes++
	}
	if len(s) > primes+2 && s[primes] == '(' && s[primes+2] == ')' { // f(x), f'(x)
		return primes + 3
	}
	return n
}

// equalScalars compares two formulas that are not lists: first their units, then
// their values.
func (c comparer) equalScalars(a, b string) string {
	x, u := cutUnit(a)
	y, v := cutUnit(b)
	switch {
	case u != "" && v != "" && u != v:
		return byNone
	case textKey(x) == textKey(y) && x != "":
		return byString
	}
	if f := c.value(x); f != nil && c.algebra.equal(f, c.value(y)) {
		return byRational
	}
	return byNone
}

// A mathGroup is a formula that has members.
type mathGroup struct {
	kind    string // "" if none; "list", "union", "matrix", or the brackets: "()", "[)"
	members []string
}

// unordered lists the kinds whose members may come in any order.
var unordered = setOf(`list union \{\}`)

// splitMath finds the members of a formula.
func splitMath(s string) mathGroup {
	if rows, ok := matrix(s); ok {
		return mathGroup{"matrix", rows}
	}
	if parts := splitTop(s, `\cup`); len(parts) > 1 {
		return mathGroup{"union", parts}
	}
	if parts := splitTop(s, ", "); len(parts) > 1 {
		return mathGroup{"list", plusMinus(parts)}
	}
	if both := plusMinus([]string{s}); len(both) > 1 {
		return mathGroup{"list", both}
	}
	open, inner, shut := cutBrackets(s)
	if open == "" {
		return mathGroup{}
	}
	parts := splitTop(inner, ", ")
	return mathGroup{open + shut, parts}
}

// equalGroups compares two formulas of which one has members at least. A list is a
// set whose braces were left out.
func (c comparer) equalGroups(g, h mathGroup, depth int) string {
	if g.kind != h.kind && !(isSet[g.kind] && isSet[h.kind]) || len(g.members) != len(h.members) || len(g.members) > maxElements {
		return byNone
	}
	rest := slices.Clone(h.members)
	for _, m := range g.members {
		i := 0
		if unordered[g.kind] {
			i = slices.IndexFunc(rest, func(n string) bool { return c.equal(m, n, depth+1) != byNone })
		} else if c.equal(m, rest[0], depth+1) == byNone {
			i = -1
		}
		if i < 0 {
			return byNone
		}
		rest = slices.Delete(rest, i, i+1)
	}
	return byElement
}

var isSet = setOf(`list \{\}`)

// plusMinus turns one member with a single ± into two.
func plusMinus(parts []string) []string {
	var out []string
	for _, s := range parts {
		before, after, ok := strings.Cut(s, `\pm`)
		if !ok || strings.Contains(after, `\pm`) || strings.Contains(s, `\mp`) || len(parts) > maxElements {
			out = append(out, s)
			continue
		}
		after = strings.TrimPrefix(after, " ")
		plus := "+"
		if before == "" || strings.HasSuffix(before, "=") {
			plus = ""
		}
		out = append(out, before+plus+after, before+"-"+after)
	}
	return out
}

// bracketWidth returns how many bytes of s open (1) or close (-1) a bracket.
func bracketWidth(s string) (width, turn int) {
	switch s[0] {
	case '(', '[', '{':
		return 1, 1
	case ')', ']', '}':
		return 1, -1
	case '\\':
		switch {
		case strings.HasPrefix(s, `\{`):
			return 2, 1
		case strings.HasPrefix(s, `\}`):
			return 2, -1
		case len(s) > 1:
			return 2, 0
		}
	}
	return 1, 0
}

// splitTop splits at a mark that stands outside all brackets.
func splitTop(s, mark string) []string {
	var parts []string
	depth, from := 0, 0
	for i := 0; i < len(s); {
		if depth == 0 && strings.HasPrefix(s[i:], mark) {
			parts = append(parts, strings.TrimSpace(s[from:i]))
			i += len(mark)
			from = i
			continue
		}
		width, turn := bracketWidth(s[i:])
		depth += turn
		i += width
	}
	return append(parts, strings.TrimSpace(s[from:]))
}

// cutBrackets splits off the one pair of brackets that encloses a formula.
func cutBrackets(s string) (open, inner, shut string) {
	depth := 0
	for i := 0; i < len(s); {
		width, turn := bracketWidth(s[i:])
		if i == 0 {
			if turn != 1 || s[0] == '{' {
				return "", "", ""
			}
			open = s[:width]
		}
		if depth += turn; depth == 0 {
			if i+width < len(s) {
				return "", "", ""
			}
			return open, s[len(open):i], s[i:]
		}
		i += width
	}
	return "", "", ""
}

// matrix reads the entries of a matrix as text, with a mark after each row. The
// style of its brackets does not matter, except that a determinant is not a matrix.
func matrix(s string) ([]string, bool) {
	if open, inner, _ := cutBrackets(s); (open == "(" || open == "[") && strings.HasPrefix(inner, `\begin{array}`) {
		s = inner
	}
	rest, ok := strings.CutPrefix(s, `\begin{`)
	if !ok {
		return nil, false
	}
	name, rest, _ := strings.Cut(rest, "}")
	rest, ok = strings.CutSuffix(rest, `\end{`+name+`}`)
	if !ok || !matrices[name] || strings.Contains(rest, `\begin`) {
		return nil, false
	}
	var entries []string
	for _, row := range strings.Split(strings.TrimSuffix(rest, `\\`), `\\`) {
		entries = append(entries, strings.Split(row, "&")...)
		entries = append(entries, `\\`)
	}
	return entries, true
}

var matrices = setOf("matrix array pmatrix bmatrix Bmatrix smallmatrix")
