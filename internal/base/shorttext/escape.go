package shorttext

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// maxQuoted bounds the part of a value that [Quote] shows, in bytes.
const maxQuoted = 64

// Quote returns a value that a peer wrote in a form fit for a message: its
// beginning, in quotes, with characters that are not printable escaped.
func Quote(s string) string {
	if len(s) <= maxQuoted {
		return strconv.Quote(s)
	}
	return strconv.Quote(s[:maxQuoted]) + "... (" + strconv.Itoa(len(s)) + " bytes)"
}

// Escape escapes characters that are not printable, and returns at most limit
// bytes.
func Escape(s string, limit int) string {
	var b strings.Builder
	for i := 0; i < len(s) && b.Len() < limit; {
		r, size := utf8.DecodeRuneInString(s[i:])
		part := s[i : i+size]
		if !strconv.IsPrint(r) || r == utf8.RuneError && size == 1 {
			part = strconv.Quote(part)
			part = part[1 : len(part)-1]
		}
		if b.Len()+len(part) > limit {
			break
		}
		b.WriteString(part)
		i += size
	}
	return b.String()
}
