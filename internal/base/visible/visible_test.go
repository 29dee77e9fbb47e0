package visible

import (
	"encoding/json"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/sotto-llm/sotto/internal/testing/terminaltest"
)

// TestVisibleLeavesWriting checks that ordinary writing stays unchanged. The same
// characters are escaped where no writing uses them.
func TestVisibleLeavesWriting(t *testing.T) {
	for _, text := range []string{
		"Grüße, 你好, Привет, שלום, नमस्ते, 안녕", "می\u200cخواهم", "क्\u200dष", // joiners
		"❤\ufe0f\u200d🔥 1\ufe0f⃣ 👩🏽\u200d💻 ☺\ufe0e", "e\u0301 \u0600123", "\ue0b0",
	} {
		if got := Text(text); got != text {
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
		if got := Text(text); got != want {
			t.Errorf("%q is shown as %q, want %q", text, got, want)
		}
	}
}

// TestVisibleLaws: nothing in the output controls anything, escaping it again
// changes nothing, cuts do not matter, and JSON stays the same JSON.
func TestVisibleLaws(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		strange := rapid.SampledFrom([]string{"\x1b", "]0;x\a", "[31m", "\r", "\n", "\r\n", "\u009b", "\x9b", "\xf0\x9f", "\u202e", "\u200d", "\ufe0f", "\u200b", "\U000e0041", "é", "1", "a", "❤", "\u00ad"})
		text := strings.Join(rapid.SliceOf(strange).Draw(t, "parts"), "")
		cut := rapid.IntRange(0, len(text)).Draw(t, "cut")
		shown := Text(text)
		if bad := terminaltest.Forbidden([]byte(shown)); bad != "" {
			t.Fatalf("%q is shown as %q, with %s", text, shown, bad)
		}
		if again := Text(shown); again != shown {
			t.Fatalf("%q is shown as %q, and that as %q", text, shown, again)
		}
		var e Escaper
		if parts := string(e.Append(e.Append(nil, []byte(text[:cut]), false), []byte(text[cut:]), true)); parts != shown {
			t.Fatalf("%q cut at %d is shown as %q, whole as %q", text, cut, parts, shown)
		}
		line, err := json.Marshal(text)
		if err != nil {
			t.Fatal(err)
		}
		var one, other string
		if json.Unmarshal(line, &one) != nil || json.Unmarshal([]byte(Text(string(line))), &other) != nil || one != other {
			t.Fatalf("the JSON %s is shown as %s", line, Text(string(line)))
		}
	})
}
