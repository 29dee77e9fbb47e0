package sidecar

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"math"
	"slices"
	"sync"

	"filippo.io/age"
	"github.com/klauspost/compress/zstd"

	"github.com/sotto-llm/sotto/record"
)

// errStale is the error of a sidecar that is damaged, or not of the segment beside it.
var errStale = errors.New("the sidecar does not fit its segment")

const (
	maxLine = 160 << 20 // of a segment, as in package record
	// mostSmall is how much larger than what it covers a section may be: its words and identifiers
	// stand in the lines.
	mostSmall = 64 << 10
	leastRow  = 32 // bytes that an event has at least, also in an encrypted batch
)

// A file is an open sidecar.
type file struct {
	r    io.ReaderAt
	head []byte // its first bytes
	base int64  // where the sections begin
	h    header

	sealed bool    // the file is encrypted
	far    bool    // a reading takes long, however short it is
	ahead  []early // sections that were read together

	lists   [words][]string // that were read
	ends    []blockEnd
	scratch []int64 // for a column that is looked at once
}

// A counting reader adds up what is read.
type counting struct {
	r io.ReaderAt
	n *counter
}

type counter struct {
	mu    sync.Mutex
	reads int
	bytes int64
}

func (c *counter) add(n int) {
	c.mu.Lock()
	c.reads++
	c.bytes += int64(n)
	c.mu.Unlock()
}

func (c counting) ReadAt(p []byte, off int64) (int, error) {
	n, err := c.r.ReadAt(p, off)
	c.n.add(n)
	return n, err
}

// ageMark begins an encrypted sidecar.
const ageMark = "age-encryption.org/"

// openFile opens the sidecar of a segment that begins with an event. Both are read by place,
// so that they can be objects of a store. Without a segment, something else must show that the
// sidecar is of that one.
func openFile(r io.ReaderAt, size int64, segment io.ReaderAt, segmentSize int64, first uint64, ids []age.Identity) (*file, error) {
	head, err := front(r, size)
	if err != nil {
		return nil, err
	}
	sealed := bytes.HasPrefix(head, []byte(ageMark))
	if sealed {
		if len(ids) == 0 {
			return nil, ErrNoKey
		}
		r, size, err = age.DecryptReaderAt(r, size, ids...)
		if _, other := errors.AsType[*age.NoIdentityMatchError](err); other {
			return nil, fmt.Errorf("%w: %w", ErrNoKey, err)
		}
		if err != nil {
			return nil, errors.Join(errStale, err)
		}
		if head, err = front(r, size); err != nil {
			return nil, err
		}
	}
	line, base, ok := checkedLine(head)
	if !ok {
		return nil, errStale
	}
	f := &file{r: r, head: head, base: base, sealed: sealed}
	if json.Unmarshal(line, &f.h) != nil || !f.h.fits(first, size-f.base, segmentSize) {
		return nil, errStale
	}
	if segment == nil {
		return f, nil
	}
	last := make([]byte, f.h.Covered-f.h.LastAt)
	if err := readAt(segment, last, f.h.LastAt); err != nil {
		return nil, err
	}
	if m, err := record.MarkOf(last); err != nil || m.Head != (record.Head{Seq: f.h.Next - 1, Digest: f.h.Last}) || last[len(last)-1] != '\n' {
		return nil, errStale
	}
	return f, nil
}

func front(r io.ReaderAt, size int64) ([]byte, error) {
	head := make([]byte, min(size, maxHeader))
	return head, readAt(r, head, 0)
}

// readAt reads a part of the sections.
func (f *file) readAt(p []byte, off int64) error {
	if off += f.base; off <= int64(len(f.head)) && int64(len(p)) <= int64(len(f.head))-off {
		copy(p, f.head[off:])
		return nil
	}
	for _, e := range f.ahead {
		if at := off - e.at; at >= 0 && at+int64(len(p)) <= int64(len(e.data)) {
			copy(p, e.data[at:])
			return nil
		}
	}
	return readAt(f.r, p, off)
}

// readAt reads a part of a file whole. A part that is missing means that the sidecar does not
// fit.
func readAt(r io.ReaderAt, p []byte, off int64) error {
	if n, err := r.ReadAt(p, off); n < len(p) {
		return errors.Join(errStale, err)
	}
	return nil // at the end of the file, err may be io.EOF
}

// fits reports whether a header can be of a segment, and its sections of a file with size
// bytes after the header.
func (h *header) fits(first uint64, size, segmentSize int64) bool {
	if h.V != version || h.First != first || h.Next-first != uint64(h.Rows) || h.Odd < 0 || h.Odd > h.Rows || h.Covered > segmentSize || h.LastAt < 0 || h.Covered <= h.LastAt || h.Covered-h.LastAt > maxLine ||
		h.Lines < 1 || h.Rows < h.Lines || h.Rows > maxRows+1 || int64(h.Rows) > h.Covered/leastRow+1 || h.Blocks < 1 || h.Blocks > h.Lines {
		return false
	}
	total := int64(0)
	for _, s := range h.Sections {
		if s.at() < 0 || s.size() < 0 || s.plain() < 0 || s.at() > size || s.size() > size-s.at() || s.size() > h.Covered+mostSmall || s.plain() > 8*h.Covered+4096 || s[3] < 0 || s[3] > math.MaxUint32 {
			return false
		}
		total += s.size()
	}
	return total == size
}

// decoder refuses what would need more memory than a section may.
var decoder, _ = zstd.NewReader(nil, zstd.WithDecoderConcurrency(0), zstd.WithDecoderMaxMemory(maxPlain))

// maxPlain bounds what is decompressed at once.
const maxPlain = 1 << 30

// unpack returns what was compressed. The frame must say that it has plain bytes.
func unpack(data []byte, plain int64) ([]byte, error) {
	var h zstd.Header
	if plain > maxPlain || h.Decode(data) != nil || !h.HasFCS || h.FrameContentSize != uint64(plain) || h.Skippable {
		return nil, errStale
	}
	out, err := decoder.DecodeAll(data, make([]byte, 0, plain))
	if err != nil || int64(len(out)) != plain {
		return nil, errStale
	}
	return out, nil
}

// section reads a whole section.
func (f *file) section(name string) ([]byte, error) {
	s, ok := f.h.Sections[name]
	if !ok {
		return nil, errStale
	}
	data := make([]byte, s.size())
	if err := f.readAt(data, s.at()); err != nil {
		return nil, err
	}
	if int64(crc32.Checksum(data, castagnoli)) != s[3] {
		return nil, errStale
	}
	return data, nil
}

// plain reads a section that is compressed; it must have at most so many bytes.
func (f *file) plain(name string, most int64) ([]byte, error) {
	s := f.h.Sections[name]
	if s.plain() > most {
		return nil, errStale
	}
	data, err := f.section(name)
	if err != nil {
		return nil, err
	}
	return unpack(data, s.plain())
}

// column reads a column of numbers into dst.
func (f *file) column(name string, dst []int64) ([]int64, error) {
	rows := f.h.Rows
	plain, err := f.plain(name, int64(rows)*8+9)
	if err != nil {
		return nil, err
	}
	if len(plain) < 9 || int(plain[0]) > 8 || plain[0] > 4 && plain[0] < 8 || len(plain) != 9+rows*int(plain[0]) {
		return nil, errStale
	}
	if cap(dst) < rows {
		dst = make([]int64, rows)
	}
	dst = dst[:rows]
	least, b := int64(binary.LittleEndian.Uint64(plain[1:])), plain[9:]
	switch plain[0] {
	case 0:
		for i := range dst {
			dst[i] = least
		}
	case 1:
		for i := range dst {
			dst[i] = least + int64(b[i])
		}
	case 2:
		for i := range dst {
			dst[i] = least + int64(binary.LittleEndian.Uint16(b[2*i:]))
		}
	case 3:
		for i := range dst {
			dst[i] = least + int64(b[3*i]) + int64(b[3*i+1])<<8 + int64(b[3*i+2])<<16
		}
	case 4:
		for i := range dst {
			dst[i] = least + int64(binary.LittleEndian.Uint32(b[4*i:]))
		}
	case 8:
		for i := range dst {
			dst[i] = least + int64(binary.LittleEndian.Uint64(b[8*i:]))
		}
	}
	return dst, nil
}

// number reads a column of numbers.
func (f *file) number(n Number, dst []int64) ([]int64, error) {
	if n == Seq {
		dst = slices.Grow(dst[:0], f.h.Rows)[:f.h.Rows]
		for i := range dst {
			dst[i] = int64(f.h.First) + int64(i)
		}
		return dst, nil
	}
	if _, ok := f.h.Sections[numberNames[n]]; !ok {
		return make([]int64, f.h.Rows), nil // no event has it
	}
	list, err := f.column(numberNames[n], dst)
	if err != nil || n != Time {
		return list, err
	}
	sum := int64(0)
	for i, d := range list {
		sum += d
		list[i] = sum
	}
	return list, nil
}

// word reads a column of words: the number of each event's word, and the words.
func (f *file) word(w Word, dst []int64) (rows []int64, list []string, err error) {
	if list, err = f.list(w); err != nil {
		return nil, nil, err
	}
	if _, ok := f.h.Sections[wordNames[w]]; !ok && len(list) == 1 {
		return make([]int64, f.h.Rows), list, nil
	}
	if rows, err = f.column(wordNames[w], dst); err != nil {
		return nil, nil, err
	}
	for _, n := range rows {
		if uint64(n) >= uint64(len(list)) {
			return nil, nil, errStale
		}
	}
	return rows, list, nil
}

// list reads the words of a column.
func (f *file) list(w Word) ([]string, error) {
	if f.lists[w] != nil {
		return f.lists[w], nil
	}
	if _, ok := f.h.Sections[wordNames[w]]; !ok {
		f.lists[w] = []string{""} // no event has one
		return f.lists[w], nil
	}
	plain, err := f.plain(wordNames[w]+"_list", f.h.Covered+10)
	if err != nil {
		return nil, err
	}
	text := string(plain)
	list := []string{}
	for at := 0; at < len(plain); {
		n, size := binary.Uvarint(plain[at:])
		if size <= 0 || n > uint64(len(plain)-at-size) || len(list) >= f.h.Rows {
			return nil, errStale
		}
		at += size
		list = append(list, text[at:at+int(n)])
		at += int(n)
	}
	f.lists[w] = list
	return list, nil
}

// blocks reads where the blocks end.
func (f *file) blocks() ([]blockEnd, error) {
	if f.ends != nil {
		return f.ends, nil
	}
	plain, err := f.plain("blocks", int64(f.h.Blocks)*20)
	if err != nil {
		return nil, err
	}
	v := varints{b: plain}
	ends := make([]blockEnd, f.h.Blocks)
	var at blockEnd
	for i := range ends {
		at.rows += v.int(f.h.Rows)
		at.at += int64(v.int(int(f.h.Covered)))
		ends[i] = at
	}
	if v.bad || len(v.b) > 0 || at.rows != f.h.Rows || at.at != f.h.Covered {
		return nil, errStale
	}
	f.ends = ends
	return ends, nil
}

// varints reads numbers one after the other. bad says that one of them cannot be right.
type varints struct {
	b   []byte
	bad bool
}

// int reads a number of at most most.
func (v *varints) int(most int) int {
	n, size := binary.Uvarint(v.b)
	if size <= 0 || n > uint64(most) {
		v.bad, v.b = true, nil
		return 0
	}
	v.b = v.b[size:]
	return int(n)
}

// page reads a page of a section that has some.
func (f *file) page(name string, n int) ([]byte, error) {
	s := f.h.Sections[name]
	if n < 0 || int64(n+1)*pageSize > s.size() {
		return nil, errStale
	}
	page := make([]byte, pageSize)
	if err := f.readAt(page, s.at()+int64(n)*pageSize); err != nil {
		return nil, err
	}
	if binary.LittleEndian.Uint32(page[pageData:]) != crc32.Checksum(page[:pageData], castagnoli) {
		return nil, errStale
	}
	return page[:pageData], nil
}

// marked returns the rows of an identifier.
func (f *file) marked(m uint64) (rows []int, err error) {
	firsts, err := f.plain("id_pages", f.h.Sections["ids"].size()/pageSize*8)
	if err != nil {
		return nil, err
	}
	pages := len(firsts) / 8
	entries := f.h.Sections["ids"].plain()
	if int64(pages)*pageSize != f.h.Sections["ids"].size() || entries > int64(pages)*pageIDs || entries <= int64(pages-1)*pageIDs && entries > 0 {
		return nil, errStale
	}
	at := func(i int) uint64 { return binary.LittleEndian.Uint64(firsts[8*i:]) }
	p := 0
	for p+1 < pages && at(p+1) < m {
		p++
	}
	for ; p < pages && at(p) <= m; p++ {
		page, err := f.page("ids", p)
		if err != nil {
			return nil, err
		}
		for i := range min(pageIDs, int(entries)-p*pageIDs) {
			id := binary.LittleEndian.Uint64(page[idSize*i:])
			if id>>rowBits != m {
				continue
			}
			if int(id&maxRows) >= f.h.Rows {
				return nil, errStale
			}
			rows = append(rows, int(id&maxRows))
		}
	}
	return rows, nil
}
