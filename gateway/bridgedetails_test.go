package gateway_test

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/tidwall/gjson"

	"github.com/sotto-llm/sotto/gateway"
)

// TestBridgeDetailsOnly: a chat server that has its reasoning in reasoning_details and in no other member gets it back
// there: from the copy of a client that keeps one, from the words of another, and from memory.
func TestBridgeDetailsOnly(t *testing.T) {
	const reply = `{"choices":[{"index":0,"message":{"role":"assistant","content":"","reasoning_details":[{"type":"reasoning.text","id":"r1","index":0,"text":"A thought."}],` +
		`"tool_calls":[{"id":"t1","type":"function","function":{"name":"weather","arguments":"{}"}}]},"finish_reason":"tool_calls"}]}`
	for _, tt := range []struct {
		name, path, first, next string
		memory                  int64
	}{
		{"a copy", "/v1/messages", `{"model":"minimax-m2","max_tokens":9,"tools":[{"name":"weather","input_schema":{"type":"object"}}],"messages":[{"role":"user","content":"Hi"}]}`,
			`{"model":"minimax-m2","max_tokens":9,"tools":[{"name":"weather","input_schema":{"type":"object"}}],"messages":[{"role":"user","content":"Hi"},{"role":"assistant","content":CONTENT},` +
				`{"role":"user","content":[{"type":"tool_result","tool_use_id":"ID","content":"sun"}]}]}`, 1},
		{"the words", "/api/chat", `{"model":"minimax-m2","stream":false,"messages":[{"role":"user","content":"Hi"}]}`,
			`{"model":"minimax-m2","stream":false,"messages":[{"role":"user","content":"Hi"},{"role":"assistant","content":"","thinking":"A thought.","tool_calls":[{"id":"ID","function":{"name":"weather","arguments":{}}}]},` +
				`{"role":"tool","tool_call_id":"ID","content":"sun"}]}`, 1},
		{"memory", "/api/chat", `{"model":"minimax-m2","stream":false,"messages":[{"role":"user","content":"Hi"}]}`,
			`{"model":"minimax-m2","stream":false,"messages":[{"role":"user","content":"Hi"},{"role":"assistant","content":"","tool_calls":[{"id":"ID","function":{"name":"weather","arguments":{}}}]},` +
				`{"role":"tool","tool_call_id":"ID","content":"sun"}]}`, 0},
	} {
		var got []byte
		c := gateway.Config{UpstreamAPI: "chat"}
		c.Limits.RestoredBytes = tt.memory // 1: nothing is remembered
		g := handler(t, c, answering(func(r *http.Request) *http.Response {
			got, _ = io.ReadAll(r.Body)
			return response("application/json", strings.NewReader(reply))
		}))
		w := request(g, "POST", tt.path, tt.first)
		id := gjson.Get(w.Body.String(), `message.tool_calls.0.id`).Str + gjson.Get(w.Body.String(), `content.#(type=="tool_use").id`).Str
		next := strings.NewReplacer("CONTENT", gjson.Get(w.Body.String(), "content").Raw, "ID", id).Replace(tt.next)
		if w := request(g, "POST", tt.path, next); w.Code != 200 {
			t.Errorf("%s: %d %s", tt.name, w.Code, w.Body)
		}
		m := gjson.GetBytes(got, `messages.#(role=="assistant")`)
		if d := m.Get("reasoning_details"); d.Get("#").Int() != 1 || d.Get("0.text").Str != "A thought." || d.Get("0.type").Str != "reasoning.text" {
			t.Errorf("%s: reasoning_details are %s in %s", tt.name, d.Raw, m.Raw)
		}
		if strings.Count(m.Raw, "A thought.") != 1 {
			t.Errorf("%s: the thought is there more than once: %s", tt.name, m.Raw)
		}
	}
}
