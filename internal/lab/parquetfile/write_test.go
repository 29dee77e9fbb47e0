package parquetfile

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/deprecated"
	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"
)

// found is what a test puts beside each row.
type found struct {
	Answer *string `parquet:"answer,optional"`
	Spans  []span  `parquet:"spans,list"`
	OK     *bool   `parquet:"ok,optional"`
}

type span struct {
	Start int64   `parquet:"start"`
	Why   *string `parquet:"why,optional"`
}

const prefix = "x_"

// beside writes a file with the columns of found for each row, of which every third
// has none.
func beside(data []byte, rows int) ([]byte, error) { return besideIn(data, rows, groupBytes) }

func besideIn(data []byte, rows, most int) ([]byte, error) {
	f, err := Open(bytes.NewReader(data), int64(len(data)), 64<<20)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var out bytes.Buffer
	w, err := NewWriter(&out, f, new(found), prefix)
	if err != nil {
		return nil, err
	}
	w.most = most
	for err = nil; err == nil; {
		_, err = f.AppendNext(nil)
	}
	if err != io.EOF {
		return nil, err
	}
	for i := range rows {
		if err := w.Write(foundIn(i)); err != nil {
			return out.Bytes(), err
		}
	}
	err = w.Close()
	return out.Bytes(), err
}

func foundIn(i int) *found {
	if i%3 == 2 {
		return new(found)
	}
	yes := i%2 == 0
	return &found{Answer: text(fmt.Sprint("a", i)), Spans: []span{{Start: int64(i)}, {Why: text("w")}}, OK: &yes}
}

func foundJSON(i int) string {
	if i%3 == 2 {
		return `"x_answer":null,"x_spans":[],"x_ok":null`
	}
	return fmt.Sprintf(`"x_answer":"a%d","x_spans":[{"start":%d,"why":null},{"start":0,"why":"w"}],"x_ok":%t`, i, i, i%2 == 0)
}

// sameBeside checks that a file with more columns has the old ones as they were, and
// the new ones after them.
func sameBeside(t *testing.T, name string, data []byte) {
	t.Helper()
	before, err := readAll(data)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	rows := strings.Split(strings.TrimSuffix(before, "\n"), "\n")
	if before == "" {
		rows = nil
	}
	out, err := beside(data, len(rows))
	if err != nil {
		t.Errorf("%s: %v", name, err)
		return
	}
	after, err := readAll(out)
	if err != nil {
		t.Errorf("%s: what was written: %v", name, err)
		return
	}
	var want strings.Builder
	for i, row := range rows {
		fmt.Fprintf(&want, "%s,%s}\n", strings.TrimSuffix(row, "}"), foundJSON(i))
	}
	if after != want.String() {
		t.Errorf("%s:\n%s\nwant\n%s", name, after, want.String())
	}
	old, now := footerOf(t, data), footerOf(t, out)
	if got := now.Schema[1:len(old.Schema)]; !reflect.DeepEqual(got, old.Schema[1:]) {
		t.Errorf("%s: the old columns are\n%+v\nwant\n%+v", name, got, old.Schema[1:])
	}
	for _, g := range now.RowGroups {
		for _, c := range g.Columns {
			if s := c.MetaData.Statistics; s.MinValue != nil || s.MaxValue != nil || c.ColumnIndexOffset != 0 || c.OffsetIndexOffset != 0 {
				t.Errorf("%s: column %v has bounds or an index", name, c.MetaData.PathInSchema)
			}
		}
	}
}

func footerOf(t *testing.T, data []byte) *format.FileMetaData {
	t.Helper()
	meta, err := readFooter(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		t.Fatal(err)
	}
	return meta
}

// odd has types that are rare, or that only older writers have.
type odd struct {
	Zulu     deprecated.Int96 `parquet:"zulu"`
	Alpha    [16]byte         `parquet:"alpha,uuid"`
	Clock    int64            `parquet:"clock,time(microsecond)"`
	At       int64            `parquet:"at,timestamp(nanosecond)"`
	Kind     string           `parquet:"kind,enum"`
	Note     string           `parquet:"note,json"`
	Wide     [16]byte         `parquet:"wide,decimal(3:38)"`
	Half     [2]byte          `parquet:"half"`
	Interval [12]byte         `parquet:"interval"`
	Small    uint8            `parquet:"small"`
	Float    *float32         `parquet:"float,optional"`
	Flags    []bool           `parquet:"flags"`
	Maybe    *struct {
		Deep *struct {
			Tags map[string][]*int64 `parquet:"tags,optional"`
		} `parquet:"deep,optional"`
	} `parquet:"maybe,optional"`
}

// oddRows returns a file with types that the library writes, and with two that it
// does not know.
func oddRows(t *testing.T) []byte {
	rows := make([]odd, 5)
	for i := range rows {
		r := &rows[i]
		r.Zulu, r.Alpha[3], r.Clock, r.At, r.Kind, r.Note = deprecated.Int96{1, 2, 2440589}, byte(i), int64(i), -1, "k", `{"a":1}`
		r.Wide[0], r.Half[1], r.Interval[11], r.Small, r.Flags = 0xff, 0x3c, 9, 200, make([]bool, i)
		if i == 2 {
			f, n := float32(0.5), int64(-7)
			r.Float, r.Maybe = &f, &struct {
				Deep *struct {
					Tags map[string][]*int64 `parquet:"tags,optional"`
				} `parquet:"deep,optional"`
			}{}
			r.Maybe.Deep = &struct {
				Tags map[string][]*int64 `parquet:"tags,optional"`
			}{map[string][]*int64{"n": {&n}}}
		}
	}
	data := write(t, rows)
	meta := footerOf(t, data)
	for i := range meta.Schema {
		s := &meta.Schema[i]
		s.FieldID = int32(i)
		switch s.Name {
		case "half":
			s.LogicalType.Value = &format.Float16Type{}
		case "interval":
			s.ConvertedType = thrift.New(deprecated.Interval)
		case "small":
			s.LogicalType.Value = nil // only the older name of the type
		}
	}
	footer, err := thrift.Marshal(new(thrift.CompactProtocol), meta)
	if err != nil {
		t.Fatal(err)
	}
	data = append(data[:len(data)-8-int(binary.LittleEndian.Uint32(data[len(data)-8:]))], footer...)
	return append(binary.LittleEndian.AppendUint32(data, uint32(len(footer))), Magic...)
}

// TestWrite: the old columns are as they were, in value, order, type and every other
// thing that their file says of them, and the new ones follow.
func TestWrite(t *testing.T) {
	for name, codec := range codecs {
		for _, options := range [][]parquet.WriterOption{nil, {parquet.MaxRowsPerRowGroup(1)}, {parquet.PageBufferSize(1)}} {
			sameBeside(t, name, write(t, sample, append(options, parquet.Compression(codec))...))
		}
	}
	sameBeside(t, "no rows", write(t, []row{}))
	sameBeside(t, "rare types", oddRows(t))
}

// TestWriteGroups: a long file is written in row groups, so that memory does not grow
// with it, and rows whose lists span pages stay whole.
func TestWriteGroups(t *testing.T) {
	type row struct {
		Texts []string `parquet:"texts,list"`
	}
	rows := make([]row, 40)
	for i := range rows {
		for j := range i % 5 {
			rows[i].Texts = append(rows[i].Texts, strings.Repeat(fmt.Sprint(i, j), 5000))
		}
	}
	data := write(t, rows, parquet.PageBufferSize(8<<10), parquet.Compression(&parquet.Snappy))
	out, err := besideIn(data, len(rows), 800_000)
	if err != nil {
		t.Fatal(err)
	}
	if got := len(footerOf(t, out).RowGroups); got != 2 { // of 1.3 MB
		t.Errorf("%d row groups", got)
	}
	before, err := readAll(data)
	if err != nil {
		t.Fatal(err)
	}
	after, err := readAll(out)
	if err != nil {
		t.Fatal(err)
	}
	for i, line := range strings.Split(strings.TrimSuffix(after, "\n"), "\n") {
		old, _, _ := strings.Cut(before, "\n")
		before = before[len(old)+1:]
		if line != fmt.Sprintf("%s,%s}", strings.TrimSuffix(old, "}"), foundJSON(i)) {
			t.Fatalf("row %d differs", i)
		}
	}
}

// TestWriteFaults: a name that is taken is refused, and a file that is not whole is
// not readable.
func TestWriteFaults(t *testing.T) {
	type taken struct {
		Raw    string `parquet:"raw"`
		Answer string `parquet:"x_answer"`
	}
	var name *NameError
	if _, err := beside(write(t, []taken{{}}), 1); !errors.As(err, &name) || name.Name != "x_answer" {
		t.Errorf("a name that is taken: %v", err)
	}
	data := write(t, sample)
	if out, err := beside(data, len(sample)-1); err == nil || !strings.Contains(err.Error(), "rows of the input are missing") {
		t.Errorf("a row is left over: %v", err)
	} else if _, err := readAll(out); err == nil {
		t.Error("a file that was not closed can be read")
	}
	if _, err := beside(data, len(sample)+1); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("one row more than there are: %v", err)
	}
}
