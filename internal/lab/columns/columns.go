// Package columns puts what a command found in the reply of a record beside the
// members of the record: as JSON Lines, or in a Parquet file.
package columns

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"
	"sync"

	"github.com/tidwall/gjson"

	"github.com/sotto-llm/sotto/internal/data/batch"
	"github.com/sotto-llm/sotto/internal/data/foreignjson"
	"github.com/sotto-llm/sotto/internal/data/jsonpath"
	"github.com/sotto-llm/sotto/internal/data/jsontext"
	"github.com/sotto-llm/sotto/internal/lab/parquetfile"
)

// A Set is the new members of a command, and the prefix of their names. It is safe
// for concurrent use.
type Set struct {
	prefix  string
	columns reflect.Type // a struct with their types
	paths   [][]jsonpath.Step
	names   []string
	finders sync.Pool
}

// NewSet returns a set. Each of columns is one of the structs of this package.
func NewSet(prefix string, columns ...any) (*Set, error) {
	if strings.TrimSpace(prefix) == "" {
		return nil, errors.New("a prefix without a letter could hide the record's own members")
	}
	s := &Set{prefix: prefix}
	var fields []reflect.StructField
	for _, c := range columns {
		fields = append(fields, reflect.VisibleFields(reflect.TypeOf(c).Elem())...)
	}
	// One struct without embedded ones, in which the library takes an empty text or
	// false for a value that is missing.
	s.columns = reflect.StructOf(fields)
	for _, field := range fields {
		name := prefix + field.Tag.Get("json")
		s.names = append(s.names, name)
		s.paths = append(s.paths, []jsonpath.Step{{Name: name}})
	}
	s.finders.New = func() any { return new(jsonpath.Finder) }
	return s, nil
}

// Check returns an error if a line is not a record to which the members can be
// added: it is not a JSON object, or has a member of such a name.
func (s *Set) Check(line []byte) error {
	f := s.finders.Get().(*jsonpath.Finder)
	defer s.finders.Put(f)
	if err := f.Find(line, s.paths...); err != nil {
		return err
	}
	for i, name := range s.names {
		if f.Last(i) != nil {
			return fmt.Errorf("the record has a member %s already: choose another --column-prefix", name)
		}
	}
	return nil
}

// Checked returns f for lines that Check accepts. The line of another record is an
// object with the error. A set that is nil accepts all.
func (s *Set) Checked(f batch.LineFunc) batch.LineFunc {
	if s == nil {
		return f
	}
	return func(dst, line, end []byte, at batch.Place) ([]byte, error) {
		if batch.Blank(line) {
			return dst, nil
		}
		if err := s.Check(line); err != nil {
			return batch.AppendError(dst, at, err), err
		}
		return f(dst, line, end, at)
	}
}

// Merge returns the function that processes one line of JSON Lines: what f appends
// for a record, an object on a line, becomes the new members of the record. An object
// for a line that is not such a record stays as it is.
func (s *Set) Merge(f batch.LineFunc) batch.LineFunc {
	return func(dst, line, end []byte, at batch.Place) ([]byte, error) {
		begin := len(dst)
		dst, err := f(dst, line, end, at)
		if len(dst) == begin || s.Check(line) != nil {
			return dst, err
		}
		object := bytes.Clone(dst[begin:])
		return append(s.append(dst[:begin], line, object), '\n'), err
	}
}

// append appends a record with the members of an object.
func (s *Set) append(dst, record, object []byte) []byte {
	record = bytes.TrimSpace(record)
	record = bytes.TrimRight(record[:len(record)-1], " \t\r\n")
	dst = append(dst, record...)
	some := len(record) > 1
	v, err := foreignjson.Parse(object)
	if err != nil { // a command wrote it
		panic(fmt.Sprintf("unreachable: %v: %s", err, object))
	}
	v.ForEach(func(key, value gjson.Result) bool {
		if isOfLine(key.String()) {
			return true
		}
		if some {
			dst = append(dst, ',')
		}
		dst = append(jsontext.AppendVerbatim(dst, s.prefix+key.String()), ':')
		dst, some = append(dst, value.Raw...), true
		return true
	})
	return append(dst, '}')
}

// isOfLine reports whether a member of an object says which line it belongs to.
func isOfLine(name string) bool { return name == "v" || name == "id" || name == "line" }

// A Parquet writes the rows of a Parquet file with the new columns. What is written
// to it are the objects for the rows, each on a line, in their order.
type Parquet struct {
	set  *Set
	to   *parquetfile.Writer
	rest []byte // a line without its end
}

// NewParquet returns a writer of a Parquet file. The rows are read by somebody else, each
// before its object comes.
func (s *Set) NewParquet(to io.Writer, rows *parquetfile.File) (*Parquet, error) {
	w, err := parquetfile.NewWriter(to, rows, reflect.New(s.columns).Interface(), s.prefix)
	var taken *parquetfile.NameError
	if errors.As(err, &taken) {
		err = fmt.Errorf("%w: choose another --column-prefix", err)
	}
	if err != nil {
		return nil, err
	}
	return &Parquet{set: s, to: w}, nil
}

func (p *Parquet) Write(lines []byte) (int, error) {
	rest, err := eachLine(p.rest, lines, p.row)
	p.rest = rest
	return len(lines), err
}

// eachLine calls do for each line. rest is what there is of the first one, and it returns
// what there is of a line that has no end yet.
func eachLine(rest, lines []byte, do func(line []byte) error) ([]byte, error) {
	for len(lines) > 0 {
		line, after, whole := bytes.Cut(lines, []byte("\n"))
		lines = after
		if !whole {
			return append(rest, line...), nil
		}
		if len(rest) > 0 {
			rest = append(rest, line...)
			line = rest
		}
		if err := do(line); err != nil {
			return nil, err
		}
		rest = rest[:0]
	}
	return rest, nil
}

// row writes a row with what its object says.
func (p *Parquet) row(object []byte) error {
	columns := reflect.New(p.set.columns).Interface()
	if err := json.Unmarshal(object, columns); err != nil {
		return fmt.Errorf("parquet: %w", err)
	}
	if err := p.to.Write(columns); err != nil {
		return fmt.Errorf("parquet: %w", err)
	}
	return nil
}

// Close ends the file. If whole is not set, it stays a file that nobody can read as
// Parquet.
func (p *Parquet) Close(whole bool) error {
	if !whole {
		return nil
	}
	if err := p.to.Close(); err != nil {
		return fmt.Errorf("parquet: %w", err)
	}
	return nil
}
