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
// after a label ("Author: J. R. R. Tolkien"), or after its verb ("the river is the
// Danube"). A sentence that is a few words is the answer itself.
func nameIn(text string, _ Problem) Span {
	all := trim(text, Span{0, len(text)})
	all.Start = skipSymbols(text, all.Start, all.End)
	all.End = all.Start + len(strings.TrimRightFunc(text[all.Start:all.End], func(r rune) bool {
		return unicode.Is(unicode.So, r) || r == 0xfe0f || strings.ContainsRune(" .!。！", r) || 0x1f1e6 <= r && r <= 0x1f1ff
	}))
	if all.Start >= all.End {
		return Span{}
	}
	if bold := boldIn(text); bold.End > 0 && len(strings.Fields(text[bold.Start:bold.End])) <= maxName {
		return bold
	}
	if m := nameLabel.FindStringIndex(text[all.Start:all.End]); m != nil {
		return few(text, Span{all.Start + m[1], all.End})
	}
	marks := lexicon().marks(nil, text, all.Start, all.End)
	var verb mark
	for _, m := range marks {
		switch {
		case m.uses&(useNot|useMaybe|useSay|useNever) != 0 && m.uses&useIs == 0:
			return few(text, all)
		case m.uses&useIs != 0 && m.start > all.Start && verb.end == 0 && strings.Trim(text[m.start:m.end], "=-:") != "":
			verb = m
		}
	}
	if verb.end > 0 {
		left, right := trim(text, Span{all.Start, verb.start}), trim(text, Span{verb.end, all.End})
		if isProper(text[left.Start:left.End]) && !isProper(text[right.Start:right.End]) {
			return left // "Paris is the capital of France"
		}
		if right = withoutTail(text, right); few(text, right).End > 0 {
			return right
		}
	}
	return few(text, all)
}

// nameLabel matches a label of a few words before a short answer.
var nameLabel = lazyregexp.New(`^[\pL][\pL\pN ]{0,28}[:：] ?`)

// few returns a span, if it is a few words.
func few(text string, sp Span) Span {
	if n := len(strings.Fields(text[sp.Start:sp.End])); n == 0 || n > maxName+2 || sp.End-sp.Start > 80 {
		return Span{}
	}
	return sp
}

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
		if t = strings.Trim(t, " ,.;:!。「」『』«»\"“”"); t != "" && t != s {
			list = append(list, t)
		}
	}
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
