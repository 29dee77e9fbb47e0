package answer

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/sotto-llm/sotto/internal/base/lazyregexp"
	"github.com/sotto-llm/sotto/internal/base/shorttext"
)

// Gaokao is the task of multiple choice in the form of GAOKAO-Bench: "gaokao". A reply
// answers each question of a problem by 【答案】C<eoa>. Gold is a list in JSON with the
// letters of each question, in order: ["C", "A"], or ["ABD"], or the letters of one.
//
// A candidate has the letters of the questions, such as "C | A" or "A, B, D". Lists are
// compared as lists: the same number of questions, and for each the same letters, in any
// order. Where a reply answers several questions at once (【答案】C, A, B<eoa>), its letters
// are taken in their order.
var Gaokao Task = gaokao{Choice}

type gaokao struct{ Task }

func (gaokao) Name() string { return "gaokao" }

func (t gaokao) Form() Form {
	f := t.Task.Form()
	f.Rules, f.Method, f.Find = "gaokao/1", methodGaokao, findGaokao
	f.Conclusions = false
	return f
}

const (
	gaokaoMark   = "【答案】"
	gaokaoEnd    = "<eoa>"
	gaokaoNext   = " | " // between questions
	maxQuestions = 100
)

// methodGaokao is the method of an answer in this form.
const methodGaokao = "marker:答案"

// withoutOwnEnds blanks what ends an answer of the task, and the turn in other tasks.
func (f *Form) withoutOwnEnds(text string) string {
	if f.Method != methodGaokao {
		return text
	}
	return strings.ReplaceAll(text, gaokaoEnd, strings.Repeat(" ", len(gaokaoEnd)))
}

// findGaokao returns the answers of all questions as one span, which begins with the first
// answer and ends with the last.
func findGaokao(text string, _ Problem) []Span {
	first, last := strings.Index(text, gaokaoMark), strings.LastIndex(text, gaokaoMark)
	if first < 0 {
		return nil
	}
	start := skipWhite(text, first+len(gaokaoMark), len(text))
	end := skipWhite(text, last+len(gaokaoMark), len(text))
	if i := strings.Index(strings.ToLower(text[end:min(len(text), end+maxChoice)]), gaokaoEnd); i >= 0 {
		end += i
	} else {
		end = lineEndIn(text, end, len(text))
	}
	return []Span{trim(text, Span{start, end})}
}

func (gaokao) Normalise(candidate string) string { return settle(candidate, gaokaoAnswers) }

// gaokaoAnswers returns the letters of each question, or the text if one of them has none.
func gaokaoAnswers(s string) string {
	if len(s) > maxAnswers {
		return s
	}
	parts := strings.Split(strings.ReplaceAll(s, gaokaoMark, gaokaoNext), gaokaoNext)
	if len(parts) > maxQuestions {
		return s
	}
	for i, part := range parts {
		if end := strings.Index(strings.ToLower(part), gaokaoEnd); end >= 0 {
			part = part[:end]
		}
		letters := orderedLetters(part)
		if letters == nil {
			return shorttext.OneLine(s)
		}
		parts[i] = strings.Join(letters, ", ")
	}
	return strings.Join(parts, gaokaoNext)
}

// maxAnswers bounds the text from the first answer to the last, with the explanations
// between them, in bytes.
const maxAnswers = 256 << 10

// onlyLetterList matches letters, with numbers of questions, and what lists them.
var onlyLetterList = lazyregexp.New(`^[\s\d.()（）［］\[\]【】、,，;；:：'"“”*&和与及]*(?:[A-J][\s\d.()（）［］\[\]【】、,，;；:：。'"“”*&和与及]*)+$`)

var capital = lazyregexp.New(`[A-J]`)

// orderedLetters returns the letters of an answer in their order, or nil if it is not an
// answer by letters.
func orderedLetters(s string) []string {
	s = foldWidth(strings.TrimSpace(s))
	if onlyLetterList.MatchString(s) {
		return capital.FindAllString(s, -1)
	}
	c := choiceLetter(s)
	if !lettersOnly(c) || strings.Contains(c, " or ") {
		return nil
	}
	return strings.Split(c, ", ")
}

// gaokaoGold returns the letters of each question that a gold has.
func gaokaoGold(gold string) (list [][]string, ok bool) {
	var texts []string
	if json.Unmarshal([]byte(gold), &texts) != nil {
		texts = strings.Split(gold, gaokaoNext)
	}
	if len(texts) == 0 || len(texts) > maxQuestions {
		return nil, false
	}
	for _, text := range texts {
		letters := orderedLetters(text)
		if letters == nil {
			return nil, false
		}
		list = append(list, letters)
	}
	return list, true
}

func (gaokao) Precheck(string, Problem) bool { return false }

func (t gaokao) Validate(candidate string, p Problem) Verdict {
	want, ok := gaokaoGold(p.Gold)
	detail := shorttext.Ellipsis(candidate, maxDetail)
	switch {
	case candidate == "":
		return Verdict{Reason: Empty}
	case !ok:
		return Verdict{Reason: BadGold, Detail: shorttext.Ellipsis(p.Gold, maxDetail)}
	case len(candidate) > maxChoice:
		return Verdict{Reason: TooLarge}
	}
	got, ok := gaokaoGold(candidate)
	switch {
	case !ok:
		return Verdict{Reason: FormatError, Detail: detail}
	case len(got) == 1 && len(want) == len(got[0]) && len(want) > 1:
		got = single(got[0]) // all questions are answered at once
	case len(got) != len(want):
		return Verdict{Reason: Different, Detail: detail, By: byNone}
	}
	for i := range got {
		if !sameLetters(got[i], want[i]) {
			return Verdict{Reason: Different, Detail: detail, By: byNone}
		}
	}
	return Verdict{OK: true, Reason: ReasonOK, By: byString}
}

// single makes a question of each letter.
func single(letters []string) (list [][]string) {
	for _, letter := range letters {
		list = append(list, []string{letter})
	}
	return list
}

func sameLetters(a, b []string) bool {
	a, b = slices.Clone(a), slices.Clone(b)
	slices.Sort(a)
	slices.Sort(b)
	return slices.Equal(a, b)
}
