package inputfiles

import (
	"errors"
	"fmt"
	"os"

	"github.com/sotto-llm/sotto/internal/base/files"
	"github.com/sotto-llm/sotto/internal/data/batch"
	"github.com/sotto-llm/sotto/internal/lab/parquetfile"
)

// A parquetReader gives each row of a Parquet file as a line of JSON.
type parquetReader struct {
	file *parquetfile.File
	size int64 // of the file
	out  []byte
	rest []byte // of out, not read yet
}

var errStream = errors.New("its end must be read first: name a file that is not compressed as a whole, not a pipe")

func newParquetReader(file *os.File, most int) (*parquetReader, error) {
	if file == nil {
		return nil, errStream
	}
	info, err := file.Stat()
	if err != nil {
		return nil, files.Cause(err)
	}
	head := make([]byte, len(parquetfile.Magic))
	switch n, _ := file.ReadAt(head, 0); {
	case !info.Mode().IsRegular():
		return nil, errStream
	case string(head[:n]) != parquetfile.Magic:
		return nil, fmt.Errorf("the file does not begin with %s: %w", parquetfile.Magic, errStream)
	}
	rows, err := parquetfile.Open(file, info.Size(), most)
	return &parquetReader{file: rows, size: info.Size()}, err
}

func (r *parquetReader) Read(p []byte) (int, error) {
	for len(r.rest) == 0 {
		if cap(r.out) > 1<<20 {
			r.out = nil // do not keep the buffer of one long row
		}
		var bad *parquetfile.RowError
		var err error
		switch r.out, err = r.file.AppendNext(r.out[:0]); {
		case errors.As(err, &bad):
			r.out = batch.AppendFault(r.out[:0], err)
		case err != nil:
			return 0, err
		default:
			r.out = append(r.out, '\n')
		}
		r.rest = r.out
	}
	n := copy(p, r.rest)
	r.rest = r.rest[n:]
	return n, nil
}
