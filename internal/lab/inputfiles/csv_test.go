package inputfiles

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/sotto-llm/sotto/internal/data/batch"
)

// TestCSV reads files cut into pieces of every kind, and checks the lines.
func TestCSV(t *testing.T) {
	for _, test := range []struct{ file, want, err string }{
		{"id,raw\n1,a\n2,b", `{"id":"1","raw":"a"}|{"id":"2","raw":"b"}|`, ""},
		{"\ufeffid,raw\r\n1,a\r\n", `{"id":"1","raw":"a"}|`, ""},
		{"\ufeff\"id\",raw\n1,\"a \"\"b\"\", c\nd\"\n", `{"id":"1","raw":"a \"b\", c\nd"}|`, ""},
		{"a\n<think>\\\t\"x\n", faultMark + "parse error on line 2, column 10: bare \" in non-quoted-field|", ""},
		{"id,raw\n1\n2,b,c\n\n3,c\n", faultMark + "line 2: the number of fields is 1, and that of the header row 2|" + faultMark + "line 3: the number of fields is 3, and that of the header row 2|" + `{"id":"3","raw":"c"}|`, ""},
		{"id,raw\n1,\"a\nb\"x\n2,b\n", faultMark + "record on line 2; parse error on line 3, column 2: extraneous or missing \" in quoted-field|" + `{"id":"2","raw":"b"}|`, ""},
		{"id,raw\n1,a\n2,\"b\n3,c\n", `{"id":"1","raw":"a"}|` + faultMark + "record on line 3; parse error on line 4, column 5: extraneous or missing \" in quoted-field|", ""},
		{"", "", "csv: there is no header row"},
		{"a,b,a\n1,2,3\n", "", `csv: the header row has column "a" twice`},
		{"a,\"b\n", "", "csv: the header row: parse error on line 1, column 6: extraneous or missing \" in quoted-field"},
		{strings.Repeat(",", maxCSVColumns) + "\n", "", "csv: the header row has 10001 columns, and 10000 are the most"},
	} {
		for name, wrap := range map[string]func(io.Reader) io.Reader{
			"whole": func(r io.Reader) io.Reader { return r }, "one byte": iotest.OneByteReader, "data+err": iotest.DataErrReader,
		} {
			s, err := Open(Input{Reader: wrap(strings.NewReader(test.file)), Name: "-"}, Settings{Format: CSV})
			var got []byte
			if err == nil {
				got, err = io.ReadAll(iotest.OneByteReader(s))
			}
			if lines := strings.ReplaceAll(string(got), "\n", "|"); lines != test.want || fmt.Sprint(err) != test.err && (err != nil || test.err != "") {
				t.Errorf("%s: %q gives %q, %v, want %q, %s", name, test.file, lines, err, test.want, test.err)
			}
		}
	}
}

// faultMark begins the lines of faults.
var faultMark = strings.TrimSuffix(string(batch.AppendFault(nil, errors.New(""))), "\n")

// TestCSVRoom: a quote without an end does not take in a file of any length. The bound is
// that of one row, not of the file. After the row that is too long, the next line is read,
// with its number.
func TestCSVRoom(t *testing.T) {
	const most = 1 << 20
	row := "x," + strings.Repeat("y", most/4) + "\n"
	text := "a,b\n" + strings.Repeat(row, 8) + `1,"` + strings.Repeat("0", 5*most) + "\n2,z\n3\n"
	s, err := Open(Input{Reader: strings.NewReader(text), Name: "big.csv"}, Settings{Format: Auto, MaxLine: most})
	if err != nil {
		t.Fatal(err)
	}
	var faults []string
	rows := 0
	for {
		line, err := batch.NextLine(s.Reader, most)
		if err != nil {
			if err != io.EOF {
				t.Error(err)
			}
			break
		}
		if err := s.Fault(line); err != nil {
			faults = append(faults, err.Error())
		} else if rows++; rows > 8 && string(line) != `{"a":"2","b":"z"}`+"\n" {
			t.Errorf("%.100q", line)
		}
	}
	want := "[the row after line 9 is longer than 1MiB: a quote may not end; --max-line raises the bound line 12: the number of fields is 1, and that of the header row 2]"
	if got := fmt.Sprint(faults); rows != 9 || got != want {
		t.Errorf("%d rows, faults %s, want %s", rows, got, want)
	}
}

// TestFormats: the content says what an array is, the name what CSV is, and a format
// that is given is not questioned.
func TestFormats(t *testing.T) {
	for _, test := range []struct {
		name, file string
		format     Format
		unit, want string
	}{
		{"x.jsonl", "{}\n", Auto, "line", "{}\n"},
		{"x.txt", " [{}, {}]", Auto, "element", "{}\n{}\n"},
		{"x.txt", "[{}]", Lines, "line", "[{}]"},
		{"x.CSV", "[a]\n1\n", Auto, "row", "{\"[a]\":\"1\"}\n"},
		{"x.csv.gz", "a\n1\n", Auto, "row", "{\"a\":\"1\"}\n"},
		{"x.csv", "[1]", Array, "element", "1\n"},
		{"x", "a\n1\n", CSV, "row", "{\"a\":\"1\"}\n"},
	} {
		s, err := Open(Input{Reader: strings.NewReader(test.file), Name: test.name}, Settings{Format: test.format})
		if err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(s)
		if err != nil || string(got) != test.want || s.Unit != test.unit {
			t.Errorf("%s, %q: %q, %s, %v", test.name, test.file, got, s.Unit, err)
		}
	}
	lines, _ := Open(Input{Reader: strings.NewReader("\x00spoofed\n"), Name: "x"}, Settings{Format: Auto})
	if err := lines.Fault([]byte("\x00spoofed")); err != nil {
		t.Errorf("a line of JSON Lines is taken for the fault %q", err)
	}
}
