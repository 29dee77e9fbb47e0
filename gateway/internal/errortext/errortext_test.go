package errortext_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/tidwall/gjson"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/dialect"
	"github.com/sotto-llm/sotto/gateway/internal/errortext"
)

func reader(g *sotto.Grammar) *errortext.Reader {
	return &errortext.Reader{Grammars: []*sotto.Grammar{g}, Inline: []sotto.Channel{sotto.ChannelTool, sotto.ChannelNarration}}
}

// escaped is a text as the inside of a string of JSON, with the characters of markup
// escaped as Go and Python do.
func escaped(text string) string {
	b, err := json.Marshal(text)
	if err != nil {
		panic(err)
	}
	return string(b[1 : len(b)-1])
}

// TestTexts holds what is left of a text.
func TestTexts(t *testing.T) {
	for in, want := range map[string]string{
		"":                                   "",
		"too busy, try again":                "too busy, try again",
		`a \ b \n c \u00e9 &amp; &lt; 1`:     `a \ b \n c \u00e9 &amp; &lt; 1`,
		"not UTF-8: \xff\xfe":                "not UTF-8: \xff\xfe",
		"Failed at pos 0: <think>SECRET":     "Failed at pos 0: ",
		"Failed: <think>SECRET</think>It is": "Failed: It is",
		"SECRET</think>It is":                "It is",
		`got {"content":"<think>SECRET</think>It is"}`:                     `got {"content":"It is"}`,
		`got {"content":"\u003cthink\u003eSECRET\n\u003C/think>It"}`:       `got {"content":"It"}`,
		`got \"\\u003cthink\\u003eSECRET\\u003c/think\\u003eIt\"`:          `got \"It\"`,
		`<p>&lt;think&gt;SECRET&lt;/think&gt;It</p>`:                       `<p>It</p>`,
		`<p>&#60;think&#x3E;SECRET&#60;/think&#62;It</p>`:                  `<p>It</p>`,
		`b'\x3cthink\x3eSECRET\x3c/think\x3eIt'`:                           `b'It'`,
		"<th<think>a</think>ink>SECRET</think>It":                          "It",
		`{"message":"<think>SECRET","type":"server_error","code":500}`:     `{"message":"","type":"server_error","code":500}`,
		`[{"a":["<think>SECRET","It is"]}]`:                                `[{"a":["","It is"]}]`,
		`{"raw":"{\"message\":\"x \\u003cthink>SECRET\",\"code\":\"c\"}"}`: `{"raw":"{\"message\":\"x \",\"code\":\"c\"}"}`,
	} {
		r := reader(sotto.Default())
		if got := string(r.Text([]byte(in))); got != want || r.Found != (in != want) {
			t.Errorf("%q: %q, found %v, want %q", in, got, r.Found, want)
		}
	}
}

// TestEveryDialect: in the markers of every dialect, under any number of layers of escapes,
// no thought is left, whether it is closed, not closed or was opened before; and nothing of
// a text without a marker changes.
func TestEveryDialect(t *testing.T) {
	tried := 0
	for _, d := range dialect.All() {
		g, err := sotto.Named(d.Name)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range d.Markers {
			if m.Role != dialect.RoleReasoning || len(m.Open) == 0 || len(m.Close) == 0 {
				continue
			}
			for _, said := range []string{m.Open[0] + "\nSECRET\n" + m.Close[0] + "\nIt is", m.Open[0] + "\nSECRET"} {
				text := "Failed to parse:\n" + said
				if s, err := g.Strip(text, sotto.BeginAuto); err != nil || strings.Contains(s, "SECRET") {
					continue // not a thought in this dialect where something precedes it
				}
				for layers := range 5 {
					if got := reader(g).Text([]byte(text)); strings.Contains(string(got), "SECRET") {
						t.Errorf("%s, %d layers: %q leaves %q", d.Name, layers, text, got)
					}
					tried++
					text = escaped(text)
				}
			}
		}
		for _, plain := range []string{"the model is overloaded", `expected "," at \"x\" (line 1, column 5)`, "a\nb\r\n\tc  "} {
			if got := reader(g).Text([]byte(plain)); string(got) != plain {
				t.Errorf("%s: %q becomes %q", d.Name, plain, got)
			}
		}
	}
	if tried < 100 {
		t.Errorf("only %d texts were tried", tried)
	}
}

// TestManyLayers: what is escaped more often than anyone looks is withheld, and looking
// ends.
func TestManyLayers(t *testing.T) {
	text := "<think>SECRET</think>"
	for range 12 {
		text = escaped(text)
	}
	if got := reader(sotto.Default()).Text([]byte("x " + text)); string(got) != errortext.Withheld {
		t.Errorf("%.80q is left", got)
	}
	for _, long := range []string{strings.Repeat(`\u005cu005c`, 50_000), strings.Repeat("<th<think>", 50_000), strings.Repeat("[", 200_000), strings.Repeat("&amp;", 100_000)} {
		reader(sotto.Default()).Text([]byte(long))
	}
}

// TestErrorsOfOneReply: an error may go on with the thought that the one before it began.
// Words for programs do not.
func TestErrorsOfOneReply(t *testing.T) {
	r := reader(sotto.Default())
	for _, step := range [][2]string{
		{`{"error":{"message":"x <think>SECRET","type":"server_error"}}`, `{"error":{"message":"x ","type":"server_error"}}`},
		{`{"error":{"message":"SECRET","type":"server_error"}}`, `{"error":{"message":"","type":"server_error"}}`},
		{`{"error":{"message":"SECRET</think>It","type":"server_error"}}`, `{"error":{"message":"It","type":"server_error"}}`},
		{`{"error":{"message":"too busy","type":"server_error"}}`, `{"error":{"message":"too busy","type":"server_error"}}`},
	} {
		if got := string(r.Reply("", []byte(step[0]))); got != step[1] {
			t.Errorf("%s: %s, want %s", step[0], got, step[1])
		}
	}
}

// TestFaults holds which values of a frame are errors. What belongs to the reply is its
// codec's to read.
func TestFaults(t *testing.T) {
	for _, test := range []struct{ kind, in, want string }{
		{"", `{"choices":[{"delta":{"content":"a"}}],"error":null}`, ``},
		{"", `{"choices":[{"delta":{"content":"a"},"error":{"message":"b"}}]}`, `{"message":"b"}`},
		{"", `{"content":"a","thinking":"a","error":"b","failed":"c"}`, `"b""c"`},
		{"", `{"message":{"content":"a"},"error":"b"}`, `"b"`},
		{"", `{"response":"a","error":"b"}`, `"b"`},
		{"", `{"error":"b","failed":"c"}`, `{"error":"b","failed":"c"}`},
		{"", `{"message":"b"}`, `{"message":"b"}`},
		{"", `{"detail":[{"msg":"b"}]}`, `{"detail":[{"msg":"b"}]}`},
		{"", `{"\u0065rror":"b"}`, `{"\u0065rror":"b"}`},
		{"", `{"object":"error","x":"b"}`, `{"object":"error","x":"b"}`},
		{"error", `{"x":"b"}`, `{"x":"b"}`},
		{"", `{"type":"error","x":"b"}`, `{"type":"error","x":"b"}`},
		{"exception/modelStreamErrorException", `{"m":"b"}`, `{"m":"b"}`},
		{"", `{"type":"message-end","delta":{"finish_reason":"ERROR","error":"b"}}`, `"b""message-end"`},
		{"", `{"type":"response.failed","response":{"output":[],"error":{"message":"b"}}}`, `{"message":"b"}"response.failed"`},
		{"", `[{"content":"a"},{"content":"a","error":"b"}]`, `"b"`},
		{"", `"b"`, `"b"`},
		{"", `{"error":"b","error":"c","content":"a"}`, `"b""c"`},
	} {
		var got strings.Builder
		for _, v := range errortext.Faults(test.kind, gjson.Parse(test.in)) {
			got.WriteString(v.Raw)
		}
		if got.String() != test.want {
			t.Errorf("%s %s: %s, want %s", test.kind, test.in, got.String(), test.want)
		}
		if test.want != "" && !errortext.MayBeError([]byte(test.kind), []byte(test.in)) {
			t.Errorf("%s %s is overlooked", test.kind, test.in)
		}
	}
	for _, usual := range []string{"[DONE]", "", `{"message":{"role":"assistant","content":"a"}}`, `{"choices":[{"delta":{"content":"a"}}]}`} {
		if errortext.MayBeError(nil, []byte(usual)) {
			t.Errorf("%s is looked at", usual)
		}
	}
}
