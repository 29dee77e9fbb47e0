package gateway_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/sotto-llm/sotto/gateway"
)

// start serves a gateway before an upstream, and returns its address.
func start(t testing.TB, upstream http.Handler, c gateway.Config) string {
	t.Helper()
	up := httptest.NewServer(upstream)
	t.Cleanup(up.Close)
	return before(t, up.URL, c)
}

func before(t testing.TB, upstream string, c gateway.Config) string {
	t.Helper()
	srv := httptest.NewServer(inFront(t, upstream, c))
	t.Cleanup(srv.Close)
	return srv.URL
}

// inFront is the gateway before an upstream.
func inFront(t testing.TB, upstream string, c gateway.Config) *gateway.Handler {
	t.Helper()
	u, err := url.Parse(upstream)
	if err != nil {
		t.Fatal(err)
	}
	c.Upstream = u
	g, err := gateway.New(c)
	if err != nil {
		t.Fatal(err)
	}
	draining(t, c.Recorder, g)
	t.Cleanup(func() {
		if err := g.Close(); err != nil {
			t.Error(err)
		}
	})
	return g
}

// Said is what a client makes of a reply.
type said struct {
	text, thought, finish string
	failed                string // an error that the client saw
	tools                 int
}

// An api is how a client asks one API and understands its replies.
type api struct {
	name, path string
	body       func(model string, stream bool) string
	frame      func(s *said, event string, data map[string]any)
	whole      func(s *said, body map[string]any)
}

const question = "What is it?"

func chatBody(model string, stream bool) string {
	return fmt.Sprintf(`{"model":%q,"stream":%v,"messages":[{"role":"user","content":%q}]}`, model, stream, question)
}

func promptBody(model string, stream bool) string {
	return fmt.Sprintf(`{"model":%q,"stream":%v,"prompt":%q}`, model, stream, question)
}

var apis = []api{
	{"openai.chat", "/v1/chat/completions", chatBody, func(s *said, _ string, d map[string]any) {
		for _, c := range list(d["choices"]) {
			s.fields(obj(c["delta"]), "content", "reasoning_content")
			s.finish += str(c["finish_reason"])
		}
	}, func(s *said, d map[string]any) {
		for _, c := range list(d["choices"]) {
			s.fields(obj(c["message"]), "content", "reasoning_content")
			s.finish += str(c["finish_reason"])
		}
	}},
	{"openai.completions", "/v1/completions", promptBody, func(s *said, _ string, d map[string]any) {
		for _, c := range list(d["choices"]) {
			s.fields(c, "text", "reasoning_content")
			s.finish += str(c["finish_reason"])
		}
	}, func(s *said, d map[string]any) {
		for _, c := range list(d["choices"]) {
			s.fields(c, "text", "reasoning_content")
			s.finish += str(c["finish_reason"])
		}
	}},
	{"llamacpp.completion", "/completion", promptBody, func(s *said, _ string, d map[string]any) {
		s.fields(d, "content", "reasoning_content")
		s.finish += str(d["stop_type"])
	}, func(s *said, d map[string]any) {
		s.fields(d, "content", "reasoning_content")
		s.finish += str(d["stop_type"])
	}},
	{"cohere.chat", "/v2/chat", chatBody, func(s *said, _ string, d map[string]any) {
		delta := obj(d["delta"])
		content := obj(obj(delta["message"])["content"])
		s.text += str(content["text"])
		s.thought += str(content["thinking"]) + str(obj(delta["message"])["tool_plan"])
		s.finish += str(delta["finish_reason"])
		s.failed += str(delta["error"])
		if str(d["type"]) == "tool-call-start" {
			s.tools++
		}
	}, func(s *said, d map[string]any) {
		message := obj(d["message"])
		for _, part := range list(message["content"]) {
			s.text += str(part["text"])
			s.thought += str(part["thinking"])
		}
		s.thought += str(message["tool_plan"])
		s.tools += len(list(message["tool_calls"]))
		s.finish = str(d["finish_reason"])
	}},
	{"openai.responses", "/v1/responses", func(model string, stream bool) string {
		return fmt.Sprintf(`{"model":%q,"stream":%v,"input":%q}`, model, stream, question)
	}, func(s *said, event string, d map[string]any) {
		switch str(d["type"]) {
		case "response.output_text.delta":
			s.text += str(d["delta"])
		case "response.reasoning_text.delta", "response.reasoning_summary_text.delta":
			s.thought += str(d["delta"])
		case "response.completed", "response.incomplete":
			s.finish = str(obj(d["response"])["status"])
		}
	}, func(s *said, d map[string]any) {
		for _, item := range list(d["output"]) {
			for _, key := range []string{"content", "summary"} {
				for _, part := range list(item[key]) {
					if str(item["type"]) == "reasoning" {
						s.thought += str(part["text"])
					} else {
						s.text += str(part["text"])
					}
				}
			}
		}
		s.finish = str(d["status"])
	}},
	{"ollama.chat", "/api/chat", chatBody, func(s *said, _ string, d map[string]any) {
		s.fields(obj(d["message"]), "content", "thinking")
		s.finish += str(d["done_reason"])
	}, func(s *said, d map[string]any) {
		s.fields(obj(d["message"]), "content", "thinking")
		s.finish += str(d["done_reason"])
	}},
	{"ollama.generate", "/api/generate", promptBody, func(s *said, _ string, d map[string]any) {
		s.fields(d, "response", "thinking")
		s.finish += str(d["done_reason"])
	}, func(s *said, d map[string]any) {
		s.fields(d, "response", "thinking")
		s.finish += str(d["done_reason"])
	}},
	{"anthropic.messages", "/v1/messages", func(model string, stream bool) string {
		return fmt.Sprintf(`{"model":%q,"max_tokens":1024,"stream":%v,"messages":[{"role":"user","content":%q}]}`, model, stream, question)
	}, func(s *said, event string, d map[string]any) {
		delta := obj(d["delta"])
		s.text += str(delta["text"])
		s.thought += str(delta["thinking"])
		s.finish += str(delta["stop_reason"])
	}, func(s *said, d map[string]any) {
		for _, b := range list(d["content"]) {
			s.text += str(b["text"])
			s.thought += str(b["thinking"])
		}
		s.finish = str(d["stop_reason"])
	}},
	{"gemini.generate", geminiPath + "?alt=sse", func(model string, stream bool) string {
		return fmt.Sprintf(`{"model":%q,"stream":%v,"contents":[{"role":"user","parts":[{"text":%q}]}]}`, model, stream, question)
	}, func(s *said, _ string, d map[string]any) { s.candidates(d) }, (*said).candidates},
	{"bedrock.converse", bedrockPath, func(model string, stream bool) string {
		return fmt.Sprintf(`{"model":%q,"stream":%v,"messages":[{"role":"user","content":[{"text":%q}]}]}`, model, stream, question)
	}, func(s *said, event string, d map[string]any) {
		delta := obj(d["delta"])
		s.text += str(delta["text"])
		s.thought += str(obj(delta["reasoningContent"])["text"])
		s.finish += str(d["stopReason"])
		if obj(d["start"])["toolUse"] != nil {
			s.tools++
		}
		if strings.HasPrefix(event, "exception/") {
			s.failed += str(d["message"])
		}
	}, func(s *said, d map[string]any) {
		for _, b := range list(obj(obj(d["output"])["message"])["content"]) {
			s.text += str(b["text"])
			s.thought += str(obj(obj(b["reasoningContent"])["reasoningText"])["text"])
			if b["toolUse"] != nil {
				s.tools++
			}
		}
		s.finish = str(d["stopReason"])
	}},
}

func (s *said) candidates(d map[string]any) {
	for _, c := range list(d["candidates"]) {
		for _, p := range list(obj(c["content"])["parts"]) {
			switch {
			case p["thought"] == true:
				s.thought += str(p["text"])
			case p["functionCall"] != nil:
				s.tools++
			default:
				s.text += str(p["text"])
			}
		}
		s.finish += str(c["finishReason"])
	}
}

func (s *said) fields(o map[string]any, text, thought string) {
	s.text += str(o[text])
	s.thought += str(o[thought])
	s.tools += len(list(o["tool_calls"]))
}

func str(v any) string { s, _ := v.(string); return s }

func obj(v any) map[string]any { o, _ := v.(map[string]any); return o }

func list(v any) []map[string]any {
	all, _ := v.([]any)
	var out []map[string]any
	for _, e := range all {
		out = append(out, obj(e))
	}
	return out
}

// ask sends a request and reads what comes as a client of the API does.
func (a api) ask(t testing.TB, base, model string, stream bool) said {
	t.Helper()
	resp, body := post(t, base+a.path, a.body(model, stream), nil)
	return a.understand(t, resp, body)
}

func (a api) understand(t testing.TB, resp *http.Response, body []byte) said {
	t.Helper()
	var s said
	if resp.StatusCode != http.StatusOK {
		s.failed = fmt.Sprint(resp.StatusCode)
		return s
	}
	switch kind, _, _ := strings.Cut(resp.Header.Get("Content-Type"), ";"); kind {
	case "text/event-stream":
		a.events(t, &s, body)
	case eventStreamType:
		a.events(t, &s, namedEvents(t, body))
	case "application/x-ndjson":
		for line := range bytes.Lines(body) {
			a.one(t, &s, "", line)
		}
	default:
		a.whole(&s, decode(t, body))
	}
	return s
}

func (a api) events(t testing.TB, s *said, body []byte) {
	t.Helper()
	event, data := "", ""
	for line := range bytes.Lines(body) {
		l := strings.TrimRight(string(line), "\r\n")
		switch {
		case l == "" && data != "" && data != "[DONE]":
			a.one(t, s, event, []byte(data))
			fallthrough
		case l == "":
			event, data = "", ""
		case strings.HasPrefix(l, "event:"):
			event = strings.TrimSpace(l[6:])
		case strings.HasPrefix(l, "data:"):
			data += strings.TrimPrefix(l[5:], " ")
		}
	}
	if data != "" {
		t.Errorf("an event without its end: %q", data)
	}
}

func (a api) one(t testing.TB, s *said, event string, data []byte) {
	t.Helper()
	d := decode(t, data)
	if e, ok := d["error"]; ok && e != nil || event == "error" {
		s.failed = string(data)
		return
	}
	a.frame(s, event, d)
}

func decode(t testing.TB, b []byte) map[string]any {
	t.Helper()
	var d map[string]any
	if err := json.Unmarshal(b, &d); err != nil {
		t.Fatalf("%v in %s", err, b)
	}
	return d
}

// post sends a request and reads the whole response.
func post(t testing.TB, address, body string, header http.Header) (*http.Response, []byte) {
	t.Helper()
	r, err := http.NewRequest("POST", addressed(address, body), strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	for k, v := range header {
		r.Header[k] = v
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	got, err := io.ReadAll(bufio.NewReader(resp.Body))
	if err != nil {
		t.Fatalf("%v after %q", err, got)
	}
	return resp, got
}

func readAll(t testing.TB, r io.Reader) string {
	t.Helper()
	b, err := io.ReadAll(r)
	if err != nil {
		t.Error(err)
	}
	return string(b)
}
