package npm_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sotto-llm/sotto/gateway"
	"github.com/sotto-llm/sotto/gateway/routing"
)

// writesCalls is an upstream of Cohere's API whose model writes a call into its text, and
// answers once it has the result. It notes the bodies.
func writesCalls(bodies *[]string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		*bodies = append(*bodies, string(body))
		text := "<think>I ask.</think>Let me see.\n<tool_call>\n{\"name\": \"get_weather\", \"arguments\": {\"city\": \"Paris\"}}\n</tool_call>"
		if strings.Contains(string(body), `"role":"tool"`) {
			text = "It rains."
		}
		quoted := func(s string) string { b, _ := json.Marshal(s); return string(b) }
		const usage = `"usage":{"tokens":{"input_tokens":5,"output_tokens":9}}`
		if !strings.Contains(string(body), `"stream":true`) {
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprintf(w, `{"id":"m1","finish_reason":"COMPLETE","message":{"role":"assistant","content":[{"type":"text","text":%s}]},%s}`, quoted(text), usage)
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		event := func(kind, more string) {
			fmt.Fprintf(w, "event: %s\ndata: {\"type\":%q,%s}\n\n", kind, kind, more)
		}
		event("message-start", `"id":"m1","delta":{"message":{"role":"assistant","content":[],"tool_plan":"","tool_calls":[],"citations":[]}}`)
		event("content-start", `"index":0,"delta":{"message":{"content":{"type":"text","text":""}}}`)
		for rest := text; rest != ""; {
			n := min(5, len(rest))
			event("content-delta", `"index":0,"delta":{"message":{"content":{"text":`+quoted(rest[:n])+`}}}`)
			rest = rest[n:]
		}
		event("content-end", `"index":0`)
		event("message-end", `"delta":{"finish_reason":"COMPLETE",`+usage+`}`)
	}
}

// TestCohereTextCalls: Cohere's SDK reads a call that the model wrote into its text, and
// sends it back with its result and without markup.
func TestCohereTextCalls(t *testing.T) {
	dir := os.Getenv("SOTTO_NPM")
	if dir == "" {
		t.Skip("SOTTO_NPM is not set: run it as SOTTO_NPM=$(interop/npm/install)")
	}
	var bodies []string
	upstream := httptest.NewServer(writesCalls(&bodies))
	defer upstream.Close()
	u, err := url.Parse(upstream.URL)
	if err != nil {
		t.Fatal(err)
	}
	g, err := gateway.New(gateway.Config{Upstream: u, Default: routing.Route{Calls: routing.CallsField}})
	if err != nil {
		t.Fatal(err)
	}
	defer g.Close()
	front := httptest.NewServer(g)
	defer front.Close()
	cmd := exec.CommandContext(t.Context(), filepath.Join(dir, "node", "run"), filepath.Join(dir, "textcalls.js"), front.URL)
	var said strings.Builder
	cmd.Stderr = &said
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v\n%s\n%s", err, out, said.String())
	}
	want := ""
	for _, how := range []string{"whole", "stream"} {
		want += `{"name":"` + how + ` call","reason":"TOOL_CALL","text":"|Let me see.","thought":"I ask.","calls":["get_weather {\"city\": \"Paris\"}"]}` + "\n" +
			`{"name":"` + how + ` answer","reason":"COMPLETE","text":"It rains.","thought":"","calls":[]}` + "\n"
	}
	if string(out) != want {
		t.Errorf("the SDK read\n%s\nwant\n%s", out, want)
	}
	if len(bodies) != 4 {
		t.Fatalf("%d requests", len(bodies))
	}
	for _, body := range []string{bodies[1], bodies[3]} {
		if strings.Contains(body, "tool_call>") || strings.Count(body, `"S0`) != 2 {
			t.Errorf("the model got %s", body)
		}
	}
}
