package errortext

import (
	"bytes"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/sotto-llm/sotto/internal/data/jsonedit"
)

// A view is a text with some layers of escapes undone.
type view struct {
	text []byte
	// at says where in the text as it came each byte comes from. It has one more entry,
	// for the end. It is nil if nothing is undone yet.
	at []int
}

// original returns where in the text as it came a byte of the view comes from.
func (v *view) original(i int) int {
	if v.at == nil {
		return i
	}
	return v.at[i]
}

// without returns the text as it came, without some spans of the view.
func (v *view) without(text []byte, cuts []jsonedit.Span) []byte {
	var left []byte
	at := 0
	for _, c := range cuts {
		left = append(left, text[at:max(at, v.original(c.Start))]...)
		at = max(at, v.original(c.End))
	}
	return append(left, text[at:]...)
}

// unescaped undoes one more layer of escapes; more is false if there is none.
func (v *view) unescaped() (next view, more bool) {
	if bytes.IndexByte(v.text, '\\') < 0 && bytes.IndexByte(v.text, '&') < 0 {
		return *v, false
	}
	next.text = make([]byte, 0, len(v.text))
	next.at = make([]int, 0, len(v.text)+1)
	for i := 0; i < len(v.text); {
		from, n := len(next.text), 0
		next.text, n = appendEscape(next.text, v.text[i:])
		if n == 0 {
			next.text, n = append(next.text, v.text[i]), 1
		} else {
			more = true
		}
		for range len(next.text) - from {
			next.at = append(next.at, v.original(i))
		}
		i += n
	}
	next.at = append(next.at, v.original(len(v.text)))
	return next, more
}

// simple are the escapes of one letter in JSON and in programming languages.
var simple = map[byte]byte{'"': '"', '\'': '\'', '\\': '\\', '/': '/', 'b': '\b', 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t'}

// appendEscape appends what an escape at the start of a text stands for, and returns its
// length: 0 if the text does not begin with one.
func appendEscape(dst, text []byte) (_ []byte, n int) {
	switch {
	case text[0] == '&':
		return appendEntity(dst, text)
	case text[0] != '\\' || len(text) < 2:
		return dst, 0
	}
	if c, ok := simple[text[1]]; ok {
		return append(dst, c), 2
	}
	for _, form := range []struct {
		letter byte
		digits int
	}{{'x', 2}, {'u', 4}, {'U', 8}} {
		if text[1] != form.letter {
			continue
		}
		c, ok := number(text[2:], form.digits)
		if !ok {
			return dst, 0
		}
		n = 2 + form.digits
		if utf16.IsSurrogate(c) && len(text) >= n+2 && text[n] == '\\' && text[n+1] == 'u' {
			if low, ok := number(text[n+2:], 4); ok && utf16.DecodeRune(c, low) != utf8.RuneError {
				return utf8.AppendRune(dst, utf16.DecodeRune(c, low)), n + 6
			}
		}
		return utf8.AppendRune(dst, c), n
	}
	return dst, 0
}

// number reads a hexadecimal number of so many digits.
func number(text []byte, digits int) (rune, bool) {
	if len(text) < digits {
		return 0, false
	}
	n, err := strconv.ParseUint(string(text[:digits]), 16, 32)
	return rune(min(n, utf8.MaxRune+1)), err == nil
}

// entities are those of HTML that stand for characters of markup.
var entities = map[string]string{"lt": "<", "gt": ">", "amp": "&", "quot": `"`, "apos": "'"}

// appendEntity is appendEscape for an entity of HTML.
func appendEntity(dst, text []byte) (_ []byte, n int) {
	end := bytes.IndexByte(text[:min(len(text), 12)], ';')
	if end < 2 {
		return dst, 0
	}
	name := string(text[1:end])
	if is, ok := entities[name]; ok {
		return append(dst, is...), end + 1
	}
	digits, ok := strings.CutPrefix(name, "#")
	base := 10
	if hex, isHex := strings.CutPrefix(strings.ToLower(digits), "x"); isHex {
		digits, base = hex, 16
	}
	c, err := strconv.ParseUint(digits, base, 32)
	if !ok || err != nil || c > utf8.MaxRune {
		return dst, 0
	}
	return utf8.AppendRune(dst, rune(c)), end + 1
}
