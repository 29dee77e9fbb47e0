package answer

import (
	"strings"
	"unicode/utf8"
)

// signs are what a model writes between an expression and the value that it claims.
// "=>" begins with one of them. The last is → read in the wrong encoding.
var signs = []string{"=", "->", "→", "⇒", "＝", "â†’"}

// cleanExpression makes a bare expression of a candidate. It cuts the candidate at
// the first sign, removes what wraps it, and spells characters of other alphabets
// in ASCII. If a number stands before the sign and an expression after it, the
// value comes first ("24 = 3 * 8"). The result is then the text after the sign, up
// to the next sign.
func cleanExpression(s string) string {
	s = strings.Trim(s, white)
	left, right, cut := cutSign(s)
	expr := sloped(unwrapped(left))
	if !cut {
		return operated(spelled(unended(expr)))
	}
	if isDigits(expr) && expr != "" {
		next, _, more := cutSign(right)
		next = sloped(unwrapped(next))
		if !more {
			next = unended(next)
		}
		if next = operated(spelled(next)); !isDigits(next) && legalExpression(next) < 0 {
			return next
		}
	}
	return operated(spelled(expr))
}

// sloped writes the fractions of LaTeX with a slash: "8/(3-8/3)" as ((8)/((3)-…)), with brackets
// around each part. A fraction that it cannot read stays.
func sloped(s string) string {
	if len(s) > maxExpression || !strings.Contains(s, `frac`) {
		return s
	}
	var b strings.Builder
	slope(&b, s, maxFractions)
	return b.String()
}

// maxFractions is how deep fractions may nest.
const maxFractions = 8

func slope(b *strings.Builder, s string, depth int) {
	for {
		k := strings.IndexByte(s, '\\')
		if k < 0 || depth == 0 {
			b.WriteString(s)
			return
		}
		b.WriteString(s[:k])
		s = s[k:]
		above, below, n := fractionAt(s)
		if n == 0 {
			b.WriteByte('\\')
			s = s[1:]
			continue
		}
		b.WriteString("((")
		slope(b, above, depth-1)
		b.WriteString(")/(")
		slope(b, below, depth-1)
		b.WriteString("))")
		s = s[n:]
	}
}

// fractionAt returns the parts of the fraction with which a text in LaTeX begins, and its length, or 0.
func fractionAt(s string) (above, below string, n int) {
	for _, command := range []string{`\frac`, `\dfrac`, `\tfrac`} {
		rest, ok := strings.CutPrefix(s, command)
		if !ok {
			continue
		}
		if above, rest, ok = partOf(rest); !ok {
			return "", "", 0
		}
		if below, rest, ok = partOf(rest); !ok {
			return "", "", 0
		}
		return above, below, len(s) - len(rest)
	}
	return "", "", 0
}

// partOf returns the argument of a command in LaTeX with which a text begins, a group or a digit.
func partOf(s string) (part, rest string, ok bool) {
	s = strings.TrimLeft(s, " ")
	if s == "" {
		return "", "", false
	}
	if isDigit(s[0]) {
		return s[:1], s[1:], true
	}
	depth := 0
	for i := range len(s) {
		switch s[i] {
		case '{':
			depth++
		case '}':
			depth--
		}
		if depth == 0 {
			return s[min(1, i):i], s[i+1:], i > 0
		}
	}
	return "", "", false
}

// foreign are the bytes of an expression that need another spelling.
var foreign = func() (t [256]bool) {
	for _, c := range []byte(`[]{}\$`) {
		t[c] = true
	}
	for c := utf8.RuneSelf; c < 256; c++ {
		t[c] = true
	}
	return t
}()

// cutSign cuts s at the first sign.
func cutSign(s string) (left, right string, found bool) {
	for i := 0; i < len(s); i++ {
		c := s[i]
		if c != '=' && c != '-' && c < utf8.RuneSelf {
			continue
		}
		for _, sign := range signs {
			if c == sign[0] && strings.HasPrefix(s[i:], sign) {
				right = s[i+len(sign):]
				if sign == "=" {
					right = strings.TrimLeft(right, "=>")
				}
				return s[:i], right, true
			}
		}
	}
	return s, "", false
}

// isDigits reports whether s is one number, or empty.
func isDigits(s string) bool {
	for i := 0; i < len(s); i++ {
		if s[i]-'0' >= 10 {
			return false
		}
	}
	return true
}

// unended removes the punctuation that ends a sentence, unless s is itself a
// sentence.
func unended(s string) string {
	for i := 0; i < len(s); i++ {
		if c := lower(s[i]); c-'a' < 26 && c != 'x' {
			return s
		}
	}
	for _, end := range []string{".", ",", ";", "!", "。", "，"} {
		if rest, ok := strings.CutSuffix(s, end); ok {
			return unwrapped(rest)
		}
	}
	return s
}

// unwrapped removes what wraps an expression and is never part of one: code marks,
// marks of mathematics, a box, bold. A single * or _ is removed only if one stands
// at each end.
func unwrapped(s string) string {
	for {
		was := len(s)
		s = strings.Trim(s, white+"`$~")
		for _, run := range []string{"**", "__"} {
			s = strings.TrimSuffix(strings.TrimPrefix(s, run), run)
		}
		if n := len(s); n > 1 && s[0] == s[n-1] && (s[0] == '*' || s[0] == '_') {
			s = s[1 : n-1]
		}
		for _, mark := range []string{`\(`, `\[`} { // its end may have been cut off with the claimed value
			s = strings.TrimPrefix(s, mark)
		}
		for _, mark := range []string{`\)`, `\]`} {
			s = strings.TrimSuffix(s, mark)
		}
		if len(s) <= maxExpression {
			s = unboxed(s)
		}
		if len(s) == was {
			return s
		}
	}
}

// unboxed removes a box, whose end may have been cut off.
func unboxed(s string) string {
	for _, opener := range boxOpeners {
		if rest, ok := strings.CutPrefix(s, opener+"{"); ok {
			if strings.Count(rest, "}") > strings.Count(rest, "{") {
				rest = strings.TrimSuffix(rest, "}")
			}
			return rest
		}
	}
	return s
}

// words are the LaTeX commands used to write an expression.
var words = []struct{ latex, ascii string }{
	{`\times`, "*"}, {`\cdot`, "*"}, {`\div`, "/"}, {`\left`, ""}, {`\right`, ""}, {`\,`, " "}, {`\ `, " "},
}

// letters are characters of other alphabets, each with one meaning in an
// expression.
var letters = map[rune]byte{
	'×': '*', '✕': '*', '✖': '*', '·': '*', '⋅': '*', '∙': '*', '•': '*', '∗': '*', '＊': '*',
	'÷': '/', '∕': '/', '⁄': '/', '／': '/', '➗': '/',
	'−': '-', '–': '-', '—': '-', '‐': '-', '‑': '-', '－': '-', '﹣': '-', '➖': '-',
	'＋': '+', '﹢': '+', '➕': '+',
	'（': '(', '［': '(', '｛': '(', '）': ')', '］': ')', '｝': ')',
	'\u00a0': ' ', '\u2002': ' ', '\u2003': ' ', '\u2009': ' ', '\u200a': ' ', '\u202f': ' ', '\u3000': ' ',
	'０': '0', '１': '1', '２': '2', '３': '3', '４': '4', '５': '5', '６': '6', '７': '7', '８': '8', '９': '9',
}

// spelled spells an expression in ASCII. It leaves what it does not know unchanged.
func spelled(s string) string {
	for i := 0; i < len(s); i++ {
		if foreign[s[i]] {
			return strings.Trim(respelled(s), white)
		}
	}
	return s
}

func respelled(s string) string {
	var b strings.Builder
	b.Grow(len(s))
	for i := 0; i < len(s); {
		c := s[i]
		n := 1
		switch {
		case c == '[' || c == '{':
			b.WriteByte('(')
		case c == ']' || c == '}':
			b.WriteByte(')')
		case c == '\\':
			n = spellWord(&b, s[i:])
		case c < utf8.RuneSelf:
			b.WriteByte(c)
		default:
			var r rune
			r, n = utf8.DecodeRuneInString(s[i:])
			switch a := letters[r]; {
			case r == '\u200b' || r == '\ufe0f': // they show nothing
			case a != 0:
				b.WriteByte(a)
			default:
				b.WriteString(s[i : i+n])
			}
		}
		i += n
	}
	return b.String()
}

func spellWord(b *strings.Builder, s string) int {
	for _, w := range words {
		if strings.HasPrefix(s, w.latex) {
			b.WriteString(w.ascii)
			return len(w.latex)
		}
	}
	b.WriteByte('\\')
	return 1
}
