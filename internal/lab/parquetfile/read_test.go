package parquetfile

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"runtime"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/compress"
)

type message struct {
	Role    string  `parquet:"role,dict"`
	Content *string `parquet:"content,optional"`
}

type row struct {
	ID       int64             `parquet:"id"`
	Score    *float64          `parquet:"score,optional"`
	OK       bool              `parquet:"ok"`
	Messages []message         `parquet:"messages,list"`
	Tags     []string          `parquet:"tags,list"`
	Deep     [][]int32         `parquet:"deep,list"`
	Meta     map[string]string `parquet:"meta"`
	Day      int32             `parquet:"day,date"`
	Price    int64             `parquet:"price,decimal(2:18)"`
	Binary   []byte            `parquet:"binary"`
	Big      uint64            `parquet:"big"`
}

func text(s string) *string { return &s }

var sample = []row{
	{ID: 1, OK: true, Messages: []message{{"user", text("2+3?")}, {"assistant", text("<think>\"5\"\n</think>5")}}, Tags: []string{"a", ""}, Deep: [][]int32{{1, 2}, {}, {3}}, Meta: map[string]string{"k": "v"}, Day: 19000, Price: -5, Binary: []byte{0xff}, Big: 1 << 63},
	{ID: 2},
	{ID: 3, Messages: []message{{"assistant", nil}}},
}

const sampleJSON = `{"id":1,"score":null,"ok":true,"messages":[{"role":"user","content":"2+3?"},{"role":"assistant","content":"<think>\"5\"\n</think>5"}],"tags":["a",""],"deep":[[1,2],[],[3]],"meta":{"k":"v"},"day":"2022-01-08","price":-0.05,"binary":"/w==","big":9223372036854775808}
{"id":2,"score":null,"ok":false,"messages":[],"tags":[],"deep":[],"meta":{},"day":"1970-01-01","price":0.00,"binary":"","big":0}
{"id":3,"score":null,"ok":false,"messages":[{"role":"assistant","content":null}],"tags":[],"deep":[],"meta":{},"day":"1970-01-01","price":0.00,"binary":"","big":0}
`

func write[T any](t testing.TB, rows []T, options ...parquet.WriterOption) []byte {
	t.Helper()
	var b bytes.Buffer
	w := parquet.NewGenericWriter[T](&b, options...)
	if _, err := w.Write(rows); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func readAll(data []byte) (string, error) {
	f, err := Open(bytes.NewReader(data), int64(len(data)), 64<<20)
	if err != nil {
		return "", err
	}
	defer f.Close()
	var out []byte
	for {
		if out, err = f.AppendNext(out); err != nil {
			if errors.Is(err, io.EOF) {
				return string(out), nil
			}
			return string(out), err
		}
		out = append(out, '\n')
	}
}

var codecs = map[string]compress.Codec{
	"plain": &parquet.Uncompressed, "snappy": &parquet.Snappy, "zstd": &parquet.Zstd, "gzip": &parquet.Gzip, "brotli": &parquet.Brotli, "lz4": &parquet.Lz4Raw,
}

// TestRead reads the same rows from files of every compression and both versions of
// pages, in one row group and in one for each row, and with pages of one value.
func TestRead(t *testing.T) {
	for name, codec := range codecs {
		for version := range 2 {
			for _, options := range [][]parquet.WriterOption{nil, {parquet.MaxRowsPerRowGroup(1)}, {parquet.PageBufferSize(1)}} {
				data := write(t, sample, append(options, parquet.Compression(codec), parquet.DataPageVersion(version+1))...)
				if got, err := readAll(data); err != nil || got != sampleJSON {
					t.Errorf("%s, v%d: %v\n%s", name, version+1, err, got)
				}
			}
		}
	}
}

// TestRowsInPages: rows whose lists span pages stay whole.
func TestRowsInPages(t *testing.T) {
	type row struct {
		Texts []string `parquet:"texts,list"`
	}
	var rows []row
	var want strings.Builder
	for i := range 50 {
		var r row
		for j := range i * 7 % 40 {
			r.Texts = append(r.Texts, strings.Repeat(fmt.Sprint(i, j, " "), 20))
		}
		rows = append(rows, r)
		quoted := ""
		if len(r.Texts) > 0 {
			quoted = `"` + strings.Join(r.Texts, `","`) + `"`
		}
		fmt.Fprintf(&want, "{\"texts\":[%s]}\n", quoted)
	}
	got, err := readAll(write(t, rows, parquet.PageBufferSize(500), parquet.Compression(&parquet.Zstd)))
	if err != nil || got != want.String() {
		t.Errorf("%v\n%s", err, got)
	}
}

// TestHostile: a file that is damaged anywhere ends in an error or in other rows,
// never in a panic. Most of the files that are cut off are errors.
func TestHostile(t *testing.T) {
	for name, codec := range codecs {
		for version := range 2 {
			data := write(t, sample, parquet.Compression(codec), parquet.DataPageVersion(version+1))
			random := rand.New(rand.NewPCG(1, uint64(version)))
			for range 100 {
				broken := bytes.Clone(data)
				for range 1 + random.IntN(4) {
					broken[4+random.IntN(len(broken)-12)] ^= 1 << random.IntN(8)
				}
				readAll(broken)
			}
			for cut := 0; cut < len(data); cut += 3 {
				if got, err := readAll(data[:cut]); err == nil {
					t.Fatalf("%s: a file cut at %d of %d gives %q", name, cut, len(data), got)
				}
			}
		}
	}
}

// TestFooterBounds: footers that say that they are long, deep or have many parts.
func TestFooterBounds(t *testing.T) {
	for _, test := range []struct {
		footer []byte
		want   string
	}{
		{nil, "cut off"},
		{bytes.Repeat([]byte{0x1c}, 1<<20), "nests too deep"},                                            // structs in structs
		{bytes.Repeat([]byte{0x19}, 1<<20), "nests too deep"},                                            // lists
		{[]byte{0x29, 0xfc, 0xff, 0xff, 0xff, 0xff, 0x07, 0}, "corrupt or cut off"},                      // a list of 2 147 483 647 structs
		{append([]byte{0x29, 0xfc, 0x80, 0x80, 0x40}, make([]byte, 1<<20)...), "more than 500"},          // a list of 1,048,576 empty structs
		{append([]byte{0x48, 0xff, 0xff, 0xff, 0xff, 0x07}, make([]byte, 100)...), "corrupt or cut off"}, // a text of 2 GiB
	} {
		file := append([]byte(Magic), test.footer...)
		file = binary.LittleEndian.AppendUint32(file, uint32(len(test.footer)))
		file = append(file, Magic...)
		if _, err := readAll(file); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%.20x: %v, want %s", test.footer, err, test.want)
		}
	}
}

// TestBombs: pages that stand for far more than their bytes are errors, before they
// take memory.
func TestBombs(t *testing.T) {
	rle := func(count uint64) []byte { return binary.AppendUvarint(nil, count<<1) }
	for name, err := range map[string]error{
		"a run":          checkRuns(append(rle(1<<40), 1), 1, 10),
		"many runs":      checkRuns(bytes.Repeat(append(rle(1<<20), 1), 100), 1, 1<<20),
		"indexes":        checkValues(append([]byte{1}, append(rle(1<<30), 1)...), 8, 10, &node{}),
		"deltas":         checkValues([]byte{0x80, 1, 4, 0xff, 0xff, 0xff, 0x7f, 0}, 5, 10, &node{}),
		"shared affixes": checkValues(nil, 7, 10, &node{}),
	} {
		if err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	if err := checkRuns(append(rle(8), 1), 1, 8); err != nil {
		t.Error(err)
	}
	// A page that decompresses to more than its header says.
	data := write(t, []struct{ A string }{{strings.Repeat("x", 1<<20)}}, parquet.Compression(&parquet.Zstd))
	for name, codec := range codecs {
		packed, err := codec.Encode(nil, make([]byte, 4<<20))
		if err != nil {
			t.Fatal(err)
		}
		c := &chunk{f: &File{}, codec: codec.CompressionCodec()}
		if _, err := c.unpack(packed, 1000); err == nil && name != "plain" {
			t.Errorf("%s: 4 MiB pass for 1,000 bytes", name)
		}
	}
	if got, err := readAll(data); err != nil || len(got) < 1<<20 {
		t.Error(err)
	}
}

// TestMemory: the bytes that are held do not grow with the file, in one row group or
// in many.
func TestMemory(t *testing.T) {
	type row struct {
		ID   int64  `parquet:"id"`
		Text string `parquet:"text,zstd"`
	}
	most := func(n int, options ...parquet.WriterOption) (most uint64) {
		random := rand.New(rand.NewPCG(1, 2))
		rows := make([]row, n)
		for i := range rows {
			rows[i] = row{int64(i), strings.Repeat(fmt.Sprint(random.Uint64()), 100)}
		}
		data := write(t, rows, append(options, parquet.PageBufferSize(64<<10))...)
		rows = nil
		held := func() uint64 {
			runtime.GC()
			runtime.GC() // the second one empties pools
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			return m.HeapAlloc
		}
		before := held()
		f, err := Open(bytes.NewReader(data), int64(len(data)), 64<<20)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		var out []byte
		for i := 0; ; i++ {
			if out, err = f.AppendNext(out[:0]); err == io.EOF {
				return most
			} else if err != nil {
				t.Fatal(err)
			}
			if i%(n/10) == n/20 {
				now := held()
				most = max(most, now-min(now, before))
			}
		}
	}
	for name, options := range map[string][]parquet.WriterOption{"one group": nil, "many groups": {parquet.MaxRowsPerRowGroup(500)}} {
		small, large := most(1000, options...), most(10_000, options...) // 2 and 20 MB of text
		if large > small+1<<20 {
			t.Errorf("%s: %d bytes held for 1,000 rows, %d for 10,000", name, small, large)
		}
	}
}
