package foreignjson_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/sotto-llm/sotto/internal/data/foreignjson"
)

// TestFirstDouble: a double key is found wherever it stands, and equal keys of different
// objects are not one.
func TestFirstDouble(t *testing.T) {
	for doc, want := range map[string]string{
		`{"a":1,"a":2}`:                        "a 1 7",
		`{"a":1,"b":{"c":1},"a":2}`:            "a 1 19",
		`{"x":[{"a":1},{"a":1,"\u0061" : 2}]}`: "a 15 21",
		`{"a":"a","b":"a"}`:                    "",
		`{"a":{"a":{"a":1}}}`:                  "",
		`[{"a":1},{"a":1}]`:                    "",
		`{"a":1,"A":1}`:                        "",
		`{"":1,"":2}`:                          " 1 6",
		`["a","a"]`:                            "",
		`{"a":1,"a":2`:                         "a 1 7", // before the fault
		`{"a":1,,"a":2}`:                       "",
		`{"a":1}{"a":1,"a":1}`:                 "a 8 14",
		`{"a":[],"a":{}}`:                      "a 1 8",
		"{\"\xff\":1, \"\ufffd\":2}":           "\ufffd 1 8", // as they are read
		`"a"`:                                  "",
		``:                                     "",
	} {
		got := ""
		if d := foreignjson.FirstDouble([]byte(doc)); d != nil {
			got = fmt.Sprint(d.Key, " ", d.First, " ", d.Second)
		}
		if got != want {
			t.Errorf("%s: %q, want %q", doc, got, want)
		}
	}
}

// TestDoublesAreLost: a document without a double key has as many members when it was read
// into maps as it has keys, and one with a double key has fewer.
func TestDoublesAreLost(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	keys := 0
	var write func(depth int) string
	write = func(depth int) string {
		n := r.IntN(4)
		var parts []string
		switch kind := r.IntN(3); {
		case depth == 0 || kind == 0:
			return []string{"1", `"a"`, "null", `"{\"a\":"`}[r.IntN(4)]
		case kind == 1:
			for range n {
				parts = append(parts, write(depth-1))
			}
			return "[" + strings.Join(parts, ",") + "]"
		}
		for range n {
			keys++
			parts = append(parts, fmt.Sprintf(`%q:%s`, string(rune('a'+r.IntN(8))), write(depth-1)))
		}
		return "{" + strings.Join(parts, " , ") + "}"
	}
	var count func(v any) int
	count = func(v any) (n int) {
		switch v := v.(type) {
		case map[string]any:
			for _, v := range v {
				n += 1 + count(v)
			}
		case []any:
			for _, v := range v {
				n += count(v)
			}
		}
		return n
	}
	doubles := 0
	for range 20_000 {
		keys = 0
		doc := write(4)
		var v any
		if err := json.Unmarshal([]byte(doc), &v); err != nil {
			t.Fatal(err)
		}
		d := foreignjson.FirstDouble([]byte(doc))
		if (d != nil) != (count(v) < keys) {
			t.Fatalf("%s: %+v", doc, d)
		}
		if d != nil {
			doubles++
			if name := fmt.Sprintf("%q", d.Key); !strings.HasPrefix(doc[d.First:], name) || !strings.HasPrefix(doc[d.Second:], name) || d.First >= d.Second {
				t.Fatalf("%s: %+v", doc, d)
			}
		}
	}
	if doubles < 1000 {
		t.Errorf("%d documents had a double", doubles)
	}
}
