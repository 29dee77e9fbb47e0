package jsontext

import (
	"bytes"
	"slices"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/sotto-llm/sotto/internal/base/bytescan"
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
	dst = slices.Grow(dst, len(s)) // no escape is shorter than its text
	for len(s) > 0 {
		n := bytescan.CopyPlain(dst[len(dst):cap(dst)], s, '\\')
		dst, s = dst[:len(dst)+n], s[n:]
		switch {
		case len(s) > 1 && s[0] == '\\':
			dst, n = appendEscaped(dst, s, halves)
			s = s[n:]
		case len(s) > 0:
			dst, s = append(dst, s[0]), s[1:]
		}
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
	switch b := bytescan.Bytes(text); {
	case verbatim:
		return appendPlain(dst, b, half)
	case utf8.Valid(b):
		return appendPlain(dst, b, separator)
	default:
		return appendValid(dst, b)
	}
}

// The first bytes of the characters that are escaped beside those which JSON requires.
const (
	half      = 0xED // half a surrogate pair, and other characters
	separator = 0xE2 // the two line separators, and other characters
)

// appendPlain appends the inside of a string. Of the characters beyond ASCII, those are
// escaped that begin with a byte.
func appendPlain(dst, b []byte, first byte) []byte {
	for len(b) > 0 {
		dst = slices.Grow(dst, len(b))
		n := bytescan.CopyPlain(dst[len(dst):cap(dst)], b, first)
		dst, b = dst[:len(dst)+n], b[n:]
		switch {
		case len(b) == 0:
		case b[0] < utf8.RuneSelf:
			dst, b = appendControl(dst, b[0]), b[1:]
		case first == half && isHalf(b):
			dst, b = appendHex(dst, rune(b[0]&0xF)<<12|rune(b[1]&0x3F)<<6|rune(b[2]&0x3F)), b[3:]
		case first == separator && (string(b[1:3]) == "\x80\xA8" || string(b[1:3]) == "\x80\xA9"):
			dst, b = appendHex(dst, 0x2028|rune(b[2]&1)), b[3:]
		default:
			dst, b = append(dst, b[0]), b[1:]
		}
	}
	return dst
}

// appendValid appends the inside of a string, with U+FFFD for each byte that is not UTF-8.
func appendValid(dst, b []byte) []byte {
	from := 0
	for i := 0; i < len(b); {
		r, size := utf8.DecodeRune(b[i:])
		if r == utf8.RuneError && size == 1 {
			dst = appendHex(appendPlain(dst, b[from:i], separator), r)
			from = i + 1
		}
		i += size
	}
	return appendPlain(dst, b[from:], separator)
}

// isHalf reports whether the three bytes at the start of b, which is not empty, are those that
// half of a surrogate pair would have in UTF-8.
func isHalf(b []byte) bool {
	return b[0] == half && len(b) >= 3 && b[1]&0xE0 == 0xA0 && b[2]&0xC0 == 0x80
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

// AppendComma appends the separator before element i of a list.
func AppendComma(dst []byte, i int) []byte {
	if i > 0 {
		return append(dst, ',')
	}
	return dst
}
