package gemini

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/sotto-llm/sotto/wire"
)

// talk is a conversation whose second reply came in two contents of several parts,
// as clients of streams send it back.
const talk = `{"contents":[
	{"role":"user","parts":[{"text":"Why"},{"inline_data":{"data":"eA=="}}]},
	{"role":"model","parts":[{"text":"r","thought":true},{"text":"s","thought":true},{"text":"a"},{"text":"b"},{"functionCall":{"name":"f","args":{}},"thought_signature":"c2ln"},{"functionCall":{"id":"c2","name":"g"}}]},
	{"parts":[{"functionResponse":{"name":"f","response":{}}}]},
	{"role":"model","parts":[{"text":"t","thought":true}]},
	{"role":"model","parts":[{"text":"c"}]},
	{"role":"model","parts":[{"text":"d","thoughtSignature":"c2ln"}]},
	{"role":"user","parts":[{"text":"And"}]}]}`

func TestRequestMessages(t *testing.T) {
	q, err := GenerateContent.Request([]byte(talk))
	if err != nil {
		t.Fatal(err)
	}
	thought := func(text string) []wire.Thought { return []wire.Thought{{Name: "thought", Text: text}} }
	want := []wire.Message{
		{Role: "user", Texts: []string{"Why"}},
		{
			Role: "assistant", Thoughts: thought("rs"), Texts: []string{"ab"}, Calls: true, CallIDs: []string{"f", "c2"}, Names: true,
			Called: []string{"f", "g"}, Signed: []bool{true, false},
		},
		{Role: "user", Results: true, CallIDs: []string{"f"}, Names: true},
		{Role: "assistant", Thoughts: thought("t"), Texts: []string{"cd"}},
		{Role: "user", Texts: []string{"And"}},
	}
	if !reflect.DeepEqual(q.Messages, want) {
		t.Errorf("%+v\nwant %+v", q.Messages, want)
	}
}

// TestEdit changes what it is told to, and no other byte.
func TestEdit(t *testing.T) {
	const reply = `{"text":"t","thought":true}]},
	{"role":"model","parts":[{"text":"c"}]},
	{"role":"model","parts":[{"text":"d","thoughtSignature":"c2ln"}]}`
	for name, test := range map[string]struct {
		change   wire.Change
		from, to string
	}{
		"a text of two parts":       {wire.Change{Message: 1, Texts: map[int]string{0: "x\""}}, `{"text":"a"},{"text":"b"}`, `{"text":"x\""}`},
		"a text of two contents":    {wire.Change{Message: 3, Texts: map[int]string{0: "x"}}, `{"text":"c"}]},` + "\n\t" + `{"role":"model","parts":[{"text":"d",`, `{"text":"x"}]},` + "\n\t" + `{"role":"model","parts":[{"text":"",`},
		"a thought of two parts":    {wire.Change{Message: 1, Drop: []int{0}}, `{"text":"r","thought":true},{"text":"s","thought":true},`, ``},
		"a content of one thought":  {wire.Change{Message: 3, Drop: []int{0}}, `{"role":"model","parts":[` + reply, strings.TrimPrefix(reply, `{"text":"t","thought":true}]},`+"\n\t")},
		"a thought added":           {wire.Change{Message: 3, Field: "thought", Add: "é"}, reply, `{"text":"é","thought":true},` + reply},
		"a thought for another":     {wire.Change{Message: 3, Drop: []int{0}, Field: "thought", Add: "tt"}, `{"text":"t","thought":true}`, `{"text":"tt","thought":true}`},
		"a call signed":             {wire.Change{Message: 1, Sign: map[int]string{1: "s="}}, `{"functionCall":{"id":"c2","name":"g"}}`, `{"thoughtSignature":"s=","functionCall":{"id":"c2","name":"g"}}`},
		"a call signed again":       {wire.Change{Message: 1, Sign: map[int]string{0: "s="}}, `"thought_signature":"c2ln"`, `"thought_signature":"s="`},
		"a text of another message": {wire.Change{Message: 4, Texts: map[int]string{0: ""}}, `"And"`, `""`},
	} {
		got, err := GenerateContent.Edit(nil, []byte(talk), []wire.Change{test.change})
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if strings.Count(talk, test.from) != 1 {
			t.Fatalf("%s: %q is there %d times", name, test.from, strings.Count(talk, test.from))
		}
		if want := strings.Replace(talk, test.from, test.to, 1); string(got) != want || !json.Valid(got) {
			t.Errorf("%s:\n%s\nwant\n%s", name, got, want)
		}
	}
	for _, c := range []wire.Change{{Message: 5}, {Message: -1}, {Message: 0, Texts: map[int]string{1: ""}}, {Message: 1, Sign: map[int]string{2: ""}}} {
		if _, err := GenerateContent.Edit(nil, []byte(talk), []wire.Change{c}); err == nil {
			t.Errorf("%+v: no error", c)
		}
	}
}

// TestTwoNames refuses a member that stands under both of its names, since a server
// reads only one of them.
func TestTwoNames(t *testing.T) {
	for _, body := range []string{
		`{"contents":[{"role":"model","parts":[{"functionCall":{"name":"f"},"thoughtSignature":"a","thought_signature":"b"}]}]}`,
		`{"contents":[],"systemInstruction":{},"system_instruction":{}}`,
		`{"contents":[],"generationConfig":{"thinkingConfig":{"ThinkingBudget":0}}}`,
		`{"contents":[{"parts":[{"function_call":{},"functionCall":{}}]}]}`,
		`{"contents":[{"parts":[{"function_Call":{}}]}]}`,
	} {
		if _, err := GenerateContent.Request([]byte(body)); err == nil {
			t.Errorf("%s is taken", body)
		}
	}
	for _, body := range []string{
		`{"contents":[{"role":"model","parts":[{"function_call":{"name":"f","args":{"name":1,"NAME":2}},"thought_signature":"b"}]}],"x":1,"X":2}`,
		`{"contents":{"parts":{"text":"q"}}}`,
	} {
		if _, err := GenerateContent.Request([]byte(body)); err != nil {
			t.Errorf("%s: %v", body, err)
		}
	}
}

// TestReadPath reads the model and the verb of the paths of both services.
func TestReadPath(t *testing.T) {
	for path, want := range map[string]wire.Request{
		"/v1beta/models/gemini-3-pro:generateContent":                                           {Model: "gemini-3-pro"},
		"/v1beta/models/qwen3:8b:streamGenerateContent":                                         {Model: "qwen3:8b", Stream: true},
		"/v1/projects/p/locations/global/publishers/google/models/gemini:streamGenerateContent": {Model: "gemini", Stream: true},
		"/v1beta/models": {},
	} {
		var q wire.Request
		if readPath(path, &q); !reflect.DeepEqual(q, want) {
			t.Errorf("%s: %+v", path, q)
		}
	}
}
