package answer

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/sotto-llm/sotto/internal/base/lazyregexp"
)

// concluded takes the value of the last statement that gives one: of a sentence that
// begins a conclusion ("So she has 8 apples left"), of the one that a short reply is, or
// of what stands after a list.
func (s *search) concluded(out *Extraction) bool {
	if !s.form.Conclusions {
		return false
	}
	s.forget()
	sp, ok, rival := s.statement()
	if i, bold, marked := s.bold(); marked && (!ok || !s.leads(s.discourse.sentenceAt(sp.Start))) {
		sp, ok, rival = s.asBold(i, bold)
	}
	if !ok && !rival && (s.named() || s.form.Letters) {
		sp, rival = s.described()
		ok = sp.End > 0
	}
	if rival {
		*out = Extraction{Method: methodEmpty, Status: Several, Rules: out.Rules}
		s.attempt(methodConclusion, 2, nil, "several")
		return false
	}
	if ok {
		s.keep(find{value: sp, method: methodConclusion})
	}
	return s.settle(out, methodConclusion)
}

// asBold reports whether the only value in bold is what the reply concludes, or has a rival.
func (s *search) asBold(i int, sp Span) (value Span, ok, rival bool) {
	d := &s.discourse
	sn := &d.sentences[i]
	if f := d.force(sn, sp.Start, sp.Start); f != asserted || s.qualified(i, sp) || s.unsure(sn) || s.objects(i, sp.End) || s.withdrawnIn(sn, sp) {
		return Span{}, false, false
	}
	if marks := sn.marks; deniedIn(s.text[:sn.End], marks, sp) {
		return Span{}, false, false
	}
	return sp, true, s.rivalled(i, sp, true)
}

// maxShort is how many sentences with a value may stand before the last one of a short
// reply.
const maxShort = 2

// maxNamed is how many sentences may stand after a name that a reply begins with.
const maxNamed = 3

// maxPassed is how many sentences at the end are looked at for a statement, and maxSo how
// many of the words in one that begin a conclusion.
const (
	maxPassed = 64
	maxSo     = 4
)

// statement returns the value of the last sentence that states one. Notes, checks and
// questions after it are passed over. rival says that another value makes it doubtful.
func (s *search) statement() (value Span, ok, rival bool) {
	d := &s.discourse
	kept := false    // words after it confirm the value
	denying := false // a sentence after it denies something, and gives no value
	rowed := false   // rows of a table or a list stand after it, and none of them concludes
	for i := len(d.sentences) - 1; i >= max(0, len(d.sentences)-maxPassed) && d.sentences[i].Start >= s.from; i-- {
		sn := &d.sentences[i]
		if s.inFence(sn.Start) {
			return Span{}, false, false
		}
		if m, ok := s.discourse.confirms(sn, sn.Start); ok && !s.keeps(sn, m) {
			i, kept = s.checkFrom(i), true
			continue
		}
		if s.adds(sn) {
			continue
		}
		if !rowed && !s.form.Letters && s.rows(i) {
			rowed = true
		}
		if rowed && s.isRow(sn) {
			continue
		}
		if s.unsure(sn) {
			return Span{}, false, false
		}
		if s.form.formulas && i > 0 && sn.uses&useSo == 0 && onlyConditions(s.text[sn.Start:sn.End]) && strings.HasSuffix(strings.TrimRight(s.text[:d.sentences[i-1].End], " "), "$") {
			continue
		}
		sp, led := s.stating(sn)
		if s.form.amounts && !led {
			if v := s.computed(i); v.End > 0 {
				sp, led = v, true
			}
		}
		if i == len(d.sentences)-1 && s.breaksOff(sn) && (sp.End == 0 || s.goesOnAfter(sn, sp) || endsInOperator(s.text[sn.Start:sn.End])) {
			return Span{}, false, false
		}
		if sp.End == 0 {
			denying = denying || s.refuses(sn)
			if strings.ContainsAny(s.text[sn.Start:sn.End], bareDigits) && !s.named() && !s.form.Letters && !s.form.Verdicts {
				return Span{}, false, false // several values
			}
			continue
		}
		if strings.HasPrefix(sn.stop, "!") && sp == (Span{sn.Start, sn.End}) {
			return Span{}, false, false // 5!
		}
		if s.named() && i > 0 && i <= maxNamed && !led && !kept {
			continue // the name is what the reply begins with
		}
		at := beforeQuote(s.text, sn.Start, sp.Start)
		switch f := d.force(sn, at, at); {
		case f == attributed:
			continue
		case f != asserted || s.qualified(i, sp) || s.objects(i, sp.End):
			return Span{}, false, false
		}
		if rowed && !s.titled(sn, sp) {
			return Span{}, false, false
		}
		marked := boldIn(s.text[sn.Start:sn.End]).End > 0
		if s.withdrawnIn(sn, sp) || s.named() && !marked && wordy(s.text[sp.Start:sp.End]) {
			return Span{}, false, false
		}
		if !kept && s.rivalled(i, sp, marked) {
			return Span{}, false, true
		}
		return sp, led || kept || !denying && s.short(i) && (!s.form.Letters || s.namesOption(sp)) && (!s.named() || i == 0), false
	}
	return Span{}, false, false
}

// keeps reports whether a sentence that confirms a value names it too: "It stays at 8."
func (s *search) keeps(sn *sentence, keep mark) bool {
	from := keep.end
	if s.form.Letters {
		from = sn.Start
	} else if strings.ContainsAny(s.text[sn.Start:sn.End], "=＝≠") {
		return false
	}
	sp := s.form.Value(s.text[from:sn.End], s.problem)
	return sp.End > 0 && (s.form.Letters || len(strings.Fields(s.text[from:from+sp.Start])) <= 2 && !s.named())
}

// isRow reports whether a sentence is in a row of a table or a list.
func (s *search) isRow(sn *sentence) bool {
	from := max(0, sn.Start-2*maxSentence)
	from += strings.LastIndexByte(s.text[from:sn.Start], '\n') + 1
	return rowMark(s.text, from, sn.End) > 0 || strings.HasPrefix(strings.TrimLeft(s.text[from:sn.End], " "), "|")
}

// rows reports whether a sentence is the last of at least two rows, of which it is no
// total.
func (s *search) rows(i int) bool {
	d := &s.discourse
	if i < 1 || !s.isRow(&d.sentences[i]) || !s.isRow(&d.sentences[i-1]) {
		return false
	}
	_, total := d.sentences[i].has(useTotal|useSo|useNoun, d.sentences[i].Start, d.sentences[i].End)
	return !total
}

// titled reports whether a sentence is the title of what follows, and gives its value after a
// colon or a verb: "**Your BMI: 23.8**".
func (s *search) titled(sn *sentence, sp Span) bool {
	from := max(0, sn.Start-2*maxSentence)
	line := s.text[from+strings.LastIndexByte(s.text[from:sn.Start], '\n')+1 : sn.End]
	if !strings.HasPrefix(line, "#") && !strings.HasPrefix(strings.TrimLeft(line, " "), "**") {
		return false
	}
	for _, m := range sn.marks {
		if m.uses&useIs != 0 && m.end <= sp.Start && strings.Trim(s.text[m.end:sp.Start], " *_") == "" {
			return true
		}
	}
	return false
}

// confirms returns the word by which a sentence confirms, from a place on, what was said
// before it. It does not if it is a question, or if the clause denies the word.
func (d *discourse) confirms(sn *sentence, from int) (mark, bool) {
	if asks(sn) {
		return mark{}, false
	}
	for _, m := range sn.marks {
		if m.uses&useKeep == 0 || m.start < from {
			continue
		}
		clause := sn.Start + clauseBefore(d.text[sn.Start:sn.End], m.start-sn.Start)
		_, before := sn.has(useNot|useNever|useMaybe|useDrop|useIf, clause, m.start)
		_, after := sn.has(useNot|useNever, m.end, clauseAfter(d.text, m.end, sn.End))
		if !before && !after {
			return m, true
		}
	}
	return mark{}, false
}

// beforeQuote returns where the quotation mark stands that opens directly before a value, or
// the place of the value.
func beforeQuote(text string, from, at int) int {
	head := strings.TrimRight(text[from:at], " \u00a0")
	for _, q := range quoteMarks {
		if rest, ok := strings.CutSuffix(head, q[0]); ok {
			return from + len(rest)
		}
	}
	return at
}

// maxCheck is how many sentences of a check may stand before the one that confirms.
const maxCheck = 4

// checkFrom returns the first sentence of the check that a sentence ends: a question, or
// one that begins with a word for a check or a doubt. What it computes belongs to it.
func (s *search) checkFrom(i int) int {
	d := &s.discourse
	for k := i - 1; k >= max(0, i-maxCheck); k-- {
		sn := &d.sentences[k]
		if _, ok := sn.has(useNote|useWait, sn.Start, sn.Start+3); ok && k > 0 && !s.isCorrection(sn) || asks(sn) {
			return k
		}
	}
	for i > 1 && strings.ContainsAny(s.text[d.sentences[i-1].Start:d.sentences[i-1].End], "=＝") {
		i--
	}
	return i
}

// unsure reports whether a sentence doubts what was said, and not only in brackets.
func (s *search) unsure(sn *sentence) bool {
	for _, m := range sn.marks {
		if m.uses&(useDrop|useMaybe) != 0 && !bracketOpen(s.text, sn.Start, m.start) {
			return true
		}
	}
	return false
}

// endsKorean reports whether a syllable ends a statement.
func endsKorean(r rune) bool { return strings.ContainsRune("다요죠오네음임", r) }

// goesOnAfter reports whether several words follow a value in its sentence, in another clause: an
// end that seems lost may have given another one.
func (s *search) goesOnAfter(sn *sentence, sp Span) bool {
	if s.form.Letters || s.form.Verdicts || s.named() {
		return false
	}
	rest := s.text[sp.End:sn.End]
	return len(strings.Fields(rest)) > 4 || strings.ContainsAny(rest, ",") && len(strings.Fields(rest)) > 2
}

// breaksOff reports whether a sentence seems to have lost its end.
func (s *search) breaksOff(sn *sentence) bool {
	last, _ := utf8.DecodeLastRuneInString(s.text[sn.Start:sn.End])
	if s.form.amounts && endsInOperator(s.text[sn.Start:sn.End]) {
		return true
	}
	return sn.stop == "" && unicode.IsLetter(last) && (spaced(last) || unicode.Is(unicode.Hangul, last) && !endsKorean(last)) && len(strings.Fields(s.text[sn.Start:sn.End])) > 5
}

// endsInOperator reports whether a text ends after a number and an operator: "which makes 96 −".
func endsInOperator(text string) bool {
	last, n := utf8.DecodeLastRuneInString(text)
	head := strings.TrimRight(text[:len(text)-n], " ")
	return strings.ContainsRune("+-−－–×÷/=＝＋", last) && head != "" && isDigit(head[len(head)-1])
}

// qualified reports whether a sentence does not simply state its value: it supposes,
// doubts, says what others say, or goes on in the next line.
func (s *search) qualified(i int, sp Span) bool {
	sn := &s.discourse.sentences[i]
	clause := Span{sn.Start + clauseBefore(s.text[sn.Start:sn.End], sp.Start-sn.Start), sn.End}
	clause.End = clauseAfter(s.text, sp.End, sn.End)
	for _, m := range sn.marks {
		within := clause.Start <= m.start && m.end <= clause.End
		switch {
		case m.uses&(useIs|useIt) != 0 && m.uses&(useDrop|useWere) == 0:
		case m.uses&useSay != 0 && s.saysOfDenied(sn, sp.End, m.start): // "Canberra, not Sydney, as many believe"
		case m.uses&useWere != 0 && m.uses&(useDrop|useMaybe|useSay) == 0 && sn.uses&useIf == 0 && !s.asksBeside(i): // a polite "would"
		case m.uses&useDrop != 0, m.uses&(useMaybe|useWere|useSay) != 0 && within:
			return true
		case m.uses&useSay != 0 && m.uses&useCase != 0 && m.start >= sp.End && s.form.amounts: // "8848.86 m, according to …"
		case m.uses&(useMaybe|useSay) != 0 && (bracketOpen(s.text, sn.Start, sp.Start) || !bracketOpen(s.text, sn.Start, m.start)):
			return true
		}
		if m.uses&useIf != 0 && m.start <= sp.Start && s.discourse.subjunctive(sn, m, sp.Start) {
			return true
		}
	}
	if sn.stop == "" && sn.End+1 < len(s.text) {
		if r, _ := utf8.DecodeRuneInString(s.text[sn.End+1:]); unicode.IsLower(r) {
			return true
		}
	}
	head := strings.Trim(s.text[sn.Start:sp.Start], " *_")
	return len(head) > 0 && len(head) <= 3 && isLetter(head[0]) && !s.form.Letters && !s.named() && strings.IndexByte(head, '=') < 0 && !strings.HasSuffix(s.text[:sp.Start], "**") // "In 2024 …"
}

// asksBeside reports whether the reply asks something directly before or after sentence i.
func (s *search) asksBeside(i int) bool {
	list := s.discourse.sentences
	return i > 0 && asks(&list[i-1]) || i+1 < len(list) && asks(&list[i+1])
}

// saysOfDenied reports whether what others say, after a value, is said of another one that a clause
// between the two denies.
func (s *search) saysOfDenied(sn *sentence, value, say int) bool {
	not, ok := sn.has(useNot, value, say)
	if !ok || clauseBefore(s.text, not.start) < not.start-1 || clauseBefore(s.text, not.start) <= value {
		return false
	}
	k := strings.TrimSpace(s.text[not.end:clauseAfter(s.text, not.end, say)])
	return k != "" && utf8.RuneCountInString(k) <= maxLabel
}

// refuses reports whether a sentence without a value denies something, and neither exclaims
// ("Don't forget the units!") nor concludes.
func (s *search) refuses(sn *sentence) bool {
	_, denies := sn.has(useNot|useNever, sn.Start, sn.End)
	_, so := sn.has(useSo|useRest, sn.Start, sn.End)
	_, adds := sn.has(useNote, sn.Start, sn.Start+1)
	return denies && !so && !adds && !s.named() && !strings.HasPrefix(sn.stop, "!")
}

// objects reports whether a reply objects to a value that it has concluded: a clause after it
// in its sentence, or the next sentence, begins with a word such as "but", and denies or
// doubts something. What it denies need not be known: the value is not the last word.
func (s *search) objects(i, from int) bool {
	d := &s.discourse
	for k := i; k < min(i+2, len(d.sentences)); k++ {
		sn := &d.sentences[k]
		for _, but := range sn.marks {
			if but.uses&useBut == 0 || but.uses&(useIs|useIt|useNot) != 0 || but.start < from || bracketOpen(d.text, sn.Start, but.start) || k > i && but.start > sn.Start+1 || !d.contrasts(but) {
				continue
			}
			if _, ok := sn.has(useNot|useNever|useMaybe|useDrop, but.end, sn.End); ok {
				return true
			}
		}
	}
	return false
}

// clauseAfter returns where the clause of a place ends, at the latest at end.
func clauseAfter(text string, at, end int) int {
	for _, stop := range clauseStops {
		if k := strings.Index(text[at:max(at, end)], stop); k >= 0 {
			end = min(end, at+k)
		}
	}
	return end
}

// bracketOpen reports whether a bracket that opens in text[from:at] is open at its end.
func bracketOpen(text string, from, at int) bool {
	head := text[from:at]
	return strings.LastIndexAny(head, "(（") > strings.LastIndexAny(head, ")）")
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
	if s.letterLed(sp) {
		return true
	}
	rest := s.text[sp.End:lineEnd(s.text, sp.End)]
	at := int(strings.Trim(text, "()[]")[0] - 'A')
	return at < len(s.problem.Options) && strings.HasPrefix(optionKey(strings.TrimLeft(rest, " .):—–-,*(")), optionKey(s.problem.Options[at]))
}

// letterLed reports whether a letter stands in brackets, or words before it say that it is
// one: "option C", "la C".
func (s *search) letterLed(sp Span) bool {
	if strings.ContainsAny(s.text[sp.Start:sp.End], "([") {
		return true
	}
	head := strings.TrimRight(s.text[max(0, sp.Start-24):sp.Start], " *_(")
	if strings.HasSuffix(strings.TrimRight(s.text[max(0, sp.Start-2):sp.Start], "*_"), "(") {
		return true
	}
	for _, word := range rows("letter") {
		k := len(head) - len(word)
		if k >= 0 && strings.EqualFold(head[k:], word) && apart(head, k, len(head)) {
			return true
		}
	}
	return false
}

// adds reports whether a sentence only adds to an answer: a note, a check, a question, a
// row of a list.
func (s *search) adds(sn *sentence) bool {
	if strings.ContainsAny(sn.stop, "?") || strings.Contains(sn.stop, "？") {
		return true
	}
	if _, ok := sn.has(useTrap, sn.Start, sn.End); ok {
		return true
	}
	from := max(0, sn.Start-2*maxSentence) // a line may be long
	line := from + strings.LastIndexByte(s.text[from:sn.Start], '\n') + 1
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
	if _, ok := sn.has(useNote, sn.Start, sn.Start+1); ok && sn.Start > line && sn.uses&(useVoid|useSlip|useDrop|useSo) == 0 {
		return true
	}
	if m, ok := sn.has(useNote, sn.Start, sn.Start+3); ok && colonAt(strings.TrimLeft(s.text[m.end:sn.End], "* ")) > 0 {
		return true
	}
	if s.form.Letters && letterInBrackets.MatchString(s.text[sn.Start:sn.End]) {
		return false
	}
	if whole := strings.TrimRight(s.text[sn.Start:sn.End], " .。!"); strings.HasPrefix(whole, "(") && (strings.ContainsAny(sn.stop, ")") || strings.HasSuffix(whole, ")")) ||
		strings.HasPrefix(whole, "（") && strings.HasSuffix(whole, "）") {
		return true
	}
	head := strings.TrimLeft(s.text[line:sn.End], " ")
	return strings.HasPrefix(head, "(") && !(s.form.formulas && beginsFactor(head)) || strings.HasPrefix(head, "（") || strings.HasPrefix(head, ">") || strings.HasPrefix(head, "※") || strings.HasPrefix(head, "💡")
}

// beginsFactor reports whether a text begins with brackets around one word: "(x-2)(x-3)" is no remark.
func beginsFactor(text string) bool {
	k := strings.IndexAny(text, " )")
	return k > 0 && text[k] == ')'
}

// letterInBrackets matches a letter in brackets with which a sentence begins.
var letterInBrackets = lazyregexp.New(`^[*_ ]*[(（][A-Z][)）]`)

// stating returns the value that a sentence states. led says whether it marks it: by bold,
// or as a conclusion.
func (s *search) stating(sn *sentence) (sp Span, led bool) {
	text := s.text[sn.Start:sn.End]
	if listMark(strings.TrimLeft(text, " ")) > 0 && !s.form.Letters {
		return Span{}, false // a step, or one of several
	}
	if bold := boldIn(text); bold.End > 0 {
		marks := lexicon().marks(nil, text, 0, len(text))
		if v := s.form.Value(text[bold.Start:bold.End], s.problem); v.End > 0 && !deniedIn(text, marks, Span{bold.Start + v.Start, bold.End}) {
			at := sn.Start + bold.Start
			return Span{at + v.Start, at + v.End}, true
		}
	}
	led = strings.HasPrefix(text, "**") && strings.Contains(sn.stop, "**") // the whole sentence is in bold
	from, left := -1, maxSo
	for _, m := range sn.marks {
		if m.uses&useSo == 0 || m.start < from || left == 0 {
			continue
		}
		left--
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
