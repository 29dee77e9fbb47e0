package toolcall

import (
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/sotto-llm/sotto/internal/data/jsontext"
)

// pythonic reads calls as Python writes them: [f(a="b", n=3), g()], or one call without
// brackets. Arguments have names, and are literals.
func pythonic(body string) (calls []Call, ok bool) {
	p := &python{s: body}
	listed := p.takes("[")
	for {
		c, ok := p.call()
		if !ok || len(calls) == MaxCalls {
			return nil, false
		}
		calls = append(calls, c)
		if !p.takes(",") && !p.takes(";") {
			break
		}
	}
	if listed && !p.takes("]") {
		return nil, false
	}
	p.space()
	return calls, p.s == ""
}

// python reads literals of Python and writes them as JSON.
type python struct {
	s     string
	depth int
	dst   []byte
}

func (p *python) space() { p.s = strings.TrimLeft(p.s, white) }

// takes takes a mark, if it comes next.
func (p *python) takes(mark string) (ok bool) {
	p.space()
	p.s, ok = strings.CutPrefix(p.s, mark)
	return ok
}

// name takes a name: letters, digits, _ and, in names of tools, . and -.
func (p *python) name(more string) string {
	p.space()
	n := 0
	for n < len(p.s) && (isWord(p.s[n]) || strings.IndexByte(more, p.s[n]) >= 0) {
		n++
	}
	name := p.s[:n]
	p.s = p.s[n:]
	if name != "" && '0' <= name[0] && name[0] <= '9' {
		return ""
	}
	return name
}

func isWord(c byte) bool {
	return c == '_' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9'
}

// call takes NAME(KEY=VALUE, …).
func (p *python) call() (c Call, ok bool) {
	c.Name = p.name(".-")
	if c.Name == "" || !p.takes("(") {
		return c, false
	}
	p.dst = append(p.dst[:0], '{')
	seen := map[string]bool{}
	for !p.takes(")") {
		if len(seen) > 0 && !p.takes(",") {
			return c, false
		}
		if len(seen) > 0 && p.takes(")") { // a comma after the last
			break
		}
		key := p.name("")
		if key == "" || seen[key] || len(seen) == maxParams || !p.takes("=") {
			return c, false
		}
		p.dst = jsontext.AppendComma(p.dst, len(seen))
		seen[key] = true
		p.dst = append(jsontext.AppendVerbatim(p.dst, key), ':')
		if !p.literal() {
			return c, false
		}
	}
	c.JSON = append([]byte(nil), append(p.dst, '}')...)
	return c, true
}

// words are the names of Python's values, and those of JSON, which models mix up.
var words = []struct{ name, json string }{
	{"True", "true"}, {"False", "false"}, {"None", "null"}, {"true", "true"}, {"false", "false"}, {"null", "null"},
}

// literal takes a value.
func (p *python) literal() bool {
	p.space()
	if p.s == "" || p.depth == maxDepth {
		return false
	}
	p.depth++
	defer func() { p.depth-- }()
	switch c := p.s[0]; {
	case c == '[':
		return p.items("[", "]", '[', ']', false)
	case c == '(':
		return p.items("(", ")", '[', ']', false)
	case c == '{':
		return p.items("{", "}", '{', '}', true)
	case c == '"' || c == '\'':
		return p.text()
	case c == '-' || c == '+' || c == '.' || '0' <= c && c <= '9':
		return p.number()
	}
	for _, w := range words {
		if rest, ok := strings.CutPrefix(p.s, w.name); ok && (rest == "" || !isWord(rest[0])) {
			p.s, p.dst = rest, append(p.dst, w.json...)
			return true
		}
	}
	return false
}

// items takes a list, a tuple or a dictionary.
func (p *python) items(open, close string, from, to byte, keys bool) bool {
	p.takes(open)
	p.dst = append(p.dst, from)
	for n := 0; !p.takes(close); n++ {
		if n > 0 && !p.takes(",") {
			return false
		}
		if n > 0 && p.takes(close) {
			break
		}
		p.dst = jsontext.AppendComma(p.dst, n)
		if keys {
			p.space()
			if p.s == "" || p.s[0] != '"' && p.s[0] != '\'' || !p.text() || !p.takes(":") {
				return false
			}
			p.dst = append(p.dst, ':')
		}
		if !p.literal() {
			return false
		}
	}
	p.dst = append(p.dst, to)
	return true
}

// number takes a number that JSON has too, with Python's underscores and signs.
func (p *python) number() bool {
	n := 0
	for n < len(p.s) && (isWord(p.s[n]) || strings.IndexByte("+-.", p.s[n]) >= 0) {
		n++
	}
	v := strings.ReplaceAll(strings.TrimPrefix(p.s[:n], "+"), "_", "")
	p.s = p.s[n:]
	if _, fault := limits.Whole([]byte(v)); fault == "" {
		p.dst = append(p.dst, v...)
		return true
	}
	f, err := strconv.ParseFloat(v, 64) // such as 1. and .5
	if err != nil || f != f || f-f != 0 || strings.ContainsAny(v, "xXpP") {
		return false
	}
	p.dst = strconv.AppendFloat(p.dst, f, 'g', -1, 64)
	return true
}

// text takes a string, with the escapes that strings of Python and of JSON have.
func (p *python) text() bool {
	quote := p.s[:1]
	long := strings.HasPrefix(p.s, strings.Repeat(quote, 3))
	if long {
		quote = p.s[:3]
	}
	s := p.s[len(quote):]
	var b []byte
	for {
		switch {
		case s == "" || s[0] == '\n' && !long:
			return false
		case strings.HasPrefix(s, quote):
			p.s = s[len(quote):]
			p.dst = jsontext.AppendVerbatim(p.dst, b)
			return true
		case s[0] == '\\':
			n := 0
			if b, n = escape(b, s); n == 0 {
				return false
			}
			s = s[n:]
		default:
			b, s = append(b, s[0]), s[1:]
		}
	}
}

// escapes are those of one letter.
var escapes = map[byte]string{
	'n': "\n", 't': "\t", 'r': "\r", 'b': "\b", 'f': "\f", 'v': "\v", 'a': "\a", '0': "\x00",
	'\\': `\`, '\'': "'", '"': `"`, '/': "/", '\n': "",
}

// escape appends what an escape at the beginning of s stands for, and returns its
// length; 0 if there is no escape. Python leaves an escape that it does not know as it is.
func escape(b []byte, s string) ([]byte, int) {
	if len(s) < 2 {
		return b, 0
	}
	if text, ok := escapes[s[1]]; ok {
		return append(b, text...), 2
	}
	digits := map[byte]int{'x': 2, 'u': 4, 'U': 8}[s[1]]
	if digits == 0 {
		return append(b, s[:2]...), 2
	}
	if len(s) < 2+digits {
		return b, 0
	}
	n, err := strconv.ParseUint(s[2:2+digits], 16, 32)
	if err != nil {
		return b, 0
	}
	if 0xd800 <= n && n < 0xdc00 && len(s) >= 12 && s[6:8] == `\u` { // two halves, as in JSON
		if low, err := strconv.ParseUint(s[8:12], 16, 32); err == nil && 0xdc00 <= low && low < 0xe000 {
			return utf8.AppendRune(b, rune(0x10000+(n-0xd800)<<10+(low-0xdc00))), 12
		}
	}
	return utf8.AppendRune(b, rune(n)), 2 + digits
}
