package cli

import (
	"bytes"
	"encoding/json"
	"io"
	"os"
	"strings"
	"testing"
	"testing/iotest"

	"pgregory.net/rapid"
)

// TestVisible holds what is shown of a text against every place where it may be
// cut.
func TestVisible(t *testing.T) {
	const text = "a\x1b[2J\x07\ttab\r\nline\rover\x7f \u009b1m \x9b1m café \u202edeb \xff\xe2\x82 \u20ac \U000e0041\u200b\ufeff end\r"
	const want = "a␛[2J␇\ttab\r\nline␍over\\u007f \\u009b1m \ufffd1m café \\u202edeb \ufffd\ufffd\ufffd \u20ac \\udb40\\udc41\\u200b\\ufeff end␍"
	for cut := 0; cut <= len(text); cut++ {
		var out bytes.Buffer
		p := &printer{newTerminal(&out, os.Getenv), true}
		io.WriteString(p, text[:cut])
		io.WriteString(p, text[cut:])
		if err := p.Flush(); err != nil {
			t.Fatal(err)
		}
		if out.String() != want {
			t.Fatalf("cut at %d: %q, want %q", cut, out.String(), want)
		}
	}
	var out bytes.Buffer
	p := &printer{newTerminal(&out, os.Getenv), true}
	if _, err := io.Copy(p, iotest.OneByteReader(strings.NewReader(text))); err != nil {
		t.Fatal(err)
	}
	if p.Flush(); out.String() != want {
		t.Errorf("byte by byte: %q, want %q", out.String(), want)
	}
}

// TestVisibleLeavesWriting says that what people write stays as it is, and that
// the same characters are shown where no writing has them.
func TestVisibleLeavesWriting(t *testing.T) {
	for _, text := range []string{
		"Grüße, 你好, Привет, שלום, नमस्ते, 안녕", "می\u200cخواهم", "क्\u200dष", // joiners
		"❤\ufe0f\u200d🔥 1\ufe0f⃣ 👩🏽\u200d💻 ☺\ufe0e", "e\u0301 \u0600123", "\ue0b0",
	} {
		if got := safe(text); got != text {
			t.Errorf("%q is shown as %q", text, got)
		}
	}
	for text, want := range map[string]string{
		"a\u200db":       `a\u200db`,
		"é\u200d\u200d":  "é\u200d" + `\u200d`,
		"☺\ufe0f\ufe0f":  "☺\ufe0f" + `\ufe0f`,
		"a\ufe0f":        `a\ufe0f`,
		"b\ufe01":        `b\ufe01`,
		"\U000e0100":     `\udb40\udd00`,
		"x\u00ady":       `x\u00ady`,
		"\u2066\u061c":   `\u2066\u061c`,
		"\u2028\u2029":   `\u2028\u2029`,
		"\u3164\u034f":   `\u3164\u034f`,
		"\x00\x08\x0b\f": "␀␈␋␌",
	} {
		if got := safe(text); got != want {
			t.Errorf("%q is shown as %q, want %q", text, got, want)
		}
	}
}

// TestVisibleLaws: nothing that is shown controls anything, showing it again
// changes nothing, cuts mean nothing, and JSON stays the same JSON.
func TestVisibleLaws(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		strange := rapid.SampledFrom([]string{"\x1b", "]0;x\a", "[31m", "\r", "\n", "\r\n", "\u009b", "\x9b", "\xf0\x9f", "\u202e", "\u200d", "\ufe0f", "\u200b", "\U000e0041", "é", "1", "a", "❤", "\u00ad"})
		text := strings.Join(rapid.SliceOf(strange).Draw(t, "parts"), "")
		cut := rapid.IntRange(0, len(text)).Draw(t, "cut")
		shown := safe(text)
		if bad := forbidden([]byte(shown)); bad != "" {
			t.Fatalf("%q is shown as %q, with %s", text, shown, bad)
		}
		if again := safe(shown); again != shown {
			t.Fatalf("%q is shown as %q, and that as %q", text, shown, again)
		}
		var e escaper
		if parts := string(e.append(e.append(nil, []byte(text[:cut]), false), []byte(text[cut:]), true)); parts != shown {
			t.Fatalf("%q cut at %d is shown as %q, whole as %q", text, cut, parts, shown)
		}
		line, err := json.Marshal(text)
		if err != nil {
			t.Fatal(err)
		}
		var one, other string
		if json.Unmarshal(line, &one) != nil || json.Unmarshal([]byte(safe(string(line))), &other) != nil || one != other {
			t.Fatalf("the JSON %s is shown as %s", line, safe(string(line)))
		}
	})
}
