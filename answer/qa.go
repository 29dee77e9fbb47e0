package answer

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/sotto-llm/sotto/internal/base/shorttext"
)

// QA is the task of short answers in words: "qa".
//
// Answers are compared as SQuAD compares them: in lower case, without punctuation
// or articles, with single spaces, and as a whole. You can give several golds,
// separated by "|"; each is right. The last Finish[…] of a reply is its answer, the
// form used by agents that reason and act.
var QA Task = qaTask{}

type qaTask struct{}

const maxQA = 16 << 10 // bytes of a candidate

func (qaTask) Name() string { return "qa" }

func (qaTask) Form() Form {
	return Form{
		Rules:       "qa/5",
		Markers:     wordMarkers().list,
		markers:     wordMarkers(),
		Extent:      FirstLine,
		Boxed:       true,
		Find:        findFinish,
		Method:      "finish",
		Sayings:     true,
		Value:       nameIn,
		Conclusions: true,
		Bare:        bareName,
	}
}

// wordMarkers precede answers in words.
var wordMarkers = said("Ans", "A")

const finishMark = "Finish["

// findFinish finds the arguments of Finish[…]. Each ends at its closing bracket on
// the same line, and before the next Finish[.
func findFinish(text string, _ Problem) []Span {
	var found []Span
	at := strings.Index(text, finishMark)
	for at >= 0 {
		at += len(finishMark)
		next := strings.Index(text[at:], finishMark)
		argument := text[at:]
		if next >= 0 {
			argument = text[at : at+next]
		}
		if end := closingSquare(argument); end >= 0 {
			found = append(found, Span{at, at + end})
		}
		if next < 0 {
			break
		}
		at += next
	}
	return found
}

// closingSquare returns where the bracket opened before s closes, on the first line
// of s, or -1.
func closingSquare(s string) int {
	depth := 1
	for i := 0; i < len(s) && s[i] != '\n'; i++ {
		switch s[i] {
		case '[':
			depth++
		case ']':
			if depth--; depth == 0 {
				return i
			}
		}
	}
	return -1
}

// Normalise removes marks and the stop at the end. The text used for comparison is
// made later, so that the candidate stays readable.
func (qaTask) Normalise(candidate string) string {
	return settle(candidate, func(s string) string {
		if len(s) > maxQA {
			return s
		}
		if rest, ok := strings.CutPrefix(s, finishMark); ok && closingSquare(rest) == len(rest)-1 && rest != "" {
			s = rest[:len(rest)-1]
		}
		return strings.Trim(cleanWords(s), `"“”`)
	})
}

func (qaTask) Precheck(string, Problem) bool { return false }

func (t qaTask) Validate(candidate string, p Problem) Verdict {
	switch {
	case candidate == "":
		return Verdict{Reason: Empty}
	case len(candidate) > maxQA:
		return Verdict{Reason: TooLarge}
	case len(p.Gold) > 16*maxQA || strings.Trim(p.Gold, "| \t\r\n") == "":
		return Verdict{Reason: BadGold}
	}
	forms := names(candidate)
	for _, gold := range append(strings.Split(p.Gold, "|"), p.Gold) {
		gold = t.Normalise(gold)
		for _, form := range forms {
			if gold == form || sameName(form, gold) || sameDate(form, gold) {
				return Verdict{OK: true, Reason: ReasonOK, By: byString}
			}
		}
	}
	return Verdict{Reason: Different, Detail: shorttext.Ellipsis(candidate, maxDetail), By: byNone}
}

func (qaTask) Distil(p Problem, _ string) (query, trace string) {
	return shorttext.OneLine(p.Input), ""
}

// sameName reports whether two short answers are the same words, whatever their accents,
// or the same date.
func sameName(a, b string) bool {
	x, y := squad(foldAccents(strings.ToLower(a))), squad(foldAccents(strings.ToLower(b)))
	if x != "" && x == y {
		return true
	}
	if x = strings.ReplaceAll(x, " ", ""); x != "" && strings.ContainsRune(a+b, '.') && x == strings.ReplaceAll(y, " ", "") {
		return true // J.R.R. Tolkien
	}
	withoutArticle := func(s string) string {
		first, rest, _ := strings.Cut(s, " ")
		if nameArticles[first] && rest != "" {
			return rest
		}
		return s
	}
	return y != "" && withoutArticle(squad(foldAccents(strings.ToLower(a)))) == withoutArticle(y)
}

// bareName accepts a reply of one line that is a short answer, or a sentence that gives
// one.
func bareName(text string, p Problem) Span {
	sp := bareLine(text, p)
	if sp.Start == sp.End {
		return sp
	}
	s, _ := sentenceIn(text, sp.Start)
	several := strings.Trim(text[min(s.End, sp.End):sp.End], ".!?。！？*_ ") != ""
	if first, _ := utf8.DecodeRuneInString(text[sp.Start:]); len(strings.Fields(text[sp.Start:sp.End])) <= 2 && (spaced(first) || !several) && !strings.ContainsFunc(text[sp.Start:sp.End], isCJK) {
		return sp
	}
	if several {
		return Span{}
	}
	if name := nameIn(text[sp.Start:sp.End], p); name.End > 0 {
		return Span{sp.Start + name.Start, sp.Start + name.End}
	}
	return sp
}

// isCJK reports whether a rune is of a script that writes words without spaces.
func isCJK(r rune) bool {
	return unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul)
}

// asciiMarks is the ASCII punctuation that SQuAD drops, and the quotation marks of other
// languages with the same meaning.
const asciiMarks = "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~‘’“”„‚«»‹›「」『』《》〈〉"

// squad returns the form in which two answers are compared. Unlike SQuAD's own, it
// keeps what changes a number or a name: the sign and the point of a number, the
// marks between digits, and the + and # after a letter.
func squad(s string) string {
	s = strings.ToLower(s)
	var b strings.Builder
	for i, r := range s {
		if !strings.ContainsRune(asciiMarks, r) || telling(s, i, r) {
			b.WriteRune(r)
		}
	}
	fields := strings.Fields(b.String())
	kept := fields[:0]
	for _, w := range fields {
		if w != "a" && w != "an" && w != "the" {
			kept = append(kept, w)
		}
	}
	return strings.Join(kept, " ")
}

// telling reports whether a mark at a place changes what is said.
func telling(s string, i int, r rune) bool {
	digitBefore := i > 0 && isDigit(s[i-1])
	digitAfter := i+1 < len(s) && isDigit(s[i+1])
	switch r {
	case '.':
		return digitAfter && (i == 0 || digitBefore || isWhite(s[i-1]) || s[i-1] == '-')
	case ':', '/':
		return digitBefore && digitAfter
	case '-':
		return i+1 < len(s) && (digitAfter || s[i+1] == '.') && (i == 0 || !isLetter(s[i-1]) && s[i-1] < utf8.RuneSelf)
	case '+', '#':
		return i > 0 && (isLetter(s[i-1]) || s[i-1] == '+') && (i+1 == len(s) || !isLetter(s[i+1]) && !isDigit(s[i+1]))
	}
	return false
}
