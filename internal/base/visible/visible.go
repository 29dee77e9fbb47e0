// Package visible makes text from others safe to show, on a terminal and in a page.
package visible

import (
	"cmp"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/sotto-llm/sotto/internal/base/shorttext"
)

// An Escaper makes text safe to show. No byte of its output moves the cursor,
// changes colours, names the window, reorders the text around it, or is invisible.
// Ordinary text, newlines and tabs stay unchanged. The result does not depend on
// where the text is cut, and escaping it again changes nothing.
type Escaper struct {
	Held []byte // a character cut by a chunk, or a carriage return at the end of one
	last rune   // the previous character; 0 if it was escaped
}

// Append appends text in its safe form. It holds bytes that wait for more of the
// text, unless the text ends there.
func (e *Escaper) Append(dst, text []byte, end bool) []byte {
	if len(e.Held) > 0 {
		text = append(e.Held, text...)
	}
	var n int
	dst, n = e.shown(dst, text, end)
	e.Held = append([]byte(nil), text[n:]...)
	return dst
}

// shown appends text and returns how many of its bytes it used.
func (e *Escaper) shown(dst, text []byte, end bool) ([]byte, int) {
	i := 0
	for i < len(text) {
		c := text[i]
		switch {
		case c >= ' ' && c < 0x7f, c == '\n', c == '\t':
			dst, e.last = append(dst, c), rune(c)
			i++
			continue
		case c == '\r' && i+1 == len(text) && !end:
			return dst, i
		case c == '\r' && i+1 < len(text) && text[i+1] == '\n':
			dst, e.last = append(dst, c), 0
			i++
			continue
		case !end && !utf8.FullRune(text[i:]):
			return dst, i
		}
		r, size := utf8.DecodeRune(text[i:])
		dst = e.character(dst, r)
		i += size
	}
	return dst, i
}

// character appends a character that is not plain ASCII. An invalid byte becomes
// U+FFFD.
func (e *Escaper) character(dst []byte, r rune) []byte {
	before := e.last
	e.last = 0
	switch {
	case r < ' ':
		return utf8.AppendRune(dst, '␀'+r)
	case hidden(r) && !joins(before, r):
		for _, unit := range utf16.Encode([]rune{r}) { // as in JSON, so that a line of JSON stays the same JSON
			dst = fmt.Appendf(dst, `\u%04x`, unit)
		}
		return dst
	}
	e.last = r
	return utf8.AppendRune(dst, r)
}

// hidden reports whether a character is a control character or invisible. An
// invisible character formats, reorders or joins the text around it, selects a
// variant, or is ignored. The classes are Unicode's.
func hidden(r rune) bool {
	if r < 0x7f || r > 0x9f && r < 0x0300 && r != 0x00ad {
		return false // most text
	}
	return unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp,
		unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector) &&
		!unicode.Is(unicode.Prepended_Concatenation_Mark, r) // these are visible
}

const (
	nonJoiner, joiner      = '\u200c', '\u200d'
	asText, asEmoji   rune = '\ufe0e', '\ufe0f'
)

// joins reports whether a hidden character is part of ordinary writing at its
// place. This is true for a joiner after a letter of a script with joiners, or in
// an emoji, and for a single selector after a possible emoji. Elsewhere, or several
// in a row, they would carry hidden data.
func joins(before, r rune) bool {
	switch r {
	case nonJoiner, joiner:
		return before >= 0x80 && before != nonJoiner && before != joiner
	case asText, asEmoji:
		digit := before >= '0' && before <= '9' || before == '#' || before == '*'
		return digit || before >= 0x80 && !hidden(before)
	}
	return false
}

// Text makes a text safe to show. Newlines stay.
func Text(text string) string {
	var e Escaper
	return string(e.Append(nil, []byte(text), true))
}

// Line makes a text safe to show, on one line.
func Line(text string) string {
	return strings.ReplaceAll(strings.ReplaceAll(Text(text), "\r\n", "⏎"), "\n", "⏎")
}

// OneLine makes a text safe to show, on one line and without runs of spaces.
func OneLine(text string) string { return shorttext.OneLine(Line(text)) }

// Word makes a name from others fit a column: safe to show, without spaces, and
// with a hyphen if it is empty.
func Word(text string) string {
	return cmp.Or(strings.Join(strings.Fields(Text(text)), "_"), "-")
}
