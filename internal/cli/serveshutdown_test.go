package cli

import (
	"bufio"
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// streams are requests for streams, one of each kind. whole is in a stream that has
// ended well and in no other, cut is how the API says that one has failed.
var streams = []struct{ api, path, body, whole, cut string }{
	{"openai.chat", "/v1/chat/completions", `{"model":"long","stream":true,"messages":[{"role":"user","content":"hi"}]}`, "data: [DONE]", `data: {"error":{"message":"`},
	{"openai.completions", "/v1/completions", `{"model":"long","stream":true,"prompt":"hi"}`, "data: [DONE]", `data: {"error":{"message":"`},
	{"openai.responses", "/v1/responses", `{"model":"long","stream":true,"input":"hi"}`, "event: response.completed", "event: error"},
	{"anthropic.messages", "/v1/messages", `{"model":"long","stream":true,"max_tokens":9,"messages":[{"role":"user","content":"hi"}]}`, "event: message_stop", "event: error"},
	{"gemini.generate", "/v1beta/models/long:streamGenerateContent?alt=sse", `{"contents":[{"role":"user","parts":[{"text":"hi"}]}]}`, `"finishReason":"STOP"`, `data: {"error":{`},
	{"ollama.chat", "/api/chat", `{"model":"long","messages":[{"role":"user","content":"hi"}]}`, `"done":true`, `{"error":"`},
	{"ollama.generate", "/api/generate", `{"model":"long","prompt":"hi"}`, `"done":true`, `{"error":"`},
	{"cohere.chat", "/v2/chat", `{"model":"long","stream":true,"messages":[{"role":"user","content":"hi"}]}`, `"finish_reason":"COMPLETE"`, `"finish_reason":"ERROR"`},
	{"llamacpp.completion", "/completion", `{"model":"long","stream":true,"prompt":"hi"}`, `"stop":true`, `data: {"error":{`},
}

// beginStreams begins a stream of each kind. They end in the order of the table.
func (r *running) beginStreams() []*bufio.Reader {
	r.t.Helper()
	var list []*bufio.Reader
	for _, s := range streams {
		resp, err := r.client.Post(r.gateway+s.path, "application/json", strings.NewReader(s.body))
		if err != nil {
			r.t.Fatal(err)
		}
		r.t.Cleanup(func() { resp.Body.Close(); r.client.CloseIdleConnections() })
		if resp.StatusCode != http.StatusOK {
			r.t.Fatalf("%s: %s", s.api, resp.Status)
		}
		list = append(list, begun(r.t, resp))
	}
	return list
}

// TestShutdownStreams: a stream of each API that is in progress when the signal comes
// arrives whole, and the record has it as one that was answered. One that takes longer
// than shutdown-wait ends as its API says that a stream has failed, and the record says
// that the shutdown ended it.
func TestShutdownStreams(t *testing.T) {
	for name, tt := range map[string]struct {
		args    []string
		outcome string
		fault   string
	}{
		"whole": {[]string{"--scripted-pause=1ms"}, "answered", ""},
		"cut":   {[]string{"--scripted-pause=100ms", "--shutdown-wait=1ms"}, "failed", "the gateway was shut down"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "audit")
			r := startServe(t, append(tt.args, "--record="+dir)...)
			list := r.beginStreams()
			r.signals <- syscall.SIGTERM
			for i, s := range streams {
				rest, err := io.ReadAll(list[i])
				if text := string(rest); name == "whole" {
					if err != nil || !strings.Contains(text, s.whole) || strings.Contains(text, s.cut) {
						t.Errorf("%s: %v %.300q", s.api, err, text[max(0, len(text)-300):])
					}
				} else if !strings.Contains(text, s.cut) || strings.Contains(text, s.whole) {
					t.Errorf("%s: %v %q", s.api, err, text)
				}
			}
			if err := <-r.ended; err != nil {
				t.Error(err)
			}
			<-r.log
			apis := map[string]int{}
			for _, e := range exchangesIn(t, dir) {
				apis[e.API]++
				if e.Outcome != tt.outcome || !strings.Contains(e.Error, tt.fault) || tt.fault == "" && e.Error != "" {
					t.Errorf("%s: %s %q", e.API, e.Outcome, e.Error)
				}
			}
			for _, s := range streams {
				if apis[s.api] != 1 {
					t.Errorf("%s: %d exchanges are recorded", s.api, apis[s.api])
				}
			}
		})
	}
}

// TestShutdownDelay: in the delay new clients are served, /readyz says that the gateway
// is about to stop, and a client that keeps its connection is told to give it up.
func TestShutdownDelay(t *testing.T) {
	r := startServe(t, "--scripted-pause=0s", "--shutdown-delay=1h")
	ask := func(path string) *http.Response {
		t.Helper()
		resp, err := r.client.Get(r.gateway + path)
		if err != nil {
			t.Fatal(err)
		}
		io.Copy(io.Discard, resp.Body)
		resp.Body.Close()
		return resp
	}
	if resp := ask("/readyz"); resp.StatusCode != http.StatusOK || resp.Close {
		t.Errorf("%s, close: %v", resp.Status, resp.Close)
	}
	r.signals <- syscall.SIGTERM
	for ask("/readyz").StatusCode != http.StatusServiceUnavailable { // the signal is on its way
	}
	for _, path := range []string{"/healthz", "/v1/models"} {
		if resp := ask(path); resp.StatusCode != http.StatusOK || !resp.Close {
			t.Errorf("%s: %s, close: %v", path, resp.Status, resp.Close)
		}
	}
	r.signals <- syscall.SIGTERM
	if err := <-r.ended; err != nil {
		t.Error(err)
	}
	<-r.log
}
