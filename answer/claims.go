package answer

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/sotto-llm/sotto/internal/base/lazyregexp"
)

// maxGap is how far the verb of a statement may be from its noun, in bytes.
const maxGap = 48

// prose keeps the claims of sentences: "the answer is 8", "I choose B", "B is correct".
func (s *search) prose() {
	d := &s.discourse
	for i := range d.sentences {
		sn := &d.sentences[i]
		if sn.End < s.from || sn.End > len(s.text) {
			continue
		}
		for k, m := range sn.marks {
			if m.start < s.from {
				continue
			}
			if m.uses&(useNoun|useTotal) != 0 && (!s.form.lowest() || s.opens(sn, m)) {
				if verb, ok := s.verbAfter(sn, k); ok && (m.uses&useNoun != 0 || s.closes(sn) || s.leads(sn)) {
					s.claim(sn, m.start, verb)
				} else if s.form.Letters && s.inverted(sn, m) {
					s.claim(sn, m.start, m.end)
				}
			}
			if m.uses&usePick != 0 && s.form.Letters || m.uses&useVerdict != 0 && s.form.Verdicts {
				s.claim(sn, m.start, m.end)
			}
			if m.uses&useRight != 0 {
				s.remark(sn, m)
			}
		}
	}
}

// opens reports whether a noun stands at the beginning of its sentence: "Thus, the final
// answer".
func (s *search) opens(sn *sentence, noun mark) bool {
	head := s.text[sn.Start:noun.start]
	return noun.uses&useNoun != 0 && strings.EqualFold(s.text[noun.start:noun.end], "answer") && len(strings.Fields(head)) <= 4 && !strings.ContainsAny(head, "0123456789:=")
}

// inverted reports whether a noun that a letter follows has its verb before it: "Also
// ist die richtige Antwort B."
func (s *search) inverted(sn *sentence, noun mark) bool {
	if noun.end >= sn.End {
		return false
	}
	sp, ok := lettersAt(s.text, noun.end)
	verb, is := sn.has(useIs, sn.clauseStart(s.text, noun.start), noun.start)
	return ok && is && sp.Start <= noun.end+4 && verb.end-verb.start > 1
}

// leads reports whether a sentence begins a conclusion.
func (s *search) leads(sn *sentence) bool {
	_, ok := sn.has(useSo, sn.Start, sn.Start+3)
	return ok
}

// closes reports whether only marks and white space follow a sentence.
func (s *search) closes(sn *sentence) bool {
	return strings.Trim(s.text[sn.End:], white+".!*_$`。！") == ""
}

// verbAfter returns where the verb ends that makes a noun a statement: "answer to the
// question is".
func (s *search) verbAfter(sn *sentence, noun int) (end int, ok bool) {
	from := sn.marks[noun].end
	for _, m := range sn.marks[noun+1:] {
		if m.start < from || m.uses&useIs == 0 {
			continue
		}
		gap := s.text[from:m.start]
		if len(gap) > maxGap || strings.ContainsAny(gap, "0123456789;.(=\"“\n") || !s.skippable(sn, Span{from, m.start}) {
			return 0, false
		}
		for _, longer := range sn.marks { // "is" of "is therefore"
			if longer.start == m.start && longer.uses&useIs != 0 {
				m.end = max(m.end, longer.end)
			}
		}
		if colon := s.text[m.start:m.end]; (colon == ":" || colon == "：") && strings.Trim(s.text[sn.Start:sn.marks[noun].start], " *_#>-") == "" {
			return 0, false // a label, which the markers know
		}
		return m.end, true
	}
	return 0, false
}

// skippable reports whether words between a noun and its verb leave the statement as
// it is.
func (s *search) skippable(sn *sentence, gap Span) bool {
	text := s.text[gap.Start:gap.End]
	if first, _ := utf8.DecodeRuneInString(text); first >= utf8.RuneSelf && !spaced(first) {
		return len(text) <= 24
	}
	comma := strings.IndexByte(text, ',')
	if comma >= 0 && strings.Trim(text, ", ") != "" {
		rest := skipAny(text, strings.IndexByte(text, ',')+1, rows("filler"))
		return rest > comma+1 && strings.Trim(text[rest:], ", ") == ""
	}
	return len(strings.Fields(text)) <= 7
}

// claim keeps the value that follows a verb which ends at a place, if the sentence
// asserts it.
func (s *search) claim(sn *sentence, anchor, verb int) {
	if s.inFence(anchor) && s.form.Extent != FirstLine {
		return
	}
	d := &s.discourse
	at := afterVerb(s.text, verb)
	if to, ok := s.undenied(sn, at); ok {
		at = to
	} else if s.form.Letters {
		at = skipAny(s.text, at, rows("letter"))
	}
	if at > sn.End && blank(s.text[sn.End:min(at, len(s.text))]) {
		at = sn.End
	}
	force := d.force(sn, anchor, at)
	if force == asserted && denies(sn, at) && !s.form.Verdicts {
		force = denied
	}
	switch force {
	case asserted:
	case denied:
		but, ok := s.contrast(sn, at)
		if !ok {
			s.instead(sn)
			return
		}
		if at = afterVerb(s.text, but.end); s.form.Letters {
			at = skipAny(s.text, at, rows("letter"))
		}
	default:
		return
	}
	f := find{label: s.text[anchor:verb], sentence: true}
	f.value = Span{at, len(s.text)}
	if around := s.fenceAround(max(0, at-1)); around.End > 0 {
		f.weak, f.value.End = true, around.End
	}
	if !s.shaped(sn, at) {
		if s.form.Conclusions {
			return
		}
		f.weak = true
	}
	s.keep(s.lettered(f))
}

// sortClaims orders the claims by where they stand. Of several at one place the one
// that was found first counts.
func (s *search) sortClaims() {
	place := func(f find) int { return contentAt(s.text, f.value.Start) }
	slices.SortStableFunc(s.list, func(a, b find) int { return place(a) - place(b) })
	s.list = slices.CompactFunc(s.list, func(a, b find) bool {
		same := place(a) == place(b) && a.weak == b.weak
		if same && a.weak {
			s.weak--
		} else if same {
			s.strong--
		}
		return same
	})
}

// contentAt returns where the answer itself begins, after marks.
func contentAt(text string, at int) int {
	at = afterVerb(text, at)
	for at < len(text) && strings.IndexByte("*_ ", text[at]) >= 0 {
		at++
	}
	return at
}

// lettered narrows a claim to the letters that its sentence gives.
func (s *search) lettered(f find) find {
	if !s.form.Letters || f.value.Start >= len(s.text) {
		return f
	}
	at := s.firstContent(f.value)
	at = skipAny(s.text, at, rows("letter"))
	end := lineEnd(s.text, at)
	if n := sentenceEnd(s.text[at:end]); n >= 0 {
		end = min(end, at+n+1)
	}
	if sp, ok := lettersAt(s.text, at); ok {
		f.value, f.method = sp, labelOf(strings.TrimRight(f.label, ":："))
	} else if sp := letterIn(s.text[at:end], s.problem); sp.End > 0 {
		f.value, f.method = Span{at + sp.Start, at + sp.End}, labelOf(strings.TrimRight(f.label, ":："))
	}
	return f
}

// denies reports whether a word that denies stands at a place, and is no answer.
func denies(sn *sentence, at int) bool {
	m, ok := sn.has(useNot, at, at+1)
	return ok && m.uses&useNo == 0
}

// instead keeps what the sentence after a denial says is so: "The answer is not A. It is
// C."
func (s *search) instead(sn *sentence) {
	d := &s.discourse
	i, _ := slices.BinarySearchFunc(d.sentences, sn.End, func(t sentence, at int) int { return t.Start - at })
	if i == len(d.sentences) || s.form.Value == nil || s.inFence(d.sentences[i].Start) || d.sentences[i].End > len(s.text) {
		return
	}
	next := &d.sentences[i]
	if it, ok := next.has(useIt, next.Start, next.Start+3); ok {
		if sp, ok := s.correction(next, it.start, false); ok {
			s.keep(find{value: sp, method: methodCorrection})
		}
	}
}

// contrast returns the words after which the sentence says what is so, and not what it
// has denied.
func (s *search) contrast(sn *sentence, from int) (but mark, ok bool) {
	for _, m := range sn.marks {
		if m.uses&useBut != 0 && m.start > from && s.discourse.contrasts(m) && (!ok || m.start == but.start) {
			but, ok = m, true
		}
	}
	return but, ok
}

// undenied returns where the value begins after one that is denied by what follows it:
// "5ではなく6".
func (s *search) undenied(sn *sentence, at int) (int, bool) {
	for _, m := range sn.marks {
		if m.uses&useNever != 0 && m.start > at && m.start <= at+24 && !strings.ContainsAny(s.text[at:m.start], ",;") && !strings.Contains(s.text[at:m.start], "，") && !strings.Contains(s.text[at:m.start], "、") {
			return afterVerb(s.text, m.end), true
		}
	}
	return at, false
}

// shaped reports whether the sentence gives a value of the task from a place on.
func (s *search) shaped(sn *sentence, at int) bool {
	if s.form.Value == nil || at >= sn.End {
		return s.form.Value == nil || at < len(s.text) && blank(s.text[sn.End:at])
	}
	return s.form.Value(s.text[at:sn.End], s.problem).End > 0
}

// remark keeps the value before words that call it right: "B is correct", "8 is the
// answer".
func (s *search) remark(sn *sentence, right mark) {
	if s.form.Value == nil {
		return
	}
	d := &s.discourse
	if _, never := sn.has(useNever, right.start, right.start+1); never || strings.HasSuffix(strings.TrimRight(s.text[sn.Start:right.start], " "), "not") {
		return
	}
	var sp Span
	if s.form.Letters {
		var ok bool
		if sp, ok = letterBefore(s.text, right.start); !ok || isConsequence(s.text[sn.Start:max(sp.Start, sn.Start)]) || !remarkEnds(s.text, right.end) {
			return
		}
	} else {
		if noun, ok := sn.has(useNoun, right.start, right.end+16); !ok || noun.start < right.start {
			return
		}
		from := sn.clauseStart(s.text, right.start)
		if sp = s.form.Value(s.text[from:right.start], s.problem); sp.End == 0 {
			return
		}
		sp = Span{from + sp.Start, from + sp.End}
	}
	if sp.Start < s.from || d.force(sn, sp.Start, right.end) != asserted {
		return
	}
	s.keep(find{value: sp, method: methodRemark, weak: s.inFence(sp.Start)})
}

// afterVerb returns where the value begins after a verb.
func afterVerb(text string, at int) int {
	if k := at; k < len(text) && (text[k] == '*' || text[k] == '_') { // "**The answer is** 8"
		if k = skipRun(text, k); k < len(text) && text[k] == ' ' {
			at = k
		}
	}
	for range 3 {
		at = skipBlanks(text, at)
		at += colonAt(text[at:])
		next := skipAny(text, at, rows("filler"))
		if next == at {
			break
		}
		at = next
	}
	return skipBlanks(text, at)
}

// corrected takes the value that a second look gives without naming it the answer:
// "Wait, it's 9." The last such sentence counts.
func (s *search) corrected(out *Extraction, t turn) bool {
	if s.form.Value == nil {
		return false
	}
	d := &s.discourse
	s.forget()
	left := 8
	for i := range d.sentences {
		sn := &d.sentences[i]
		if sn.End <= t.at || left == 0 || s.inFence(sn.Start) {
			continue
		}
		left--
		void := t.void
		if !void && sn.Start > t.end {
			if _, ok := sn.has(useIt, sn.Start, sn.Start+3); !ok {
				break
			}
		}
		sp, ok := s.correction(sn, max(sn.Start, t.end), void)
		if !ok && s.form.Verdicts { // "Yes … no, I was wrong"
			sp, ok = s.correction(sn, max(sn.Start, t.at), void)
		}
		if ok {
			s.keep(find{value: sp, method: methodCorrection})
		}
	}
	return s.settle(out, methodCorrection)
}

// correction returns the value that a sentence gives from a place on, after a verb such
// as "it is", after an equals sign, or as all that it says.
func (s *search) correction(sn *sentence, from int, void bool) (Span, bool) {
	for from < sn.End {
		r, n := utf8.DecodeRuneInString(s.text[from:])
		if !strings.ContainsRune(" ,.:;!*_—–-…(\"，、：。", r) {
			break
		}
		from += n
	}
	if _, unsure := sn.has(useDrop|useMaybe, from, sn.End); unsure || from >= sn.End {
		return Span{}, false
	}
	anchor := from
	if to, ok := s.undenied(sn, from); ok && to < sn.End {
		anchor, from = to, to
	}
	led := false
	for _, m := range sn.marks {
		if m.uses&(useIt|useIs|useSo) != 0 && m.start >= from && strings.Trim(s.text[m.start:m.end], "=-–") != "" && m.end < sn.End && s.form.Value(s.text[m.end:sn.End], s.problem).End > 0 {
			anchor, led = m.end, true
		}
	}
	sp := s.form.Value(s.text[anchor:sn.End], s.problem)
	if sp.End == 0 {
		return Span{}, false
	}
	sp = Span{anchor + sp.Start, anchor + sp.End}
	if d := &s.discourse; d.force(sn, max(from, sp.Start), sp.Start) != asserted || d.force(sn, from, sp.Start) == supposed {
		return Span{}, false
	}
	return sp, led || void || strings.Trim(s.text[anchor:sp.Start]+s.text[sp.End:sn.End], white+".,*_$()") == ""
}

// concluded takes the value of the last statement that gives one: of a sentence that
// begins a conclusion ("So she has 8 apples left"), of the one that a short reply is, or
// of what stands after a list.
func (s *search) concluded(out *Extraction) bool {
	if !s.form.Conclusions {
		return false
	}
	s.forget()
	if sp, ok := s.statement(); ok {
		s.keep(find{value: sp, method: methodConclusion})
	}
	return s.settle(out, methodConclusion)
}

// maxShort is how many sentences with a value may stand before the last one of a short
// reply.
const maxShort = 2

// statement returns the value of the last sentence that states one. Notes, checks and
// questions after it are passed over.
func (s *search) statement() (Span, bool) {
	d := &s.discourse
	for i := len(d.sentences) - 1; i >= 0 && d.sentences[i].Start >= s.from; i-- {
		sn := &d.sentences[i]
		if s.inFence(sn.Start) {
			return Span{}, false
		}
		if s.adds(sn) {
			continue
		}
		if _, unsure := sn.has(useDrop|useMaybe, sn.Start, sn.End); unsure {
			return Span{}, false
		}
		sp, led := s.stating(sn)
		if sp.End == 0 && i == len(d.sentences)-1 && s.breaksOff(sn) {
			return Span{}, false
		}
		if sp.End == 0 {
			if strings.ContainsAny(s.text[sn.Start:sn.End], bareDigits) && !s.named() && !s.form.Letters && !s.form.Verdicts {
				return Span{}, false // several values
			}
			continue
		}
		switch f := d.force(sn, sp.Start, sp.Start); {
		case f == attributed:
			continue
		case f != asserted || s.qualified(sn, sp):
			return Span{}, false
		}
		return sp, led || s.short(i) && (!s.form.Letters || s.namesOption(sp)) && (!s.named() || i == 0)
	}
	return Span{}, false
}

// breaksOff reports whether a sentence seems to have lost its end.
func (s *search) breaksOff(sn *sentence) bool {
	last, _ := utf8.DecodeLastRuneInString(s.text[sn.Start:sn.End])
	return sn.stop == "" && unicode.IsLetter(last) && spaced(last) && len(strings.Fields(s.text[sn.Start:sn.End])) > 5
}

// qualified reports whether a sentence does not simply state its value: it supposes,
// doubts, says what others say, or goes on in the next line.
func (s *search) qualified(sn *sentence, sp Span) bool {
	for _, m := range sn.marks {
		if m.uses&(useMaybe|useDrop|useSay|useWere) != 0 && m.uses&(useIs|useIt) == 0 || m.uses&useIf != 0 && m.start <= sp.Start && s.discourse.subjunctive(sn, m, sp.Start) {
			return true
		}
	}
	if sn.stop == "" && sn.End+1 < len(s.text) {
		if r, _ := utf8.DecodeRuneInString(s.text[sn.End+1:]); unicode.IsLower(r) {
			return true
		}
	}
	head := strings.Trim(s.text[sn.Start:sp.Start], " *_")
	return len(head) > 0 && len(head) <= 3 && isLetter(head[0]) && !s.form.Letters && !s.named() && strings.IndexByte(head, '=') < 0 // "In 2024 …"
}

// named reports whether the values of the task are names, so that only a sentence alone,
// or one that marks it, states one.
func (s *search) named() bool { return s.form.Bare != nil && !s.form.Scan && s.form.Conclusions }

// namesOption reports whether a value is the text of an option, or a letter beside it.
func (s *search) namesOption(sp Span) bool {
	text := s.text[sp.Start:sp.End]
	if len(s.problem.Options) == 0 {
		return false
	}
	if len(text) > 3 || !lettersOnly(strings.Trim(text, "()[]")) {
		return true
	}
	rest := s.text[sp.End:lineEnd(s.text, sp.End)]
	at := int(strings.Trim(text, "()[]")[0] - 'A')
	return at < len(s.problem.Options) && strings.HasPrefix(optionKey(strings.TrimLeft(rest, " .):—–-,*(")), optionKey(s.problem.Options[at]))
}

// adds reports whether a sentence only adds to an answer: a note, a check, a question, a
// row of a list.
func (s *search) adds(sn *sentence) bool {
	if strings.ContainsAny(sn.stop, "?") || strings.Contains(sn.stop, "？") {
		return true
	}
	line := strings.LastIndexByte(s.text[:sn.Start], '\n') + 1
	lead := line
	for lead < sn.End {
		r, n := utf8.DecodeRuneInString(s.text[lead:])
		if !strings.ContainsRune(" *_>(（\t", r) && !unicode.Is(unicode.So, r) {
			break
		}
		lead += n
	}
	first := s.discourse.sentenceAt(lead)
	if first == nil {
		first = sn
	}
	if _, ok := first.has(useNote, lead, lead+1); ok {
		return true
	}
	if strings.HasPrefix(s.text[sn.Start:], "(") && strings.ContainsAny(sn.stop, ")") {
		return true
	}
	head := strings.TrimLeft(s.text[line:sn.End], " ")
	return strings.HasPrefix(head, "(") || strings.HasPrefix(head, "（") || strings.HasPrefix(head, ">") || strings.HasPrefix(head, "※") || strings.HasPrefix(head, "💡")
}

// stating returns the value that a sentence states. led says whether it marks it: by bold,
// or as a conclusion.
func (s *search) stating(sn *sentence) (sp Span, led bool) {
	text := s.text[sn.Start:sn.End]
	if listMark(strings.TrimLeft(text, " ")) > 0 && !s.form.Letters {
		return Span{}, false // a step, or one of several
	}
	if bold := boldIn(text); bold.End > 0 {
		if v := s.form.Value(text[bold.Start:bold.End], s.problem); v.End > 0 {
			at := sn.Start + bold.Start
			return Span{at + v.Start, at + v.End}, true
		}
	}
	from := -1
	for _, m := range sn.marks {
		if m.uses&useSo == 0 || m.start < from {
			continue
		}
		led = led || s.discourse.beginsClause(sn, m.start)
		if v := s.form.Value(s.text[m.end:sn.End], s.problem); v.End > 0 && m.end > from {
			from = m.end
		}
	}
	v := s.form.Value(text, s.problem)
	at := sn.Start
	if v.End == 0 && from >= 0 {
		at = from
		v = s.form.Value(s.text[at:sn.End], s.problem)
	}
	if v.End == 0 {
		return Span{}, false
	}
	return Span{at + v.Start, at + v.End}, led
}

// boldIn returns the only bold part of a text, or an empty span.
func boldIn(text string) Span {
	k := strings.Index(text, "**")
	if k < 0 || strings.Count(text, "**") != 2 {
		return Span{}
	}
	return Span{k + 2, k + 2 + strings.Index(text[k+2:], "**")}
}

// short reports whether few sentences before one give a value, besides the rows of a list.
func (s *search) short(i int) bool {
	d := &s.discourse
	n := 0
	for k := range i {
		sn := &d.sentences[k]
		text := s.text[sn.Start:sn.End]
		if listMark(strings.TrimLeft(text, " ")) > 0 || strings.HasPrefix(strings.TrimLeft(text, " "), "|") {
			continue
		}
		if s.form.Letters || s.form.Verdicts || strings.ContainsAny(text, bareDigits) {
			n++
		}
	}
	return n <= maxShort
}

// checked keeps the option of a list that is ticked off: "C. Jupiter ✅".
func (s *search) checked() {
	var found Span
	for at := s.from; at < len(s.text); {
		end := lineEnd(s.text, at)
		line := s.text[at:end]
		if strings.ContainsAny(line, "✅✓✔☑○◯") {
			m := letterOption.FindStringSubmatchIndex(line[:min(len(line), maxLetters)])
			if m == nil || found.End > 0 {
				return
			}
			found = Span{at + m[2], at + m[3]}
		}
		at = end + 1
	}
	if found.End > 0 {
		s.keep(find{value: found, method: methodRemark, weak: s.inFence(found.Start)})
	}
}

// letterOption matches a letter that leads an option.
var letterOption = lazyregexp.New(`^[-*_ >]{0,6}(?:✅|✓|✔️?|☑)? ?(\([A-Za-z]\)|[A-Z]|[a-z][.)])[.)\]:]?[*_]{0,2}(?:\s|$)`)
