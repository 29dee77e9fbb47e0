package scripted

import (
	"encoding/json"
	"fmt"
	"strconv"
	"unicode/utf8"
)

// An object is a JSON object whose members keep their order. Providers have their
// own order, and a gateway must preserve it.
type object []member

type member struct {
	name  string
	value any // nil, a bool, an int, a string, an object, a []any or a json.RawMessage
}

// An array is a JSON array.
type array = []any

// An encoder writes JSON without white space.
type encoder struct {
	// html says that <, > and & are written as escapes, as Ollama does.
	html bool
}

// encode appends v.
func (e encoder) encode(b []byte, v any) []byte {
	switch v := v.(type) {
	case nil:
		return append(b, "null"...)
	case bool:
		return strconv.AppendBool(b, v)
	case int:
		return strconv.AppendInt(b, int64(v), 10)
	case string:
		return e.quote(b, v)
	case json.RawMessage:
		return append(b, v...)
	case object:
		return e.object(b, v)
	case array:
		return e.array(b, v)
	}
	panic(fmt.Sprintf("scripted: no JSON of a %T", v))
}

func (e encoder) object(b []byte, o object) []byte {
	b = append(b, '{')
	for i, m := range o {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(e.quote(b, m.name), ':')
		b = e.encode(b, m.value)
	}
	return append(b, '}')
}

func (e encoder) array(b []byte, a array) []byte {
	b = append(b, '[')
	for i, v := range a {
		if i > 0 {
			b = append(b, ',')
		}
		b = e.encode(b, v)
	}
	return append(b, ']')
}

const hexDigits = "0123456789abcdef"

// quote appends s as a JSON string.
func (e encoder) quote(b []byte, s string) []byte {
	b = append(b, '"')
	done := 0
	for i := 0; i < len(s); i++ {
		c := s[i]
		if c >= utf8.RuneSelf || !e.escapes(c) {
			continue
		}
		b = append(b, s[done:i]...)
		done = i + 1
		switch c {
		case '"', '\\':
			b = append(b, '\\', c)
		case '\n':
			b = append(b, `\n`...)
		case '\r':
			b = append(b, `\r`...)
		case '\t':
			b = append(b, `\t`...)
		default:
			b = append(b, `\u00`...)
			b = append(b, hexDigits[c>>4], hexDigits[c&15])
		}
	}
	return append(append(b, s[done:]...), '"')
}

func (e encoder) escapes(c byte) bool {
	return c < ' ' || c == '"' || c == '\\' || e.html && (c == '<' || c == '>' || c == '&')
}
