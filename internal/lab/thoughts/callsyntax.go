package thoughts

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/sotto-llm/sotto/internal/base/lazyregexp"
)

const toolLabel = "(?:name|tool|tool_name|function|recipient_name|action)"

var (
	// namesCall matches what stands before the name of a tool in a call.
	namesCall = lazyregexp.New(`(?i)(?:` +
		`["']` + toolLabel + `["']\s*:\s*["']` + // {"name": "search"}
		`|\b` + toolLabel + `\s*=\s*["']?` + // <function=search>, name="search"
		`|\b(?:functions|default_api)\.` + // functions.search
		`|<\|tool_call_begin\|>|<tool_call>|\[TOOL_CALLS\]` +
		`)$`)
	// labelsCall matches a label at the beginning of a line, after which the name of a tool
	// stands alone or with its arguments in brackets.
	labelsCall = lazyregexp.New("(?i)(?:^|\n)[ \t*_#-]*" + toolLabel + "[*_]*[ \t]*:[ \t*_]*[\"'`]?$")
)

// beforeCall bounds what is read before a name.
const beforeCall = 40

// writesCall reports whether a text writes the name of a tool as one writes a call.
func writesCall(text, name string) bool {
	for at := 0; ; {
		i := strings.Index(text[at:], name)
		if i < 0 {
			return false
		}
		at += i
		if isCall(text[max(0, at-beforeCall):at], text[at+len(name):]) {
			return true
		}
		_, size := utf8.DecodeRuneInString(text[at:])
		at += size
	}
}

// isCall reports whether a name is that of a call, by what stands before and after it.
func isCall(before, after string) bool {
	last, _ := utf8.DecodeLastRuneInString(before)
	next, _ := utf8.DecodeRuneInString(after)
	if before != "" && inWord(last) || after != "" && inWord(next) {
		return false
	}
	switch {
	case next == '(' && last != '.': // not a method of something else
		return true
	case last == '<' && (next == '>' || next == '/'):
		return true
	}
	if namesCall.MatchString(before) {
		return true
	}
	line, _, _ := strings.Cut(after, "\n")
	line = strings.TrimSpace(strings.TrimLeft(line, "\"'`*_"))
	return (line == "" || line[0] == '[') && labelsCall.MatchString(before)
}

func inWord(r rune) bool { return r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r) }
