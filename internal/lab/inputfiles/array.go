package inputfiles

import (
	"bufio"
	"errors"
	"io"
)

// An arrayReader gives the elements of a JSON array, each on its own line. It
// looks only at brackets and quotes; the reader of the lines must check them.
type arrayReader struct {
	from  *bufio.Reader
	depth int  // of brackets; 1 between elements
	quote bool // in a string
	slash bool // after a backslash there
	solid bool // the element has content
	comma bool // a comma came before: an element must follow
	ended bool
	tail  bool // text after the array is not a fault: it is in an object
	chunk [32 << 10]byte
	out   []byte
}

func (a *arrayReader) Read(p []byte) (int, error) {
	for len(a.out) == 0 {
		n, err := a.from.Read(a.chunk[:])
		for _, c := range a.chunk[:n] {
			if err := a.step(c); err != nil {
				return 0, err
			}
		}
		switch {
		case n > 0 || err == nil:
		case errors.Is(err, io.EOF) && !a.ended:
			return 0, errArray
		default:
			return 0, err
		}
	}
	n := copy(p, a.out)
	a.out = append(a.out[:0], a.out[n:]...)
	return n, nil
}

// step takes one byte of the array.
func (a *arrayReader) step(c byte) error {
	switch {
	case a.ended && a.tail:
	case a.quote:
		a.inString(c)
	case c == ' ' || c == '\t' || c == '\n' || c == '\r':
		if a.solid {
			a.out = append(a.out, ' ')
		}
	case a.ended:
		return errors.New("there is text after the array")
	case a.depth == 0:
		if c == '[' { // otherwise part of a byte order mark
			a.depth = 1
		}
	case a.depth == 1 && (c == ',' || c == ']'):
		a.endElement(c)
	default:
		a.inElement(c)
	}
	return nil
}

// inString keeps a raw newline from splitting the line; a string must not contain
// one.
func (a *arrayReader) inString(c byte) {
	if c == '\n' {
		c = 0
	}
	a.out = append(a.out, c)
	a.quote = a.slash || c != '"'
	a.slash = !a.slash && c == '\\'
}

// endElement ends an element. An empty element is a fault, except in an empty
// array, so its line is the comma.
func (a *arrayReader) endElement(c byte) {
	if !a.solid && (c == ',' || a.comma) {
		a.out = append(a.out, ',')
		a.solid = true
	}
	if a.solid {
		a.out = append(a.out, '\n')
	}
	a.solid, a.comma, a.ended = false, c == ',', c == ']'
}

func (a *arrayReader) inElement(c byte) {
	a.solid, a.quote = true, c == '"'
	switch c {
	case '[', '{':
		a.depth++
	case ']', '}':
		a.depth = max(a.depth-1, 1)
	}
	a.out = append(a.out, c)
}

var errArray = errors.New("the array does not end")

// startsArray reports whether the first byte that is not white space is "[".
func startsArray(r *bufio.Reader) bool { return first(r) == '[' }

// first returns the first byte that is not white space or a byte order mark, or 0.
func first(r *bufio.Reader) byte {
	for n := 1; n <= r.Size(); n++ {
		ahead, err := r.Peek(n)
		if err != nil {
			return 0
		}
		switch c := ahead[n-1]; c {
		case ' ', '\t', '\r', '\n', 0xef, 0xbb, 0xbf:
		default:
			return c
		}
	}
	return 0
}
