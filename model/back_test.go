package model_test

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/sotto-llm/sotto/model"
)

// messagesOf returns the messages of the request that a client makes, as JSON.
func messagesOf(t *testing.T, provider, name string, q model.Request) []string {
	t.Helper()
	var messages []string
	url := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		var body struct{ Messages []json.RawMessage }
		if err := json.Unmarshal(b, &body); err != nil {
			t.Errorf("%v in %s", err, b)
		}
		for _, m := range body.Messages {
			messages = append(messages, string(m))
		}
		w.WriteHeader(http.StatusBadRequest)
	}))
	invoke(t, open(t, model.Config{Provider: provider, URL: url, Model: name}), q)
	return messages
}

// What a reply came with goes back as it came: the same members, parts and
// blocks, at the same places.
func TestRepliesGoBack(t *testing.T) {
	want := map[string]string{
		"reasoning of every name": `{"role":"assistant","content":"b","reasoning_content":"a"}`,
		"details in pieces": `{"role":"assistant","content":"ok","reasoning_details":[` +
			`{"type":"reasoning.text","text":"haha!","index":0,"format":"x","signature":"SIG"},{"type":"reasoning.encrypted","data":"Zg==","index":1}]}`,
		"parts of the content": `{"role":"assistant","content":[{"type":"thinking","thinking":[{"type":"text","text":"ab"}]},{"type":"text","text":"cd"}]}`,
		"calls side by side, in pieces": `{"role":"assistant","content":null,"tool_calls":[` +
			`{"id":"a","type":"function","function":{"name":"f","arguments":"{\"x\":\"<\"}"}},{"id":"b","type":"function","function":{"name":"g","arguments":"{}"}}]}`,
		"whole calls that are all number 0, with a signature": `{"role":"assistant","content":null,"tool_calls":[` +
			`{"id":"a","type":"function","function":{"name":"f","arguments":"{}"},"extra_content":{"google":{"thought_signature":"S<"}}},` +
			`{"id":"b","type":"function","function":{"name":"f","arguments":"{}"}}]}`,
		"a character in two halves, and one that stays a half": `{"role":"assistant","content":"a👍b\ud83dc"}`,
		"thoughts, a redacted one, a call, and where each stood": `{"role":"assistant","content":[` +
			`{"type":"thinking","thinking":"a<","signature":"S=="},{"type":"text","text":"Well."},{"type":"redacted_thinking","data":"ZGF0YQ=="},` +
			`{"type":"tool_use","id":"t","name":"f","input":{"x": 1}},{"type":"tool_use","id":"u","name":"g","input":{}}]}`,
		"thoughts of a server that signs none":  `{"role":"assistant","content":[{"type":"thinking","thinking":"a","signature":""},{"type":"text","text":"b"}]}`,
		"a line each, the last without its end": `{"role":"assistant","content":"b","thinking":"a","tool_calls":[{"function":{"name":"f","arguments":{"x": 1}}}]}`,
	}
	seen := 0
	for _, s := range streams {
		if want[s.name] == "" {
			continue
		}
		seen++
		t.Run(s.name, func(t *testing.T) {
			url := serve(t, played(&s, func() int { return 1 << 20 }))
			q := asked("?")
			r := invoke(t, open(t, model.Config{Provider: s.provider, URL: url, Model: "m"}), q)
			q.Messages = append(q.Messages, r.reply.Message())
			if got := messagesOf(t, s.provider, "m", q)[1]; got != want[s.name] {
				t.Errorf("got  %s\nwant %s", got, want[s.name])
			}
		})
	}
	if seen != len(want) {
		t.Errorf("%d of %d streams were found", seen, len(want))
	}
}

// Thoughts of another provider are left out where the API has no place for them,
// and never sent as something that they are not.
func TestForeignThoughts(t *testing.T) {
	q := asked("?")
	q.Messages = append(q.Messages, model.Message{Role: model.Assistant, Text: "Yes.", Thoughts: []model.Thought{
		{Field: "thinking", Text: "a", Sealed: true, Raw: []byte(`{"type":"thinking","thinking":"a","signature":"S"}`)},
		{Field: "reasoning_content", Text: "b"},
		{Field: "thinking", Text: "c", Raw: []byte(`{"type":"thinking","thinking":[{"type":"text","text":"c"}]}`)},
		{Field: "__proto__", Text: "d"},
	}}, user("And?"))
	for provider, want := range map[string]string{
		"openai":    `{"role":"assistant","content":[{"type":"thinking","thinking":[{"type":"text","text":"c"}]},{"type":"text","text":"Yes."}],"reasoning_content":"b"}`,
		"anthropic": `{"role":"assistant","content":[{"type":"thinking","thinking":"a","signature":"S"},{"type":"text","text":"Yes."}]}`,
		"ollama":    `{"role":"assistant","content":"Yes.","thinking":"bcd"}`,
	} {
		if got := messagesOf(t, provider, "m", q)[1]; got != want {
			t.Errorf("%s:\ngot  %s\nwant %s", provider, got, want)
		}
	}
}

// Arguments that are no object reach an API that takes only objects as the text
// that they are; blank texts do not reach Anthropic's, which refuses them.
func TestAwkwardMessages(t *testing.T) {
	q := asked("?")
	q.Messages = append(q.Messages,
		model.Message{Role: model.Assistant, Text: " \n", Calls: []model.Call{{ID: "1", Name: "f", Arguments: `{"x": `}, {ID: "2", Name: "g", Arguments: ""}}},
		model.Message{Role: model.ToolRole, CallID: "1", Text: ""}, model.Message{Role: model.ToolRole, CallID: "2", Text: "no"},
		model.Message{Role: model.Assistant, Text: ""}, user("\xff<b>"))
	for provider, want := range map[string]string{
		"anthropic": `{"role":"user","content":"?"}
{"role":"assistant","content":[{"type":"tool_use","id":"1","name":"f","input":{"malformed":"{\"x\": "}},{"type":"tool_use","id":"2","name":"g","input":{}}]}
{"role":"user","content":[{"type":"tool_result","tool_use_id":"1"},{"type":"tool_result","tool_use_id":"2","content":"no"}]}
{"role":"user","content":"�<b>"}`,
		"ollama": `{"role":"user","content":"?"}
{"role":"assistant","content":" \n","tool_calls":[{"id":"1","function":{"name":"f","arguments":{"malformed":"{\"x\": "}}},{"id":"2","function":{"name":"g","arguments":{}}}]}
{"role":"tool","content":"","tool_name":"f","tool_call_id":"1"}
{"role":"tool","content":"no","tool_name":"g","tool_call_id":"2"}
{"role":"assistant","content":""}
{"role":"user","content":"�<b>"}`,
		"openai": `{"role":"user","content":"?"}
{"role":"assistant","content":" \n","tool_calls":[{"id":"1","type":"function","function":{"name":"f","arguments":"{\"x\": "}},{"id":"2","type":"function","function":{"name":"g","arguments":""}}]}
{"role":"tool","tool_call_id":"1","content":""}
{"role":"tool","tool_call_id":"2","content":"no"}
{"role":"assistant","content":""}
{"role":"user","content":"�<b>"}`,
	} {
		if got := strings.Join(messagesOf(t, provider, "m", q), "\n"); got != want {
			t.Errorf("%s:\ngot  %s\nwant %s", provider, got, want)
		}
	}
}

// Whatever a server sends, a client neither panics nor breaks its law.
func FuzzStream(f *testing.F) {
	for _, s := range streams {
		f.Add(s.provider, s.kind, s.body)
	}
	f.Fuzz(func(t *testing.T, provider, kind, body string) {
		if kindOf[provider] == "" {
			return
		}
		if kind == "" {
			kind = kindOf[provider]
		}
		m := open(t, model.Config{Provider: provider, Model: "m", Retries: -1, Limits: model.Limits{Reply: 4 << 10}, Transport: answer{kind, body}})
		r := invoke(t, m, asked("?"))
		r.consistent(t)
		if len(r.text)+len(r.thought) > 4<<10 {
			t.Errorf("%d bytes", len(r.text)+len(r.thought))
		}
		q := asked("?")
		q.Messages = append(q.Messages, r.reply.Message(), user("!"))
		if again := invoke(t, m, q); again.err != nil && strings.HasPrefix(again.err.Error(), "request: ") {
			t.Errorf("%v: %+v", again.err, r.reply)
		}
	})
}

// An answer is a transport that has one body.
type answer struct{ kind, body string }

func (a answer) RoundTrip(r *http.Request) (*http.Response, error) {
	b, err := io.ReadAll(r.Body)
	if err == nil && !json.Valid(b) {
		panic("the request is no JSON: " + string(b))
	}
	return &http.Response{StatusCode: 200, Header: http.Header{"Content-Type": {a.kind}}, Body: io.NopCloser(strings.NewReader(a.body)), Request: r}, err
}
