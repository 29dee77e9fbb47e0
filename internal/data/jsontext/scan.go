// Package jsontext reads the tokens of JSON texts, and writes strings. It is strict:
// it accepts what [encoding/json.Valid] accepts. It neither recurses nor builds
// values, and takes time linear in what it reads.
package jsontext

// A Fault says what is wrong with a text. An empty one says that nothing is.
type Fault string

// The faults.
const (
	Ended      Fault = "the text ends too early"
	NoValue    Fault = "want a value"
	NoKey      Fault = "want a key in double quotes"
	NoColon    Fault = "want a colon after the key"
	NoComma    Fault = "want a comma or a closing bracket"
	Control    Fault = "a control character in a string"
	BadEscape  Fault = "an escape that JSON does not have"
	BadNumber  Fault = "want a digit"
	LongNumber Fault = "a number too long"
	TooDeep    Fault = "nested too deep"
	TooMany    Fault = "too many members and elements"
	More       Fault = "there is text after the value"
)

// Limits bound a value.
type Limits struct {
	Depth   int // arrays and objects that are open at the same time
	Members int // members of objects and elements of arrays, in total
	Number  int // the characters of a number, and its exponent; if zero, no bound
}

// usualDepth is how deep a value may nest without an allocation.
const usualDepth = 1024

// Value reads the value at or after data[i], whatever follows it. It returns the
// offset after the value, or the offset of the fault, and how many keys it has read.
//
// Instead of a call stack it keeps a bit for each open array and object: 1 for an
// object.
func (l Limits) Value(data []byte, i int) (end, keys int, fault Fault) {
	var few [usualDepth / 64]uint64
	open := few[:]
	if l.Depth > usualDepth {
		open = make([]uint64, l.Depth/64+1)
	}
	depth, members, inObject := 0, 0, false
	for {
		// A value begins here.
		if i = Space(data, i); i >= len(data) {
			return i, keys, Ended
		}
		opened := data[i] == '{' || data[i] == '['
		if opened {
			if depth >= l.Depth {
				return i, keys, TooDeep
			}
			inObject = data[i] == '{'
			set(open, depth, inObject)
			depth++
			i++
		} else {
			from := i
			if i, fault = Scalar(data, i); fault != "" {
				return i, keys, fault
			}
			if l.Number > 0 && isNumber(data[from]) && isLong(data[from:i], l.Number) {
				return from, keys, LongNumber
			}
		}
		// After a value, or an opening bracket, containers may end.
		for at := i; depth > 0; at = i {
			if at = Space(data, at); at >= len(data) || data[at] != closer(inObject) {
				i = at
				break
			}
			i = at + 1
			opened = false
			if depth--; depth > 0 {
				inObject = open[(depth-1)/64]>>((depth-1)%64)&1 == 1
			}
		}
		switch {
		case depth == 0:
			return i, keys, ""
		case opened: // the first member follows
		case i >= len(data):
			return i, keys, Ended
		case data[i] != ',':
			return i, keys, NoComma
		default:
			i++
		}
		if members++; members > l.Members {
			return i, keys, TooMany
		}
		if inObject {
			if i, fault = key(data, i); fault != "" {
				return i, keys, fault
			}
			keys++
		}
	}
}

// Whole is Value for a text that is one value and nothing else.
func (l Limits) Whole(data []byte) (at int, fault Fault) {
	at, _, fault = l.Value(data, 0)
	if fault != "" {
		return at, fault
	}
	if at = Space(data, at); at < len(data) {
		return at, More
	}
	return at, ""
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

// isLong reports whether a number has more characters before its exponent than the
// limit, or a larger exponent.
func isLong(number []byte, limit int) bool {
	exponent := -1
	for i, c := range number {
		switch {
		case c|0x20 == 'e':
			if i > limit {
				return true
			}
			exponent = 0
		case exponent >= 0 && isDigit(c):
			if exponent = exponent*10 + int(c-'0'); exponent > limit {
				return true
			}
		}
	}
	return exponent < 0 && len(number) > limit
}
