package interop_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/shared"

	"github.com/sotto-llm/sotto/gateway"
)

// callsInText is a model server that reads no calls: its model writes one into its text,
// and answers once it has the result.
func callsInText(t *testing.T, stream bool) string {
	up := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		text := "<think>I ask.</think>Let me see.\n<tool_call>\n{\"name\": \"get_weather\", \"arguments\": {\"city\": \"Paris\"}}\n</tool_call>"
		if strings.Contains(string(body), `"role":"tool"`) {
			text = "It rains."
		}
		if !stream {
			w.Header().Set("Content-Type", "application/json")
			content, _ := json.Marshal(text)
			fmt.Fprintf(w, `{"id":"c1","object":"chat.completion","created":1,"model":"m","choices":[{"index":0,"message":{"role":"assistant","content":%s},"finish_reason":"stop"}]}`, content)
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		for len(text) > 0 {
			n := min(5, len(text))
			content, _ := json.Marshal(text[:n])
			fmt.Fprintf(w, "data: {\"id\":\"c1\",\"object\":\"chat.completion.chunk\",\"created\":1,\"model\":\"m\",\"choices\":[{\"index\":0,\"delta\":{\"content\":%s},\"finish_reason\":null}]}\n\n", content)
			text = text[n:]
		}
		fmt.Fprint(w, "data: {\"id\":\"c1\",\"object\":\"chat.completion.chunk\",\"created\":1,\"model\":\"m\",\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n")
	}))
	t.Cleanup(up.Close)
	return serveRoute(t, up.URL, gateway.Route{Calls: gateway.CallsField})
}

// TestTextCallsSDK runs a tool loop with a model whose calls come as text.
func TestTextCallsSDK(t *testing.T) {
	for _, stream := range []bool{false, true} {
		base := callsInText(t, stream)
		toolLoop(t, base, "qwen3:8b", stream)
		params := chatParams("qwen3:8b")
		params.Tools = []openai.ChatCompletionToolUnionParam{openai.ChatCompletionFunctionTool(shared.FunctionDefinitionParam{Name: "get_weather"})}
		message := chat(t, newOpenAI(base), params, stream)
		if message.Content != "Let me see." || len(message.ToolCalls) != 1 || message.ToolCalls[0].Function.Arguments != `{"city": "Paris"}` {
			t.Errorf("stream %v: content %q, calls %+v", stream, message.Content, message.ToolCalls)
		}
	}
}
