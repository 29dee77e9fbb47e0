package answer

import (
	"strings"
	"unicode"

	"github.com/sotto-llm/sotto/internal/shorttext"
)

// QA is the task of short answers in words: "qa".
//
// Answers are compared as SQuAD does it: lower case, no punctuation, no articles,
// single spaces, and then equal as a whole. Several golds may be given, parted by
// "|"; each is right. The last Finish[…] of a reply is its answer, as agents that
// reason and act write it.
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

// wordMarkers go before answers in words.
var wordMarkers = said("Final answer", "Answer", "Ans", "A")

const finishMark = "Finish["

// findFinish finds the arguments of Finish[…], each to the bracket that closes it
// on its line, and before the next one.
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

// closingSquare is where the bracket closes that was opened before s, on its
// first line, or -1.
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

// Normalise takes off marks and the stop at the end. What two answers are
// compared by is made of it later, so that the candidate stays fit to be read.
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

// asciiMarks is the punctuation of ASCII, which SQuAD drops, and the curly quotes
// that mean the same.
const asciiMarks = "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~‘’“”"

// squad is what two answers are compared by.
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
