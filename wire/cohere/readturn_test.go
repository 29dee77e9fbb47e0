package cohere_test

import (
	"testing"

	"github.com/sotto-llm/sotto/wire/cohere"
	"github.com/sotto-llm/sotto/wire/internal/turntest"
)

var turns = cohere.Chat

// bodies are requests that are read and written as the same.
var bodies = []string{
	`{"model":"m","messages":[{"role":"user","content":"Hello"}]}`,
	`{"model":"m","stream":true,"messages":[{"role":"system","content":[{"type":"text","text":"Be brief."},{"type":"text","text":"And kind."}]},{"role":"user","content":[{"type":"text","text":"Hi"}]},
		{"role":"assistant","content":[{"type":"thinking","thinking":"I see"},{"type":"text","text":"Hello"},{"type":"later"},{"type":"image_url","image_url":{"url":"https://x"}}],"citations":[{"start":0,"end":1,"sources":[]}]},
		{"role":"assistant","content":"x"},{"role":"user","content":""},{"role":"user","content":[]},{"role":"user"},{"role":"user","content":5},
		{"role":"user","content":[{"type":"text","text":"What?","x":1}],"name":"n"},{"role":"user","content":["x",{"text":"y"},{"type":"text"}]},{"role":"developer","content":"x"},{"role":"assistant"}]}`,
	`{"messages":[{"role":"user","content":[{"type":"text","text":"See"},{"type":"image_url","image_url":{"url":"https://example.com/a.png","detail":"low"}},
		{"type":"image_url","image_url":{"url":"data:image/png;base64,eA=="}},{"type":"image_url","image_url":{"url":"data:;base64,eA==","detail":""}},{"type":"image_url","image_url":"x"},{"type":"image_url","image_url":{"url":""}},
		{"type":"document","document":{"data":"x"}}]}],"stream":false}`,
	`{"messages":[{"role":"user","content":"Weather?"},
		{"role":"assistant","tool_plan":"I will ask.","tool_calls":[{"id":"c1","type":"function","function":{"name":"f","arguments":"{\"a\": 1.50}"}},{"id":"c2","type":"function","function":{"name":"g","arguments":""}},
			{"id":"","type":"function","function":{"name":"g"}},{"type":"function","function":{"name":"g","arguments":{"a":1}}},{"id":"c5","type":"other","function":{}},{"id":"c6","type":"function"}]},
		{"role":"tool","tool_call_id":"c1","content":"sunny"},{"role":"tool","tool_call_id":"c2","content":[{"type":"document","document":{"data":"{\"degrees\":20}","id":"1"}},{"type":"text","text":"x"}]},
		{"role":"tool","tool_call_id":"c2","content":[{"type":"document","document":{"data":{"error":"no such place"}}}]},{"role":"tool","tool_call_id":"c2","content":[{"type":"document","document":{"data":{"degrees":20.0}}},{"type":"document","document":{}},{"type":"document","document":{"data":""}}]},
		{"role":"tool","tool_call_id":"c2","content":[{"type":"image_url","image_url":{"url":"https://x"}},{"type":"thinking","thinking":"x"}]},{"role":"tool","tool_call_id":"","content":"y"},{"role":"tool"},{"role":"tool","content":[]},
		{"role":"assistant","content":[{"type":"text","text":"And"}],"tool_plan":"","tool_calls":[]},{"role":"assistant","tool_calls":["x"]},{"role":"assistant","content":"","tool_calls":[{"id":"c7","type":"function","function":{"name":"f","arguments":"{}"}}]},{"role":"user","tool_calls":[{"id":"c"}],"tool_plan":"x"}]}`,
	`{"messages":[{"role":"user","content":"x"}],"tools":[{"type":"function","function":{"name":"f","description":"does","parameters":{"type":"object","properties":{"b":{},"a":{}}}}},{"type":"function","function":{"name":"g"}},
		{"type":"function","function":{"name":"h","description":"","parameters":null}},{"type":"function"},{"type":"search"},{"function":{"name":"f"}}],"strict_tools":true,"tool_choice":"REQUIRED","documents":["x",{"data":{"a":"b"},"id":"1"}],
		"citation_options":{"mode":"FAST"},"safety_mode":"OFF","logprobs":true,"priority":5}`,
	`{"messages":[{"role":"user","content":"x"}],"tools":[{"type":"function","function":{"name":"f","parameters":{}}}],"strict_tools":false,"tool_choice":"NONE","response_format":{"type":"text"}}`,
	`{"messages":[{"role":"user","content":"x"}],"strict_tools":true,"tool_choice":"AUTO","response_format":{"type":"json_object"}}`,
	`{"messages":[{"role":"user","content":"x"}],"response_format":{"type":"json_object","json_schema":{"type":"object"}},"max_tokens":100,"temperature":0.30,"p":0.75,"k":0,"seed":12345678901234567890,
		"presence_penalty":0.1,"frequency_penalty":1e-1,"stop_sequences":["a","b"],"thinking":{"type":"enabled","token_budget":1024}}`,
	`{"messages":[{"role":"user","content":"x"}],"response_format":{"type":"json_object","schema":{"type":"object"}},"thinking":{"type":"disabled"}}`,
	`{"messages":[{"role":"user","content":"x"}],"response_format":{"type":"grammar","json_schema":{}},"thinking":{"type":"enabled","zz":1},"reasoning_effort":"low","stop_sequences":["a",1]}`,
	`{"messages":[],"tools":[],"thinking":{},"response_format":{},"stop_sequences":[],"documents":[]}`,
	`{"messages":["x"],"tools":["x"]}`,
}

func TestTurnSame(t *testing.T) {
	for _, body := range bodies {
		turntest.Same(t, turns, body, normal)
	}
}

// normal is a request in which a content that is a text is a list of one, and a call has a type, which
// can only be function.
func normal(v any) any {
	root, _ := v.(map[string]any)
	list, _ := root["messages"].([]any)
	for _, e := range list {
		m, _ := e.(map[string]any)
		if text, ok := m["content"].(string); ok {
			m["content"] = []any{map[string]any{"type": "text", "text": text}}
		}
		calls, _ := m["tool_calls"].([]any)
		for _, e := range calls {
			if call, ok := e.(map[string]any); ok && call["type"] == nil {
				call["type"] = "function"
			}
		}
	}
	return v
}
