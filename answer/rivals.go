package answer

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// A conclusion is not called the answer, so whatever else the reply says may make it the
// answer to something else. These functions find that: a rival is a value that the reading
// cannot classify, beside or after the one that was concluded.

// maxConclusion is how many words a name may have that a sentence gives without marking it,
// unless each of them begins with a capital.
const maxConclusion = 3

// rivalled reports whether the value that sentence i states is not the last word: a later
// sentence speaks of the question, or gives another name; or the value was said before, and
// the sentence has a new one beside it. marked says that the reply marks the value.
func (s *search) rivalled(i int, sp Span, marked bool) bool {
	d := &s.discourse
	if s.named() && slices.ContainsFunc(d.turns, func(t turn) bool { return t.at >= sp.End }) {
		return true // a second look, after which nothing was found
	}
	for k := i + 1; k < len(d.sentences); k++ {
		sn := &d.sentences[k]
		if s.adds(sn) {
			continue
		}
		if _, ok := sn.has(useTopic, sn.Start, sn.End); ok {
			return true // "but your question is another one"
		}
		if !marked && s.named() && s.namesOther(sn, s.text[sp.Start:sp.End]) {
			return true
		}
	}
	if s.form.amounts && s.deniesLater(i, sp) {
		return true
	}
	return !marked && !s.form.Letters && !s.form.Verdicts && !s.named() && s.besideNew(i, sp)
}

// deniesLater reports whether a later sentence denies the amount that sentence i states.
func (s *search) deniesLater(i int, sp Span) bool {
	d := &s.discourse
	own := plainNumber(s.text[sp.Start:sp.End])
	for k := i + 1; k < min(len(d.sentences), i+1+maxAddendum); k++ {
		sn := &d.sentences[k]
		if sn.uses&(useNever|useWrong) == 0 || asks(sn) || s.inFence(sn.Start) {
			continue
		}
		text := s.text[sn.Start:sn.End]
		marks := lexicon().marks(nil, text, 0, len(text))
		for _, at := range amountSpans(text) {
			if plainNumber(text[at.Start:at.End]) == own && deniedIn(text, marks, at) {
				return true
			}
		}
	}
	return false
}

// namesOther reports whether a sentence says what another name is: a verb stands before the
// name, or the sentence begins with a word such as "but". Where letters have no capitals, that
// word alone says so.
func (s *search) namesOther(sn *sentence, name string) bool {
	_, contrasts := sn.has(useBut, sn.Start, sn.Start+1)
	if strings.ContainsFunc(name, isCJK) {
		v := describedIn(s.text[sn.Start:sn.End], sn.marks, sn.Start)
		return contrasts || v.End > 0 && !strings.Contains(name, s.text[sn.Start+v.Start:sn.Start+v.End])
	}
	for _, other := range namesIn(s.text, sn) {
		if strings.Contains(name, s.text[other.Start:other.End]) {
			continue
		}
		for _, m := range sn.marks {
			if contrasts || m.uses&useIs != 0 && m.end <= other.Start && len(strings.Fields(s.text[m.end:other.Start])) <= 1 && strings.Trim(s.text[m.start:m.end], "=-–—:") != "" {
				return true
			}
		}
	}
	return false
}

// namesIn returns the names of a sentence. A single word at its beginning does not count, since
// each sentence begins with a capital.
func namesIn(text string, sn *sentence) []Span {
	var list []Span
	for at := sn.Start; at < sn.End; {
		end := nameEnd(text, at, sn.End)
		if end == at {
			at = nextWord(text, at, sn.End)
			continue
		}
		if word := text[at:end]; at > sn.Start || strings.Contains(word, " ") {
			list = append(list, Span{at, end})
		}
		at = nextWord(text, end, sn.End)
	}
	return list
}

// besideNew reports whether a sentence names a value again that the reply has named before,
// and beside it an amount that is new: "Replace the 15 by 12.5." A step of a calculation has
// all its amounts.
func (s *search) besideNew(i int, sp Span) bool {
	d := &s.discourse
	sn := &d.sentences[i]
	text := s.text[sn.Start:sn.End]
	list := amountsIn(text, nil)
	if k := strings.LastIndexAny(s.text[sn.Start:sp.Start], "=＝"); k >= 0 && s.form.amounts && blank(strings.TrimLeft(s.text[sn.Start+k:sp.Start], "=＝ $")) {
		return s.besideLater(sn, sp, list)
	}
	if i == 0 || strings.ContainsAny(text, "=＝") {
		return false
	}
	own := plainNumber(s.text[sp.Start:sp.End])
	if len(list) < 2 {
		return false
	}
	before := amountsIn(s.text[d.sentences[max(0, i-maxPassed)].Start:sn.Start], nil)
	said := func(value string) bool {
		return slices.ContainsFunc(before, func(a amount) bool { return a.value == value })
	}
	return said(own) && slices.ContainsFunc(list, func(a amount) bool { return a.value != own && !said(a.value) })
}

// besideLater reports whether a later clause of the sentence goes on from the value after its
// equals sign to another amount: "12 × 7 = 84, and since there are two, each gets 42".
func (s *search) besideLater(sn *sentence, sp Span, list amounts) bool {
	own := plainNumber(s.text[sp.Start:sp.End])
	clause := clauseAfter(s.text, sp.End, sn.End)
	for _, a := range list {
		at := Span{sn.Start + a.Start, sn.Start + a.End}
		if at.Start > clause && a.value != "" && a.value != own && !bracketOpen(s.text, sn.Start, at.Start) {
			return true
		}
	}
	return false
}

// wordy reports whether a name that a sentence gives without marking it is rather a part of
// the sentence: many words, not all of them with a capital.
func wordy(name string) bool {
	name = withoutFirst(name)
	return len(strings.Fields(name)) > maxConclusion && !isProper(name)
}

// withdrawnIn reports whether words of the sentence of a value take it back: "Forget the 52
// that I gave you".
func (s *search) withdrawnIn(sn *sentence, sp Span) bool {
	for _, m := range sn.marks {
		first, _ := utf8.DecodeRuneInString(s.text[m.start:])
		if m.uses&useVoid == 0 || m.uses&(useIs|useIt|useNo|useSo|useKeep) != 0 || !spaced(first) || utf8.RuneCountInString(s.text[m.start:m.end]) < 4 {
			continue
		}
		if m.start >= sp.End || m.end <= sp.Start && !strings.ContainsAny(s.text[m.end:sp.Start], ":：.,") {
			return true
		}
	}
	return false
}

// bold takes the only value that the reply sets in bold, if no other bold text and nothing
// after it makes that doubtful.
func (s *search) bold() (sn int, sp Span, ok bool) {
	d := &s.discourse
	for at := s.from; ; {
		k := strings.Index(s.text[at:], "**")
		if k < 0 {
			break
		}
		from := at + k + 2
		n := strings.Index(s.text[from:min(len(s.text), from+maxSentence)], "**")
		if n < 0 {
			return 0, Span{}, false
		}
		at = from + n + 2
		part := trim(s.text, Span{from, from + n})
		text := s.text[part.Start:part.End]
		if s.inFence(from) || strings.HasSuffix(text, ":") || strings.HasSuffix(text, "：") {
			continue // a label
		}
		if colon := strings.LastIndexAny(text, ":："); colon > 0 && colon < len(text)-1 && !s.form.Letters {
			for part.Start += colon; part.Start < part.End && !utf8.RuneStart(s.text[part.Start]); part.Start++ {
			}
			_, size := utf8.DecodeRuneInString(s.text[part.Start:])
			part.Start = skipBlanks(s.text, part.Start+size)
			text = s.text[part.Start:part.End]
		}
		v := s.boldValue(text)
		if v.End == 0 {
			if s.form.Letters && !strings.ContainsFunc(text, unicode.IsDigit) || s.form.Verdicts || !s.named() && !strings.ContainsAny(text, bareDigits) {
				continue // a word that is stressed
			}
			return 0, Span{}, false
		}
		v = Span{part.Start + v.Start, part.Start + v.End}
		if ok && s.normal(s.text[sp.Start:sp.End]) != s.normal(s.text[v.Start:v.End]) {
			return 0, Span{}, false
		}
		if !ok {
			if turns := d.turns; len(turns) > 0 && turns[len(turns)-1].end > v.Start {
				return 0, Span{}, false
			}
			i, _ := slices.BinarySearchFunc(d.sentences, v.Start, func(t sentence, at int) int {
				if t.End <= at {
					return -1
				}
				return 1
			})
			if i == len(d.sentences) || d.sentences[i].Start > v.Start || s.isRow(&d.sentences[i]) {
				return 0, Span{}, false
			}
			sn, sp, ok = i, v, true
		}
	}
	return sn, sp, ok
}

// maxBold is how many words may stand beside a value in bold.
const maxBold = 4

// boldValue returns the value that a bold text is, with a unit or its option after it.
func (s *search) boldValue(text string) Span {
	if len(strings.Fields(text)) > maxName || strings.ContainsAny(text, "\n") {
		return Span{}
	}
	switch {
	case s.form.Letters:
		if m := lexicon().marks(nil, text, 0, len(text)); len(m) > 0 && slices.ContainsFunc(m, func(m mark) bool { return m.uses&(useNot|useNever|useWrong|useOr) != 0 && m.end-m.start > 1 }) {
			return Span{}
		}
		if m := letterItemAny.FindStringSubmatchIndex(text); m != nil {
			return Span{m[2], m[3]}
		}
		return letterIn(text, s.problem)
	case s.form.Verdicts:
		if isYesNo(yesOrNo(text)) {
			return Span{0, len(text)}
		}
		return Span{}
	case s.named():
		if strings.ContainsAny(text, "?？!") || lexicalDenial(text) {
			return Span{}
		}
		return Span{0, len(text)}
	}
	v := s.form.Value(text, s.problem)
	if v.End == 0 || len(strings.Fields(text[v.End:])) > maxBold || len(strings.Fields(text[:v.Start])) > 1 {
		return Span{}
	}
	return v
}

// asksOther reports whether a reply that claims a value says after it that the question is
// another one, and then gives another value.
func (s *search) asksOther(candidate string) bool {
	if s.form.Value == nil {
		return false
	}
	d := &s.discourse
	for i := range d.sentences {
		sn := &d.sentences[i]
		topic, ok := sn.has(useTopic, max(sn.Start, s.taken.End), sn.End)
		if sn.End <= s.taken.End || !ok || asks(sn) || s.inFence(sn.Start) {
			continue
		}
		for k := i; k < min(i+2, len(d.sentences)); k++ {
			from := max(topic.end, d.sentences[k].Start)
			if from >= d.sentences[k].End {
				continue
			}
			if v := s.form.Value(s.text[from:d.sentences[k].End], s.problem); v.End > 0 {
				other := s.normal(s.text[from+v.Start : from+v.End])
				return other != "" && other != candidate && !(s.named() && wordy(other))
			}
		}
	}
	return false
}

// newAfter returns the only value that the reply names after a second look and not before it:
// the letter of an option, or a name. What the sentences deny does not count.
func (s *search) newAfter(t turn) Span {
	switch {
	case s.form.Letters:
		return s.newLetter(t)
	case s.named() && t.void:
		return s.newName(t)
	}
	return Span{}
}

func (s *search) newLetter(t turn) Span {
	d := &s.discourse
	old, found, last := "", Span{}, byte(0)
	for i := range d.sentences {
		sn := &d.sentences[i]
		if sn.End <= t.at-maxBack || s.inFence(sn.Start) {
			continue
		}
		for at := sn.Start; at < sn.End; at++ {
			sp := letterAt(s.text[:sn.End], at, s.problem)
			if sp.End == 0 {
				continue
			}
			letter := s.task.Normalise(s.text[sp.Start:sp.End])
			if len(letter) != 1 {
				continue
			}
			at = sp.End - 1
			if sp.Start < t.end {
				old += letter
				continue
			}
			if asks(sn) || deniedIn(s.text[:sn.End], sn.marks, sp) {
				continue
			}
			if last = letter[0]; strings.Contains(old, letter) {
				continue
			}
			if found.End > 0 && s.task.Normalise(s.text[found.Start:found.End]) != letter {
				return Span{}
			}
			found = sp
		}
	}
	if found.End == 0 || s.task.Normalise(s.text[found.Start:found.End]) != string(last) {
		return Span{}
	}
	return found
}

// letterAt returns the letter of an option that stands at a place: "B", "Ｂ", "b)".
func letterAt(text string, at int, p Problem) Span {
	if isOptionLetter(text, at, p) {
		return Span{at, at + 1}
	}
	before, _ := utf8.DecodeLastRuneInString(text[:at])
	if at > 0 && (spaced(before) || strings.ContainsRune("'’(", before)) {
		return Span{}
	}
	if c := text[at]; 'a' <= c && c <= 'j' && at+1 < len(text) && text[at+1] == ')' {
		return Span{at, at + 2}
	}
	if r, n := utf8.DecodeRuneInString(text[at:]); 'Ａ' <= r && r <= 'Ｊ' {
		return Span{at, at + n}
	}
	return Span{}
}

func (s *search) newName(t turn) Span {
	d := &s.discourse
	said := s.text[max(0, t.at-maxBack):t.end]
	var list, main []Span
	for i := range d.sentences {
		sn := &d.sentences[i]
		if sn.End <= t.end || s.inFence(sn.Start) || asks(sn) {
			continue
		}
		if strings.HasPrefix(s.text[sn.Start:sn.End], "(") || s.adds(sn) {
			continue
		}
		for _, sp := range namesIn(s.text, sn) {
			name := s.text[sp.Start:sp.End]
			if sp.Start < t.end || strings.Contains(said, name) || slices.ContainsFunc(list, func(o Span) bool { return s.text[o.Start:o.End] == name }) || deniedIn(s.text[:sn.End], sn.marks, sp) {
				continue
			}
			list = append(list, sp)
			if a := (amount{Span: sp}); !governed(s.text[:sn.End], sn.marks, a) && !subordinate(s.text[:sn.End], sn.marks, a) {
				main = append(main, sp)
			}
		}
	}
	for _, m := range []string{" der ", " die ", " das ", " den ", " dem "} {
		if strings.Contains(s.text, m) {
			return Span{} // German writes every noun with a capital
		}
	}
	switch {
	case len(list) == 1:
		return list[0]
	case len(main) == 1:
		return main[0]
	}
	return Span{}
}

// unstruck returns a text in which what is struck out is white space, and where that ends.
func unstruck(text string) (string, int) {
	const mark = "~~"
	if strings.Count(text, mark) < 2 {
		return text, 0
	}
	b := []byte(text)
	end := 0
	for at := 0; ; {
		k := strings.Index(text[at:], mark)
		if k < 0 {
			break
		}
		from := at + k
		n := strings.Index(text[from+len(mark):lineEnd(text, from)], mark)
		if n <= 0 || text[from+len(mark)] == '~' {
			at = from + len(mark)
			for at < len(text) && text[at] == '~' {
				at++
			}
			continue
		}
		at = from + n + 2*len(mark)
		for i := from; i < at; i++ {
			b[i] = ' '
		}
		end = at
	}
	if end == 0 {
		return text, 0
	}
	return string(b), end
}
