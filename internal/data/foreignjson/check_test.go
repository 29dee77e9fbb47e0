package foreignjson_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/tidwall/gjson"

	"github.com/sotto-llm/sotto/internal/data/foreignjson"
)

// samples are documents and near misses, one for each branch of the grammar.
var samples = []string{
	``, ` `, `0`, `-0`, `-`, `01`, `-01`, `1.`, `1.5`, `.5`, `1e`, `1e5`, `1E+05`, `1e-`, `1e+`, `+1`, `1 2`, `0x1`,
	`true`, `tru`, `truex`, `false`, `fals`, `null`, `nul`, `NULL`, `NaN`, `Infinity`,
	`""`, `"`, `"a`, `"a"b`, `"\""`, `"\\"`, `"\`, `"\x"`, `"\u"`, `"\u00"`, `"\u00gf"`, `"\uD83D"`, `"\u00eF"`, `"\u12345"`, `"\/\b\f\n\r\t"`,
	"\"\x1f\"", "\"\x7f\"", "\"\xff\xfe\"", "\"\t\"", "\"12345678\x00\"", "\"1234567\x1f9012345\"",
	`[]`, `[ ]`, `[1]`, `[1,]`, `[,1]`, `[1 2]`, `[1,2]`, `[1}`, `[`, `]`, `[]]`, `[[],[[]]]`, `[1,[2,{"a":[]}]]`,
	`{}`, `{ }`, `{"a":1}`, `{"a":1,}`, `{,"a":1}`, `{"a"}`, `{"a":}`, `{"a" : 1 , "b":2 }`, `{a:1}`, `{"a":1]`, `{"a":1 "b":2}`, `{1:2}`, `{"a":1}x`, `{"a":1} `, `{`, `{"`, `{"a`, `{"a":`, `{"a":1`, `{"a":1,`,
	"\uFEFF{}", " \t\r\n{}\n", "\v{}", "\f1", "{}\x00", `{"a":"` + strings.Repeat("x", 100) + `"}`, `"` + strings.Repeat("é", 33) + `\n"`,
}

func agree(t *testing.T, data []byte) {
	t.Helper()
	err := foreignjson.Check(data)
	if foreignjson.OverLimit(err) {
		return
	}
	if (err == nil) != json.Valid(data) {
		t.Errorf("Check(%q) = %v, encoding/json.Valid says %v", data, err, json.Valid(data))
	}
	var e *foreignjson.Error
	if err != nil && (!errors.As(err, &e) || e.Offset < 0 || e.Offset > len(data)) {
		t.Errorf("Check(%q) = %#v: an offset outside the document", data, err)
	}
}

// The check accepts what encoding/json accepts, also for documents cut anywhere and
// with any one byte changed.
func TestAgreesWithEncodingJSON(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	alphabet := []byte("{}[]\",:\\u0123e.-+tfn \n\x00\x1f\x7f\xff")
	for _, s := range samples {
		agree(t, []byte(s))
		for i := range s {
			agree(t, []byte(s[:i]))
			for range 8 {
				b := []byte(s)
				b[i] = alphabet[r.IntN(len(alphabet))]
				agree(t, b)
			}
		}
	}
	for range 200_000 {
		b := make([]byte, r.IntN(12))
		for i := range b {
			b[i] = alphabet[r.IntN(len(alphabet))]
		}
		agree(t, b)
	}
}

// A special byte is found at every place in a word of eight, before and after bytes
// that a borrow could affect.
func TestStringScanAtEveryOffset(t *testing.T) {
	for _, c := range []byte{0, 0x1f, 0x20, 0x21, '"', '#', '\\', 0x7f, 0x80, 0xa2, 0xdc, 0xff} {
		for _, fill := range []byte{' ', '!', '#', '[', ']', 0x7f, 0x80, 0xff} {
			for at := range 20 {
				b := append([]byte{'"'}, bytes.Repeat([]byte{fill}, 20)...)
				b[1+at] = c
				agree(t, append(b, '"'))
				agree(t, b)
			}
		}
	}
}

func FuzzAgreesWithEncodingJSON(f *testing.F) {
	for _, s := range samples {
		f.Add([]byte(s))
	}
	f.Fuzz(agree)
}

// The bounds are exact to the byte and the error names the place. A document at the
// bound is accepted.
func TestBounds(t *testing.T) {
	nest := func(n int) string { return strings.Repeat("[", n) + strings.Repeat("]", n) }
	list := func(n int) string { return "[" + strings.Repeat("0,", n-1) + "0]" }
	for _, c := range []struct {
		name, doc string
		limits    foreignjson.Limits
		want      error
		offset    int
	}{
		{"at the depth", nest(1000), foreignjson.Limits{}, nil, 0},
		{"over the depth", nest(1001), foreignjson.Limits{}, foreignjson.ErrDepth, 1000},
		{"over the depth and cut", strings.Repeat("[", 6<<20), foreignjson.Limits{}, foreignjson.ErrDepth, 1000},
		{"objects over the depth", strings.Repeat(`{"a":`, 6<<20/5), foreignjson.Limits{}, foreignjson.ErrDepth, 5000},
		{"mixed over the depth", strings.Repeat(`[{"a":`, 1<<20), foreignjson.Limits{}, foreignjson.ErrDepth, 3000},
		{"a small depth", `[[0]]`, foreignjson.Limits{Depth: 1}, foreignjson.ErrDepth, 1},
		{"a large depth", nest(5000), foreignjson.Limits{Depth: 5000}, nil, 0},
		{"over a large depth", nest(5001), foreignjson.Limits{Depth: 5000}, foreignjson.ErrDepth, 5000},
		{"wide, not deep", "[" + strings.Repeat("[],", 5000) + "[]]", foreignjson.Limits{}, nil, 0},
		{"at the members", list(foreignjson.MaxMembers), foreignjson.Limits{}, nil, 0},
		{"over the members", list(foreignjson.MaxMembers + 1), foreignjson.Limits{}, foreignjson.ErrMembers, 2*foreignjson.MaxMembers + 1},
		{"members of objects", `{"a":1,"b":{"c":2}}`, foreignjson.Limits{Members: 2}, foreignjson.ErrMembers, 12},
		{"a reply", list(2 * foreignjson.MaxMembers), foreignjson.Limits{Members: foreignjson.ReplyMembers}, nil, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			err := c.limits.Check([]byte(c.doc))
			if !errors.Is(err, c.want) {
				t.Fatalf("got %v, want %v", err, c.want)
			}
			var e *foreignjson.Error
			if errors.As(err, &e) && e.Offset != c.offset {
				t.Errorf("found at byte %d, want %d", e.Offset, c.offset)
			}
			if foreignjson.OverLimit(err) != (c.want != nil) {
				t.Errorf("OverLimit(%v) = %v", err, foreignjson.OverLimit(err))
			}
		})
	}
}

func TestErrorText(t *testing.T) {
	for doc, want := range map[string]string{
		"[[[":     "nests deeper than 2 levels at byte 2",
		"[0,0,0]": "has more than 2 members and elements at byte 5",
		"[0":      "is not valid JSON at byte 2",
		`["a`:     "is not valid JSON at byte 3",
	} {
		_, err := foreignjson.Limits{Depth: 2, Members: 2}.Parse([]byte(doc))
		if fmt.Sprint(err) != want {
			t.Errorf("%s: %v, want %s", doc, err, want)
		}
	}
}

// The check allocates nothing for a document within the bounds. Neither stack nor
// heap grows with the depth of a document.
func TestAllocatesNothing(t *testing.T) {
	doc := []byte(strings.Repeat("[", 998) + `{"a":["b\n",1.5e3,true,null]}` + strings.Repeat("]", 998))
	if n := testing.AllocsPerRun(10, func() {
		if !foreignjson.Valid(doc) {
			t.Fatal("not valid")
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
	deep := bytes.Repeat([]byte("["), 6<<20)
	if n := testing.AllocsPerRun(10, func() { foreignjson.Valid(deep) }); n > 1 {
		t.Errorf("%v allocations for the error", n)
	}
}

// BenchmarkCheck compares the check with gjson's, which has no bounds, in one run.
// Only the ratio of the two counts.
func BenchmarkCheck(b *testing.B) {
	frame := []byte(`{"id":"chatcmpl-123","object":"chat.completion.chunk","created":1694268190,"model":"gpt-4o-mini","system_fingerprint":"fp_44709d6fcb","choices":[{"index":0,"delta":{"content":"Hello"},"logprobs":null,"finish_reason":null}]}`)
	text := []byte(`{"messages":[{"role":"user","content":"` + strings.Repeat("The quick brown fox jumps over the lazy dog.\\n", 2000) + `"}]}`)
	numbers := []byte(`{"data":[` + strings.Repeat("-0.0123456789,", 10_000) + `0]}`)
	pretty, err := json.MarshalIndent(json.RawMessage(frame), "", "    ")
	if err != nil {
		b.Fatal(err)
	}
	for _, doc := range []struct {
		name string
		data []byte
	}{{"frame", frame}, {"text", text}, {"numbers", numbers}, {"pretty", pretty}} {
		for _, by := range []struct {
			name  string
			valid func([]byte) bool
		}{{"foreignjson", foreignjson.Valid}, {"gjson", gjson.ValidBytes}, {"encodingjson", json.Valid}} {
			b.Run(doc.name+"/"+by.name, func(b *testing.B) {
				b.SetBytes(int64(len(doc.data)))
				b.ReportAllocs()
				for b.Loop() {
					if !by.valid(doc.data) {
						b.Fatal("not valid")
					}
				}
			})
		}
	}
}
