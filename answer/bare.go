package answer

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// isBare reports whether a text is nothing but an answer.
func (s *search) isBare(text string) bool {
	sp := s.bareIn(text)
	return sp.Start < sp.End
}

func (s *search) bareIn(text string) Span {
	if s.form.Bare == nil {
		return Span{}
	}
	if s.form.Extent == FirstLine {
		if sp := jsonReply(text, s.problem); sp.Start < sp.End {
			return sp
		}
	}
	return s.form.Bare(text, s.problem)
}

// bare takes the answer of a reply that is nothing but an answer.
func (s *search) bare(out *Extraction) bool {
	if s.form.Bare == nil {
		return false
	}
	sp := s.bareIn(s.text)
	candidate := ""
	if sp.Start < sp.End && (!s.reading.cut || s.bounded) && !s.deniedBare(sp) {
		candidate = s.normal(s.text[sp.Start:sp.End])
	}
	if candidate == "" {
		s.attempt(methodBare, 0, nil, "")
		return false
	}
	out.Candidate, out.Method, out.Status = candidate, methodBare, statusOf(candidate)
	s.record(out, sp)
	s.attempt(methodBare, 1, out.Span, "")
	return true
}

// deniedBare reports whether a reply that seems to be nothing but an answer denies it, or
// asks: "33 is not it!", "7 days, maybe?"
func (s *search) deniedBare(sp Span) bool {
	sn := s.discourse.sentenceAt(min(sp.Start+1, len(s.text)))
	if sn == nil || !s.form.Conclusions || s.named() {
		return false
	}
	if _, unsure := sn.has(useMaybe, sn.Start, sn.End); unsure && (asks(sn) || s.form.Letters && sn.Start <= sp.Start && strings.ContainsFunc(s.text[sn.Start:sn.End], isCJK)) {
		return true
	}
	if s.form.Letters {
		return false
	}
	_, never := sn.has(useNever, sn.Start, sn.End)
	return never && s.form.Value(s.text[sn.Start:sn.End], s.problem).End == 0
}

// maxBare is how long a reply that is nothing but an answer may be, in bytes.
const maxBare = 200

// onlyLine returns the one line of a text, without the marks of a list or a
// quotation. ok is false if there are several, or if it is too long.
func onlyLine(text string) (sp Span, ok bool) {
	sp = trim(text, Span{0, len(text)})
	if sp.Start == sp.End || sp.End-sp.Start > maxBare {
		return Span{}, false
	}
	if lines := text[sp.Start:sp.End]; strings.IndexByte(lines, '\n') >= 0 {
		sp = wrapped(text, sp)
		if strings.IndexByte(text[sp.Start:sp.End], '\n') >= 0 {
			return Span{}, false
		}
	}
	sp.Start += listMark(text[sp.Start:sp.End])
	sp.Start = skipSymbols(text, sp.Start, sp.End)
	return sp, sp.Start < sp.End
}

// skipSymbols skips arrows, emoji and inverted marks before an answer.
func skipSymbols(text string, i, end int) int {
	at := i
	for k := i; k < end; {
		r, n := utf8.DecodeRuneInString(text[k:end])
		switch {
		case r == ' ' || r == 0xfe0f || r == '¡' || unicode.Is(unicode.So, r) || arrowAt(text[k:end]) > 0:
			k += max(n, arrowAt(text[k:end]))
			at = k
		default:
			return at
		}
	}
	return i
}

// wrapped returns a span without the delimiters on the lines around it.
func wrapped(text string, sp Span) Span {
	for {
		first, last := lineEndIn(text, sp.Start, sp.End), strings.LastIndexByte(text[sp.Start:sp.End], '\n')
		switch {
		case last < 0:
			return sp
		case isDelimiter(text[sp.Start:first]):
			sp.Start = first
		case isDelimiter(text[sp.Start+last : sp.End]):
			sp.End = sp.Start + last
		default:
			return sp
		}
		sp = trim(text, sp)
	}
}

// bareLine accepts a reply of one line.
func bareLine(text string, _ Problem) Span {
	sp, _ := onlyLine(text)
	return untagged(text, sp)
}

// bareAmount accepts a number on the only line, with a unit of a few words.
func bareAmount(text string, _ Problem) Span {
	sp, ok := onlyLine(text)
	if !ok {
		return Span{}
	}
	if inner := text[sp.Start:sp.End]; strings.HasPrefix(inner, "(") && strings.HasSuffix(inner, ")") && !strings.ContainsAny(inner, ",;") && bareNumber(inner[1:len(inner)-1]) {
		return Span{sp.Start + 1, sp.End - 1} // "(5)"
	}
	clean := cleanNumber(text[sp.Start:sp.End])
	if side, ok := rightSide(clean); ok {
		clean = side
	}
	m := numberExpr.FindString(clean)
	if m != "" && otherAmount(clean[len(m):]) {
		return Span{}
	}
	if rest := clean[len(m):]; m == "" || rest != "" && !isUnit(" "+strings.TrimLeft(rest, " %°")) && strings.Trim(rest, " %°") != "" {
		return Span{}
	}
	return sp
}

// otherAmount reports whether the text after a number gives another amount, outside
// brackets: "56 parts in a shift. In two shifts that makes 112." A check or a note is not
// looked at, and neither is a formula.
func otherAmount(rest string) bool {
	if !strings.ContainsAny(rest, bareDigits) || strings.IndexByte(rest, '\\') >= 0 {
		return false
	}
	for _, m := range lexicon().marks(nil, rest, 0, len(rest)) {
		if m.uses&useNote != 0 {
			rest = rest[:m.start]
			break
		}
	}
	for _, sp := range amountSpans(rest) {
		if !bracketOpen(rest, 0, sp.Start) {
			return true
		}
	}
	return false
}

// rightOfWords returns what follows the last equals sign of a text, if words stand before it:
// "Solving it: x = (6 - 14)/2 = -4".
func rightOfWords(text string, sp Span) Span {
	k := strings.LastIndexByte(text[sp.Start:sp.End], '=')
	if k < 0 || strings.IndexByte(text[sp.Start:sp.End], '\\') >= 0 {
		return sp
	}
	run := 0
	for _, r := range text[sp.Start : sp.Start+k] {
		if run++; !unicode.IsLetter(r) {
			run = 0
		}
		if run == 3 || isCJK(r) {
			return trim(text, Span{sp.Start + k + 1, sp.End})
		}
	}
	return sp
}

// bareFormula accepts a formula, or a number, on the only line.
func bareFormula(text string, p Problem) Span {
	sp, ok := onlyLine(text)
	if !ok {
		return Span{}
	}
	for _, m := range lexicon().marks(nil, text, sp.Start, min(sp.End, sp.Start+maxLead)) {
		if m.uses&useSo != 0 && m.start == sp.Start && !strings.ContainsFunc(text[m.end:sp.End], isCJK) {
			return Span{} // "So y = 2x + 1."
		}
	}
	if first := strings.IndexFunc(text[sp.Start:sp.End], func(r rune) bool { return unicode.IsDigit(r) || strings.ContainsRune("$\\√π", r) }); first > 0 && isClause(text[sp.Start:sp.Start+first]) {
		return Span{} // a sentence
	}
	if sp := bareAmount(text, p); sp.Start < sp.End {
		return rightOfWords(text, sp)
	}
	s := strings.TrimRight(text[sp.Start:sp.End], ".")
	if strings.ContainsFunc(s, func(r rune) bool { return r >= utf8.RuneSelf && unicode.IsLetter(r) && !unicode.Is(unicode.Greek, r) }) {
		return Span{} // words
	}
	for _, m := range [][2]string{{"$$", "$$"}, {"$", "$"}, {`\(`, `\)`}, {`\[`, `\]`}} {
		if inner := unwrap(s, m[0], m[1]); inner != s {
			return sp
		}
	}
	if strings.ContainsFunc(s, func(r rune) bool { return r == '?' || r == '!' }) || !strings.ContainsAny(s, "0123456789π√\\^") {
		return Span{}
	}
	for _, word := range strings.FieldsFunc(s, func(r rune) bool { return r >= 0x80 || !isLetter(byte(r)) && r != '\\' }) {
		if len(word) > 2 && word[0] != '\\' && !slices.Contains([]string{"sin", "cos", "tan", "log", "exp", "sqrt", "pi"}, word) {
			return Span{}
		}
	}
	return sp
}

// jsonReply returns the value of the answer in a reply that is one JSON object, alone
// or in a fence.
func jsonReply(text string, p Problem) Span {
	sp := trim(text, Span{0, len(text)})
	if sp.End-sp.Start < 2 || sp.End-sp.Start > maxJSON {
		return Span{}
	}
	if open, _ := fenceOf(text[sp.Start:lineEndIn(text, sp.Start, sp.End)]); open.size > 0 {
		sp = wrapped(text, sp)
	}
	if sp.Start == sp.End || text[sp.Start] != '{' || text[sp.End-1] != '}' {
		return Span{}
	}
	found := findJSONAnswer(text[sp.Start:sp.End], p)
	if len(found) == 0 {
		return Span{}
	}
	last := found[len(found)-1]
	last = Span{sp.Start + last.Start, sp.Start + last.End}
	if v := text[last.Start:last.End]; len(v) > 2 && (v[0] == '"' || v[0] == '\'') && v[len(v)-1] == v[0] && strings.IndexByte(v, '\\') < 0 {
		return Span{last.Start + 1, last.End - 1}
	}
	return last
}
