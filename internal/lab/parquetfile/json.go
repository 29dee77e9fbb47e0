package parquetfile

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"math"
	"math/big"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/deprecated"
	"github.com/parquet-go/parquet-go/format"

	"github.com/sotto-llm/sotto/internal/data/foreignjson"
	"github.com/sotto-llm/sotto/internal/data/jsontext"

	"github.com/sotto-llm/sotto/internal/base/bytesize"
)

// AppendNext appends the next row as a JSON object. Lists are arrays, structs are
// objects, and so are maps from texts. At the end of the file it returns io.EOF. A
// *RowError belongs to one row.
func (f *File) AppendNext(dst []byte) ([]byte, error) {
	if err := f.next(); err != nil {
		if f.kept != nil && errors.Is(err, io.EOF) {
			f.kept.finish()
		}
		return dst, err
	}
	var long error
	if f.long() {
		long = fmt.Errorf("row %d: %w", f.row, f.errLong())
	}
	if f.kept != nil {
		f.kept.add(f, long)
	}
	if long != nil {
		return dst, &RowError{f.errLong()}
	}
	w := &rowWriter{f: f, dst: dst, from: len(dst), at: make([]int, len(f.cursors))}
	err := safely(w.row)
	if err == errTooLong {
		return dst, &RowError{fmt.Errorf("the row is longer than %v %w; --max-line raises the bound", bytesize.Format(int64(f.most)), err)}
	}
	f.err = err
	return w.dst, err
}

// long reports whether the row is longer than it may be.
func (f *File) long() bool {
	total := 0
	for i := range f.cursors {
		total += f.cursors[i].bytes
		if f.cursors[i].long || total > f.most {
			return true
		}
	}
	return false
}

// errLong is the error of a row that is longer than it may be.
func (f *File) errLong() error {
	return fmt.Errorf("the row is longer than %v, or a list in it longer than %d; --max-line raises the first bound", bytesize.Format(int64(f.most)), maxRowItems)
}

var (
	errLevels  = errors.New("the columns of a row disagree about its lists")
	errTooLong = errors.New("as JSON")
)

// A rowWriter writes one row as JSON.
type rowWriter struct {
	f    *File
	dst  []byte
	from int   // where the row begins
	at   []int // per column: how many values of the row are written
}

// row writes the row, and checks that all of its values are in it.
func (w *rowWriter) row() error {
	if err := w.value(w.f.root); err != nil {
		return err
	}
	for i := range w.at {
		if w.at[i] != len(w.f.cursors[i].now) {
			return errLevels
		}
	}
	return nil
}

// peek returns the next value of a column.
func (w *rowWriter) peek(column int) (parquet.Value, bool) {
	now := w.f.cursors[column].now
	if w.at[column] >= len(now) {
		return parquet.Value{}, false
	}
	return now[w.at[column]], true
}

// skip passes one value of each column below a node: what is there is null or empty.
func (w *rowWriter) skip(n *node) {
	for i := n.column; i < n.column+n.columns; i++ {
		w.at[i]++
	}
}

// value writes a node that is not repeated, or all elements of one that is.
func (w *rowWriter) value(n *node) error {
	first, ok := w.peek(n.column)
	switch {
	case !ok:
		return errLevels
	case n.repeated:
		return w.elements(n, nil)
	case n.optional && first.DefinitionLevel() < int(n.def):
		w.skip(n)
		w.dst = append(w.dst, "null"...)
		return nil
	}
	return w.present(n)
}

// present writes a value, or one element, that is not null.
func (w *rowWriter) present(n *node) error {
	switch n.kind {
	case leaf:
		v, _ := w.peek(n.column)
		w.at[n.column]++
		w.dst = appendValue(w.dst, n, v)
		return nil
	case list:
		inner := n.children[0]
		return w.elements(inner, n.element())
	case stringMap:
		return w.pairs(n.children[0])
	}
	w.dst = append(w.dst, '{')
	for i, child := range n.children {
		w.dst = append(jsontext.AppendString(jsontext.AppendComma(w.dst, i), child.Name), ':')
		if err := w.value(child); err != nil {
			return err
		}
	}
	w.dst = append(w.dst, '}')
	return nil
}

// elements writes the elements of a repeated node as an array. If the node is only
// the wrapper of its elements, element is what it wraps.
func (w *rowWriter) elements(n, element *node) error {
	w.dst = append(w.dst, '[')
	err := w.each(n, func(i int) error {
		w.dst = jsontext.AppendComma(w.dst, i)
		if element != nil {
			return w.value(element)
		}
		return w.present(n)
	})
	w.dst = append(w.dst, ']')
	return err
}

// pairs writes the pairs of a map as an object.
func (w *rowWriter) pairs(n *node) error {
	w.dst = append(w.dst, '{')
	err := w.each(n, func(i int) error {
		w.dst = jsontext.AppendComma(w.dst, i)
		key, ok := w.peek(n.children[0].column)
		if !ok {
			return errLevels
		}
		w.at[n.children[0].column]++
		w.dst = append(jsontext.AppendVerbatim(w.dst, key.ByteArray()), ':')
		return w.value(n.children[1])
	})
	w.dst = append(w.dst, '}')
	return err
}

// each calls do for each element of a repeated node.
func (w *rowWriter) each(n *node, do func(i int) error) error {
	first, ok := w.peek(n.column)
	if !ok {
		return errLevels
	}
	if first.DefinitionLevel() < int(n.def) {
		w.skip(n)
		return nil
	}
	for i := 0; ; i++ {
		before := w.at[n.column]
		if err := do(i); err != nil {
			return err
		}
		if len(w.dst)-w.from > w.f.most { // each element repeats the names of its members
			return errTooLong
		}
		next, ok := w.peek(n.column)
		if !ok || next.RepetitionLevel() != int(n.rep) {
			return nil
		}
		if w.at[n.column] == before {
			return errLevels
		}
	}
}

// appendValue writes a value of a column.
func appendValue(dst []byte, n *node, v parquet.Value) []byte {
	if v.IsNull() {
		return append(dst, "null"...)
	}
	switch n.Type.V {
	case format.Boolean:
		return strconv.AppendBool(dst, v.Boolean())
	case format.Int32:
		return appendInt(dst, n, int64(v.Int32()), uint64(v.Uint32()))
	case format.Int64:
		return appendInt(dst, n, v.Int64(), v.Uint64())
	case format.Int96:
		return appendTime(dst, int96Time(v.Int96()))
	case format.Float:
		return appendFloat(dst, float64(v.Float()), 32)
	case format.Double:
		return appendFloat(dst, v.Double(), 64)
	}
	return appendBytes(dst, n, v.ByteArray())
}

// appendInt writes an integer by what it stands for.
func appendInt(dst []byte, n *node, signed int64, unsigned uint64) []byte {
	switch t := n.LogicalType.Value.(type) {
	case *format.IntType:
		if !t.IsSigned {
			return strconv.AppendUint(dst, unsigned, 10)
		}
	case *format.DateType:
		return appendDate(dst, signed)
	case *format.TimestampType:
		if unit := t.Unit.Value; unit != nil {
			return appendTime(dst, timeIn(signed, unit.Duration()))
		}
	case *format.DecimalType:
		return appendDecimal(dst, big.NewInt(signed), t.Scale)
	}
	switch {
	case n.older(deprecated.Uint8, deprecated.Uint16, deprecated.Uint32, deprecated.Uint64):
		return strconv.AppendUint(dst, unsigned, 10)
	case n.older(deprecated.Date):
		return appendDate(dst, signed)
	case n.older(deprecated.TimestampMillis):
		return appendTime(dst, time.UnixMilli(signed))
	case n.older(deprecated.TimestampMicros):
		return appendTime(dst, time.UnixMicro(signed))
	case n.older(deprecated.Decimal):
		return appendDecimal(dst, big.NewInt(signed), n.Scale.V)
	}
	return strconv.AppendInt(dst, signed, 10)
}

func timeIn(n int64, unit time.Duration) time.Time {
	switch unit {
	case time.Millisecond:
		return time.UnixMilli(n)
	case time.Microsecond:
		return time.UnixMicro(n)
	}
	return time.Unix(n/1e9, n%1e9)
}

// int96Time returns the time that older writers write as a day and nanoseconds.
func int96Time(v deprecated.Int96) time.Time {
	const julianDayOf1970 = 2440588
	return time.Unix((int64(v[2])-julianDayOf1970)*86400, int64(uint64(v[1])<<32|uint64(v[0])))
}

func appendTime(dst []byte, t time.Time) []byte {
	return append(t.UTC().AppendFormat(append(dst, '"'), time.RFC3339Nano), '"')
}

func appendDate(dst []byte, days int64) []byte {
	return append(time.Unix(days*86400, 0).UTC().AppendFormat(append(dst, '"'), time.DateOnly), '"')
}

// appendFloat writes a number. JSON has no NaN and no infinity: they are null.
func appendFloat(dst []byte, x float64, size int) []byte {
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return append(dst, "null"...)
	}
	return strconv.AppendFloat(dst, x, 'g', -1, size)
}

// appendDecimal writes a decimal number with all its digits.
func appendDecimal(dst []byte, unscaled *big.Int, scale int32) []byte {
	digits := new(big.Int).Abs(unscaled).String()
	if unscaled.Sign() < 0 {
		dst = append(dst, '-')
	}
	if scale <= 0 || scale > maxScale {
		return append(dst, digits...)
	}
	for len(digits) <= int(scale) {
		digits = "0" + digits
	}
	point := len(digits) - int(scale)
	dst = append(dst, digits[:point]...)
	return append(append(dst, '.'), digits[point:]...)
}

// maxScale is the most digits that writers give a decimal number.
const maxScale = 76

// appendBytes writes a text, and in base64 what is not one.
func appendBytes(dst []byte, n *node, b []byte) []byte {
	switch t := n.LogicalType.Value.(type) {
	case *format.DecimalType:
		return appendDecimal(dst, signedBig(b), t.Scale)
	case *format.UUIDType:
		if len(b) == 16 {
			return fmt.Appendf(dst, `"%x-%x-%x-%x-%x"`, b[:4], b[4:6], b[6:8], b[8:10], b[10:])
		}
	}
	switch {
	case n.older(deprecated.Decimal):
		return appendDecimal(dst, signedBig(b), n.Scale.V)
	case n.isJSON() && foreignjson.Valid(b) && !bytes.ContainsAny(b, "\r\n"):
		return append(dst, b...)
	case n.isText() || n.LogicalType.Value == nil && n.Type.V == format.ByteArray && utf8.Valid(b):
		return jsontext.AppendVerbatim(dst, b)
	}
	return append(base64.StdEncoding.AppendEncode(append(dst, '"'), b), '"')
}

// signedBig reads a number in two's complement, the highest byte first.
func signedBig(b []byte) *big.Int {
	b = b[:min(len(b), 64)]
	n := new(big.Int).SetBytes(b)
	if len(b) > 0 && b[0]&0x80 != 0 {
		n.Sub(n, new(big.Int).Lsh(big.NewInt(1), uint(8*len(b))))
	}
	return n
}
