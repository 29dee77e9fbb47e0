package chatprobe

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/gateway"
	"github.com/sotto-llm/sotto/internal/check/checks"
	"github.com/sotto-llm/sotto/internal/check/scripted"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// probe probes a server, and returns the names of the checks that found something.
func probe(t *testing.T, base string, o Options) (*checks.Report, []string) {
	t.Helper()
	transport := &http.Transport{}
	defer transport.CloseIdleConnections()
	o.Transport = transport
	if o.Time == 0 {
		o.Time = time.Minute
	}
	r, err := Run(t.Context(), base, o)
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, c := range r.Checks {
		if c.Status == checks.Finding {
			found = append(found, c.Name)
		}
	}
	if len(found) != r.Findings {
		t.Errorf("%d findings, and %v", r.Findings, found)
	}
	return r, found
}

// TestScripted: the scripted models whose thoughts come in the text leak, and the
// others do not. Through Sotto's gateway, no model leaks. An answer that is about tags
// is not a leak.
func TestScripted(t *testing.T) {
	upstream := httptest.NewServer(scripted.New(scripted.Options{}))
	defer upstream.Close()
	u, err := url.Parse(upstream.URL)
	if err != nil {
		t.Fatal(err)
	}
	transport := gateway.UpstreamTransport(gateway.Limits{})
	g, err := gateway.New(gateway.Config{Upstream: u, Transport: transport, Data: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	defer g.Close()
	front := httptest.NewServer(g)
	defer front.Close()
	models, leaking := 0, 0
	for _, m := range scripted.Models() {
		if m.Fault != "" {
			continue
		}
		models++
		d, err := sotto.Named(m.Dialect)
		if err != nil {
			t.Fatal(err)
		}
		leaks := false
		for _, r := range []*scripted.Reply{&m.Reply, m.Call, m.Result} {
			if r == nil {
				continue
			}
			reading, err := d.Parse(r.Text(), r.Start, sotto.EndStopped)
			if err != nil {
				t.Fatal(err)
			}
			leaks = leaks || slices.ContainsFunc(reading.Reasoning(), func(s string) bool { return strings.TrimSpace(s) != "" })
		}
		report, found := probe(t, upstream.URL, Options{Model: m.Name})
		if leaks != slices.ContainsFunc(found, func(name string) bool { return strings.HasSuffix(name, " leak") }) {
			t.Errorf("%s: the text has thoughts: %v; found %v\n%+v", m.Name, leaks, found, report.Checks)
		}
		if leaks {
			leaking++
		}
		report, found = probe(t, front.URL, Options{Model: m.Name})
		if len(found) > 0 {
			t.Errorf("%s behind the gateway: found %v\n%+v", m.Name, found, report.Checks)
		}
		if report.Answers < 2 && m.Name != "cut-off" {
			t.Errorf("%s behind the gateway: %d answers\n%+v", m.Name, report.Answers, report.Checks)
		}
	}
	if models < 15 || leaking < 5 {
		t.Errorf("%d models, of which %d leak: the test sees too little", models, leaking)
	}
	if c, ok := http.RoundTripper(transport).(interface{ CloseIdleConnections() }); ok {
		c.CloseIdleConnections()
	}
}

// A said is what a server by hand says to a kind of request.
type said struct {
	text, reasoning, arguments string
	finish                     string
}

// byHand serves one model with these replies: to "answer", "stream", "cut answer", "cut
// stream", "title", "tool call" and "tool result".
func byHand(t *testing.T, replies map[string]said, requests *int) string {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/v1/models" {
			io.WriteString(w, `{"data":[{"id":"first"},{"id":"second"}]}`)
			return
		}
		*requests++
		var q struct {
			Model     string
			Messages  []struct{ Role, Content string }
			Stream    bool
			MaxTokens int `json:"max_tokens"`
			Tools     []any
		}
		if err := json.NewDecoder(r.Body).Decode(&q); err != nil || q.Model != "first" || r.URL.Path != "/v1/chat/completions" {
			t.Errorf("%s: %+v, %v", r.URL.Path, q, err)
		}
		kind := "answer"
		if q.Stream {
			kind = "stream"
		}
		switch {
		case q.MaxTokens > 0:
			kind = "cut " + kind
		case strings.Contains(q.Messages[0].Content, "title"):
			kind = "title"
		case q.Messages[len(q.Messages)-1].Role == "tool":
			kind = "tool result"
		case q.Tools != nil:
			kind = "tool call"
		}
		s := replies[kind]
		message := map[string]any{"role": "assistant", "content": s.text}
		if s.reasoning != "" {
			message["reasoning_content"] = s.reasoning
		}
		if s.arguments != "" {
			message["tool_calls"] = []any{map[string]any{"index": 0, "id": "c1", "type": "function", "function": map[string]any{"name": "get_weather", "arguments": s.arguments}}}
		}
		finish := s.finish
		if finish == "" {
			finish = "stop"
		}
		if !q.Stream {
			w.Header().Set("Content-Type", "application/json")
			json.NewEncoder(w).Encode(map[string]any{"choices": []any{map[string]any{"index": 0, "message": message, "finish_reason": finish}}})
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		for i := range s.text { // a byte in each delta
			data, _ := json.Marshal(map[string]any{"choices": []any{map[string]any{"index": 0, "delta": map[string]any{"content": s.text[i : i+1]}}}})
			fmt.Fprintf(w, "data: %s\n\n", data)
		}
		delete(message, "content")
		data, _ := json.Marshal(map[string]any{"choices": []any{map[string]any{"index": 0, "delta": message, "finish_reason": finish}}})
		fmt.Fprintf(w, "data: %s\n\ndata: [DONE]\n\n", data)
	}))
	t.Cleanup(server.Close)
	return server.URL
}

const thought = "The user wants primes between 20 and 40. I go through the odd numbers: 21 is 3 times 7, 23 is prime, 25 is 5 times 5, 27 is 3 times 9, 29 is prime, 31 is prime, 33 is 3 times 11, 35 is 5 times 7, 37 is prime, 39 is 3 times 13."

// clean are the replies of a server that separates.
func clean() map[string]said {
	ok := said{text: "Four. Some models write `<think>` before that.", reasoning: thought}
	return map[string]said{
		"answer": ok, "stream": ok, "title": {text: "Primes Between 20 and 40"},
		"cut answer": {reasoning: thought[:90], finish: "length"}, "cut stream": {reasoning: thought[:90], finish: "length"},
		"tool call":   {reasoning: thought, arguments: `{"city":"Oslo","code":"re.sub('<think>.*?</think>', '', s)"}`, finish: "tool_calls"},
		"tool result": {text: "4 °C, with light rain."},
	}
}

// TestWays: each way to leak is found, and nothing else; a server that does not leak
// has no finding. The number of requests is bounded.
func TestWays(t *testing.T) {
	for name, c := range map[string]struct {
		at    string
		reply said
		want  []string
	}{
		"clean":                     {"", said{}, nil},
		"a block in an answer":      {"answer", said{text: "<think>" + thought + "</think>Four."}, []string{"answer leak"}},
		"a close in a stream":       {"stream", said{text: thought + "\n</think>\n\nFour."}, []string{"stream leak"}},
		"a repeated thought":        {"answer", said{text: thought + "\n\nFour.", reasoning: thought}, []string{"answer leak"}},
		"a cut block":               {"cut answer", said{text: "<think>The user wants primes between", finish: "length"}, []string{"cut answer leak"}},
		"a cut thought, unmarked":   {"cut stream", said{text: thought[:90], finish: "length"}, []string{"cut stream leak"}},
		"a title":                   {"title", said{text: "<think>\nA title of five words.\n</think>\n\nPrimes"}, []string{"title leak"}},
		"beside a call":             {"tool call", said{text: "I call it.</think>", arguments: `{}`}, []string{"tool call leak"}},
		"in an argument":            {"tool call", said{arguments: `{"city":"<think>Oslo is in Norway.</think>Oslo"}`}, []string{"tool arguments leak"}},
		"before the arguments":      {"tool call", said{arguments: `<think>Oslo is in Norway.</think>{"city":"Oslo"}`}, []string{"tool arguments leak"}},
		"after a result":            {"tool result", said{text: "<think>Cold, says the tool.</think>4 °C."}, []string{"tool result leak"}},
		"a cut answer":              {"cut answer", said{text: "Four primes lie between 20 and", reasoning: thought, finish: "length"}, nil},
		"not cut":                   {"cut answer", said{text: "Four."}, nil},
		"no answer":                 {"answer", said{reasoning: thought}, nil},
		"no tool is called":         {"tool call", said{text: "I cannot."}, nil},
		"an answer without thought": {"stream", said{text: "Four."}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			replies := clean()
			if c.at != "" {
				replies[c.at] = c.reply
			}
			requests := 0
			report, found := probe(t, byHand(t, replies, &requests), Options{})
			if d := cmp.Diff(c.want, found); d != "" {
				t.Errorf("%s\n%+v", d, report.Checks)
			}
			if report.Model != "first" || requests > 9 {
				t.Errorf("model %q, %d requests", report.Model, requests)
			}
		})
	}
}

// TestHostile: whatever a server sends, the probe ends, and what it reports is small.
func TestHostile(t *testing.T) {
	huge := strings.Repeat("x", 1<<20)
	var streams atomic.Int32
	for name, answer := range map[string]func(w http.ResponseWriter){
		"endless": func(w http.ResponseWriter) {
			for range 64 {
				if _, err := io.WriteString(w, huge); err != nil {
					return
				}
			}
		},
		"endless stream": func(w http.ResponseWriter) {
			w.Header().Set("Content-Type", "text/event-stream")
			if streams.Add(1) > 2 { // one has been read after the list of models
				return
			}
			frame := "data: {\"choices\":[{\"delta\":{\"content\":\"" + strings.Repeat("word ", 160_000) + "\"}}]}\n\n"
			for range 24 {
				if _, err := io.WriteString(w, frame); err != nil {
					return
				}
			}
		},
		"deep":     func(w http.ResponseWriter) { io.WriteString(w, strings.Repeat("[", 1<<20)) },
		"not JSON": func(w http.ResponseWriter) { io.WriteString(w, "<html>"+huge) },
		"wrong types": func(w http.ResponseWriter) {
			io.WriteString(w, `{"choices":[{"message":{"content":{"content":[{"content":7}]},"tool_calls":"x"}}]}`)
		},
		"many calls": func(w http.ResponseWriter) {
			io.WriteString(w, `{"choices":[{"message":{"tool_calls":[`+strings.Repeat(`{"id":"1"},`, 20_000)+`{}]}}]}`)
		},
		"an error":   func(w http.ResponseWriter) { w.WriteHeader(500); io.WriteString(w, huge) },
		"a redirect": func(w http.ResponseWriter) { w.Header().Set("Location", "http://169.254.169.254/"); w.WriteHeader(302) },
		"empty":      func(w http.ResponseWriter) {},
		"half a frame": func(w http.ResponseWriter) {
			w.Header().Set("Content-Type", "text/event-stream")
			io.WriteString(w, "data: {\"choices\":[{\"delta\":{\"content\":\"Fo")
		},
	} {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { answer(w) }))
			defer server.Close()
			report, _ := probe(t, server.URL, Options{Model: "m", Token: "canary-of-the-token"})
			data, err := json.Marshal(report)
			if err != nil || len(data) > 20_000 || strings.Contains(string(data), "canary") || report.Findings == 0 {
				t.Errorf("%d bytes, %d findings: %.500s %v", len(data), report.Findings, data, err)
			}
		})
	}
}

// TestUnreachable: a server that is not there is an error of its own, and so is a URL
// that is not one.
func TestUnreachable(t *testing.T) {
	r, err := Run(t.Context(), "http://127.0.0.1:1", Options{Transport: &http.Transport{}})
	if !errors.Is(err, checks.ErrUnreachable) || r == nil || len(r.Checks) != 1 {
		t.Errorf("%+v, %v", r, err)
	}
	if _, err := Run(t.Context(), "localhost:8000", Options{}); !errors.Is(err, checks.ErrURL) {
		t.Error(err)
	}
}
