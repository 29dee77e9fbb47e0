package answer

import (
	"cmp"
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"
)

// maxDescribed is how many sentences at the end of a reply are looked at for one that says
// what fits a description.
const maxDescribed = 8

// described returns the name, or the letter of an option, that the reply says fits a description, in one of its last
// sentences: "The only day on which both are free is Thursday." Such a sentence is what answers
// a question in words, wherever it stands. several says that two of them give different names.
func (s *search) described() (sp Span, several bool) {
	d := &s.discourse
	said := ""
	for i := max(0, len(d.sentences)-maxDescribed); i < len(d.sentences); i++ {
		sn := &d.sentences[i]
		if sn.Start < s.from || s.inFence(sn.Start) || s.adds(sn) || s.isRow(sn) {
			continue
		}
		if _, back := sn.has(useDrop|useVoid|useSlip|usePrior, sn.Start, sn.End); back && sp.End > 0 {
			return Span{}, false
		}
		v := describedIn(s.text[sn.Start:sn.End], sn.marks, sn.Start)
		if v.End == 0 {
			continue
		}
		v = Span{sn.Start + v.Start, sn.Start + v.End}
		if letter := strings.Trim(s.text[v.Start:v.End], "()[]"); s.form.Letters && (len(letter) != 1 || letter != strings.ToUpper(letter) || initials.MatchString(s.text[v.Start:])) {
			continue
		}
		switch d.force(sn, v.Start, v.Start) {
		case asserted:
		case attributed:
			continue
		default:
			return Span{}, false
		}
		if s.weakened(sn, v) || s.objects(i, v.End) || s.withdrawnIn(sn, v) {
			return Span{}, false
		}
		if s.rivalled(i, v, false) {
			return Span{}, true
		}
		name := s.normal(s.text[v.Start:v.End])
		if sp.End > 0 && name != said {
			return Span{}, true
		}
		sp, said = v, name
	}
	return sp, false
}

// weakened reports whether words before a name, or in its clause, doubt it or say whose word it is.
func (s *search) weakened(sn *sentence, sp Span) bool {
	end := clauseAfter(s.text, sp.End, sn.End)
	for _, m := range sn.marks {
		switch {
		case m.uses&useDrop != 0:
			return true
		case m.uses&(useMaybe|useSay|useWere|useIf) == 0 || m.uses&(useIs|useIt) != 0:
		case m.start < sp.Start || m.end <= end:
			return true
		}
	}
	return false
}

// describedIn returns the name in a sentence of which a clause says that it fits a description:
// the subject describes, and the predicate names. It returns none if two clauses do, and differ.
// The marks are those of the text around the sentence, which begins at a place of it.
func describedIn(text string, marks []mark, at int) Span {
	var found Span
	for from := 0; from < len(text); {
		end := clauseAfter(text, from, len(text))
		clause := trim(text, Span{from, end})
		if sp := describedBy(text, beginningIn(marks, at+clause.Start, at+clause.End), at, clause); sp.End > 0 {
			if found.End > 0 && text[found.Start:found.End] != text[sp.Start:sp.End] {
				return Span{}
			}
			found = sp
		}
		from = end
		for _, stop := range clauseStops {
			if strings.HasPrefix(text[end:], stop) {
				from = end + len(stop)
				break
			}
		}
		if from == end {
			break
		}
	}
	return found
}

// beginningIn returns the marks that begin between two places. A sentence may have hundreds of
// clauses, each of which looks at its own marks alone.
func beginningIn(marks []mark, from, to int) []mark {
	byStart := func(m mark, at int) int { return cmp.Compare(m.start, at) }
	i, _ := slices.BinarySearchFunc(marks, from, byStart)
	n, _ := slices.BinarySearchFunc(marks[i:], max(from, to), byStart)
	return marks[i : i+n]
}

// describedBy returns the name that a clause gives.
func describedBy(text string, marks []mark, at int, clause Span) Span {
	if clause.Start >= clause.End {
		return Span{}
	}
	but := -1
	for _, m := range marks {
		from := m.start - at
		if from < clause.Start || m.end-at > clause.End || m.end-m.start < 2 {
			continue
		}
		switch {
		case m.uses&useSub != 0 && m.uses&useThis == 0 && from == clause.Start:
			return Span{} // "although it was signed in Rome"
		case m.uses&useIs != 0:
		case m.uses&(useMaybe|useSay|useIf|useWere|useDrop|useOr) != 0:
			return Span{}
		case m.uses&useNever != 0:
			but = max(but, m.end-at) // "A가 아니라 B입니다"
		}
	}
	if but > 0 {
		clause.Start = but
	}
	switch s := text[clause.Start:clause.End]; {
	case strings.ContainsFunc(s, func(r rune) bool { return unicode.Is(unicode.Hangul, r) }):
		return moved(clause, describedKorean(s, but > 0))
	case strings.ContainsFunc(s, func(r rune) bool { return unicode.In(r, unicode.Hiragana, unicode.Katakana) }):
		return moved(clause, describedJapanese(s))
	case strings.ContainsFunc(s, isCJK):
		return moved(clause, describedChinese(s))
	}
	return describedSpaced(text, marks, at, clause)
}

// moved returns a span of a part as one of the whole.
func moved(part, sp Span) Span {
	if sp.End == 0 {
		return Span{}
	}
	return Span{part.Start + sp.Start, part.Start + sp.End}
}

// describedSpaced returns the name after the last verb of a clause, in languages that part
// words by spaces.
func describedSpaced(text string, marks []mark, at int, clause Span) Span {
	for _, m := range slices.Backward(marks) {
		verb := Span{m.start - at, m.end - at}
		for _, o := range marks { // "c'est"
			if o.end == m.end && o.start < m.start && o.uses&useIt != 0 {
				m, verb.Start = o, o.start-at
				m.uses |= useIs
			}
		}
		if m.uses&useIs == 0 || verb.Start < clause.Start || verb.End >= clause.End || strings.Trim(text[verb.Start:verb.End], "=-–—:") == "" {
			continue
		}
		right := Span{skipAny(text, skipBlanks(text, verb.End), rows("filler")), clause.End}
		right.Start = min(skipBlanks(text, right.Start), right.End)
		if !describes(text, marks, at, Span{clause.Start, verb.Start}, m) {
			return Span{}
		}
		return nameAfter(text, marks, at, right)
	}
	return Span{}
}

// describes reports whether words before a verb describe what is asked, and do not name it: they
// begin with an article or a pronoun. Where a language has no articles, a word in lower case
// is enough.
func describes(text string, marks []mark, at int, sp Span, verb mark) bool {
	for k := sp.Start; k < sp.End; {
		next := skipAny(text, k, joins)
		for _, m := range marks {
			if m.start-at == k && m.uses&(useSo|useBut) != 0 && m.uses&(useIs|useIt) == 0 {
				next = max(next, skipBlanks(text, m.end-at))
			}
		}
		if sp.Start = next; next == k {
			break
		}
		k = next
	}
	if sp.Start >= sp.End {
		return verb.uses&useIt != 0 && sp.Start == verb.start-at
	}
	s := strings.TrimSpace(text[sp.Start:sp.End])
	first, rest, _ := strings.Cut(strings.ToLower(s), " ")
	switch {
	case isProper(withoutFirst(s)) && strings.Contains(s, " "):
		return false
	case nameArticles[first], pronouns()[first], elision.MatchString(s):
		return rest != "" || pronouns()[first] || elision.MatchString(s)
	}
	r, _ := utf8.DecodeRuneInString(s)
	return unicode.Is(unicode.Cyrillic, r) && strings.ContainsFunc(s, unicode.IsLower) && !isProper(s)
}

// pronouns stand for what is asked.
var pronouns = sync.OnceValue(func() map[string]bool {
	set := map[string]bool{}
	for _, word := range rows("pronoun") {
		set[word] = true
	}
	return set
})

// nameAfter returns the name with which a predicate begins: one with a capital, a noun with its
// article, or a day.
func nameAfter(text string, marks []mark, at int, sp Span) Span {
	first, rest, _ := strings.Cut(text[sp.Start:sp.End], " ")
	article := nameArticles[strings.ToLower(first)]
	name := sp.Start
	if article {
		name = min(skipBlanks(text, sp.Start+len(first)), sp.End)
	}
	if n := elision.FindStringIndex(text[name:sp.End]); n != nil {
		article, name = true, name+n[1]
	}
	if end := nameEnd(text, name, sp.End); end > name {
		return Span{name, end}
	}
	if slices.Contains(rows("day"), strings.TrimRight(first, ".!")) {
		return Span{sp.Start, sp.Start + len(strings.TrimRight(first, ".!"))}
	}
	if !article || rest == "" && name == sp.Start {
		return Span{}
	}
	end := sp.End
	for _, m := range marks {
		if m.uses&(useBy|useSub) != 0 && m.start-at > name && m.start-at < end {
			end = m.start - at
		}
	}
	list := strings.Fields(text[name:end])
	if len(list) == 0 || len(list) > 2 || strings.ContainsFunc(text[name:end], func(r rune) bool { return r != ' ' && r != '-' && !unicode.IsLetter(r) }) {
		return Span{}
	}
	return trim(text, Span{name, end})
}

// maxDescribedRunes is how long a name may be in a script without spaces.
const maxDescribedRunes = 12

// describedChinese returns the name after the last verb of a clause.
func describedChinese(s string) Span {
	k, n := lastOf(s, rowsOf("gives", "zh"))
	if k < 2*utf8.RuneLen('是') || slices.ContainsFunc(rowsOf("fused", "zh"), func(c string) bool { return strings.HasSuffix(s[:k], c) }) {
		return Span{}
	}
	sp := trim(s, Span{k + n, len(s)})
	sp.Start += afterOf(s[sp.Start:sp.End], "zh")
	return nameOfRunes(s, sp, func(r rune) bool { return unicode.IsLetter(r) || r == '·' })
}

// describedJapanese returns the name between the last topic of a clause and its verb.
func describedJapanese(s string) Span {
	k, n := lastOf(s, rowsOf("gives", "ja"))
	if k < 2*n {
		return Span{}
	}
	sp := Span{k + n, len(s)}
	body := s[sp.Start:]
	joins := rowsOf("of", "ja")
	end := strings.IndexFunc(body, func(r rune) bool { return unicode.Is(unicode.Hiragana, r) && !slices.Contains(joins, string(r)) })
	if end == 0 {
		return Span{}
	}
	if end > 0 {
		rest := body[end:]
		if !slices.ContainsFunc(rowsOf("copula", "ja"), func(verb string) bool { return strings.HasPrefix(rest, verb) }) && !slices.Contains(rowsOf("linked", "ja"), rest) {
			return Span{}
		}
		sp.End = sp.Start + end
	}
	sp.Start += afterOf(s[sp.Start:sp.End], "ja")
	return nameOfRunes(s, trim(s, sp), func(r rune) bool { return unicode.IsLetter(r) || r == '・' || r == 'ー' })
}

// lastOf returns where the last of some words stands in a text, and its length, or -1.
func lastOf(s string, words []string) (at, n int) {
	at = -1
	for _, word := range words {
		if k := strings.LastIndex(s, word); k > at {
			at, n = k, len(word)
		}
	}
	return at, n
}

// afterOf returns where a name begins after the last word that joins it to what it belongs to.
func afterOf(s, language string) int {
	if k, n := lastOf(s, rowsOf("of", language)); k >= 0 {
		return k + n
	}
	return 0
}

// describedKorean returns the name at the end of a clause that has a topic before it.
func describedKorean(s string, topic bool) Span {
	s = strings.TrimRight(s, " .!")
	from := strings.LastIndexByte(s, ' ') + 1
	particles := rowsOf("gives", "ko")
	for word := range strings.FieldsSeq(s[:from]) {
		topic = topic || utf8.RuneCountInString(word) >= 2 && slices.ContainsFunc(particles, func(p string) bool { return strings.HasSuffix(word, p) })
	}
	for _, ending := range rowsOf("copula", "ko") {
		if word, ok := strings.CutSuffix(s[from:], ending); ok && topic && word != "" && !slices.Contains(rowsOf("hollow", "ko"), word) {
			return nameOfRunes(s, Span{from, from + len(word)}, unicode.IsLetter)
		}
	}
	return Span{}
}

// nameOfRunes returns a span, if it is short and has only runes of a kind.
func nameOfRunes(s string, sp Span, of func(rune) bool) Span {
	name := s[sp.Start:sp.End]
	if first, _ := utf8.DecodeRuneInString(name); unicode.IsLower(first) {
		return Span{}
	}
	if name == "" || utf8.RuneCountInString(name) > maxDescribedRunes || strings.ContainsFunc(name, func(r rune) bool { return !of(r) }) {
		return Span{}
	}
	return sp
}
