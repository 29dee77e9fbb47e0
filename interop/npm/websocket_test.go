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
	"sync"
	"testing"

	"github.com/tidwall/gjson"

	"github.com/sotto-llm/sotto/gateway"
	"github.com/sotto-llm/sotto/gateway/routing"
)

// A responder is an upstream with the Responses API, without a WebSocket and without a
// store: it refuses a request that continues a response. Its model calls a tool where it
// has no result yet, and else says how many items it was sent.
type responder struct {
	mu     sync.Mutex
	bodies []gjson.Result
}

func (u *responder) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	raw, _ := io.ReadAll(r.Body)
	body := gjson.ParseBytes(raw)
	u.mu.Lock()
	u.bodies = append(u.bodies, body)
	n := len(u.bodies)
	u.mu.Unlock()
	if body.Get("previous_response_id").Exists() || !body.Get("stream").Bool() {
		w.WriteHeader(http.StatusBadRequest)
		fmt.Fprint(w, `{"error":{"message":"no","code":"unsupported","type":"invalid_request_error","param":null}}`)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	seq := 0
	event := func(kind, more string) {
		fmt.Fprintf(w, "event: %s\ndata: {\"type\":%q,\"sequence_number\":%d,%s}\n\n", kind, kind, seq, more)
		seq++
	}
	response := func(status, output string) string {
		return fmt.Sprintf(`"response":{"id":"resp_%d","object":"response","created_at":1,"model":"qwen3","status":%q,"error":null,"incomplete_details":null,"output":[%s]}`, n, status, output)
	}
	items := body.Get("input").Array()
	event("response.created", response("in_progress", ""))
	if strings.Contains(body.Get("input").Raw, "What is it?") && !strings.Contains(body.Get("input").Raw, "function_call_output") {
		call := fmt.Sprintf(`{"id":"fc_%d","type":"function_call","status":"completed","call_id":"call_%d","name":"get_weather","arguments":"{\"city\":\"Paris\"}"}`, n, n)
		event("response.output_item.added", `"output_index":0,"item":`+strings.Replace(call, `{\"city\":\"Paris\"}`, "", 1))
		event("response.function_call_arguments.delta", fmt.Sprintf(`"item_id":"fc_%d","output_index":0,"delta":"{\"city\":\"Paris\"}"`, n))
		event("response.function_call_arguments.done", fmt.Sprintf(`"item_id":"fc_%d","output_index":0,"arguments":"{\"city\":\"Paris\"}"`, n))
		event("response.output_item.done", `"output_index":0,"item":`+call)
		event("response.completed", response("completed", call))
		return
	}
	text := fmt.Sprintf("<think>I count %d.</think>%d items.", n, len(items))
	quoted, _ := json.Marshal(text)
	item := func(status, parts string) string {
		return fmt.Sprintf(`{"id":"msg_%d","type":"message","status":%q,"role":"assistant","content":[%s]}`, n, status, parts)
	}
	place := fmt.Sprintf(`"item_id":"msg_%d","output_index":0,"content_index":0`, n)
	part := `{"type":"output_text","annotations":[],"text":` + string(quoted) + `}`
	event("response.output_item.added", `"output_index":0,"item":`+item("in_progress", ""))
	event("response.content_part.added", place+`,"part":{"type":"output_text","annotations":[],"text":""}`)
	for i := 0; i < len(text); i += 4 {
		piece, _ := json.Marshal(text[i:min(i+4, len(text))])
		event("response.output_text.delta", place+`,"delta":`+string(piece))
	}
	event("response.output_text.done", place+`,"text":`+string(quoted))
	event("response.content_part.done", place+`,"part":`+part)
	event("response.output_item.done", `"output_index":0,"item":`+item("completed", part))
	event("response.completed", response("completed", item("completed", part)))
}

// TestResponsesWS: OpenAI's SDK for JavaScript runs tool loops over a WebSocket before a
// server that has none, and sends only what is new.
func TestResponsesWS(t *testing.T) {
	dir := os.Getenv("SOTTO_NPM")
	if dir == "" {
		t.Skip("SOTTO_NPM is not set: run it as SOTTO_NPM=$(interop/npm/install)")
	}
	up := &responder{}
	upstream := httptest.NewServer(up)
	defer upstream.Close()
	u, err := url.Parse(upstream.URL)
	if err != nil {
		t.Fatal(err)
	}
	g, err := gateway.New(gateway.Config{Upstream: u, Default: routing.Route{Display: routing.DisplayHide}})
	if err != nil {
		t.Fatal(err)
	}
	defer g.Close()
	front := httptest.NewServer(g)
	defer front.Close()
	cmd := exec.CommandContext(t.Context(), filepath.Join(dir, "node", "run"), filepath.Join(dir, "websocket.js"), front.URL)
	var said strings.Builder
	cmd.Stderr = &said
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v\n%s\n%s", err, out, said.String())
	}
	// A turn adds its input and the reply: 1, 3 with the call and its result, 5, 7.
	const loop = `["get_weather {\"city\":\"Paris\"}","message: 3 items.","message: 5 items.","message: 7 items."]`
	want := `{"name":"alone","said":` + loop + "}\n" + `{"name":"a","said":` + loop + "}\n" + `{"name":"b","said":` + loop + "}\n" +
		`{"name":"prepared","said":["completed","0"]}` + "\n" + `{"name":"continued","said":["2 items."]}` + "\n" +
		`{"name":"wrong","said":["invalid_request"]}` + "\n" + `{"name":"events","said":["many"]}` + "\n"
	if string(out) != want {
		t.Errorf("the SDK read\n%s\nwant\n%s", out, want)
	}
	if len(up.bodies) != 13 {
		t.Errorf("%d requests", len(up.bodies))
	}
}
