package jsonedit

import (
	"unicode/utf16"
	"unicode/utf8"
	"unsafe"
)

// AppendText appends the bytes that the inside of a JSON string encodes. A lone
// surrogate becomes the three bytes that UTF-8 would have for it, so that
// [AppendString] writes it again: a pair may be split between two frames.
func AppendText(dst, inside []byte) []byte {
	for i := 0; i < len(inside); {
		c := inside[i]
		if c != '\\' || i+1 == len(inside) {
			dst = append(dst, c)
			i++
			continue
		}
		var n int
		dst, n = appendEscape(dst, inside[i:])
		i += n
	}
	return dst
}

// appendEscape appends what the escape at the start of s encodes, and returns the
// length of the escape.
func appendEscape(dst, s []byte) ([]byte, int) {
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
		if utf16.IsSurrogate(r) {
			return append(dst, 0xE0|byte(r>>12), 0x80|byte(r>>6)&0x3F, 0x80|byte(r)&0x3F), 6
		}
		return utf8.AppendRune(dst, r), 6
	default: // '"', '\\', '/', and escapes that are not valid JSON
		return append(dst, c), 2
	}
}

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

const hexDigits = "0123456789abcdef"

// AppendString appends text as a JSON string, including quotes. It escapes only
// what JSON requires; bytes that are not UTF-8 stay as they are.
func AppendString(dst, text []byte) []byte {
	dst = append(dst, '"')
	dst = AppendInside(dst, text)
	return append(dst, '"')
}

// AppendInside appends text as the inside of a JSON string.
func AppendInside(dst, text []byte) []byte {
	from := 0
	for i := 0; i < len(text); i++ {
		c := text[i]
		if c >= ' ' && c != '"' && c != '\\' && c != 0xED {
			continue
		}
		if c == 0xED && !isSurrogate(text[i:]) {
			continue
		}
		dst = append(dst, text[from:i]...)
		switch c {
		case '"', '\\':
			dst = append(dst, '\\', c)
		case '\n':
			dst = append(dst, '\\', 'n')
		case '\r':
			dst = append(dst, '\\', 'r')
		case '\t':
			dst = append(dst, '\\', 't')
		case 0xED:
			r := rune(c&0xF)<<12 | rune(text[i+1]&0x3F)<<6 | rune(text[i+2]&0x3F)
			dst = append(dst, '\\', 'u', hexDigits[r>>12], hexDigits[r>>8&0xF], hexDigits[r>>4&0xF], hexDigits[r&0xF])
			i += 2
		default:
			dst = append(dst, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&0xF])
		}
		from = i + 1
	}
	return append(dst, text[from:]...)
}

// isSurrogate reports whether b begins with the three bytes that half of a
// surrogate pair would have in UTF-8.
func isSurrogate(b []byte) bool {
	return len(b) > 2 && b[0] == 0xED && b[1]&0xE0 == 0xA0 && b[2]&0xC0 == 0x80
}

// StringOf returns the bytes as a string without a copy. They must not change while
// it is used.
func StringOf(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }

// BytesOf returns the string's bytes without a copy. They must not be written to.
func BytesOf(s string) []byte { return unsafe.Slice(unsafe.StringData(s), len(s)) }
