package answer

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/sotto-llm/sotto/internal/base/lazyregexp"
	"github.com/sotto-llm/sotto/internal/base/shorttext"
)

// YesNo is the task of questions answered by yes or no: "yesno". True and false,
// and correct and incorrect, are the same answers. A candidate that begins by
// saying so is normalised to "yes" or "no". "no evidence" and "yes and no" are not.
var YesNo Task = yesNoTask{}

type yesNoTask struct{}

func (yesNoTask) Name() string { return "yesno" }

func (yesNoTask) Form() Form {
	return Form{
		Rules:    "yesno/6",
		Markers:  verdictMarkers().list,
		markers:  verdictMarkers(),
		Extent:   FirstLine,
		Boxed:    true,
		Sayings:  true,
		Value:    verdictIn,
		Verdicts: true,
		Bare:     bareYesNo,
		Scan:     true,
	}
}

var verdictMarkers = said("Ans", "A", "Verdict", "Final verdict", "Short answer", "In short", "Conclusion", "Kurz gesagt")

// yesNoWords are the words for each answer.
var yesNoWords = map[string]string{
	"yes": "yes", "true": "yes", "correct": "yes", "right": "yes", "y": "yes", "t": "yes", "yeah": "yes", "yep": "yes",
	"no": "no", "false": "no", "incorrect": "no", "wrong": "no", "n": "no", "f": "no", "nope": "no",
}

// yesNoExpr matches an answer and what may follow it: the end, a stop, or a word
// that begins a sentence about it.
var yesNoExpr = lazyregexp.New(`^(?i:(?:so|thus|hence|therefore),? )?` +
	`(?i:(?:(?:it|it's|this|that|the (?:statement|claim|answer|sentence|assertion)) ?)(?:is |: )?)?(?i:(not|definitely|certainly|likely|clearly) )?` +
	`["'(]?(?i:(yes|no|true|false|correct|incorrect|right|wrong|yeah|yep|nope|y|n|t|f))["')]?` +
	`(?:\s*$|[.,:;!(—–](?:\D|$)| [-—–(]| (?i:because|since|as|it|it's|he|she|they|this|that|these|those|there|we|you|i|the|is|based|given|due)\b)`)

// abbreviated matches a letter that begins a name and is no answer: "T.S. Eliot",
// "N. K. Jemisin", "f.txt".
var abbreviated = lazyregexp.New(`^["'(]?[A-Za-z]\.(?:[\pL\pN]| ?[A-Za-z]\.)`)

var bothExpr = lazyregexp.New(`(?i)^(yes|no|true|false),? (?:and|or|/) ?(?:yes|no|true|false)\b|^(yes|no|true|false) ?/ ?(yes|no|true|false)`)

// bareYesNo accepts a reply that begins with its answer, if no line further down
// gives the other one.
func bareYesNo(text string, _ Problem) Span {
	all := trim(text, Span{0, len(text)})
	sp := Span{all.Start, lineEndIn(text, all.Start, all.End)}
	sp.Start += listMark(text[sp.Start:sp.End])
	sp.Start = skipSymbols(text, sp.Start, sp.End)
	lead := text[sp.Start:min(sp.End, sp.Start+maxChoice)]
	if yesNoLead.FindString(lead) == "" && !isYesNo(yesNoOf(strings.Trim(cleanWords(lead), `.!。！"'「」 `))) && leadWord(lead) == "" {
		return Span{}
	}
	first := yesOrNo(lead)
	if !isYesNo(first) || concedes(lead) {
		return Span{}
	}
	for line := range strings.Lines(text[sp.End:all.End]) {
		if YesNo.Precheck(line, Problem{}) && yesOrNo(line) != first {
			return Span{}
		}
	}
	return sp
}

// concedes reports whether a text begins with a yes that only shows that the question or a worry was
// understood. The answer comes later, and may be the other one: "Yes, I know, but it cannot".
func concedes(text string) bool {
	at := len(text) - len(strings.TrimLeft(text, "*_\"'("))
	return skipAny(text, at, rows("understood")) > at
}

var yesNoLead = lazyregexp.New(`^[*_"'(]{0,4}(?i:yes|no|true|false|incorrect)\b|^[*_"'(]{0,4}(?i:correct)[*_]{0,3}[.!]`)

func isYesNo(s string) bool { return s == "yes" || s == "no" }

// yesNoOf returns the answer that a word is, in any language, or "".
func yesNoOf(word string) string {
	word = strings.ToLower(word)
	if y := yesNoWords[word]; y != "" {
		return y
	}
	return lexicon().answers[word]
}

// leadWord returns the answer of a text that begins with words for one, and then has a
// mark: "はい、その通りです。", "Tout à fait !"
func leadWord(s string) string {
	s = cleanWords(s)
	s = s[skipSymbols(s, 0, len(s)):]
	best, word := 0, ""
	for _, m := range lexicon().marks(nil, s, 0, min(len(s), 64)) {
		if m.start != 0 || m.uses&(useYes|useNo) == 0 || m.end <= best {
			continue
		}
		rest := strings.TrimLeft(s[m.end:], "です呢哦啊呀喔的 입니다")
		if next, _ := utf8.DecodeRuneInString(strings.TrimLeft(rest, " ")); rest == "" || strings.ContainsRune(",，、.。!！:：;；—–(（…~～", next) || unicode.Is(unicode.So, next) ||
			next == '-' && strings.HasPrefix(rest, " - ") {
			best, word = m.end, yesNoOf(s[:m.end])
		}
	}
	return word
}

var orExpr = lazyregexp.New(`(?i)^(?:yes|no|true|false),? or (?:yes|no|true|false)\b`)

func (yesNoTask) Normalise(candidate string) string { return settle(candidate, yesOrNo) }

func yesOrNo(s string) string {
	if len(s) > maxChoice {
		return s
	}
	s = strings.Trim(cleanWords(s), "*_ ")
	if bothExpr.MatchString(s) {
		return s
	}
	if strings.Contains(s, " or ") && orExpr.MatchString(s) {
		return s
	}
	if word := yesNoOf(strings.Trim(s, `.!。！"'「」“” `)); word != "" {
		return word
	}
	if word := leadWord(s); word != "" {
		return word
	}
	m := yesNoExpr.FindStringSubmatch(s)
	if m == nil || abbreviated.MatchString(s) {
		return s
	}
	word := yesNoWords[strings.ToLower(m[2])]
	if strings.EqualFold(m[1], "not") {
		switch strings.ToLower(m[2]) {
		case "true", "correct", "right":
			return "no"
		case "false", "incorrect", "wrong":
			return "yes"
		}
		return s
	}
	return word
}

var wordMarks = strings.NewReplacer("**", "", "`", "", "__", "")

// cleanWords removes marks from words.
func cleanWords(s string) string {
	s = peelMath(foldWidth(s))
	for _, command := range []string{`\boxed{`, `\text{`, `\textbf{`, `\mathrm{`} {
		s = unwrapInside(s, command)
	}
	return strings.TrimSpace(strings.TrimLeft(shorttext.OneLine(wordMarks.Replace(s)), ": "))
}

// mayBeYesNo reports whether a line may begin with yes or no, as far as its first
// letter says.
func mayBeYesNo(line string) bool {
	line = strings.TrimLeft(line, white+"*_`.!\"':")
	return line != "" && (!isLetter(line[0]) && !isDigit(line[0]) || strings.IndexByte("yntfcriwYNTFCRIW", line[0]) >= 0)
}

// Precheck accepts a line that is only an answer, or that begins with yes or no and
// a stop.
func (yesNoTask) Precheck(line string, _ Problem) bool {
	if len(line) > maxChoice || !mayBeYesNo(line) {
		return false
	}
	s := strings.ToLower(strings.Trim(cleanWords(line), `.!"' `))
	if yesNoWords[s] != "" && len(s) > 1 {
		return true
	}
	return (strings.HasPrefix(s, "yes,") || strings.HasPrefix(s, "no,") || strings.HasPrefix(s, "yes.") || strings.HasPrefix(s, "no.")) &&
		yesNoWords[yesOrNo(line)] != "" && !concedes(line)
}

func (t yesNoTask) Validate(candidate string, p Problem) Verdict {
	gold := t.Normalise(p.Gold)
	switch {
	case candidate == "":
		return Verdict{Reason: Empty}
	case gold != "yes" && gold != "no":
		return Verdict{Reason: BadGold, Detail: shorttext.Ellipsis(p.Gold, maxDetail)}
	case len(candidate) > maxChoice:
		return Verdict{Reason: TooLarge}
	case candidate != "yes" && candidate != "no":
		return Verdict{Reason: FormatError, Detail: shorttext.Ellipsis(candidate, maxDetail)}
	case candidate != gold:
		return Verdict{Reason: Different, Detail: candidate, By: byNone}
	}
	return Verdict{OK: true, Reason: ReasonOK, By: byString}
}

func (yesNoTask) Distil(p Problem, _ string) (query, trace string) {
	return shorttext.OneLine(p.Input), ""
}
