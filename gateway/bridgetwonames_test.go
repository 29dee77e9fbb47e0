package gateway_test

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/sotto-llm/sotto/gateway"
)

// TestBridgeTwoNames: a client of chat completions sends a thought back under two names, as it got it
// with reasoning-field reasoning_content,reasoning. An upstream of another API gets it once, or the
// request without it, and never a refusal. Two names that say different things are still refused.
func TestBridgeTwoNames(t *testing.T) {
	for _, tt := range []struct {
		members string
		status  int
	}{
		{`"reasoning_content":"I add.","reasoning":"I add."`, 200},
		{`"reasoning":"","reasoning_content":""`, 200},
		{`"reasoning_content":"I add.","reasoning":7`, 400},
		{`"__copilotMessageSource":"user"`, 200},
	} {
		got := ""
		g := handler(t, gateway.Config{UpstreamAPI: "ollama"}, answering(func(r *http.Request) *http.Response {
			b, _ := io.ReadAll(r.Body)
			got = string(b)
			return response("application/json", strings.NewReader(`{"model":"m","message":{"role":"assistant","content":"a"},"done":true,"done_reason":"stop"}`))
		}))
		w := ask(g, "/v1/chat/completions", `{"model":"m","messages":[{"role":"user","content":"q"},{"role":"assistant",`+tt.members+`,"content":"a"},{"role":"user","content":"q"}]}`)
		if w.Code != tt.status || strings.Count(got, "I add.") > 1 {
			t.Errorf("%s: %d %s\nthe upstream got %s", tt.members, w.Code, w.Body, got)
		}
	}
}
