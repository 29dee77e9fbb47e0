package sidecar

import (
	"unicode"
	"unicode/utf8"
)

const (
	// maxWord is the longest word that is listed, in bytes. Longer ones are listed in pieces.
	maxWord = 64
	// longestWord is the longest that is, unless it repeats itself. Blocks with longer ones, such
	// as pictures in base64, are looked into by every search for words.
	longestWord = 1024
)

// fold returns one rune for all that a search may take for the same: by [unicode.SimpleFold],
// as (?i) does, and by [unicode.ToLower]. TestFold compares it with both, for every rune.
func fold(r rune) rune {
	if r < utf8.RuneSelf {
		if 'A' <= r && r <= 'Z' {
			return r + 'a' - 'A'
		}
		return r
	}
	lower := unicode.ToLower(r)
	least := lower
	for next := unicode.SimpleFold(lower); next != lower; next = unicode.SimpleFold(next) {
		least = min(least, next)
	}
	if least < utf8.RuneSelf {
		return fold(least)
	}
	return least
}

// A class says what a folded rune is part of.
type class uint8

const (
	between  class = iota // not part of a word
	letter                // of a word that ends where letters end
	ideogram              // of a script without spaces, whose words are pairs of runes
)

// joined are scripts that write no spaces between words.
var joined = []*unicode.RangeTable{unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar}

func classOf(r rune) class {
	switch {
	case r < utf8.RuneSelf:
		if 'a' <= r && r <= 'z' || '0' <= r && r <= '9' || r == '_' {
			return letter
		}
		return between
	case r == utf8.RuneError || !unicode.In(r, unicode.L, unicode.N):
		return between
	case r >= 0x0E00 && unicode.In(r, joined...):
		return ideogram
	}
	return letter
}

// A run is a part of a text, folded, whose runes are of one class. opens and closes say that
// the text shows its beginning and its end.
type run struct {
	word          []byte
	class         class
	opens, closes bool
}

// runs calls f with the runs of a text that are not between words. The word is only valid
// during the call. whole says that the text is all of it, so that its ends are ends of words.
func runs(text string, whole bool, buf []byte, f func(run)) []byte {
	at := between
	buf = buf[:0]
	opens := whole
	for i := 0; i < len(text); {
		var c class
		var r rune
		size := 1
		if b := text[i]; b < utf8.RuneSelf {
			r, c = rune(asciiFold[b]), asciiClass[b]
		} else {
			r, size = utf8.DecodeRuneInString(text[i:])
			r = fold(r)
			c = classOf(r)
		}
		if c != at {
			if at != between {
				f(run{buf, at, opens, true})
			}
			opens = whole || i > 0
			at, buf = c, buf[:0]
		}
		if c != between {
			if r < utf8.RuneSelf {
				buf = append(buf, byte(r))
			} else {
				buf = utf8.AppendRune(buf, r)
			}
		}
		i += size
	}
	if at != between {
		f(run{buf, at, opens, whole})
	}
	return buf
}

var asciiFold, asciiClass = asciiTables()

func asciiTables() (folded [utf8.RuneSelf]byte, classes [utf8.RuneSelf]class) {
	for i := range folded {
		folded[i] = byte(fold(rune(i)))
		classes[i] = classOf(rune(folded[i]))
	}
	return folded, classes
}

// pairs calls f with the pairs of neighbours in a run of ideograms; with the run itself if
// it has only one.
func pairs(word []byte, f func([]byte)) {
	_, first := utf8.DecodeRune(word)
	if first == len(word) {
		f(word)
		return
	}
	for from := 0; from+first < len(word); {
		_, second := utf8.DecodeRune(word[from+first:])
		f(word[from : from+first+second])
		from, first = from+first, second
	}
}
