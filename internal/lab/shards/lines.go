package shards

import (
	"bufio"
	"bytes"
	"errors"
	"io"
)

// Lines are the lines of an input that begin in a part of it.
type Lines struct {
	from *bufio.Reader
	at   int64 // the place of the next byte in the input
	to   int64
	done bool
}

// NewLines returns the lines that begin in [from, to). r has the bytes of the input from
// [Before] on. It may end before the input does only if it has the end of the last of the
// lines.
func NewLines(r io.Reader, from, to int64) (*Lines, error) {
	l := &Lines{from: bufio.NewReaderSize(r, 64<<10), at: Before(from), to: to}
	for begun := from == 0; !begun; {
		if l.at >= to-1 { // the next line begins at to, or after it
			l.done = true
			break
		}
		part, err := l.from.ReadSlice('\n')
		l.at += int64(len(part))
		switch {
		case err == nil:
			begun = true
		case errors.Is(err, io.EOF):
			l.done, begun = true, true
		case !errors.Is(err, bufio.ErrBufferFull):
			return nil, err
		}
	}
	l.done = l.done || l.at >= to
	return l, nil
}

// Before returns from where an input is read to find the lines that begin at from and
// after it: the byte before shows whether one begins there.
func Before(from int64) int64 { return max(from-1, 0) }

// Begin returns the byte at which the next line begins, before the first Read.
func (l *Lines) Begin() int64 { return l.at }

func (l *Lines) Read(p []byte) (int, error) {
	if l.done {
		return 0, io.EOF
	}
	n, err := l.from.Read(p)
	// The last line is the one whose end is at to-1 or after it.
	if last := max(l.to-1-l.at, 0); last < int64(n) {
		if i := bytes.IndexByte(p[last:n], '\n'); i >= 0 {
			n, err, l.done = int(last)+i+1, nil, true
		}
	}
	l.at += int64(n)
	return n, err
}
