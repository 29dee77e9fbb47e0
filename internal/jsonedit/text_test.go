package jsonedit_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/sotto-llm/sotto/internal/jsonedit"
)

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
		if got := jsonedit.AppendText([]byte("x"), []byte(inside)); string(got) != "x"+want {
			t.Errorf("%s: %q, want %q", inside, got, want)
		}
	}
	for inside, want := range map[string]string{
		`\ud83d`: "\xed\xa0\xbd", `\ude00`: "\xed\xb8\x80", `\ude00\ud83d`: "\xed\xb8\x80\xed\xa0\xbd", `\ud83dx`: "\xed\xa0\xbdx",
		`\ud83d\n`: "\xed\xa0\xbd\n", `\ud83d\ud83d\ude00`: "\xed\xa0\xbd😀", "\xff": "\xff",
		// What no JSON has must not be read beyond its end.
		`\`: `\`, `\u`: `\u`, `\u12`: `\u12`, `\ud83d\u`: "\xed\xa0\xbd" + `\u`, `\uzzzz`: `\uzzzz`, `\x`: `x`,
	} {
		if got := jsonedit.AppendText(nil, []byte(inside)); string(got) != want {
			t.Errorf("%s: %q, want %q", inside, got, want)
		}
	}
}

// TestAppendString: nothing is escaped that need not be, and bytes that are no
// UTF-8 stay.
func TestAppendString(t *testing.T) {
	for text, want := range map[string]string{
		"": `""`, "a<b>&é😀\u2028\u007f": "\"a<b>&é😀\u2028\u007f\"", "\"\\\n\r\t\b\f\x00\x1f": `"\"\\\n\r\t\u0008\u000c\u0000\u001f"`,
		"\xff\xc3": "\"\xff\xc3\"", "\xed\xa0\xbd": `"\ud83d"`, "\xed\xa0\xbd\xed\xb8\x80": `"\ud83d\ude00"`, "\xed\x95\x9c": "\"\xed\x95\x9c\"",
		// Bytes that only begin like half a pair.
		"\xed": "\"\xed\"", "\xed\xa0": "\"\xed\xa0\"", "\xed\xa0A": "\"\xed\xa0A\"", "\xed\xa0\"": "\"\xed\xa0\\\"\"", "\xed\xc3\xa9": "\"\xedé\"", "\xed\xa0\xed\xa0\xbd": "\"\xed\xa0" + `\ud83d"`,
	} {
		if got := jsonedit.AppendString(nil, []byte(text)); string(got) != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

func FuzzText(f *testing.F) {
	for _, s := range []string{"", "a\"\\\n\xed\xa0\xbd\xed", "é😀\xff", "\xed\xa0A"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		s := jsonedit.AppendString(nil, text)
		if n := jsonedit.StringEnd(s, 1); n != len(s)-1 {
			t.Fatalf("%q ends at %d", s, n)
		}
		back := jsonedit.AppendText(nil, s[1:len(s)-1])
		// Two halves that come together are one code point.
		if !bytes.Equal(back, text) && !bytes.Contains(text, []byte{0xED}) {
			t.Fatalf("%q came back as %q", text, back)
		}
		if !bytes.Equal(jsonedit.AppendString(nil, back), s) && utf8.Valid(text) {
			t.Fatalf("%q is not the same again", text)
		}
		if utf8.Valid(text) {
			var std string
			if err := json.Unmarshal(s, &std); err != nil || std != string(text) {
				t.Fatalf("%s: %q, %v", s, std, err)
			}
		}
		jsonedit.AppendText(nil, text)
		jsonedit.StringEnd(text, 0)
	})
}

// TestTextOf copies only what is escaped.
func TestTextOf(t *testing.T) {
	inside := []byte("plain é")
	if text, _ := jsonedit.TextOf(nil, inside); &text[0] != &inside[0] {
		t.Error("plain text was copied")
	}
	buf := make([]byte, 0, 64)
	text, buf := jsonedit.TextOf(buf, []byte(`a\nb`))
	if string(text) != "a\nb" || &text[0] != &buf[0] {
		t.Errorf("%q", text)
	}
}

func TestStringEnd(t *testing.T) {
	for s, want := range map[string]int{`abc"`: 3, `"`: 0, `a\"b"`: 4, `a\\"`: 3, `a\\\"b"`: 6, `a`: -1, `\"`: -1, ``: -1, `\\\\"x"`: 4} {
		if got := jsonedit.StringEnd([]byte(s), 0); got != want {
			t.Errorf("%s: %d, want %d", s, got, want)
		}
	}
	if got := jsonedit.StringEnd([]byte(`\"`), 1); got != 1 {
		t.Errorf("a backslash before the string counts: %d", got)
	}
	if long := strings.Repeat(`\"`, 50_000) + `"`; jsonedit.StringEnd([]byte(long), 0) != len(long)-1 {
		t.Error("many escapes")
	}
}
