package decompress

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/klauspost/compress/zstd"
)

// Frames reads a compressed file frame by frame: the frames of zstd, or the members of
// gzip. It reads no byte of the text after a frame that it has not been asked for.
// Skippable frames of zstd have no text, and are passed over.
type Frames struct {
	in     *counter
	gzip   bool
	packed *zstdFrame
	zstd   *zstd.Decoder
	member *gzip.Reader
	text   io.Reader // of the frame; nil between two frames
	err    error
}

// NewFrames returns the frames of a file with these first bytes, which must be [Compressed].
// r has the bytes of the file from one on, at which a frame begins.
func NewFrames(r io.Reader, at int64, head []byte) *Frames {
	return &Frames{in: &counter{bufio.NewReaderSize(r, 256<<10), at}, gzip: bytes.HasPrefix(head, gzipMagic)}
}

// A counter knows at which byte of the file it is.
type counter struct {
	*bufio.Reader
	at int64
}

func (c *counter) Read(p []byte) (int, error) {
	n, err := c.Reader.Read(p)
	c.at += int64(n)
	return n, err
}

// ReadByte is there so that the decoder of gzip reads no further than to the end of a member.
func (c *counter) ReadByte() (byte, error) {
	b, err := c.Reader.ReadByte()
	if err == nil {
		c.at++
	}
	return b, err
}

func (c *counter) skip(n int64) error {
	more, err := io.CopyN(io.Discard, c.Reader, n)
	c.at += more
	return cut(err)
}

// cut says that an end was too early.
func cut(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

// Next goes to the next frame with a text, and returns at which byte of the file it begins.
// The text of the frame before must have been read to its end. At the end of the file, Next
// returns io.EOF.
func (f *Frames) Next() (at int64, err error) {
	if f.err != nil {
		return f.in.at, f.err
	}
	if at, f.err = f.next(); f.err != nil && f.err != io.EOF {
		f.err = fmt.Errorf("%s: %w", f.format(), f.err)
	}
	return at, f.err
}

func (f *Frames) format() string {
	if f.gzip {
		return "gzip"
	}
	return "zstd"
}

func (f *Frames) next() (at int64, err error) {
	if f.gzip {
		return f.nextMember()
	}
	for {
		at = f.in.at
		head, err := f.in.Peek(maxHeader)
		if err != nil && err != io.EOF || len(head) == 0 {
			return at, err
		}
		var h zstd.Header
		if err := h.Decode(head); err != nil {
			return at, err
		}
		if h.Skippable {
			if err := f.in.skip(int64(h.HeaderSize) + int64(h.SkippableSize)); err != nil {
				return at, err
			}
			continue
		}
		f.packed = &zstdFrame{in: f.in, left: h.HeaderSize, sum: h.HasCheckSum}
		if f.zstd == nil {
			f.zstd, err = newZstd(f.packed)
		} else {
			err = f.zstd.Reset(f.packed)
		}
		f.text = f.zstd
		return at, err
	}
}

func (f *Frames) nextMember() (at int64, err error) {
	at = f.in.at
	if _, err := f.in.Peek(1); err != nil {
		return at, err
	}
	if f.member == nil {
		f.member, err = gzip.NewReader(f.in)
	} else {
		err = f.member.Reset(f.in)
	}
	if err == nil {
		f.member.Multistream(false)
		f.text = f.member
	}
	return at, cut(err)
}

// Read reads the text of the frame to which Next went. At its end it returns io.EOF.
func (f *Frames) Read(p []byte) (int, error) {
	if f.err != nil || f.text == nil {
		return 0, io.EOF
	}
	n, err := f.text.Read(p)
	if err == nil {
		return n, nil
	}
	if err == io.EOF && f.packed != nil && !f.packed.ended {
		err = io.ErrUnexpectedEOF // the decoder takes nothing for an empty file
	}
	f.text = nil
	if err != io.EOF {
		f.err = fmt.Errorf("%s: %w", f.format(), err)
		err = f.err
	}
	return n, err
}

// FirstFrame returns the byte at which the first frame with a text begins. open reads the
// file from a byte on.
func FirstFrame(open func(from int64) (io.ReadCloser, error), head []byte) (at int64, err error) {
	for range maxSkipped {
		if len(head) < 8 || !isSkippable(head) {
			return at, nil
		}
		at += 8 + int64(binary.LittleEndian.Uint32(head[4:]))
		r, err := open(at)
		if err != nil {
			return at, err
		}
		next := make([]byte, 8)
		n, err := io.ReadFull(r, next)
		if head = next[:n]; errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			err = nil
		}
		if err = errors.Join(err, r.Close()); err != nil {
			return at, err
		}
	}
	return at, fmt.Errorf("zstd: more than %d frames without a text come first", maxSkipped)
}

// maxSkipped is how many frames FirstFrame skips: each may take a request to a server.
const maxSkipped = 16

// Close releases memory. It leaves the file open.
func (f *Frames) Close() {
	if f.zstd != nil {
		f.zstd.Close()
	}
}

// A zstdFrame gives the bytes of one frame of zstd. A frame does not say how long it is, but
// each of its blocks does.
type zstdFrame struct {
	in    *counter
	left  int  // bytes of the header, of the block, or of the checksum
	sum   bool // a checksum follows the last block
	last  bool // this is the last block, or its checksum
	ended bool
}

func (z *zstdFrame) Read(p []byte) (int, error) {
	for z.left == 0 {
		switch {
		case z.ended:
			return 0, io.EOF
		case z.last && z.sum:
			z.left, z.sum = 4, false
			continue
		case z.last:
			z.ended = true
			continue
		}
		head, err := z.in.Peek(3)
		if err != nil {
			return 0, cut(err)
		}
		size, last, err := block(head)
		if err != nil {
			return 0, err
		}
		z.left, z.last = 3+size, last
	}
	n, err := z.in.Read(p[:min(len(p), z.left)])
	z.left -= n
	return n, cut(err)
}

var errBlock = errors.New("a block of a frame is not valid")

// maxHeader is how many bytes the header of a frame of zstd has at most.
const maxHeader = 18

// maxBlock bounds the bytes of a block: larger ones are not zstd.
const maxBlock = 128 << 10

// block reads the header of a block, and returns how many bytes follow.
func block(head []byte) (size int, last bool, err error) {
	v := int(head[0]) | int(head[1])<<8 | int(head[2])<<16
	size, last = v>>3, v&1 != 0
	if size > maxBlock {
		return 0, last, errBlock
	}
	switch v >> 1 & 3 {
	case 1: // one byte, repeated
		return 1, last, nil
	case 3:
		return 0, last, errBlock
	}
	return size, last, nil
}

// lookahead is how many bytes after its beginning show that a frame begins.
const lookahead = 1 << 20

// FindFrame returns the first byte in [from, to) at which a frame begins, as far as the
// bytes after it show, or -1. r has the bytes of a file of this size from one on. What looks like a
// frame need not be one: a file can hold another file. [Frames] knows the frames.
func FindFrame(r io.Reader, from, to, size int64, head []byte) (int64, error) {
	ahead := int(min(lookahead, max(size-from, 0)+1))
	s := &search{in: bufio.NewReaderSize(r, ahead), magic: zstdMagic, begins: zstdBegins}
	if bytes.HasPrefix(head, gzipMagic) {
		s.magic, s.begins = memberMagic, s.memberBegins
	}
	for at := from; at < to; {
		window, err := s.in.Peek(ahead)
		if err != nil && err != io.EOF {
			return -1, err
		}
		i := bytes.Index(window, s.magic)
		if i < 0 {
			i = max(len(window)-len(s.magic)+1, 0)
			if err == io.EOF {
				return -1, nil
			}
		} else if i == 0 {
			if s.begins(window, err == io.EOF) {
				return at, nil
			}
			i = 1
		}
		n, _ := s.in.Discard(i)
		at += int64(n)
	}
	return -1, nil
}

// memberMagic begins a member: its method is always deflate.
var memberMagic = append(bytes.Clone(gzipMagic), 8)

type search struct {
	in     *bufio.Reader
	magic  []byte
	begins func(window []byte, end bool) bool
	member gzip.Reader
}

// zstdBegins reports whether a frame begins with these bytes, after which the file ends if
// end is set: they have a header, and four blocks, or all blocks and then another frame or
// the end. A file that was cut is one as far as it goes.
func zstdBegins(window []byte, end bool) bool {
	var h zstd.Header
	if err := h.Decode(window); err != nil {
		return end && len(window) < maxHeader && errors.Is(err, io.ErrUnexpectedEOF)
	}
	rest := window[h.HeaderSize:]
	for range 4 {
		if len(rest) < 3 {
			return end
		}
		size, last, err := block(rest)
		switch {
		case err != nil:
			return false
		case last && h.HasCheckSum:
			size += 4
		}
		if len(rest) < 3+size {
			return end
		}
		if rest = rest[3+size:]; last {
			return len(rest) == 0 || zstdMayBegin(rest)
		}
	}
	return true
}

// zstdMayBegin reports whether these bytes can begin a frame.
func zstdMayBegin(b []byte) bool {
	n := min(len(b), len(zstdMagic))
	if bytes.Equal(b[:n], zstdMagic[:n]) {
		return true
	}
	return isSkippable(b[:n])
}

// isSkippable reports whether these bytes, of which there may be fewer than four, begin a
// frame without a text.
func isSkippable(b []byte) bool {
	n := min(len(b), len(skippableMagic))
	return b[0]&0xf0 == skippableMagic[0] && bytes.Equal(b[1:n], skippableMagic[1:n])
}

// memberBegins is the same for gzip: the bytes have a header, and can be decompressed.
func (s *search) memberBegins(window []byte, end bool) bool {
	if len(window) > 3 && window[3]&0xe0 != 0 { // flags that mean nothing
		return false
	}
	err := s.member.Reset(bytes.NewReader(window[:min(len(window), 256<<10)]))
	if err == nil {
		s.member.Multistream(false)
		_, err = io.CopyN(io.Discard, &s.member, 32<<10)
	}
	return err == nil || err == io.EOF || end && errors.Is(err, io.ErrUnexpectedEOF)
}
