package jsontext_test

import (
	"bytes"
	"encoding/json"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/sotto-llm/sotto/internal/data/jsontext"
)

var unbounded = jsontext.Limits{Depth: 100_000, Members: math.MaxInt}

// TestValue: the end of a value, or the offset and kind of a fault, and the keys
// read until then, whatever follows.
func TestValue(t *testing.T) {
	small := jsontext.Limits{Depth: 2, Members: 3, Number: 4}
	for _, c := range []struct {
		text  string
		end   int
		keys  int
		fault jsontext.Fault
	}{
		{`1`, 1, 0, ""}, {` 1 2`, 2, 0, ""}, {`"a"b`, 3, 0, ""}, {`{}x`, 2, 0, ""}, {`[ ] ]`, 3, 0, ""},
		{`{"a":{"b":1},"c":2} rest`, 19, 3, ""},
		{``, 0, 0, jsontext.Ended}, {`  `, 2, 0, jsontext.Ended}, {`[`, 1, 0, jsontext.Ended}, {`{"a"`, 4, 0, jsontext.Ended}, {`{"a":1`, 6, 1, jsontext.Ended},
		{`"a`, 2, 0, jsontext.Ended}, {`-`, 1, 0, jsontext.Ended}, {`1.`, 2, 0, jsontext.Ended}, {`{"a":1,`, 7, 1, jsontext.Ended},
		{`x`, 0, 0, jsontext.NoValue}, {`tru`, 0, 0, jsontext.NoValue}, {`[1,]`, 3, 0, jsontext.NoValue}, {`{"a":}`, 5, 1, jsontext.NoValue},
		{`{a:1}`, 1, 0, jsontext.NoKey}, {`{"a":1,}`, 7, 1, jsontext.NoKey}, {`{"a" 1}`, 5, 0, jsontext.NoColon},
		{`[1 2]`, 3, 0, jsontext.NoComma}, {`[1}`, 2, 0, jsontext.NoComma}, {`[01]`, 2, 0, jsontext.NoComma},
		{"\"a\n\"", 2, 0, jsontext.Control}, {`"\x"`, 1, 0, jsontext.BadEscape}, {`"\u12g4"`, 1, 0, jsontext.BadEscape}, {`"\`, 1, 0, jsontext.BadEscape},
		{`[1.x]`, 3, 0, jsontext.BadNumber}, {`[-x]`, 2, 0, jsontext.BadNumber}, {`[1e+]`, 4, 0, jsontext.BadNumber},
		{`[[[`, 2, 0, jsontext.TooDeep}, {`[[1],2]`, 7, 0, ""}, {`[1,1,1]`, 7, 0, ""}, {`[1,1,1,1]`, 7, 0, jsontext.TooMany}, {`[[1],[2]]`, 6, 0, jsontext.TooMany},
		{`[1,12345]`, 3, 0, jsontext.LongNumber}, {`1234`, 4, 0, ""}, {`1e4`, 3, 0, ""}, {`1e5`, 0, 0, jsontext.LongNumber}, {`1E-99999999999999999999`, 0, 0, jsontext.LongNumber},
	} {
		end, keys, fault := small.Value([]byte(c.text), 0)
		if end != c.end || keys != c.keys || fault != c.fault {
			t.Errorf("%s: %d, %d keys, %q; want %d, %d, %q", c.text, end, keys, fault, c.end, c.keys, c.fault)
		}
	}
}

// TestWhole: a text passes if encoding/json takes it; and none of its beginnings
// passes if encoding/json does not take that.
func TestWhole(t *testing.T) {
	for _, text := range []string{
		`{"a":[1,-2.5e3,true,null,"\u00e9\n",{}],"b":[[],{"c":false}]} `, `"\ud83d\ude00 \"x\""`, `[0,-0,0.0,1E+2,10]`, ` [ { } , [ ] ] `,
		strings.Repeat("[", 70) + strings.Repeat(`{"a":`, 70) + "1" + strings.Repeat("}", 70) + strings.Repeat("]", 70),
	} {
		for n := range len(text) + 1 {
			for _, end := range []string{"", "}", "]", "x", "\""} {
				data := []byte(text[:n] + end)
				_, fault := unbounded.Whole(data)
				if got, want := fault == "", json.Valid(data); got != want {
					t.Fatalf("%s: %q, encoding/json says %v", data, fault, want)
				}
			}
		}
	}
}

// TestBounds: nesting costs no stack, and usual depths no memory.
func TestBounds(t *testing.T) {
	deep := []byte(strings.Repeat("[", 99_999) + strings.Repeat("]", 99_999))
	if _, fault := unbounded.Whole(deep); fault != "" {
		t.Error(fault)
	}
	usual := []byte(strings.Repeat("[", 1000) + strings.Repeat("]", 1000))
	if n := testing.AllocsPerRun(10, func() { jsontext.Limits{Depth: 1000, Members: 1000}.Whole(usual) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// scraps are what the texts of a test are made of.
var scraps = []string{
	"a", "<think>&", "long plain text", "\n", "\t\r\b\f", `"`, `\`, "\x00\x1f\x7f", "ü×", "\u2027\u2028\u2029\u202a",
	"\U0001f600", "\xff", "\xe2\x80", "\xed\xa0\xbd", "\xc3", "\ufffd", "!#[]~ ", "日本語の文",
}

// TestAppendString: strings are written byte for byte as encoding/json writes them,
// and verbatim ones have the same text, wherever in a word or a block a special byte
// stands.
func TestAppendString(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	for range 20_000 {
		text, most, gap := strings.Repeat("x", r.IntN(9)), 5, 1
		if r.IntN(16) == 0 { // longer than several blocks, and than the first room for it
			most, gap = 60, 50
		}
		for range r.IntN(most) {
			text += strings.Repeat("y", r.IntN(gap)) + scraps[r.IntN(len(scraps))]
		}
		var want bytes.Buffer
		enc := json.NewEncoder(&want)
		enc.SetEscapeHTML(false)
		if err := enc.Encode(text); err != nil {
			t.Fatal(err)
		}
		got := jsontext.AppendString(nil, text)
		if string(got)+"\n" != want.String() || string(jsontext.AppendString(nil, []byte(text))) != string(got) {
			t.Fatalf("%q: %s, want %s", text, got, &want)
		}
		verbatim := jsontext.AppendVerbatim([]byte("x"), text)[1:]
		if end, _, fault := unbounded.Value(verbatim, 0); fault != "" || end != len(verbatim) {
			t.Fatalf("%q: %s: %q at byte %d", text, verbatim, fault, end)
		}
		if back := jsontext.AppendText(nil, verbatim[1:len(verbatim)-1]); string(back) != text {
			t.Fatalf("%q: %s: back %q", text, verbatim, back)
		}
		var std string
		if err := json.Unmarshal(got, &std); err != nil || jsontext.Unquote(got) != std {
			t.Fatalf("%s: %q, want %q, %v", got, jsontext.Unquote(got), std, err)
		}
	}
}

// TestAppendText agrees with encoding/json on all that it can say, and keeps
// what it cannot: half a surrogate pair.
func TestAppendText(t *testing.T) {
	for _, inside := range []string{
		``, `plain`, `\"\\\/\b\f\n\r\t`, `\u00e9\u00E9é`, `\ud83d\ude00`, `😀`, `\u0000\u001f\u007f`, `a\\u0041`, `\\\"`, `\u2028\uFFFF`,
	} {
		var want string
		if err := json.Unmarshal([]byte(`"`+inside+`"`), &want); err != nil {
			t.Fatal(err)
		}
		if got := jsontext.AppendText([]byte("x"), []byte(inside)); string(got) != "x"+want {
			t.Errorf("%s: %q, want %q", inside, got, want)
		}
	}
	for inside, want := range map[string]string{
		`\ud83d`: "\xed\xa0\xbd", `\ude00`: "\xed\xb8\x80", `\ude00\ud83d`: "\xed\xb8\x80\xed\xa0\xbd", `\ud83dx`: "\xed\xa0\xbdx",
		`\ud83d\n`: "\xed\xa0\xbd\n", `\ud83d\ud83d\ude00`: "\xed\xa0\xbd😀", "\xff": "\xff",
		// What no JSON has must not be read beyond its end.
		`\`: `\`, `\u`: `\u`, `\u12`: `\u12`, `\ud83d\u`: "\xed\xa0\xbd" + `\u`, `\uzzzz`: `\uzzzz`, `\x`: `x`,
	} {
		if got := jsontext.AppendText(nil, []byte(inside)); string(got) != want {
			t.Errorf("%s: %q, want %q", inside, got, want)
		}
	}
}

// Verbatim, nothing is escaped that need not be, and bytes that are not UTF-8 stay.
func TestAppendVerbatim(t *testing.T) {
	for text, want := range map[string]string{
		"": `""`, "a<b>&é😀\u2028\u007f": "\"a<b>&é😀\u2028\u007f\"", "\"\\\n\r\t\b\f\x00\x1f": `"\"\\\n\r\t\b\f\u0000\u001f"`,
		"\xff\xc3": "\"\xff\xc3\"", "\xed\xa0\xbd": `"\ud83d"`, "\xed\xa0\xbd\xed\xb8\x80": `"\ud83d\ude00"`, "\xed\x95\x9c": "\"\xed\x95\x9c\"",
		// Bytes that only begin like half a pair.
		"\xed": "\"\xed\"", "\xed\xa0": "\"\xed\xa0\"", "\xed\xa0A": "\"\xed\xa0A\"", "\xed\xa0\"": "\"\xed\xa0\\\"\"", "\xed\xc3\xa9": "\"\xedé\"", "\xed\xa0\xed\xa0\xbd": "\"\xed\xa0" + `\ud83d"`,
	} {
		if got := jsontext.AppendVerbatim(nil, []byte(text)); string(got) != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}
