package gateway_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/gateway"
	"github.com/sotto-llm/sotto/gateway/routing"
	"github.com/sotto-llm/sotto/internal/base/effort"
	"github.com/sotto-llm/sotto/wire"
)

// answering is an upstream without a network: it makes a response to each
// request.
type answering func(r *http.Request) *http.Response

func (f answering) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Body != nil {
		defer r.Body.Close()
	}
	resp := f(r)
	resp.Request = r
	return resp, nil
}

// response is one with a status of 200.
func response(kind string, body io.Reader) *http.Response {
	return &http.Response{
		StatusCode: http.StatusOK, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, ContentLength: -1,
		Header: http.Header{"Content-Type": {kind}}, Body: io.NopCloser(body),
	}
}

func (s speaker) kind(stream bool) string {
	switch {
	case !stream:
		return "application/json"
	case s.codec.Framing() == wire.SSE:
		return "text/event-stream; charset=utf-8"
	}
	return "application/x-ndjson"
}

// handler is a gateway whose upstream is up.
func handler(t testing.TB, c gateway.Config, up http.RoundTripper) *gateway.Handler {
	t.Helper()
	c.Upstream = &url.URL{Scheme: "http", Host: "upstream"}
	c.Transport = up
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

// ask sends a request to a gateway without a network.
func ask(g http.Handler, path, body string) *httptest.ResponseRecorder {
	r := httptest.NewRequest("POST", addressed(path, body), strings.NewReader(body))
	r.Host = "localhost"
	r.Header.Set("Content-Type", "application/json")
	w := httptest.NewRecorder()
	g.ServeHTTP(w, r)
	return w
}

// A conversation is a gateway before an upstream that says what it is told to.
type conversation struct {
	*gateway.Handler
	s   speaker
	raw string
	cut []string
	end sotto.Ending
	got string // the last request's body, as the upstream got it
}

func converse(t testing.TB, s speaker, c gateway.Config) *conversation {
	t.Helper()
	v := &conversation{s: s, end: sotto.EndStopped}
	v.Handler = handler(t, c, answering(func(r *http.Request) *http.Response {
		b, _ := io.ReadAll(r.Body)
		v.got = string(b)
		if strings.Contains(v.got, `"stream":true`) {
			return response(s.kind(true), strings.NewReader(s.stream(v.cut, v.end)))
		}
		return response(s.kind(false), strings.NewReader(s.whole(v.raw, v.end)))
	}))
	return v
}

// request is a body for a model, streamed or whole; more are members of it.
func (v *conversation) request(model string, stream bool, more string) string {
	mode := "false"
	if stream {
		mode = "true"
	}
	if v.s.name() == "mistral.conversations" && !strings.Contains(more, "completion_args") {
		more += `,"completion_args":{"max_tokens":99}`
	}
	return `{"model":"` + model + `","stream":` + mode + more + `,"max_tokens":99,"messages":[{"role":"user","content":"What is it?"}]}`
}

// hear asks for a reply of a raw text, cut at every byte if streamed.
func (v *conversation) hear(t testing.TB, raw string, stream bool, more string) *heard {
	t.Helper()
	v.raw, v.cut = raw, byteByByte(raw)
	w := ask(v, v.s.path, v.request("m", stream, more))
	if w.Code != http.StatusOK {
		t.Fatalf("%s: %d %s", v.s.name(), w.Code, w.Body)
	}
	if !stream {
		return v.s.listenWhole(t, w.Body.Bytes())
	}
	return v.s.listen(t, w.Body.Bytes())
}

// wants checks what was heard.
func (h *heard) wants(t testing.TB, text, thought string) {
	t.Helper()
	if string(h.text) != text || string(h.thought) != thought || h.failed != "" {
		t.Errorf("text %q, thought %q, failed %q\nwant %q and %q", h.text, h.thought, h.failed, text, thought)
	}
}

// each runs a test for every speaker; if tests are brief, for the first one and a third of
// the others, which are not the same in each test.
func each(t *testing.T, f func(t *testing.T, s speaker)) {
	chosen := effort.OneIn(3, t.Name())
	for i, s := range speakers {
		if chosen() || i == 0 {
			t.Run(s.name(), func(t *testing.T) { f(t, s) })
		}
	}
}

// TestUnusualServers asks servers that do what none should: nothing leaks, and
// no answer is lost.
func TestUnusualServers(t *testing.T) {
	const chunk = "data: {\"choices\":[{\"index\":0,\"delta\":{%s},\"finish_reason\":%s}]}\n\n"
	tests := []struct {
		name, api, kind, body string
		route                 routing.Route
		want                  said
	}{
		{
			name: "text behind the finish reason", api: "openai.chat", kind: "text/event-stream",
			body: fmt.Sprintf(chunk, `"content":"<think>a</think>b"`, `"stop"`) + fmt.Sprintf(chunk, `"content":" c<think>d</think>"`, "null") + "data: [DONE]\n\n",
			want: said{text: "b c", thought: "a\n\nd", finish: "stop"},
		},
		{
			name: "a native field where the start is configured", api: "openai.chat", kind: "text/event-stream",
			route: routing.Route{Start: "inside"},
			body:  fmt.Sprintf(chunk, `"reasoning":"n","content":null`, "null") + fmt.Sprintf(chunk, `"content":"a</think>b"`, `"stop"`) + "data: [DONE]\n\n",
			want:  said{text: "b", thought: "n\n\na", finish: "stop"},
		},
		{
			name: "a whole reply on many lines where a stream was asked for", api: "ollama.chat", kind: "application/json",
			body: "{\n \"message\": {\"role\": \"assistant\",\n \"content\": \"<think>a</think>b\"},\n \"done\": true, \"done_reason\": \"stop\"\n}\n",
			want: said{text: "b", thought: "a", finish: "stop"},
		},
		{
			name: "frames under the type of a whole reply", api: "ollama.chat", kind: "application/json",
			body: "{\"message\":{\"content\":\"<think>a</thi\"},\"done\":false}\n{\"message\":{\"content\":\"nk>b\"},\"done\":true,\"done_reason\":\"stop\"}\n",
			want: said{text: "b", thought: "a", finish: "stop"},
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			upstream := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", test.kind)
				fmt.Fprint(w, test.body)
			})
			base := start(t, upstream, gateway.Config{Default: test.route})
			for _, a := range apis {
				if a.name != test.api {
					continue
				}
				resp, body := post(t, base+a.path, a.body("m", true), nil)
				if strings.Contains(test.name, "type of a whole") {
					resp.Header.Set("Content-Type", "application/x-ndjson") // as its clients read it
				}
				if got := a.understand(t, resp, body); got != test.want {
					t.Errorf("%+v\nwant %+v", got, test.want)
				}
			}
		})
	}
}
