package answer

import (
	_ "embed"
	"maps"
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
)

// uses are the kinds of rows that are looked for in sentences.
var uses = map[string]use{
	"noun": useNoun, "total": useTotal, "is": useIs, "pick": usePick, "right": useRight, "wrong": useWrong, "this": useThis,
	"not": useNot, "never": useNever, "but": useBut, "or": useOr, "if": useIf, "were": useWere, "say": useSay, "maybe": useMaybe,
	"wait": useWait, "void": useVoid, "so": useSo, "it": useIt, "only": useOnly, "part": usePart, "than": useThan, "note": useNote, "drop": useDrop, "verdict": useVerdict, "yes": useYes, "no": useNo,
	"by": useBy, "sub": useSub, "same": useSame, "keep": useKeep, "slip": useSlip, "topic": useTopic, "prior": usePrior, "sorry": useSorry, "trap": useTrap, "which": useWhich,
}

// A word is a text of the table, in lower case, and all its uses.
type word struct {
	text  string
	uses  use
	comma bool // of languages that write a decimal comma only
	stem  bool // other letters may follow, up to the end of the word
}

// A table is the file in the forms in which it is looked up.
type table struct {
	texts   map[string][]string // the rows of a kind, longest first
	index   map[[2]rune][]word  // by their first two letters
	single  map[rune]use        // words of one letter
	first   [256]bool           // the first bytes of words, in lower case
	answers map[string]string   // words for yes and no
	numbers map[string]string   // words for numbers
	scales  map[string]int      // words that multiply a number
	stops   *[256][]string      // labels of further problems, by their first byte
}

// rows returns the texts of the table's rows of a kind, longest first.
func rows(kind string) []string { return lexicon().texts[kind] }

var lexicon = sync.OnceValue(func() *table {
	t := &table{
		texts: map[string][]string{}, index: map[[2]rune][]word{}, single: map[rune]use{},
		answers: map[string]string{}, numbers: map[string]string{}, scales: map[string]int{},
	}
	used, commas := map[string]use{}, map[string]bool{}
	for line := range strings.Lines(wordsFile) {
		row := strings.Split(strings.TrimRight(line, "\r\n"), "\t")
		if len(row) != 4 || row[0] == "#" {
			continue
		}
		kind, text := row[0], row[2]
		t.texts[kind] = append(t.texts[kind], text)
		if use := uses[kind]; use != 0 {
			text := strings.ToLower(text)
			comma := strings.Contains("de fr es pt it ru", row[1])
			if used[text] == 0 {
				commas[text] = comma
			}
			used[text] |= use
			commas[text] = commas[text] && comma
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
	for _, text := range slices.Sorted(maps.Keys(used)) { // the same in each run
		stem, isStem := strings.CutSuffix(text, "*")
		t.add(word{stem, used[text], commas[text], isStem})
	}
	t.stops = labelsByByte(t.texts["stop"])
	return t
})

func (t *table) add(w word) {
	a, n := utf8.DecodeRuneInString(w.text)
	t.first[w.text[0]] = true
	if n == len(w.text) {
		t.single[a] = w.uses
		return
	}
	b, _ := utf8.DecodeRuneInString(w.text[n:])
	t.index[[2]rune{a, b}] = append(t.index[[2]rune{a, b}], w)
}

// A mark is a place where a word of the table stands.
type mark struct {
	start, end int
	uses       use
	comma      bool
}

// marks adds the words of the table in text[from:to], in order. Words may overlap.
func (t *table) marks(list []mark, text string, from, to int) []mark {
	before := ' '
	if from > 0 {
		before, _ = utf8.DecodeLastRuneInString(text[:from])
	}
	for i := from; i < to; {
		c := text[i]
		if c < utf8.RuneSelf && !t.first[lower(c)] { // most bytes of a text
			before = rune(c)
			i++
			continue
		}
		r, n := utf8.DecodeRuneInString(text[i:to])
		if !spaced(r) || !spaced(before) {
			list = t.marksAt(list, text[:to], i, unicode.ToLower(r), i+n)
		}
		before = r
		i += n
	}
	return list
}

// marksAt adds the words that stand at i, and whose first letter ends at next.
func (t *table) marksAt(list []mark, text string, i int, first rune, next int) []mark {
	second, _ := utf8.DecodeRuneInString(text[next:])
	if use := t.single[first]; use != 0 && !(use&(useNoun|useTotal) != 0 && unicode.Is(unicode.Han, second) && !t.verbAt(text[next:])) && !(spaced(first) && next < len(text) && spaced(second)) {
		list = append(list, mark{i, next, use, false})
	}
	var third byte // of the text, in lower case, if it is known
	if first < utf8.RuneSelf && second < utf8.RuneSelf && next+1 < len(text) {
		third = lower(text[next+1])
	}
	for _, w := range t.index[[2]rune{first, unicode.ToLower(second)}] {
		if len(w.text) > 2 && third != 0 && third < utf8.RuneSelf && w.text[2] != third && w.text[2] != ' ' {
			continue
		}
		n := foldWord(text[i:], w.text)
		if n > 0 && w.stem {
			n += restOfWord(text[i+n:])
		}
		if n > 0 && apart(text, i, i+n) {
			list = append(list, mark{i, i + n, w.uses, w.comma})
		}
	}
	return list
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
	return unicode.In(r, unicode.Latin, unicode.Cyrillic)
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
