package answer

import (
	"encoding/json"
	"strings"
	"unicode/utf8"
)

// A lenientJSON reads a value as models write it: with comments, with a comma after
// the last member, with Python's quotes and names. It writes the value strictly.
type lenientJSON struct {
	src   string
	at    int
	depth int
	keys  int
	out   strings.Builder
}

// strictJSON returns the value that begins at a place as strict JSON, and where it
// ends. ok is false if there is no such value, even read leniently; end is then as
// far as it was read.
func strictJSON(text string, at int) (value string, end int, ok bool) {
	l := lenientJSON{src: text, at: at}
	if !l.value() || l.keys == 0 && l.out.Len() < 2 {
		return "", l.at, false
	}
	return l.out.String(), l.at, true
}

// skip skips white space and comments.
func (l *lenientJSON) skip() {
	for l.at < len(l.src) {
		rest := l.src[l.at:]
		switch {
		case isWhite(rest[0]):
			l.at++
		case strings.HasPrefix(rest, "//"), rest[0] == '#':
			l.at = lineEnd(l.src, l.at)
		case strings.HasPrefix(rest, "/*"):
			end := strings.Index(rest[2:], "*/")
			if end < 0 {
				l.at = len(l.src)
				return
			}
			l.at += 2 + end + 2
		default:
			return
		}
	}
}

func (l *lenientJSON) value() bool {
	l.skip()
	if l.at == len(l.src) {
		return false
	}
	switch c := l.src[l.at]; {
	case c == '{':
		return l.list('}', true)
	case c == '[':
		return l.list(']', false)
	case c == '"' || c == '\'':
		return l.text(c)
	case c == '-' || isDigit(c):
		return l.number()
	}
	return l.name()
}

// list reads an object or a list.
func (l *lenientJSON) list(end byte, keyed bool) bool {
	if l.depth++; l.depth > jsonLimits.Depth {
		return false
	}
	l.out.WriteByte(l.src[l.at])
	l.at++
	for first := true; ; first = false {
		l.skip()
		if l.at == len(l.src) {
			return false
		}
		if l.src[l.at] == end {
			l.at++
			l.depth--
			l.out.WriteByte(end)
			return true
		}
		if !first {
			l.out.WriteByte(',')
		}
		if keyed && !l.key() || !l.value() {
			return false
		}
		l.skip()
		switch {
		case l.at == len(l.src):
			return false
		case l.src[l.at] == ',':
			l.at++
		case l.src[l.at] != end:
			return false
		}
	}
}

// key reads the key of a member, and its colon.
func (l *lenientJSON) key() bool {
	if c := l.src[l.at]; c != '"' && c != '\'' || !l.text(c) {
		return false
	}
	l.keys++
	l.skip()
	if l.at == len(l.src) || l.src[l.at] != ':' {
		return false
	}
	l.at++
	l.out.WriteByte(':')
	return true
}

// text reads a string, in either kind of quotation marks.
func (l *lenientJSON) text(quote byte) bool {
	var b strings.Builder
	for i := l.at + 1; i < len(l.src); i++ {
		switch c := l.src[i]; c {
		case quote:
			l.at = i + 1
			return l.write(b.String())
		case '\\':
			if i++; i == len(l.src) {
				return false
			}
			if l.src[i] == '\'' {
				b.WriteByte('\'')
				continue
			}
			b.WriteByte('\\')
			b.WriteByte(l.src[i])
		case '"':
			b.WriteString(`\"`)
		case '\n':
			return false
		default:
			b.WriteByte(c)
		}
	}
	return false
}

func (l *lenientJSON) write(inside string) bool {
	quoted := `"` + inside + `"`
	if !utf8.ValidString(inside) || !json.Valid([]byte(quoted)) {
		return false
	}
	l.out.WriteString(quoted)
	return true
}

func (l *lenientJSON) number() bool {
	end := l.at
	for end < len(l.src) && (isDigit(l.src[end]) || strings.IndexByte("+-.eE", l.src[end]) >= 0) {
		end++
	}
	n := l.src[l.at:end]
	if len(n) > jsonLimits.Number || !json.Valid([]byte(n)) {
		return false
	}
	l.at = end
	l.out.WriteString(n)
	return true
}

// jsonNames are the names of values, in JSON and in Python.
var jsonNames = map[string]string{"true": "true", "false": "false", "null": "null", "True": "true", "False": "false", "None": "null"}

func (l *lenientJSON) name() bool {
	end := l.at
	for end < len(l.src) && isLetter(l.src[end]) {
		end++
	}
	strict, ok := jsonNames[l.src[l.at:end]]
	if ok {
		l.at = end
		l.out.WriteString(strict)
	}
	return ok
}
