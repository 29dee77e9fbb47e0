package recordtable

import (
	"bufio"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/sotto-llm/sotto/internal/base/decompress"
	"github.com/sotto-llm/sotto/internal/data/jsontext"
)

// A Format is the format of a file with a table.
type Format string

// The formats.
const (
	CSV     Format = "csv"
	JSONL   Format = "jsonl"
	Parquet Format = "parquet"
)

// FormatOf returns the format that the name of a file says, or "".
func FormatOf(name string) Format {
	name, _ = decompress.CutEnding(name)
	for _, f := range []Format{CSV, JSONL, Parquet} {
		if strings.HasSuffix(strings.ToLower(name), "."+string(f)) {
			return f
		}
	}
	return ""
}

// A NewFunc returns a writer of a table with these columns.
type NewFunc func(to io.Writer, columns []Column) Writer

// NewWriter returns a writer of a table with these columns. parquet makes those of Parquet;
// it is nil in a program that writes none.
func NewWriter(f Format, to io.Writer, columns []Column, parquet NewFunc) (Writer, error) {
	switch f {
	case CSV:
		return newCSV(to, columns), nil
	case JSONL:
		return newJSONL(to, columns), nil
	case Parquet:
		if parquet != nil {
			return parquet(to, columns), nil
		}
	}
	return nil, fmt.Errorf("format %q: want csv, jsonl or parquet", f)
}

// timeLayout has the microseconds that a time of a table has.
const timeLayout = "2006-01-02T15:04:05.000000Z"

func appendTime(dst []byte, at time.Time) []byte { return at.UTC().AppendFormat(dst, timeLayout) }

// appendReal appends a finite number. JSON has no other.
func appendReal(dst []byte, f float64) ([]byte, bool) {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return dst, false
	}
	return strconv.AppendFloat(dst, f, 'g', -1, 64), true
}

// A csvWriter writes CSV (RFC 4180 with \n): a header, and each text in quotes, so
// that an empty text differs from a value that is missing, which is nothing.
type csvWriter struct {
	out *bufio.Writer
	row []byte
	n   int // values in the row
}

func newCSV(to io.Writer, columns []Column) *csvWriter {
	w := &csvWriter{out: bufio.NewWriterSize(to, 256<<10)}
	for _, c := range columns {
		w.next()
		w.row = append(w.row, c.Name...)
	}
	_ = w.End() // an error of the writer comes again
	return w
}

func (w *csvWriter) next() {
	w.row = jsontext.AppendComma(w.row, w.n)
	w.n++
}

func (w *csvWriter) Null() { w.next() }

func (w *csvWriter) Text(s string) {
	w.next()
	w.row = append(w.row, '"')
	for {
		i := strings.IndexByte(s, '"')
		if i < 0 {
			break
		}
		w.row = append(append(w.row, s[:i+1]...), '"')
		s = s[i+1:]
	}
	w.row = append(append(w.row, s...), '"')
}

func (w *csvWriter) Integer(n int64) {
	w.next()
	w.row = strconv.AppendInt(w.row, n, 10)
}

func (w *csvWriter) Real(f float64) {
	w.next()
	w.row, _ = appendReal(w.row, f)
}

func (w *csvWriter) Truth(b bool) {
	w.next()
	w.row = strconv.AppendBool(w.row, b)
}

func (w *csvWriter) Time(at time.Time) {
	w.next()
	w.row = appendTime(w.row, at)
}

func (w *csvWriter) End() error {
	_, err := w.out.Write(append(w.row, '\n'))
	w.row, w.n = w.row[:0], 0
	return err
}

func (w *csvWriter) Close() error { return w.out.Flush() }

// A jsonlWriter writes an object per row, with all members in the order of the
// columns.
type jsonlWriter struct {
	out   *bufio.Writer
	names [][]byte // with a colon
	row   []byte
	n     int
}

func newJSONL(to io.Writer, columns []Column) *jsonlWriter {
	w := &jsonlWriter{out: bufio.NewWriterSize(to, 256<<10)}
	for _, c := range columns {
		w.names = append(w.names, append(jsontext.AppendString(nil, c.Name), ':'))
	}
	return w
}

func (w *jsonlWriter) next() {
	if w.n == 0 {
		w.row = append(w.row, '{')
	}
	w.row = append(jsontext.AppendComma(w.row, w.n), w.names[w.n]...)
	w.n++
}

func (w *jsonlWriter) Null() {
	w.next()
	w.row = append(w.row, "null"...)
}

func (w *jsonlWriter) Text(s string) {
	w.next()
	w.row = jsontext.AppendString(w.row, s)
}

func (w *jsonlWriter) Integer(n int64) {
	w.next()
	w.row = strconv.AppendInt(w.row, n, 10)
}

func (w *jsonlWriter) Real(f float64) {
	w.next()
	row, ok := appendReal(w.row, f)
	if !ok {
		row = append(row, "null"...)
	}
	w.row = row
}

func (w *jsonlWriter) Truth(b bool) {
	w.next()
	w.row = strconv.AppendBool(w.row, b)
}

func (w *jsonlWriter) Time(at time.Time) {
	w.next()
	w.row = append(appendTime(append(w.row, '"'), at), '"')
}

func (w *jsonlWriter) End() error {
	_, err := w.out.Write(append(w.row, "}\n"...))
	w.row, w.n = w.row[:0], 0
	return err
}

func (w *jsonlWriter) Close() error { return w.out.Flush() }
