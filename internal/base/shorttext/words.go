package shorttext

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// OneLine puts a text on one line: each run of white space becomes a space.
func OneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

// Plural selects one of two texts by a number, which replaces %d in the second.
func Plural(n int, one, many string) string {
	if n == 1 {
		return one
	}
	return fmt.Sprintf(many, n)
}

// Count returns a number of things in words, such as "1 finding" or "2 replies". The
// plural of the word is regular.
func Count(n int, word string) string {
	stem, y := strings.CutSuffix(word, "y")
	if y && !strings.HasSuffix(stem, "a") && !strings.HasSuffix(stem, "e") && !strings.HasSuffix(stem, "o") {
		return Plural(n, "1 "+word, "%d "+stem+"ies")
	}
	return Plural(n, "1 "+word, "%d "+word+"s")
}

// Wrap breaks a text of our own into lines of so many characters at most, if its words
// are shorter. Lines after the first begin with the indent.
func Wrap(text string, width int, indent string) string {
	var b strings.Builder
	column := 0
	for word := range strings.FieldsSeq(text) {
		n := utf8.RuneCountInString(word)
		switch {
		case column == 0:
		case column+1+n > width:
			b.WriteString("\n" + indent)
			column = len(indent)
		default:
			b.WriteString(" ")
			column++
		}
		b.WriteString(word)
		column += n
	}
	return b.String() + "\n"
}
