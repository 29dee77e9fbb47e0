package answer

import (
	"fmt"
	"strconv"
	"strings"
)

// Limits on JSON values.
const (
	maxJSONDepth  = 1000
	maxJSONNumber = 1000 // digits, and the exponent
)

// A jsonFault says what is wrong with a JSON text, and at which byte.
type jsonFault struct {
	at    int
	what  string
	large bool // valid JSON, but beyond the limits
}

func (f *jsonFault) verdict() Verdict {
	v := Verdict{Reason: NotJSON, Detail: fmt.Sprintf("at byte %d: %s", f.at, f.what)}
	if f.large {
		v.Reason = TooLarge
	}
	return v
}

// checkJSON reports why s is not a single JSON value, or nil if it is.
func checkJSON(s string) *jsonFault {
	p := jsonScanner{src: s}
	p.white()
	if bad := p.value(); bad != nil {
		return bad
	}
	if p.white(); p.at < len(s) {
		return p.fault("more after the value")
	}
	return nil
}

// A jsonScanner reads over one JSON value without building it. It takes time linear
// in what it reads, and one byte of memory per level of nesting.
type jsonScanner struct {
	src  string
	at   int
	open []byte // the brackets that are open
	keys int    // members of objects read so far, counted at their colon
}

func (p *jsonScanner) fault(what string) *jsonFault {
	if p.at >= len(p.src) {
		return &jsonFault{at: len(p.src), what: "it ends too early"}
	}
	return &jsonFault{at: p.at, what: what}
}

func (p *jsonScanner) white() {
	for p.at < len(p.src) && strings.IndexByte(" \t\r\n", p.src[p.at]) >= 0 {
		p.at++
	}
}

func (p *jsonScanner) peek() byte {
	if p.at < len(p.src) {
		return p.src[p.at]
	}
	return 0
}

// value reads a value. Each round reads a scalar or opens a bracket, and then
// closes the brackets that end.
func (p *jsonScanner) value() *jsonFault {
	for {
		opened, bad := p.begin()
		if bad != nil {
			return bad
		}
		if opened {
			continue
		}
		done, bad := p.finish()
		if done || bad != nil {
			return bad
		}
	}
}

// begin reads a scalar, or opens a bracket and its first key.
func (p *jsonScanner) begin() (opened bool, bad *jsonFault) {
	c := p.peek()
	if c != '{' && c != '[' {
		return false, p.scalar()
	}
	if len(p.open) == maxJSONDepth {
		return false, &jsonFault{at: p.at, what: "nested too deep", large: true}
	}
	p.at++
	p.white()
	if p.peek() == c+2 { // } and ] stand two after { and [
		p.at++
		return false, nil
	}
	p.open = append(p.open, c)
	if c == '{' {
		return true, p.key()
	}
	return true, nil
}

// finish reads what follows a value: a comma, or the ends of brackets.
func (p *jsonScanner) finish() (done bool, bad *jsonFault) {
	for len(p.open) > 0 {
		p.white()
		open := p.open[len(p.open)-1]
		switch p.peek() {
		case ',':
			p.at++
			p.white()
			if open == '{' {
				return false, p.key()
			}
			return false, nil
		case open + 2:
			p.at++
			p.open = p.open[:len(p.open)-1]
		default:
			return false, p.fault("a comma or a closing bracket is missing")
		}
	}
	return true, nil
}

func (p *jsonScanner) key() *jsonFault {
	if p.peek() != '"' {
		return p.fault("a key in double quotes is missing")
	}
	if bad := p.text(); bad != nil {
		return bad
	}
	p.white()
	if p.peek() != ':' {
		return p.fault("a colon is missing")
	}
	p.at++
	p.keys++
	p.white()
	return nil
}

func (p *jsonScanner) scalar() *jsonFault {
	c := p.peek()
	switch {
	case c == '"':
		return p.text()
	case c == '-' || isDigit(c):
		return p.number()
	}
	for _, word := range []string{"true", "false", "null"} {
		if strings.HasPrefix(p.src[p.at:], word) {
			p.at += len(word)
			return nil
		}
	}
	return p.fault("no value")
}

func (p *jsonScanner) text() *jsonFault {
	for p.at++; p.at < len(p.src); p.at++ {
		switch c := p.src[p.at]; {
		case c == '"':
			p.at++
			return nil
		case c < ' ':
			return p.fault("a control character in a string")
		case c == '\\':
			if bad := p.escape(); bad != nil {
				return bad
			}
		}
	}
	return p.fault("")
}

func (p *jsonScanner) escape() *jsonFault {
	rest := p.src[p.at+1:]
	switch {
	case rest == "":
	case jsonEscapes[rest[0]] != "":
		p.at++
	case rest[0] != 'u':
		return p.fault("an escape that JSON does not know")
	default:
		if len(rest) < 5 {
			return p.fault("an escape that JSON does not know")
		}
		if _, err := strconv.ParseUint(rest[1:5], 16, 16); err != nil {
			return p.fault("an escape that JSON does not know")
		}
		p.at += 5
	}
	return nil
}

func (p *jsonScanner) digits() int {
	from := p.at
	for isDigit(p.peek()) {
		p.at++
	}
	return p.at - from
}

func (p *jsonScanner) number() *jsonFault {
	from := p.at
	if p.peek() == '-' {
		p.at++
	}
	zero := p.peek() == '0'
	if n := p.digits(); n == 0 || zero && n > 1 {
		return p.fault("no number")
	}
	if p.peek() == '.' {
		p.at++
		if p.digits() == 0 {
			return p.fault("no digit after the point")
		}
	}
	large := p.at-from > maxJSONNumber
	if c := p.peek(); c == 'e' || c == 'E' {
		p.at++
		if c := p.peek(); c == '+' || c == '-' {
			p.at++
		}
		digits := p.at
		if p.digits() == 0 {
			return p.fault("no digit in the exponent")
		}
		e, err := strconv.Atoi(p.src[digits:p.at])
		large = large || err != nil || e > maxJSONNumber
	}
	if large {
		return &jsonFault{at: from, what: "a number too long", large: true}
	}
	return nil
}
