package foreignjson

import (
	"encoding/binary"
	"math/bits"
)

// scan reads data as one value, from left to right. Instead of a call stack it
// keeps a bit for each open array and object: 1 for an object. At a fault it
// returns the sentinel, and the offset of the wrong byte.
func (l Limits) scan(data []byte, open []uint64) (at int, fault error) {
	depth, members := 0, 0
	ok, inObject := false, false
	for i := 0; ; {
		// A value begins here.
		if i = space(data, i); i >= len(data) {
			return i, ErrSyntax
		}
		opened := data[i] == '{' || data[i] == '['
		if opened {
			if depth >= l.Depth {
				return i, ErrDepth
			}
			inObject = data[i] == '{'
			set(open, depth, inObject)
			depth++
			i++
		} else if i, ok = scalar(data, i); !ok {
			return i, ErrSyntax
		}
		// After a value, or an opening bracket, containers may end.
		for i = space(data, i); depth > 0 && i < len(data) && data[i] == closer(inObject); i = space(data, i+1) {
			opened = false
			if depth--; depth > 0 {
				inObject = open[(depth-1)/64]>>((depth-1)%64)&1 == 1
			}
		}
		switch {
		case depth == 0 && i == len(data):
			return i, nil
		case opened: // the first member follows
		case depth == 0 || i >= len(data) || data[i] != ',':
			return i, ErrSyntax
		default:
			i++
		}
		if members++; members > l.Members {
			return i, ErrMembers
		}
		if inObject {
			if i, ok = key(data, i); !ok {
				return i, ErrSyntax
			}
		}
	}
}

func set(open []uint64, n int, object bool) {
	open[n/64] &^= 1 << (n % 64)
	if object {
		open[n/64] |= 1 << (n % 64)
	}
}

func closer(object bool) byte {
	if object {
		return '}'
	}
	return ']'
}

// The functions below read what begins at b[i]. They return the offset after it, or
// the offset of the fault.

// space reads white space, if there is any.
func space(b []byte, i int) int {
	for i < len(b) && b[i] <= ' ' && (b[i] == ' ' || b[i] == '\n' || b[i] == '\r' || b[i] == '\t') {
		i++
	}
	return i
}

// key reads a member's key and colon.
func key(b []byte, i int) (int, bool) {
	if i = space(b, i); i >= len(b) || b[i] != '"' {
		return i, false
	}
	i, ok := str(b, i)
	if !ok {
		return i, false
	}
	if i = space(b, i); i >= len(b) || b[i] != ':' {
		return i, false
	}
	return i + 1, true
}

// scalar reads a string, a number or a word.
func scalar(b []byte, i int) (int, bool) {
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
	return number(b, i)
}

func word(b []byte, i int, w string) (int, bool) {
	if len(b)-i < len(w) || string(b[i:i+len(w)]) != w {
		return i, false
	}
	return i + len(w), true
}

// str reads a string, starting at its opening quote.
func str(b []byte, i int) (int, bool) {
	for i = special(b, i+1); i < len(b); i = special(b, i) {
		if b[i] == '"' {
			return i + 1, true
		}
		if b[i] != '\\' { // a control character
			return i, false
		}
		n := escape(b[i+1:])
		if n == 0 {
			return i, false
		}
		i += 1 + n
	}
	return i, false
}

// Words whose eight bytes all have the value that the name says.
const (
	ones        = 0x0101010101010101
	highBits    = 0x80 * ones
	quotes      = '"' * ones
	backslashes = '\\' * ones
	blanks      = ' ' * ones
)

// special returns the offset of the first byte, from i on, that a string cannot
// contain unescaped: a quote, a backslash or a control character. If there is none,
// it returns len(b). It reads eight bytes at a time, because most of a document is
// text.
func special(b []byte, i int) int {
	for ; i+8 <= len(b); i += 8 {
		x := binary.LittleEndian.Uint64(b[i:])
		q, s := x^quotes, x^backslashes
		// The high bit of each special byte is set. It may also be set for bytes
		// after the first of these, because the subtraction borrows.
		if found := ((q-ones)&^q | (s-ones)&^s | (x-blanks)&^x) & highBits; found != 0 {
			return i + bits.TrailingZeros64(found)/8
		}
	}
	for ; i < len(b); i++ {
		if c := b[i]; c == '"' || c == '\\' || c < ' ' {
			return i
		}
	}
	return i
}

// escape returns the length of the escape after a backslash, or 0.
func escape(b []byte) int {
	if len(b) == 0 {
		return 0
	}
	switch b[0] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return 1
	case 'u':
		if len(b) < 5 {
			return 0
		}
		for _, c := range b[1:5] {
			if !isDigit(c) && (c|0x20 < 'a' || c|0x20 > 'f') {
				return 0
			}
		}
		return 5
	}
	return 0
}

// number reads a sign, digits without leading zeros, a fraction and an exponent.
func number(b []byte, i int) (int, bool) {
	ok := false
	if b[i] == '-' {
		i++
	}
	if i < len(b) && b[i] == '0' {
		i++
	} else if i, ok = digits(b, i); !ok {
		return i, false
	}
	if i < len(b) && b[i] == '.' {
		if i, ok = digits(b, i+1); !ok {
			return i, false
		}
	}
	if i < len(b) && b[i]|0x20 == 'e' {
		i++
		if i < len(b) && (b[i] == '+' || b[i] == '-') {
			i++
		}
		return digits(b, i)
	}
	return i, true
}

// digits reads at least one digit.
func digits(b []byte, i int) (int, bool) {
	from := i
	for i < len(b) && isDigit(b[i]) {
		i++
	}
	return i, i > from
}

func isDigit(c byte) bool { return c-'0' <= 9 }
