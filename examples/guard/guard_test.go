package main

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"strings"
	"testing"

	"github.com/sotto-llm/sotto/gateway"
	"github.com/sotto-llm/sotto/gateway/guard"
	"github.com/sotto-llm/sotto/gateway/routing"
	"github.com/sotto-llm/sotto/internal/serve/guardhttp"
)

// TestExample asks the example as the gateway does, about replies that are streamed.
func TestExample(t *testing.T) {
	var reply string
	upstream := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		for part := range strings.SplitAfterSeq(reply, " ") {
			fmt.Fprintf(w, "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":%q},\"finish_reason\":null}]}\n\n", part)
		}
		fmt.Fprint(w, "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n")
	}))
	defer upstream.Close()
	server := httptest.NewServer(http.HandlerFunc(judge))
	defer server.Close()
	u, err := guardhttp.ParseURL(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	to, err := url.Parse(upstream.URL)
	if err != nil {
		t.Fatal(err)
	}
	// Every 8 bytes: the name is divided between pieces.
	g, err := gateway.New(gateway.Config{Upstream: to, Default: routing.Route{Guard: guard.Rule{Guard: guardhttp.New(u, ""), Every: 8}}})
	if err != nil {
		t.Fatal(err)
	}
	defer g.Close()
	front := httptest.NewServer(g)
	defer front.Close()
	for _, tt := range []struct{ reply, want, not string }{
		{"<think>They ask about birds.</think>A heron eats fish.", "fish.", "content_filter"},
		{"<think>This is about Project Heron, so be careful.</think>I cannot say.", "say.", "careful"},
		{"<think>Easy.</think>You mean Project Heron, which begins in May.", `"finish_reason":"content_filter"`, "May"},
	} {
		reply = tt.reply
		resp, err := http.Post(front.URL+"/v1/chat/completions", "application/json", strings.NewReader(`{"model":"m","stream":true,"messages":[{"role":"user","content":"?"}]}`))
		if err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		if err != nil || resp.StatusCode != http.StatusOK || !strings.Contains(string(got), tt.want) || strings.Contains(string(got), tt.not) {
			t.Errorf("%s: %d, %v:\n%s", tt.reply, resp.StatusCode, err, got)
		}
	}
}

// TestGuide: the guide shows the example as it is.
func TestGuide(t *testing.T) {
	code, err := os.ReadFile("guard.go")
	if err != nil {
		t.Fatal(err)
	}
	guide, err := os.ReadFile("../../docs/guard.md")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(guide), "```go\n"+string(code)+"```\n") {
		t.Error("docs/guard.md does not show examples/guard/guard.go as it is")
	}
}
