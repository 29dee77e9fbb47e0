package parquetfile

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/bits"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/snappy"
	"github.com/klauspost/compress/zstd"
	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"
	"github.com/pierrec/lz4/v4"

	"github.com/sotto-llm/sotto/internal/base/bytesize"
	"github.com/sotto-llm/sotto/internal/data/batch"
)

// A chunk gives the pages of a column of a row group one after another, decompressed
// and checked, for the library to decode. The library takes as much memory as
// compressed pages and runs of equal values say, and where a page does not fit into
// the buffer that it has for it, it can return zeros.
type chunk struct {
	f      *File
	column *node
	codec  format.CompressionCodec
	pages  *io.SectionReader
	at     int64  // the next page
	given  int64  // bytes of the pages so far
	out    []byte // what is left of the header of the page
	body   []byte // what is left of the page after it
	held   int    // bytes of the dictionary
	page   int    // bytes of the page that the library holds
}

// plainDictionary is the deprecated name of two encodings: PLAIN in a dictionary, and
// RLE_DICTIONARY in a page of data.
const plainDictionary format.Encoding = 2

// maxHeld is how many times as much as a row all pages and dictionaries that are open at
// once may have in memory.
const maxHeld = 3

// maxHeader bounds the header of a page, which can hold a smallest and a largest
// value.
const maxHeader = 16 << 20

// openChunk returns the pages of a column.
func (f *File) openChunk(of *format.ColumnChunk, column *node) (*chunk, error) {
	meta := &of.MetaData
	switch {
	case of.FilePath != "":
		return nil, errors.New("it is in another file")
	case of.CryptoMetadata.Value != nil:
		return nil, errors.New("it is encrypted")
	}
	return &chunk{f: f, column: column, codec: meta.Codec, pages: io.NewSectionReader(f.r, chunkBegin(meta), meta.TotalCompressedSize)}, nil
}

// read gives the next bytes. The page before a page is no longer held.
func (c *chunk) read(p []byte, at int64) (int, error) {
	if at != c.given {
		return 0, errors.New("there is no dictionary")
	}
	if len(c.out) == 0 && len(c.body) == 0 {
		if c.at >= c.pages.Size() {
			return 0, io.EOF
		}
		if err := c.next(); err != nil {
			return 0, err
		}
	}
	n := copy(p, c.out)
	if c.out = c.out[n:]; len(c.out) == 0 {
		more := copy(p[n:], c.body)
		if c.body = c.body[more:]; len(c.body) == 0 {
			c.body = nil // do not keep the page: the library has it
		}
		n += more
	}
	c.given += int64(n)
	return n, nil
}

// next reads a page.
func (c *chunk) next() error {
	from := c.at
	header, n, err := c.header()
	if err != nil {
		return err
	}
	c.at += int64(n)
	plain, err := c.plain(header)
	if err != nil {
		return fmt.Errorf("the page at byte %d: %w", from, err)
	}
	c.at += int64(header.CompressedPageSize)
	header.CompressedPageSize, header.UncompressedPageSize, header.CRC = int32(len(plain)), int32(len(plain)), 0
	if c.out, err = thrift.Marshal(new(thrift.CompactProtocol), header); err != nil {
		return err
	}
	c.body = plain
	return nil
}

// header reads the header of a page.
func (c *chunk) header() (*format.PageHeader, int, error) {
	for window := 4 << 10; ; window *= 16 {
		data := make([]byte, min(int64(window), c.pages.Size()-c.at))
		n, err := c.pages.ReadAt(data, c.at)
		if err != nil && err != io.EOF {
			return nil, 0, err
		}
		cut := n < len(data) || len(data) < window
		n, err = (&thriftCheck{data: data[:n]}).whole()
		if err != nil && window < maxHeader && !cut {
			continue
		}
		header := new(format.PageHeader)
		if err == nil {
			err = thrift.NewDecoder(new(thrift.CompactProtocol).NewReaderFromBytes(data[:n])).Decode(header)
		}
		if err != nil {
			err = fmt.Errorf("the header of the page at byte %d: %w", c.at, err)
		}
		return header, n, err
	}
}

// plain returns the bytes of a page, decompressed and checked.
func (c *chunk) plain(h *format.PageHeader) ([]byte, error) {
	packed, plain := int(h.CompressedPageSize), int(h.UncompressedPageSize)
	if packed < 0 || plain < 0 || packed > c.f.most || plain > c.f.most {
		return nil, fmt.Errorf("it has more than %v; --max-line raises the bound", bytesize.Format(int64(c.f.most)))
	}
	if int64(packed) > c.pages.Size()-c.at {
		return nil, errThrift
	}
	values := max(h.DataPageHeader.V.NumValues, h.DataPageHeaderV2.V.NumValues, h.DictionaryPageHeader.V.NumValues)
	if values < 0 || values > maxValues {
		return nil, errCount
	}
	size := packed + 2*plain + 8*int(values)
	if size > 8<<20 {
		batch.Spare(c.f.most)
	}
	if err := c.hold(h.Type == format.DictionaryPage, size); err != nil {
		return nil, err
	}
	data := make([]byte, packed)
	if _, err := c.pages.ReadAt(data, c.at); err != nil && (err != io.EOF || packed > 0) {
		return nil, errThrift
	}
	switch {
	case h.Type == format.DictionaryPage && h.DictionaryPageHeader.Valid:
		return c.dictionary(&h.DictionaryPageHeader.V, data, plain)
	case h.Type == format.DataPage && h.DataPageHeader.Valid:
		return c.dataV1(&h.DataPageHeader.V, data, plain)
	case h.Type == format.DataPageV2 && h.DataPageHeaderV2.Valid:
		return c.dataV2(&h.DataPageHeaderV2.V, data, plain)
	}
	return nil, errThrift
}

// hold counts the memory of a page, which takes the place of the last one, or of a
// dictionary, which stays.
func (c *chunk) hold(dictionary bool, size int) error {
	if dictionary {
		c.f.held += size
		c.held += size
	} else {
		c.f.held += size - c.page
		c.page = size
	}
	if c.f.held > maxHeld*c.f.most {
		return fmt.Errorf("the pages of the columns need more than %v of memory; --max-line raises the bound, which is %d times as much", bytesize.Format(int64(maxHeld*c.f.most)), maxHeld)
	}
	return nil
}

// close gives back the memory.
func (c *chunk) close() {
	c.f.held -= c.held + c.page
	c.held, c.page, c.out, c.body = 0, 0, nil, nil
}

func (c *chunk) dictionary(h *format.DictionaryPageHeader, packed []byte, plain int) ([]byte, error) {
	if h.Encoding != format.Plain && h.Encoding != plainDictionary {
		return nil, fmt.Errorf("the encoding %s of a dictionary is not supported", h.Encoding)
	}
	return c.unpack(packed, plain)
}

var errCount = errors.New("it says that it has more values than it can have")

func (c *chunk) dataV1(h *format.DataPageHeader, packed []byte, plain int) ([]byte, error) {
	page, err := c.unpack(packed, plain)
	if err != nil {
		return nil, err
	}
	n, data := int(h.NumValues), page
	for _, level := range []struct {
		most     byte
		encoding format.Encoding
	}{{c.column.rep, h.RepetitionLevelEncoding}, {c.column.def, h.DefinitionLevelEncoding}} {
		if level.most == 0 {
			continue
		}
		if level.encoding != format.RLE {
			return nil, fmt.Errorf("levels with the encoding %s are not supported", level.encoding)
		}
		if len(data) < 4 || uint64(binary.LittleEndian.Uint32(data)) > uint64(len(data)-4) {
			return nil, errThrift
		}
		length := int(binary.LittleEndian.Uint32(data))
		if err := checkRuns(data[4:4+length], bits.Len8(level.most), n); err != nil {
			return nil, err
		}
		data = data[4+length:]
	}
	return page, checkValues(data, h.Encoding, n, c.column)
}

func (c *chunk) dataV2(h *format.DataPageHeaderV2, packed []byte, plain int) ([]byte, error) {
	n, rep, def := int(h.NumValues), int(h.RepetitionLevelsByteLength), int(h.DefinitionLevelsByteLength)
	if h.NumNulls < 0 || int(h.NumNulls) > n {
		return nil, errCount
	}
	if rep < 0 || def < 0 || rep > len(packed) || def > len(packed)-rep || rep+def > plain {
		return nil, errThrift
	}
	if n > 0 && ((c.column.rep > 0) != (rep > 0) || c.column.def > 0 && def == 0) {
		return nil, errThrift // the library takes them for absent
	}
	levels, data := packed[:rep+def:rep+def], packed[rep+def:]
	if err := errors.Join(checkRuns(levels[:rep], bits.Len8(c.column.rep), n), checkRuns(levels[rep:], bits.Len8(c.column.def), n)); err != nil {
		return nil, err
	}
	if !h.IsCompressed.Valid || h.IsCompressed.V {
		var err error
		if data, err = c.unpack(data, plain-rep-def); err != nil {
			return nil, err
		}
	}
	return append(levels, data...), checkValues(data, h.Encoding, n, c.column)
}

// checkRuns checks a sequence of runs: it must not have more values than the page.
func checkRuns(data []byte, width, n int) error {
	const padding = 1 << 10 // groups of eight, and what writers round up to
	total := uint64(0)
	for len(data) > 0 {
		head, size := binary.Uvarint(data)
		if size <= 0 {
			return errThrift
		}
		count, length := head>>1, uint64(width+7)/8
		if count > maxValues {
			return errCount
		}
		if head&1 == 1 {
			length = count * uint64(width)
			count *= 8
		}
		if total += count; total > uint64(n)+padding {
			return errCount
		}
		data = data[size:]
		data = data[min(length, uint64(len(data))):]
	}
	return nil
}

// checkValues checks the values of a page where their encoding lets few bytes stand
// for many.
func checkValues(data []byte, encoding format.Encoding, n int, column *node) error {
	switch encoding {
	case format.Plain, format.ByteStreamSplit:
		return nil
	case plainDictionary, format.RLEDictionary:
		if len(data) == 0 {
			return nil
		}
		if data[0] > 32 {
			return errThrift
		}
		return checkRuns(data[1:], int(data[0]), n)
	case format.RLE:
		if len(data) < 4 || column.Type.V != format.Boolean {
			return errThrift
		}
		return checkRuns(data[4:], 1, n)
	case format.DeltaBinaryPacked, format.DeltaLengthByteArray:
		return checkDelta(data, n)
	}
	// DELTA_BYTE_ARRAY lets each value repeat the one before it: a page of one megabyte
	// can stand for any number of gigabytes.
	return fmt.Errorf("the encoding %s is not supported", encoding)
}

// checkDelta checks the header of numbers that are written as differences.
func checkDelta(data []byte, n int) error {
	for i := range 3 {
		v, size := binary.Uvarint(data)
		if size <= 0 {
			return errThrift
		}
		if i == 2 && v > uint64(n) {
			return errCount
		}
		data = data[size:]
	}
	return nil
}

// unpack decompresses a page, which must have the size that its header says.
func (c *chunk) unpack(packed []byte, size int) ([]byte, error) {
	if c.codec == format.Uncompressed {
		return packed, nil
	}
	plain := make([]byte, size)
	n, err := c.f.decompress(packed, c.codec, plain)
	switch {
	case err != nil:
		return nil, fmt.Errorf("%s: %w", c.codec, err)
	case n != size:
		return nil, fmt.Errorf("%s: it does not have the %d bytes that its header says", c.codec, size)
	}
	return plain, nil
}

// decompress decompresses a page to as many bytes as plain has. It returns another
// number if there are more or fewer.
func (f *File) decompress(packed []byte, codec format.CompressionCodec, plain []byte) (int, error) {
	from := bytes.NewReader(packed)
	switch codec {
	case format.Snappy:
		n, err := snappy.DecodedLen(packed)
		if err == nil && n == len(plain) {
			_, err = snappy.Decode(plain, packed)
		}
		return n, err
	case format.Lz4Raw: // not decompressed in steps, so plain bounds it
		return lz4.UncompressBlock(packed, plain)
	case format.Gzip:
		z, err := gzip.NewReader(from)
		if err != nil {
			return 0, err
		}
		return fill(z, plain)
	case format.Brotli:
		return fill(brotli.NewReader(from), plain)
	case format.Zstd:
		var err error
		if f.zstd == nil {
			f.zstd, err = zstd.NewReader(from, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(uint64(max(f.most, 8<<20))))
		} else {
			err = f.zstd.Reset(from)
		}
		if err != nil {
			return 0, err
		}
		return fill(f.zstd, plain)
	}
	return 0, errors.New("this compression is not supported")
}

// fill reads as many bytes as plain has. It returns one more if there are more.
func fill(r io.Reader, plain []byte) (int, error) {
	n, err := io.ReadFull(r, plain)
	if err == io.EOF || err == io.ErrUnexpectedEOF {
		return n, nil
	}
	if err != nil {
		return n, err
	}
	more, err := io.CopyN(io.Discard, r, 1)
	if err == io.EOF {
		err = nil
	}
	return n + int(more), err
}
