// Package shorttext makes texts short: it cuts them without cutting a character, puts
// them on one line, and counts things in words.
package shorttext

import "unicode/utf8"

// Cut returns at most the first n bytes of a text, in whole characters.
func Cut(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return s[:Boundary(s, max(0, n))]
}

// Ellipsis returns Cut of a text, and "…" after it if anything was cut.
func Ellipsis(s string, n int) string {
	if len(s) <= max(0, n) {
		return s
	}
	return Cut(s, n) + "…"
}

// Columns returns a text of at most n characters. If any were cut, the last one is
// "…".
func Columns(s string, n int) string {
	last := 0 // where the n-th character begins
	count := 0
	for i := range s {
		if count++; count == n {
			last = i
		}
		if count > n {
			if n <= 0 {
				return ""
			}
			return s[:last] + "…"
		}
	}
	return s
}

// Boundary moves an offset into a text back to where its character begins. In bytes
// that are not valid UTF-8 it moves back by at most 3 bytes.
func Boundary(s string, at int) int {
	if at >= len(s) {
		return len(s)
	}
	for back := 0; back < utf8.UTFMax && at-back >= 0; back++ {
		if utf8.RuneStart(s[at-back]) {
			return at - back
		}
	}
	return at
}
