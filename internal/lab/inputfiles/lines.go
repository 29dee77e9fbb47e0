package inputfiles

import (
	"bufio"
	"bytes"
	"io"
	"os"

	"github.com/sotto-llm/sotto/internal/base/decompress"
	"github.com/sotto-llm/sotto/internal/lab/parquetfile"
)

// HeadSize is how many bytes of an input DividedBy needs, if it has so many.
const HeadSize = buffered

// A Unit is what an input can be divided by, so that a part of its records can be read.
type Unit int

// The units.
const (
	Undivided Unit = iota // the input is read from its beginning to its end
	ByLine                // plain JSON Lines
	ByFrame               // compressed JSON Lines: by the frames of zstd or the members of gzip
	ByGroup               // by the row groups of Parquet
)

// DividedBy returns what an input with these first bytes can be divided by. Each line or row
// must be a record by itself.
func DividedBy(head []byte, name string, set Settings) Unit {
	if set.From != "" {
		return Undivided
	}
	text, unit := head, ByLine
	if decompress.Compressed(head) {
		text, unit = textOf(head), ByFrame
		if len(text) == 0 {
			return Undivided
		}
	}
	format := set.Format
	if format == "" || format == Auto {
		format = detect(bufio.NewReaderSize(bytes.NewReader(text), buffered), name)
	}
	switch {
	case format == Lines:
		return unit
	case format == Parquet && unit == ByLine:
		return ByGroup
	}
	return Undivided
}

// textOf decompresses the first bytes of a file, as far as they go.
func textOf(head []byte) []byte {
	d := decompress.NewReader(bytes.NewReader(head))
	defer d.Close()
	text := make([]byte, buffered)
	n, _ := io.ReadFull(d, text) // an error comes again when the file is read
	return text[:n]
}

// OpenLines returns the records of plain JSON Lines.
func OpenLines(r io.Reader) *Source {
	return &Source{Reader: bufio.NewReaderSize(r, buffered), Unit: "line", Sized: true}
}

// OpenGroups returns the rows of the row groups of a Parquet file that begin in a part of it,
// and how many rows come before.
func OpenGroups(file *os.File, from, to int64, set Settings) (s *Source, before int, err error) {
	rows, err := newParquetReader(file, set.most())
	if err != nil {
		return nil, 0, err
	}
	if before, err = rows.file.Part(from, to, rows.size); err != nil {
		rows.file.Close()
		return nil, 0, err
	}
	return &Source{Reader: bufio.NewReaderSize(rows, buffered), Unit: "row", close: rows.file.Close}, before, nil
}

// NeedsFile reports whether an input with these first bytes is not read from its
// beginning to its end.
func NeedsFile(head []byte) bool {
	return bytes.HasPrefix(head, []byte(parquetfile.Magic)) || bytes.HasPrefix(head, []byte(zipMagic))
}
