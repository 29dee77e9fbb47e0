package thoughts

import (
	"iter"
	"strings"
	"unicode"
	"unicode/utf8"
)

// words yields the words of a text in lower case: sequences of letters, digits, marks
// and apostrophes within them. In scripts without spaces between words, each character
// is one.
func words(text string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for len(text) > 0 {
			r, size := utf8.DecodeRuneInString(text)
			if !letter(r) {
				text = text[size:]
				continue
			}
			end := size
			for !alone(r) && end < len(text) {
				next, n := utf8.DecodeRuneInString(text[end:])
				if (next == '\'' || next == '’') && end+n < len(text) { // it's
					if after, _ := utf8.DecodeRuneInString(text[end+n:]); letter(after) && !alone(after) {
						end += n
						continue
					}
				}
				if !letter(next) || alone(next) {
					break
				}
				end += n
			}
			if !yield(strings.ToLower(text[:end])) {
				return
			}
			text = text[end:]
		}
	}
}

func letter(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r) }

func alone(r rune) bool {
	return r >= 0x2E80 && unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana) || r >= 0xE00 && unicode.In(r, unicode.Thai, unicode.Lao, unicode.Khmer)
}
