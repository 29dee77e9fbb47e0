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
				step := m.uses&useNoun == 0 && !s.closes(sn)
				if verb, ok := s.verbAfter(sn, k); ok && (!step || s.leads(sn)) {
					s.claim(sn, m.start, verb, step)
				} else if s.form.Letters && s.inverted(sn, m) {
					s.claim(sn, m.start, m.end, false)
				}
			}
			if m.uses&usePick != 0 && s.form.Letters || m.uses&useVerdict != 0 && s.form.Verdicts {
				s.claim(sn, m.start, m.end, false)
			}
			if m.uses&useRight != 0 {
				s.remark(sn, m)
			}
			if m.uses&useSo != 0 && s.form.Verdicts && m.start > sn.Start && d.beginsClause(sn, m.start) {
				s.verdictAfter(sn, m)
			}
		}
		if s.form.Verdicts && !s.inFence(sn.Start) && len(d.turns) == 0 {
			if sp := s.verdictLead(sn, sn.Start); sp.End > 0 && (s.led(sn, sp) || s.setOff(sn, sp) || i > 0 && asks(&d.sentences[i-1])) && d.force(sn, sp.Start, sp.Start) == asserted && !s.adds(sn) {
				s.keep(find{value: sp, method: methodRemark, step: true})
			}
		}
	}
}

// verdictLead returns the yes or no that a sentence gives in its own words from a place on:
// first of all, or after words that begin a conclusion ("In short, no: …"), or after a
// colon, and with a mark after it.
func (s *search) verdictLead(sn *sentence, from int) Span {
	lead, noun := from, 0
	best := Span{}
	seen := from // up to which colons were looked for: a line of dashes has hundreds of marks
	for _, m := range sn.marks {
		if m.start < from {
			continue
		}
		gap := ""
		if m.uses&(useYes|useNo|useSo|useNote|useNoun|useIs|useIt) != 0 {
			gap = strings.Trim(s.text[lead:max(lead, m.start)], " ,:;，：、*_\"“”「」'«»—–-¡")
			if k := skipAny(gap, 0, rows("filler")); k > 0 {
				gap = gap[k:]
			}
		}
		if m.uses&(useYes|useNo) != 0 && m.end-m.start > 1 && !partOfWords(s.text, sn.marks, Span{m.start, m.end}) && (gap == "" || s.quotedVerdict(sn, m)) && stops(s.text[m.end:]) && m.end > best.End {
			best = Span{m.start, m.end}
		}
		if m.uses&useIs != 0 && noun > 0 && m.start > noun {
			lead = max(lead, m.end)
		}
		if m.uses&useNoun != 0 {
			noun = m.end
		}
		if m.uses&(useSo|useNote|useNoun|useIs|useIt) != 0 && (m.start <= lead || gap == "") {
			lead = max(lead, m.end)
		}
		if k := strings.LastIndexAny(s.text[seen:m.start], ":：；;"); k >= 0 {
			lead = max(lead, seen+k)
		}
		seen = m.start
	}
	return best
}

// verdictAfter keeps the yes or no that follows words within a sentence that begin a conclusion:
// "it is not coated, so no, it would rust".
func (s *search) verdictAfter(sn *sentence, so mark) {
	at := skipAny(s.text, so.end, []string{"che", "que", "dass", "that"})
	for _, m := range sn.marks {
		if m.uses&(useYes|useNo) == 0 || m.start < at || m.end-m.start < 2 || strings.Trim(s.text[at:m.start], " ,:：，*_") != "" {
			continue
		}
		if stops(s.text[m.end:]) && !partOfWords(s.text, sn.marks, Span{m.start, m.end}) && s.discourse.force(sn, so.start, m.start) == asserted {
			s.keep(find{value: Span{m.start, m.end}, method: methodRemark})
			return
		}
	}
}

// quotedVerdict reports whether a yes or no stands in quotation marks, alone of its sentence:
// "つまり「いいえ」です".
func (s *search) quotedVerdict(sn *sentence, m mark) bool {
	at := beforeQuote(s.text, sn.Start, m.start)
	if at == m.start || quotedIn(s.text, at) {
		return false
	}
	for _, other := range sn.marks {
		if other.uses&(useYes|useNo) != 0 && (other.end <= m.start || other.start >= m.end) && beforeQuote(s.text, sn.Start, other.start) < other.start {
			return false
		}
	}
	rest := strings.TrimLeft(s.text[m.end:], "」』”’»'\" ")
	for _, tail := range rows("tail") {
		if strings.HasPrefix(rest, tail) {
			return true
		}
	}
	right, ok := sn.has(useRight, m.end, m.end+12)
	return rest == "" || strings.IndexByte(".!\n", rest[0]) >= 0 || ok && right.start >= m.end
}

// led reports whether words stand before a value in its sentence.
func (s *search) led(sn *sentence, sp Span) bool {
	return strings.ContainsFunc(s.text[sn.Start:sp.Start], unicode.IsLetter)
}

// setOff reports whether a value is in bold within a line, or an arrow points to it.
func (s *search) setOff(sn *sentence, sp Span) bool {
	head := s.text[max(0, sp.Start-8):sp.Start]
	if strings.HasSuffix(head, "**") {
		return !s.beginsLine(sn.Start)
	}
	head = strings.TrimRight(head, " *_")
	return strings.HasSuffix(head, "→") || strings.HasSuffix(head, "⇒") || strings.HasSuffix(head, "->") || strings.HasSuffix(head, "=>")
}

// asks reports whether a sentence is a question.
func asks(sn *sentence) bool {
	return strings.ContainsAny(sn.stop, "?") || strings.Contains(sn.stop, "？")
}

// stops reports whether a mark follows that ends a clause, or a quotation.
func stops(rest string) bool {
	rest = strings.TrimLeft(rest, "*_ \"”」』'’»")
	for _, ending := range rows("tail") {
		rest = strings.TrimPrefix(rest, ending)
	}
	if rest == "" {
		return true
	}
	r, _ := utf8.DecodeRuneInString(rest)
	return unicode.IsPunct(r) && r != '-' && r != '/' || r == '\n' || unicode.Is(unicode.So, r)
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
		if len(gap) > maxGap || strings.HasPrefix(gap, "'") || // a key: {'answer': 8}
			strings.ContainsAny(gap, "0123456789;.(=\"“\n") || !s.skippable(sn, Span{from, m.start}) {
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
// asserts it. What may be a step of the work makes no later claim ambiguous.
func (s *search) claim(sn *sentence, anchor, verb int, step bool) {
	if s.inFence(anchor) && s.form.Extent != FirstLine {
		return
	}
	if bracketOpen(s.text, sn.Start, anchor) && strings.ContainsAny(s.text[sn.Start:anchor], bareDigits) {
		return // an aside: "3.67 (the exact value is 11/3)"
	}
	d := &s.discourse
	at := afterVerb(s.text, verb)
	if to, ok := s.undenied(sn, at); ok && !s.form.Verdicts {
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
	f := find{label: s.text[anchor:verb], sentence: true, step: step}
	f.value = Span{at, len(s.text)}
	if around := s.fenceAround(max(0, at-1)); around.End > 0 {
		f.weak, f.value.End = true, around.End
	}
	if !s.shaped(sn, at) {
		if s.form.Conclusions && (s.form.Letters || s.form.Verdicts || !isExpression(s.text[min(at, sn.End):sn.End])) {
			return
		}
		f.weak = !s.form.Conclusions
	}
	s.keep(s.lettered(f))
}

// isExpression reports whether a text seems to be a value, though none of the task:
// "8*3" where the task is a number. It is claimed all the same, and no earlier value is.
func isExpression(text string) bool {
	return strings.ContainsAny(text, "0123456789^+\\") && len(strings.Fields(text)) <= 3
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
		if m.uses&useNever != 0 && m.start > at && m.start <= at+24 && !strings.ContainsAny(s.text[at:m.start], ",;") && strings.IndexByte(s.text[at+1:m.start], '(') < 0 && !strings.Contains(s.text[at:m.start], "，") && !strings.Contains(s.text[at:m.start], "、") {
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
		if noun, ok := sn.has(useNoun, right.start, right.end+16); (!ok || noun.start < right.start) && !s.isSubject(sn, right) {
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

// isSubject reports whether words that call something right end their sentence, and their subject
// stands before them with its particle, as in Japanese and Korean: "36通りが正しいです".
func (s *search) isSubject(sn *sentence, right mark) bool {
	head := strings.TrimRight(s.text[sn.Start:right.start], " ")
	if !strings.HasSuffix(head, "が") && !strings.HasSuffix(head, "이") && !strings.HasSuffix(head, "가") {
		return false
	}
	rest := s.text[right.end:sn.End]
	for _, tail := range rows("tail") {
		rest = strings.TrimPrefix(rest, tail)
	}
	return blank(rest) && len(s.discourse.turns) > 0
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
		void := t.void || t.aside && sn.Start <= t.at
		if !void && sn.Start > t.end {
			if _, ok := sn.has(useIt|useSo, sn.Start, sn.Start+3); !ok && boldIn(s.text[sn.Start:sn.End]).End == 0 {
				continue
			}
		}
		own := sn.Start <= t.at
		if own && s.takesBackObject(sn, t) {
			continue
		}
		sp, ok := s.correction(sn, max(sn.Start, t.end), void && !(own && t.drop))
		if !ok && s.form.Verdicts { // "Yes … no, I was wrong"
			sp, ok = s.correction(sn, max(sn.Start, t.at), void)
		}
		if ok {
			s.keep(find{value: sp, method: methodCorrection})
		}
	}
	if len(s.list) == 0 {
		if sp := s.newAfter(t); sp.End > 0 {
			s.keep(find{value: sp, method: methodCorrection})
		}
	}
	return s.settle(out, methodCorrection)
}

// takesBackObject reports whether a value that the reply has given before is the object of the words
// that take it back: "I withdraw the 9". What corrects it stands after a mark.
func (s *search) takesBackObject(sn *sentence, t turn) bool {
	if !t.void || !s.form.amounts && !s.form.formulas || t.end >= sn.End {
		return false
	}
	end := clauseAfter(s.text, t.end, sn.End)
	at := strings.IndexAny(s.text[t.end:end], bareDigits)
	if at < 0 || !strings.ContainsFunc(s.text[t.end:t.end+at], unicode.IsLetter) || strings.ContainsAny(s.text[t.end:t.end+at], ":：=.(") {
		return false
	}
	if _, verb := sn.has(useIs|useIt|useSo, t.end, t.end+at); verb {
		return false
	}
	n := 0
	for n < end-t.end-at && strings.IndexByte(bareDigits, s.text[t.end+at+n]) >= 0 {
		n++
	}
	value := s.text[t.end+at : t.end+at+n]
	k := strings.LastIndex(s.text[max(0, t.at-maxBack):t.at], value)
	return k >= 0
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
	if s.form.Verdicts {
		if sp := s.verdictLead(sn, from); sp.End > 0 {
			return sp, true
		}
	}
	if s.named() {
		if sp := s.nameAt(from, sn.End); sp.End > 0 {
			return sp, true
		}
	}
	led := false
	if k := max(strings.LastIndex(s.text[from:max(from, sn.End)], ": ")+len(": "), strings.LastIndex(s.text[from:max(from, sn.End)], "：")+len("：")); k > len("：")-1 && k > 2 && s.form.Value(s.text[from+k:sn.End], s.problem).End > 0 && void {
		from, led = from+k, true
	}
	if m, unsure := sn.has(useDrop|useMaybe, from, sn.End); unsure && m.uses&useIt == 0 || from >= sn.End {
		return Span{}, false
	}
	anchor := from
	if to, ok := s.undenied(sn, from); ok && to < sn.End {
		anchor, from = to, to
	}
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
	if s.form.Verdicts && partOfWords(s.text, sn.marks, sp) || s.named() && wordy(s.text[sp.Start:sp.End]) {
		return Span{}, false
	}
	if d := &s.discourse; d.force(sn, max(from, sp.Start), sp.Start) != asserted || d.force(sn, from, sp.Start) == supposed {
		return Span{}, false
	}
	return sp, led || void || strings.Trim(s.text[anchor:sp.Start]+s.text[sp.End:sn.End], white+".,*_$()") == ""
}

// afterCopula returns where the name begins after words such as "it is" and "it is by" with
// which a clause begins.
func (s *search) afterCopula(from, end int) int {
	sn := s.discourse.sentenceAt(min(from+1, end))
	if sn == nil {
		return from
	}
	verb := false
	for range 4 {
		next := from
		for _, m := range sn.marks {
			if m.start == from && m.end < end && (m.uses&(useIt|useIs|useSo) != 0 || verb && m.uses&useBy != 0) && strings.HasPrefix(s.text[m.end:], " ") {
				next, verb = max(next, m.end), verb || m.uses&(useIt|useIs) != 0
			}
		}
		if next == from {
			break
		}
		from = skipBlanks(s.text, next)
	}
	return from
}

// nameAt returns the name that stands at a place, up to the end of its clause.
func (s *search) nameAt(from, end int) Span {
	from = s.afterCopula(from, end)
	stop := clauseAfter(s.text, from, end)
	if k := strings.Index(s.text[from:stop], " :"); k > 0 {
		stop = from + k
	}
	sp := trim(s.text, Span{from, stop})
	name := s.text[sp.Start:sp.End]
	if first, rest, ok := strings.Cut(name, " "); ok && nameArticles[strings.ToLower(first)] {
		name = rest
	}
	if !isProper(name) {
		return Span{}
	}
	return sp
}

// ticks mark the option that is chosen, and crosses those that are not.
const (
	ticks   = "✅✓✔☑○◯⭕〇☒←⬅👈"
	crosses = "❌✗✘☐"
)

// checked keeps the option of a list that is ticked off: "C. Jupiter ✅".
func (s *search) checked() {
	var found Span
	for at := s.from; at < len(s.text); {
		end := lineEnd(s.text, at)
		line := s.text[at:end]
		if strings.ContainsAny(line, ticks) && !strings.ContainsAny(line, crosses) {
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
var letterOption = lazyregexp.New(`^[-*_ >]{0,6}(?:✅|✓|✔️?|☑️?|☒|⭕|👉)? ?(\([A-Za-z]\)|[A-Z]|[a-z][.)])(?:[.)\]:]|：|．)?[*_]{0,2}(?:[\s(]|$|\p{L}|\p{Nd})`)
