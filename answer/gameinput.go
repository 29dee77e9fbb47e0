package answer

import "strings"

// strayIn returns the text among the numbers of a game that is not a whole number,
// or "" if there is none. If the text is a list, all of it is checked, and it may
// end in its target ("4 7 17 -> 39"). If it is a sentence, words are allowed, and
// only the lists in brackets are checked.
func strayIn(s string) string {
	s = unlabelled(s)
	if !isSentence(s) {
		for _, sign := range []string{"=", "->", "→"} {
			if list, target, ok := strings.Cut(s, sign); ok && (blank(target) || isTarget(target)) {
				return strayInList(list)
			}
		}
		return strayInList(s)
	}
	for {
		list, rest, ok := strings.Cut(s, "]")
		if !ok {
			return ""
		}
		if open := strings.LastIndexByte(list, '['); open >= 0 && !isSentence(list[open:]) {
			if stray := strayInList(list[open:]); stray != "" {
				return stray
			}
		}
		s = rest
	}
}

// listMarks may stand around a list of numbers.
const listMarks = white + "[](){}'\""

// unlabelled returns a text without a label such as "Input:".
func unlabelled(s string) string {
	label, rest, ok := strings.Cut(s, ":")
	for i := 0; ok && i < len(label); i++ {
		ok = isWordByte(label[i]) || isWhite(label[i])
	}
	if !ok {
		return s
	}
	return rest
}

// isSentence reports whether a text begins with a word.
func isSentence(s string) bool {
	s = strings.TrimLeft(s, listMarks)
	return len(s) > 1 && isWordByte(s[0]) && isWordByte(s[1])
}

func isWordByte(c byte) bool { return lower(c)-'a' < 26 || c >= 0x80 }

// strayInList returns the first element of a list that is not a number, or is too
// long.
func strayInList(s string) string {
	s = strings.TrimRight(strings.Trim(s, listMarks), ".")
	s = strings.TrimRight(s, listMarks)
	for from := 0; from < len(s); {
		end := from
		for end < len(s) && !isListSeparator(s[end]) {
			end++
		}
		if word := s[from:end]; word != "" && word != "and" && (!isDigits(word) || len(word) > maxExprDigits) {
			return word
		}
		from = end + 1
	}
	return ""
}

func isListSeparator(c byte) bool { return isWhite(c) || strings.IndexByte(",;'\"", c) >= 0 }
