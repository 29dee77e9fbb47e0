package nextrequest

import (
	"strings"
	"testing"

	"github.com/sotto-llm/sotto/wire/providers"
)

func TestBody(t *testing.T) {
	for _, c := range []struct{ name, api, body, want string }{
		{
			"a thought in the text of a family that needs none", "",
			`{"model":"qwen3:8b","messages":[{"role":"user","content":"a"},{"role":"assistant","content":"<think>b</think>c"},{"role":"user","content":"d"}], "x" : 1}`,
			`{"model":"qwen3:8b","messages":[{"role":"user","content":"a"},{"role":"assistant","content":"c"},{"role":"user","content":"d"}], "x" : 1}`,
		},
		{
			"a call whose reasoning the provider wants back", "chat",
			`{"model":"deepseek-v4","messages":[{"role":"user","content":"a"},{"role":"assistant","content":"","reasoning_content":"b","tool_calls":[{"id":"1","type":"function","function":{"name":"f","arguments":"{}"}}]},{"role":"tool","tool_call_id":"1","content":"c"}]}`,
			"",
		},
		{
			"a signed thought", "messages",
			`{"model":"claude-sonnet-5","max_tokens":9,"messages":[{"role":"user","content":"a"},{"role":"assistant","content":[{"type":"thinking","thinking":"b","signature":"c2ln"},{"type":"text","text":"c"}]},{"role":"user","content":"d"}]}`,
			"",
		},
		{
			"Ollama", "ollama",
			`{"model":"qwen3:8b","messages":[{"role":"user","content":"a"},{"role":"assistant","content":"c","thinking":"b"},{"role":"user","content":"d"}]}`,
			`{"model":"qwen3:8b","messages":[{"role":"user","content":"a"},{"role":"assistant","content":"c"},{"role":"user","content":"d"}]}`,
		},
		{
			"Gemini's model, which is not in the body that is sent", "gemini",
			`{"model":"qwen3","contents":[{"role":"user","parts":[{"text":"a"}]},{"role":"model","parts":[{"text":"<think>b</think>c"}]},{"role":"user","parts":[{"text":"d"}]}]}`,
			`{"model":"qwen3","contents":[{"role":"user","parts":[{"text":"a"}]},{"role":"model","parts":[{"text":"c"}]},{"role":"user","parts":[{"text":"d"}]}]}`,
		},
		{
			"Bedrock's", "bedrock",
			`{"modelId":"qwen.qwen3-32b-v1:0","messages":[{"role":"user","content":[{"text":"a"}]},{"role":"assistant","content":[{"text":"<think>b</think>c"}]},{"role":"user","content":[{"text":"d"}]}]}`,
			`{"modelId":"qwen.qwen3-32b-v1:0","messages":[{"role":"user","content":[{"text":"a"}]},{"role":"assistant","content":[{"text":"c"}]},{"role":"user","content":[{"text":"d"}]}]}`,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			want := c.want
			if want == "" {
				want = c.body
			}
			got, err := Body(c.api, []byte(c.body))
			if err != nil {
				t.Fatal(err)
			}
			if string(got) != want {
				t.Errorf("got %s, want %s", got, want)
			}
			again, err := Body(c.api, got)
			if err != nil || string(again) != want {
				t.Errorf("again: %s, %v", again, err)
			}
		})
	}
}

func TestBodyRefused(t *testing.T) {
	for _, c := range []struct{ api, body, want string }{
		{"nobody", `{}`, `unknown API "nobody": want bedrock, chat`},
		{"", `{`, "request: "},
		{"", `[]`, "request: "},
		{"", strings.Repeat("[", 2000) + strings.Repeat("]", 2000), "request: "},
		{"", `{"messages":[],"messages":[]}`, "twice"},
	} {
		if got, err := Body(c.api, []byte(c.body)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("Body(%q, %.40s) = %s, %v; want %s", c.api, c.body, got, err, c.want)
		}
	}
	for _, a := range providers.APIs() {
		if _, err := Body(a.Name, []byte(`{"model":"x","messages":[],"contents":[],"input":[]}`)); err != nil {
			t.Errorf("%s: %v", a.Name, err)
		}
	}
}
