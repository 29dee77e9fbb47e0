package jsonpath

import (
	"bytes"
	"encoding/binary"
	"math/bits"
	"unicode/utf16"
	"unicode/utf8"
)

// str reads a JSON string.
func (f *Finder) str() error {
	data := f.Data
	for i := f.pos + 1; ; {
		i += plain(data[i:])
		if i >= len(data) {
			f.pos = len(data)
			return f.fail("the line ends inside a string")
		}
		switch data[i] {
		case '"':
			f.pos = i + 1
			return nil
		case '\\':
			n := escapeLen(data[i:])
			if n == 0 {
				f.pos = i
				return f.fail("bad escape in a string")
			}
			i += n
		default:
			f.pos = i
			return f.fail("control character in a string")
		}
	}
}

// plain returns how many bytes of s come before a quote, a backslash or a control
// character. It looks at eight bytes together. Subtracting the bound sets the top
// bit of a byte below it. Bits above the first set bit are ignored.
func plain(s []byte) int {
	const ones, tops = 0x0101010101010101, 0x8080808080808080
	n := 0
	for ; len(s)-n >= 8; n += 8 {
		x := binary.LittleEndian.Uint64(s[n:])
		hit := (x - ones*' ') | ((x ^ ones*'"') - ones) | ((x ^ ones*'\\') - ones)
		if hit &= ^x & tops; hit != 0 {
			return n + bits.TrailingZeros64(hit)/8
		}
	}
	for n < len(s) && !special[s[n]] {
		n++
	}
	return n
}

// special are the bytes that a JSON string cannot contain unescaped.
var special = func() (t [256]bool) {
	for c := range byte(' ') {
		t[c] = true
	}
	t['"'], t['\\'] = true, true
	return t
}()

// escapeLen returns the length of the escape that s begins with, or 0 if it does
// not begin with one.
func escapeLen(s []byte) int {
	if len(s) < 2 {
		return 0
	}
	switch s[1] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return 2
	case 'u':
		if len(s) < 6 {
			return 0
		}
		for _, c := range s[2:6] {
			if !(c >= '0' && c <= '9' || c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F') {
				return 0
			}
		}
		return 6
	}
	return 0
}

func (f *Finder) number() error {
	if f.peek() == '-' {
		f.pos++
	}
	if f.peek() == '0' {
		f.pos++
	} else if !f.digits() {
		return f.fail("bad number")
	}
	if f.peek() == '.' {
		f.pos++
		if !f.digits() {
			return f.fail("bad number")
		}
	}
	if c := f.peek(); c == 'e' || c == 'E' {
		f.pos++
		if c := f.peek(); c == '+' || c == '-' {
			f.pos++
		}
		if !f.digits() {
			return f.fail("bad number")
		}
	}
	return nil
}

func (f *Finder) digits() bool {
	from := f.pos
	for c := f.peek(); c >= '0' && c <= '9'; c = f.peek() {
		f.pos++
	}
	return f.pos > from
}

var literals = [][]byte{[]byte("true"), []byte("false"), []byte("null")}

func (f *Finder) literal() error {
	for _, word := range literals {
		if bytes.HasPrefix(f.Data[f.pos:], word) {
			f.pos += len(word)
			return nil
		}
	}
	if f.pos == len(f.Data) {
		return f.fail("the line ends where a value is wanted")
	}
	return f.fail("want a value")
}

// Unquote returns the text of a JSON string that a finder has read.
func Unquote(quoted []byte) string {
	inner := quoted[1 : len(quoted)-1]
	if bytes.IndexByte(inner, '\\') < 0 {
		return string(inner)
	}
	return string(AppendUnquoted(make([]byte, 0, len(inner)), quoted)) // no escape is shorter than its text
}

// AppendUnquoted appends the text of a JSON string that a finder has read. Half
// a surrogate pair becomes U+FFFD.
func AppendUnquoted(dst, quoted []byte) []byte {
	for s := quoted[1 : len(quoted)-1]; ; {
		n := plain(s)
		dst = append(dst, s[:n]...)
		if n == len(s) {
			return dst
		}
		s = s[n:]
		if s[1] != 'u' {
			dst = append(dst, unescaped[s[1]])
			s = s[2:]
			continue
		}
		r := unhex(s[2:6])
		s = s[6:]
		if utf16.IsSurrogate(r) {
			pair := utf8.RuneError
			if len(s) >= 6 && s[0] == '\\' && s[1] == 'u' {
				pair = utf16.DecodeRune(r, unhex(s[2:6]))
			}
			if r = pair; r != utf8.RuneError {
				s = s[6:]
			}
		}
		dst = utf8.AppendRune(dst, r)
	}
}

var unescaped = [256]byte{'"': '"', '\\': '\\', '/': '/', 'b': '\b', 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t'}

// unhex reads four hexadecimal digits.
func unhex(s []byte) (r rune) {
	for _, c := range s {
		switch {
		case c >= 'a':
			c -= 'a' - 10
		case c >= 'A':
			c -= 'A' - 10
		default:
			c -= '0'
		}
		r = r<<4 | rune(c)
	}
	return r
}

// AppendQuoted appends text as a JSON string. It escapes only what must be escaped.
// Bytes that are not UTF-8 become U+FFFD, or stay if verbatim is set.
func AppendQuoted(dst []byte, text string, verbatim bool) []byte {
	dst = append(dst, '"')
	from := 0
	for i := 0; i < len(text); {
		c := text[i]
		if c < utf8.RuneSelf {
			if special[c] {
				dst = append(dst, text[from:i]...)
				dst = appendEscaped(dst, c)
				from = i + 1
			}
			i++
			continue
		}
		r, size := utf8.DecodeRuneInString(text[i:])
		if r == utf8.RuneError && size == 1 && !verbatim {
			dst = append(dst, text[from:i]...)
			dst = append(dst, "\ufffd"...)
			from = i + 1
		}
		i += size
	}
	dst = append(dst, text[from:]...)
	return append(dst, '"')
}

func appendEscaped(dst []byte, c byte) []byte {
	switch c {
	case '"', '\\':
		return append(dst, '\\', c)
	case '\n':
		return append(dst, `\n`...)
	case '\r':
		return append(dst, `\r`...)
	case '\t':
		return append(dst, `\t`...)
	case '\b':
		return append(dst, `\b`...)
	case '\f':
		return append(dst, `\f`...)
	}
	const hex = "0123456789abcdef"
	return append(dst, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
}

// AppendComma appends the separator before element i of a list.
func AppendComma(dst []byte, i int) []byte {
	if i > 0 {
		return append(dst, ',')
	}
	return dst
}
