package chatjson_test

import (
	"encoding/json"
	"reflect"
	"testing"

	"github.com/sotto-llm/sotto/internal/data/chatjson"
	"github.com/sotto-llm/sotto/internal/data/jsonedit"
	"github.com/sotto-llm/sotto/wire"
)

const talk = `{"model":"m","n":1.0,"messages":[
 {"role":"system","content":"Be brief."},
 {"role":"user","content":[{"type":"text","text":"What \u003c\n"},{"type":"image_url","image_url":{"url":"x"}}]},
 {"role":"assistant","content":"<think>r</think>a","reasoning_content":"rr","tool_calls":[{"id":"c1","function":{"name":"f","arguments":"{}"}}]},
 {"role":"tool","tool_call_id":"c1","content":"7"},
 {"role":"assistant","content":[{"type":"thinking","thinking":"t","signature":""},{"type":"thinking","thinking":"u","signature":"sig"},{"type":"redacted_thinking","data":"x"},{"type":"text","text":"b"},{"type":"tool_use","id":"c2","name":"f","input":{}}]},
 {"role":"user","content":[{"type":"tool_result","tool_use_id":"c2","content":"8"}]},
 {"role":"assistant","reasoning_details":[{"type":"reasoning.encrypted","data":"x"}],"content":null}
]}`

// TestReadMessages reads what each API's messages hold.
func TestReadMessages(t *testing.T) {
	got := chatjson.ReadMessages(jsonedit.Parse([]byte(talk)).Get("messages"))
	want := []wire.Message{
		{Role: "system", Texts: []string{"Be brief."}},
		{Role: "user", Texts: []string{"What <\n"}},
		{Role: "assistant", Texts: []string{"<think>r</think>a"}, Thoughts: []wire.Thought{{Name: "reasoning_content", Text: "rr"}}, Calls: true, CallIDs: []string{"c1"}, Called: []string{"f"}},
		{Role: "tool", Texts: []string{"7"}, Results: true, CallIDs: []string{"c1"}},
		{Role: "assistant", Texts: []string{"b"}, Calls: true, CallIDs: []string{"c2"}, Called: []string{"f"}, Thoughts: []wire.Thought{
			{Name: "thinking", Text: "t", Minted: true}, {Name: "thinking", Text: "u", Sealed: true, Proof: "sig"}, {Name: "redacted_thinking", Sealed: true, Proof: "x"},
		}},
		{Role: "user", Results: true, CallIDs: []string{"c2"}},
		{Role: "assistant", Thoughts: []wire.Thought{{Name: "reasoning_details", Sealed: true, Proof: "x"}}},
	}
	for i := range want {
		if i >= len(got) || !reflect.DeepEqual(got[i], want[i]) {
			t.Errorf("message %d: %+v\nwant %+v", i, got[i], want[i])
		}
	}
}

// TestEditMessages changes what it is told to, and no other byte.
func TestEditMessages(t *testing.T) {
	for name, test := range map[string]struct {
		change   wire.Change
		from, to string
	}{
		"a text":        {wire.Change{Message: 2, Texts: map[int]string{0: "a\n\"<"}}, `"<think>r</think>a"`, `"a\n\"<"`},
		"an empty text": {wire.Change{Message: 2, Texts: map[int]string{0: ""}}, `"<think>r</think>a"`, `""`},
		"a part's text": {wire.Change{Message: 1, Texts: map[int]string{0: "Why"}}, `"What \u003c\n"`, `"Why"`},
		"a member":      {wire.Change{Message: 2, Drop: []int{0}}, `,"reasoning_content":"rr"`, ``},
		"a first block": {wire.Change{Message: 4, Drop: []int{0}}, `{"type":"thinking","thinking":"t","signature":""},`, ``},
		"two blocks":    {wire.Change{Message: 4, Drop: []int{0, 2}}, `{"type":"thinking","thinking":"t","signature":""},{"type":"thinking","thinking":"u","signature":"sig"},{"type":"redacted_thinking","data":"x"},`, `{"type":"thinking","thinking":"u","signature":"sig"},`},
		"a field added": {wire.Change{Message: 2, Field: "reasoning", Add: "é\""}, `{"role":"assistant","content":"<think>`, `{"reasoning":"é\"","role":"assistant","content":"<think>`},
		"first member":  {wire.Change{Message: 6, Drop: []int{0}}, `,"reasoning_details":[{"type":"reasoning.encrypted","data":"x"}]`, ``},
		"text and drop": {wire.Change{Message: 2, Drop: []int{0}, Texts: map[int]string{0: "a"}}, `"<think>r</think>a","reasoning_content":"rr"`, `"a"`},
	} {
		body := []byte(talk)
		got, err := chatjson.EditMessages(nil, body, jsonedit.Parse(body).Get("messages"), []wire.Change{test.change})
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		i := len(talk)
		for at := range len(talk) {
			if at+len(test.from) <= len(talk) && talk[at:at+len(test.from)] == test.from {
				i = at
				break
			}
		}
		if i == len(talk) {
			t.Fatalf("%s: %q is not in the request", name, test.from)
		}
		if want := talk[:i] + test.to + talk[i+len(test.from):]; string(got) != want || !json.Valid(got) {
			t.Errorf("%s:\n%s\nwant\n%s", name, got, want)
		}
	}
	for _, c := range []wire.Change{{Message: 9}, {Message: -1}, {Message: 0, Texts: map[int]string{4: "x"}}} {
		if _, err := chatjson.EditMessages(nil, []byte(talk), jsonedit.Parse([]byte(talk)).Get("messages"), []wire.Change{c}); err == nil {
			t.Errorf("%+v: no error", c)
		}
	}
}

func TestPrefillOf(t *testing.T) {
	for _, test := range []struct {
		last wire.Message
		want string
	}{
		{wire.Message{Role: "assistant", Texts: []string{"a", "<think>\n"}}, "<think>\n"},
		{wire.Message{Role: "user", Texts: []string{"x"}}, ""},
		{wire.Message{Role: "assistant", Texts: []string{"x"}, Calls: true}, ""},
		{wire.Message{Role: "assistant"}, ""},
	} {
		if got := chatjson.PrefillOf([]wire.Message{{Role: "user"}, test.last}); got != test.want {
			t.Errorf("%+v: %q", test.last, got)
		}
	}
	if chatjson.PrefillOf(nil) != "" {
		t.Error("of nothing")
	}
}

// TestEditCalls puts a text into messages that call tools and have none, and signs
// calls.
func TestEditCalls(t *testing.T) {
	text := wire.Change{Texts: map[int]string{0: "<think>é\"</think>"}}
	const said = `"<think>é\"</think>"`
	sign := wire.Change{Sign: map[int]string{1: "c2ln\""}}
	const signed = `"extra_content":{"google":{"thought_signature":"c2ln\""}}`
	const call = `{"id":"c1","function":{"name":"f"}}`
	calls := func(second string) string {
		return `{"role":"assistant","content":"a","tool_calls":[` + call + `,` + second + `]}`
	}
	for _, test := range []struct {
		change     wire.Change
		from, want string // an empty want is an error
	}{
		{text, `{"role":"assistant","content":null,"tool_calls":[` + call + `]}`, `{"role":"assistant","content":` + said + `,"tool_calls":[` + call + `]}`},
		{text, `{"tool_calls":[` + call + `],"role":"assistant"}`, `{"content":` + said + `,"tool_calls":[` + call + `],"role":"assistant"}`},
		{text, `{"content":[],"tool_calls":[` + call + `]}`, `{"content":` + said + `,"tool_calls":[` + call + `]}`},
		{text, `{"content":[{"type":"tool_use","id":"c1"}]}`, `{"content":[{"type":"text","text":` + said + `},{"type":"tool_use","id":"c1"}]}`},
		{
			wire.Change{Texts: text.Texts, Drop: []int{0}}, `{"content":[{"type":"thinking","thinking":"é","signature":""},{"type":"tool_use","id":"c1"}]}`,
			`{"content":[{"type":"text","text":` + said + `},{"type":"tool_use","id":"c1"}]}`,
		},
		{text, `{"role":"assistant","content":null}`, ""},
		{sign, calls(`{"id":"c2"}`), calls(`{` + signed + `,"id":"c2"}`)},
		{sign, calls(`{}`), ""}, // it has no id and no name to know it by
		{sign, calls(`{"id":"c2","extra_content":null}`), calls(`{"id":"c2",` + signed + `}`)},
		{sign, calls(`{"id":"c2","extra_content":{}}`), calls(`{"id":"c2",` + signed + `}`)},
		{sign, calls(`{"id":"c2","extra_content":{"x":1}}`), calls(`{"id":"c2","extra_content":{"google":{"thought_signature":"c2ln\""},"x":1}}`)},
		{sign, calls(`{"id":"c2","extra_content":{"google":{"x":1}}}`), calls(`{"id":"c2","extra_content":{"google":{"thought_signature":"c2ln\"","x":1}}}`)},
		{sign, calls(`{"id":"c2","extra_content":{"google":7}}`), calls(`{"id":"c2",` + signed + `}`)},
		{sign, calls(`{"id":"c2","extra_content":{"google":{"thought_signature":{}}}}`), calls(`{"id":"c2",` + signed + `}`)},
		{sign, calls(`7`), ""},
		{wire.Change{Sign: map[int]string{2: "x"}}, calls(`{"id":"c2"}`), ""},
		{wire.Change{Field: "reasoning_content"}, `{"role":"assistant","reasoning_content":null}`, `{"role":"assistant","reasoning_content":""}`},
	} {
		body := []byte("[" + test.from + "]")
		got, err := chatjson.EditMessages(nil, body, jsonedit.Parse(body), []wire.Change{test.change})
		if want := "[" + test.want + "]"; test.want == "" && err == nil || test.want != "" && (string(got) != want || err != nil) {
			t.Errorf("%s\ngot  %s, %v\nwant %s", test.from, got, err, want)
		}
		if err != nil {
			continue
		}
		if m := chatjson.ReadMessages(jsonedit.Parse(got))[0]; len(test.change.Sign) > 0 && (len(m.Signed) != 2 || m.Signed[0] || !m.Signed[1]) {
			t.Errorf("%s: signed are %v", got, m.Signed)
		}
	}
}

// TestEditParts: reasoning becomes a part without a signature, in a message with a text,
// with parts, with calls alone, and also where every part that it had is removed.
func TestEditParts(t *testing.T) {
	const calls = `"tool_calls":[{"id":"c1","function":{"name":"f","arguments":"{}"}}]`
	add := wire.Change{Field: "thinking", Add: "t"}
	for _, c := range []struct {
		message, want string
		change        wire.Change
	}{
		{`{"content":"a"}`, `{"content":[{"type":"thinking","thinking":"t"},{"type":"text","text":"a"}]}`, add},
		{`{"content":[{"type":"text","text":"a"}]}`, `{"content":[{"type":"thinking","thinking":"t"},{"type":"text","text":"a"}]}`, add},
		{`{` + calls + `}`, `{"content":[{"type":"thinking","thinking":"t"}],` + calls + `}`, add},
		{`{"content":null,` + calls + `}`, `{"content":[{"type":"thinking","thinking":"t"}],` + calls + `}`, add},
		{`{"content":[{"type":"thinking","thinking":"u"}],` + calls + `}`, `{"content":[{"type":"thinking","thinking":"t"}],` + calls + `}`, wire.Change{Drop: []int{0}, Field: "thinking", Add: "t"}},
		{`{"content":[{"type":"thinking","thinking":"u"}],` + calls + `}`, `{"content":[{"type":"text","text":"a"}],` + calls + `}`, wire.Change{Drop: []int{0}, Texts: map[int]string{0: "a"}}},
		{`{"content":[{"type":"thinking","thinking":"u"}],"tool_plan":"p",` + calls + `}`, `{"content":[{"type":"thinking","thinking":"u"}],` + calls + `}`, wire.Change{Drop: []int{1}}},
	} {
		body := []byte(`{"messages":[` + c.message + `]}`)
		got, err := chatjson.EditParts(nil, body, jsonedit.Parse(body).Get("messages"), []wire.Change{c.change})
		if want := `{"messages":[` + c.want + `]}`; err != nil || string(got) != want {
			t.Errorf("%s: %v\n%s\nwant\n%s", c.message, err, got, want)
		}
	}
}
