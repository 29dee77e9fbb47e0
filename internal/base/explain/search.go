package explain

import (
	"cmp"
	"slices"
	"strings"
	"unicode"
)

// maxText bounds the text of an error in which messages are looked for, in bytes.
const maxText = 16 << 10

// OfText returns the entry of which a message is in the text of an error. If there are
// several, it is the one with the longest message.
func OfText(text string) (Entry, bool) {
	return OfTextAmong(text, func(string) bool { return true })
}

// OfTextAmong does as OfText, among the entries whose names are wanted.
func OfTextAmong(text string, wanted func(name string) bool) (Entry, bool) {
	text = text[:min(len(text), maxText)]
	best, most := Entry{}, 0
	for _, e := range Entries() {
		if !wanted(e.Name) {
			continue
		}
		for _, m := range e.Messages {
			if n := matched(m, text); n > most {
				best, most = e, n
			}
		}
	}
	return best, most > 0
}

// Varies stands in a message for what varies.
const Varies = "…"

// matched returns how many bytes of a text are those of a message, and 0 if the text does not
// have all of it.
func matched(message, text string) (n int) {
	for part := range strings.SplitSeq(message, Varies) {
		part = strings.TrimSpace(part)
		i := strings.Index(text, part)
		if i < 0 {
			return 0
		}
		text = text[i+len(part):]
		n += len(part)
	}
	return n
}

// usual are words of questions, which say nothing of what is asked.
var usual = strings.Fields("a an and are at be but by can do does for from get has have how i in is it its me my no not of on or so that the there this to was what when where which why with you your")

// maxWords bounds the words that are looked for.
const maxWords = 32

// Search returns the entries that have all the words, or the beginnings of words: those first
// that have most of them in the name, then in a message, then in the text. If no entry has all
// words, those count that have most of them, and more than half.
func Search(query string) []Entry {
	words := slices.DeleteFunc(wordsOf(query), func(w string) bool { return slices.Contains(usual, w) })
	words = slices.Compact(slices.Sorted(slices.Values(words)))
	words = words[:min(len(words), maxWords)]
	type hit struct {
		Entry
		found, score int
	}
	var hits []hit
	most := 0
	for _, e := range Entries() {
		h := hit{Entry: e}
		places := [][]string{wordsOf(e.Name + " " + strings.Join(e.Also, " ")), wordsOf(strings.Join(e.Messages, " ")), wordsOf(e.Meaning + " " + e.Why + " " + e.Do + " " + e.Where)}
		for _, w := range words {
			if s := score(places, w); s > 0 {
				h.found++
				h.score += s
			}
		}
		most = max(most, h.found)
		hits = append(hits, h)
	}
	if len(words) == 0 || 2*most <= len(words) {
		return nil
	}
	slices.SortStableFunc(hits, func(a, b hit) int { return cmp.Compare(b.score, a.score) })
	var list []Entry
	for _, h := range hits {
		if h.found == most {
			list = append(list, h.Entry)
		}
	}
	return list
}

// score says how much it counts that a word is in an entry.
func score(places [][]string, word string) int {
	for i, place := range places {
		if slices.ContainsFunc(place, func(w string) bool { return strings.HasPrefix(w, word) }) {
			return []int{9, 3, 1}[i]
		}
	}
	return 0
}

// wordsOf returns the words of a text, in small letters.
func wordsOf(text string) []string {
	return strings.FieldsFunc(strings.ToLower(text[:min(len(text), maxText)]), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
}
