package answer

import (
	"slices"
	"strings"

	"github.com/sotto-llm/sotto/internal/base/lazyregexp"
	"github.com/sotto-llm/sotto/internal/base/shorttext"
)

// Choice is the task of multiple choice: "choice".
//
// A candidate is normalised to its letter if it is written as one: "(b)", "B.
// Paris", "option B", "B because…". Otherwise it stays text, which is looked up
// among the options. A letter followed by a word does not count: "A dog", "Let's".
// Several letters are one answer if they are listed ("A, C") and the gold lists
// several. "A or C" is ambiguous and never right.
var Choice Task = choiceTask{}

type choiceTask struct{}

const (
	maxChoice = 4 << 10 // bytes of a candidate
)

func (choiceTask) Name() string { return "choice" }

func (choiceTask) Form() Form {
	return Form{
		Rules:       "choice/5",
		Markers:     choiceMarkers().list,
		markers:     choiceMarkers(),
		Extent:      FirstLine,
		Boxed:       true,
		Sayings:     true,
		Value:       letterIn,
		Letters:     true,
		Conclusions: true,
		Bare:        bareChoice,
		Scan:        true,
	}
}

var choiceMarkers = said("Ans", "Answers", "Correct", "Correct option", "Correct choice", "Solution",
	"Selected option", "Selected answer", "Selected choice", "Chosen option", "Chosen answer", "Final pick", "Final choice", "Final selection", "My pick", "My choice", "My final pick", "My final choice")

// These expressions match the letters of a choice, one or several, and what may
// stand around them. A letter ends at a mark, at the end, or at a word that
// continues the sentence.
const (
	oneLetter  = `[\[(]?(?:[A-Z]|[a-z][)\]])[\])]?`
	letterTail = `(?:[.:;,!]?(?:\s*$)|[.:;,](?:\s|$)| ?[(–—=]| - | ?[\p{Han}\p{Hangul}\p{Hiragana}\p{Devanagari}\p{So}。，、；]|<| (?i:because|since|as|is|which|for|due|based|given|being|with|would|here)\b)`
	letterList = `(?:` + oneLetter + `(?:(?: ?[,;、，；] ?(?:and |or )?| and | or | ?[&/+和与及或と및] ?)` + oneLetter + `)*|[A-J]{2,8}|[A-J](?: [A-J]){1,7})`
)

var (
	choicePrefix = lazyregexp.New(`^(?i:(?:so|thus|hence|therefore),? )?(?i:the )?(?i:correct |best |right |final |most likely )*` +
		`(?i:answer|option|choice)(?:(?: (?i:is|would be|must be|should be))(?: ?[:：] ?| |$|[(\[*])| ?[:：] ?)`)
	optionWord  = lazyregexp.New(`^(?i:answer|option|choice|item|antwort|variante|opci[oó]n|alternativa|letra|inciso|opção|opzione|lettera|proposition|lettre|choix|вариант|пункт|选项|選項|選択肢|보기|선택지) ?`)
	choiceWhole = lazyregexp.New(`^[\[({*_"“]*[A-Za-z][\])}*_"”]*[.:,;!]?[\])}*_]*$`)
	choiceStart = lazyregexp.New(`^(` + letterList + `)` + letterTail)
	choiceAfter = lazyregexp.New(`^(?:\(([A-Za-z])\)|\[([A-Za-z])\]|([A-Za-z])\))`)
	initials    = lazyregexp.New(`^[A-Z]\. ?[A-Z]\.`)
	letterExpr  = lazyregexp.New(`[A-Za-z]+`)
	letterRun   = lazyregexp.New(`^[A-J]{2,8}$`)
	letterSpace = lazyregexp.New(`^[A-J](?: [A-J]){1,7}$`)
	letterMark  = lazyregexp.New(`^[A-Z][.)] ?[A-Z]`)
)

func (choiceTask) Normalise(candidate string) string { return settle(candidate, choiceLetter) }

// choiceLetter returns the letters that a candidate begins with.
func choiceLetter(s string) string {
	if len(s) > maxChoice {
		return s
	}
	s = cleanChoice(s)
	if rest := s[len(optionWord.FindString(s)):]; choiceWhole.MatchString(rest) || choiceStart.MatchString(rest) {
		s = rest // "Option B", but not "Option pricing"
	}
	switch {
	case s == "", initials.MatchString(s):
		return s
	case choiceWhole.MatchString(s):
		return strings.ToUpper(letterExpr.FindString(s))
	}
	if run := strings.TrimRight(s, ".。 "); letterRun.MatchString(run) && ascending(run) || letterSpace.MatchString(run) {
		return joinLetters(strings.Join(strings.Split(strings.ReplaceAll(run, " ", ""), ""), ","))
	}
	m := choiceStart.FindStringSubmatch(s)
	if m != nil && (letterDenied.MatchString(s[len(m[1]):]) || comparesLetters(s[len(m[1]):])) {
		return s
	}
	if m != nil && letterRun.MatchString(m[1]) && !ascending(m[1]) {
		m = nil
	}
	if m == nil {
		if after := choiceAfter.FindStringSubmatch(s); after != nil { // "(B)Paris"
			return strings.ToUpper(after[1] + after[2] + after[3])
		}
		if letterMark.MatchString(s) { // "B.Paris"
			return s[:1]
		}
		return s
	}
	if letterRun.MatchString(m[1]) { // "ABD。"
		return joinLetters(strings.Join(strings.Split(m[1], ""), ","))
	}
	return joinLetters(m[1])
}

// ascending reports whether each letter comes after the one before it, as in "ABD".
func ascending(s string) bool {
	for i := 1; i < len(s); i++ {
		if s[i] <= s[i-1] {
			return false
		}
	}
	return true
}

// joinLetters writes "A", "A, C" or "A or C".
func joinLetters(s string) string {
	var letters []string
	either := strings.ContainsAny(s, "/或")
	for _, w := range letterExpr.FindAllString(s, -1) {
		switch {
		case w == "or":
			either = true
		case len(w) == 1:
			letters = append(letters, strings.ToUpper(w))
		}
	}
	slices.Sort(letters)
	letters = slices.Compact(letters)
	if either {
		return strings.Join(letters, " or ")
	}
	return strings.Join(letters, ", ")
}

// cleanChoice removes marks around a candidate, and the words before a letter.
func cleanChoice(s string) string {
	s = strings.TrimLeft(s, "# ")
	s = peelMath(foldWidth(s[skipSymbols(s, 0, len(s)):]))
	for _, command := range []string{`\boxed{`, `\text{`, `\textbf{`, `\mathrm{`, `\mathbf{`} {
		s = unwrapInside(s, command)
	}
	s = shorttext.OneLine(choiceMarks.Replace(s))
	for {
		s = strings.TrimLeft(s, ": ")
		n := len(choicePrefix.FindString(s))
		if n == 0 {
			return strings.TrimSpace(s)
		}
		if strings.ContainsRune("([*", rune(s[n-1])) {
			n--
		}
		s = s[n:]
	}
}

// letterHere matches the letters at the start of a text, in marks.
var letterHere = lazyregexp.New(`^[*_$"“「']{0,4}(?:\\\(|\\boxed\{|\\text\{|\\textbf\{|\\mathbf\{){0,3}(` + letterList + `)[*_"”」']{0,4}(?:\}|\\\)|\$|` + letterTail + `)`)

// letterItem matches a letter before its option: "B) Paris".
var letterItem = lazyregexp.New(`^[*_]{0,3}([A-Z])\) ?[*_]{0,3}[\pL\pN$]`)

// letterItemAny matches a letter with its bracket, also a small one, before its option:
// "a) haya".
var letterItemAny = lazyregexp.New(`^[*_]{0,3}\(?([A-Za-z])\)(?:\s|$)`)

// letterDenied matches what says of the letters before it that they are wrong:
// "Answer: A is incorrect, so it must be B".
var letterDenied = lazyregexp.New(`^[*_"”]{0,4},? (?i:(?:is|are|was|were|would be|looks?|seems?) (?:also |clearly |definitely |obviously |simply |therefore )?(?:not|wrong|incorrect|false|out|ruled out|eliminated|impossible|invalid|too|never|a distractor)\b|(?:is|are|was|were|ca|does|do)n['’]t\b|cannot\b)`)

// letterCompared matches what says something of one option and then of another one:
// "Solution: A is hot, B is hotter." That chooses neither.
var letterCompared = lazyregexp.New(`^[*_"”)\]]{0,4} (?i:is|are|was|were|has|would be) [^.;!?\n]*[,;] ?(?i:and |but |while |whereas |so )?(?i:option |choice )?[(\[]?[A-Z][)\]]? (?i:is|are|was|were|has|would be)\b`)

// letterRight matches what calls the letter before it right.
var letterRight = lazyregexp.New(`^[*_"”)\]]{0,4} (?i:is|are) (?i:the |clearly |therefore )*(?i:correct|right|best|true)\b`)

// comparesLetters reports whether what follows a letter compares it with another one.
func comparesLetters(tail string) bool {
	return letterCompared.MatchString(tail) && !letterRight.MatchString(tail)
}

// maxLetters is how far letters may reach.
const maxLetters = 96

// lettersAt returns the letters that a text has at a place.
func lettersAt(text string, at int) (Span, bool) {
	at = skipBlanks(text, at)
	s := text[at:lineEndIn(text, at, min(len(text), at+maxLetters))]
	m := letterHere.FindStringSubmatchIndex(s)
	if m == nil {
		m = letterItem.FindStringSubmatchIndex(s)
	}
	if m == nil || initials.MatchString(s[m[2]:]) || letterDenied.MatchString(s[m[3]:]) || comparesLetters(s[m[3]:]) {
		return Span{}, false
	}
	if letters := s[m[2]:m[3]]; letterRun.MatchString(letters) && !ascending(letters) {
		return Span{}, false
	}
	return Span{at + m[2], at + m[3]}, true
}

// answerLetter matches a line such as "Answer B" and "Ans. (B)".
var answerLetter = lazyregexp.New(`^[*_#> ]{0,8}(?i:(?:final |correct )?(?:answer|ans))[.*_]{0,3} ?([A-Z]|\([A-Z]\))[.*_ ]{0,3}$`)

// isConsequence reports whether what stands before a letter says what holds under a
// condition: "If it were hotter, B it is".
func isConsequence(head string) bool {
	head = strings.TrimRight(head, " *_([")
	return strings.HasSuffix(head, ",") && len(head) > 3 && strings.EqualFold(strings.TrimLeft(head, " *_")[:3], "if ")
}

// letterBefore returns the letter that stands directly before a place.
func letterBefore(text string, at int) (Span, bool) {
	s := strings.TrimRight(text[max(0, at-24):at], " *_")
	s = strings.TrimRight(strings.TrimSuffix(s, "选项"), " *_")
	end := at - (len(text[max(0, at-24):at]) - len(s))
	m := letterLast.FindStringSubmatchIndex(s)
	if m == nil {
		return Span{}, false
	}
	start := end - len(s) + m[2]
	head := strings.TrimRight(text[max(0, start-24):start], " *_([")
	if head == "" || strings.ContainsAny(head[len(head)-1:], "\n.:;,!->#") || head[len(head)-1] >= 0x80 {
		return Span{start, end}, true
	}
	for _, word := range append([]string{"so", "hence", "thus", "therefore", "then", "only", "answer", "options"}, rows("letter")...) {
		if len(word) > 1 && len(head) >= len(word) && strings.EqualFold(head[len(head)-len(word):], word) && apart(head, len(head)-len(word), len(head)) {
			return Span{start, end}, true
		}
	}
	return Span{}, false
}

var letterLast = lazyregexp.New(`(?:^|[^A-Za-z0-9])([A-Z]|[(\[][A-Z][)\]])$`)

// remarkEnds reports whether a remark ends, or goes on with a reason.
func remarkEnds(text string, at int) bool {
	at = skipAny(text, at, []string{"answer choice", "answer", "option", "choice", "one", "Antwort", "respuesta", "réponse", "resposta"})
	rest := strings.TrimLeft(text[at:lineEndIn(text, at, min(len(text), at+maxSentence))], " *_)")
	if rest == "" {
		return true
	}
	return strings.IndexByte(".,;:!", rest[0]) >= 0 || rest[0] >= 0x80 || skipAny(rest, 0, []string{"because", "since", "as", "here", "weil", "porque", "car"}) > 0
}

// bareChoice accepts a reply that is a letter, a letter and its option, or an option.
// Text may follow the letter, if the reply does not go through the options one by
// one.
func bareChoice(text string, p Problem) Span {
	if sp, ok := onlyLine(text); ok {
		s := text[sp.Start:sp.End]
		if len(p.Options) > 0 && lettersOnly(optionOf(optionStart(s), p.Options)) && !lettersOnly(choiceLetter(s)) {
			return sp
		}
		if c := choiceLetter(s); lettersOnly(c) && (letterAlone.MatchString(cleanChoice(s)) || len(c) > 1 && !strings.Contains(c, " or ")) {
			return sp
		}
	}
	all := trim(text, Span{0, len(text)})
	all.Start = skipSymbols(text, all.Start, all.End)
	sp := Span{all.Start, lineEndIn(text, all.Start, all.End)}
	lead := text[sp.Start:sp.End]
	m := letterLead.FindStringSubmatch(lead[:min(len(lead), maxLetters)])
	if m == nil || initials.MatchString(lead) {
		return Span{}
	}
	letter := m[1]
	for line := range strings.Lines(text[sp.End:all.End]) {
		line = strings.TrimLeft(line, " \t-*#>\n")
		if other := letterLead.FindStringSubmatch(line[:min(len(line), maxLetters)]); other != nil && other[1] != letter {
			return Span{}
		}
	}
	tail := strings.Trim(lead[len(m[0]):], " *_.")
	if len(p.Options) > 0 {
		if named := optionOf(tail, p.Options); lettersOnly(named) && named != letter || int(letter[0]-'A') >= len(p.Options) {
			return Span{}
		}
	}
	k := strings.Index(lead, letter)
	return Span{sp.Start + k, sp.Start + k + 1}
}

// optionStart returns a text without the stop at its end.
func optionStart(s string) string { return strings.TrimRight(strings.Trim(s, "*_` "), ".。!*_` ") }

var (
	// letterLead matches a letter that leads a reply, with a bracket, a point, or
	// nothing after it on its line.
	letterLead  = lazyregexp.New(`^[*_ ]{0,4}[(\[]?([A-Z])(?:[)\]][.:]?[*_]{0,3}(?:\s|$)|(?:\.|。)[*_]{0,3}(?:\s|$|\p{Han}|\p{Hiragana}|\p{Hangul})|[*_]{1,3}[.:]?(?:\s*$| [-–—(])|[.:]?\s*$|\.[A-Z]| [-–—] )`)
	letterAlone = lazyregexp.New(`^[\[({*_"“]*[A-Za-z][\])}*_"”]*(?:[.:,;!]?[\])}*_]*$|[.)\]](?:\s?\S+){1,12}$)`)
)

var choiceMarks = strings.NewReplacer("**", "", "`", "", `\(`, "", `\)`, "", "<b>", "", "</b>", "")

// Precheck accepts a line that is only a letter of the choice, with its marks. A
// line with text after the letter repeats the options.
func (choiceTask) Precheck(line string, p Problem) bool {
	if len(line) > 40 {
		return false
	}
	s := cleanChoice(line)
	s = strings.Trim(s[len(optionWord.FindString(s)):], "*_ ")
	if !choiceWhole.MatchString(s) || s == strings.ToLower(s) && len(s) == 1 {
		return false
	}
	letter := strings.ToUpper(letterExpr.FindString(s))
	return len(p.Options) == 0 || int(letter[0]-'A') < len(p.Options)
}

func (t choiceTask) Validate(candidate string, p Problem) Verdict {
	gold := t.Normalise(p.Gold)
	switch {
	case candidate == "":
		return Verdict{Reason: Empty}
	case gold == "" || len(gold) > maxChoice:
		return Verdict{Reason: BadGold, Detail: shorttext.Ellipsis(p.Gold, maxDetail)}
	case len(candidate) > maxChoice:
		return Verdict{Reason: TooLarge}
	}
	want, got := optionOf(gold, p.Options), optionOf(candidate, p.Options)
	switch {
	case got == want:
		return Verdict{OK: true, Reason: ReasonOK, By: byString}
	case strings.Contains(got, " or ") && lettersOnly(got):
		return Verdict{Reason: FormatError, Detail: "ambiguous: " + shorttext.Ellipsis(got, maxDetail)}
	case lettersOnly(got) && len(got) > 1 && len(want) == 1:
		return Verdict{Reason: FormatError, Detail: "ambiguous: " + shorttext.Ellipsis(got, maxDetail)}
	case lettersOnly(want) && !lettersOnly(got):
		return Verdict{Reason: FormatError, Detail: "not a letter and not an option: " + shorttext.Ellipsis(got, maxDetail)}
	case len(p.Options) > 0 && lettersOnly(got) && !within(got, p.Options):
		return Verdict{Reason: FormatError, Detail: "no such option: " + shorttext.Ellipsis(got, maxDetail)}
	}
	return Verdict{Reason: Different, Detail: shorttext.Ellipsis(got, maxDetail), By: byNone}
}

// within reports whether every letter names an option.
func within(letters string, options []string) bool {
	for _, w := range letterExpr.FindAllString(letters, -1) {
		if len(w) == 1 && int(w[0]-'A') >= len(options) {
			return false
		}
	}
	return true
}

var onlyLetters = lazyregexp.New(`^[A-Z](?:(?:, | or )[A-Z])*$`)

func lettersOnly(s string) bool { return onlyLetters.MatchString(s) }

// optionOf returns the letter of the option that a text repeats. If there is none,
// it returns the text in the form used for comparison.
func optionOf(s string, options []string) string {
	if lettersOnly(s) {
		if len(s) > 1 { // "A, C" may be the option AC
			run := strings.ReplaceAll(s, ", ", "")
			for i, option := range options {
				if i < 26 && strings.TrimSpace(option) == run {
					return string(rune('A' + i))
				}
			}
		}
		return s
	}
	for _, key := range []func(string) string{optionKey, withoutArticle} {
		for i, option := range options {
			if i < 26 && len(option) <= maxChoice && key(option) == key(s) {
				return string(rune('A' + i))
			}
		}
	}
	return optionKey(s)
}

func optionKey(s string) string {
	return strings.ToLower(shorttext.OneLine(strings.Trim(peelMath(foldWidth(s)), `"'“”‘’`)))
}

func withoutArticle(s string) string {
	s = optionKey(s)
	for _, article := range []string{"a ", "an ", "the "} {
		s = strings.TrimPrefix(s, article)
	}
	return s
}

func (choiceTask) Distil(p Problem, _ string) (query, trace string) {
	parts := []string{shorttext.OneLine(p.Input)}
	for i, option := range p.Options {
		parts = append(parts, "("+string(rune('A'+i))+") "+shorttext.OneLine(option))
	}
	return strings.TrimSpace(strings.Join(parts, " ")), ""
}
