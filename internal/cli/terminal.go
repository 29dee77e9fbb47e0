package cli

import (
	"fmt"
	"io"
	"os"
	"unicode/utf8"

	"golang.org/x/term"
)

// isTerminal reports whether a stream is a terminal.
func isTerminal(stream any) bool {
	file, ok := stream.(*os.File)
	return ok && term.IsTerminal(int(file.Fd()))
}

// terminalWidth returns the columns of a terminal, and 0 of anything else.
func terminalWidth(stream any) int {
	if !isTerminal(stream) {
		return 0
	}
	width, _, err := term.GetSize(int(stream.(*os.File).Fd()))
	if err != nil || width < 1 {
		return 80
	}
	return width
}

// colour reports whether a stream may be given colour: a terminal that is not
// dumb, and no NO_COLOR.
func (sh *shell) colour(stream any) bool {
	return isTerminal(stream) && sh.getenv("NO_COLOR") == "" && sh.getenv("TERM") != "dumb"
}

// terminalSafe makes control sequences visible on a terminal, and leaves every
// other stream as it is: a pipe gets the bytes.
func terminalSafe(w io.Writer) io.Writer {
	if isTerminal(w) {
		return &visibleWriter{w: w}
	}
	return w
}

// A visibleWriter writes text so that no byte of it moves the cursor, colours,
// or reorders what a reader sees. A character cut by a chunk waits for its rest.
type visibleWriter struct {
	w    io.Writer
	held []byte
	buf  []byte
}

func (v *visibleWriter) Write(p []byte) (int, error) {
	text := p
	if len(v.held) > 0 {
		text = append(v.held, p...)
	}
	var n int
	v.buf, n = appendVisible(v.buf[:0], text, false)
	v.held = append([]byte(nil), text[n:]...)
	if _, err := v.w.Write(v.buf); err != nil {
		return 0, err
	}
	return len(p), nil
}

// Flush writes what waits for the rest of a character.
func (v *visibleWriter) Flush() error {
	if len(v.held) == 0 {
		return nil
	}
	v.buf, _ = appendVisible(v.buf[:0], v.held, true)
	v.held = nil
	_, err := v.w.Write(v.buf)
	return err
}

// appendVisible appends text with its control characters made visible, and
// returns how many bytes of it it used: a cut character or a carriage return at
// the end waits, unless the text ends there.
func appendVisible(dst, text []byte, end bool) ([]byte, int) {
	i := 0
	for i < len(text) {
		c := text[i]
		switch {
		case c == '\r' && i+1 == len(text) && !end:
			return dst, i
		case c == '\r' && i+1 < len(text) && text[i+1] == '\n', c == '\n', c == '\t', c >= ' ' && c < 0x7f:
			dst = append(dst, c)
			i++
			continue
		case c < ' ':
			dst = utf8.AppendRune(dst, '␀'+rune(c))
			i++
			continue
		case c == 0x7f:
			dst = append(dst, "␡"...)
			i++
			continue
		case !end && !utf8.FullRune(text[i:]):
			return dst, i
		}
		r, size := utf8.DecodeRune(text[i:])
		if deceives(r) {
			dst = fmt.Appendf(dst, `\u%04x`, r)
		} else {
			dst = utf8.AppendRune(dst, r) // an invalid byte is U+FFFD
		}
		i += size
	}
	return dst, i
}

// deceives reports whether a character is a control of the C1 set or one that
// reorders the text around it.
func deceives(r rune) bool {
	switch {
	case r >= 0x80 && r <= 0x9f, r == 0x061c, r == 0x200e, r == 0x200f:
		return true
	case r >= 0x202a && r <= 0x202e, r >= 0x2066 && r <= 0x2069, r == 0x2028, r == 0x2029:
		return true
	}
	return false
}
