package inputfiles

import (
	"bufio"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"
)

// TestArrayReader feeds arrays cut into pieces of every kind, and checks that their
// elements come out as lines.
func TestArrayReader(t *testing.T) {
	for _, test := range []struct{ array, want, err string }{
		{"[]", "", ""},
		{" [ ] \n", "", ""},
		{`[{"a":1},{"b":[2,{"c":"]\",[\\"}]}]`, "{\"a\":1}\n{\"b\":[2,{\"c\":\"]\\\",[\\\\\"}]}\n", ""},
		{"\ufeff[\n  {\n    \"a\": 1\n  },\n  {}\n]\n", "{     \"a\": 1   }\n{} \n", ""},
		{"[1,,2]", "1\n,\n2\n", ""},
		{"[1,]", "1\n,\n", ""},
		{"[\"a\nb\"]", "\"a\x00b\"\n", ""},
		{"[{}}},1]", "{}}}\n1\n", ""},
		{"[1] 2", "1\n", "there is text after the array"},
		{"[1,2", "1\n2", "the array does not end"},
	} {
		for name, wrap := range map[string]func(io.Reader) io.Reader{
			"whole": func(r io.Reader) io.Reader { return r }, "one byte": iotest.OneByteReader, "half": iotest.HalfReader, "data+err": iotest.DataErrReader,
		} {
			r := bufio.NewReader(wrap(strings.NewReader(test.array)))
			if !startsArray(r) {
				t.Errorf("%q is not seen as an array", test.array)
			}
			got, err := io.ReadAll(iotest.OneByteReader(&arrayReader{from: r}))
			if string(got) != test.want && !(test.err != "" && strings.HasPrefix(test.want, string(got))) || fmt.Sprint(err) != test.err && (err != nil || test.err != "") {
				t.Errorf("%s: %q gives %q, %v, want %q, %s", name, test.array, got, err, test.want, test.err)
			}
		}
	}
}
