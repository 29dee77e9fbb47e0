package parquetfile

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"
)

var tableColumns = []Column{{"z", Text}, {"a", Integer}, {"m", Real}, {"b", Truth}, {"t", Time}}

// A table is what was written, in groups of a bounded size, and its columns keep
// their order.
func TestTable(t *testing.T) {
	var file bytes.Buffer
	w := NewTable(&file, tableColumns)
	w.most = 64 << 10
	at := time.Date(2026, 11, 23, 1, 2, 3, 456789012, time.FixedZone("", 3600))
	text := func(i int) string { return strings.Repeat(fmt.Sprint("é ", i), 200) }
	for i := range 500 {
		if i%7 == 0 {
			for range tableColumns {
				w.Null()
			}
		} else {
			w.Text(text(i))
			w.Integer(int64(i) - 250)
			w.Real(float64(i) / 8)
			w.Truth(i%2 == 0)
			w.Time(at)
		}
		if err := w.End(); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	r, err := Open(bytes.NewReader(file.Bytes()), int64(file.Len()), 64<<20)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if n := len(r.meta.RowGroups); n < 5 {
		t.Errorf("%d groups", n)
	}
	for i := range 500 {
		want := `{"z":null,"a":null,"m":null,"b":null,"t":null}`
		if i%7 != 0 {
			want = fmt.Sprintf(`{"z":"%s","a":%d,"m":%v,"b":%v,"t":"2026-11-23T00:02:03.456789Z"}`, text(i), i-250, float64(i)/8, i%2 == 0)
		}
		if row, err := r.AppendNext(nil); err != nil || string(row) != want {
			t.Fatalf("row %d: %v\n%s\n%s", i, err, row, want)
		}
	}
	if _, err := r.AppendNext(nil); !errors.Is(err, io.EOF) {
		t.Errorf("after the last row: %v", err)
	}
}

func TestTableWithoutRows(t *testing.T) {
	var file bytes.Buffer
	if err := NewTable(&file, tableColumns).Close(); err != nil {
		t.Fatal(err)
	}
	r, err := Open(bytes.NewReader(file.Bytes()), int64(file.Len()), 64<<20)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if _, err := r.AppendNext(nil); !errors.Is(err, io.EOF) {
		t.Errorf("got %v", err)
	}
}

func TestTableShortRow(t *testing.T) {
	w := NewTable(io.Discard, tableColumns)
	w.Null()
	if err := w.End(); err == nil || !strings.Contains(err.Error(), "a row of 1 values for 5 columns") {
		t.Errorf("got %v", err)
	}
}
