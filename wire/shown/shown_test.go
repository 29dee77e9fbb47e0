package shown_test

import (
	"strings"
	"testing"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/wire"
	"github.com/sotto-llm/sotto/wire/shown"
)

// same is a codec's reply that passes everything as it is.
type same struct{}

func (same) Frame(dst []byte, f wire.Frame, _ wire.Reader) []byte { return append(dst, f.Raw...) }
func (same) End(dst []byte, _ error, _ wire.Reader) []byte        { return dst }
func (same) KeepAlive(dst []byte) []byte                          { return dst }
func (same) Whole(dst, body []byte, _ wire.Reader) []byte         { return append(dst, body...) }

// failing notes that a reply failed.
type failing struct{ err error }

func (*failing) Found(wire.Event) []wire.Part          { return nil }
func (*failing) Close(int, sotto.End) []wire.Part      { return nil }
func (*failing) Open() []int                           { return nil }
func (r *failing) Fail(err error)                      { r.err = err }
func (*failing) Finish(sotto.End) ([]wire.Part, error) { return nil, nil }
func (*failing) Findings() string                      { return "" }
func (*failing) Share() (reasoning, all int)           { return 0, 0 }

var plainAPI = &shown.API{
	Framing: wire.NDJSON, Needs: []string{"text"},
	Body: shown.Object("id", shown.Members{
		"text": shown.Text, "seal": shown.Sealed, "gone": shown.Blank, "use": shown.Counts, "all": shown.Opaque,
		"any": shown.MapOf(shown.Word), "or": shown.TextOr(shown.List(shown.Word)), "probs": shown.Tokens("text"),
		"kinds":  shown.List(shown.ByType(map[string]*shown.Value{"a": shown.Object("type x", nil), "b": shown.Object("type", shown.Members{"y!": shown.Word})})),
		"inside": shown.Object("", shown.Members{"must!": shown.Text}),
	}),
}

// TestValues holds what each kind of value lets out.
func TestValues(t *testing.T) {
	for _, test := range []struct{ name, in, want string }{
		{"as it came", `{"id": "x1" ,"text":"a b \u00e9"}`, `{"id": "x1" ,"text":"a b \u00e9"}`},
		{"unknown", `{"x":1,"text":"a","Text":"b", "y":{}}`, `{"text":"a"}`},
		{"a word has no white space", `{"id":"a b","text":"a"}`, `{"text":"a"}`},
		{"a word is short", `{"id":"` + strings.Repeat("x", 513) + `","text":"a"}`, `{"text":"a"}`},
		{"an object is no text", `{"text":"a","id":{"id":"x"},"seal":["x"]}`, `{"text":"a"}`},
		{"sealed", `{"text":"a","seal":"AbC="}`, `{"text":"a","seal":"AbC="}`},
		{"not sealed", `{"text":"a","seal":"I think"}`, `{"text":"a"}`},
		{"not sealed by another space", `{"text":"a","seal":"I\u00a0think"}`, `{"text":"a"}`},
		{"blank", `{"text":"a","gone":"b"}`, `{"text":"a","gone":""}`},
		{"blank list", `{"text":"a","gone":["b"]}`, `{"text":"a","gone":[]}`},
		{"blank object", `{"text":"a","gone":{"b":1}}`, `{"text":"a","gone":null}`},
		{"counts", `{"text":"a","use":{"n":1,"m":{"k":2.5,"t":"x y","ids":[1,2]},"l":[{"n":1,"s":"x"}],"9":1}}`, `{"text":"a","use":{"n":1,"m":{"k":2.5,"ids":[]},"l":[{"n":1}]}}`},
		{"opaque", `{"text":"a","all":{"x":[{"y":"z z"}]}}`, `{"text":"a","all":{"x":[{"y":"z z"}]}}`},
		{"map", `{"text":"a","any":{"k":"v","w":"v v","a b":"v"}}`, `{"text":"a","any":{"k":"v"}}`},
		{"text or", `{"text":"a","or":"a b"}`, `{"text":"a","or":"a b"}`},
		{"or a list", `{"text":"a","or":["a","a b",{"a":1},"c"]}`, `{"text":"a","or":["a","c"]}`},
		{"kinds", `{"text":"a","kinds":[{"type":"c","x":1},{"type":"a","x":1,"z":2},{"x":1},{"type":"b"},{"type":"b","y":1}]}`, `{"text":"a","kinds":[{"type":"a","x":1},{"type":"b","y":1}]}`},
		{"needed", `{"text":"a","inside":{"x":1}}`, `{"text":"a"}`},
		{"tokens that spell the text", `{"text":"a b","probs":[{"token":"a ","logprob":-1,"x":1},{"token":"b"}]}`, `{"text":"a b","probs":[{"token":"a ","logprob":-1},{"token":"b"}]}`},
		{"tokens that spell more", `{"text":"b","probs":[{"token":"a "},{"token":"b"}]}`, `{"text":"b","probs":[]}`},
		{"tokens that spell less", `{"text":"ab","probs":{"content":[{"token":"a"}]}}`, `{"text":"ab","probs":null}`},
		{"tokens without a text", `{"text":1,"probs":{"tokens":["a"]}}`, `{"text":1,"probs":null}`},
		{"tokens with ids", `{"text":"a","probs":[{"id":1,"token":"a","prob":0.5,"top_probs":[{"id":2,"token":"b","prob":0.5,"x":1}]}]}`, `{"text":"a","probs":[{"id":1,"token":"a","prob":0.5,"top_probs":[{"id":2,"token":"b","prob":0.5}]}]}`},
		{"a member twice", `{"text":"a","text":"b"}`, ``},
		{"not a reply", `{"id":"a"}`, ``},
		{"an unknown member twice", `{"x":1,"text":"a","x":2}`, `{"text":"a"}`},
	} {
		r := &failing{}
		got := shown.Only(same{}, wire.Settings{Hide: true}, plainAPI).Whole(nil, []byte(test.in), r)
		if string(got) != test.want || (r.err != nil) != (test.want == "") {
			t.Errorf("%s: %s, %v, want %s", test.name, got, r.err, test.want)
		}
	}
}

// TestOneOrList: an API whose body may be a list shows each element of it, and fails if
// one of them is not a reply.
func TestOneOrList(t *testing.T) {
	api := *plainAPI
	api.Body = shown.OneOrList(plainAPI.Body)
	for in, want := range map[string]string{
		`{"x":1,"text":"a"}`: `{"text":"a"}`, `[{"x":1,"text":"a"},{"text":"b"}]`: `[{"text":"a"},{"text":"b"}]`,
		`[{"text":"a"},{"x":"b"}]`: ``, `[]`: ``, `["a"]`: ``, `[[{"text":"a"}]]`: ``,
	} {
		r := &failing{}
		got := shown.Only(same{}, wire.Settings{Hide: true}, &api).Whole(nil, []byte(in), r)
		if string(got) != want || (r.err != nil) != (want == "") {
			t.Errorf("%s: %s, %v, want %s", in, got, r.err, want)
		}
	}
}

// TestOnlyHides holds that a reply is left alone where nothing is hidden.
func TestOnlyHides(t *testing.T) {
	for _, set := range []wire.Settings{{}, {Hide: true, Keep: true}} {
		if y := shown.Only(same{}, set, plainAPI); y != (same{}) {
			t.Errorf("%+v: %T", set, y)
		}
	}
}

// TestOneOf: an object whose member says what it is goes with its last member.
func TestOneOf(t *testing.T) {
	v := shown.Object("id", shown.Members{"delta!": shown.OneOf(shown.Members{"text": shown.Text, "seal": shown.Sealed})})
	for in, want := range map[string]string{
		`{"id":1,"delta":{"text":"a","x":1}}`: `{"id":1,"delta":{"text":"a"}}`, `{"id":1,"delta":{"x":1}}`: ``, `{"id":1,"delta":{}}`: ``, `{"id":1,"delta":{"seal":"a b"}}`: ``,
	} {
		if got, ok := v.Of([]byte(in)); string(got) != want || ok != (want != "") {
			t.Errorf("%s: %s", in, got)
		}
	}
}
