package sidecar

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"hash/crc32"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/klauspost/compress/zstd"

	"github.com/sotto-llm/sotto/record"
)

// A sidecar is two lines, the header as JSON and the SHA-256 of that line, and then the
// sections that the header names. A section is compressed by zstd, or consists of pages.

const (
	version   = 3 // of what stands beside a segment; versions 1 and 2 are those of the index
	maxHeader = 16 << 10
	pageSize  = 4096
	pageData  = pageSize - crc32.Size
	idSize    = 8
	rowBits   = 24 // of the 64 of an identifier, below its mark
	pageIDs   = pageData / idSize
	chunkSize = 16 << 10 // bytes of words that are compressed together
	gramBits  = 10       // for each gram
	gramTries = 5
)

// header says what a sidecar is of, and where its sections are.
type header struct {
	V       int           `json:"v"`
	First   uint64        `json:"first"`   // event of the segment
	Next    uint64        `json:"next"`    // event after the last that is covered
	Covered int64         `json:"covered"` // bytes of the segment
	Lines   int           `json:"lines"`
	Rows    int           `json:"rows"`
	Blocks  int           `json:"blocks"`
	LastAt  int64         `json:"last_at"` // where the last line that is covered begins
	Last    record.Digest `json:"last"`    // and its digest
	// From and To are the least and the largest time of the events that are not odd, in
	// nanoseconds since 1970; Odd is how many are.
	From     int64    `json:"from"`
	To       int64    `json:"to"`
	Odd      int      `json:"odd"`
	Sealed   bool     `json:"sealed"` // the segment is encrypted
	Sections sections `json:"sections"`
}

// sections are those of a file by their names. In the header they are one string, "NAME AT SIZE
// PLAIN CRC" for each, because it is read much faster than an object would be.
type sections map[string]section

// MarshalText returns the sections in the order of their names.
func (s sections) MarshalText() ([]byte, error) {
	var out []byte
	for _, name := range slices.Sorted(maps.Keys(s)) {
		out = append(append(out, name...), ' ')
		for _, n := range s[name] {
			out = append(strconv.AppendInt(out, n, 10), ' ')
		}
	}
	return bytes.TrimSuffix(out, []byte(" ")), nil
}

// UnmarshalText reads what MarshalText wrote.
func (s *sections) UnmarshalText(text []byte) error {
	*s = sections{}
	words := strings.Fields(string(text))
	if len(words)%5 != 0 {
		return errStale
	}
	for ; len(words) > 0; words = words[5:] {
		var x section
		for i := range x {
			var err error
			if x[i], err = strconv.ParseInt(words[1+i], 10, 64); err != nil {
				return errStale
			}
		}
		if _, twice := (*s)[words[0]]; twice {
			return errStale
		}
		(*s)[words[0]] = x
	}
	return nil
}

// A section is a part of the file: where it begins after the header, its bytes, what it is
// when it is not compressed, and its CRC-32C.
type section [4]int64

func (s section) at() int64    { return s[0] }
func (s section) size() int64  { return s[1] }
func (s section) plain() int64 { return s[2] }

func (h *header) bytes() ([]byte, error) {
	line, err := json.Marshal(h)
	return withSum(line), err
}

// withSum returns a line and the SHA-256 of it, as two lines.
func withSum(line []byte) []byte {
	line = append(line, '\n')
	sum := sha256.Sum256(line)
	return append(hex.AppendEncode(line, sum[:]), '\n')
}

// checkedLine returns the line before its SHA-256, and where what follows them begins.
func checkedLine(data []byte) (line []byte, rest int64, ok bool) {
	line, after, ok := bytes.Cut(data, []byte("\n"))
	sum := sha256.Sum256(data[:min(len(line)+1, len(data))])
	return line, int64(len(line)) + 1 + 2*sha256.Size + 1, ok && bytes.HasPrefix(after, []byte(hex.EncodeToString(sum[:])+"\n"))
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// writer collects sections.
type writer struct {
	zip      *zstd.Encoder
	data     []byte
	out      *spool // if it is not nil, the sections are written there
	sections sections
	late     []lateSection
}

// A lateSection is large, and comes after all others, so that the small ones are read with the
// header.
type lateSection struct {
	name string
	part part
}

// addLate adds a section after all that are not late.
func (w *writer) addLate(name string, p part) { w.late = append(w.late, lateSection{name, p}) }

// end adds what is late.
func (w *writer) end() {
	for i, l := range w.late {
		w.late[i] = lateSection{}
		w.add(l.name, l.part)
	}
}

type part struct {
	data  []byte
	plain int
}

func (w *writer) add(name string, p part) {
	if w.sections == nil {
		w.sections = sections{}
	}
	x := section{int64(len(w.data)), int64(len(p.data)), int64(p.plain), int64(crc32.Checksum(p.data, castagnoli))}
	if w.out != nil {
		x[0] = w.out.n
		_, _ = w.out.Write(p.data) // it remembers an error
	} else {
		w.data = append(w.data, p.data...)
	}
	w.sections[name] = x
}

// encoders have no state between calls. One goroutine makes the bytes the same everywhere. Their
// memory is freed by a collection of garbage between two sidecars; the default window would
// need 16 MiB.
var encoders = sync.Pool{New: func() any {
	z, _ := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithEncoderLevel(zstd.SpeedBetterCompression), zstd.WithSingleSegment(true), zstd.WithWindowSize(2<<20), zstd.WithLowerEncoderMem(true))
	return z
}}

func newWriter() *writer { return &writer{zip: encoders.Get().(*zstd.Encoder)} }

// close gives the encoder back.
func (w *writer) close() { encoders.Put(w.zip) }

func (w *writer) compressed(plain []byte) part { return part{w.zip.EncodeAll(plain, nil), len(plain)} }

// packed writes numbers with as many bytes as the largest difference to the least needs.
func packed(list []int64) []byte {
	least, most := int64(0), int64(0)
	if len(list) > 0 {
		least, most = slices.Min(list), slices.Max(list)
	}
	width := 0
	for d := uint64(most) - uint64(least); d > 0 && width < 8; d >>= 8 {
		width++
	}
	if width > 4 {
		width = 8
	}
	out := binary.LittleEndian.AppendUint64([]byte{byte(width)}, uint64(least))
	var b [8]byte
	for _, n := range list {
		binary.LittleEndian.PutUint64(b[:], uint64(n)-uint64(least))
		out = append(out, b[:width]...)
	}
	return out
}

func stringList(list []string) []byte {
	var out []byte
	for _, s := range list {
		out = append(binary.AppendUvarint(out, uint64(len(s))), s...)
	}
	return out
}

func blockList(ends []blockEnd) []byte {
	var out []byte
	var before blockEnd
	for _, e := range ends {
		out = binary.AppendUvarint(out, uint64(e.rows-before.rows))
		out = binary.AppendUvarint(out, uint64(e.at-before.at))
		before = e
	}
	return out
}

func blockNumbers(list []uint32) []byte {
	var out []byte
	before := uint32(0)
	for _, n := range list {
		out = binary.AppendUvarint(out, uint64(n-before-1))
		before = n
	}
	return out
}

// identifiers writes the marks of identifiers and their rows, in order, in pages; and the first
// mark of each page.
func (w *writer) identifiers(list []uint64) {
	slices.Sort(list)
	list = slices.Compact(list)
	var firsts []byte
	n := len(list)
	pages := make([]byte, 0, (n+pageIDs-1)/pageIDs*pageSize)
	for len(list) > 0 {
		some := list[:min(len(list), pageIDs)]
		list = list[len(some):]
		firsts = binary.LittleEndian.AppendUint64(firsts, some[0]>>rowBits)
		page := make([]byte, 0, pageSize)
		for _, id := range some {
			page = binary.LittleEndian.AppendUint64(page, id)
		}
		pages = append(pages, sealedPage(page)...)
	}
	w.addLate("ids", part{pages, n})
	w.add("id_pages", w.compressed(firsts))
}

// sealedPage fills a page, and ends it with its CRC-32C.
func sealedPage(page []byte) []byte {
	page = append(page, make([]byte, pageData-len(page))...)
	return binary.LittleEndian.AppendUint32(page, crc32.Checksum(page, castagnoli))
}

// A chunk is a part of the list of words, and the blocks of each of its words.
type chunk struct {
	first        string
	words        int
	terms, posts section // their at is within the section of the same name
}

// A termWriter writes listed words in order, in chunks; and the blocks that have them.
type termWriter struct {
	w            *writer
	terms, posts io.Writer
	index        []byte
	words, lists []byte // of the chunk
	first        string
	n, all       int // words of the chunk, and of all
}

// add adds a word, and the differences of the numbers of the blocks that have it.
func (t *termWriter) add(word string, count uint32, posts []byte) {
	if t.n == 0 {
		t.first = word
	}
	t.n++
	t.all++
	t.words = append(append(t.words, word...), '\n')
	t.lists = append(binary.AppendUvarint(t.lists, uint64(count)), posts...)
	if len(t.words) >= chunkSize || len(t.lists) >= 4*chunkSize {
		t.flush()
	}
}

func (t *termWriter) flush() {
	if t.n == 0 {
		return
	}
	words, lists := t.w.compressed(t.words), t.w.compressed(t.lists)
	t.index = append(binary.AppendUvarint(t.index, uint64(len(t.first))), t.first...)
	for _, n := range []int{t.n, len(words.data), words.plain, len(lists.data), lists.plain} {
		t.index = binary.AppendUvarint(t.index, uint64(n))
	}
	_, _ = t.terms.Write(words.data)
	_, _ = t.posts.Write(lists.data)
	t.words, t.lists, t.n = t.words[:0], t.lists[:0], 0
}

// end writes where the chunks are.
func (t *termWriter) end() {
	t.flush()
	t.w.add("chunks", t.w.compressed(t.index))
}

// terms writes the listed words, and a filter of their grams.
func (w *writer) terms(list []token) {
	order := make([]int32, len(list))
	for i := range order {
		order[i] = int32(i)
	}
	slices.SortFunc(order, func(a, b int32) int { return cmp.Compare(list[a].text, list[b].text) })
	var terms, posts bytes.Buffer
	out := termWriter{w: w, terms: &terms, posts: &posts}
	var grams []uint64
	for _, n := range order {
		t := &list[n]
		out.add(t.text, t.count, t.posts)
		grams = appendGrams(grams, t.text)
	}
	out.end()
	w.addLate("terms", part{terms.Bytes(), out.all})
	w.addLate("posts", part{posts.Bytes(), out.all})
	slices.Sort(grams)
	grams = slices.Compact(grams)
	filter := newGramFilter(len(grams))
	filter.add(grams)
	w.addLate("grams", part{filter.bytes(), len(grams)})
}

func appendGrams[T string | []byte](dst []uint64, word T) []uint64 {
	for i := 0; i+gramSize <= len(word); i++ {
		dst = append(dst, uint64(word[i])|uint64(word[i+1])<<8|uint64(word[i+2])<<16|uint64(word[i+3])<<24|uint64(word[i+4])<<32)
	}
	return dst
}

// A gramFilter is a Bloom filter in which all bits of a gram are in one page.
type gramFilter [][]byte

// newGramFilter returns the filter for so many grams.
func newGramFilter(grams int) gramFilter {
	pages := make(gramFilter, (grams*gramBits+pageData*8-1)/(pageData*8))
	for i := range pages {
		pages[i] = make([]byte, pageData, pageSize)
	}
	return pages
}

func (p gramFilter) add(grams []uint64) {
	for _, g := range grams {
		page, bits := gramPlace(g, len(p))
		for _, bit := range bits {
			p[page][bit/8] |= 1 << (bit % 8)
		}
	}
}

func (p gramFilter) bytes() []byte {
	var out []byte
	for _, page := range p {
		out = append(out, sealedPage(page)...)
	}
	return out
}

// gramPlace returns the page of a gram among n, and its bits.
func gramPlace(g uint64, n int) (page int, bits [gramTries]uint32) {
	h := mix(g)
	page = int((h >> 32) * uint64(n) >> 32)
	a, b := mix(h), mix(h+1)|1
	for i := range bits {
		bits[i] = uint32((a + uint64(i)*b) % (pageData * 8))
	}
	return page, bits
}

// mix is the finalizer of SplitMix64: it spreads the bits of a number.
func mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}
