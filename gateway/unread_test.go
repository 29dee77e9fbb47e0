package gateway_test

import (
	"bytes"
	"compress/gzip"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/sotto-llm/sotto/gateway"
)

// passing are responses of routes that are not read, in the forms of many servers.
var passing = []struct {
	name, kind, body string
	reply            bool
}{
	{"chat", "application/json", `{"id":"c","object":"chat.completion","choices":[{"index":0,"message":{"role":"assistant","content":"<think>a</think>b"}}]}`, true},
	{"frames", "text/event-stream", ": hi\n\ndata: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"<think>\"}}]}\n\n", true},
	{"frames without a type", "", "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"<think>\"}}]}\n\n", true},
	{"list of replies", "application/json", `{"object":"list","data":[{"object":"chat.completion","choices":[{"message":{"content":"x"}}]}]}`, true},
	{"response", "application/json; charset=utf-8", `{"id":"r","object":"response","output":[]}`, true},
	{"events", "text/event-stream", "event: response.created\ndata: {\"type\":\"response.created\",\"response\":{}}\n\n", true},
	{"conversation", "application/json", `{"object":"conversation.response","conversation_id":"conv_1","outputs":[{"type":"message.output","content":"x"}]}`, true},
	{"conversation events", "text/event-stream", "event: conversation.response.started\ndata: {\"type\":\"conversation.response.started\",\"conversation_id\":\"conv_1\"}\n\n", true},
	{"message", "application/json", `{"type":"message","role":"assistant","content":[{"type":"text","text":"x"}]}`, true},
	{"message events", "text/event-stream", "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{}}\n\n", true},
	{"ollama", "application/x-ndjson", `{"model":"m","message":{"role":"assistant","content":"x"},"done":false}` + "\n", true},
	{"gemini", "application/json", `{"candidates":[{"content":{"parts":[{"text":"x"}]}}]}`, true},
	{"gemini list", "application/json", `[{"candidates":[{"content":{"parts":[{"text":"x"}]}}]}]`, true},
	{"converse", "application/json", `{"output":{"message":{"role":"assistant","content":[{"text":"x"}]}}}`, true},
	{"binary events", "application/vnd.amazon.eventstream", "\x00\x00", true},
	{"llama.cpp", "application/json", `{"content":"x","stop":true}`, true},
	{"TGI", "application/json", `[{"generated_text":"x"}]`, true},
	{"cohere", "application/json", `{"id":"x","message":{"role":"assistant","content":[{"type":"text","text":"x"}]}}`, true},
	{"long", "application/json", `{"choices":[{"message":{"content":"` + strings.Repeat("x", 100_000) + `"}}]}`, true},
	{"models", "application/json", `{"object":"list","data":[{"id":"m","object":"model"}]}`, false},
	{"files", "application/json", `{"object":"list","data":[{"id":"f","object":"file","filename":"choices"}]}`, false},
	{"a page", "text/html", `{"choices":[{"message":{}}]}`, false},
	{"plain", "text/plain", "Ollama is running", false},
	{"props", "application/json", `{"default_generation_settings":{},"chat_template":"x"}`, false},
	{"empty", "application/json", ``, false},
	{"error", "application/json", `{"error":{"message":"x"}}`, false},
}

// TestUnreadReplies: what looks like a reply and passes is counted each time, and said
// in the log once a minute for each path. It passes byte for byte.
func TestUnreadReplies(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, c := range passing {
			for _, zipped := range []bool{false, true} {
				var log bytes.Buffer
				reg := prometheus.NewRegistry()
				body := c.body
				if zipped {
					body = compressed(body)
				}
				config := gateway.Config{Logger: slog.New(slog.NewTextHandler(&log, nil)), Observers: []gateway.Observer{gateway.Metrics(reg)}}
				g := handler(t, config, answering(func(*http.Request) *http.Response {
					resp := response(c.kind, fewBytes{strings.NewReader(body)})
					if zipped {
						resp.Header.Set("Content-Encoding", "gzip")
					}
					return resp
				}))
				for range 3 {
					for _, path := range []string{"/v1/unheard/of", "/v1/threads/t1/runs", "/v1/threads/t2/runs"} {
						if got := ask(g, path, "{}").Body.String(); got != body {
							t.Errorf("%s is changed: %q", c.name, got)
						}
					}
				}
				counts, said := map[string]float64{}, 3
				if c.reply {
					counts = map[string]float64{"unknown": 3, "/v1/threads/{...}": 6}
				} else {
					said = 0
				}
				if got := unreadCounts(t, reg); len(got) != len(counts) || got["unknown"] != counts["unknown"] || got["/v1/threads/{...}"] != counts["/v1/threads/{...}"] {
					t.Errorf("%s: counted %v, want %v", c.name, got, counts)
				}
				if n := strings.Count(log.String(), "unread"); n != said || c.reply != strings.Contains(log.String(), "path=/v1/threads/t2/runs") {
					t.Errorf("%s: said %d times\n%s", c.name, n, log.String())
				}
				time.Sleep(time.Minute)
				ask(g, "/v1/unheard/of", "{}")
				if n := strings.Count(log.String(), "unread"); c.reply && n != said+1 {
					t.Errorf("%s: said %d times after a minute", c.name, n)
				}
			}
		}
	})
}

// TestUnreadNothing: what is read, and what returns no reply, is not counted.
func TestUnreadNothing(t *testing.T) {
	reg := prometheus.NewRegistry()
	g := handler(t, gateway.Config{Observers: []gateway.Observer{gateway.Metrics(reg)}}, answering(func(*http.Request) *http.Response {
		return response("application/json", strings.NewReader(passing[0].body))
	}))
	for _, path := range []string{"/v1/chat/completions", "/x/chat/completions/", "/v1/embeddings", "/v1/audio/transcriptions"} {
		ask(g, path, `{"model":"m","messages":[]}`)
	}
	if got := unreadCounts(t, reg); len(got) > 0 {
		t.Errorf("%v", got)
	}
}

// TestUnreadCut: a beginning that is cut anywhere is judged without a fault.
func TestUnreadCut(t *testing.T) {
	for _, c := range passing[:len(passing)-9] {
		for i := range min(len(c.body), 200) {
			g := handler(t, gateway.Config{}, answering(func(*http.Request) *http.Response {
				return response(c.kind, strings.NewReader(c.body[:i]))
			}))
			if got := ask(g, "/v1/unheard/of", "{}").Body.String(); got != c.body[:i] {
				t.Fatalf("%s, %d: %q", c.name, i, got)
			}
		}
	}
}

// fewBytes gives little at a time.
type fewBytes struct{ r io.Reader }

func (o fewBytes) Read(p []byte) (int, error) { return o.r.Read(p[:min(len(p), 100)]) }

func compressed(s string) string {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	io.WriteString(w, s)
	w.Close()
	return b.String()
}

func unreadCounts(t *testing.T, reg *prometheus.Registry) map[string]float64 {
	t.Helper()
	families, err := reg.Gather()
	if err != nil {
		t.Fatal(err)
	}
	counts := map[string]float64{}
	for _, f := range families {
		if f.GetName() != "sotto_unread_total" {
			continue
		}
		for _, m := range f.GetMetric() {
			counts[m.GetLabel()[0].GetValue()] = m.GetCounter().GetValue()
		}
	}
	return counts
}
