package dialect

import (
	"strings"

	"github.com/sotto-llm/sotto/internal/base/prompttext"
)

// TemplateOpens reports whether a chat template may open a reasoning block at the end
// of the prompt, in some case, so that a reply begins inside it. The template is one
// of Jinja or of Go's text/template. It is not run: its texts and its string literals
// are read in order, with the branches one after the other.
//
// If you have the rendered prompt, BeginningOf of a compiled grammar knows more.
func (d Dialect) TemplateOpens(template string) bool {
	template = template[max(0, len(template)-prompttext.TailBytes):]
	text := prompttext.Lower(templateTexts(template))
	opens, closes := reasoningMarkers(d.Markers)
	open := false // a block was opened at the start of a turn, and not closed
	ink := maxRole + 1
	for i := 0; i < len(text); {
		rest := text[i:]
		if n := prefixOf(rest, opens); n > 0 {
			if open { // the other branch did not close its block
				return true
			}
			open = ink <= maxRole
			i += n
			continue
		}
		if n := prefixOf(rest, closes); n > 0 {
			open = false
			i += n
			continue
		}
		if n := prompttext.TurnTokenPrefix(rest); n > 0 {
			if open {
				return true
			}
			ink = 0
			i += n
			continue
		}
		if strings.IndexByte(" \t\r\n", text[i]) < 0 {
			ink++
		}
		i++
	}
	return open
}

// maxRole is the longest name of a role after a turn's token, with room for a
// separator.
const maxRole = 16

// prefixOf returns the length of the longest of the words with which s begins, or 0.
func prefixOf(s string, words []string) (n int) {
	for _, w := range words {
		if len(w) > n && strings.HasPrefix(s, w) {
			n = len(w)
		}
	}
	return n
}

// reasoningMarkers returns the markers of reasoning as a template writes them, in
// lower case.
func reasoningMarkers(markers []Marker) (opens, closes []string) {
	for _, m := range markers {
		if m.Role != RoleReasoning {
			continue
		}
		if m.Tag != "" {
			opens, closes = append(opens, "<"+prompttext.Lower(m.Tag)+">"), append(closes, "</"+prompttext.Lower(m.Tag)+">")
		}
		for _, s := range m.Open {
			opens = append(opens, prompttext.Lower(strings.Trim(s, "\n")))
		}
		for _, s := range m.Close {
			closes = append(closes, prompttext.Lower(strings.Trim(s, "\n")))
		}
	}
	return opens, closes
}

// templateTexts returns the text that a template writes: what stands outside its
// actions, and the string literals that its actions write.
func templateTexts(t string) string {
	var b strings.Builder
	for t != "" {
		at := strings.IndexByte(t, '{')
		if at < 0 || at+1 == len(t) {
			b.WriteString(t)
			break
		}
		b.WriteString(t[:at])
		end := ""
		switch t[at+1] {
		case '{':
			end = "}}"
		case '%':
			end = "%}"
		case '#':
			end = "#}"
		default:
			b.WriteByte('{')
			t = t[at+1:]
			continue
		}
		action, rest, _ := strings.Cut(t[at+2:], end)
		if end == "}}" {
			writeLiterals(&b, action)
		}
		t = rest
	}
	return b.String()
}

// writeLiterals writes the string literals of an action. Those that are the name of a
// member, or the argument of a call, are not written by the template.
func writeLiterals(b *strings.Builder, action string) {
	before := byte(0) // the last byte that is not white space
	for i := 0; i < len(action); i++ {
		c := action[i]
		if c != '"' && c != '\'' && c != '`' {
			if c != ' ' && c != '\n' && c != '\t' {
				before = c
			}
			continue
		}
		written := before != '[' && before != '(' && before != ','
		before = c
		for i++; i < len(action) && action[i] != c; i++ {
			d := action[i]
			if d == '\\' && c != '`' && i+1 < len(action) {
				i++
				switch d = action[i]; d {
				case 'n':
					d = '\n'
				case 't':
					d = '\t'
				case 'r':
					d = '\r'
				}
			}
			if written {
				b.WriteByte(d)
			}
		}
	}
}
