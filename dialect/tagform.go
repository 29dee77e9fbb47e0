package dialect

import (
	"strings"

	"github.com/sotto-llm/sotto/internal/base/prompttext"
)

// whiteSpace is what may stand between the parts of a tag.
const whiteSpace = " \t\n\v\f\r"

// tagOf returns the tag of the dialect of which text, as a whole, is a form (rule G1 of
// docs/design.md). It returns "" if there is no such tag. The reader of replies looks for
// the forms with a lexer of its own.
func (d Dialect) tagOf(text string) string {
	rest, opens := strings.CutPrefix(text, "<")
	if !opens {
		return ""
	}
	rest, closes := strings.CutPrefix(strings.TrimLeft(rest, " \t"), "/")
	if closes {
		rest = strings.TrimLeft(rest, " \t")
	}
	end := strings.IndexAny(rest, whiteSpace+"/>")
	if end < 0 {
		return ""
	}
	name := prompttext.Lower(rest[:end])
	for _, m := range d.Markers {
		if m.Tag != "" && prompttext.Lower(m.Tag) == name && endsTag(rest[end:], !closes && m.Role == RoleReasoning) {
			return m.Tag
		}
	}
	return ""
}

// endsTag reports whether s is the rest of a tag after its name: white space, attributes
// if the tag may have them, and > or />.
func endsTag(s string, attributes bool) bool {
	for s != "" && strings.IndexByte(whiteSpace, s[0]) >= 0 {
		s = strings.TrimLeft(s, whiteSpace)
		if attributes && s != "" && startsAttribute(s[0]) {
			s = afterAttribute(s)
		}
	}
	return s == ">" || s == "/>"
}

// afterAttribute returns what follows the attribute with which s begins, or "" if it is
// not whole.
func afterAttribute(s string) string {
	i := strings.IndexFunc(s, func(r rune) bool {
		return r >= 0x80 || !startsAttribute(byte(r)) && !strings.ContainsRune("0123456789.-", r)
	})
	if i < 0 || s[i] != '=' || i+1 == len(s) {
		return ""
	}
	s = s[i+1:]
	if s[0] == '"' || s[0] == '\'' {
		_, after, _ := strings.Cut(s[1:], s[:1])
		return after
	}
	end := strings.IndexAny(s, whiteSpace+"\"'`<>")
	if end <= 0 || s[:end+1] == "/>" {
		return ""
	}
	return s[end:]
}

// startsAttribute reports whether c may begin the name of an attribute.
func startsAttribute(c byte) bool {
	return 'a' <= c|0x20 && c|0x20 <= 'z' || c == '_' || c == ':'
}
