package answer

import (
	_ "embed"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"
)

// wordsFile says which words make a text a discourse. Its head describes the rows.
//
//go:embed words.txt
var wordsFile string

// A use is a set of kinds of words: what a word does in a sentence.
type use uint64

const (
	useNoun use = 1 << iota
	useTotal
	useIs
	usePick
	useRight
	useWrong
	useThis
	useNot
	useNever
	useBut
	useOr
	useIf
	useWere
	useSay
	useMaybe
	useWait
	useVoid
	useSo
	useIt
	useOnly
	usePart
	useThan
	useNote
	useDrop
	useVerdict
	useYes
	useNo
	useBy
	useSub
	useSame
	useKeep
	useSlip
	useTopic
	usePrior
	useSorry
	useTrap
	useWhich
	useSample
	useDummy
	useLack
	useAvoid
	useTheirs
	useOther
	useChoose
	useRest
	useCase
	usePair
	useMissing
	useComma // words of languages that write a decimal comma only
)

// uses are the kinds of rows that are looked for in sentences.
var uses = map[string]use{
	"noun": useNoun, "total": useTotal, "is": useIs, "pick": usePick, "right": useRight, "wrong": useWrong, "this": useThis,
	"not": useNot, "never": useNever, "but": useBut, "or": useOr, "if": useIf, "were": useWere, "say": useSay, "maybe": useMaybe,
	"wait": useWait, "void": useVoid, "so": useSo, "it": useIt, "only": useOnly, "part": usePart, "than": useThan, "note": useNote, "drop": useDrop, "verdict": useVerdict, "yes": useYes, "no": useNo,
	"by": useBy, "sub": useSub, "same": useSame, "keep": useKeep, "slip": useSlip, "topic": useTopic, "prior": usePrior, "sorry": useSorry, "trap": useTrap, "which": useWhich,
	"sample": useSample, "dummy": useDummy, "lack": useLack, "avoid": useAvoid, "theirs": useTheirs, "other": useOther, "choose": useChoose, "rest": useRest, "case": useCase, "pair": usePair, "missing": useMissing,
}

// A table is the file in the forms in which it is looked up.
type table struct {
	texts   map[string][]string // the rows of a kind, longest first
	words   *trie
	ascii   [utf8.RuneSelf]byteClass
	answers map[string]string // words for yes and no
	numbers map[string]string // words for numbers
	scales  map[string]int    // words that multiply a number
	stops   *[256][]string    // labels of further problems, by their first byte
}

// rows returns the texts of the table's rows of a kind, longest first.
func rows(kind string) []string { return lexicon().texts[kind] }

// rowsOf returns those of a language, of a kind of ofLanguage.
func rowsOf(kind, language string) []string { return lexicon().texts[kind+" "+language] }

// ofLanguage are the kinds whose rows are looked up by language.
var ofLanguage = setOf("gives of copula linked fused hollow")

var lexicon = sync.OnceValue(func() *table {
	t := &table{
		texts:   map[string][]string{},
		answers: map[string]string{}, numbers: map[string]string{}, scales: map[string]int{},
	}
	words := map[string]use{}
	for line := range strings.Lines(wordsFile) {
		row := strings.Split(strings.TrimRight(line, "\r\n"), "\t")
		if len(row) != 4 || row[0] == "#" {
			continue
		}
		kind, text := row[0], row[2]
		t.texts[kind] = append(t.texts[kind], text)
		if ofLanguage[kind] {
			t.texts[kind+" "+row[1]] = append(t.texts[kind+" "+row[1]], text)
		}
		if of := uses[kind]; of != 0 {
			text := strings.ToLower(text)
			old, known := words[text]
			var comma use
			if strings.Contains("de fr es pt it ru", row[1]) && (!known || old&useComma != 0) {
				comma = useComma
			}
			words[text] = old&^useComma | of | comma
		}
		switch kind {
		case "yes", "no":
			t.answers[strings.ToLower(text)] = kind
		case "number":
			name, value, _ := strings.Cut(text, "=")
			t.numbers[strings.ToLower(name)] = value
		case "scale":
			name, value, _ := strings.Cut(text, "=")
			t.scales[name], _ = strconv.Atoi(value)
		}
	}
	for _, list := range t.texts {
		slices.SortStableFunc(list, func(a, b string) int { return len(b) - len(a) })
	}
	t.add(words)
	t.stops = labelsByByte(t.texts["stop"])
	return t
})

// A byteClass says what an ASCII letter may be in a word.
type byteClass uint8

const (
	beginsWord byteClass = 1 << iota
	inWord               // as spaced reports
)

// add adds the words to the table.
func (t *table) add(words map[string]use) {
	for c := range t.ascii {
		if spaced(rune(c)) {
			t.ascii[c] |= inWord
		}
	}
	for text := range words {
		if first := text[0]; first < utf8.RuneSelf {
			t.ascii[first] |= beginsWord
			t.ascii[unicode.ToUpper(rune(first))] |= beginsWord
		}
	}
	t.words = newTrie(words)
}

// A mark is a place where a word of the table stands.
type mark struct {
	start, end int
	uses       use
}

// marks adds the words of the table in text[from:to], in order. Words may overlap.
func (t *table) marks(list []mark, text string, from, to int) []mark {
	within := false // a longer word
	if from > 0 {
		before, _ := utf8.DecodeLastRuneInString(text[:from])
		within = spaced(before)
	}
	text = text[:to]
	for i := from; i < to; {
		if c := text[i]; c < utf8.RuneSelf {
			class := t.ascii[c]
			if class&beginsWord != 0 && (!within || class&inWord == 0) {
				list = t.marksAt(list, text, i, rune(lower(c)), i+1)
			}
			within = class&inWord != 0
			i++
			continue
		}
		r, n := utf8.DecodeRuneInString(text[i:])
		in := spaced(r)
		if !in || !within {
			list = t.marksAt(list, text, i, unicode.ToLower(r), i+n)
		}
		within = in
		i += n
	}
	return list
}

// marksAt adds the words that stand at i, and whose first letter ends at next.
func (t *table) marksAt(list []mark, text string, i int, first rune, next int) []mark {
	words := t.words
	start := words.start(first)
	if use := words.uses[words.nodes[start].word]; use != 0 {
		second, _ := utf8.DecodeRuneInString(text[next:])
		before, _ := utf8.DecodeLastRuneInString(text[:i])
		within := unicode.Is(unicode.Hangul, first) && use&useNot != 0 && unicode.Is(unicode.Hangul, before) // a syllable of "동안"
		if !within && !(use&(useNoun|useTotal) != 0 && unicode.Is(unicode.Han, second) && !t.verbAt(text[next:])) && !(spaced(first) && next < len(text) && spaced(second)) {
			list = append(list, mark{i, next, use &^ useComma}) // other languages have it too
		}
	}
	if start == 0 || next == len(text) || first < utf8.RuneSelf && next > i+1 { // the sign of Kelvin
		return list
	}
	letter, n := letterOf(text, next)
	at := words.after(start, first, letter)
	for end := next + n; at > 0; end += n {
		found := &words.nodes[at]
		if found.word > 0 && endsWord(text, end) {
			list = append(list, mark{i, end, words.uses[found.word]})
		}
		if found.stem > 0 {
			if end := end + restOfWord(text[end:]); endsWord(text, end) {
				list = append(list, mark{i, end, words.uses[found.stem]})
			}
		}
		if found.n == 0 || end == len(text) {
			break
		}
		letter, n = letterOf(text, end)
		at = words.child(at, letter)
	}
	return list
}

// endsWord reports whether no word goes on at a place, in alphabets that part words by
// spaces.
func endsWord(text string, at int) bool {
	if at == len(text) {
		return true
	}
	after, _ := utf8.DecodeRuneInString(text[at:])
	if !spaced(after) {
		return true
	}
	last, _ := utf8.DecodeLastRuneInString(text[:at])
	return !spaced(last)
}

// verbAt reports whether a text begins with a word that stands between a noun and its
// value. A noun of one Chinese character before another character is a part of a word.
func (t *table) verbAt(s string) bool {
	return slices.ContainsFunc(t.texts["is"], func(word string) bool { return strings.HasPrefix(s, word) })
}

// maxEnding is how long the ending of a word may be that the table has as a stem.
const maxEnding = 24

// restOfWord returns the length of the letters with which a text begins.
func restOfWord(s string) int {
	n := 0
	for n < len(s) && n < maxEnding {
		r, size := utf8.DecodeRuneInString(s[n:])
		if !spaced(r) {
			break
		}
		n += size
	}
	return n
}

// foldWord returns how many bytes of s spell a word that is in lower case. Emphasis
// may stand at its spaces. It returns 0 if s does not begin with the word.
func foldWord(s, word string) int {
	i := 0
	for k := 0; k < len(word); {
		if word[k] == ' ' {
			from := i
			for i < len(s) && i < from+8 && (s[i] == ' ' || s[i] == '*' || s[i] == '_') {
				i++
			}
			if i == from {
				return 0
			}
			k++
			continue
		}
		if i == len(s) {
			return 0
		}
		if c := word[k]; c < utf8.RuneSelf {
			if lower(s[i]) != c {
				return 0
			}
			i, k = i+1, k+1
			continue
		}
		want, n := utf8.DecodeRuneInString(word[k:])
		got, m := utf8.DecodeRuneInString(s[i:])
		if got != want && unicode.ToLower(got) != want {
			return 0
		}
		i, k = i+m, k+n
	}
	return i
}

// apart reports whether s[start:end] is not a part of longer words, in alphabets
// that part words by spaces.
func apart(s string, start, end int) bool {
	first, _ := utf8.DecodeRuneInString(s[start:])
	before, _ := utf8.DecodeLastRuneInString(s[:start])
	last, _ := utf8.DecodeLastRuneInString(s[:end])
	after, _ := utf8.DecodeRuneInString(s[end:])
	if first == 'n' && (last == 't') && strings.ContainsAny(s[start:end], "'’") && end-start < 6 {
		return !spaced(after) // n't ends a word
	}
	return !(spaced(first) && spaced(before)) && !(spaced(last) && spaced(after))
}

// spaced reports whether a rune belongs to words that spaces part.
func spaced(r rune) bool {
	if r < utf8.RuneSelf {
		return isLetter(byte(r)) || isDigit(byte(r))
	}
	switch {
	case r >= 0x2000 && r < 0x2070, r >= 0x2E00 && r < 0xA640, r >= 0xAC00 && r < 0xFB00:
		return false // most letters of other alphabets, and marks
	}
	return unicode.Is(unicode.Latin, r) || unicode.Is(unicode.Cyrillic, r)
}

// skipAny skips one of the words, which another word may not continue, and white
// space and emphasis around it. It returns i if none of them stands there.
func skipAny(s string, i int, list []string) int {
	k := i
	for k < len(s) && (s[k] == ' ' || s[k] == '*' || s[k] == '_') {
		k++
	}
	if k == len(s) {
		return i
	}
	for _, word := range list {
		if c := word[0]; (c < utf8.RuneSelf || s[k] < utf8.RuneSelf) && lower(c) != lower(s[k]) {
			continue // most words
		}
		if n := foldWord(s[k:], strings.ToLower(word)); n > 0 && apart(s, k, k+n) {
			k += n
			for k < len(s) && (s[k] == ' ' || s[k] == ',') {
				k++
			}
			return k
		}
	}
	return i
}
