package answer

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/sotto-llm/sotto/internal/base/lazyregexp"
)

// maxName is how many words a short answer within a sentence may have.
const maxName = 6

// nameIn finds the short answer that a sentence gives: what is bold in it, what stands
// after a label ("Author: J. R. R. Tolkien"), what it says something is called, the name on
// either side of its verb ("the river is the Danube"), or its only name that no preposition
// governs. A sentence that is a few words is the answer itself.
func nameIn(text string, _ Problem) Span {
	all := trim(text, Span{0, len(text)})
	all.Start = skipSymbols(text, all.Start, all.End)
	all.End = all.Start + len(strings.TrimRightFunc(text[all.Start:all.End], func(r rune) bool {
		return unicode.Is(unicode.So, r) || r == 0xfe0f || strings.ContainsRune(" .!。！~～", r) || 0x1f1e6 <= r && r <= 0x1f1ff
	}))
	if all.Start >= all.End {
		return Span{}
	}
	if bold := boldIn(text); bold.End > 0 && len(strings.Fields(text[bold.Start:bold.End])) <= maxName {
		m := nameLabel.FindStringIndex(text[bold.Start:bold.End])
		switch {
		case m == nil:
			return bold
		case m[1] < bold.End-bold.Start:
			return Span{bold.Start + m[1], bold.End}
		default: // a label is bold
			return few(text, beforeApposition(text, trim(text, Span{bold.End + 2, all.End})))
		}
	}
	if m := nameLabel.FindStringIndex(text[all.Start:all.End]); m != nil {
		return few(text, beforeApposition(text, Span{all.Start + m[1], all.End}))
	}
	marks := lexicon().marks(nil, text, all.Start, all.End)
	if sp := describedIn(text[:all.End], marks, 0); sp.End > 0 {
		return sp
	}
	for _, m := range marks {
		if m.uses&(useNot|useMaybe|useSay|useNever) == 0 || m.uses&useIs != 0 {
			continue
		}
		if from := clauseBefore(text, m.start); from > all.Start+2 && m.uses&useNot != 0 && m.start <= from+4 {
			all.End = from - 2 // "is Canberra, not Sydney"
			break
		}
		if but := afterBut(text, marks, m, all.End); but > 0 { // "not Zurich, but Bern"
			rest := beforeApposition(text, trim(text, Span{but, all.End}))
			if sub := nameIn(text[rest.Start:rest.End], Problem{}); sub.End > 0 && !lexicalDenial(text[rest.Start:rest.End]) {
				return Span{rest.Start + sub.Start, rest.Start + sub.End}
			}
			return Span{}
		}
		return few(text, all)
	}
	if strings.Contains(text[all.Start:all.End], "; ") || strings.Contains(text[all.Start:all.End], " ; ") {
		return Span{} // two statements
	}
	if sp := calledIn(text, all); sp.End > 0 {
		return sp
	}
	if verb := copula(text, marks, all); verb.end > 0 {
		if sp := besideVerb(text, all, verb); sp.End > 0 {
			return sp
		}
	}
	if sp := onlyName(text, marks, all); sp.End > 0 && len(strings.Fields(text[all.Start:all.End])) > 4 {
		return sp
	}
	return few(text, withoutTail(text, all))
}

// afterBut returns where the words end after which a sentence says what is so, and not what
// the mark denies or attributes, or 0.
func afterBut(text string, marks []mark, denial mark, end int) int {
	at := 0
	for _, m := range marks {
		if m.uses&useBut != 0 && m.uses&(useIs|useIt|useNot) == 0 && m.start > denial.end && m.end < end && clauseBefore(text, m.start) >= m.start-1 {
			at = m.end
		}
	}
	return at
}

// copula returns the first verb of a sentence that may stand beside a name. A Korean
// particle ends its word.
func copula(text string, marks []mark, all Span) mark {
	for _, m := range marks {
		if m.uses&useIs == 0 || m.start <= all.Start || m.end > all.End || strings.Trim(text[m.start:m.end], "=-:") == "" {
			continue
		}
		if r, n := utf8.DecodeRuneInString(text[m.start:]); unicode.Is(unicode.Hangul, r) && n == m.end-m.start && (m.end == len(text) || text[m.end] != ' ') {
			continue
		}
		if subordinate(text, marks, amount{Span: Span{m.start, m.end}}) {
			continue
		}
		return m
	}
	return mark{}
}

// besideVerb returns the name on one side of a verb.
func besideVerb(text string, all Span, verb mark) Span {
	right := beforeApposition(text, trim(text, Span{verb.end, all.End}))
	if isProper(withoutFirst(text[right.Start:right.End])) {
		return right
	}
	if left := namePiece(text, trim(text, Span{all.Start, verb.start})); left.End > 0 {
		return left // "Paris is the capital of France"
	}
	if right = withoutTail(text, right); few(text, right).End > 0 {
		return right
	}
	return Span{}
}

// beforeApposition returns a span up to what explains it: after a comma, or in brackets.
func beforeApposition(text string, sp Span) Span {
	for _, stop := range []string{", ", " (", "（", " – ", " — ", "，", "; "} {
		if k := strings.Index(text[sp.Start:sp.End], stop); k > 0 {
			if head := text[sp.Start : sp.Start+k]; stop != ", " || !strings.ContainsAny(head, bareDigits) && !isList(text[sp.Start:sp.End]) {
				sp.End = sp.Start + k
			}
		}
	}
	return trim(text, sp)
}

// isList reports whether a text lists names: "Rome, Paris and Berlin".
func isList(s string) bool {
	head, rest, _ := strings.Cut(s, ", ")
	for _, and := range []string{" and ", " und ", " et ", " y ", " e ", " и "} {
		if k := strings.Index(rest, and); k > 0 && isProper(head) && isProper(strings.TrimSpace(rest[k+len(and):])) {
			return true
		}
	}
	return false
}

// namePiece returns the only part between commas that is a name.
func namePiece(text string, sp Span) Span {
	var found Span
	for at := sp.Start; at < sp.End; {
		end := sp.End
		if k := strings.Index(text[at:sp.End], ", "); k >= 0 {
			end = at + k
		}
		if piece := trim(text, Span{at, end}); isProper(withoutFirst(text[piece.Start:piece.End])) {
			if found.End > 0 {
				return Span{}
			}
			found = piece
		}
		at = end + 2
	}
	return found
}

// withoutFirst returns a name without its article.
func withoutFirst(s string) string {
	if first, rest, ok := strings.Cut(s, " "); ok && nameArticles[strings.ToLower(first)] {
		return rest
	}
	return s
}

// calledIn returns the only part of a sentence in quotation marks, if the sentence says what
// something is called.
func calledIn(text string, all Span) Span {
	s := text[all.Start:all.End]
	says := false
	for _, word := range rows("called") {
		if k := strings.Index(s, word); k >= 0 && apart(s, k, k+len(word)) {
			says = true
			break
		}
	}
	if !says {
		return Span{}
	}
	var found Span
	for _, q := range quoteMarks {
		k := strings.Index(s, q[0])
		if k < 0 {
			continue
		}
		n := strings.Index(s[k+len(q[0]):], q[1])
		if n <= 0 || n > 80 || found.End > 0 || strings.Count(s, q[0]) > 1 && q[0] != q[1] {
			continue
		}
		at := all.Start + k + len(q[0])
		found = trim(text, Span{at, at + n})
	}
	return found
}

// onlyName returns the only name in a sentence that no preposition governs. Languages that
// write every noun with a capital have none that can be told.
func onlyName(text string, marks []mark, all Span) Span {
	var found Span
	for at := all.Start; at < all.End; {
		end := nameEnd(text, at, all.End)
		if end == at {
			at = nextWord(text, at, all.End)
			continue
		}
		sp := Span{at, end}
		at = nextWord(text, end, all.End)
		if sp.Start == all.Start && !strings.Contains(text[sp.Start:sp.End], " ") || bracketOpen(text, all.Start, sp.Start) || governed(text, marks, amount{Span: sp}) {
			continue
		}
		if found.End > 0 {
			return Span{}
		}
		found = sp
	}
	for _, m := range marks {
		switch text[m.start:m.end] {
		case "der", "die", "das", "und", "den", "dem", "ein", "eine":
			return Span{}
		}
	}
	return found
}

// nameEnd returns where the name ends that begins at a word, or the place itself.
func nameEnd(text string, at, end int) int {
	last := at
	for k := at; k < end; {
		stop := k
		for stop < end && text[stop] != ' ' {
			stop++
		}
		word := strings.TrimRight(text[k:stop], ",.;:!?)»”\"")
		r, _ := utf8.DecodeRuneInString(word)
		switch {
		case unicode.IsUpper(r) && !elision.MatchString(word) && !(k == at && nameArticles[strings.ToLower(word)]):
			last = k + len(word)
		case last > at && joinsNames[word]:
		default:
			return last
		}
		if len(word) < stop-k || stop == end { // a mark ends the name
			return last
		}
		k = stop + 1
	}
	return last
}

// nextWord returns where the next word begins.
func nextWord(text string, at, end int) int {
	for at < end && text[at] != ' ' {
		at++
	}
	for at < end && strings.IndexByte(" (\"", text[at]) >= 0 {
		at++
	}
	return at
}

// nameLabel matches a label of a few words before a short answer.
var nameLabel = lazyregexp.New(`^[\pL][\pL\pN ]{0,28}[:：] ?`)

// few returns a span, if it is a few words.
func few(text string, sp Span) Span {
	if n := len(strings.Fields(text[sp.Start:sp.End])); n == 0 || !strings.ContainsFunc(text[sp.Start:sp.End], isWordRune) || n > maxName+2 || sp.End-sp.Start > 80 {
		return Span{}
	}
	return sp
}

func isWordRune(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }

// withoutTail returns a span without the word that ends a Japanese or Korean sentence.
func withoutTail(text string, sp Span) Span {
	for _, tail := range rows("tail") {
		if rest, ok := strings.CutSuffix(text[sp.Start:sp.End], tail); ok && rest != "" {
			sp.End = sp.Start + len(rest)
			break
		}
	}
	return sp
}

// isProper reports whether a text is a name: every word of it begins with a capital, or
// joins two that do.
func isProper(s string) bool {
	fields := strings.Fields(s)
	if len(fields) == 0 || len(fields) > maxName {
		return false
	}
	for i, w := range fields {
		r, _ := utf8.DecodeRuneInString(w)
		if !unicode.IsUpper(r) && !(i > 0 && i < len(fields)-1 && joinsNames[w]) || nameArticles[strings.ToLower(w)] || elision.MatchString(w) {
			return false
		}
	}
	return true
}

// joinsNames are the words within names.
var joinsNames = setOf(`of de da di del della dei do dos das du des la le van von der den el al y e und the`)

// nameArticles are articles, which begin no name.
var nameArticles = setOf(`the a an der die das den dem le la les un une el los las una il lo gli i o os as um uma`)

// names returns the forms in which a short answer may be compared: as it is, without what
// is in brackets after it, without an apposition after a comma or before the name, and
// without an article.
func names(s string) []string {
	list := []string{s}
	add := func(t string) {
		if t = strings.Trim(t, " ,.;:!。「」『』《》〈〉«»‹›\"“”„‟‘’‚'"); t != "" && t != s {
			list = append(list, t)
		}
	}
	add(s) // without quotation marks
	if k := strings.IndexAny(s, "(（"); k > 0 && (strings.HasSuffix(s, ")") || strings.HasSuffix(s, "）")) {
		add(s[:k])
		s = strings.TrimRight(s[:k], " ")
	}
	if m := apposition.FindStringIndex(s); m != nil && m[0] > 0 {
		add(s[:m[0]])
	}
	if head, rest, ok := strings.Cut(s, ", "); ok && rest == strings.ToLower(rest) && len(strings.Fields(rest)) <= 3 && !strings.ContainsAny(rest, bareDigits) {
		add(head) // "Molière, bien sûr"
	}
	if lexicalDenial(s) {
		return list
	}
	add(properTail(s))
	if k := strings.LastIndex(s, "・"); k > 0 && !strings.ContainsFunc(s[:k], func(r rune) bool { return unicode.Is(unicode.Katakana, r) }) {
		add(s[k+len("・"):]) // "作家・紫式部"
	}
	if fields := strings.Fields(s); len(fields) == 3 && patronymic.MatchString(fields[1]) {
		add(fields[0] + " " + fields[2])
	}
	fields := strings.Fields(s)
	if len(fields) > 1 && nameArticles[strings.ToLower(fields[0])] {
		add(strings.Join(fields[1:], " "))
	}
	if m := elision.FindStringIndex(s); m != nil {
		add(s[m[1]:])
	}
	return list
}

// lexicalDenial reports whether words that deny or doubt stand in a text.
func lexicalDenial(s string) bool {
	for _, m := range lexicon().marks(nil, s, 0, len(s)) {
		if m.uses&(useNot|useNever|useMaybe|useOr) != 0 && m.end-m.start > 1 {
			return true
		}
	}
	return false
}

// apposition matches what follows a name after a comma: an article or a relative.
var apposition = lazyregexp.New(`, (?i:the|an?|who|which|der|die|das|ein|eine|le|la|les|l'|un|une|el|los|las|una|il|lo|o|os|um|uma|capital|столица|который|которая)\b`)

// patronymic matches the second of three Russian names.
var patronymic = lazyregexp.New(`^\p{Cyrillic}+(?:вич|вна|ична)$`)

// elision matches an article that is written together with its noun.
var elision = lazyregexp.New(`^(?i:[ldL]['’]|È l['’]|C['’]est )`)

// properTail returns the name at the end of a text, after words in lower case: "the
// physicist Marie Curie". It is empty if there is none.
func properTail(s string) string {
	fields := strings.Fields(s)
	from := len(fields)
	for from > 0 {
		r, _ := utf8.DecodeRuneInString(fields[from-1])
		if !unicode.IsUpper(r) && !(from < len(fields) && joinsNames[fields[from-1]]) {
			break
		}
		from--
	}
	for from < len(fields) && joinsNames[fields[from]] {
		from++
	}
	if from == 0 || from == len(fields) || len(fields)-from > maxName {
		return ""
	}
	return strings.Join(fields[from:], " ")
}

// foldAccents replaces letters with an accent by the letters without it.
func foldAccents(s string) string { return accents.Replace(s) }

var accents = strings.NewReplacer(
	"á", "a", "à", "a", "â", "a", "ã", "a", "ä", "a", "å", "a", "ā", "a", "é", "e", "è", "e", "ê", "e", "ë", "e", "ē", "e", "ę", "e",
	"í", "i", "ì", "i", "î", "i", "ï", "i", "ī", "i", "ó", "o", "ò", "o", "ô", "o", "õ", "o", "ö", "o", "ō", "o", "ø", "o",
	"ú", "u", "ù", "u", "û", "u", "ü", "u", "ū", "u", "ñ", "n", "ç", "c", "ć", "c", "č", "c", "š", "s", "ś", "s", "ž", "z", "ż", "z", "ź", "z",
	"ł", "l", "ý", "y", "ÿ", "y", "ß", "ss", "æ", "ae", "œ", "oe", "ё", "е", "ł", "l", "ř", "r", "ě", "e", "ů", "u")
