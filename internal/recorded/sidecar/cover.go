package sidecar

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"strconv"
	"strings"
	"sync"

	"github.com/klauspost/compress/zstd"

	"github.com/sotto-llm/sotto/record"
)

// In a store, a segment is compressed in frames of the same size, and its sidecar has a cover
// before it: two lines, JSON and the SHA-256 of that line. The cover names the segment by its
// SHA-256, and says how long the frames are, so that a part of the segment can be read.

const (
	// FrameSize is how many bytes of a segment a frame holds; the last holds the rest.
	FrameSize = 1 << 20
	mostFrame = FrameSize + FrameSize/64 // that one may take where it is stored
	maxCover  = 64 << 10                 // it is read by one request, with what follows it
)

type cover struct {
	V       int    `json:"v"`
	Segment string `json:"segment"` // SHA-256 of its bytes
	Size    int64  `json:"size"`    // how many these are
	Sidecar string `json:"sidecar"` // SHA-256 of what follows the cover
	Frame   int64  `json:"frame"`
	// Frames are the lengths of the frames as they are stored, in decimal. There are none if
	// the segment is stored in another way.
	Frames string `json:"frames"`
}

// A Framer makes of a segment, which is written to it, what is stored. It holds one frame of the
// plain segment.
type Framer struct {
	Zip     *zstd.Encoder
	plain   []byte
	stored  []byte
	lengths []int
}

// Write adds to the segment.
func (f *Framer) Write(p []byte) (int, error) {
	written := len(p)
	for len(p) > 0 {
		n := min(len(p), FrameSize-len(f.plain))
		f.plain, p = append(f.plain, p[:n]...), p[n:]
		if len(f.plain) == FrameSize {
			f.frame()
		}
	}
	return written, nil
}

func (f *Framer) frame() {
	before := len(f.stored)
	f.stored = f.Zip.EncodeAll(f.plain, f.stored)
	f.lengths = append(f.lengths, len(f.stored)-before)
	f.plain = f.plain[:0]
}

// End returns what is stored of the whole segment, and the lengths of the frames.
func (f *Framer) End() (stored []byte, lengths []int) {
	if len(f.plain) > 0 {
		f.frame()
	}
	return f.stored, f.lengths
}

// Cover returns a sidecar with its cover. digest is the SHA-256 of the segment, and frames are
// what [Framer.End] returned, or nil if the segment is stored in another way.
func Cover(side []byte, digest [sha256.Size]byte, size int64, frames []int) ([]byte, error) {
	own := sha256.Sum256(side)
	line, err := coverOf(own[:], digest, size, frames)
	return append(line, side...), err
}

// coverOf returns the cover of a sidecar with a SHA-256.
func coverOf(own []byte, digest [sha256.Size]byte, size int64, frames []int) ([]byte, error) {
	c := cover{V: 1, Segment: hex.EncodeToString(digest[:]), Size: size, Sidecar: hex.EncodeToString(own), Frame: FrameSize}
	for i, n := range frames {
		if i > 0 {
			c.Frames += " "
		}
		c.Frames += strconv.Itoa(n)
	}
	line, err := json.Marshal(c)
	return withSum(line), err
}

// An Object is one of a store.
type Object struct {
	Size int64
	// Read returns n bytes from a place on, by one request.
	Read func(from, n int64) ([]byte, error)
}

// Uncovered returns a sidecar without its cover, if the cover is of it and of the segment that has
// a SHA-256 and a size.
func Uncovered(data []byte, digest [sha256.Size]byte, size int64) (side []byte, ok bool) {
	r := &ranged{Object: Object{int64(len(data)), func(from, n int64) ([]byte, error) { return data[from : from+n], nil }}}
	c, at, err := readCover(r, digest, size)
	if err != nil {
		return nil, false
	}
	side = data[at:]
	own := sha256.Sum256(side)
	return side, c.Sidecar == hex.EncodeToString(own[:])
}

// Uncover opens a sidecar with a cover, and the segment that it is of, which has a SHA-256 and
// a size. The error is fs.ErrNotExist if the segment is not stored in frames.
func Uncover(side, stored Object, digest [sha256.Size]byte, size int64) (segment, sidecar Part, err error) {
	r := &ranged{Object: side}
	c, at, err := readCover(r, digest, size)
	if err != nil {
		return Part{}, Part{}, err
	}
	sidecar = Part{io.NewSectionReader(r, at, side.Size-at), side.Size - at}
	ends, ok := c.ends(stored.Size)
	if !ok {
		return Part{}, Part{}, fs.ErrNotExist
	}
	return Part{&framed{object: stored, size: size, ends: ends}, size}, sidecar, nil
}

func readCover(r *ranged, digest [sha256.Size]byte, size int64) (c cover, at int64, err error) {
	front := make([]byte, min(maxCover, r.Size))
	if err := readAt(r, front, 0); err != nil {
		return c, 0, err
	}
	line, at, ok := checkedLine(front)
	if !ok || json.Unmarshal(line, &c) != nil || c.V != 1 || c.Segment != hex.EncodeToString(digest[:]) || c.Size != size || c.Frame != FrameSize {
		return c, 0, errStale
	}
	return c, at, nil
}

// ends returns where each frame ends. ok reports whether the frames are those of an object of
// a size.
func (c *cover) ends(stored int64) (ends []int64, ok bool) {
	at := int64(0)
	for word := range strings.FieldsSeq(c.Frames) {
		n, err := strconv.ParseInt(word, 10, 32)
		if err != nil || n <= 0 || n > mostFrame {
			return nil, false
		}
		at += n
		ends = append(ends, at)
	}
	return ends, at == stored && int64(len(ends)) == (c.Size+FrameSize-1)/FrameSize
}

const (
	leastRead = 16 << 10
	mostRead  = 4 << 20
)

// ranged reads an object in parts. It keeps the first and the last that it read, and reads
// larger ones while they follow each other: a store counts requests more than bytes.
type ranged struct {
	Object
	mu    sync.Mutex
	front []byte
	at    int64
	last  []byte
}

func (r *ranged) ReadAt(p []byte, off int64) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if off < 0 || off >= r.Size {
		return 0, io.EOF
	}
	n := min(int64(len(p)), r.Size-off)
	if err := r.load(off, n); err != nil {
		return 0, err
	}
	if off+n <= int64(len(r.front)) {
		copy(p[:n], r.front[off:])
	} else {
		copy(p[:n], r.last[off-r.at:])
	}
	if n < int64(len(p)) {
		return int(n), io.EOF
	}
	return int(n), nil
}

// load makes a part one of those that are kept.
func (r *ranged) load(off, n int64) error {
	if off+n <= int64(len(r.front)) || off >= r.at && off+n <= r.at+int64(len(r.last)) {
		return nil
	}
	if r.front == nil && off == 0 {
		data, err := r.Read(0, min(max(n, leastRead), r.Size))
		if err == nil {
			r.front = data
		}
		return err
	}
	want := max(n, leastRead)
	if len(r.last) > 0 && off >= r.at && off <= r.at+int64(len(r.last)) {
		want = max(want, min(2*int64(len(r.last)), mostRead))
	}
	data, err := r.Read(off, min(want, r.Size-off))
	if err == nil {
		r.at, r.last = off, data
	}
	return err
}

// framed reads a segment that is stored in frames. It keeps the first and the last that it read
// together, so that it can be read on in both directions.
type framed struct {
	object Object
	size   int64
	ends   []int64

	mu   sync.Mutex
	kept map[int][]byte
}

func (f *framed) ReadAt(p []byte, off int64) (int, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if off < 0 || off >= f.size {
		return 0, io.EOF
	}
	end := min(off+int64(len(p)), f.size)
	if end == off {
		return 0, nil
	}
	first, last := int(off/FrameSize), int((end-1)/FrameSize)
	if err := f.load(first, last); err != nil {
		return 0, err
	}
	n := 0
	for i := first; i <= last; i++ {
		n += copy(p[n:], f.kept[i][off+int64(n)-int64(i)*FrameSize:])
	}
	for i := range f.kept {
		if i != first && i != last {
			delete(f.kept, i)
		}
	}
	return n, eofIf(n < len(p))
}

func eofIf(end bool) error {
	if end {
		return io.EOF
	}
	return nil
}

// load makes frames some of those that are kept. Those that are missing are read by one request.
func (f *framed) load(first, last int) error {
	for first <= last && f.kept[first] != nil {
		first++
	}
	for first <= last && f.kept[last] != nil {
		last--
	}
	if first > last {
		return nil
	}
	from := int64(0)
	if first > 0 {
		from = f.ends[first-1]
	}
	data, err := f.object.Read(from, f.ends[last]-from)
	if err != nil {
		return err
	}
	if f.kept == nil {
		f.kept = map[int][]byte{}
	}
	for i := first; i <= last; i++ {
		length := f.ends[i] - from
		plain, err := unpack(data[:length], min(FrameSize, f.size-int64(i)*FrameSize))
		if err != nil {
			return err
		}
		data, from = data[length:], f.ends[i]
		f.kept[i] = plain
	}
	return nil
}

// OfSegment returns the sidecar of a whole segment, as it may stand in a store: the one that is
// beside it, if it covers all of it, or a new one. It is nil for a segment that is small or not
// in order. The error is [ErrNoKey] for an encrypted segment without a sidecar.
func OfSegment(f record.File, o Options) ([]byte, error) {
	data, err := f.Open()
	if err != nil {
		return nil, err
	}
	defer data.Close()
	info, err := data.Stat()
	if err != nil || info.Size() < small && !o.Small {
		return nil, err
	}
	if side := beside(f, data, info.Size()); side != nil {
		return side, nil
	}
	b := newBuilder(f.First, record.ReadOptions{Identities: o.Identities})
	err = b.read(data)
	if errors.Is(err, errIrregular) || err == nil && (b.lines == 0 || b.covered != info.Size()) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	side, err := b.file()
	if err == nil && b.sealed {
		side, err = encrypted(side, o)
	}
	return side, err
}

// beside returns the sidecar beside a segment.
func beside(f record.File, data io.ReaderAt, size int64) []byte {
	r, n, err := openSide(f)
	if err != nil || n > size+maxHeader {
		return nil
	}
	defer r.Close()
	side := make([]byte, n)
	if readAt(r, side, 0) != nil {
		return nil
	}
	if !fitsAll(bytes.NewReader(side), n, data, size, f.First) {
		return nil
	}
	return side
}

// fitsAll reports whether a sidecar may be taken for that of all lines of a segment. One that is
// encrypted is not looked into; one that is not must not be of an encrypted segment.
func fitsAll(side io.ReaderAt, n int64, data io.ReaderAt, size int64, first uint64) bool {
	x, err := openFile(side, n, data, size, first, nil)
	return errors.Is(err, ErrNoKey) || err == nil && x.h.Covered == size && !x.h.Sealed
}
