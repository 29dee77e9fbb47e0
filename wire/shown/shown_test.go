package shown_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/sotto-llm/sotto/wire/shown"
)

// plain is an object with a value of every kind.
var plain = shown.Object("id", shown.Members{
	"text": shown.Text, "seal": shown.Sealed, "gone": shown.Blank, "use": shown.Counts, "all": shown.Opaque,
	"any": shown.MapOf(shown.Word), "or": shown.TextOr(shown.List(shown.Word)), "probs": shown.Tokens("text"),
	"kinds":  shown.List(shown.ByType(map[string]*shown.Value{"a": shown.Object("type x", nil), "b": shown.Object("type", shown.Members{"y!": shown.Word})})),
	"inside": shown.Object("", shown.Members{"must!": shown.Text}),
})

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
		{"an unknown member twice", `{"x":1,"text":"a","x":2}`, `{"text":"a"}`},
	} {
		got, ok, err := plain.Read([]byte(test.in), nil)
		if string(got) != test.want || ok != (test.want != "") || (err != nil) == ok {
			t.Errorf("%s: %s, %v, want %s", test.name, got, err, test.want)
		}
	}
}

// TestOneOrList: an object, or a list of such objects.
func TestOneOrList(t *testing.T) {
	v := shown.OneOrList(shown.Object("", shown.Members{"text": shown.Text}))
	for in, want := range map[string]string{
		`{"x":1,"text":"a"}`: `{"text":"a"}`, `[{"x":1,"text":"a"},{"text":"b"}]`: `[{"text":"a"},{"text":"b"}]`, `["a"]`: `[]`, `[[{"text":"a"}]]`: `[]`,
	} {
		if got, ok := v.Of([]byte(in)); string(got) != want || !ok {
			t.Errorf("%s: %s", in, got)
		}
	}
}

// TestRead: each text is read, with its place, and words are not. A piece of which nothing is
// left is left out.
func TestRead(t *testing.T) {
	v := shown.Object("id", shown.Members{"a": shown.Text, "b": shown.List(shown.Object("", shown.Members{"c": shown.Piece})), "d": shown.TextOr(shown.List(shown.Text)), "e": shown.Label})
	var places []string
	got, ok, err := v.Read([]byte(`{"id":"i","a":"x\u00e9","b":[{"c":"y"},{"c":"gone"}],"d":["z"],"e":"a b"}`), func(place string, text []byte, piece bool) []byte {
		places = append(places, fmt.Sprint(place, " ", string(text), " ", piece))
		if string(text) == "gone" {
			return nil
		}
		return append([]byte("<"), text...)
	})
	if want := `{"id":"i","a":"<xé","b":[{"c":"<y"},{}],"d":["<z"],"e":"a b"}`; string(got) != want || !ok || err != nil {
		t.Errorf("%s, %v", got, err)
	}
	if want := "a xé false,b.c y true,b.c gone true,d z false"; strings.Join(places, ",") != want {
		t.Errorf("read %q", places)
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
