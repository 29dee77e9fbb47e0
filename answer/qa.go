package answer

import (
	"strings"
	"unicode"

	"github.com/sotto-llm/sotto/internal/shorttext"
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
		Rules:   "qa/1",
		Markers: wordMarkers,
		Extent:  FirstLine,
		Boxed:   true,
		Find:    findFinish,
		Method:  "finish",
		Stops:   questionStops,
	}
}

// wordMarkers precede answers in words.
var wordMarkers = said("Final answer", "Answer", "Ans", "A")

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
	key := squad(candidate)
	for _, gold := range append(strings.Split(p.Gold, "|"), p.Gold) {
		gold = t.Normalise(gold)
		if gold == candidate || key != "" && squad(gold) == key {
			return Verdict{OK: true, Reason: ReasonOK, By: byString}
		}
	}
	return Verdict{Reason: Different, Detail: shorttext.Ellipsis(candidate, maxDetail), By: byNone}
}

func (qaTask) Distil(p Problem, _ string) (query, trace string) { return oneLine(p.Input), "" }

// asciiMarks is the ASCII punctuation that SQuAD drops, and the curly quotes with
// the same meaning.
const asciiMarks = "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~‘’“”"

// squad returns the form in which two answers are compared.
func squad(s string) string {
	s = strings.Map(func(r rune) rune {
		if strings.ContainsRune(asciiMarks, r) {
			return -1
		}
		return unicode.ToLower(r)
	}, s)
	words := strings.Fields(s)
	kept := words[:0]
	for _, w := range words {
		if w != "a" && w != "an" && w != "the" {
			kept = append(kept, w)
		}
	}
	return strings.Join(kept, " ")
}
