package jsonedit_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/sotto-llm/sotto/internal/data/jsonedit"
	"github.com/sotto-llm/sotto/internal/data/jsontext"
)

func FuzzText(f *testing.F) {
	for _, s := range []string{"", "a\"\\\n\xed\xa0\xbd\xed", "é😀\xff", "\xed\xa0A"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		s := jsontext.AppendVerbatim(nil, text)
		if n := jsonedit.StringEnd(s, 1); n != len(s)-1 {
			t.Fatalf("%q ends at %d", s, n)
		}
		back := jsontext.AppendText(nil, s[1:len(s)-1])
		// Two halves that come together are one code point.
		if !bytes.Equal(back, text) && !bytes.Contains(text, []byte{0xED}) {
			t.Fatalf("%q came back as %q", text, back)
		}
		if !bytes.Equal(jsontext.AppendVerbatim(nil, back), s) && utf8.Valid(text) {
			t.Fatalf("%q is not the same again", text)
		}
		if utf8.Valid(text) {
			var std string
			if err := json.Unmarshal(s, &std); err != nil || std != string(text) {
				t.Fatalf("%s: %q, %v", s, std, err)
			}
		}
		jsontext.AppendText(nil, text)
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
