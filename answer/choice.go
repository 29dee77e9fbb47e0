package answer

import (
	"slices"
	"strings"

	"github.com/sotto-llm/sotto/internal/lazyregexp"
	"github.com/sotto-llm/sotto/internal/shorttext"
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
	maxChoice    = 4 << 10 // bytes of a candidate
	choiceWindow = 1 << 20 // bytes at the end of a reply in which to look for phrases
)

func (choiceTask) Name() string { return "choice" }

func (choiceTask) Form() Form {
	return Form{
		Rules:   "choice/1",
		Markers: choiceMarkers,
		Extent:  FirstLine,
		Boxed:   true,
		Find:    findChoice,
		Method:  "phrase",
		Scan:    true,
		Stops:   questionStops,
	}
}

var choiceMarkers = said("Final answer", "Correct answer", "Answer", "Ans")

// These expressions match the letters of a choice, one or several, and what may
// stand around them. A letter ends at a mark, at the end, or at a word that
// continues the sentence.
const (
	oneLetter  = `[\[(]?(?:[A-Z]|[a-z][)\]])[\])]?`
	letterTail = `(?:[.:;,!]?(?:\s*$)|[.:;,](?:\s|$)| ?[(–—=]| - | (?i:because|since|as|is|which|for|due|based|given|being|with|would)\b)`
	letterList = oneLetter + `(?:(?: ?, ?(?:and |or )?| and | or | ?[&/+] ?)` + oneLetter + `)*`
)

var (
	choicePrefix = lazyregexp.New(`^(?i:(?:so|thus|hence|therefore),? )?(?i:the )?(?i:correct |best |right |final |most likely )*` +
		`(?i:answer|option|choice)(?:(?: (?i:is|would be|must be|should be))(?: ?[:：] ?| |$|[(\[*])| ?[:：] ?)`)
	optionWord  = lazyregexp.New(`^(?i:answer|option|choice) ?`)
	choiceWhole = lazyregexp.New(`^[\[({*_]*[A-Za-z][\])}*_]*[.:,;!]?[\])}*_]*$`)
	choiceStart = lazyregexp.New(`^(` + letterList + `)` + letterTail)
	choiceAfter = lazyregexp.New(`^(?:\(([A-Za-z])\)|\[([A-Za-z])\]|([A-Za-z])\))`)
	initials    = lazyregexp.New(`^[A-Z]\. ?[A-Z]\.`)
	letterExpr  = lazyregexp.New(`[A-Za-z]+`)
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
	m := choiceStart.FindStringSubmatch(s)
	if m == nil {
		if after := choiceAfter.FindStringSubmatch(s); after != nil { // "(B)Paris"
			return strings.ToUpper(after[1] + after[2] + after[3])
		}
		return s
	}
	return joinLetters(m[1])
}

// joinLetters writes "A", "A, C" or "A or C".
func joinLetters(s string) string {
	var letters []string
	either := strings.Contains(s, "/")
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
	s = peelMath(foldWidth(s))
	for _, command := range []string{`\boxed{`, `\text{`, `\textbf{`, `\mathrm{`, `\mathbf{`} {
		s = unwrapInside(s, command)
	}
	s = oneLine(strings.NewReplacer("**", "", "`", "", `\(`, "", `\)`, "").Replace(s))
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

// choicePhrases are ways to state the letter within a sentence. The first group is
// the letters.
var choicePhrases = lazyregexp.New(
	`(?i:\b(?:answer|choice|option)(?: is| would be| must be| should be|\s?[:：])[:：]?)\s?[*_$]{0,4}(?:\\\(|\\boxed\{|\\text\{){0,3}(` + letterList + `)[*_]{0,4}(?:\}|\\\)|\$|` + letterTail + `)` +
		`|(?:^|[\s*])(` + oneLetter + `) is (?:therefore |indeed )?(?:the )?(?:correct|right|best)\b` +
		`|\\boxed\{(?:\\(?:text|textbf|mathrm|mathbf)\{)?(` + letterList + `)\}`)

// findChoice finds the letters that a sentence anywhere in the text states as the
// answer. Lines that begin with a marker are included, so that the last of all
// wins.
func findChoice(text string, _ Problem) []Span {
	from := max(0, len(text)-choiceWindow)
	var found []Span
	for at := from; at < len(text); {
		end := endOfLine(text, at)
		for _, m := range choicePhrases.FindAllStringSubmatchIndex(text[at:end], -1) {
			for g := 2; g < len(m); g += 2 {
				if m[g] >= 0 && !initials.MatchString(text[at+m[g]:end]) {
					found = append(found, Span{at + m[g], at + m[g+1]})
				}
			}
		}
		at = end + 1
	}
	return found
}

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
	return strings.ToLower(oneLine(strings.Trim(peelMath(foldWidth(s)), `"'“”‘’`)))
}

func withoutArticle(s string) string {
	s = optionKey(s)
	for _, article := range []string{"a ", "an ", "the "} {
		s = strings.TrimPrefix(s, article)
	}
	return s
}

func (choiceTask) Distil(p Problem, _ string) (query, trace string) {
	parts := []string{oneLine(p.Input)}
	for i, option := range p.Options {
		parts = append(parts, "("+string(rune('A'+i))+") "+oneLine(option))
	}
	return strings.TrimSpace(strings.Join(parts, " ")), ""
}
