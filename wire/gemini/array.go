package gemini

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/sotto-llm/sotto/sse"
	"github.com/sotto-llm/sotto/wire"
)

// An array is a stream as one JSON array, whose elements come one after another. It
// is what Google's service sends if the request does not ask for alt=sse.
//
// A piece is an element with what stands before it: a bracket, or a comma.
type array struct {
	state  state
	looked int  // bytes of the piece that were read
	at     int  // where its element begins
	depth  int  // of the brackets that are open in it
	quoted bool // inside a string
	escape bool // after a backslash

	event []byte // the element, as an event
	piece []byte // what it came as, until it is written
	tail  []byte // what followed the last element
	begun bool   // the client has a bracket
}

// A state says what an array may have next.
type state uint8

const (
	opening state = iota // the bracket
	first                // an element, or the end
	element              // an element
	inside               // more of it
	between              // a comma, or the end
	closed               // white space
)

var (
	errNoArray   = errors.New("the upstream sent broken JSON: a stream that is not an array of objects")
	errCutArray  = errors.New("the upstream broke off inside a JSON array")
	dataBegins   = []byte("data: ")
	eventEnds    = []byte("\n\n")
	maxTail      = 64 // bytes after the last element
	elementBegin = byte('{')
)

// Next takes an element. White space and signs before it belong to its piece.
func (a *array) Next(b []byte) (n int, event wire.Frame, err error) {
	for ; a.looked < len(b); a.looked++ {
		c := b[a.looked]
		switch {
		case a.state == inside:
			if done, err := a.inside(c); err != nil {
				return 0, wire.Frame{}, err
			} else if done {
				return a.element(b, a.looked+1)
			}
		case c == ' ' || c == '\n' || c == '\r' || c == '\t':
		case a.state == opening && c == '[':
			a.state = first
		case a.state == between && c == ',':
			a.state = element
		case (a.state == first || a.state == element) && c == elementBegin:
			a.at, a.depth, a.state = a.looked, 1, inside
		case (a.state == first || a.state == between) && c == ']':
			a.state = closed
		default:
			return 0, wire.Frame{}, errNoArray
		}
	}
	if a.state == closed && len(b) > 0 {
		if a.tail = append(a.tail, b...); len(a.tail) > maxTail {
			a.tail = append(a.tail[:0], ']')
		}
		a.looked = 0
		return len(b), wire.Frame{}, nil
	}
	return 0, wire.Frame{}, nil
}

// inside reads a byte of an element, and reports whether it is the last.
func (a *array) inside(c byte) (done bool, err error) {
	switch {
	case a.escape:
		a.escape = false
	case a.quoted && c < ' ':
		return false, fmt.Errorf("%w: a control character in a string", wire.ErrUnreadable)
	case a.quoted && c == '\\':
		a.escape = true
	case c == '"':
		a.quoted = !a.quoted
	case a.quoted:
	case c == '{' || c == '[':
		a.depth++
	case c == '}' || c == ']':
		a.depth--
	}
	return a.depth == 0, nil
}

// element returns the piece that ends at n. In the event, which is one line, the line
// breaks between the element's tokens are spaces.
func (a *array) element(b []byte, n int) (int, wire.Frame, error) {
	a.event = append(a.event[:0], dataBegins...)
	for _, c := range b[a.at:n] {
		if c == '\n' || c == '\r' {
			c = ' '
		}
		a.event = append(a.event, c)
	}
	end := len(a.event)
	a.event = append(a.event, eventEnds...)
	a.piece, a.looked, a.state = b[:n], 0, between
	return n, wire.Frame{Raw: a.event, Data: a.event[len(dataBegins):end:end], At: len(dataBegins)}, nil
}

// Append appends the elements in events. One that is unchanged is spelled as it came.
func (a *array) Append(dst, events []byte) []byte {
	piece := a.piece
	a.piece = nil
	if piece != nil && bytes.Equal(events, a.event) {
		if a.begun == (bytes.TrimLeft(piece, " \n\r\t")[0] == ',') {
			a.begun = true
			return append(dst, piece...)
		}
		return append(a.separate(dst), piece[bytes.IndexByte(piece, elementBegin):]...)
	}
	var scan sse.Scanner
	for {
		f, ok := scan.Next(events)
		if !ok {
			return dst
		}
		events = events[len(f.Raw):]
		if data := bytes.TrimSpace(f.Data); len(data) > 0 && data[0] == elementBegin {
			dst = append(a.separate(dst), data...)
		}
	}
}

// separate appends what stands before an element.
func (a *array) separate(dst []byte) []byte {
	if a.begun {
		return append(dst, ",\r\n"...)
	}
	a.begun = true
	return append(dst, '[')
}

// Last says what is wrong if an array ends here.
func (a *array) Last([]byte) error {
	if a.state != closed {
		return errCutArray
	}
	return nil
}

// End ends the array, as the upstream did if it did.
func (a *array) End(dst []byte) []byte {
	tail, opens := a.tail, bytes.IndexByte(a.tail, '[') >= 0
	switch {
	case !a.begun && !opens:
		dst = append(dst, '[')
	case a.begun && opens:
		tail = nil
	}
	if len(tail) == 0 {
		tail = []byte("]")
	}
	return append(dst, tail...)
}
