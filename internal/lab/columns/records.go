package columns

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"

	"github.com/klauspost/compress/zstd"

	"github.com/sotto-llm/sotto/internal/data/batch"
	"github.com/sotto-llm/sotto/internal/lab/parquetfile"
)

// Records write records of any format with the new columns to a Parquet file. A Parquet file
// has one type for each column, and records do not say theirs: so what comes is kept in a
// file of its own, compressed, until the last record has come and the types are known.
type Records struct {
	set   *Set
	to    io.Writer
	types *parquetfile.Types
	kept  io.ReadWriteSeeker
	pack  *zstd.Encoder
	rest  []byte // a line without its end
	both  bool   // record is set
	// record is a record whose object has not come yet.
	record []byte
}

// NewRecords returns a writer of a Parquet file, which keeps what comes in a file.
func (s *Set) NewRecords(to io.Writer, kept io.ReadWriteSeeker) (*Records, error) {
	pack, err := zstd.NewWriter(kept, zstd.WithEncoderConcurrency(1), zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithWindowSize(1<<20))
	return &Records{set: s, to: to, types: parquetfile.NewTypes(s.columns.NumField()), kept: kept, pack: pack}, err
}

// Pair returns the function that processes one line: it appends the record, and then what f
// appends, an object on a line. The record is an empty one if it is not one to which the
// members can be added.
func (s *Set) Pair(f batch.LineFunc) batch.LineFunc {
	return func(dst, line, end []byte, at batch.Place) ([]byte, error) {
		begin := len(dst)
		dst, err := f(dst, line, end, at)
		if len(dst) == begin {
			return dst, err
		}
		object := bytes.Clone(dst[begin:])
		record := bytes.TrimSpace(line)
		if s.Check(line) != nil {
			record = []byte("{}")
		}
		dst = append(append(dst[:begin], record...), '\n')
		return append(dst, object...), err
	}
}

// Write takes pairs of lines.
func (r *Records) Write(lines []byte) (int, error) {
	rest, err := eachLine(r.rest, lines, r.line)
	r.rest = rest
	return len(lines), err
}

func (r *Records) line(line []byte) error {
	if !r.both {
		r.record, r.both = append(r.record[:0], line...), true
		return r.types.Add(line)
	}
	r.both = false
	for _, part := range [][]byte{r.record, line} {
		if _, err := r.pack.Write(binary.AppendUvarint(nil, uint64(len(part)))); err != nil {
			return fmt.Errorf("keep the records: %w", err)
		}
		if _, err := r.pack.Write(part); err != nil {
			return fmt.Errorf("keep the records: %w", err)
		}
	}
	return nil
}

// Close writes the file, if whole is set, and returns what a user should know about it.
func (r *Records) Close(whole bool) (notes []string, err error) {
	err = r.pack.Close()
	if !whole || err != nil {
		return nil, err
	}
	if _, err := r.kept.Seek(0, io.SeekStart); err != nil {
		return nil, err
	}
	table, err := parquetfile.NewTableBeside(r.to, r.types.Columns(), reflect.New(r.set.columns).Interface(), r.set.prefix)
	if err != nil {
		return nil, err
	}
	unpack, err := zstd.NewReader(r.kept, zstd.WithDecoderConcurrency(1))
	if err != nil {
		return nil, err
	}
	defer unpack.Close()
	from := bufio.NewReaderSize(unpack, 64<<10)
	for {
		record, err := part(from)
		if errors.Is(err, io.EOF) {
			return r.types.Notes(), table.Close()
		}
		if err != nil {
			return nil, err
		}
		object, err := part(from)
		if err != nil {
			return nil, err
		}
		more := reflect.New(r.set.columns).Interface()
		if err := json.Unmarshal(object, more); err != nil {
			return nil, fmt.Errorf("parquet: %w", err)
		}
		if err := r.types.Put(table, record); err != nil {
			return nil, err
		}
		if err := table.EndBeside(more); err != nil {
			return nil, err
		}
	}
}

// part reads a record or an object that was kept.
func part(from *bufio.Reader) ([]byte, error) {
	n, err := binary.ReadUvarint(from)
	if err != nil {
		return nil, err
	}
	data := make([]byte, n) // as many as were written
	_, err = io.ReadFull(from, data)
	return data, err
}
