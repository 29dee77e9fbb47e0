package gateway_test

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/gateway"
	"github.com/sotto-llm/sotto/gateway/routing"
	"github.com/sotto-llm/sotto/wire"
)

// A counted body says how much of it was read, and whether it was closed.
type countedBody struct {
	io.Reader
	read   atomic.Int64
	closed bool
}

func (b *countedBody) Read(p []byte) (int, error) {
	n, err := b.Reader.Read(p[:min(len(p), 512)])
	b.read.Add(int64(n))
	return n, err
}

func (b *countedBody) Close() error { b.closed = true; return nil }

// TestThinkingStops ends replies that think too much, or in circles, over every codec
// and display. What the client gets is what it gets from an upstream that ends the reply
// there at a limit of tokens: nothing failed, the reason is the API's own, and the rest
// of the reply is not read.
func TestThinkingStops(t *testing.T) {
	var counting strings.Builder
	for i := 0; counting.Len() < 40<<10; i++ {
		fmt.Fprintf(&counting, "Step %d of the sum is %d. ", i, i*i)
	}
	circles := strings.Repeat("Wait, let me check that again. ", 1200)
	reasons := []string{`"length"`, `"max_tokens"`, `"max_output_tokens"`, `"limit"`, `"MAX_TOKENS"`, `"status":"incomplete","object":"interaction"`, `"type":"conversation.response.done"`}
	each(t, func(t *testing.T, s speaker) {
		for _, test := range []struct {
			raw   string
			rules routing.Route
			code  string
			most  int // bytes of thought that the client may get
		}{
			{counting.String(), routing.Route{ThinkingLimit: 3000}, "thinking_limit", 3200},
			{circles, routing.Route{OnThinkingLoop: routing.ThinkingStop}, "thinking_loop", 4<<10 + 200},
		} {
			for _, display := range routing.Displays() {
				where := fmt.Sprintf("%s %s %s", s.name(), display, test.code)
				route := test.rules
				route.Display = display
				raw := "<think>" + test.raw + "</think>The answer."
				var cut []string
				for rest := raw; rest != ""; {
					n := min(len(rest), 40)
					cut, rest = append(cut, rest[:n]), rest[n:]
				}
				var body *countedBody
				all := s.stream(cut, sotto.EndStopped)
				h := handler(t, gateway.Config{Default: route}, answering(func(*http.Request) *http.Response {
					body = &countedBody{Reader: strings.NewReader(all)}
					resp := response(s.kind(true), nil)
					resp.Body = body
					return resp
				}))
				v := &conversation{s: s}
				w := ask(h, s.path, v.request("m", true, ""))
				if page := metricsOf(h); !strings.Contains(page, `sotto_thinking_stopped_total{model="m",why="`+test.code+`"} 1`) {
					t.Errorf("%s: the metrics do not count it", where)
				}
				got := w.Body.String()
				if w.Code != http.StatusOK || !body.closed || body.read.Load() > int64(len(all)/2) {
					t.Errorf("%s: status %d, %d of %d bytes were read, closed %v", where, w.Code, body.read.Load(), len(all), body.closed)
				}
				ended := false
				for _, reason := range reasons {
					ended = ended || strings.Contains(got, reason)
				}
				if !ended {
					t.Errorf("%s: no reason of the API's:\n…%s", where, got[max(0, len(got)-600):])
				}
				if display == routing.DisplayKeep {
					continue
				}
				said := s.listen(t, w.Body.Bytes())
				if said.failed != "" || !said.done || bytes.Contains(said.text, []byte("answer")) {
					t.Errorf("%s: failed %q, done %v, text %.100q", where, said.failed, said.done, said.text)
				}
				thought := said.thought
				if display == routing.DisplayTags {
					thought = bytes.TrimSuffix(bytes.TrimPrefix(said.text, []byte("<think>\n")), []byte("\n</think>"))
				}
				if display != routing.DisplayHide && (len(thought) < test.most/2 || len(thought) > test.most || !strings.HasPrefix(test.raw, string(thought))) {
					t.Errorf("%s: %d bytes of thought, at most %d: …%.60q", where, len(thought), test.most, thought[max(0, len(thought)-60):])
				}
				if s.codec.Framing() == wire.SSE && !s.codec.Capabilities().NoComments && !strings.Contains(got, "Sotto-Diagnostics: ") || !strings.Contains(got+test.code, test.code) {
					t.Errorf("%s: no diagnostics:\n…%s", where, got[max(0, len(got)-600):])
				}
			}
		}
	})
}

// TestThinkingReported: what is only reported changes no byte of a reply, whole or
// streamed; a whole reply is never ended.
func TestThinkingReported(t *testing.T) {
	raw := "<think>" + strings.Repeat("Wait, let me check that again. ", 140) + "</think>Yes."
	each(t, func(t *testing.T, s speaker) {
		for _, stream := range []bool{true, false} {
			for _, how := range routing.ThinkingActions() {
				if stream && how == routing.ThinkingStop {
					continue
				}
				plain := converse(t, s, gateway.Config{})
				watched := converse(t, s, gateway.Config{Default: routing.Route{ThinkingLimit: 1000, OnThinkingLimit: how, OnThinkingLoop: how}})
				a, b := plain.hear(t, raw, stream, ""), watched.hear(t, raw, stream, "")
				if string(a.text) != string(b.text) || string(a.thought) != string(b.thought) || b.failed != "" || string(b.text) != "Yes." {
					t.Errorf("%s stream=%v %s: %q and %d bytes of thought became %q and %d (%s)", s.name(), stream, how, a.text, len(a.thought), b.text, len(b.thought), b.failed)
				}
				if stream {
					continue
				}
				if strings.Contains(metricsOf(watched), "sotto_thinking_stopped_total{") {
					t.Errorf("%s %s: a whole reply is counted as ended", s.name(), how)
				}
				found := ask(watched, s.path, watched.request("m", false, "")).Header().Get("Sotto-Diagnostics")
				if want := how != routing.ThinkingIgnore; strings.Contains(found, "thinking_limit") != want || strings.Contains(found, "thinking_loop") != want {
					t.Errorf("%s %s: found %q", s.name(), how, found)
				}
			}
		}
	})
}
