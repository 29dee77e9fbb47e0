package ndjson_test

import "strings"

// A refLine is a line of a whole stream, read the simple way.
type refLine struct{ raw, data string }

// readReference returns the lines that an LF ends, and the text after them.
func readReference(stream string) (lines []refLine, rest refLine) {
	parts := strings.SplitAfter(stream, "\n")
	for _, raw := range parts {
		lines = append(lines, refLine{raw, strings.Trim(raw, " \t\r\n")})
	}
	return lines[:len(lines)-1], lines[len(lines)-1]
}
