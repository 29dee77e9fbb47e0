package parquetfile

import (
	"errors"
	"fmt"
	"io"

	"github.com/klauspost/compress/zstd"
	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/format"
)

// A File is an open Parquet file. It reads one row after another, and holds one page
// of each column.
type File struct {
	r       io.ReaderAt
	meta    *format.FileMetaData
	file    *parquet.File
	zstd    *zstd.Decoder
	most    int      // bytes of a row, and of a page
	held    int      // bytes of the pages that are open
	chunks  []*chunk // of the row group that is read
	root    *node
	columns []*node
	cursors []cursor
	group   int   // the number of the row group that is read
	last    int   // the number of the row group after which nothing is read
	left    int64 // rows in it
	row     int64
	kept    *Queue // of rows that are written again; or nil
	err     error
}

// Open reads the description of a file. most is how many bytes a row, a page and a page
// that is decompressed may have.
func Open(r io.ReaderAt, size int64, most int) (*File, error) {
	meta, err := readFooter(r, size)
	if err != nil {
		return nil, err
	}
	f := &File{meta: meta, r: r, most: most, last: len(meta.RowGroups)}
	if f.root, err = readSchema(meta); err != nil {
		return nil, err
	}
	f.columns = f.root.leaves(nil)
	f.cursors = make([]cursor, len(f.columns))
	for i := range f.cursors {
		f.cursors[i].most = most
	}
	err = safely(func() error {
		plain, size, err := newPlainFile(f)
		if err != nil {
			return err
		}
		f.file, err = parquet.OpenFile(plain, size, parquet.SkipPageIndex(true), parquet.SkipBloomFilters(true), parquet.ReadBufferSize(64<<10))
		return err
	})
	return f, err
}

// A RowError is the error of one row. The rows after it can be read.
type RowError struct{ error }

func (e *RowError) Unwrap() error { return e.error }

// next reads a row into the cursors. At the end of the file it returns io.EOF.
func (f *File) next() error {
	if f.err == nil {
		f.err = safely(f.read)
	}
	if f.err != nil && !errors.Is(f.err, io.EOF) {
		return fmt.Errorf("row group %d: %w", f.group, f.err)
	}
	return f.err
}

func (f *File) read() error {
	for f.left == 0 {
		if f.group == f.last {
			return io.EOF
		}
		if err := f.open(f.group); err != nil {
			return err
		}
	}
	f.left--
	f.row++
	for i := range f.cursors {
		if err := f.cursors[i].row(); err != nil {
			return fmt.Errorf("column %s: %w", f.columns[i].Name, err)
		}
	}
	if f.left > 0 {
		return nil
	}
	for i := range f.cursors {
		if f.cursors[i].more() {
			return fmt.Errorf("column %s has more rows than the group", f.columns[i].Name)
		}
	}
	return nil
}

// open checks and opens a row group.
func (f *File) open(number int) error {
	f.group++
	f.closeGroup()
	group := &f.meta.RowGroups[number]
	if group.NumRows < 0 {
		return errThrift
	}
	for i := range group.Columns {
		c, err := f.openChunk(&group.Columns[i], f.columns[i])
		if err != nil {
			return fmt.Errorf("column %s: %w", f.columns[i].Name, err)
		}
		f.chunks = append(f.chunks, c)
	}
	f.left = group.NumRows
	for i, chunk := range f.file.RowGroups()[number].ColumnChunks() {
		f.cursors[i].open(chunk.Pages())
	}
	return nil
}

// closeGroup releases the pages of a row group.
func (f *File) closeGroup() {
	for i := range f.cursors {
		f.cursors[i].close()
	}
	for _, c := range f.chunks {
		c.close()
	}
	f.chunks = f.chunks[:0]
}

// Close releases the memory of the file, which the caller closes.
func (f *File) Close() {
	safely(func() error {
		f.closeGroup()
		return nil
	})
	if f.zstd != nil {
		f.zstd.Close()
	}
}

// A cursor reads the values of a column row by row.
type cursor struct {
	pages  parquet.Pages
	page   parquet.Page
	values parquet.ValueReader
	buf    [128]parquet.Value
	ahead  []parquet.Value // of buf
	now    []parquet.Value // the row
	bytes  int             // of the row
	most   int             // that it may have
	long   bool            // the row is longer than it may be
}

func (c *cursor) open(pages parquet.Pages) {
	c.pages = pages
}

func (c *cursor) close() {
	c.ahead, c.now, c.values = nil, c.now[:0], nil
	if c.page != nil {
		parquet.Release(c.page)
		c.page = nil
	}
	if c.pages != nil {
		c.pages.Close()
		c.pages = nil
	}
}

// row reads the values of the next row.
func (c *cursor) row() error {
	if cap(c.now) > 1<<16 {
		c.now = nil // do not keep the values of one long row
	}
	c.now, c.bytes, c.long = c.now[:0], 0, false
	for first := true; ; first = false {
		v, err := c.peek()
		switch {
		case err == io.EOF && first:
			return io.ErrUnexpectedEOF
		case err == io.EOF:
			return nil
		case err != nil:
			return err
		case first != (v.RepetitionLevel() == 0):
			if first {
				return errors.New("a row begins in the middle")
			}
			return nil
		}
		c.ahead = c.ahead[1:]
		c.bytes += size(v)
		if c.long = c.long || c.bytes > c.most || len(c.now) == maxRowItems; !c.long {
			c.now = append(c.now, v)
		}
	}
}

// more reports whether there is a further row.
func (c *cursor) more() bool {
	_, err := c.peek()
	return err != io.EOF
}

// peek returns the next value.
func (c *cursor) peek() (parquet.Value, error) {
	for len(c.ahead) == 0 {
		if err := c.fill(); err != nil {
			return parquet.Value{}, err
		}
	}
	return c.ahead[0], nil
}

// fill reads values of the page, or of the next one.
func (c *cursor) fill() error {
	if c.values != nil {
		n, err := c.values.ReadValues(c.buf[:])
		c.ahead = c.buf[:n]
		if n > 0 {
			return nil
		}
		if err != nil && err != io.EOF {
			return err
		}
	}
	for i := range c.now { // the values are in the page that is released
		c.now[i] = c.now[i].Clone()
	}
	if c.page != nil {
		parquet.Release(c.page)
		c.page, c.values = nil, nil
	}
	page, err := c.pages.ReadPage()
	if err != nil {
		return err
	}
	c.page, c.values = page, page.Values()
	return nil
}

// size returns how many bytes a value has.
func size(v parquet.Value) int {
	if k := v.Kind(); k == parquet.ByteArray || k == parquet.FixedLenByteArray {
		return len(v.ByteArray())
	}
	return 8
}
