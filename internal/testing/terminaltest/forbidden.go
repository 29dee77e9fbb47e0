// Package terminaltest has helpers for tests of output: text that is hostile to a
// terminal, a terminal to write it to, and a check of the bytes that arrive there.
package terminaltest

import (
	"fmt"
	"unicode/utf8"
)

// Strange is text that a model, a file or a peer may write to take over a terminal,
// or to deceive its reader. Its last byte is not valid UTF-8. If the word owned
// appears, a command has printed it.
const Strange = "\x1b]0;owned\x07\x1b[2J\x1b[8m\x1b[31m\u009b31m\u0090q\x08\x7f\rover\u202erlo\u2066x\u061c\u200b\ufeff\U000e0041\u2028\u00ad\v\x9b"

// Styles are the only control sequences that set a style.
var Styles = []string{"\x1b[0m", "\x1b[1m", "\x1b[2m", "\x1b[3m", "\x1b[36m", "\x1b[2;9m"}

// Forbidden names what in an output would control a terminal or hide text from its
// reader. It is written independently of the code that it tests: by code points.
func Forbidden(out []byte) string {
	var before rune
	for i := 0; i < len(out); {
		r, size := utf8.DecodeRune(out[i:])
		bad := r < ' ' && r != '\n' && r != '\t' && !(r == '\r' && i+1 < len(out) && out[i+1] == '\n') || r >= 0x7f && r <= 0x9f || r == utf8.RuneError && size == 1
		switch {
		case r == 0xad, r == 0x61c, r == 0x180e, r == 0x200b, r == 0x200e, r == 0x200f, r == 0xfeff, r == 0x034f, r == 0x3164,
			r >= 0x2028 && r <= 0x202e, r >= 0x2060 && r <= 0x206f, r >= 0xfff9 && r <= 0xfffb, r >= 0xe0000 && r <= 0xe0fff, r >= 0xfe00 && r <= 0xfe0d:
			bad = true
		case r == 0x200c, r == 0x200d, r == 0xfe0e, r == 0xfe0f:
			bad = before == 0x200c || before == 0x200d || before == r || r <= 0x200d && before < 0x80
		}
		if bad {
			return fmt.Sprintf("%U at %d, in %q", r, i, out[max(0, i-40):min(len(out), i+40)])
		}
		before = r
		i += size
	}
	return ""
}
