package shell

import (
	"io"
	"os"
	"sync"

	"golang.org/x/term"

	"github.com/sotto-llm/sotto/internal/base/typeset"
	"github.com/sotto-llm/sotto/internal/base/visible"
)

// isTerminal reports whether a stream is a terminal.
func isTerminal(stream any) bool {
	file, ok := stream.(*os.File)
	return ok && term.IsTerminal(int(file.Fd()))
}

// A terminal is a stream that commands write to: a terminal, a pipe or a file. Only
// this file and the progress bar write to the stream directly. Everything else goes
// through a printer or a typesetter, so that no text of a model, a file or a peer
// reaches a terminal unescaped.
type terminal struct {
	device io.Writer
	TTY    bool
	colour bool // a terminal that is not dumb, without NO_COLOR

	mu  sync.Mutex // programs log and draw at the same time
	esc visible.Escaper
	buf []byte
	// within says that what was written last did not end its line.
	within bool
}

func newTerminal(stream io.Writer, getenv func(string) string) *terminal {
	tty := isTerminal(stream)
	return &terminal{device: stream, TTY: tty, colour: tty && typeset.HasColour(getenv)}
}

// Width returns the columns of a terminal, and 0 for anything else.
func (t *terminal) Width() int {
	if !t.TTY {
		return 0
	}
	width, _, err := term.GetSize(int(t.device.(*os.File).Fd()))
	if err != nil || width < 1 {
		return 80
	}
	return width
}

// verbatim writes our own bytes, or those for a pipe, after the bytes that wait.
func (t *terminal) verbatim(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if err := t.flush(); err != nil {
		return 0, err
	}
	return t.write(p)
}

// write writes bytes as they are.
func (t *terminal) write(p []byte) (int, error) {
	if len(p) > 0 {
		t.within = p[len(p)-1] != '\n'
	}
	return t.device.Write(p)
}

// endLine writes the end of the line that another stream has begun, if both go to the
// same terminal, pipe or file, so that a message does not continue that line. The
// other stream itself stays as it is, byte for byte.
func (t *terminal) endLine(other *terminal) {
	other.mu.Lock()
	within := other.within
	other.within = false
	other.mu.Unlock()
	if within && sameFile(t.device, other.device) {
		_, _ = t.verbatim([]byte("\n"))
	}
}

// sameFile reports whether two streams are the same terminal, pipe or file.
func sameFile(a, b io.Writer) bool {
	x, ok := a.(*os.File)
	y, also := b.(*os.File)
	if !ok || !also {
		return false
	}
	i, err := x.Stat()
	j, fault := y.Stat()
	return err == nil && fault == nil && os.SameFile(i, j)
}

// text writes text with its control characters made visible.
func (t *terminal) text(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.buf = t.esc.Append(t.buf[:0], p, false)
	if _, err := t.write(t.buf); err != nil {
		return 0, err
	}
	return len(p), nil
}

// Flush writes the bytes that wait for the rest of a character.
func (t *terminal) Flush() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.flush()
}

func (t *terminal) flush() error {
	if len(t.esc.Held) == 0 {
		return nil
	}
	t.buf = t.esc.Append(t.buf[:0], nil, true)
	_, err := t.write(t.buf)
	return err
}

// A Printer writes to a terminal so that nothing in the text controls the terminal.
// Data goes into a pipe or a file byte for byte; text for people does not.
type Printer struct {
	*terminal
	people bool
}

// Write writes data to a pipe or a file unchanged, and makes control characters
// visible in everything else.
func (p *Printer) Write(b []byte) (int, error) {
	if p.TTY || p.people {
		return p.text(b)
	}
	return p.verbatim(b)
}

// Data returns the printer of the same stream that writes data.
func (p *Printer) Data() *Printer { return &Printer{p.terminal, false} }

// Typesetter returns what writes text for people, with styles, to the stream of the printer.
func (p *Printer) Typesetter() *typeset.Writer {
	return typeset.New(WriterTo(func(b []byte) error {
		_, err := p.verbatim(b)
		return err
	}), p.colour)
}

// A WriterTo is a function that implements io.Writer.
type WriterTo func([]byte) error

func (f WriterTo) Write(p []byte) (int, error) {
	if err := f(p); err != nil {
		return 0, err
	}
	return len(p), nil
}
