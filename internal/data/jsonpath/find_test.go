package jsonpath

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/sotto-llm/sotto/internal/data/jsontext"
)

func found(t *testing.T, line, path string) ([]string, error) {
	t.Helper()
	steps, err := Parse(path)
	if err != nil {
		t.Fatal(err)
	}
	f := new(Finder)
	if err := f.Find([]byte(line), steps); err != nil {
		return nil, err
	}
	var values []string
	for _, at := range f.Found[0] {
		values = append(values, line[at.Start:at.End])
	}
	return values, nil
}

func TestFind(t *testing.T) {
	for _, tt := range []struct{ line, path, want string }{
		{`{"raw":"a"}`, "raw", `"a"`},
		{` { "x" : [ 1 , {"y":"z"} ] , "raw" : "a" } `, "raw", `"a"`},
		{`{"messages":[{"content":"a"},{"content":"b"}]}`, "messages.-1.content", `"b"`},
		{`{"messages":[{"content":"a"},{"content":"b"}]}`, "messages.-2.content", `"a"`},
		{`{"messages":[{"content":"a"},{"content":"b"}]}`, "messages.1.content", `"b"`},
		{`{"messages":[{"content":"a"}]}`, "messages.-2.content", ""},
		{`{"messages":[]}`, "messages.-1.content", ""},
		{`{"messages":[{"content":"a"},{},{"content":null}]}`, "messages.#.content", `"a" null`},
		{`{"a":{"-1":"x","#":"y"}}`, "a.-1", `"x"`},
		{`{"a":{"-1":"x","#":"y"}}`, "a.#", `"y"`},
		{`{"a.b":"x","a":{"b":"y"}}`, `a\.b`, `"x"`},
		{`{"a.b":"x","a":{"b":"y"}}`, `a.b`, `"y"`},
		{`{"raw":"first","raw":"last"}`, "raw", `"last"`},
		{`{"a":{"b":"first"},"a":{}}`, "a.b", ""},
		{`{"r\u0061w":"a"}`, "raw", `"a"`},
		{`{"raw":{"raw":1}}`, "raw", `{"raw":1}`},
		{`{"x":{"raw":1}}`, "raw", ""},
		{`{"a":[[["x"]]]}`, "a.-1.-1.0", `"x"`},
		{"\ufeff{\"raw\":1}", "raw", "1"},
	} {
		got, err := found(t, tt.line, tt.path)
		if err != nil || strings.Join(got, " ") != tt.want {
			t.Errorf("%s in %s: %v, %v; want %s", tt.path, tt.line, got, err, tt.want)
		}
	}
}

// With EveryFirst, each value of the first path that a line has is found once, in the
// order of the line; the other paths have the last, as before.
func TestFindEvery(t *testing.T) {
	for _, tt := range []struct{ line, path, want string }{
		{`{"raw":"first","x":1,"r\u0061w":"last"}`, "raw", `"first" "last"`},
		{`{"a":{"b":"first"},"a":{}}`, "a.b", `"first"`},
		{`{"a":{"b":1,"b":2},"a":{"b":3},"b":4}`, "a.b", "1 2 3"},
		{`{"m":[{"c":1,"c":2},{"c":3}],"m":[{"c":4}]}`, "m.#.c", "1 2 3 4"},
		{`{"m":[{"c":1},{"c":2,"c":3}],"m":[{"c":4},{"c":5}]}`, "m.-1.c", "2 3 5"},
	} {
		steps, err := Parse(tt.path)
		if err != nil {
			t.Fatal(err)
		}
		f := Finder{EveryFirst: true}
		if err := f.Find([]byte(tt.line), steps, steps); err != nil {
			t.Fatal(err)
		}
		var values []string
		for _, at := range f.Found[0] {
			values = append(values, tt.line[at.Start:at.End])
		}
		if strings.Join(values, " ") != tt.want {
			t.Errorf("%s in %s: %v; want %s", tt.path, tt.line, values, tt.want)
		}
		if last, err := found(t, tt.line, tt.path); err != nil || len(f.Found[1]) != len(last) {
			t.Errorf("%s in %s: the second path has %d values, want %v, %v", tt.path, tt.line, len(f.Found[1]), last, err)
		}
	}
}

func TestFindBroken(t *testing.T) {
	for _, tt := range []struct {
		line string
		at   int
	}{
		{`{"raw":"a"`, 10}, {`{"raw":"a`, 9}, {`{"raw" "a"}`, 7}, {`{"raw":}`, 7},
		{`{"raw":"a"}}`, 11}, {`{"raw":01}`, 8}, {`{"raw":1.}`, 9}, {`{"raw":"\x"}`, 8},
		{"{\"raw\":\"a\x00b\"}", 9}, {"{\"raw\":\"a\tb\"}", 9}, {`{raw:1}`, 1}, {`{"a":1,}`, 7}, {`{"a":[1,]}`, 8},
		{`nonsense`, 0}, {`{"a":"\u12g4"}`, 6}, {`{"a":` + strings.Repeat("[", 1001), 5 + 999}, {`{"a":` + strings.Repeat("[", 999) + `x`, 5 + 999},
	} {
		_, err := found(t, tt.line, "raw")
		var syntax *SyntaxError
		if !errors.As(err, &syntax) || syntax.at != tt.at {
			t.Errorf("%.40s: %v, want an error at byte %d", tt.line, err, tt.at)
		}
	}
	for _, line := range []string{`[1]`, `"a"`, `1`, `null`, ` [ ] `} {
		if _, err := found(t, line, "raw"); !errors.Is(err, errNoObject) {
			t.Errorf("%s: %v, want %v", line, err, errNoObject)
		}
	}
}

func TestParsePath(t *testing.T) {
	for _, path := range []string{"", ".", "a.", ".a", "a..b"} {
		if _, err := Parse(path); err == nil {
			t.Errorf("path %q gave no error", path)
		}
	}
}

// FuzzFind compares the finder with encoding/json: it accepts the same objects, and
// the texts that it finds and quotes are the same.
func FuzzFind(f *testing.F) {
	for _, line := range []string{
		`{"raw":"a\u00e9\ud83d\ude00\ud800"}`, `{"a":[1,-0.5e+3,true,false,null,{"b":{}}],"raw":"x\n"}`,
		`{"raw":"12345678\"90"}`, `{}`, `{"a":01}`, "{\"raw\":\"\xff\"}", `{"raw":"` + strings.Repeat("long text ", 9) + `"}`,
	} {
		f.Add([]byte(line))
	}
	path, _ := Parse("raw")
	f.Fuzz(func(t *testing.T, line []byte) {
		if strings.Count(string(line), "[")+strings.Count(string(line), "{") > maxDepth || strings.HasPrefix(string(line), "\ufeff") {
			t.Skip()
		}
		var fd Finder
		err := fd.Find(line, path)
		if errors.Is(err, errNoObject) {
			return // text after the value is ignored
		}
		if valid := json.Valid(line); valid != (err == nil) {
			t.Fatalf("valid %v, but the finder says %v", valid, err)
		}
		if err != nil || len(fd.Found[0]) == 0 || !utf8.Valid(line) {
			return
		}
		quoted := line[fd.Found[0][0].Start:fd.Found[0][0].End]
		var want, back string
		if quoted[0] != '"' || json.Unmarshal(quoted, &want) != nil {
			return
		}
		if got := jsontext.Unquote(quoted); got != want {
			t.Fatalf("unquoted %q, want %q", got, want)
		}
		if err := json.Unmarshal(jsontext.AppendString(nil, want), &back); err != nil || back != want {
			t.Fatalf("quoted again %q, %v; want %q", back, err, want)
		}
	})
}
