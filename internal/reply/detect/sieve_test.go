package detect

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/sotto-llm/sotto/dialect"
)

// encoders write a text as the inside of a JSON string, as programs do.
var encoders = []func(text string) string{
	func(text string) string { // Go, with HTML escapes
		b, _ := json.Marshal(text)
		return string(b[1 : len(b)-1])
	},
	func(text string) string { return inside(text, func(rune) bool { return false }) }, // JavaScript
	func(text string) string { return inside(text, func(r rune) bool { return r > 126 }) },
	func(text string) string {
		return inside(text, func(r rune) bool { return strings.ContainsRune("\"'&<>+`", r) })
	}, // .NET
	func(text string) string { // PHP
		return strings.ReplaceAll(inside(text, func(r rune) bool { return r > 126 }), "/", `\/`)
	},
	func(text string) string { return inside(text, func(r rune) bool { return true }) },
}

// inside writes the characters that a function names as \u escapes.
func inside(text string, escaped func(rune) bool) string {
	var b strings.Builder
	for _, r := range text {
		switch short := strings.IndexRune("\n\t\r\b\f", r); {
		case escaped(r):
			for _, half := range utf16.AppendRune(nil, r) {
				fmt.Fprintf(&b, `\u%04x`, half)
			}
		case short >= 0:
			b.WriteString(`\` + "ntrbf"[short:short+1])
		case r == '"' || r == '\\':
			b.WriteString(`\` + string(r))
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

// TestSieveMissesNothing: a text with a marker is found however it is written, also where it
// is JSON in a text.
func TestSieveMissesNothing(t *testing.T) {
	d := New(append(dialect.All(), dialect.Dialect{Name: "own", Markers: []dialect.Marker{
		{Role: dialect.RoleReasoning, Open: []string{"🤔{"}, Close: []string{"}🤔"}},
		{Role: dialect.RoleReasoning, Open: []string{"Pondering 1:"}, Close: []string{"Pondered, 1:"}},
	}}))
	s := d.Sieve(`"thinking"`, "data:")
	var parts []string
	for _, m := range d.markers {
		parts = append(parts, m.text, strings.ToUpper(m.text[:1])+m.text[1:], m.text[:len(m.text)/2], m.text[len(m.text)/2:])
		for _, until := range m.until {
			parts = append(parts, m.text+" a "+until)
		}
	}
	parts = append(parts, ">", " >", "\n>", "/>", "\\", "\\n", "\"", " ", "a", "é", "\U0001f914", "<", "[", "u003c", "\\u003c")
	rng := rand.New(rand.NewPCG(1, 2))
	hits := 0
	for range 5000 {
		text := ""
		for range 1 + rng.IntN(4) {
			text += parts[rng.IntN(len(parts))]
		}
		if rng.IntN(10) == 0 {
			text = `{"thinking":` + text
		}
		record := text
		for range 1 + rng.IntN(3) {
			record = `{"a":"` + encoders[rng.IntN(len(encoders))](record) + `"}`
		}
		if !json.Valid([]byte(record)) {
			t.Fatalf("the test writes %s", record)
		}
		if len(d.Readers(text)) == 0 && !d.Any(text) && !strings.Contains(text, `"thinking"`) {
			continue
		}
		if hits++; !s.May([]byte(record)) {
			t.Fatalf("%q is not found in %s", text, record)
		}
	}
	if hits < 1000 {
		t.Errorf("only %d texts had markers", hits)
	}
}

// TestSieveRulesOut: ordinary records are ruled out, and so need not be read.
func TestSieveRulesOut(t *testing.T) {
	s := New(dialect.All()).Sieve(`"reasoning"`, `"thinking"`, "data:")
	for _, record := range []string{
		`{"reply":"I was thinking: the reasoning of this thought is sound. Here is my answer: \"think\"."}`,
		`{"usage":{"reasoning_tokens":12},"v":[0.25,1.5],"x":{"thinking_budget":1}}`,
		`{"reply":"\u003cdiv\u003e a \u003c b \u0026\u0026 c\u003c/div\u003e\n\u00e9\u4f60\u597d \ud83d\ude00"}`,
		`{"reply":"{\"a\":\"\\u003cb\\u003e\\n\\\\frac{1}{2}\"}","path":"C:\\users\\underline"}`,
		`{"reply":"<p>… – ’ <thinker> </thinkers> <|x|> [THINKER] [1] ]<b>...</b>","html":"<\/p>"}`,
	} {
		if s.May([]byte(record)) {
			t.Errorf("not ruled out: %s", record)
		}
	}
	for _, record := range []string{`{"a":"\u0041nalysis"}`, `{"a":"\u005cu003cthink>"}`, `{"a":"<th`, `{"\u0074hinking":"a"}`} {
		if got := s.May([]byte(record)); got != (record != `{"a":"<th`) {
			t.Errorf("%s: %v", record, got)
		}
	}
}

// FuzzSieve: a JSON string with a marker in its text is found, whatever its escapes.
func FuzzSieve(f *testing.F) {
	d := New(dialect.All())
	s := d.Sieve()
	for _, seed := range []string{`<think>`, `\u003cthink\u003e`, `<\/think>`, `<think\n>`, `◁think▷`, `\u25c1think\u25b7`, `analysis assistantfinal`, `\u005cu003cthink>`, `<THINK>`, `\ud83d\ude00<think>`} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, inside string) {
		record := []byte(`{"a":"` + inside + `"}`)
		var v map[string]string
		if json.Unmarshal(record, &v) != nil {
			t.Skip()
		}
		for _, text := range v {
			if d.Any(text) && !s.May(record) {
				t.Errorf("%q is not found in %s", text, record)
			}
		}
	})
}
