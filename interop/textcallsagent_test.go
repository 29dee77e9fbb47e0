package interop_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/sotto-llm/sotto/agent"
	"github.com/sotto-llm/sotto/gateway/routing"
	"github.com/sotto-llm/sotto/model"
)

// A noteTaker is a model server whose model writes a note by a call in its text, and
// says how it went once it has the result.
type noteTaker struct{ bodies []string }

func (u *noteTaker) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	api, ok := textCallAPIs[r.URL.Path]
	if !ok { // such as the size of the model's window
		http.NotFound(w, r)
		return
	}
	body, _ := io.ReadAll(r.Body)
	u.bodies = append(u.bodies, string(body))
	text := "<think>CANARY</think>A note.\n<tool_call>\n<function=write>\n<parameter=key>rule</parameter>\n<parameter=value>Every fourth year.</parameter>\n</function>\n</tool_call>"
	if strings.Contains(string(body), `wrote \"rule\"`) || strings.Contains(string(body), `wrote \\\"rule\\\"`) {
		text = "It is noted."
	}
	stream := strings.Contains(string(body), `"stream":true`)
	kind := "application/json"
	if stream {
		kind = map[bool]string{true: "application/x-ndjson", false: "text/event-stream"}[r.URL.Path == "/api/chat"]
	}
	w.Header().Set("Content-Type", kind)
	frames := []string{api.whole}
	if stream {
		frames = []string{api.begin, api.piece, api.end}
	}
	quoted, _ := json.Marshal(text)
	for _, f := range frames {
		if f != "" {
			fmt.Fprintln(w, strings.ReplaceAll(f, "TEXT", string(quoted)))
		}
	}
}

// TestTextCallsAgent: an agent whose calls are those of the API works through a gateway
// with a model whose calls come as text. The next prompt has the call and its result in
// the API's form. A client of the Messages API sends its thinking block back within the loop, and the
// model has the thought where it wrote it; other clients send none.
func TestTextCallsAgent(t *testing.T) {
	for _, provider := range []string{"openai", "anthropic", "ollama"} {
		up := &noteTaker{}
		srv := httptest.NewServer(up)
		defer srv.Close()
		base := serveRoute(t, srv.URL, routing.Route{Calls: routing.CallsField})
		m, err := model.Open(model.Config{Provider: provider, Model: "qwen3", URL: base, Key: "k"})
		if err != nil {
			t.Fatal(err)
		}
		x := agent.Experiment{Name: "noted", System: "You work.", Model: m, Calls: agent.NativeCalls, Memory: agent.AllMemory(), Cycles: 1}
		r, err := agent.Run(t.Context(), x, agent.Options{Record: t.TempDir(), Memory: t.TempDir()})
		if err != nil || r.Status != agent.Done || r.Last != "It is noted." {
			t.Fatalf("%s: %+v, %v\n%q", provider, r, err, up.bodies)
		}
		if n := r.Metrics; n.ToolCalls != 1 || n.ToolErrors != 0 || n.TextCalls != 0 || n.Retries != 0 {
			t.Errorf("%s: %+v", provider, n)
		}
		last := up.bodies[len(up.bodies)-1]
		if provider == "anthropic" {
			last = strings.Replace(last, `"text":"<think>CANARY</think>`, `"text":"`, 1)
		}
		if strings.Contains(last, "function=write") || strings.Contains(last, "CANARY") || strings.Count(last, `"S0`) != 2 || !strings.Contains(last, "Every fourth year.") {
			t.Errorf("%s: the model got %s", provider, last)
		}
	}
}
