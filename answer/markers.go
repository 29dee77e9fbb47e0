package answer

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxLead is how much Markdown may stand before a marker.
const maxLead = 64

// markers finds the lines that begin with one of the form's markers. From the last
// such line on, it also finds sentences that begin with a saying. A find in fenced
// code counts only if there is no other.
func (s *search) markers() {
	if len(s.form.Markers) == 0 {
		return
	}
	last := 0
	for at := 0; at < len(s.text); {
		end := lineEnd(s.text, at)
		if f, ok := markerOf(s.text[at:end], s.form.Markers); ok {
			last = at
			s.mark(f, at)
		}
		at = end + 1
	}
	for at := last; ; {
		if at = sentenceAfter(s.text, at); at < 0 {
			return
		}
		head := s.text[at:lineEndIn(s.text, at, min(len(s.text), at+3*maxLead))] // a line may be long
		if f, ok := markerOf(head, s.form.Markers); ok && beginsSentence(f.label) {
			s.mark(f, at)
		}
	}
}

// mark adds a marker's find; at is where it was looked for.
func (s *search) mark(f find, at int) {
	f.value.Start += at
	f.value.End = len(s.text)
	if around := s.fenceAround(at); around.End > 0 {
		f.weak, f.value.End = true, around.End
	}
	s.keep(f)
}

// beginsSentence reports whether a marker is how a sentence begins: "The answer is ".
func beginsSentence(marker string) bool {
	word := strings.TrimRight(marker, white)
	return len(word) < len(marker) && strings.IndexByte(word, ' ') > 0
}

// sentenceEnds are the bytes after which a sentence may begin.
var sentenceEnds = func() (t [256]bool) {
	for _, c := range []byte(".!?:;") {
		t[c] = true
	}
	return t
}()

// sentenceAfter returns the next place, from at on, that follows a stop and a
// space, or -1.
func sentenceAfter(text string, at int) int {
	for ; at < len(text); at++ {
		if !sentenceEnds[text[at]] {
			continue
		}
		k := at + 1
		for k < len(text) && strings.IndexByte("*_\"')$", text[k]) >= 0 {
			k++
		}
		if k < len(text) && text[k] == ' ' {
			return k + 1
		}
	}
	return -1
}

// markerOf reads a line that begins with a marker. value.Start is the text after
// it.
func markerOf(line string, markers []string) (f find, ok bool) {
	heading := false
	run := 0 // where the emphasis directly before i began
	for i := 0; i < len(line) && i < maxLead; {
		if label, n := longestAt(line, i, markers); n > 0 {
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
func longestAt(line string, i int, markers []string) (label string, n int) {
	c := lower(line[i])
	if c == '#' && i > 0 && line[i-1] == '#' {
		return "", 0
	}
	for _, m := range markers {
		if m == "" || lower(m[0]) != c || len(m) > 1 && m[1] > ' ' && (i+1 == len(line) || lower(m[1]) != lower(line[i+1])) {
			continue
		}
		word := strings.TrimRight(m, white)
		if k := foldPrefix(line[i:], word); k > n && ends(line[i+k:], m) {
			label, n = m, k
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
	return strings.HasSuffix(marker, "】") || strings.HasSuffix(marker, "]") || strings.HasSuffix(marker, ")")
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

// valueOf returns the answer within a find, trimmed.
func (s *search) valueOf(f find, tier string) Span {
	sp := f.value
	if tier == methodBoxed {
		return trim(s.text, sp)
	}
	first := sp
	first.End = lineEndIn(s.text, sp.Start, sp.End)
	if f.label == "" || blank(s.text[first.Start:first.End]) {
		sp.Start = s.firstContent(sp)
	}
	switch s.form.Extent {
	case FirstLine:
		sp.End = lineEndIn(s.text, sp.Start, sp.End)
		sp = s.relabelled(f, sp)
	case Block:
		sp.End = s.blockEnd(sp)
	case All:
		if f.label == "" {
			sp = f.value
		}
	}
	sp = unemphasised(s.text, trim(s.text, sp), f.emph)
	if s.form.Extent == All && sp.Start < sp.End {
		sp = s.indented(f.value, sp)
	}
	if s.form.Boxed {
		sp = s.boxIn(sp)
	}
	return sp
}

// indented restores the indent of the first line of an answer, which is significant
// in code.
func (s *search) indented(around, sp Span) Span {
	start := sp.Start
	for start > around.Start && (s.text[start-1] == ' ' || s.text[start-1] == '\t') {
		start--
	}
	if start > 0 && s.text[start-1] == '\n' {
		sp.Start = start
	}
	return sp
}

// firstContent returns the start of the first line that has visible content; it skips
// delimiters.
func (s *search) firstContent(sp Span) int {
	at := sp.Start
	for at < sp.End {
		end := lineEndIn(s.text, at, sp.End)
		if line := s.text[at:end]; !blank(line) && !isDelimiter(line) {
			return at
		}
		at = end + 1
	}
	return sp.End
}

// blockEnd returns where the block that begins with sp ends: at a blank line, at
// the end of the fence that contains it, or at the end of sp.
func (s *search) blockEnd(sp Span) int {
	if around := s.fenceAround(sp.Start); around.End > 0 {
		return min(sp.End, around.End)
	}
	for at := sp.Start; at < sp.End; {
		end := lineEndIn(s.text, at, sp.End)
		if line := s.text[at:end]; at > sp.Start && (blank(line) || isDelimiter(line)) {
			return at
		}
		at = end + 1
	}
	return sp.End
}

// relabelled skips a marker that is repeated where the answer should stand: in an
// answer block, or after the hashes of a heading.
func (s *search) relabelled(f find, sp Span) Span {
	if f.label != "" && f.label[0] != '#' || sp.Start >= sp.End {
		return sp
	}
	in, ok := markerOf(s.text[sp.Start:sp.End], s.form.Markers)
	if !ok {
		return sp
	}
	rest := Span{sp.Start + in.value.Start, sp.End}
	if blank(s.text[rest.Start:rest.End]) { // its value is on the next line
		rest = Span{min(sp.End+1, f.value.End), f.value.End}
		rest.Start = s.firstContent(rest)
		rest.End = lineEndIn(s.text, rest.Start, rest.End)
	}
	return unemphasised(s.text, trim(s.text, rest), in.emph)
}

// unemphasised removes the end of emphasis that began before the answer.
func unemphasised(text string, sp Span, emph string) Span {
	if emph != "" && strings.HasSuffix(text[sp.Start:sp.End], emph) && !strings.HasPrefix(text[sp.Start:sp.End], emph) {
		sp.End -= len(emph)
	}
	return trim(text, sp)
}

// boxIn returns the last box in an answer that contains one.
func (s *search) boxIn(sp Span) Span {
	list := boxesIn(s.text[sp.Start:sp.End])
	if len(list) == 0 {
		return sp
	}
	last := list[len(list)-1]
	return trim(s.text, Span{sp.Start + last.Start, sp.Start + last.End})
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
	for _, marker := range said("Answer", "Final answer", "Correct answer", "Ans", "A", "Output", "Solution", "#### ") {
		m[marker] = newLabel(marker)
	}
	return m
}()

func newLabel(marker string) string {
	return methodMarker + ":" + strings.ToLower(strings.ReplaceAll(strings.Join(strings.Fields(marker), "_"), ",", ""))
}
