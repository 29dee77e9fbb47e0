package gateway_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"

	"github.com/tidwall/gjson"

	"github.com/sotto-llm/sotto/gateway"
	"github.com/sotto-llm/sotto/gateway/routing"
	"github.com/sotto-llm/sotto/internal/base/effort"
)

// TestExchangeCost: what limits.memory counts for a large frame, a long history and a line of
// results is within a fifth of what it takes of the heap.
func TestExchangeCost(t *testing.T) {
	effort.OneGoroutine(t)
	if !alone(t) {
		return
	}
	chat := func(text string) string {
		return "data: " + fmt.Sprintf(`{"id":"c","object":"chat.completion.chunk","model":"m","choices":[{"index":0,"delta":{"content":%q},"finish_reason":null}]}`, text) + "\n\n"
	}
	result := func(text string) string {
		return fmt.Sprintf(`{"id":"b","custom_id":"e","response":{"status_code":200,"request_id":"r","body":{"id":"c","object":"chat.completion","model":"m","choices":[{"index":0,"message":{"role":"assistant","content":%q},"finish_reason":"stop"}]}},"error":null}`, text) + "\n"
	}
	results := func(string) *http.Request {
		r := httptest.NewRequest("GET", "/v1/files/file-1/content", nil)
		r.Host = "localhost"
		return r
	}
	request := func(history string) *http.Request {
		return posting("/v1/chat/completions", `{"model":"m","stream":true,"messages":[`+history+`{"role":"user","content":"x"}]}`)
	}
	large := strings.Repeat("It is four. ", 1<<20/12)
	var said strings.Builder
	for i := range 2000 {
		fmt.Fprintf(&said, `{"role":%q,"content":%q},`, []string{"user", "assistant"}[i%2], large[:2<<10])
	}
	var worked strings.Builder
	for i := range 1000 {
		fmt.Fprintf(&worked, `{"role":"assistant","content":[{"type":"text","text":%q}],"tool_calls":[{"id":"c%d","type":"function","function":{"name":"f","arguments":"{}"}}]},{"role":"tool","tool_call_id":"c%d","content":%q},`, large[:2<<10], i, i, large[:2<<10])
	}
	for _, display := range []routing.Display{routing.DisplayField, routing.DisplayHide} {
		if effort.Brief() && display == routing.DisplayField {
			continue
		}
		for _, c := range []struct {
			what               string
			request            func(string) *http.Request
			kind               string
			asked, text, small string
			reads              bool
		}{
			{"a frame that comes", request, "text/event-stream", "", chat("a") + strings.TrimSpace(chat(large)), chat("a") + "d", true},
			{"a frame that goes", request, "text/event-stream", "", chat("<think>") + chat("a</think>"+large), chat("<think>") + chat("a</think>b"), false},
			{"a history", request, "text/event-stream", said.String(), "", "", true},
			{"a history of calls", request, "text/event-stream", worked.String(), "", "", true},
			{"a line that comes", results, "application/octet-stream", "", result("a") + strings.TrimSpace(result(large)), result("a") + "{", true},
			{"a line that goes", results, "application/octet-stream", "", result("<think>a</think>" + large), result("<think>a</think>b"), false},
		} {
			config := gateway.Config{Default: routing.Route{Display: display}}
			heap1, held1 := costOf(t, config, c.request(""), c.kind, c.small, c.reads)
			heap, held := costOf(t, config, c.request(c.asked), c.kind, c.text, c.reads)
			near(t, fmt.Sprintf("%s, %v", c.what, display), float64(heap-heap1), float64(held-held1))
		}
	}
}

// TestBodiesAreFreed: what a gateway learns of a model keeps no body in memory in which the
// model was named.
func TestBodiesAreFreed(t *testing.T) {
	effort.OneGoroutine(t)
	if !alone(t) {
		return
	}
	const size, times = 1 << 20, 16
	g := handler(t, gateway.Config{}, answering(func(r *http.Request) *http.Response {
		body, _ := io.ReadAll(r.Body)
		model := gjson.GetBytes(body, "model").Str
		return response("application/json", strings.NewReader(`{"id":"c","object":"chat.completion","model":"`+model+
			`","choices":[{"index":0,"message":{"role":"assistant","reasoning_content":"`+strings.Repeat("Hm. ", size/4)+`","content":"</think>\n\nYes."},"finish_reason":"stop"}]}`))
	}))
	ask := func(i int) {
		body := fmt.Sprintf(`{"model":"model-%d","messages":[{"role":"user","content":%q}]}`, i, strings.Repeat("word ", size/5))
		g.ServeHTTP(&sink{header: http.Header{}}, posting("/v1/chat/completions", body))
	}
	ask(0)
	before := liveHeap()
	for i := range times {
		ask(i + 1)
	}
	if grown := liveHeap() - before; grown > times*size/8 {
		t.Errorf("%d requests of %d bytes leave %d", times, size, grown)
	}
	runtime.KeepAlive(g)
}
