package sidecar

import (
	"bytes"
	"encoding/base64"
	"strings"
	"unicode/utf8"

	"github.com/sotto-llm/sotto/internal/data/jsontext"
)

// searched are the members whose strings a search may look into, in lower case: the texts of
// contents, and the plain members that package recordsearch and the console search.
var searched = []string{"text", "error", "message", "name"}

// deepest bounds how deep the values of a line are looked at. package eventtext searches 16
// levels of the payload, which is one level below the line.
const deepest = 14

// textsIn calls f with all strings of a line that a search may look into. It reports false if
// the line has any in a form that is read in more than one way: then every search must look at
// the line itself. Strings of members that no search looks into are left out.
func textsIn(line []byte, f func(text string)) bool {
	w := textWalker{b: line, f: f}
	end, ok := w.value(0, 0, false)
	return ok && jsontext.Space(line, end) == len(line)
}

type textWalker struct {
	b []byte
	f func(string)
}

// value walks a value, and returns the place after it. wanted says that its member is
// searched.
func (w *textWalker) value(i, depth int, wanted bool) (end int, ok bool) {
	i = jsontext.Space(w.b, i)
	if i >= len(w.b) || depth > deepest {
		return i, false
	}
	switch w.b[i] {
	case '{':
		return w.object(i, depth)
	case '[':
		return w.list(i, depth)
	}
	end, fault := jsontext.Scalar(w.b, i)
	if fault != "" {
		return end, false
	}
	if !wanted || w.b[i] == 'n' {
		return end, true
	}
	return end, w.text(w.b[i:end])
}

func (w *textWalker) object(i, depth int) (end int, ok bool) {
	if at := jsontext.Space(w.b, i+1); at < len(w.b) && w.b[at] == '}' {
		return at + 1, true
	}
	for {
		from := jsontext.Space(w.b, i+1)
		end, fault := jsontext.Key(w.b, from)
		if fault != "" {
			return end, false
		}
		wanted := isSearched(w.b[from:end])
		if i, fault = jsontext.Colon(w.b, end); fault != "" {
			return i, false
		}
		if i, ok = w.value(i, depth+1, wanted); !ok {
			return i, false
		}
		if i = jsontext.Space(w.b, i); i >= len(w.b) || w.b[i] != ',' {
			return i + 1, i < len(w.b) && w.b[i] == '}'
		}
	}
}

func (w *textWalker) list(i, depth int) (end int, ok bool) {
	if at := jsontext.Space(w.b, i+1); at < len(w.b) && w.b[at] == ']' {
		return at + 1, true
	}
	for {
		if i, ok = w.value(i+1, depth+1, false); !ok {
			return i, false
		}
		if i = jsontext.Space(w.b, i); i >= len(w.b) || w.b[i] != ',' {
			return i + 1, i < len(w.b) && w.b[i] == ']'
		}
	}
}

// isSearched reports whether a member's name, in its quotes, is one that is searched, in any
// case of its letters. A name with escapes may be.
func isSearched(quoted []byte) bool {
	name := quoted[1 : len(quoted)-1]
	if bytes.IndexByte(name, '\\') >= 0 {
		return true
	}
	for _, s := range searched {
		if strings.EqualFold(string(name), s) {
			return true
		}
	}
	return false
}

// text gives one string. A number or a truth value would be searched as it is formatted.
func (w *textWalker) text(token []byte) bool {
	if token[0] != '"' || !utf8.Valid(token) {
		return false
	}
	if bytes.IndexByte(token, '\\') < 0 {
		return w.give(string(token[1 : len(token)-1]))
	}
	if bytes.Contains(token, []byte(`\ud`)) || bytes.Contains(token, []byte(`\uD`)) {
		return false // half a character, or one in two halves
	}
	return w.give(jsontext.Unquote(token))
}

// give gives a string, and also the text that it is the base64 of.
func (w *textWalker) give(text string) bool {
	w.f(text)
	if coded, ok := strings.CutPrefix(text, "base64:"); ok {
		if raw, err := base64.StdEncoding.DecodeString(coded); err == nil {
			w.f(string(raw))
		}
	}
	return true
}
