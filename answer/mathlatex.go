package answer

import (
	"strings"
	"unicode/utf8"

	"github.com/sotto-llm/sotto/internal/base/shorttext"
)

// Limits on mathematical answers. An answer beyond them is kept as it is written
// and judged too large, since no question of this kind has such an answer.
const (
	maxMath      = 16 << 10 // bytes
	maxMathDepth = 48       // groups within groups
)

// A latexKind is what a token of LaTeX is.
type latexKind uint8

const (
	latexNum     latexKind = iota // 12, 0.5, .5
	latexLetters                  // a run of letters
	latexCommand                  // \frac, \,
	latexText                     // what stands in \text{}
	latexSym                      // any other character
	latexOpen                     // {
	latexClose                    // }
	latexSpace
	latexThin // a space within a number: \, \!
)

type latexToken struct {
	kind latexKind
	text string
}

// latexDropped are commands that say how a formula looks, not what it means.
var latexDropped = setOf(`\left \right \middle \big \Big \bigg \Bigg \bigl \bigr \Bigl \Bigr
	\hline \biggl \biggr \Biggl \Biggr \displaystyle \textstyle \scriptstyle \limits \nolimits \mathstrut \rm \bf \it`)

// latexSpaces are commands that produce white space. Those of latexThins also
// separate the thousands of a number.
var (
	latexSpaces = setOf(`\quad \qquad \; \: \enspace \enskip \hspace \hfill`)
	latexThins  = setOf(`\, \! \thinspace`)
)

// latexTexts are commands whose argument is words.
var latexTexts = setOf(`\text \textrm \textbf \textit \textsf \texttt \textnormal \mbox \hbox \mathrm
	\mathbf \mathit \mathsf \boldsymbol \operatorname \emph \bm`)

// latexAliases are commands and characters with one meaning.
var latexAliases = map[string]string{
	`\dfrac`: `\frac`, `\tfrac`: `\frac`, `\cfrac`: `\frac`, `\dbinom`: `\binom`, `\tbinom`: `\binom`,
	`\wedge`: `\land`, `\vee`: `\lor`, "∧": `\land`, "∨": `\lor`, `\leqq`: `\le`, `\geqq`: `\ge`,
	`\leq`: `\le`, `\geq`: `\ge`, `\neq`: `\ne`, `\leqslant`: `\le`, `\geqslant`: `\ge`,
	`\lt`: `<`, `\gt`: `>`, `\to`: `\rightarrow`, `\lbrace`: `\{`, `\rbrace`: `\}`,
	`\lbrack`: `[`, `\rbrack`: `]`, `\lparen`: `(`, `\rparen`: `)`, `\colon`: `:`,
	`\cdot`: `*`, `\times`: `*`, `\ast`: `*`, `\div`: `/`, `\%`: `%`, `\$`: `$`, `\&`: `&`, `\#`: `#`, `\_`: `_`,
	`\degree`: `°`, `\degrees`: `°`, `\textdegree`: `°`, `\varnothing`: `\emptyset`, `\dots`: `\ldots`, `\cdots`: `\ldots`,
	`\vert`: `|`, `\lvert`: `|`, `\rvert`: `|`, `\mid`: `|`, `\euro`: `€`, `\pounds`: `£`,
	"π": `\pi`, "∞": `\infty`, "√": `\sqrt`, "±": `\pm`, "≤": `\le`, "≥": `\ge`, "≠": `\ne`, "≈": `\approx`,
	"∪": `\cup`, "∩": `\cap`, "∈": `\in`, "∅": `\emptyset`, "θ": `\theta`, "α": `\alpha`, "β": `\beta`, "λ": `\lambda`,
	"×": `*`, "·": `*`, "∗": `*`, "⋅": `*`, "÷": `/`, "∕": `/`, "⁄": `/`,
	"−": "-", "–": "-", "—": "-", "‐": "-", "‑": "-", "º": "°", "˚": "°", "…": `\ldots`, "′": "'", "’": "'",
	"²": "^2", "³": "^3", "½": `\frac12`, "¼": `\frac14`, "¾": `\frac34`, "⅓": `\frac13`, "⅔": `\frac23`,
}

// setOf returns the set of the words in a list.
func setOf(list string) map[string]bool {
	set := map[string]bool{}
	for _, word := range strings.Fields(list) {
		set[word] = true
	}
	return set
}

func isDigit(c byte) bool  { return '0' <= c && c <= '9' }
func isLetter(c byte) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' }

// lexLatex splits a formula into tokens and gives each a single name.
func lexLatex(s string) []latexToken {
	l := latexLexer{src: s}
	for l.at < len(l.src) {
		l.next()
	}
	return l.tokens
}

type latexLexer struct {
	src    string
	at     int
	tokens []latexToken
}

func (l *latexLexer) put(k latexKind, text string, n int) {
	l.tokens = append(l.tokens, latexToken{k, text})
	l.at += n
}

func (l *latexLexer) next() {
	rest := l.src[l.at:]
	switch c := rest[0]; {
	case isDigit(c), c == '.' && len(rest) > 1 && isDigit(rest[1]):
		n := numberLen(rest)
		l.put(latexNum, rest[:n], n)
	case isLetter(c):
		n := lettersLen(rest)
		l.put(latexLetters, rest[:n], n)
	case c == '\\':
		l.command(rest)
	case c == '{':
		l.put(latexOpen, "{", 1)
	case c == '}':
		l.put(latexClose, "}", 1)
	case c == '~', c <= ' ':
		l.put(latexSpace, " ", 1)
	case c < utf8.RuneSelf:
		l.put(latexSym, rest[:1], 1)
	default:
		l.rune(rest)
	}
}

// numberLen returns the length of the plain number that s begins with. Its point
// must be followed by a digit, or by the repeating part of a decimal.
func numberLen(s string) int {
	n := 0
	for n < len(s) && isDigit(s[n]) {
		n++
	}
	if n == len(s) || s[n] != '.' {
		return n
	}
	m := n + 1
	for m < len(s) && isDigit(s[m]) {
		m++
	}
	if m > n+1 || strings.HasPrefix(s[m:], `\overline{`) {
		return m
	}
	return n
}

func lettersLen(s string) int {
	n := 0
	for n < len(s) && isLetter(s[n]) {
		n++
	}
	return n
}

func (l *latexLexer) rune(rest string) {
	r, n := utf8.DecodeRuneInString(rest)
	switch r {
	case '\u2009', '\u202f', '\u00a0':
		l.put(latexThin, " ", n)
	case '\u200b', '\ufeff', '\u2061', '\u2062':
		l.at += n
	default:
		l.alias(rest[:n], n)
	}
}

// alias appends a character or command, or what it stands for.
func (l *latexLexer) alias(name string, n int) {
	as, ok := latexAliases[name]
	digits := numberLen(l.src[l.at+n:])
	switch {
	case name == "√" && digits > 0: // the root of all of the number
		root := l.src[l.at+n : l.at+n+digits]
		l.put(latexCommand, as, n+digits)
		l.tokens = append(l.tokens, latexToken{latexOpen, "{"}, latexToken{latexNum, root}, latexToken{latexClose, "}"})
	case !ok && name[0] == '\\':
		l.put(latexCommand, name, n)
	case !ok:
		l.put(latexSym, name, n)
	case as[0] == '\\' && !strings.HasPrefix(as, `\frac1`):
		l.put(latexCommand, as, n)
	case len(as) > 2: // a fraction, or a power
		l.tokens = append(l.tokens, lexLatex(as)...)
		l.at += n
	case as[0] == '^':
		l.tokens = append(l.tokens, latexToken{latexSym, "^"})
		l.put(latexNum, as[1:], n)
	default:
		l.put(latexSym, as, n)
	}
}

func (l *latexLexer) command(rest string) {
	n := 1 + lettersLen(rest[1:])
	if n == 1 {
		if len(rest) == 1 {
			l.put(latexSym, `\`, 1)
			return
		}
		_, size := utf8.DecodeRuneInString(rest[1:])
		n += size
	}
	switch name := rest[:n]; {
	case name == `\left` || name == `\right`:
		l.at += n
		if strings.HasPrefix(rest[n:], ".") { // no bracket at all
			l.at++
		}
	case latexDropped[name]:
		l.at += n
	case latexSpaces[name], name[1] <= ' ':
		l.put(latexSpace, " ", n)
	case latexThins[name]:
		l.put(latexThin, " ", n)
	case latexTexts[name]:
		l.words(rest, n)
	default:
		l.alias(name, n)
	}
}

// words takes the argument of a text command if it contains only words. Otherwise
// it drops only the command.
func (l *latexLexer) words(rest string, n int) {
	open := n + len(rest[n:]) - len(strings.TrimLeft(rest[n:], " "))
	end := strings.IndexAny(rest[open:], `}\$`)
	if end < 1 || rest[open] != '{' || rest[open+end] != '}' || strings.Contains(rest[open+1:open+end], "{") {
		l.at += n
		return
	}
	words := shorttext.OneLine(rest[open+1 : open+end])
	if numberLen(words) == len(words) { // \text{5}, or nothing
		l.at += n
		return
	}
	l.put(latexText, words, open+end+1)
}

// peelMath removes what stands around a formula: white space, marks of mathematics,
// code and bold, a box, and the full stop of the sentence.
func peelMath(s string) string {
	for {
		was := s
		s = strings.TrimSpace(s)
		for _, w := range mathWraps {
			s = unwrap(s, w[0], w[1])
		}
		for _, box := range []string{`\boxed`, `\fbox`, `\framebox`} {
			s = unwrapCommand(s, box)
		}
		s = strings.TrimPrefix(trimStops(s), "=")
		if s == was {
			return s
		}
	}
}

// trimStops removes the stops at the end of a sentence, and commands that produce
// white space. A factorial is not a stop.
func trimStops(s string) string {
	for s != "" {
		r, n := utf8.DecodeLastRuneInString(s)
		if !strings.ContainsRune(".,;:。，；： \t\r\n", r) {
			break
		}
		s = s[:len(s)-n]
		if bare := strings.TrimRight(s, `\`); (len(s)-len(bare))%2 == 1 {
			s = s[:len(s)-1]
		}
	}
	return s
}

var mathWraps = [][2]string{{"$$", "$$"}, {"$", "$"}, {`\(`, `\)`}, {`\[`, `\]`}, {"**", "**"}, {"`", "`"}}

// unwrap removes a pair of marks, unless they do not belong together: "$5 or $6" is
// not a formula.
func unwrap(s, open, shut string) string {
	if len(s) < len(open)+len(shut) || !strings.HasPrefix(s, open) || !strings.HasSuffix(s, shut) {
		return s
	}
	inner := s[len(open) : len(s)-len(shut)]
	if strings.Contains(inner, shut) || strings.HasSuffix(inner, `\`) {
		return s
	}
	return inner
}

// unwrapCommand removes \boxed{…} if it is the whole of s.
func unwrapCommand(s, name string) string {
	rest, ok := strings.CutPrefix(s, name)
	if !ok {
		return s
	}
	rest = strings.TrimLeft(rest, " ")
	if end := closingBrace(rest); end == len(rest)-1 && end > 0 {
		return rest[1:end]
	}
	return s
}

// closingBrace returns where the group that s begins with ends, or -1.
func closingBrace(s string) int {
	if s == "" || s[0] != '{' {
		return -1
	}
	depth := 0
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case '\\':
			i++
		case '{':
			depth++
		case '}':
			if depth--; depth == 0 {
				return i
			}
		}
	}
	return -1
}

// settle applies f to s without the white space around it until nothing changes.
func settle(s string, f func(string) string) string { return rest(strings.TrimSpace(s), f) }

// rest applies f until nothing changes, so that applying f to the result again
// changes nothing. A text that does not settle is left as it was written.
func rest(s string, f func(string) string) string {
	now := s
	for range 8 {
		next := f(now)
		if next == now {
			return now
		}
		now = next
	}
	return s
}
