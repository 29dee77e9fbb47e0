package sotto

import (
	"errors"
	"io"
)

// ErrClosed is returned when you write to a [Writer] after its Close.
var ErrClosed = errors.New("sotto: the reply has been closed")

// A Reader gives the visible text of a reply that it reads from another reader.
type Reader struct {
	s    *Splitter
	r    io.Reader
	end  func() Ending
	buf  []byte
	left []byte // visible, not yet read
	err  error  // sticky: returned once nothing is left
}

// NewReader returns a reader of the visible text of the reply that r streams.
// A read returns what is certain, and waits only if nothing is. An error of r
// other than io.EOF aborts the reply. It is returned after the held text, by every
// read from then on.
func (g *Grammar) NewReader(r io.Reader, o StreamOptions) (*Reader, error) {
	s, err := g.NewSplitter(o.Options)
	if err != nil {
		return nil, err
	}
	return &Reader{s: s, r: r, end: o.End, buf: make([]byte, 32<<10)}, nil
}

// maxEmptyReads is how often in a row a reader may return no bytes and no error.
const maxEmptyReads = 100

// fill reads until something is visible or nothing more comes.
func (r *Reader) fill() {
	for empty := 0; len(r.left) == 0 && r.err == nil; {
		n, err := r.r.Read(r.buf)
		switch empty++; {
		case n > 0:
			empty = 0
		case err == nil && empty == maxEmptyReads:
			err = io.ErrNoProgress
		}
		r.left = appendVisible(r.left[:0], r.s.Feed(r.buf[:n]))
		if err != nil {
			r.err = err
			r.left = appendVisible(r.left, r.s.Close(r.ending(err)))
		}
	}
}

// Read implements [io.Reader].
func (r *Reader) Read(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	r.fill()
	if len(r.left) == 0 {
		return 0, r.err
	}
	n := copy(p, r.left)
	r.left = r.left[n:]
	return n, nil
}

// WriteTo implements [io.WriterTo].
func (r *Reader) WriteTo(w io.Writer) (int64, error) {
	var total int64
	for {
		r.fill()
		if len(r.left) == 0 {
			if errors.Is(r.err, io.EOF) {
				return total, nil
			}
			return total, r.err
		}
		n, err := writeAll(w, r.left)
		r.left = r.left[n:]
		if total += int64(n); err != nil {
			return total, err
		}
	}
}

func appendVisible(dst []byte, pieces []Piece) []byte {
	for i := range pieces {
		dst = append(dst, pieces[i].Visible...)
	}
	return dst
}

// ending is how a reply ended after which the reader below gave err.
func (r *Reader) ending(err error) Ending {
	switch {
	case !errors.Is(err, io.EOF):
		return EndAborted
	case r.end != nil:
		return r.end()
	}
	return EndUnknown
}

// writeAll is w.Write, for a w that may break the io.Writer contract.
func writeAll(w io.Writer, b []byte) (int, error) {
	n, err := w.Write(b)
	n = min(max(n, 0), len(b))
	if err == nil && n < len(b) {
		err = io.ErrShortWrite
	}
	return n, err
}

// A Writer takes a reply and passes its visible text on to another writer.
type Writer struct {
	s   *Splitter
	w   io.Writer
	err error // sticky
}

// NewWriter returns a writer that passes the visible text of what you write to it
// on to w, as soon as it is certain. Every call after the first error of w returns
// that error; a short write counts as an error.
func (g *Grammar) NewWriter(w io.Writer, o Options) (*Writer, error) {
	s, err := g.NewSplitter(o)
	if err != nil {
		return nil, err
	}
	return &Writer{s: s, w: w}, nil
}

// Write implements [io.Writer].
func (w *Writer) Write(p []byte) (int, error) {
	if w.err != nil {
		return 0, w.err
	}
	if w.pass(w.s.Feed(p)); w.err != nil {
		return 0, w.err
	}
	return len(p), nil
}

// Close ends a reply of which nobody said how it ended. It does not close the underlying
// writer.
func (w *Writer) Close() error { return w.CloseAs(EndUnknown) }

// CloseAs is Close for a reply whose end is known.
func (w *Writer) CloseAs(end Ending) error {
	if w.err == nil {
		w.pass(w.s.Close(end))
	}
	if w.err != nil {
		if errors.Is(w.err, ErrClosed) {
			return nil
		}
		return w.err
	}
	w.err = ErrClosed
	return nil
}

func (w *Writer) pass(pieces []Piece) {
	for i := range pieces {
		if v := pieces[i].Visible; len(v) > 0 && w.err == nil {
			_, w.err = writeAll(w.w, v)
		}
	}
}
