// Package typeset writes text for people, so that nothing in it controls their terminal.
package typeset

import (
	"bufio"
	"io"

	"github.com/sotto-llm/sotto/internal/base/visible"
)

// A Style is a style of text. There are no others, so every control sequence that a
// writer writes is one of these, or that of [Writer.Erase].
type Style int

const (
	Unstyled Style = iota
	Bold
	Dim
	Italic
	Cyan
	Struck
)

var sequences = [...]string{Unstyled: "\x1b[0m", Bold: "\x1b[1m", Dim: "\x1b[2m", Italic: "\x1b[3m", Cyan: "\x1b[36m", Struck: "\x1b[2;9m"}

// A Writer writes text for people, with styles if there is colour. Control characters are
// made visible in pipes too, because a pipe may end at a terminal.
type Writer struct {
	Colour bool
	w      *bufio.Writer // only styles are written to it unescaped
	esc    visible.Escaper
	buf    []byte
}

// New returns a writer to a stream.
func New(stream io.Writer, colour bool) *Writer {
	return &Writer{Colour: colour, w: bufio.NewWriterSize(stream, 32<<10)}
}

// HasColour reports whether a terminal shows colour: one that is not dumb, unless the user
// sets NO_COLOR.
func HasColour(getenv func(string) string) bool {
	return getenv("NO_COLOR") == "" && getenv("TERM") != "dumb"
}

// Write writes text. Flush returns its error too.
func (t *Writer) Write(text []byte) (int, error) {
	t.buf = t.esc.Append(t.buf[:0], text, true)
	if _, err := t.w.Write(t.buf); err != nil {
		return 0, err
	}
	return len(text), nil
}

// WriteString writes text.
func (t *Writer) WriteString(text string) { t.Write([]byte(text)) }

// Set writes text in a style. The style ends with the text, so that an interrupt
// does not leave the terminal in it.
func (t *Writer) Set(s Style, text string) {
	if !t.Colour || s == Unstyled {
		t.WriteString(text)
		return
	}
	t.w.WriteString(sequences[s])
	t.WriteString(text)
	t.w.WriteString(sequences[Unstyled])
}

// Erase removes what the line of the cursor has, if there is colour.
func (t *Writer) Erase() {
	if t.Colour {
		t.w.WriteString("\x1b[2K\r")
	}
}

// Flush writes what is buffered.
func (t *Writer) Flush() error { return t.w.Flush() }
