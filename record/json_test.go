package record

import (
	"bytes"
	"encoding/json"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/sotto-llm/sotto"
)

// Every payload is encoded as encoding/json does it, whatever is in it.
func TestJSONIsThatOfEncodingJSON(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	for typ := range payloadReaders {
		for range 300 {
			p, err := payloadReaders[typ]([]byte("{}"), false)
			if err != nil {
				t.Fatal(err)
			}
			v := reflect.New(reflect.TypeOf(p)).Elem()
			fill(r, v, 0)
			var want bytes.Buffer
			enc := json.NewEncoder(&want)
			enc.SetEscapeHTML(false)
			if err := enc.Encode(v.Interface()); err != nil {
				t.Fatal(err)
			}
			got, err := appendJSON([]byte("x"), v.Interface())
			if err != nil || string(got)+"\n" != "x"+want.String() {
				t.Fatalf("%s: %s\nwant %s (%v)", typ, got, want.String(), err)
			}
		}
	}
	for _, p := range []Unknown{{"NEW", nil}, {"NEW", json.RawMessage(`{"a":[1,"<"]}`)}} {
		if got, err := appendJSON(nil, p); err != nil || string(got) != string(p.JSON) && string(got) != "null" {
			t.Errorf("%s, %v", got, err)
		}
	}
}

// Types that payloads have not, or not yet.
func TestJSONOfOtherTypes(t *testing.T) {
	type inner struct{ A int }
	for _, v := range []any{
		struct {
			inner
			B string `json:"b"`
		}{inner{1}, "<"},
		struct {
			T time.Time      `json:"t,omitzero"`
			D Digest         `json:"d,omitzero"`
			F float64        `json:"f"`
			M map[string]any `json:"m,omitempty"`
			S []byte         `json:"s"`
			N []int          `json:"n"`
			E sotto.Ending   `json:"e"`
			P *Text          `json:"p"`
			Q int            `json:"q,string"`
		}{F: 1e300, S: []byte("ab")},
		struct {
			C Content `json:"c,omitzero"`
			D Digest  `json:"d,omitempty"`
			B []bool  `json:"b,omitempty"`
		}{B: []bool{true, false}},
	} {
		want, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		got, err := appendJSON(nil, v)
		if err != nil || !reflect.DeepEqual(decoded(t, got), decoded(t, want)) {
			t.Errorf("%s, want %s (%v)", got, want, err)
		}
	}
}

func decoded(t *testing.T, data []byte) (v any) {
	t.Helper()
	if err := json.Unmarshal(data, &v); err != nil {
		t.Fatalf("%s: %v", data, err)
	}
	return v
}

// scraps are what the texts of a test are made of.
var scraps = []string{"a", "<think>&", "\n", "\t\r\b\f", `"`, `\`, "\x00\x1f\x7f", "ü×", "\u2028\u2029", "\U0001f600", "\xff", "\xe2\x80", "base64:", "\ufffd"}

// fill gives a value's members values.
func fill(r *rand.Rand, v reflect.Value, depth int) {
	switch v.Kind() {
	case reflect.String:
		var s string
		for range r.IntN(5) {
			s += scraps[r.IntN(len(scraps))]
		}
		v.SetString(s)
	case reflect.Bool:
		v.SetBool(r.IntN(2) == 0)
	case reflect.Int, reflect.Int64:
		v.SetInt(r.Int64N(2000) - 1000)
	case reflect.Uint8:
		v.SetUint(r.Uint64N(4))
	case reflect.Uint, reflect.Uint64:
		v.SetUint(r.Uint64())
	case reflect.Float64:
		v.SetFloat(r.Float64())
	case reflect.Pointer:
		if r.IntN(2) == 0 {
			v.Set(reflect.New(v.Type().Elem()))
			fill(r, v.Elem(), depth+1)
		}
	case reflect.Slice:
		if n := r.IntN(4); n > 0 {
			v.Set(reflect.MakeSlice(v.Type(), n-1, n))
			for i := range n - 1 {
				fill(r, v.Index(i), depth+1)
			}
		}
	case reflect.Array:
		for i := range v.Len() {
			fill(r, v.Index(i), depth+1)
		}
	case reflect.Map:
		if r.IntN(2) == 0 {
			v.Set(reflect.ValueOf(map[string]string{"a": scraps[r.IntN(len(scraps))]}))
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Field(i).CanSet() {
				fill(r, v.Field(i), depth+1)
			}
		}
	}
}

// Encoding an event allocates its payload, its replies and their digests, however long
// they are and however many segments they have.
func TestEncodingAllocates(t *testing.T) {
	reply := Reply{Dialect: "qwen3", End: sotto.EndStopped, Raw: Say(strings.Repeat("Six times seven is \"42\".\n", 200))}
	for i := range 50 {
		reply.Segments = append(reply.Segments, Segment{Channel: sotto.Channel(i % 4), Start: i, End: i + 1})
	}
	e := Event{Run: "run-1", Payload: Invocation{Model: "m", Replies: []Reply{reply}}}
	w, err := Open(t.TempDir(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	it, g := newItem(&w.items), w.guard
	if n := testing.AllocsPerRun(100, func() {
		if err := it.encode(&e, &g); err != nil {
			t.Fatal(err)
		}
	}); n > 3 {
		t.Errorf("%v allocations", n)
	}
}
