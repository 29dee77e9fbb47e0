package answer

import (
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"
)

// maxDiscourse is how much of the end of a text is read as a discourse, in bytes.
const maxDiscourse = 1 << 18

// A discourse is the end of a reply, sentence by sentence.
type discourse struct {
	text      string
	sentences []sentence
	latin     bool // the text begins in the Latin alphabet, and has no other there
	comma     int  // how many words are of languages with a decimal comma, less the others
	turns     []turn
}

// A turn is a place where a reply takes a second look at what it has said.
type turn struct {
	at, end int  // of the words that say so
	void    bool // it takes back what it has claimed
	near    bool // it speaks of "that": what was said directly before it
	slip    bool // it is an error that someone owns to, and nothing more
	drop    bool // it only gives up what was said: no other value follows from that
	prior   bool // it tells what the reply said earlier
	aside   bool // it stands within a sentence: a value after it replaces the one before it
}

// scratch is memory for the parts of a discourse, which the next one may use again.
type scratch struct {
	sentences []sentence
	marks     []mark
}

var scratches = sync.Pool{New: func() any { return new(scratch) }}

// read reads the end of a text as a discourse.
func (d *discourse) read(text string, inCode func(int) bool, room *scratch) {
	d.text, d.sentences = text, room.sentences[:0]
	d.latin = !strings.ContainsFunc(text[:min(len(text), maxSentence)], func(r rune) bool {
		return r >= utf8.RuneSelf && unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul, unicode.Cyrillic, unicode.Arabic, unicode.Devanagari)
	})
	from := 0
	if len(text) > maxDiscourse {
		from = lineEnd(text, len(text)-maxDiscourse)
	}
	table := lexicon()
	marks := room.marks[:0]
	for at := from; at < len(text); {
		s, next := sentenceIn(text, at)
		at = next
		if blank(text[s.Start:s.End]) {
			continue
		}
		k := len(marks)
		marks = table.marks(marks, text, s.Start, s.End)
		s.marks = marks[k:len(marks):len(marks)]
		s.countMissing(text)
		for _, m := range s.marks {
			s.uses |= m.uses
			if m.uses&useComma != 0 {
				d.comma++
			} else if m.uses&useIs != 0 && m.end-m.start == 2 && strings.EqualFold(text[m.start:m.end], "is") {
				d.comma--
			}
		}
		d.sentences = append(d.sentences, s)
		if !inCode(s.Start) {
			d.turnsIn(&d.sentences[len(d.sentences)-1])
		}
	}
	room.sentences, room.marks = d.sentences, marks
}

// countMissing takes the doubt from words that say that something is missing, where they say how much:
// "12 euros are missing" may be what is asked.
func (s *sentence) countMissing(text string) {
	for i, m := range s.marks {
		if m.uses&useMissing != 0 && amountSoon(text[m.end:s.End]) {
			s.marks[i].uses &^= useMaybe | useLack
		}
	}
}

// amountSoon reports whether an amount stands among the first words of a text.
func amountSoon(text string) bool {
	at := skipBlanks(text, 0)
	for range 3 {
		if at == len(text) {
			return false
		}
		if r, _ := utf8.DecodeRuneInString(text[at:]); beginsAmount(r) {
			return true
		}
		if v, n := numeral(text[at:]); n > 0 && v != "1" {
			return true
		}
		at = nextWord(text, at, len(text))
	}
	return false
}

// sentenceAt returns the sentence around a place, or nil.
func (d *discourse) sentenceAt(at int) *sentence {
	i, _ := slices.BinarySearchFunc(d.sentences, at, func(s sentence, at int) int {
		if s.End < at {
			return -1
		}
		return 1
	})
	if i < len(d.sentences) && d.sentences[i].Start <= at {
		return &d.sentences[i]
	}
	return nil
}

// A force is what a sentence does with a value that it names.
type force uint8

const (
	asserted force = iota
	denied
	supposed
	asked
	attributed // to someone else, or quoted
)

// force says what a sentence does with the value at a place, which words that begin
// at anchor lead to.
func (d *discourse) force(s *sentence, anchor, value int) force {
	if strings.ContainsAny(s.stop, "?") || strings.Contains(s.stop, "？") {
		return asked
	}
	if quotedIn(d.text, anchor) || quotedIn(d.text, value) && !quotedFrom(d.text, anchor, value) {
		return attributed
	}
	start := s.clauseStart(d.text, anchor)
	f := asserted
	for _, m := range s.marks {
		if m.uses&useSay != 0 && (d.saysThat(m, start) || m.start >= value && d.saidAfter(m, value)) {
			return attributed
		}
		switch {
		case m.start >= value || m.end <= start && m.uses&(useIf|useSay) == 0:
		case m.uses&useSay != 0 && m.end <= value && m.start >= start && m.start != anchor:
			return attributed
		case m.uses&useIf != 0 && m.end <= anchor && d.subjunctive(s, m, value):
			return supposed
		case m.uses&useMaybe != 0 && m.start >= start:
			return supposed
		case m.uses&useNot != 0 && m.start >= start:
			f = denied
		case m.uses&useBut != 0 && m.start > anchor && f == denied && d.contrasts(m):
			f = asserted
		}
	}
	if m, ok := s.has(useOnly, value, s.End); ok && m.start > value {
		return supposed
	}
	return f
}

// saysThat reports whether the clause that begins at a place is what the words before it
// say: "Некоторые утверждают, что".
func (d *discourse) saysThat(say mark, start int) bool {
	if say.end >= start || strings.Trim(d.text[say.end:start], " ,") != "" {
		return false
	}
	return skipAny(d.text, start, []string{"что", "dass", "daß", "que", "che", "that"}) > start
}

// saidAfter reports whether words after a value attribute it, as in Japanese and Korean,
// in its clause.
func (d *discourse) saidAfter(say mark, value int) bool {
	r, _ := utf8.DecodeRuneInString(d.text[say.start:])
	if value < len(d.text) && d.text[value] == '(' {
		value++
	}
	return !spaced(r) && clauseAfter(d.text, value, say.start) == say.start
}

// contrasts reports whether a word stands where a contrast may: after a space or a mark.
// One that is also a verb needs a mark.
func (d *discourse) contrasts(but mark) bool {
	head := strings.TrimRight(d.text[:but.start], " ")
	if head == "" {
		return false
	}
	c := d.text[but.start-1]
	if but.uses&(useIs|useIt) != 0 {
		return strings.IndexByte(";,", head[len(head)-1]) >= 0 || strings.HasSuffix(head, "，") || strings.HasSuffix(head, "—")
	}
	return c >= utf8.RuneSelf || strings.IndexByte(" ;,", c) >= 0
}

// subjunctive reports whether the sentence after a condition says what would hold.
// Languages that mark that on the condition itself need no other word.
func (d *discourse) subjunctive(s *sentence, condition mark, value int) bool {
	if r, _ := utf8.DecodeRuneInString(d.text[condition.start:]); !spaced(r) {
		return true
	}
	if condition.start != s.Start && d.text[condition.start]|0x20 != d.text[condition.start] {
		return false
	}
	_, ok := s.has(useWere, s.Start, value)
	return ok
}

// turnsIn adds the places of a sentence where it takes a second look.
func (d *discourse) turnsIn(s *sentence) {
	if s.uses&(useVoid|useDrop|usePrior|useNo|useWait|useSlip|useThis) == 0 || d.warns(s) {
		return
	}
	var t turn
	for _, m := range s.marks {
		if first, _ := utf8.DecodeRuneInString(d.text[m.start:]); d.latin && !unicode.In(first, unicode.Latin) {
			continue // noise after the answer
		}
		switch {
		case s.isLonger(m, useOr|useIf), s.apologises(m): // "아니면"
		case m.uses&useWait != 0 && m.uses&useNote != 0 && m.end == s.End && m.start > s.Start: // "…, attenzione!"
		case s.speaksOfRest(m): // "the others do not hold"
		case m.uses&(useVoid|useDrop) != 0 && m.uses&useNo == 0 && d.negated(s, m): // "do not forget the unit"
		case m.uses&usePrior != 0 && len(d.sentences) <= 2 && t.end == 0 && !s.keeps(): // tellsOld decides
			t.at = clauseAfter(d.text, m.end, s.End)
			t.end, t.void, t.prior = t.at, true, true
		case m.uses&useNo != 0 && (t.end == 0 && !d.beginsSentence(s, m.start) || d.ends(m)): // an answer
		case m.uses&(useWait|useVoid) != 0 && d.beginsClause(s, m.start) && d.standsAlone(m):
			if t.end == 0 {
				t.at = m.start
			}
			t.end = max(t.end, m.end)
			t.aside = t.aside || m.uses&(useVoid|useSame) == 0 && d.inline(s, m) && !s.isLonger(m, useSame)
			t.void = t.void || m.uses&useVoid != 0
			t.drop, t.slip = false, false
		case m.uses&(useDrop|useSlip) != 0 && !d.undone(s, m):
			at, end := d.takesBack(s, m)
			if t.end == 0 {
				t.at = at
			}
			t.drop = m.uses&(useDrop|useSlip|useIt) == useDrop && (t.end == 0 || t.drop)
			t.slip = m.uses&useSlip != 0 && (t.end == 0 || t.slip)
			if t.end == 0 || m.uses&useSlip == 0 || !strings.ContainsAny(d.text[t.end:max(t.end, at)], bareDigits) {
				t.end = max(t.end, end) // else a value stands before it: "sorry, 54: I swapped the digits"
			}
			t.void = true
		case m.uses&useThis != 0 && (d.beginsClause(s, m.start) || t.end > 0):
			if end := d.calledWrong(s, m); end > 0 {
				t.near = t.end == 0
				if t.end == 0 {
					t.at = m.start
				}
				t.end, t.void = max(t.end, end), true
			}
		}
	}
	if _, drops := s.has(useDrop|useSlip, s.Start, s.End); t.end == 0 || t.at == d.begin() || quotedIn(d.text, t.at) || strings.ContainsAny(s.stop, "?") && !drops {
		return
	}
	if _, ok := s.has(useIf, s.Start, t.at); ok || d.isNoise(t.at) {
		return
	}
	d.turns = append(d.turns, t)
}

// warns reports whether a sentence begins with a warning of an error that others make.
func (d *discourse) warns(s *sentence) bool {
	m, ok := s.has(useTrap, s.Start, s.End)
	return ok && !strings.ContainsFunc(d.text[s.Start:m.start], unicode.IsLetter)
}

// negated reports whether the clause of a word denies it after it.
func (d *discourse) negated(s *sentence, m mark) bool {
	not, ok := s.has(useNot|useNever, m.end, clauseAfter(d.text, m.end, s.End))
	if !ok {
		return false
	}
	verb, is := s.has(useIt|useIs, m.end, not.start)
	return not.uses&useNo == 0 && (!is || verb.end-verb.start <= 1)
}

// isLonger reports whether a longer word of another kind begins where a mark does: the Korean
// for "or" begins with that for "no".
func (s *sentence) isLonger(m mark, uses use) bool {
	for _, o := range s.marks {
		if o.start == m.start && o.end > m.end && o.uses&uses != 0 {
			return true
		}
	}
	return false
}

// speaksOfRest reports whether the clause of a word has the other options as its subject.
func (s *sentence) speaksOfRest(m mark) bool {
	rest, ok := s.has(useRest, s.Start, m.start)
	return ok && m.uses&useSlip == 0 && m.start-rest.end <= maxSubject
}

// maxSubject is how far before its predicate a subject may end, in bytes.
const maxSubject = 60

// keeps reports whether a sentence has a word that confirms: "I had thought of 7, but it stays".
func (s *sentence) keeps() bool {
	_, ok := s.has(useKeep, s.Start, s.End)
	return ok
}

// apologises reports whether a word stands in an apology, which takes nothing back.
func (s *sentence) apologises(m mark) bool {
	for _, o := range s.marks {
		if o.uses&useSorry != 0 && o.start <= m.start && m.start < o.end+maxApology {
			_, verdict := s.has(useYes|useNo, o.end, s.End)
			return !verdict // "sorry for the hasty yes" takes it back
		}
	}
	return false
}

// maxApology is how far after the words of an apology its other words may begin: "for the
// confusion".
const maxApology = 24

// inline reports whether a word stands within a sentence, after a value and between two marks
// or before a new value: "16 players, oops, 17".
func (d *discourse) inline(s *sentence, m mark) bool {
	return m.start > s.Start && strings.ContainsFunc(d.text[s.Start:m.start], unicode.IsLetter) && d.standsAlone(m)
}

// takesBack returns where the words begin and end that take a claim back. What someone
// owns to have done wrong is a part of them: "I forgot the 2 that she got". The new value
// stands before a verb that ends its sentence: "28人に直します".
func (d *discourse) takesBack(s *sentence, m mark) (at, end int) {
	first, _ := utf8.DecodeRuneInString(d.text[m.start:])
	switch {
	case m.uses&useSlip != 0:
		return m.start, clauseAfter(d.text, m.end, s.End)
	case m.uses&useIt != 0 && !spaced(first) && m.start > s.Start:
		if start := s.clauseStart(d.text, m.start); start < m.start {
			return start, start
		}
	}
	return m.start, m.end
}

// beginsSentence reports whether only marks stand before a place in its sentence, or a
// dash.
func (d *discourse) beginsSentence(s *sentence, at int) bool {
	head := strings.Trim(d.text[s.Start:at], " *_(¡¿")
	return head == "" || d.interjection(s, head) || strings.HasSuffix(head, "—") || strings.HasSuffix(head, "...") || strings.HasSuffix(head, "…")
}

// ends reports whether nothing follows a mark on its line but marks.
func (d *discourse) ends(m mark) bool {
	return strings.Trim(d.text[m.end:lineEndIn(d.text, m.end, min(len(d.text), m.end+maxSentence))], white+".,!*_。！") == ""
}

// begin returns where the text begins. A reply does not begin with a second look.
func (d *discourse) begin() int {
	i := 0
	for i < len(d.text) && strings.IndexByte(white+"*_(\"", d.text[i]) >= 0 {
		i++
	}
	return i
}

// undone reports whether a sentence speaks of a word as of something that is not so, or
// that someone else has said.
func (d *discourse) undone(s *sentence, m mark) bool {
	for _, other := range s.marks {
		if other.uses&useIf != 0 && other.end <= m.start && d.subjunctive(s, other, m.start) {
			return true
		}
	}
	return d.force(s, m.start, m.start) == attributed
}

// calledWrong returns where the words end that call wrong what a mark names: "that is
// wrong". It returns 0 if there are none in its clause.
func (d *discourse) calledWrong(s *sentence, this mark) int {
	for _, m := range s.marks {
		if m.uses&useWrong == 0 || m.start < this.end || m.start > this.end+48 {
			continue
		}
		between := d.text[this.end:m.start]
		if strings.ContainsAny(between, ",;:.=$\\") || strings.Contains(between, "，") {
			return 0
		}
		if not, ok := s.has(useNot, this.end, m.start); ok && not.end <= m.start {
			return 0 // that is not wrong
		}
		if d.says(s, this, m) {
			return m.end
		}
	}
	return 0
}

// maxAdverbs is how many words may stand between a verb and what it says.
const maxAdverbs = 2

// says reports whether two words are the subject and the predicate of one statement: one
// follows the other, or a verb joins them, which may be a part of either. Outside the
// Latin alphabet a statement needs no verb.
func (d *discourse) says(s *sentence, subject, predicate mark) bool {
	first, _ := utf8.DecodeRuneInString(d.text[subject.start:])
	if !unicode.In(first, unicode.Latin) || blank(d.text[subject.end:predicate.start]) {
		return true
	}
	follows := func(verb int) bool {
		return len(strings.Fields(d.text[verb:predicate.start])) <= maxAdverbs
	}
	if strings.Contains(d.text[predicate.start:predicate.end], " ") { // "scheidet aus"
		return follows(subject.end)
	}
	for _, m := range s.marks {
		if m.uses&useIs != 0 && m.end > subject.start && m.end <= predicate.start && follows(max(m.end, subject.end)) {
			return true
		}
	}
	return false
}

// alphabets are those that no language mixes. Chinese and Japanese share letters, and
// so count as one.
var alphabets = [][]*unicode.RangeTable{
	{unicode.Latin}, {unicode.Han, unicode.Hiragana, unicode.Katakana}, {unicode.Hangul}, {unicode.Cyrillic},
	{unicode.Arabic}, {unicode.Devanagari}, {unicode.Thai}, {unicode.Hebrew},
}

// maxAround is how much of a line on each side of a place shows its language, in bytes.
const maxAround = 200

// isNoise reports whether the line around a place is no text of a language, but random
// tokens, as after the end of some replies: it has letters of more than two alphabets.
func (d *discourse) isNoise(at int) bool {
	line := d.text[max(0, at-maxAround):at]
	from := at - len(line) + strings.LastIndexByte(line, '\n') + 1
	line = d.text[from:lineEndIn(d.text, at, min(len(d.text), at+maxAround))]
	mixed := 0
	for _, alphabet := range alphabets {
		if strings.ContainsFunc(line, func(r rune) bool { return unicode.In(r, alphabet...) }) {
			mixed++
		}
	}
	return mixed > 2
}

// beginsClause reports whether a clause of the sentence begins at a place.
func (d *discourse) beginsClause(s *sentence, at int) bool {
	head := strings.TrimRight(d.text[s.Start:at], " *_(\"“¡¿")
	if head == "" {
		return true
	}
	r, n := utf8.DecodeLastRuneInString(head)
	if strings.ContainsRune(",，、;；—–:：.…-。!?→⇒", r) {
		return r != '-' || strings.HasSuffix(head[:len(head)-n], " ") || strings.HasSuffix(head, "--")
	}
	if d.interjection(s, head) {
		return true
	}
	for _, m := range s.marks { // "But wait", "Oh, no"
		if m.end == s.Start+len(head) && m.uses&(useWait|useBut) != 0 && m.start == s.Start {
			return true
		}
	}
	return false
}

// maxInterjection is how many letters an interjection has at most that no row names.
const maxInterjection = 2

// interjection reports whether a word with which a sentence begins is only a sound before
// another one: "Eh no".
func (d *discourse) interjection(s *sentence, head string) bool {
	if utf8.RuneCountInString(head) > maxInterjection {
		return false
	}
	for _, r := range head {
		if !unicode.In(r, unicode.Latin, unicode.Cyrillic) {
			return false
		}
	}
	for _, m := range s.marks {
		if m.start < s.Start+len(head) {
			return false // a word with a use
		}
	}
	return true
}

// standsAlone reports whether what follows a word lets it be an interjection. Several
// words need nothing after them.
func (d *discourse) standsAlone(m mark) bool {
	if text := d.text[m.start:m.end]; strings.IndexByte(text, ' ') >= 0 || utf8.RuneCountInString(text) >= 9 {
		return true
	}
	last, _ := utf8.DecodeLastRuneInString(d.text[:m.end])
	return !spaced(last) || interjects(d.text[m.end:])
}

// interjects reports whether what follows a word lets it stand alone.
func interjects(rest string) bool {
	rest = strings.TrimLeft(rest, "*_")
	if rest == "" {
		return true
	}
	r, _ := utf8.DecodeRuneInString(rest)
	if r == ' ' {
		next := strings.TrimLeft(rest, " ")
		return strings.HasPrefix(next, "—") || strings.HasPrefix(next, "–") || strings.HasPrefix(next, "- ") || strings.HasPrefix(next, "answer") || next != "" && strings.IndexByte(":!;", next[0]) >= 0
	}
	return unicode.IsPunct(r) && r != '\'' && r != '-' && r != '’' || r == '\n'
}
