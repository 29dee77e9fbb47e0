package chatjson

import (
	"strings"
	"unicode"

	"github.com/tidwall/gjson"
)

// Either returns a member of an object by either of its names, as servers that read
// protocol buffers do: thinkingBudget and thinking_budget. The name is in camel case.
func Either(v gjson.Result, name string) gjson.Result {
	if m := v.Get(name); m.Exists() {
		return m
	}
	return v.Get(Snake(name))
}

// Named reports whether a key is one of the two names of a member.
func Named(key, name string) bool {
	return key == name || name != "" && len(key) > len(name) && key[0] == name[0] && key == Snake(name)
}

// Snake returns a name with underscores in place of capitals.
func Snake(name string) string {
	if !strings.ContainsFunc(name, unicode.IsUpper) {
		return name
	}
	var b strings.Builder
	for i := range len(name) {
		c := name[i]
		if 'A' <= c && c <= 'Z' {
			b.WriteByte('_')
			c += 'a' - 'A'
		}
		b.WriteByte(c)
	}
	return b.String()
}
