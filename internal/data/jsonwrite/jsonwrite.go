// Package jsonwrite writes JSON objects and lists member by member, in the order in which
// they are added. Strings keep the bytes that they have: tags are not escaped, and half a
// surrogate pair stays the escape that it came in.
package jsonwrite

import (
	"bytes"

	"github.com/sotto-llm/sotto/internal/data/jsontext"
)

// An Object is an object that is being written. Its zero value is empty.
type Object []byte

// Raw adds a member whose value is JSON.
func (o *Object) Raw(key, value string) {
	*o = append(o.key(key), value...)
}

// Text adds a string.
func (o *Object) Text(key, text string) {
	*o = AppendText(o.key(key), text)
}

// Bool adds true or false.
func (o *Object) Bool(key string, value bool) {
	if value {
		o.Raw(key, "true")
	} else {
		o.Raw(key, "false")
	}
}

// Object adds an object.
func (o *Object) Object(key string, value Object) { o.Raw(key, string(value.End())) }

// List adds a list.
func (o *Object) List(key string, value List) { o.Raw(key, string(value.End())) }

func (o *Object) key(key string) []byte {
	if len(*o) == 0 {
		*o = append(*o, '{')
	} else {
		*o = append(*o, ',')
	}
	return append(AppendText(*o, key), ':')
}

// Empty reports whether the object has no member.
func (o Object) Empty() bool { return len(o) == 0 }

// End returns the object as JSON. Nothing may be added to it from then on.
func (o Object) End() []byte {
	if len(o) == 0 {
		return []byte("{}")
	}
	return append(o, '}')
}

// A List is a list that is being written. Its zero value is empty.
type List []byte

// Raw adds a value that is JSON.
func (l *List) Raw(value string) { *l = append(l.comma(), value...) }

// Text adds a string.
func (l *List) Text(text string) { *l = AppendText(l.comma(), text) }

// Object adds an object.
func (l *List) Object(value Object) { l.Raw(string(value.End())) }

func (l *List) comma() []byte {
	if len(*l) == 0 {
		return append(*l, '[')
	}
	return append(*l, ',')
}

// Empty reports whether the list has no value.
func (l List) Empty() bool { return len(l) == 0 }

// End returns the list as JSON. Nothing may be added to it from then on.
func (l List) End() []byte {
	if len(l) == 0 {
		return []byte("[]")
	}
	return append(l, ']')
}

// AppendText appends a string as JSON.
func AppendText(dst []byte, text string) []byte {
	from := len(dst)
	dst = jsontext.AppendVerbatim(dst, text)
	if valid := bytes.ToValidUTF8(dst[from:], []byte("\uFFFD")); len(valid) != len(dst)-from {
		dst = append(dst[:from], valid...)
	}
	return dst
}
