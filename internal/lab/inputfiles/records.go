// Package inputfiles reads files of records in several formats. It gives each record as
// a line of JSON, so that the code that reads records knows one format only.
package inputfiles

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/sotto-llm/sotto/internal/data/batch"
	"github.com/sotto-llm/sotto/internal/lab/parquetfile"
)

// A Format is how a file holds records.
type Format string

// The formats.
const (
	Auto    Format = "auto"  // found out from the content and the name of a file
	Lines   Format = "jsonl" // JSON Lines
	Array   Format = "json"  // one JSON array
	CSV     Format = "csv"   // comma-separated values, with a header row
	Parquet Format = "parquet"
	Eval    Format = "eval" // an .eval file of Inspect
)

// FormatOf returns the format that the name of a file says, if it says one that no
// other kind of file has. It returns "" otherwise.
func FormatOf(name string) Format {
	name = strings.ToLower(name)
	for _, compressed := range []string{".gz", ".zst"} {
		name = strings.TrimSuffix(name, compressed)
	}
	switch filepath.Ext(name) {
	case ".csv":
		return CSV
	case ".parquet":
		return Parquet
	case ".eval":
		return Eval
	}
	return ""
}

// A Source is an input of records.
type Source struct {
	*bufio.Reader        // a line of JSON for each record
	Unit          string // what a record is called: line, element, row
	// Sized says that the lines have about as many bytes as the input.
	Sized  bool
	Preset string // the preset of which these are the records, or ""
	close  func()
	// Rows is the Parquet file of which each line is a row; nil if there is none.
	Rows *parquetfile.File
}

// Close releases memory. It leaves the input open.
func (s *Source) Close() error {
	if s.close != nil {
		s.close()
	}
	return nil
}

// An Input is what a source reads.
type Input struct {
	io.Reader          // decompressed
	Name      string   // of the file
	File      *os.File // as it is; nil for a stream
}

// buffered is how many bytes a source reads at once.
const buffered = 64 << 10

// Settings say how to read an input.
type Settings struct {
	Format Format // Auto or "" if it is not given; what is given is not questioned
	// From is the preset whose logs the input holds, or "". For an .eval file it is
	// always that of Inspect.
	From string
	// Rows asks for the rows of a log as they are, also of an .eval file: not for its replies.
	Rows bool
	// MaxLine is how long a record may be, in bytes. If it is zero, it is batch.MaxLine.
	MaxLine int
}

// most returns how long a record may be.
func (s *Settings) most() int {
	if s.MaxLine > 0 {
		return s.MaxLine
	}
	return batch.MaxLine
}

// Open returns the records of an input.
func Open(in Input, set Settings) (*Source, error) {
	r := bufio.NewReaderSize(in, buffered)
	format := set.Format
	if format == "" || format == Auto {
		format = detect(r, in.Name)
	}
	rows, err := open(r, in.File, format, set)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", format, err)
	}
	if format == Eval {
		set.From = inspect
	}
	p := presetNamed(set.From)
	if p == nil || set.Rows {
		return rows, nil
	}
	replies := &presetReader{preset: p, lines: rows, most: set.most()}
	source := &Source{Reader: bufio.NewReaderSize(replies, buffered), Unit: "reply", Preset: p.name, close: rows.close}
	if p.single() {
		source.Rows = rows.Rows
	}
	return source, nil
}

// inspect is the preset that has formats of its own.
const inspect = "inspect"

// open returns the rows of an input.
func open(r *bufio.Reader, file *os.File, format Format, set Settings) (*Source, error) {
	switch format {
	case Parquet:
		rows, err := newParquetReader(file, set.most())
		if err != nil {
			return nil, err
		}
		return &Source{Reader: bufio.NewReaderSize(rows, buffered), Unit: "row", close: rows.file.Close, Rows: rows.file}, nil
	case Eval:
		samples, err := newZipReader(file, set.most())
		if err != nil {
			return nil, err
		}
		return &Source{Reader: bufio.NewReaderSize(samples, buffered), Unit: "sample"}, nil
	case Array:
		return &Source{Reader: bufio.NewReaderSize(&arrayReader{from: r}, buffered), Unit: "element", Sized: true}, nil
	case CSV:
		rows, err := newCSVReader(r, set.most())
		if err != nil {
			return nil, err
		}
		return &Source{Reader: bufio.NewReaderSize(rows, buffered), Unit: "row"}, nil
	}
	if set.From == inspect && first(r) == '{' {
		if err := skipToSamples(r); err != nil {
			return nil, err
		}
		return &Source{Reader: bufio.NewReaderSize(&arrayReader{from: r, tail: true}, buffered), Unit: "sample"}, nil
	}
	return &Source{Reader: r, Unit: "line", Sized: true}, nil
}

// Looks reports whether a file begins with records whose format its name need not say:
// with a JSON object on one line, a list of objects, or what begins a Parquet file or
// an archive.
func Looks(in *bufio.Reader) bool {
	head, _ := in.Peek(in.Size())
	if bytes.HasPrefix(head, []byte(parquetfile.Magic)) || bytes.HasPrefix(head, []byte(zipMagic)) {
		return true
	}
	start := bytes.TrimLeft(head, " \t\r\n\ufeff")
	if rest, array := bytes.CutPrefix(start, []byte("[")); array {
		return bytes.HasPrefix(bytes.TrimLeft(rest, " \t\r\n"), []byte("{"))
	}
	line, _, whole := bytes.Cut(start, []byte("\n"))
	line = bytes.TrimRight(line, " \t\r")
	return bytes.HasPrefix(line, []byte("{")) && (!whole || bytes.HasSuffix(line, []byte("}")))
}

// zipMagic begins a zip archive with a file in it.
const zipMagic = "PK\x03\x04"

// detect finds out the format from the content and the name of a file.
func detect(r *bufio.Reader, name string) Format {
	if head, _ := r.Peek(1); len(head) == 1 && head[0] == 'P' {
		switch head, _ = r.Peek(4); string(head) {
		case parquetfile.Magic:
			return Parquet
		case zipMagic:
			return Eval
		}
	}
	if format := FormatOf(name); format != "" {
		return format
	}
	if startsArray(r) {
		return Array
	}
	return Lines
}

// Fault returns the error of a record that could not be read, whose line this is. It
// returns nil for any other line.
func (*Source) Fault(line []byte) error {
	return batch.Fault(line)
}
