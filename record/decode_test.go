package record

import (
	"encoding/json"
	"math/rand/v2"
	"reflect"
	"testing"
	"time"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/internal/base/effort"
)

// sameDecoding checks that data decodes as encoding/json decodes it, into a value of
// the type of p.
func sameDecoding(t *testing.T, p any, data []byte) {
	t.Helper()
	typ := reflect.TypeOf(p)
	want := reflect.New(typ)
	wrong := json.Unmarshal(data, want.Interface())
	got := reflect.New(typ).Elem()
	d := decoding{b: data}
	end, ok := decoderOf(typ)(&d, 0, got)
	if !ok || len(trimSpace(data[end:])) > 0 {
		return // encoding/json decides
	}
	if wrong != nil || !reflect.DeepEqual(got.Interface(), want.Elem().Interface()) {
		t.Fatalf("%s: got %+v\nencoding/json %+v, %v", data, got.Interface(), want.Elem().Interface(), wrong)
	}
}

func trimSpace(b []byte) []byte {
	for len(b) > 0 && (b[0] == ' ' || b[0] == '\n' || b[0] == '\r' || b[0] == '\t') {
		b = b[1:]
	}
	return b
}

// Every payload is decoded as encoding/json does it, whatever is in it and whatever
// happened to it.
func TestDecodingIsThatOfEncodingJSON(t *testing.T) {
	r := rand.New(rand.NewPCG(8, 9))
	scraps := []string{`null`, `"messages":null,`, `"Raw":{"text":"x"},`, `"raw":1,`, `{}`, `[]`, `[null]`, `\ud800`, `\u0041`, "\xff", `"`, `,`, ` `, "\n", `1e3`, `-0`, `0.5`, `"base64:!"`, `"base64:eA=="`, `truex`, `"ſeq":1,`, `99999999999999999999`}
	fast := 0
	for typ, read := range payloadReaders {
		for range 60 * effort.Times() {
			p, err := read([]byte("{}"), false)
			if err != nil {
				t.Fatal(err)
			}
			v := reflect.New(reflect.TypeOf(p)).Elem()
			fill(r, v, 0)
			data, err := appendJSON(nil, v.Interface())
			if err != nil {
				t.Fatal(err)
			}
			d := decoding{b: data}
			if _, ok := decoderOf(v.Type())(&d, 0, reflect.New(v.Type()).Elem()); ok {
				fast++
			} else if json.Unmarshal(data, reflect.New(v.Type()).Interface()) == nil && !json.Valid(data) {
				t.Fatalf("%s: %s", typ, data)
			}
			sameDecoding(t, v.Interface(), data)
			for range 20 {
				at := r.IntN(len(data) + 1)
				changed := append(data[:at:at], scraps[r.IntN(len(scraps))]...)
				sameDecoding(t, v.Interface(), append(changed, data[min(len(data), at+r.IntN(3)):]...))
			}
		}
	}
	if fast == 0 {
		t.Error("nothing was decoded without encoding/json")
	}
}

// What a writer writes is decoded without encoding/json.
func TestDecodingOfWrittenLines(t *testing.T) {
	in := Invocation{
		Model: "m", Usage: &Usage{Input: 3}, Messages: []Message{{Role: "user", Text: Say("a \"b\"\n\u2028é")}},
		Replies: []Reply{{Raw: Say("\xff"), Segments: []Segment{{Channel: sotto.ChannelText, End: 1}}, Digest: DigestOf("x")}},
	}
	data, err := appendJSON(nil, in)
	if err != nil {
		t.Fatal(err)
	}
	var got Invocation
	d := decoding{b: data}
	if end, ok := decoderOf(reflect.TypeOf(got))(&d, 0, reflect.ValueOf(&got).Elem()); !ok || end != len(data) || !reflect.DeepEqual(got, in) {
		t.Errorf("%s: %v at %d, got %+v", data, ok, end, got)
	}
	var n envelope
	line := []byte(`{"v":2,"seq":7,"time":"` + time.Now().Format(time.RFC3339Nano) + `","run":"r","cycle":1,"type":"X","payload":{"a":1},"prev":"` + DigestOf("").String() + `"}`)
	d = decoding{b: line}
	if end, ok := decoderOf(reflect.TypeOf(n))(&d, 0, reflect.ValueOf(&n).Elem()); !ok || end != len(line) || n.Seq != 7 || string(n.Payload) != `{"a":1}` {
		t.Errorf("%v at %d: %+v", ok, end, n)
	}
}

// NoPrompts leaves out the same members, whoever decodes.
func TestNoPrompts(t *testing.T) {
	for _, data := range []string{
		`{"model":"m","messages":[{"role":"user"}],"tools":[{"name":"t"}],"replies":[{"choice":1}]}`,
		`{"model":"m","MESSAGES":[{"role":"user"}],"tools":[{"name":"t"}],"replies":[{"choice":1}]}`, // encoding/json takes it
	} {
		p, err := readPayload[Invocation]([]byte(data), true)
		if x, ok := p.(Invocation); err != nil || !ok || x.Messages != nil || x.Tools != nil || x.Model != "m" || len(x.Replies) != 1 {
			t.Errorf("%s: %+v, %v", data, p, err)
		}
		if p, err := readPayload[Invocation]([]byte(data), false); err != nil || len(p.(Invocation).Messages) != 1 {
			t.Errorf("%s with prompts: %+v, %v", data, p, err)
		}
	}
	if _, err := readPayload[Invocation]([]byte(`{"messages":[}`), true); err == nil {
		t.Error("a fault in what is left out is not seen")
	}
}
