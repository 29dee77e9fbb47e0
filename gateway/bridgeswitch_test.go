package gateway_test

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/tidwall/gjson"

	"github.com/sotto-llm/sotto/gateway"
	"github.com/sotto-llm/sotto/gateway/routing"
	"github.com/sotto-llm/sotto/wire/switches"
)

// TestBridgeThinkingSwitch: how a client of another API turns thinking on or off comes to the server in the words of the
// route, and in no others, and the response says so.
func TestBridgeThinkingSwitch(t *testing.T) {
	for words, member := range map[switches.Words]string{switches.Native: "reasoning_effort", switches.EnableThinking: "enable_thinking", switches.ChatTemplateKwargs: "chat_template_kwargs"} {
		for setting, on := range map[string]bool{`{"type":"disabled"}`: false, `{"type":"enabled","budget_tokens":2000}`: true} {
			var sent gjson.Result
			g := handler(t, gateway.Config{UpstreamAPI: "chat", Default: routing.Route{ThinkingSwitch: words}}, answering(func(r *http.Request) *http.Response {
				body, _ := io.ReadAll(r.Body)
				sent = gjson.ParseBytes(body)
				return response("application/json", strings.NewReader(`{"id":"c","model":"m","choices":[{"index":0,"message":{"role":"assistant","content":"Yes."},"finish_reason":"stop"}]}`))
			}))
			w := request(g, "POST", "/v1/messages", `{"model":"m","max_tokens":9000,"thinking":`+setting+`,"messages":[{"role":"user","content":"Is it?"}]}`)
			if w.Code != 200 {
				t.Fatalf("%s %s: %d %s", words, setting, w.Code, w.Body)
			}
			for _, name := range []string{"reasoning_effort", "enable_thinking", "chat_template_kwargs", "thinking"} {
				if sent.Get(name).Exists() != (name == member) {
					t.Errorf("%s %s: %s in %s", words, setting, name, sent.Raw)
				}
			}
			said := map[string]bool{"reasoning_effort": sent.Get("reasoning_effort").Str != "none", "enable_thinking": sent.Get("enable_thinking").Bool(), "chat_template_kwargs": sent.Get("chat_template_kwargs.enable_thinking").Bool()}[member]
			if said != on {
				t.Errorf("%s %s: %s", words, setting, sent.Raw)
			}
			if header := w.Header().Get("Sotto-Thinking"); (header != "") != (words != switches.Native) {
				t.Errorf("%s %s: the header %q", words, setting, header)
			}
		}
	}
}
