package reading

import (
	"cmp"
	"path/filepath"
	"strings"

	"github.com/sotto-llm/sotto/internal/cli/shell"
	"github.com/sotto-llm/sotto/internal/data/foreignjson"
)

// HintLines prints a hint if a text that was read as one reply is JSON Lines.
func HintLines(sh *shell.Shell, file, text string) {
	if !areLines(file, text) {
		return
	}
	sh.Hintf("%s looks like JSON Lines, but is read as one reply; use --jsonl, with --field, to read one reply per line", cmp.Or(file, "standard input"))
}

// areLines reports whether the first line of a text is a JSON object, and the
// second begins one. If the name of the file says so, one line is enough: a reply
// may be one JSON object.
func areLines(file, text string) bool {
	first, rest, more := strings.Cut(strings.TrimPrefix(text, "\ufeff"), "\n")
	if !strings.HasPrefix(first, "{") || !foreignjson.Valid([]byte(first)) {
		return false
	}
	switch filepath.Ext(file) {
	case ".jsonl", ".ndjson":
		return true
	}
	return more && strings.HasPrefix(rest, "{")
}
