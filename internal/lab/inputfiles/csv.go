package inputfiles

import (
	"bufio"
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"runtime"

	"github.com/sotto-llm/sotto/internal/base/bytesize"
	"github.com/sotto-llm/sotto/internal/data/batch"
	"github.com/sotto-llm/sotto/internal/data/jsontext"
)

// maxCSVColumns bounds the columns of CSV.
const maxCSVColumns = 10_000

// A csvReader gives each row of a CSV file as a line of JSON: an object of texts by
// the names in the header row.
type csvReader struct {
	from *csv.Reader
	room *room
	most int      // bytes of a row: a quote that does not end would take in the rest of the file
	base int      // lines before those that from has counted
	line int      // where the last row that could be read begins
	keys [][]byte // JSON strings with a colon
	out  []byte
	rest []byte // of out, not read yet
}

// newCSVReader reads the header row.
func newCSVReader(r *bufio.Reader, most int) (*csvReader, error) {
	if head, _ := r.Peek(3); bytes.Equal(head, []byte("\ufeff")) {
		r.Discard(3)
	}
	c := &csvReader{most: most, room: &room{from: r, most: most}}
	c.from = csv.NewReader(c.room)
	names, err := c.next()
	if errors.Is(err, io.EOF) {
		return nil, errors.New("there is no header row")
	}
	if err != nil {
		return nil, fmt.Errorf("the header row: %w", err)
	}
	if len(names) > maxCSVColumns {
		return nil, fmt.Errorf("the header row has %d columns, and %d are the most", len(names), maxCSVColumns)
	}
	seen := map[string]bool{}
	for _, name := range names {
		if seen[name] {
			return nil, fmt.Errorf("the header row has column %q twice", name)
		}
		seen[name] = true
		c.keys = append(c.keys, append(jsontext.AppendString(nil, name), ':'))
	}
	c.from.ReuseRecord = true
	return c, nil
}

func (c *csvReader) Read(p []byte) (int, error) {
	for len(c.rest) == 0 {
		if err := c.row(); err != nil {
			return 0, err
		}
		c.rest = c.out
	}
	n := copy(p, c.rest)
	c.rest = c.rest[n:]
	return n, nil
}

// row makes the line of the next row. A row that cannot be read is a line too, so
// that the rows after it are not lost.
func (c *csvReader) row() error {
	if cap(c.out) > 1<<20 {
		c.out = nil // do not keep the buffer of one long row
	}
	c.out = c.out[:0]
	cells, err := c.next()
	var bad *csv.ParseError
	if errors.As(err, &bad) {
		bad.StartLine, bad.Line = bad.StartLine+c.base, bad.Line+c.base
	}
	switch {
	case errors.Is(err, csv.ErrFieldCount) && bad != nil:
		err = fmt.Errorf("line %d: the number of fields is %d, and that of the header row %d", bad.StartLine, len(cells), len(c.keys))
		fallthrough
	case bad != nil:
		c.out = batch.AppendFault(c.out, err)
		return nil
	case errors.Is(err, errNoRoom):
		c.out = batch.AppendFault(c.out, err)
		return c.skip()
	case err != nil:
		return err
	}
	c.out = append(c.out, '{')
	for i, cell := range cells {
		c.out = append(jsontext.AppendComma(c.out, i), c.keys[i]...)
		c.out = jsontext.AppendVerbatim(c.out, cell)
	}
	c.out = append(c.out, "}\n"...)
	return nil
}

// next reads a row within the bound.
func (c *csvReader) next() ([]string, error) {
	c.room.left = c.most
	cells, err := c.from.Read()
	if errors.Is(err, errNoRoom) {
		return nil, fmt.Errorf("the row after line %d is %w than %v: a quote may not end%s", c.line, errNoRoom, bytesize.Format(int64(c.most)), batch.Raise)
	}
	if len(cells) > 0 {
		c.line, _ = c.from.FieldPos(0)
		c.line += c.base
	}
	return cells, err
}

// skip goes on at the first line end after a row that is too long.
func (c *csvReader) skip() error {
	for {
		_, err := c.room.from.ReadSlice('\n')
		if err == nil {
			c.room.lines++
		}
		if err == nil || errors.Is(err, io.EOF) {
			break
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return err
		}
	}
	c.base = c.room.lines
	c.from = csv.NewReader(c.room)
	c.from.FieldsPerRecord = len(c.keys)
	c.from.ReuseRecord = true
	return nil
}

// longRow is how many bytes a row has that needs much memory.
const longRow = 4 << 20

// A room reads as long as there is room, and counts lines.
type room struct {
	from  *bufio.Reader
	most  int
	left  int
	lines int
}

var errNoRoom = errors.New("longer")

func (r *room) Read(p []byte) (int, error) {
	if r.left <= 0 {
		return 0, errNoRoom
	}
	n, err := r.from.Read(p[:min(len(p), r.left)])
	before := r.most - r.left
	r.left -= n
	if row := r.most - r.left; row > longRow {
		batch.Spare(r.most)
		// The buffers of encoding/csv grow by copies, faster than a collector that has
		// to wait for a processor frees them.
		if row/(2*longRow) > before/(2*longRow) || r.left == 0 {
			runtime.GC()
		}
	}
	r.lines += bytes.Count(p[:n], []byte{'\n'})
	return n, err
}
