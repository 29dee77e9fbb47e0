package jsontext

import (
	"bytes"
	"encoding/binary"
	"math/bits"
	"unicode/utf16"
	"unicode/utf8"
)

// Unquote returns the text of a JSON string, which must be valid. Half a surrogate
// pair becomes U+FFFD.
func Unquote(quoted []byte) string {
	inner := quoted[1 : len(quoted)-1]
	if bytes.IndexByte(inner, '\\') < 0 {
		return string(inner)
	}
	return string(AppendUnquoted(make([]byte, 0, len(inner)), quoted)) // no escape is shorter than its text
}

// AppendUnquoted appends the text of a JSON string, which must be valid. Half a
// surrogate pair becomes U+FFFD.
func AppendUnquoted(dst, quoted []byte) []byte {
	return appendText(dst, quoted[1:len(quoted)-1], false)
}

// AppendText appends the bytes that the inside of a JSON string encodes. Half a
// surrogate pair becomes the three bytes that UTF-8 would have for it, so that
// [AppendVerbatim] writes it again: a pair may be split between two frames. A
// backslash that begins no escape stays, or is left out.
func AppendText(dst, inside []byte) []byte { return appendText(dst, inside, true) }

func appendText(dst, s []byte, halves bool) []byte {
	for len(s) > 0 {
		n := bytes.IndexByte(s, '\\')
		if n < 0 || n+1 == len(s) {
			return append(dst, s...)
		}
		dst = append(dst, s[:n]...)
		size := 0
		dst, size = appendEscaped(dst, s[n:], halves)
		s = s[n+size:]
	}
	return dst
}

// appendEscaped appends what the escape at the start of s encodes, and returns the
// length of the escape.
func appendEscaped(dst, s []byte, halves bool) ([]byte, int) {
	switch c := s[1]; c {
	case 'b':
		return append(dst, '\b'), 2
	case 'f':
		return append(dst, '\f'), 2
	case 'n':
		return append(dst, '\n'), 2
	case 'r':
		return append(dst, '\r'), 2
	case 't':
		return append(dst, '\t'), 2
	case 'u':
		r, ok := hex4(s[2:])
		if !ok {
			return append(dst, s[0]), 1
		}
		if utf16.IsSurrogate(r) && len(s) > 7 && s[6] == '\\' && s[7] == 'u' {
			low, _ := hex4(s[8:])
			if pair := utf16.DecodeRune(r, low); pair != utf8.RuneError {
				return utf8.AppendRune(dst, pair), 12
			}
		}
		if halves && utf16.IsSurrogate(r) {
			return append(dst, 0xE0|byte(r>>12), 0x80|byte(r>>6)&0x3F, 0x80|byte(r)&0x3F), 6
		}
		return utf8.AppendRune(dst, r), 6
	default: // '"', '\\', '/', and escapes that are not valid JSON
		return append(dst, c), 2
	}
}

// hex4 reads four hexadecimal digits.
func hex4(s []byte) (r rune, ok bool) {
	if len(s) < 4 {
		return 0, false
	}
	for _, c := range s[:4] {
		switch {
		case '0' <= c && c <= '9':
			c -= '0'
		case 'a' <= c|0x20 && c|0x20 <= 'f':
			c = c | 0x20 - 'a' + 10
		default:
			return 0, false
		}
		r = r<<4 | rune(c)
	}
	return r, true
}

// AppendString appends a text as a JSON string, byte for byte as encoding/json does
// without HTML escaping: bytes that are not UTF-8 become U+FFFD, and the two line
// separators that JavaScript could once not read in strings are escaped.
func AppendString[T string | []byte](dst []byte, text T) []byte {
	return append(appendInside(append(dst, '"'), text, false), '"')
}

// AppendVerbatim appends a text as a JSON string, and escapes only what JSON
// requires: bytes that are not UTF-8 stay as they are. What [AppendText] made of half
// a surrogate pair becomes its escape again.
func AppendVerbatim[T string | []byte](dst []byte, text T) []byte {
	return append(appendInside(append(dst, '"'), text, true), '"')
}

// AppendInside is AppendVerbatim without the quotes.
func AppendInside[T string | []byte](dst []byte, text T) []byte {
	return appendInside(dst, text, true)
}

func appendInside[T string | []byte](dst []byte, text T, verbatim bool) []byte {
	from := 0
	for i := plain(text, 0); i < len(text); i = plain(text, i) {
		c := text[i]
		if c < utf8.RuneSelf {
			dst = appendControl(append(dst, text[from:i]...), c)
			i++
			from = i
			continue
		}
		escaped, size := rune(-1), 1
		switch {
		case !verbatim:
			escaped, size = replaced(text, i)
		case isHalf(text, i):
			escaped, size = rune(c&0xF)<<12|rune(text[i+1]&0x3F)<<6|rune(text[i+2]&0x3F), 3
		}
		if escaped >= 0 {
			dst = appendHex(append(dst, text[from:i]...), escaped)
			from = i + size
		}
		i += size
	}
	return append(dst, text[from:]...)
}

// replaced returns the character to write as an escape in the place of what begins
// at text[i], or -1, and the number of bytes.
func replaced[T string | []byte](text T, i int) (escaped rune, size int) {
	r, size := decode(text, i)
	if r == utf8.RuneError && size == 1 || r|1 == '\u2029' {
		return r, size
	}
	return -1, size
}

// decode is utf8.DecodeRune at text[i].
func decode[T string | []byte](text T, i int) (rune, int) {
	var b [utf8.UTFMax]byte
	return utf8.DecodeRune(b[:copy(b[:], text[i:])])
}

// isHalf reports whether the three bytes at text[i] are those that half of a
// surrogate pair would have in UTF-8.
func isHalf[T string | []byte](text T, i int) bool {
	return text[i] == 0xED && len(text)-i >= 3 && text[i+1]&0xE0 == 0xA0 && text[i+2]&0xC0 == 0x80
}

func appendControl(dst []byte, c byte) []byte {
	switch c {
	case '"', '\\':
		return append(dst, '\\', c)
	case '\b':
		return append(dst, `\b`...)
	case '\f':
		return append(dst, `\f`...)
	case '\n':
		return append(dst, `\n`...)
	case '\r':
		return append(dst, `\r`...)
	case '\t':
		return append(dst, `\t`...)
	}
	return appendHex(dst, rune(c))
}

const hexDigits = "0123456789abcdef"

func appendHex(dst []byte, r rune) []byte {
	return append(dst, '\\', 'u', hexDigits[r>>12&0xF], hexDigits[r>>8&0xF], hexDigits[r>>4&0xF], hexDigits[r&0xF])
}

// plain returns the offset of the first byte, from i on, that is not ASCII or that a
// string cannot contain unescaped.
func plain[T string | []byte](text T, i int) int {
	var b [8]byte
	for ; i+8 <= len(text); i += 8 {
		copy(b[:], text[i:i+8])
		x := binary.LittleEndian.Uint64(b[:])
		q, s := x^quotes, x^backslashes
		if found := ((q - ones) | (s - ones) | (x - blanks) | x) & highBits; found != 0 {
			return i + bits.TrailingZeros64(found)/8
		}
	}
	for i < len(text) && asItIs[text[i]] {
		i++
	}
	return i
}

// asItIs are the ASCII characters that need no escape in a string.
var asItIs = func() (set [256]bool) {
	for c := ' '; c < utf8.RuneSelf; c++ {
		set[c] = c != '"' && c != '\\'
	}
	return set
}()

// AppendComma appends the separator before element i of a list.
func AppendComma(dst []byte, i int) []byte {
	if i > 0 {
		return append(dst, ',')
	}
	return dst
}
