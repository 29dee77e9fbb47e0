package written

import "github.com/sotto-llm/sotto/internal/data/foreignjson"

// An object follows JSON that comes in pieces, to see whether it is an object, and where that is
// complete. It is as strict as a parser, except that it allows a member that is there twice, and
// bytes that are not UTF-8.
type object struct {
	state  state
	broken bool
	open   []byte // the brackets that are open
	key    bool   // the string under way is a name
	left   int    // of the digits of an escape, or what is left of a word
	word   string
}

// A state says what may come next.
type state uint8

const (
	begins  state = iota // the object
	names                // a name, or the end of an object
	name                 // a name
	colon                // what stands between name and value
	values               // a value, or the end of an array
	value                // a value
	after                // a comma, or an end
	text                 // more of a string
	escape               // the sign after a backslash
	hex                  // a digit of an escape
	word                 // more of true, false or null
	minus                // the first digit of a number
	zero                 // what follows a zero
	digits               // more of a number
	point                // the first digit of its fraction
	decimal              // more of its fraction
	power                // the sign or a digit of its exponent
	sign                 // the first digit of its exponent
	last                 // more of its exponent
	done                 // white space
)

// read takes a piece. After a fault, the rest does not matter.
func (o *object) read(piece []byte) {
	for _, c := range piece {
		if o.broken {
			return
		}
		o.step(c)
	}
}

// opened reports whether the object has begun, and complete whether it has ended, without a fault.
func (o *object) opened() bool   { return o.state != begins && !o.broken }
func (o *object) complete() bool { return o.state == done && !o.broken }

func (o *object) step(c byte) {
	switch o.state {
	case text:
		o.inText(c)
		return
	case escape:
		o.inEscape(c)
		return
	case hex:
		if !isHex(c) {
			o.broken = true
		} else if o.left--; o.left == 0 {
			o.state = text
		}
		return
	case word:
		if c != o.word[0] {
			o.broken = true
		} else if o.word = o.word[1:]; o.word == "" {
			o.state = after
		}
		return
	case minus, zero, digits, point, decimal, power, sign, last:
		if o.inNumber(c) {
			return
		}
	}
	if c == ' ' || c == '\t' || c == '\n' || c == '\r' {
		return
	}
	o.token(c)
}

// token takes a byte between values.
func (o *object) token(c byte) {
	switch s := o.state; {
	case o.broken:
	case s == begins && c == '{':
		o.push('{')
	case (s == names || s == name) && c == '"':
		o.state, o.key = text, true
	case s == colon && c == ':':
		o.state = value
	case s == after && c == ',':
		if o.state = value; o.open[len(o.open)-1] == '{' {
			o.state = name
		}
	case (s == names || s == after) && c == '}' && o.open[len(o.open)-1] == '{', (s == values || s == after) && c == ']' && o.open[len(o.open)-1] == '[':
		o.state = after
		if o.open = o.open[:len(o.open)-1]; len(o.open) == 0 {
			o.state = done
		}
	case s == value || s == values:
		o.begin(c)
	default:
		o.broken = true
	}
}

// begin takes the first byte of a value.
func (o *object) begin(c byte) {
	switch {
	case c == '{' || c == '[':
		o.push(c)
	case c == '"':
		o.state, o.key = text, false
	case c == 't':
		o.state, o.word = word, "rue"
	case c == 'f':
		o.state, o.word = word, "alse"
	case c == 'n':
		o.state, o.word = word, "ull"
	case c == '-':
		o.state = minus
	case c == '0':
		o.state = zero
	case isDigit(c):
		o.state = digits
	default:
		o.broken = true
	}
}

func (o *object) push(c byte) {
	if len(o.open) == foreignjson.MaxDepth {
		o.broken = true
		return
	}
	o.open = append(o.open, c)
	if o.state = values; c == '{' {
		o.state = names
	}
}

func (o *object) inText(c byte) {
	switch {
	case c == '"' && o.key:
		o.state = colon
	case c == '"':
		o.state = after
	case c == '\\':
		o.state = escape
	case c < ' ':
		o.broken = true
	}
}

func (o *object) inEscape(c byte) {
	switch c {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		o.state = text
	case 'u':
		o.state, o.left = hex, 4
	default:
		o.broken = true
	}
}

// inNumber takes a byte of a number. It returns false if the number has ended before it.
func (o *object) inNumber(c byte) bool {
	switch s := o.state; {
	case s == minus && c == '0':
		o.state = zero
	case s == minus && isDigit(c):
		o.state = digits
	case s == digits && isDigit(c), s == decimal && isDigit(c), s == last && isDigit(c):
	case s == point && isDigit(c):
		o.state = decimal
	case (s == power || s == sign) && isDigit(c):
		o.state = last
	case (s == zero || s == digits) && c == '.':
		o.state = point
	case (s == zero || s == digits || s == decimal) && (c == 'e' || c == 'E'):
		o.state = power
	case s == power && (c == '+' || c == '-'):
		o.state = sign
	case s == minus, s == point, s == power, s == sign:
		o.broken = true
		return true
	default:
		o.state = after
		return false
	}
	return true
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

func isHex(c byte) bool { return isDigit(c) || c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F' }
