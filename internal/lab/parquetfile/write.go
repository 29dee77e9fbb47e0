package parquetfile

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"reflect"
	"slices"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"
)

// Bounds on what a Writer holds until it writes a row group.
const (
	groupBytes = 64 << 20
	groupRows  = 122_880 // as many as DuckDB has in a group
	pagesBytes = 64 << 20
)

// A Writer writes the rows of a file to another one, with more columns after those
// that they have. What describes the old columns is copied as it is. The library
// writes only their physical values, so that no type is lost that it does not know.
// There is no smallest and largest value of a column: the library has no order for
// such types, and keeps texts of any length.
type Writer struct {
	from  *File
	read  *Queue // rows of it that are not written yet
	more  *parquet.Schema
	to    *parquet.GenericWriter[any]
	out   *sink
	row   parquet.Row
	bytes int // of the rows in the group
	rows  int // in the group
	most  int // bytes of a group; groupBytes except in tests
}

// NewWriter returns a writer of the rows of a file, of which none has been read. Each row
// is read by AppendNext before it is written. The fields of more, a struct with tags of the
// library, are the new columns. Their names follow prefix.
func NewWriter(to io.Writer, from *File, more any, prefix string) (*Writer, error) {
	w := &Writer{from: from, read: from.Keep(), most: groupBytes, out: &sink{to: bufio.NewWriterSize(to, 256<<10)}}
	err := safely(func() error {
		w.more = parquet.SchemaOf(more)
		if err := from.root.checkNames(); err != nil {
			return err
		}
		root := group{fields: from.root.fields()}
		for _, field := range w.more.Fields() {
			name := prefix + field.Name()
			if from.root.child(name) {
				return &NameError{name}
			}
			root.fields = append(root.fields, member{field, name})
		}
		columns := len(from.columns) + len(w.more.Columns())
		w.to = parquet.NewGenericWriter[any](w.out, parquet.NewSchema(from.root.Name, root), parquet.Compression(&parquet.Zstd),
			parquet.CreatedBy("sotto", "", ""), parquet.DataPageVersion(1), parquet.WriteBufferSize(0),
			parquet.PageBufferSize(min(1<<20, max(4<<10, pagesBytes/columns))), withoutBounds(root))
		return nil
	})
	return w, err
}

// A NameError says that a file has a column with the name of a new one.
type NameError struct{ Name string }

func (e *NameError) Error() string { return fmt.Sprintf("the input has a column %s already", e.Name) }

// Write writes the next row, and after its values those of more, a pointer to a
// struct like that of NewWriter.
func (w *Writer) Write(more any) error {
	row, err := w.read.next()
	if err != nil {
		if errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}
		return err
	}
	return safely(func() error {
		for _, v := range row {
			w.bytes += size(v)
		}
		old := len(row)
		w.row = append(w.row[:0], row...)
		w.row = w.more.Deconstruct(w.row, more)
		for i, v := range w.row[old:] {
			w.bytes += size(v)
			w.row[old+i] = v.Level(v.RepetitionLevel(), v.DefinitionLevel(), v.Column()+len(w.from.columns))
		}
		if _, err := w.to.WriteRows([]parquet.Row{w.row}); err != nil {
			return err
		}
		if w.rows++; w.rows < groupRows && w.bytes < w.most {
			return nil
		}
		w.rows, w.bytes = 0, 0
		return w.to.Flush()
	})
}

// Close writes what makes the file whole: without it, no reader takes it for a
// Parquet file. A row that is left over is an error.
func (w *Writer) Close() error {
	if _, err := w.read.next(); !errors.Is(err, io.EOF) {
		return errors.New("rows of the input are missing")
	}
	return safely(func() error {
		if err := w.to.Flush(); err != nil {
			return err
		}
		w.out.shut = true // the footer is our own
		if err := w.to.Close(); err != nil {
			return err
		}
		return w.out.end(w.footer(w.to.File().Metadata()))
	})
}

// footer returns the description of the file: that of the library, with the schema of
// the old columns, and without what was not written.
func (w *Writer) footer(meta *format.FileMetaData) *format.FileMetaData {
	old := len(w.from.meta.Schema)
	added := meta.Schema[old:]
	meta.Schema = slices.Concat(w.from.meta.Schema, added)
	meta.Schema[0].NumChildren.V += int32(len(w.more.Fields()))
	meta.ColumnOrders = nil
	for i := range meta.RowGroups {
		for j := range meta.RowGroups[i].Columns {
			c := &meta.RowGroups[i].Columns[j]
			c.ColumnIndexOffset, c.ColumnIndexLength, c.OffsetIndexOffset, c.OffsetIndexLength = 0, 0, 0, 0
		}
	}
	return meta
}

// A sink is where a Writer writes to.
type sink struct {
	to   *bufio.Writer
	some bool
	shut bool
}

func (s *sink) Write(p []byte) (int, error) {
	if s.shut {
		return len(p), nil
	}
	s.some = s.some || len(p) > 0
	return s.to.Write(p)
}

// end writes the description of the file, and its end.
func (s *sink) end(meta *format.FileMetaData) error {
	footer, err := thrift.Marshal(new(thrift.CompactProtocol), meta)
	if err != nil {
		return err
	}
	if !s.some {
		s.to.WriteString(Magic)
	}
	s.to.Write(footer)
	s.to.Write(binary.LittleEndian.AppendUint32(nil, uint32(len(footer))))
	s.to.WriteString(Magic)
	return s.to.Flush()
}

// checkNames refuses a group with two members of one name: the library finds columns
// by their names.
func (n *node) checkNames() error {
	seen := map[string]bool{}
	for _, child := range n.children {
		if seen[child.Name] {
			return fmt.Errorf("it has column %q twice", child.Name)
		}
		seen[child.Name] = true
		if err := child.checkNames(); err != nil {
			return err
		}
	}
	return nil
}

// child reports whether a group has a member.
func (n *node) child(name string) bool {
	return slices.ContainsFunc(n.children, func(c *node) bool { return c.Name == name })
}

// fields returns the members of a group as the library has them.
func (n *node) fields() []parquet.Field {
	fields := make([]parquet.Field, len(n.children))
	for i, child := range n.children {
		fields[i] = member{child.plain(), child.Name}
	}
	return fields
}

// plain returns a node without what its values stand for.
func (n *node) plain() parquet.Node {
	var plain parquet.Node
	if n.kind == leaf {
		plain = parquet.Encoded(parquet.Leaf(n.physical()), &parquet.Plain)
	} else {
		plain = group{fields: n.fields()}
	}
	switch {
	case n.optional:
		return parquet.Optional(plain)
	case n.repeated:
		return parquet.Repeated(plain)
	}
	return parquet.Required(plain)
}

// physical returns the type of the bytes of a column.
func (n *node) physical() parquet.Type {
	switch n.Type.V {
	case format.Boolean:
		return parquet.BooleanType
	case format.Int32:
		return parquet.Int32Type
	case format.Int64:
		return parquet.Int64Type
	case format.Int96:
		return parquet.Int96Type
	case format.Float:
		return parquet.FloatType
	case format.Double:
		return parquet.DoubleType
	case format.FixedLenByteArray:
		return parquet.FixedLenByteArrayType(int(n.TypeLength.V))
	}
	return parquet.ByteArrayType
}

// A group is a group whose members stay in their order. That of the library sorts
// them.
type group struct {
	parquet.Group
	fields []parquet.Field
}

func (g group) Fields() []parquet.Field { return g.fields }

func (g group) GoType() reflect.Type { return reflect.TypeFor[map[string]any]() }

// A member is a node with a name.
type member struct {
	parquet.Node
	name string
}

func (m member) Name() string { return m.name }

// Value is not called: rows are written as values of columns.
func (m member) Value(base reflect.Value) reflect.Value { return base }

// withoutBounds leaves the smallest and largest values of all columns out.
func withoutBounds(root parquet.Node) parquet.WriterOption {
	config := &parquet.WriterConfig{SkipPageBounds: parquet.NewSchema("", root).Columns()}
	return config
}
