// Package decompress reads files that may be compressed, and writes them as their names
// say.
package decompress

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"sync"

	"github.com/klauspost/compress/zstd"
)

// The first bytes of a compressed file. None of them begins a text: two are not UTF-8, and
// the frame that can be skipped, with which pzstd begins a file, has a control character.
var (
	gzipMagic      = []byte{0x1f, 0x8b}
	zstdMagic      = []byte{0x28, 0xb5, 0x2f, 0xfd}
	skippableMagic = []byte{0x50, 0x2a, 0x4d, 0x18} // to 0x5f…
)

// Compressed reports whether a file with these first bytes is compressed.
func Compressed(head []byte) bool {
	return bytes.HasPrefix(head, gzipMagic) || isZstd(head)
}

func isZstd(head []byte) bool { return len(head) >= len(zstdMagic) && zstdMayBegin(head) }

// maxWindow bounds the memory that a zstd stream may ask for, in bytes: that of
// "zstd --long=27", the most that its own command line takes without a flag.
const maxWindow = 128 << 20

// A Reader reads what r holds: decompressed, if its first bytes are those of gzip or
// zstd, and otherwise as it is. It waits only for bytes that can decide this, so a
// text passes as it comes. A long text is decompressed in a goroutine, ahead of what is read.
// Close releases memory and leaves r open; a read of r may still be under way. Close may be
// called while Read waits.
type Reader struct {
	r    io.Reader
	from io.Reader // nil until it is known how r is read
	read int       // bytes that were decompressed, up to those from which on it reads ahead

	mu     sync.Mutex
	close  func()
	closed bool
}

// NewReader returns a reader.
func NewReader(r io.Reader) *Reader { return &Reader{r: r, close: func() {}} }

func (d *Reader) Read(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	if d.from == nil {
		if err := d.begin(); err != nil {
			return 0, err
		}
	}
	if from, compressed := d.from.(named); compressed && d.read >= aheadFrom {
		d.goAhead(from)
	}
	n, err := d.from.Read(p)
	d.read = min(d.read+n, aheadFrom)
	return n, err
}

// goAhead lets a goroutine decompress the rest.
func (d *Reader) goAhead(from named) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return
	}
	a := newAhead(from, d.close)
	d.from, d.close = a, a.close
}

// Close releases the memory of the decompression.
func (d *Reader) Close() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.closed {
		d.closed = true
		d.close()
	}
	return nil
}

// begin finds out how r is read.
func (d *Reader) begin() error {
	head, err := readHead(d.r)
	all := io.MultiReader(bytes.NewReader(head), d.r)
	if err != nil {
		all = io.MultiReader(bytes.NewReader(head), failed{err})
	}
	d.from = all
	switch {
	case bytes.HasPrefix(head, gzipMagic):
		z, err := gzip.NewReader(all)
		if err != nil {
			return fmt.Errorf("gzip: %w", err)
		}
		d.from = named{"gzip", z}
	case isZstd(head):
		z, err := newZstd(all)
		if err != nil {
			return fmt.Errorf("zstd: %w", err)
		}
		d.from = named{"zstd", z}
		d.mu.Lock()
		defer d.mu.Unlock()
		if d.closed {
			z.Close()
		} else {
			d.close = z.Close
		}
	}
	return nil
}

func newZstd(r io.Reader) (*zstd.Decoder, error) {
	return zstd.NewReader(r, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(maxWindow))
}

// readHead reads until the bytes can no longer begin a compressed file, or certainly
// do. It returns an error of r with the bytes that came before it.
func readHead(r io.Reader) (head []byte, err error) {
	buf := make([]byte, len(zstdMagic))
	for idle := 0; len(head) < len(buf) && idle < 100; {
		n, err := r.Read(buf[len(head) : len(head)+1])
		head = buf[:len(head)+n]
		if err != nil {
			return head, err
		}
		if n == 0 {
			idle++
		}
		if len(head) > 0 && !bytes.HasPrefix(gzipMagic, head) && !zstdMayBegin(head) {
			break
		}
	}
	return head, nil
}

// failed gives an error.
type failed struct{ err error }

func (f failed) Read([]byte) (int, error) { return 0, f.err }

// named says in an error how a file is compressed.
type named struct {
	format string
	r      io.Reader
}

func (n named) Read(p []byte) (int, error) {
	got, err := n.r.Read(p)
	if err != nil && err != io.EOF {
		return got, fmt.Errorf("%s: %w", n.format, err)
	}
	return got, err
}
