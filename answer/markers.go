package answer

import (
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"
)

// maxLead is how much Markdown may stand before a marker.
const maxLead = 64

// markers finds the lines that begin with one of the form's markers. A find in fenced
// code counts only if there is no other.
func (s *search) markers() {
	if len(s.form.Markers) == 0 {
		return
	}
	for at := s.from; at < len(s.text); {
		end := lineEnd(s.text, at)
		if line := s.text[at:end]; s.form.markers.mayLead(line) {
			if f, ok := markerOf(line, s.form.markers); ok {
				f.value.Start += at
				s.mark(f)
			} else if s.form.Letters {
				s.markLetter(at, line)
			}
		}
		at = end + 1
	}
}

// markers are those of a form, by their first bytes in lower case.
type markers struct {
	list []string
	by   [256][]marker
}

type marker struct {
	text   string
	word   string // the text without the white space at its end
	second byte   // in lower case, or 0
}

func newMarkers(list []string) *markers {
	ms := &markers{list: list}
	for _, text := range list {
		if text == "" {
			continue
		}
		m := marker{text: text, word: strings.TrimRight(text, white)}
		if len(text) > 1 {
			m.second = lower(text[1])
		}
		c := lower(text[0])
		ms.by[c] = append(ms.by[c], m)
	}
	return ms
}

// are reports whether the markers are those of a list.
func (ms *markers) are(list []string) bool {
	return ms != nil && len(ms.list) == len(list) && (len(list) == 0 || &ms.list[0] == &list[0])
}

// mayLead reports whether a line may begin with a marker, as far as its first byte
// says.
func (ms *markers) mayLead(line string) bool {
	i := skipBlanks(line, 0)
	if i == len(line) {
		return false
	}
	c := line[i]
	return len(ms.by[lower(c)]) > 0 || !isLetter(c) && c != '\\' && c != '$'
}

// mark keeps the value after a marker, if the line asserts it.
func (s *search) mark(f find) {
	at := f.value.Start
	sn := s.discourse.sentenceAt(min(at+1, len(s.text)))
	if sn != nil && at < sn.End && !s.form.lowest() {
		lead := at + len(s.text[at:sn.End]) - len(strings.TrimLeft(s.text[at:sn.End], " *_"))
		if m, ok := sn.has(useNot|useMaybe|useIf, lead, lead+1); ok && m.uses&useNo == 0 && !s.names(s.text[at:sn.End]) {
			but, ok := s.contrast(sn, m.end)
			if m.uses&useNot == 0 {
				return
			}
			if ok { // else the text is no answer, and no earlier one is the last
				f.value.Start = afterVerb(s.text, but.end)
			}
		} else if to, ok := s.undenied(sn, at); ok {
			if f.value.Start = to; to >= sn.End {
				return
			}
		}
		if _, ok := sn.has(useOnly, at, sn.End); ok || strings.HasPrefix(sn.stop, "?") || strings.HasPrefix(sn.stop, "？") {
			return
		}
	}
	f.value.End = len(s.text)
	if around := s.fenceAround(max(0, at-1)); around.End > 0 {
		f.weak, f.value.End = true, around.End
	}
	if f.label == "#### " && s.form.Value != nil && !strings.ContainsAny(s.text[at:lineEnd(s.text, at)], bareDigits) && s.form.Bare != nil && s.form.Scan && !s.form.Letters {
		return // the heading of a section
	}
	if headings()[f.label] && !s.headed(f) {
		return
	}
	s.keep(s.lettered(f))
}

// markLetter keeps the letter of a line such as "Answer B".
func (s *search) markLetter(at int, line string) {
	if m := answerLetter.FindStringSubmatchIndex(line[:min(len(line), maxLetters)]); m != nil {
		s.keep(find{value: Span{at + m[2], at + m[3]}, method: labelOf("Answer")})
	}
}

// names reports whether a text that begins with a denial is an answer all the same: "not
// true", the option "None of them".
func (s *search) names(text string) bool {
	if s.form.Letters {
		return lettersOnly(optionOf(optionStart(text), s.problem.Options))
	}
	return s.form.Verdicts && s.wellFormed(text)
}

// headed reports whether the value after a heading is an answer by its form.
func (s *search) headed(f find) bool {
	sp := s.valueOf(f, methodMarker)
	line := s.text[sp.Start:sp.End]
	switch {
	case blank(line) || len(line) > maxBare:
		return false
	case s.form.Value != nil && s.form.Bare != nil:
		return s.isBare(line) || s.wellFormed(line)
	case s.form.Scan:
		return s.task.Precheck(line, s.problem)
	}
	return len(strings.Fields(line)) <= 6
}

// wellFormed reports whether a text is an answer of the task by its form: it would be
// right if it were the gold.
func (s *search) wellFormed(text string) bool {
	candidate := s.task.Normalise(text)
	return candidate != "" && s.task.Validate(candidate, Problem{Gold: candidate, Options: s.problem.Options}).OK
}

// headings are the labels that count only before an answer by its form.
var headings = sync.OnceValue(func() map[string]bool {
	set := map[string]bool{}
	for _, text := range rows("heading") {
		set[text] = true
	}
	return set
})

// markerOf reads a line that begins with a marker. value.Start is the text after
// it.
func markerOf(line string, ms *markers) (f find, ok bool) {
	heading := false
	run := 0 // where the emphasis directly before i began
	for i := 0; i < len(line) && i < maxLead; {
		if label, n := ms.longestAt(line, i); n > 0 {
			return afterMarker(line, i+n, label, line[run:i], heading)
		}
		c := line[i]
		switch {
		case c == '*' || c == '_' || c == '`':
			i++
			continue
		case c == '#':
			heading = true
			i++
		case isWhite(c) || strings.IndexByte(">-+~|", c) >= 0:
			i++
		case c == '<':
			n := styleTag(line[i:])
			if n == 0 {
				return find{}, false
			}
			i += n
		case c-'0' < 10:
			n := listMark(line[i:])
			if n == 0 {
				return find{}, false
			}
			i += n
		case c >= utf8.RuneSelf:
			r, n := utf8.DecodeRuneInString(line[i:])
			if !unicode.In(r, unicode.So, unicode.Po, unicode.Mn) { // a bullet, an emoji
				return find{}, false
			}
			i += n
		default:
			return find{}, false
		}
		run = i
	}
	return find{}, false
}

// longestAt returns the longest marker that the line has at i, and the number of
// bytes it takes there, without the white space at its end.
func (ms *markers) longestAt(line string, i int) (label string, n int) {
	c := lower(line[i])
	if c == '#' && i > 0 && line[i-1] == '#' {
		return "", 0
	}
	next := byte(0)
	if i+1 < len(line) {
		next = lower(line[i+1])
	}
	for _, m := range ms.by[c] {
		if m.second > ' ' && m.second != next {
			continue
		}
		if k := foldPrefix(line[i:], m.word); k > n && ends(line[i+k:], m.text) {
			label, n = m.text, k
		}
	}
	return label, n
}

// ends reports whether the text after a marker's word lets it be a marker: the word
// must not be the start of a longer one.
func ends(rest, marker string) bool {
	if rest == "" || bracketed(marker) {
		return true
	}
	if isWhite(marker[len(marker)-1]) && rest[0] != ':' && !strings.HasPrefix(rest, "：") {
		return isWhite(rest[0]) || rest[0] == '*' || rest[0] == '_'
	}
	r, _ := utf8.DecodeRuneInString(rest)
	return r == '_' || !unicode.IsLetter(r) && !unicode.IsDigit(r)
}

// bracketed reports whether a marker ends in a bracket, and so needs no colon.
func bracketed(marker string) bool {
	return strings.HasSuffix(marker, "】") || strings.HasSuffix(marker, "）") || strings.HasSuffix(marker, "］") || strings.HasSuffix(marker, "〕") || strings.HasSuffix(marker, "〉") || strings.HasSuffix(marker, "]") || strings.HasSuffix(marker, ")")
}

// afterMarker reads what follows a marker's word: emphasis that ends, a colon.
func afterMarker(line string, i int, label, emph string, heading bool) (find, bool) {
	f := find{label: label}
	closed := false
	closing := func() {
		if emph != "" && !closed && strings.HasPrefix(line[i:], emph) {
			i += len(emph)
			closed = true
		}
	}
	closing()
	k := skipBlanks(line, i)
	colon := colonAt(line[k:])
	if colon == 0 && !closed && k < len(line) && line[k] == '*' {
		k = skipBlanks(line, skipRun(line, k)) // emphasis whose beginning is unknown
		if colon = colonAt(line[k:]); colon == 0 {
			k = skipBlanks(line, i)
		}
	}
	switch {
	case colon > 0:
		i = k + colon
		closing()
		i += styleTag(line[i:])
	case strings.HasPrefix(line[k:], "</") && styleTag(line[k:]) > 0 && colonAt(line[k+styleTag(line[k:]):]) > 0:
		i = k + styleTag(line[k:]) + 1
	case len(label) > 2 && k+1 < len(line) && k > i-1 && (line[k] == '=' && line[k+1] != '=' || strings.HasPrefix(line[k:], "- ") || strings.HasPrefix(line[k:], "– ") || strings.HasPrefix(line[k:], "— ")):
		_, n := utf8.DecodeRuneInString(line[k:]) // "Answer = 8", "Answer - B"
		i = k + n
	case len(label) > 2 && arrowAt(line[k:]) > 0:
		i = k + arrowAt(line[k:]) // "Final answer → 8"
	case isWhite(label[len(label)-1]) || bracketed(label):
	case (heading || closed) && blank(line[k:]):
		i = len(line)
	default:
		return find{}, false
	}
	if !closed {
		f.emph = emph
	}
	f.value.Start = i
	return f, true
}

func colonAt(s string) int {
	switch {
	case s == "":
	case s[0] == ':':
		return 1
	case strings.HasPrefix(s, "："):
		return len("：")
	}
	return 0
}

// arrowAt returns the length of the arrow that s begins with.
func arrowAt(s string) int {
	for _, arrow := range []string{"→", "➜", "➡️", "➡", "⇒", "⟹", "⟶", "=>", "->"} {
		if strings.HasPrefix(s, arrow) {
			return len(arrow)
		}
	}
	return 0
}

// styleTags are the tags of HTML that say how a text looks.
var styleTags = []string{"<b>", "</b>", "<strong>", "</strong>", "<i>", "</i>", "<em>", "</em>", "<u>", "</u>", "<mark>", "</mark>", "<p>", "</p>", "<br>", "<br/>"}

// styleTag returns the length of the tag of that kind that s begins with.
func styleTag(s string) int {
	for _, tag := range styleTags {
		if len(s) >= len(tag) && strings.EqualFold(s[:len(tag)], tag) {
			return len(tag)
		}
	}
	return 0
}

// skipRun skips bytes like the one at i.
func skipRun(s string, i int) int {
	c := s[i]
	for i < len(s) && s[i] == c {
		i++
	}
	return i
}

func lower(c byte) byte {
	if c-'A' < 26 {
		c += 'a' - 'A'
	}
	return c
}

// foldPrefix returns how many bytes of s spell prefix. Case of ASCII letters is
// ignored, and a space in prefix matches one or more. It returns 0 if s does not
// begin with prefix.
func foldPrefix(s, prefix string) int {
	i := 0
	for k := 0; k < len(prefix); k++ {
		if i == len(s) || lower(s[i]) != lower(prefix[k]) {
			return 0
		}
		i++
		if prefix[k] == ' ' {
			i = skipBlanks(s, i)
		}
	}
	return i
}

// labelOf returns the method of a marker: "marker:final_answer".
func labelOf(marker string) string {
	if m, ok := labels[marker]; ok {
		return m
	}
	return newLabel(marker)
}

// labels holds the methods of common markers, so that they need not be built each
// time.
var labels = func() map[string]string {
	m := map[string]string{}
	for _, marker := range slices.Concat(plainLabels, []string{"Ans", "A", "Output", "Solution", "#### "}) {
		m[marker] = newLabel(marker)
	}
	return m
}()

func newLabel(marker string) string {
	return methodMarker + ":" + strings.ToLower(strings.ReplaceAll(strings.Join(strings.Fields(marker), "_"), ",", ""))
}

// plainLabels are the markers of every task, in English.
var plainLabels = []string{"Final answer", "Answer", "Correct answer", "The answer", "My answer", "My final answer", "Corrected answer", "Final result"}

// said returns the markers of a task: its own, and the labels of every task in all
// languages.
func said(own ...string) func() *markers {
	return sync.OnceValue(func() *markers {
		list := slices.Concat(own, plainLabels, rows("label"), rows("heading"))
		slices.Sort(list)
		return newMarkers(slices.Compact(list))
	})
}
