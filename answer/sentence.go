package answer

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxSentence is how much of a sentence is read at once, in bytes.
const maxSentence = 600

// A sentence is a part of a text up to a stop or the end of a line, and the words of
// the table in it.
type sentence struct {
	Span
	stop  string // the mark that ends it: ".", "?", "。" … or ""
	marks []mark
	uses  use // of all marks
}

// sentenceIn returns the sentence of text that begins at from, and where the next
// one does.
func sentenceIn(text string, from int) (s sentence, next int) {
	end := lineEndIn(text, from, min(len(text), from+maxSentence))
	begin := from
	if n := rowMark(text, from, end); n > 0 && (from == 0 || text[from-1] == '\n') {
		begin += n // "1. Count the eggs."
	}
	if n := sentenceEnd(text[begin:end]); n >= 0 {
		end = begin + n
	}
	for end < len(text) && end > from && !utf8.RuneStart(text[end]) {
		end--
	}
	s.Span = Span{min(skipBlanks(text, from), end), end}
	next = end
	for next < len(text) {
		r, n := utf8.DecodeRuneInString(text[next:])
		if r == '\n' {
			return s, next + 1
		}
		if !strings.ContainsRune(".!?。！？…*_\"”’)」』", r) {
			break
		}
		s.stop = text[end : next+n]
		next += n
	}
	if next == from {
		next++
	}
	return s, next
}

// rowMark is the list mark of a line. A list does not begin with a number other than 1 at
// the beginning of a text: "42. Let me check."
func rowMark(text string, from, end int) int {
	if from == 0 && end > 1 && isDigit(text[0]) && (text[0] != '1' || isDigit(text[1])) {
		return 0
	}
	return listMark(text[from:end])
}

// has returns the first mark of a use that begins in text[from:to].
func (s *sentence) has(uses use, from, to int) (mark, bool) {
	if s.uses&uses == 0 {
		return mark{}, false
	}
	for _, m := range s.marks {
		if m.uses&uses != 0 && from <= m.start && m.start < to {
			return m, true
		}
	}
	return mark{}, false
}

// clauseStart returns where the clause of a place begins.
func (s *sentence) clauseStart(text string, at int) int {
	start := s.Start
	head := text[s.Start:at]
	for _, stop := range []string{", ", "，", "、", "—", "; ", "；", ": ", "：", " – "} {
		if k := strings.LastIndex(head, stop); k >= 0 {
			start = max(start, s.Start+k+len(stop))
		}
	}
	for _, m := range s.marks {
		if m.uses&(useSo|useBut) != 0 && m.uses&(useIs|useNot|useIt) == 0 && m.end <= at {
			start = max(start, m.end)
		}
	}
	return start
}

// quotedIn reports whether a quotation mark is open at a place of its line.
func quotedIn(text string, at int) bool {
	line := text[max(0, at-4*maxSentence):at]
	line = line[strings.LastIndexByte(line, '\n')+1:]
	if strings.Count(line, `"`)%2 == 1 {
		return true
	}
	for _, pair := range [][2]string{{"“", "”"}, {"「", "」"}, {"『", "』"}, {"«", "»"}, {"„", "“"}} {
		if strings.Count(line, pair[0]) > strings.Count(line, pair[1]) && (pair[0] != "“" || !strings.Contains(line, "„")) {
			return true
		}
	}
	return false
}

// quotedFrom reports whether a quotation begins directly before a place, after another
// one: the answer is "no".
func quotedFrom(text string, from, at int) bool {
	r, _ := utf8.DecodeLastRuneInString(text[from:at])
	return strings.ContainsRune("\"“「『«„", r)
}

// abbreviations are words whose point does not end a sentence.
var abbreviations = setOf(`St Dr Mr Mrs Ms Prof Jr Sr Mt Ft vs etc Inc Ltd Co Corp approx ca cf e.g i.e Nr Sra Mme`)

// sentenceEnd returns where the first sentence of s ends, before its stop, or -1. A
// stop ends a sentence before white space that no digit or lower-case letter
// follows, or at the end.
func sentenceEnd(s string) int {
	inFormula := false
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == '\\':
			i++
		case c == '$':
			inFormula = !inFormula && !isMoney(s[i:])
			if i+1 < len(s) && s[i+1] == '$' {
				i++
			}
		case inFormula:
		case c == '\n':
			return i
		case c == '.' || c == '!' || c == '?':
			if stopsAt(s, i) {
				return i
			}
		case c >= utf8.RuneSelf:
			if strings.HasPrefix(s[i:], "。") || strings.HasPrefix(s[i:], "！") || strings.HasPrefix(s[i:], "？") {
				return i
			}
		}
	}
	return -1
}

// isMoney reports whether a dollar sign stands before an amount, and opens no
// formula: no other one follows on its line, or only after a sentence.
func isMoney(s string) bool {
	k := strings.IndexAny(s[1:], "$\n")
	return len(s) > 1 && isDigit(s[1]) && (k < 0 || s[1+k] == '\n' || strings.Contains(s[1:1+k], ". ") || strings.Contains(s[1:1+k], " and "))
}

func stopsAt(s string, i int) bool {
	k := i + 1
	for k < len(s) && strings.IndexByte(".!?*_\"')$", s[k]) >= 0 {
		k++
	}
	word := s[:i]
	if j := strings.LastIndexAny(word, " \t(*_\"$"); j >= 0 {
		word = word[j+1:]
	}
	short := s[i] == '.' && (abbreviations[word] || len(word) == 1 && 'A' <= word[0] && word[0] <= 'Z' || isInitials(word))
	if r, n := utf8.DecodeRuneInString(word); n == len(word) && unicode.IsLower(r) && k < len(s) {
		return false // z. B.
	}
	if k == len(s) {
		return !short
	}
	if !isWhite(s[k]) {
		after, _ := utf8.DecodeRuneInString(s[k:])
		return s[i] == '?' && isCJK(after) // "等于25?不对"
	}
	next := strings.TrimLeft(s[k:], white+"¿¡*_")
	r, _ := utf8.DecodeRuneInString(next)
	if short && len(word) == 1 && i > 1 && s[i-2] == ' ' && opensSentence(next) {
		return true // "The answer is B. It …"
	}
	if last, _ := utf8.DecodeLastRuneInString(word); unicode.In(last, unicode.Hangul, unicode.Han, unicode.Hiragana, unicode.Katakana) {
		return true // no abbreviation stands before a number there: "맞습니다. 91은"
	}
	return !short && !unicode.IsLower(r) && !unicode.IsDigit(r)
}

// openers are words with which a sentence begins, and no name.
var openers = setOf(`The This That These As So Thus Therefore However Because Since It In If Let My But And We I You There Hence Its Option Both Other All For Here What With By To Not One`)

// opensSentence reports whether a text begins with a word that begins a sentence.
func opensSentence(s string) bool {
	end := 0
	for end < len(s) && isLetter(s[end]) {
		end++
	}
	if openers[s[:end]] {
		return true
	}
	for _, m := range lexicon().marks(nil, s, 0, min(len(s), 24)) {
		if m.start == 0 && m.end > 1 && m.uses&(useWait|useVoid|useSo|useThis|useIf|useNoun|useBut|useNot|useKeep|useNote|useYes|useNo|useIs|useSlip|useDrop) != 0 {
			return true
		}
	}
	return false
}

// isInitials reports whether a word has points within it: U.S, D.C.
func isInitials(word string) bool {
	for len(word) > 2 && word[1] == '.' && isLetter(word[0]) {
		word = word[2:]
	}
	return len(word) == 1 && isLetter(word[0]) && 'A' <= word[0] && word[0] <= 'Z'
}
