package mcptools

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/sotto-llm/sotto/agent"
)

// hostileHTTP speaks the protocol by hand, until a call.
func hostileHTTP(mode string, calls *atomic.Int32) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		var m struct {
			ID     json.RawMessage
			Method string
		}
		body, _ := io.ReadAll(io.LimitReader(r.Body, 1<<20))
		if json.Unmarshal(body, &m) != nil || m.ID == nil {
			w.WriteHeader(http.StatusAccepted)
			return
		}
		answer := func(result string) {
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":%s}`, m.ID, result)
		}
		switch m.Method {
		case "initialize":
			w.Header().Set("Mcp-Session-Id", fmt.Sprint("s", calls.Load()))
			answer(`{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"x","version":"1"}}`)
		case "tools/list":
			answer(`{"tools":[{"name":"work","inputSchema":{"type":"object"}}]}`)
		case "tools/call":
			n := calls.Add(1)
			switch mode {
			case "long":
				answer(`{"content":[{"type":"text","text":"` + strings.Repeat("x", 2<<20) + `"}]}`)
			case "deep":
				answer(`{"content":` + strings.Repeat("[", 100_000) + strings.Repeat("]", 100_000) + "}")
			case "stream":
				w.Header().Set("Content-Type", "text/event-stream")
				for r.Context().Err() == nil {
					if _, err := io.WriteString(w, "data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\",\"params\":{\"data\":\""+strings.Repeat("x", 4<<10)+"\"}}\n\n"); err != nil {
						return
					}
				}
			case "hang":
				<-r.Context().Done()
			case "forgotten":
				if n == 1 { // the server was restarted, and does not know the session
					w.WriteHeader(http.StatusNotFound)
					return
				}
				answer(`{"content":[{"type":"text","text":"again"}]}`)
			case "page":
				w.Header().Set("Content-Type", "text/html")
				io.WriteString(w, "<html>")
			}
		default:
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no such method"}}`, m.ID)
		}
	}
}

// TestHostileHTTP: whatever a server that is reached by HTTP does, a call ends. A server
// that has forgotten the session gets a new one with the next call.
func TestHostileHTTP(t *testing.T) {
	for mode, want := range map[string][]string{
		"long":      {"error: the server web sent more than 1048576 bytes in one answer: raise limit", "error: the server web sent more"},
		"deep":      {"error: the server web sent a message that is nested too deeply", "error: the server web sent a message"},
		"stream":    {"error: the server web sent more than 1048576 bytes in one answer: raise limit", "error: the server web sent more"},
		"hang":      {"error: the server web did not answer in time", "error: the server web did not answer in time"},
		"forgotten": {"error: the server web ended", "again"},
		"page":      {"error: the server web ended", "error: the server web ended"},
	} {
		t.Run(mode, func(t *testing.T) {
			var calls atomic.Int32
			s := httptest.NewServer(hostileHTTP(mode, &calls))
			t.Cleanup(s.Close)
			tools := open(t, agent.MCPServer{Name: "web", URL: s.URL, Allow: []string{"work"}})
			for i, want := range want {
				ctx, stop := context.WithTimeout(t.Context(), time.Minute)
				if mode == "hang" {
					ctx, stop = context.WithTimeout(t.Context(), 100*time.Millisecond)
				}
				got, err := tools[0].Call(ctx, agent.Use{Arguments: []byte(`{}`)})
				stop()
				if err != nil {
					got = "error: " + err.Error()
				}
				if !strings.HasPrefix(got, want) || strings.Contains(got, s.URL) {
					t.Errorf("call %d: %.200q, want %q", i, got, want)
				}
			}
		})
	}
}

// TestTokenOnly: a header of the file goes with each request to its host, and to it
// alone.
func TestTokenOnly(t *testing.T) {
	var without atomic.Int32
	h := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return official() }, nil)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("X-Key") != "sesame" {
			without.Add(1)
		}
		h.ServeHTTP(w, r)
	}))
	t.Cleanup(s.Close)
	tools := open(t, agent.MCPServer{Name: "web", URL: s.URL, Header: http.Header{"X-Key": {"sesame"}}, Allow: []string{"echo"}})
	if got, err := call(t, tools[0], `{"text":"x"}`); got != "x" || err != nil || without.Load() != 0 {
		t.Errorf("%q, %v, %d requests without the key", got, err, without.Load())
	}
}
