package answer

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// valueOf returns the answer within a find, trimmed.
func (s *search) valueOf(f find, tier string) Span {
	sp := f.value
	if f.method != "" {
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
		if f.label != "" && s.form.Conclusions && !s.form.Letters && !s.named() {
			sp = s.firstSentence(sp)
		}
		if tier == methodMarker {
			sp = s.stated(f, sp)
		}
	case Block:
		sp.End = s.blockEnd(sp)
	case All:
		if f.label == "" {
			sp = f.value
		}
	}
	if s.form.formulas {
		sp = withoutRemark(s.text, s.boldValueOf(sp))
	}
	sp = untagged(s.text, unemphasised(s.text, trim(s.text, sp), f.emph))
	if s.form.Extent == All && sp.Start < sp.End {
		sp = s.indented(f.value, sp)
	}
	if s.form.Boxed {
		sp = s.boxIn(sp)
	}
	return sp
}

// withoutRemark returns a number without the remark in brackets after it: "5 (for x = 2)".
func withoutRemark(text string, sp Span) Span {
	value := text[sp.Start:sp.End]
	k := strings.IndexAny(value, "(（")
	if k < 1 || k > maxGap {
		return sp
	}
	head := strings.TrimRight(value[:k], " $*")
	if head == "" || !isDigit(head[len(head)-1]) || strings.ContainsAny(head, "=\\^") {
		return sp
	}
	n := strings.IndexAny(value[k:], ")）")
	if n < 0 || !strings.ContainsAny(value[k:k+n], "=＝") && !strings.ContainsFunc(value[k:k+n], isCJK) {
		return sp
	}
	return trim(text, Span{sp.Start, sp.Start + k})
}

// boldValueOf returns the bold part of a formula, if nothing stands before it but what leads to an
// equals sign, and nothing after it but symbols: "x = **13**", "**144 cm²** ✅".
func (s *search) boldValueOf(sp Span) Span {
	text := s.text[sp.Start:sp.End]
	bold := boldIn(text)
	if bold.End == 0 || s.form.Value(text[bold.Start:bold.End], s.problem).End == 0 {
		return sp
	}
	head, tail := strings.TrimRight(text[:bold.Start-len("**")], " "), text[bold.End+len("**"):]
	if !blank(head) && !strings.HasSuffix(head, "=") || strings.ContainsFunc(tail, isWordRune) || strings.ContainsAny(tail, "+-*/^=$\\") {
		return sp
	}
	return Span{sp.Start + bold.Start, sp.Start + bold.End}
}

// firstSentence returns the first sentence of an answer, if that gives the value.
func (s *search) firstSentence(sp Span) Span {
	sp = trim(s.text, sp)
	n := sentenceEnd(s.text[sp.Start:sp.End])
	if n <= 0 || strings.Trim(s.text[sp.Start+n:sp.End], white+".!?。！*_$`") == "" || s.form.Value(s.text[sp.Start:sp.Start+n], s.problem).End == 0 {
		return sp
	}
	return Span{sp.Start, sp.Start + n}
}

// stated returns the answer without what follows it in its sentence, and the
// sentences after it. A sentence that states an answer ends with its stop. What is
// marked off as a whole ("$5$ cm", "**Paris**, the capital") is the answer by itself.
func (s *search) stated(f find, sp Span) Span {
	sp = trim(s.text, sp)
	if end := markedOff(s.text[sp.Start:sp.End]); end > 0 {
		return Span{sp.Start, sp.Start + end}
	}
	if !f.sentence {
		return sp
	}
	value := s.text[sp.Start:sp.End]
	if end := sentenceEnd(value); end >= 0 {
		value = value[:end]
	}
	if k := strings.Index(value, ", which "); k > 0 {
		value = value[:k]
	}
	for _, tail := range rows("tail") {
		if rest, ok := strings.CutSuffix(strings.TrimRight(value, " *"), tail); ok && rest != "" {
			value = rest
			break
		}
	}
	for _, emph := range []string{"**", "__"} {
		if strings.Count(value, emph)%2 == 1 {
			value = strings.TrimSuffix(strings.TrimRight(value, " "), emph)
		}
	}
	return trim(s.text, Span{sp.Start, sp.Start + len(value)})
}

// marks are pairs that mark off an answer.
var marks = [][2]string{{"**", "**"}, {"$$", "$$"}, {"$", "$"}, {`\(`, `\)`}, {"`", "`"}}

// markedOff returns the length of the answer that is marked off at the start of s, if
// what follows leaves it as it is: nothing, a unit after a formula, or a mark of
// punctuation and words. It is 0 otherwise.
func markedOff(s string) int {
	for _, m := range marks {
		rest, ok := strings.CutPrefix(s, m[0])
		if !ok {
			continue
		}
		n := strings.Index(rest, m[1])
		if n < 1 || blank(rest[:n]) || strings.HasSuffix(rest[:n], ":") {
			return 0
		}
		end := len(m[0]) + n + len(m[1])
		if m[0] == "$" && (isWhite(rest[n-1]) || isWhite(rest[0])) {
			return 0 // two amounts of money
		}
		if after := s[end:]; blank(after) || leaves(after) || (m[0][0] == '$' || m[0][0] == '\\') && isUnit(after) {
			return end
		}
		return 0
	}
	return 0
}

// leaves reports whether what follows an answer is a mark of punctuation and words
// that do not go on with a list.
func leaves(after string) bool {
	after = strings.TrimLeft(after, " ")
	r, n := utf8.DecodeRuneInString(after)
	if !strings.ContainsRune(".,;:!。，；！(（—–", r) && !strings.HasPrefix(after, "- ") {
		return false
	}
	after = strings.TrimLeft(after[n:], " ")
	next, _ := utf8.DecodeRuneInString(after)
	if unicode.IsDigit(next) || next == '$' || next == '*' || next == '`' || strings.HasPrefix(after, `\(`) {
		return false
	}
	return skipAny(after, 0, joins) == 0
}

// joins are words that go on with a list, or with a calculation.
var joins = []string{"or", "and", "oder", "und", "o", "y", "ou", "et", "e", "или", "и", "times", "plus", "minus", "no", "not"}

// isUnit reports whether only a unit follows a number: a few words without a digit.
func isUnit(after string) bool {
	end := sentenceEnd(after)
	if end < 0 {
		end = len(after)
		if k := strings.IndexAny(after, ",;("); k >= 0 {
			end = k
		}
	}
	fields := strings.Fields(after[:end])
	if len(fields) == 0 || len(fields) > 3 || strings.ContainsAny(after[:end], "0123456789=+$*") && !strings.HasSuffix(after[:end], "^2") {
		return false
	}
	for _, word := range fields {
		if slices.Contains(notUnits, strings.ToLower(strings.Trim(word, ".,"))) {
			return false
		}
	}
	return true
}

// notUnits are words after a number that change it, or go on with a sentence.
var notUnits = append([]string{"of", "is", "are", "was", "were", "if", "but", "more", "less", "than", "to", "for", "in", "on", "at", "when", "where", "which", "that", "because", "since", "k", "thousand", "million", "billion", "trillion", "percent"}, joins...)

// untagged returns a span without tags of HTML that say how it looks.
func untagged(text string, sp Span) Span {
	for sp.Start < sp.End && text[sp.Start] == '<' {
		n := styleTag(text[sp.Start:sp.End])
		if n == 0 {
			return sp
		}
		sp.Start += n
	}
	for sp.Start < sp.End && text[sp.End-1] == '>' {
		k := strings.LastIndexByte(text[sp.Start:sp.End], '<')
		if k < 0 || styleTag(text[sp.Start+k:sp.End]) != sp.End-sp.Start-k {
			return sp
		}
		sp.End = sp.Start + k
	}
	return trim(text, sp)
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
	in, ok := markerOf(s.text[sp.Start:sp.End], s.form.markers)
	if !ok {
		return s.restated(sp)
	}
	rest := Span{sp.Start + in.value.Start, sp.End}
	if blank(s.text[rest.Start:rest.End]) { // its value is on the next line
		rest = Span{min(sp.End+1, f.value.End), f.value.End}
		rest.Start = s.firstContent(rest)
		rest.End = lineEndIn(s.text, rest.Start, rest.End)
	}
	return unemphasised(s.text, trim(s.text, rest), in.emph)
}

// restated returns what a sentence claims that stands where the answer should: "The answer
// is 8."
func (s *search) restated(sp Span) Span {
	sn := s.discourse.sentenceAt(sp.Start)
	if sn == nil || sn.End > sp.End+1 {
		return sp
	}
	for k, m := range sn.marks {
		if m.uses&useNoun != 0 && m.start >= sp.Start && m.start <= sp.Start+24 {
			if verb, ok := s.verbAfter(sn, k); ok && s.discourse.force(sn, m.start, verb) == asserted {
				return s.stated(find{sentence: true}, Span{afterVerb(s.text, verb), sp.End})
			}
		}
	}
	return sp
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
