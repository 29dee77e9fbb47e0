// Package prompttext reads what chat templates write: the special tokens that they put
// between the turns of a conversation, and names in either case.
package prompttext

import "strings"

// pieces are pieces of the tokens between turns. A marker that one of them follows belongs to an
// earlier turn.
var pieces = []string{
	"<|", "|>", "<｜", "｜>", "[INST]", "[/INST]", "<s>", "</s>",
	"<start_of_turn>", "<end_of_turn>", "<role>", "</role>", "]~b]", "[e~[",
}

var lowerPieces = func() []string {
	list := make([]string, len(pieces))
	for i, p := range pieces {
		list[i] = Lower(p)
	}
	return list
}()

// TailBytes is how much of a prompt or a template is read: more than a caller writes of
// a reply that it begins.
const TailBytes = 64 << 10

// HasTurnToken reports whether s has a piece of a turn's token.
func HasTurnToken(s string) bool {
	for _, p := range pieces {
		if strings.Contains(s, p) {
			return true
		}
	}
	return false
}

// EndsTurnToken reports whether s ends in a turn's token.
func EndsTurnToken(s string) bool {
	for _, p := range pieces {
		if p != "<|" && p != "<｜" && strings.HasSuffix(s, p) {
			return true
		}
	}
	return false
}

// TurnTokenPrefix returns the length of the longest piece of a turn's token with which
// s, which is in lower case, begins, or 0.
func TurnTokenPrefix(s string) int {
	n := 0
	for _, p := range lowerPieces {
		if len(p) > n && strings.HasPrefix(s, p) {
			n = len(p)
		}
	}
	return n
}

// Lower returns s with its ASCII letters in lower case. It keeps every byte in its
// place, which strings.ToLower does not.
func Lower(s string) string {
	b := []byte(s)
	for i, c := range b {
		if 'A' <= c && c <= 'Z' {
			b[i] = c + ('a' - 'A')
		}
	}
	return string(b)
}
