package jsontext

import "github.com/sotto-llm/sotto/internal/base/bytescan"

// The functions below read what begins at b[i]. They return the offset after it, or
// the offset of the fault.

// Space reads white space, if there is any.
func Space(b []byte, i int) int {
	for i < len(b) && b[i] <= ' ' && (b[i] == ' ' || b[i] == '\n' || b[i] == '\r' || b[i] == '\t') {
		i++
	}
	return i
}

// key reads a member's key and colon.
func key(b []byte, i int) (int, Fault) {
	i, fault := Key(b, Space(b, i))
	if fault != "" {
		return i, fault
	}
	return Colon(b, i)
}

// Key reads a key, without the colon after it.
func Key(b []byte, i int) (int, Fault) {
	switch {
	case i >= len(b):
		return i, Ended
	case b[i] != '"':
		return i, NoKey
	}
	return str(b, i)
}

// Colon reads the colon after a key, and white space before it.
func Colon(b []byte, i int) (int, Fault) {
	switch i = Space(b, i); {
	case i >= len(b):
		return i, Ended
	case b[i] != ':':
		return i, NoColon
	}
	return i + 1, ""
}

// Scalar reads a string, a number or a word.
func Scalar(b []byte, i int) (int, Fault) {
	if i >= len(b) {
		return i, Ended
	}
	switch b[i] {
	case '"':
		return str(b, i)
	case 't':
		return word(b, i, "true")
	case 'f':
		return word(b, i, "false")
	case 'n':
		return word(b, i, "null")
	}
	if !isNumber(b[i]) {
		return i, NoValue
	}
	return number(b, i)
}

func isNumber(c byte) bool { return c == '-' || isDigit(c) }

func word(b []byte, i int, w string) (int, Fault) {
	if len(b)-i < len(w) || string(b[i:i+len(w)]) != w {
		return i, NoValue
	}
	return i + len(w), ""
}

// str reads a string, starting at its opening quote.
func str(b []byte, i int) (int, Fault) {
	for i = special(b, i+1); i < len(b); i = special(b, i) {
		if b[i] == '"' {
			return i + 1, ""
		}
		if b[i] != '\\' {
			return i, Control
		}
		n := escape(b[i+1:])
		if n == 0 {
			return i, BadEscape
		}
		i += 1 + n
	}
	return i, Ended
}

// special returns the offset of the first byte, from i on, that a string cannot
// contain unescaped: a quote, a backslash or a control character. If there is none,
// it returns len(b).
func special(b []byte, i int) int { return i + bytescan.Special(b[i:], '"') }

// escape returns the length of the escape after a backslash, or 0.
func escape(b []byte) int {
	if len(b) == 0 {
		return 0
	}
	switch b[0] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return 1
	case 'u':
		if len(b) >= 5 && isHex[b[1]] && isHex[b[2]] && isHex[b[3]] && isHex[b[4]] {
			return 5
		}
	}
	return 0
}

// isHex says which bytes are hexadecimal digits.
var isHex = func() (is [256]bool) {
	for _, c := range []byte("0123456789abcdefABCDEF") {
		is[c] = true
	}
	return is
}()

// number reads a sign, digits without leading zeros, a fraction and an exponent.
func number(b []byte, i int) (int, Fault) {
	fault := Fault("")
	if b[i] == '-' {
		i++
	}
	if i < len(b) && b[i] == '0' {
		i++
	} else if i, fault = digits(b, i); fault != "" {
		return i, fault
	}
	if i < len(b) && b[i] == '.' {
		if i, fault = digits(b, i+1); fault != "" {
			return i, fault
		}
	}
	if i < len(b) && b[i]|0x20 == 'e' {
		i++
		if i < len(b) && (b[i] == '+' || b[i] == '-') {
			i++
		}
		return digits(b, i)
	}
	return i, ""
}

// digits reads at least one digit.
func digits(b []byte, i int) (int, Fault) {
	from := i
	for i < len(b) && isDigit(b[i]) {
		i++
	}
	switch {
	case i > from:
		return i, ""
	case i == len(b):
		return i, Ended
	}
	return i, BadNumber
}

func isDigit(c byte) bool { return c-'0' <= 9 }
