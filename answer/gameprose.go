package answer

import (
	"strings"
	"unicode/utf8"
)

// maxRuns is how many runs of a sentence, and parts of them between equals signs, are looked at for an
// expression, and maxRun how long one may be, in bytes.
const (
	maxRuns = 32
	maxRun  = 200
)

// An expresser finds the expression of a number of numbers that a sentence holds: a game.
type expresser interface {
	operands(p Problem) int
	expression(sentence string, p Problem, operands int) Span
}

// expressed takes the expression that one of the last sentences gives, if the task asks for one
// with given numbers, and no line is one: "It is simple: 9 + 5 + 5 + 5 = 24."
func (s *search) expressed(out *Extraction) bool {
	t, ok := s.task.(expresser)
	if !ok {
		return false
	}
	operands := t.operands(s.problem)
	if operands == 0 {
		return false // any formula would do
	}
	d := &s.discourse
	for i := len(d.sentences) - 1; i >= max(0, len(d.sentences)-maxPassed); i-- {
		sn := &d.sentences[i]
		sp := t.expression(s.text[sn.Start:sn.End], s.problem, operands)
		if sp.End == 0 {
			continue
		}
		sp = Span{sn.Start + sp.Start, sn.Start + sp.End}
		if d.force(sn, sp.Start, sp.Start) != asserted || s.takenBackAfter(sp.End) {
			break
		}
		s.forget()
		s.keep(find{value: sp, method: methodConclusion})
		return s.settle(out, methodConclusion)
	}
	return false
}

// takenBackAfter reports whether the reply takes back, after a place, what it says before.
func (s *search) takenBackAfter(at int) bool {
	for _, t := range s.discourse.turns {
		if t.at >= at && t.void {
			return true
		}
	}
	return false
}

// expression returns the last part of a sentence that is an expression of the given numbers.
func (g *game) expression(text string, p Problem, operands int) (found Span) {
	left := maxRuns
	for at := 0; at < len(text) && left > 0; {
		n := runOf(text[at:])
		if n == 0 {
			_, size := utf8.DecodeRuneInString(text[at:])
			at += size
			continue
		}
		left--
		if before, _ := utf8.DecodeLastRuneInString(text[:at]); spaced(before) {
			at += n // a part of a word
			continue
		}
		for from := at; from < at+n && left > 0; left-- {
			end := from
			if k := strings.IndexAny(text[from:at+n], "=＝"); k >= 0 {
				end += k
			} else {
				end = at + n
			}
			part := trim(text, Span{from, end})
			if numbersIn(text[part.Start:part.End]) == operands && g.Precheck(text[part.Start:part.End], p) {
				found = part
			}
			_, size := utf8.DecodeRuneInString(text[end:])
			from = end + max(1, size)
		}
		at += n
	}
	return found
}

// operands returns how many numbers a problem gives. It returns 0 for Countdown, in which replies try
// many expressions aloud, and the last try is not an answer.
func (g *game) operands(p Problem) int {
	if g.target == "" {
		return 0
	}
	var room [8]string
	numbers, _ := g.problem(p, room[:0])
	return len(numbers)
}

// numbersIn returns how many runs of digits a text has, in any width.
func numbersIn(text string) int {
	n, within := 0, false
	for _, r := range text {
		is := isDigit(byte(r)) && r < utf8.RuneSelf || '０' <= r && r <= '９'
		if is && !within {
			n++
		}
		within = is
	}
	return n
}

// runOf returns the length of the run of an expression's characters with which a text begins. A
// run begins with a digit or a bracket.
func runOf(text string) int {
	n := 0
	for n < len(text) && n < maxRun {
		r, size := utf8.DecodeRuneInString(text[n:])
		c := byte(r)
		if r >= utf8.RuneSelf {
			c = letters[r]
		}
		switch {
		case r == '\\':
			k := latexOperator(text[n:])
			if _, _, whole := fractionAt(text[n:]); whole > 0 {
				k = whole
			} else if k == 0 || n == 0 && text[:k] != `\left` {
				return n
			}
			size = k
		case r == '=' || r == '＝' || r == ' ':
			if n == 0 {
				return 0
			}
		case isDigit(c) || c == '(' || c == '[' || c == '{':
		case c != 0 && strings.IndexByte("+-*/)]}", c) >= 0:
			if n == 0 {
				return 0
			}
		case r == ':' && n > 0 && dividesAt(text, n):
		case (r == 'x' || r == 'X') && n > 0 && isOperator(text[:min(n+maxBlank, len(text))], n):
		default:
			return n
		}
		n += size
	}
	return n
}

// maxBlank is more than the spaces between an operator and its operands, in bytes.
const maxBlank = 8

// dividesAt reports whether a colon in a run divides: a space stands before it, or none after it.
// After the number of a step there is a space, and none before the colon.
func dividesAt(text string, at int) bool {
	return text[at-1] == ' ' || at+1 < len(text) && text[at+1] != ' '
}

// operated returns an expression in which a colon that divides is a slash, and an x between operands
// is a star, or s if it does not become an expression: "12 : (3 - 5 : 2)", "3 x 8".
func operated(s string) string {
	if !strings.ContainsAny(s, ":xX") || len(s) > maxExpression {
		return s
	}
	b := []byte(s)
	for i, c := range b {
		sign := byte('/')
		switch c {
		case ':':
		case 'x', 'X':
			sign = '*'
		default:
			continue
		}
		if !isOperator(s, i) {
			return s
		}
		b[i] = sign
	}
	if legalExpression(string(b)) >= 0 {
		return s
	}
	return string(b)
}

// isOperator reports whether the byte at a place stands between two operands.
func isOperator(s string, at int) bool {
	before, after := strings.TrimRight(s[:at], " "), strings.TrimLeft(s[at+1:], " ")
	return before != "" && after != "" && (isDigit(before[len(before)-1]) || before[len(before)-1] == ')') && (isDigit(after[0]) || after[0] == '(')
}

// latexOperator returns the length of the command for an operator with which a text begins, or 0.
func latexOperator(text string) int {
	for _, w := range words {
		if strings.HasPrefix(text, w.latex) {
			return len(w.latex)
		}
	}
	return 0
}
