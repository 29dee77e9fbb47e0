package answer

import (
	_ "embed"
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"
)

// sayingsTable says how people and models state an answer. Its head describes the
// rows.
//
//go:embed sayings.txt
var sayingsTable string

// rows returns the texts of the table's rows of a kind, longest first.
func rows(kind string) []string { return sayings().texts[kind] }

// phrases returns the rows of a kind as they are looked for in a sentence.
func phrases(kind string) []gate { return sayings().gates[kind] }

type table struct {
	texts map[string][]string
	gates map[string][]gate

	stops, waits, voids *[256][]string // by their first byte
}

var sayings = sync.OnceValue(func() *table {
	t := &table{texts: map[string][]string{}, gates: map[string][]gate{}}
	for line := range strings.Lines(sayingsTable) {
		row := strings.Split(strings.TrimRight(line, "\r\n"), "\t")
		if len(row) == 4 && row[0] != "#" {
			t.texts[row[0]] = append(t.texts[row[0]], row[2])
		}
	}
	for kind, list := range t.texts {
		slices.SortStableFunc(list, func(a, b string) int { return len(b) - len(a) })
		t.gates[kind] = gatesOf(list)
	}
	t.stops, t.waits, t.voids = labelsByByte(t.texts["stop"]), labelsByByte(t.texts["wait"]), labelsByByte(t.texts["void"])
	return t
})

// sentenceStarts are ways to begin a sentence that states the answer.
var sentenceStarts = []string{
	"The answer is ", "The final answer is ", "The correct answer is ", "So the answer is ", "So, the answer is ",
	"Thus, the answer is ", "Therefore, the answer is ", "Therefore the answer is ", "Hence, the answer is ",
	"So the final answer is ", "Thus, the final answer is ", "Therefore, the final answer is ", "Hence, the final answer is ",
}

// labels are the markers of every task, in English.
var plainLabels = []string{"Final answer", "Answer", "Correct answer", "The answer", "My answer", "My final answer", "Corrected answer", "Final result"}

// said returns the markers of a task: its own, the labels of every task in all
// languages, and the starts of sentences.
func said(markers ...string) func() []string {
	return sync.OnceValue(func() []string {
		list := slices.Concat(markers, plainLabels, rows("label"), sentenceStarts)
		slices.Sort(list)
		return slices.Compact(list)
	})
}

// A gate is a word that every one of its phrases contains, without the first letter,
// whose case may differ. It is looked for before they are.
type gate struct {
	word    string
	ascii   bool
	phrases []phrase
}

// A phrase is a text, with the place of its gate.
type phrase struct {
	text string
	at   int
}

func gatesOf(texts []string) []gate {
	var gates []gate
	for _, text := range texts {
		at, end := gateWord(text)
		i := slices.IndexFunc(gates, func(g gate) bool { return g.word == text[at:end] })
		if i < 0 {
			i = len(gates)
			gates = append(gates, gate{word: text[at:end], ascii: isASCII(text[at:end])})
		}
		gates[i].phrases = append(gates[i].phrases, phrase{text, at})
	}
	return gates
}

// gateWord returns the place of the word that a text is found by: the first of at
// least four letters, without its first letter, or else all of the text.
func gateWord(text string) (at, end int) {
	for at < len(text) {
		n := strings.IndexByte(text[at:], ' ')
		if n < 0 {
			n = len(text) - at
		}
		if utf8.RuneCountInString(text[at:at+n]) >= 4 {
			_, first := utf8.DecodeRuneInString(text[at:])
			return at + first, at + n
		}
		at += n + 1
	}
	return 0, len(text)
}

func isASCII(s string) bool {
	for i := 0; i < len(s); i++ {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// A hit is a place where a phrase stands.
type hit struct {
	start, end int
	text       string
}

// maxHits is how many hits are kept, the last ones.
const maxHits = 4 * maxFinds

// hits finds phrases in text, from a place on, in order. Of those that begin at one
// place, the longest counts.
func hits(gates []gate, text string, from int) []hit {
	var list []hit
	plain := isASCII(text[from:])
	for _, g := range gates {
		if plain && !g.ascii {
			continue
		}
		for at := from; ; {
			k := strings.Index(text[at:], g.word)
			if k < 0 {
				break
			}
			at += k
			if h, ok := g.longest(text, from, at); ok {
				list = append(list, h)
			}
			if len(list) > 2*maxHits {
				list = slices.Delete(list, 0, maxHits)
			}
			at += len(g.word)
		}
	}
	slices.SortStableFunc(list, func(a, b hit) int {
		if a.start != b.start {
			return a.start - b.start
		}
		return b.end - a.end
	})
	return slices.CompactFunc(list, func(b, a hit) bool { return b.start < a.end })
}

// longest returns the longest phrase whose gate stands at a place.
func (g *gate) longest(text string, from, at int) (h hit, ok bool) {
	for _, p := range g.phrases {
		start := at - p.at
		if start < from {
			continue
		}
		if n := foldPhrase(text[start:], p.text); n > 0 && apart(text, start, start+n) && start+n > h.end {
			h, ok = hit{start, start + n, p.text}, true
		}
	}
	return h, ok
}

// foldPhrase is foldPrefix, except that emphasis may stand at the spaces.
func foldPhrase(s, phrase string) int {
	i := 0
	for k := 0; k < len(phrase); k++ {
		if phrase[k] == ' ' {
			from := i
			for i < len(s) && (s[i] == ' ' || s[i] == '*' || s[i] == '_') {
				i++
			}
			if i == from || i > from+8 {
				return 0
			}
			continue
		}
		if i == len(s) || lower(s[i]) != lower(phrase[k]) {
			return 0
		}
		i++
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
	return !(spaced(first) && spaced(before)) && !(spaced(last) && spaced(after))
}

// spaced reports whether a rune belongs to words that spaces part.
func spaced(r rune) bool {
	return r < utf8.RuneSelf && (isLetter(byte(r)) || isDigit(byte(r))) || unicode.In(r, unicode.Latin, unicode.Cyrillic)
}

// skipAny skips one of the words, which another word may not continue, and white
// space and emphasis around it. It returns i if none of them stands there.
func skipAny(s string, i int, list []string) int {
	k := i
	for k < len(s) && (s[k] == ' ' || s[k] == '*' || s[k] == '_') {
		k++
	}
	for _, word := range list {
		if n := foldPhrase(s[k:], word); n > 0 && apart(s, k, k+n) {
			k += n
			for k < len(s) && (s[k] == ' ' || s[k] == ',') {
				k++
			}
			return k
		}
	}
	return i
}

// hasWord reports whether one of the words stands in s.
func hasWord(s string, list []string) bool {
	for _, word := range list {
		for at := 0; ; {
			k := indexFold(s[at:], word)
			if k < 0 {
				break
			}
			at += k
			if apart(s, at, at+len(word)) || word[0] == 'n' && word[len(word)-1] == 't' {
				return true // n't ends a word
			}
			at += len(word)
		}
	}
	return false
}

// indexFold is strings.Index, without regard to the case of ASCII letters. It is
// for short texts.
func indexFold(s, word string) int {
	for i := 0; i+len(word) <= len(s); i++ {
		if lower(s[i]) == lower(word[0]) && strings.EqualFold(s[i:i+len(word)], word) {
			return i
		}
	}
	return -1
}

// maxClause is how far the words around a saying are read.
const maxClause = 240

// clauseBefore returns the sentence before a place, and the last clause of it.
func clauseBefore(text string, at int) (sentence, clause string) {
	from := max(0, at-maxClause)
	start := from
	for i := at - 1; i >= from; i-- {
		c := text[i]
		if c == '\n' || (c == '.' || c == '!' || c == '?' || c == ';' || c == ':') && i+1 < len(text) && (isWhite(text[i+1]) || text[i+1] == '*') {
			start = i + 1
			break
		}
		if c >= utf8.RuneSelf && (strings.HasPrefix(text[i:], "。") || strings.HasPrefix(text[i:], "！") || strings.HasPrefix(text[i:], "？") || strings.HasPrefix(text[i:], "；")) {
			start = i + len("。")
			break
		}
	}
	sentence = text[start:at]
	clause = sentence
	for _, mark := range []string{",", "，", "、", "—", " so ", " thus ", " hence ", " therefore "} {
		if k := strings.LastIndex(clause, mark); k >= 0 {
			clause = clause[k+len(mark):]
		}
	}
	return sentence, clause
}

// sentenceAfterIt returns the rest of a sentence.
func sentenceAfterIt(text string, at int) string {
	end := lineEndIn(text, at, min(len(text), at+maxClause))
	if n := sentenceEnd(text[at:end]); n >= 0 {
		end = at + n
	}
	return text[at:end]
}

// hypothetical begins a sentence whose "would be" states nothing.
var hypothetical = []string{"if", "had", "were", "suppose", "assuming"}

// conditional follows an answer that holds in some other case.
var conditional = []string{"only if", "only when", "only for", "only in"}

// asserts reports whether what stands around a saying lets it state an answer: no
// doubt before it, no quotation around it, no condition, no question.
func asserts(text string, h hit) bool {
	sentence, clause := clauseBefore(text, h.start)
	if hasWord(clause, rows("doubt")) || quotedIn(text, h.start) {
		return false
	}
	if strings.Contains(h.text, "would") && hasWord(sentence, hypothetical) {
		return false
	}
	after := sentenceAfterIt(text, h.end)
	if hasWord(after, conditional) {
		return false
	}
	return !strings.HasPrefix(text[h.end+len(after):], "?") && !strings.HasSuffix(strings.TrimRight(after, " *_"), "?")
}

// quotedIn reports whether a double quotation mark is open at a place of its line.
func quotedIn(text string, at int) bool {
	line := text[max(0, at-4*maxClause):at]
	line = line[strings.LastIndexByte(line, '\n')+1:]
	return strings.Count(line, `"`)%2 == 1 || strings.Count(line, "“") > strings.Count(line, "”") || strings.Count(line, "「") > strings.Count(line, "」")
}

// contrasted returns where the answer begins after what it is not: "not 7, but 9".
func contrasted(text string, at int) (int, bool) {
	rest := sentenceAfterIt(text, at)
	best, end := -1, 0
	for _, word := range rows("contrast") {
		k := indexFold(rest, word)
		if k < 1 || !apart(rest, k, k+len(word)) || strings.IndexByte(" ;,", rest[k-1]) < 0 && rest[k-1] < utf8.RuneSelf {
			continue
		}
		if best < 0 || k < best {
			best, end = k, k+len(word)
		}
	}
	if best < 0 {
		return 0, false
	}
	return skipBlanks(text, at+end), true
}

// abbreviations are words whose point does not end a sentence.
var abbreviations = setOf(`St Dr Mr Mrs Ms Prof Jr Sr Mt Ft No vs etc Inc Ltd Co Corp approx ca cf e.g i.e Nr Sra Mme`)

// sentenceEnd returns where the first sentence of s ends, before its stop, or -1. A
// stop ends a sentence before white space that no digit or lower-case letter
// follows, or at the end.
func sentenceEnd(s string) int {
	inFormula := false
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == '\\':
			i++
		case c == '$':
			inFormula = !inFormula
		case inFormula:
		case c == '\n':
			return i
		case c == '.' || c == '!' || c == '?':
			if stopsAt(s, i) {
				return i
			}
		case c >= utf8.RuneSelf:
			if strings.HasPrefix(s[i:], "。") || strings.HasPrefix(s[i:], "！") || strings.HasPrefix(s[i:], "？") {
				return i
			}
		}
	}
	return -1
}

func stopsAt(s string, i int) bool {
	k := i + 1
	for k < len(s) && strings.IndexByte(".!?*_\"')$", s[k]) >= 0 {
		k++
	}
	word := s[:i]
	if j := strings.LastIndexAny(word, " \t(*_\"$"); j >= 0 {
		word = word[j+1:]
	}
	short := abbreviations[word] || len(word) == 1 && 'A' <= word[0] && word[0] <= 'Z' || s[i] == '.' && isInitials(word)
	if k == len(s) {
		return !short
	}
	if !isWhite(s[k]) {
		return false
	}
	r, _ := utf8.DecodeRuneInString(strings.TrimLeft(s[k:], white))
	return !short && !unicode.IsLower(r) && !unicode.IsDigit(r)
}

// isInitials reports whether a word has points within it: U.S, D.C.
func isInitials(word string) bool {
	for len(word) > 2 && word[1] == '.' && isLetter(word[0]) {
		word = word[2:]
	}
	return len(word) == 1 && isLetter(word[0]) && 'A' <= word[0] && word[0] <= 'Z'
}
