package gateway_test

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/sotto-llm/sotto/gateway"
)

// TestBridgedFreeCalls: a call of the function that stands for a tool which takes a text comes back as one of
// that tool, and one of the function for a tool in a group as one of the group's, streamed and whole.
func TestBridgedFreeCalls(t *testing.T) {
	const stream = `data: {"id":"x","object":"chat.completion.chunk","model":"m","choices":[{"index":0,"delta":{"role":"assistant","tool_calls":[{"index":0,"id":"c1","type":"function","function":{"name":"patch","arguments":"{\"inp"}}]}}]}

data: {"id":"x","object":"chat.completion.chunk","model":"m","choices":[{"index":0,"delta":{"tool_calls":[{"index":1,"id":"c2","type":"function","function":{"name":"places__find","arguments":"{\"a\":"}}]}}]}

data: {"id":"x","object":"chat.completion.chunk","model":"m","choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":"ut\":\"a\\nb\"}"}},{"index":1,"function":{"arguments":"1}"}}]}}]}

data: {"id":"x","object":"chat.completion.chunk","model":"m","choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}

data: [DONE]

`
	const whole = `{"id":"x","object":"chat.completion","model":"m","choices":[{"index":0,"finish_reason":"tool_calls","message":{"role":"assistant","content":null,"tool_calls":[{"id":"c1","type":"function","function":{"name":"patch","arguments":"{\"input\":\"a\\nb\"}"}},{"id":"c2","type":"function","function":{"name":"places__find","arguments":"{\"a\":1}"}}]}}]}`
	url := start(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if strings.Contains(string(body), `"stream":true`) {
			w.Header().Set("Content-Type", "text/event-stream")
			io.WriteString(w, stream)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		io.WriteString(w, whole)
	}), gateway.Config{UpstreamAPI: "chat"})
	for _, mode := range []string{"false", "true"} {
		resp, err := http.Post(url+"/v1/responses", "application/json", strings.NewReader(`{"model":"m","stream":`+mode+`,"input":"x","tools":[
			{"type":"custom","name":"patch"},{"type":"namespace","name":"places","tools":[{"type":"function","name":"find","parameters":{"type":"object"}}]}]}`))
		if err != nil {
			t.Fatal(err)
		}
		said, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range []string{
			`"type":"custom_tool_call"`, `"call_id":"c1","name":"patch","input":"a\nb"`, `"call_id":"c2","name":"find","namespace":"places","arguments":"{\"a\":1}"`,
		} {
			if !strings.Contains(string(said), want) {
				t.Errorf("stream %s: no %s in %s", mode, want, said)
			}
		}
		if strings.Contains(string(said), "places__find") || strings.Contains(string(said), `{\"input\"`) {
			t.Errorf("stream %s: %s", mode, said)
		}
	}
}
