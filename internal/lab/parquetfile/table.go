package parquetfile

import (
	"bufio"
	"fmt"
	"io"
	"time"
	"unsafe"

	"github.com/parquet-go/parquet-go"
)

// A Type is the type of a column of a table.
type Type string

// The types of columns. A time is UTC, in microseconds.
const (
	Text    Type = "string"
	Integer Type = "int64"
	Real    Type = "double"
	Truth   Type = "boolean"
	Time    Type = "timestamp"
	JSON    Type = "json" // the text of a JSON value
)

// node returns a column of this type, any value of which may be null.
func (t Type) node() parquet.Node {
	var n parquet.Node
	switch t {
	case Text:
		n = parquet.String()
	case Integer:
		n = parquet.Leaf(parquet.Int64Type)
	case Real:
		n = parquet.Leaf(parquet.DoubleType)
	case Truth:
		n = parquet.Leaf(parquet.BooleanType)
	case JSON:
		n = parquet.JSON()
	case Time:
		n = parquet.Timestamp(parquet.Microsecond)
	default:
		panic(fmt.Sprintf("parquetfile: a column of type %q", t))
	}
	return parquet.Optional(parquet.Encoded(n, &parquet.Plain))
}

// A Column is a column of a table.
type Column struct {
	Name string
	Type Type
}

// A Table writes rows of plain columns to a new file, in groups of rows of which it
// holds one. The values of a row are added one after the other, in the order of the
// columns.
type Table struct {
	columns []Column
	more    *parquet.Schema // of the columns after them; or nil
	to      *parquet.GenericWriter[any]
	out     *bufio.Writer
	row     parquet.Row
	bytes   int // of the rows in the group
	rows    int // in the group
	most    int // bytes of a group; groupBytes except in tests
}

// tableBytes bounds the values that a Table holds until it writes a row group.
const tableBytes = 32 << 20

// NewTable returns a writer of a file with these columns, whose names differ.
func NewTable(to io.Writer, columns []Column) *Table {
	root := group{}
	for _, c := range columns {
		root.fields = append(root.fields, member{c.Type.node(), c.Name})
	}
	return newTable(to, columns, root, nil)
}

// NewTableBeside returns a writer of a file with these columns, and after them the fields of
// more, a struct with tags of the library, with names that follow prefix. Rows of it end with
// EndBeside.
func NewTableBeside(to io.Writer, columns []Column, more any, prefix string) (t *Table, err error) {
	err = safely(func() error {
		schema, root := parquet.SchemaOf(more), group{}
		for _, c := range columns {
			root.fields = append(root.fields, member{c.Type.node(), c.Name})
		}
		for _, field := range schema.Fields() {
			root.fields = append(root.fields, member{field, prefix + field.Name()})
		}
		t = newTable(to, columns, root, schema)
		return nil
	})
	return t, err
}

func newTable(to io.Writer, columns []Column, root group, more *parquet.Schema) *Table {
	t := &Table{columns: columns, more: more, out: bufio.NewWriterSize(to, 256<<10), most: tableBytes, row: make(parquet.Row, 0, len(columns))}
	t.to = parquet.NewGenericWriter[any](t.out, parquet.NewSchema("sotto", root), parquet.Compression(&parquet.Zstd),
		parquet.CreatedBy("sotto", "", ""), parquet.DataPageVersion(1), parquet.WriteBufferSize(0),
		parquet.PageBufferSize(min(1<<20, max(4<<10, pagesBytes/max(len(columns), 1)))), withoutBounds(root))
	return t
}

func (t *Table) add(v parquet.Value) {
	if v.IsNull() {
		t.row = append(t.row, v.Level(0, 0, len(t.row)))
	} else {
		t.row = append(t.row, v.Level(0, 1, len(t.row)))
	}
}

// Null adds a value that is missing.
func (t *Table) Null() { t.add(parquet.NullValue()) }

// Text adds a text, which must be UTF-8. It must not change before End.
func (t *Table) Text(s string) {
	t.bytes += len(s)
	t.add(parquet.ByteArrayValue(unsafe.Slice(unsafe.StringData(s), len(s)))) // the library only reads it
}

// Integer adds an integer.
func (t *Table) Integer(n int64) { t.add(parquet.Int64Value(n)) }

// Real adds a number.
func (t *Table) Real(f float64) { t.add(parquet.DoubleValue(f)) }

// Truth adds true or false.
func (t *Table) Truth(b bool) { t.add(parquet.BooleanValue(b)) }

// Time adds a time.
func (t *Table) Time(at time.Time) { t.add(parquet.Int64Value(at.UnixMicro())) }

// End ends a row.
func (t *Table) End() error {
	if len(t.row) != len(t.columns) {
		return fmt.Errorf("parquet: a row of %d values for %d columns", len(t.row), len(t.columns))
	}
	return t.end()
}

// EndBeside ends a row with the values of a pointer to a struct like that of NewTableBeside.
func (t *Table) EndBeside(more any) error {
	if len(t.row) != len(t.columns) {
		return fmt.Errorf("parquet: a row of %d values for %d columns", len(t.row), len(t.columns))
	}
	err := safely(func() error {
		t.row = t.more.Deconstruct(t.row, more)
		return nil
	})
	if err != nil {
		return fmt.Errorf("parquet: %w", err)
	}
	for i, v := range t.row[len(t.columns):] {
		t.bytes += size(v)
		t.row[len(t.columns)+i] = v.Level(v.RepetitionLevel(), v.DefinitionLevel(), v.Column()+len(t.columns))
	}
	return t.end()
}

func (t *Table) end() error {
	t.bytes += len(t.row) * 8
	t.rows++
	_, err := t.to.WriteRows([]parquet.Row{t.row})
	t.row = t.row[:0]
	if err == nil && (t.rows == groupRows || t.bytes >= t.most) {
		t.rows, t.bytes = 0, 0
		err = t.to.Flush()
	}
	if err != nil {
		err = fmt.Errorf("parquet: %w", err)
	}
	return err
}

// Close writes what makes the file whole: without it, no reader takes it for a
// Parquet file.
func (t *Table) Close() error {
	if err := t.to.Close(); err != nil {
		return fmt.Errorf("parquet: %w", err)
	}
	return t.out.Flush()
}
