package cli

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
)

// A source is one input of a batch: JSON Lines, or the elements of a JSON array
// as lines.
type source struct {
	*input
	lines   *bufio.Reader
	unit    string // line, element
	first   int    // how many lines are behind
	skipped int    // how many bytes those were
	order   int    // which of the inputs it is
	many    bool   // one of several: its name says which
}

// openSource opens FILE and finds out which of the two it holds.
func (sh *shell) openSource(name string) (*source, error) {
	in, err := sh.open(name)
	if err != nil {
		return nil, err
	}
	s := &source{input: in, lines: bufio.NewReaderSize(in, 64<<10), unit: "line"}
	if startsArray(s.lines) {
		s.lines, s.unit = bufio.NewReaderSize(&arrayReader{from: s.lines}, 64<<10), "element"
	}
	return s, nil
}

// startsArray reports whether the first byte that is no white space is "[".
func startsArray(r *bufio.Reader) bool {
	for n := 1; n <= r.Size(); n++ {
		ahead, err := r.Peek(n)
		if err != nil {
			return false
		}
		switch c := ahead[n-1]; c {
		case ' ', '\t', '\r', '\n', 0xef, 0xbb, 0xbf:
		default:
			return c == '['
		}
	}
	return false
}

// lineError prints the error of one line.
func (s *source) lineError(sh *shell, number int, err error) {
	place, between := fmt.Sprintf("%s %d", s.unit, number), ":"
	if s.many {
		place = s.name + ": " + place
	}
	var syntax *syntaxError
	if errors.As(err, &syntax) {
		between = ","
	}
	sh.errorf("%s%s %v", place, between, err)
}

// An arrayReader gives the elements of a JSON array, each on a line of its own.
// It looks at brackets and quotes only: whoever reads the lines checks them.
type arrayReader struct {
	from  *bufio.Reader
	depth int  // of brackets; 1 between elements
	quote bool // in a string
	slash bool // after a backslash there
	solid bool // the element has begun
	comma bool // one went before: an element must follow
	ended bool
	chunk [32 << 10]byte
	out   []byte
}

var errArray = errors.New("the array has no end")

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
	case a.quote:
		a.inString(c)
	case c == ' ' || c == '\t' || c == '\n' || c == '\r':
		if a.solid {
			a.out = append(a.out, ' ')
		}
	case a.ended:
		return errors.New("something stands after the array")
	case a.depth == 0:
		if c == '[' { // else it is of a byte order mark
			a.depth = 1
		}
	case a.depth == 1 && (c == ',' || c == ']'):
		a.endElement(c)
	default:
		a.inElement(c)
	}
	return nil
}

// inString keeps a raw newline, which no string may hold, from cutting the line.
func (a *arrayReader) inString(c byte) {
	if c == '\n' {
		c = 0
	}
	a.out = append(a.out, c)
	a.quote = a.slash || c != '"'
	a.slash = !a.slash && c == '\\'
}

// endElement ends an element; one that is empty, save in an empty array, is a
// fault, so that its line is the comma.
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

// trimLine returns a line without its end.
func trimLine(line []byte) []byte {
	line, whole := bytes.CutSuffix(line, []byte("\n"))
	if whole {
		line = bytes.TrimSuffix(line, []byte("\r"))
	}
	return line
}

// blankLine reports whether a line with its end is blank.
func blankLine(line []byte) bool { return isBlank(bytes.TrimSuffix(line, []byte("\n"))) }
