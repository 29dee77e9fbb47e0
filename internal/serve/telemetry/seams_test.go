package telemetry

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/coder/websocket"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"

	"github.com/sotto-llm/sotto/gateway"
	"github.com/sotto-llm/sotto/gateway/guard"
	"github.com/sotto-llm/sotto/gateway/routing"
)

// upstreamOf starts an upstream with one reply, which passes on the headers of requests.
func upstreamOf(t *testing.T, body string) (base *url.URL, sent chan http.Header) {
	t.Helper()
	sent = make(chan http.Header, 10)
	up := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		sent <- r.Header.Clone()
		kind := "application/json"
		if !strings.HasPrefix(body, "{") {
			kind = "text/event-stream"
		}
		w.Header().Set("Content-Type", kind)
		io.WriteString(w, body)
	}))
	t.Cleanup(up.Close)
	base, err := url.Parse(up.URL)
	if err != nil {
		t.Fatal(err)
	}
	return base, sent
}

// A judges guard decides by the texts.
type judges map[string]guard.Action

func (j judges) Judge(_ context.Context, p guard.Piece) (guard.Verdict, error) {
	for text, action := range j {
		if strings.Contains(p.Text, text) {
			return guard.Verdict{Action: action, Reason: canary}, nil
		}
	}
	return guard.Verdict{Action: guard.Pass}, nil
}

// asks sends one request for chat completions, and reads its reply.
func asks(t *testing.T, base string, stream bool) {
	t.Helper()
	resp, err := http.Post(base+"/v1/chat/completions", "application/json", strings.NewReader(fmt.Sprintf(`{"model":"m","stream":%v,"messages":[{"role":"user","content":%q}]}`, stream, canary)))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	_, _ = io.Copy(io.Discard, resp.Body)
}

// served runs a function with a gateway that traces, and returns the spans.
func served(t *testing.T, c gateway.Config, do func(base string)) *collector {
	t.Helper()
	got := collect(t)
	tracer, err := Open(got.config())
	if err != nil {
		t.Fatal(err)
	}
	c.Observers = append(c.Observers, tracer.Observer())
	g, err := gateway.New(c)
	if err != nil {
		t.Fatal(err)
	}
	front := httptest.NewServer(g)
	do(front.URL)
	front.Close()
	if err := g.Shutdown(t.Context()); err != nil { // waits for turns
		t.Error(err)
	}
	if err := g.Close(); err != nil {
		t.Error(err)
	}
	if err := tracer.Close(t.Context()); err != nil {
		t.Error(err)
	}
	if strings.Contains(string(got.bytes), canary) {
		t.Errorf("text was sent: %q", got.bytes)
	}
	return got
}

// exchanges are the spans of exchanges, and parts the names of those below them.
func (c *collector) exchanges() (roots []*tracepb.Span, parts string) {
	var names []string
	for _, s := range c.spans {
		if strings.HasPrefix(s.Name, "chat ") {
			roots = append(roots, s)
		} else {
			names = append(names, s.Name)
		}
	}
	return roots, strings.Join(names, ", ")
}

// TestSpansOfGuarded: the span of a reply that a guard cut or ended, or that the gateway
// ended because of its reasoning, says so, and has the parts that the client got.
func TestSpansOfGuarded(t *testing.T) {
	stream := frame(`{"content":"<think>`+strings.Repeat("think "+canary+" ", 20)+`</think>"}`, "null") + frame(`{"content":"say `+canary+`"}`, "null") + frame(`{}`, `"stop"`) + "data: [DONE]\n\n"
	whole := strings.ReplaceAll(whole, "<think>", "<think>"+strings.Repeat("think ", 20))
	for _, tt := range []struct {
		name    string
		body    string
		route   routing.Route
		outcome string
		failure string
		finish  string
		found   string
		parts   string // of what was read, also if a guard cut it
	}{
		{"passes", stream, routing.Route{Guard: guard.Rule{Guard: judges{}}}, "answered", "", "stop", "", "upstream wait, reasoning, answer"},
		{"reasoning is cut", stream, routing.Route{Guard: guard.Rule{Guard: judges{"think": guard.Cut}}}, "answered", "", "stop", "guard_cut", "upstream wait, reasoning, answer"},
		{"the answer ends", stream, routing.Route{Guard: guard.Rule{Guard: judges{"say": guard.End}}}, "answered", "", "content_filter", "no_visible_answer guard_ended", "upstream wait, reasoning"},
		{"a whole reply ends", whole, routing.Route{Guard: guard.Rule{Guard: judges{"think": guard.End}}}, "failed", "failed", "", "guard_ended", "upstream wait"},
		{"the limit stops", stream, routing.Route{ThinkingLimit: 10, OnThinkingLimit: routing.ThinkingStop}, "answered", "", "length", "thinking_limit no_visible_answer", "upstream wait, reasoning"},
		{"the limit warns", stream, routing.Route{ThinkingLimit: 10, OnThinkingLimit: routing.ThinkingReport}, "answered", "", "stop", "thinking_limit", "upstream wait, reasoning, answer"},
		{"the limit of a whole reply", whole, routing.Route{ThinkingLimit: 10, OnThinkingLimit: routing.ThinkingStop}, "answered", "", "stop", "thinking_limit", "upstream wait"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			base, _ := upstreamOf(t, tt.body)
			got := served(t, gateway.Config{Upstream: base, Default: tt.route}, func(front string) { asks(t, front, tt.body == stream) })
			roots, parts := got.exchanges()
			if len(roots) != 1 {
				t.Fatalf("%d spans of one exchange", len(roots))
			}
			a := said(roots[0])
			if a["sotto.outcome"] != tt.outcome || a["error.type"] != tt.failure || a["gen_ai.response.finish_reasons"] != tt.finish || a["sotto.reply.diagnostics"] != tt.found || parts != tt.parts {
				t.Errorf("%v\nparts: %s", a, parts)
			}
		})
	}
}

// TestSpansOfTurns: each turn over a WebSocket is an exchange with a span of its own, in the
// trace of the handshake, or in the turn's own. What is not a traceparent changes nothing.
func TestSpansOfTurns(t *testing.T) {
	const own, ownSpan = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
	reply := `{"id":"resp_1","object":"response","status":"completed","model":"m","output":[{"type":"message","id":"msg_1","role":"assistant","status":"completed","content":[{"type":"output_text","text":"` + canary + `","annotations":[]}]}]}`
	base, sent := upstreamOf(t, "event: response.completed\ndata: "+`{"type":"response.completed","sequence_number":0,"response":`+reply+"}\n\n")
	turns := []struct{ metadata, trace, parent, state string }{
		{``, theirTrace, theirSpan, "a=1"},
		{`,"client_metadata":{"ws_request_header_traceparent":"00-` + own + `-` + ownSpan + `-01","ws_request_header_tracestate":"b=2"}`, own, ownSpan, "b=2"},
		{`,"client_metadata":{"ws_request_header_traceparent":"00-` + own + `-` + ownSpan + `-01"}`, own, ownSpan, ""},
		{`,"client_metadata":{"ws_request_header_traceparent":"` + canary + `","ws_request_header_tracestate":"b=2"}`, theirTrace, theirSpan, "a=1"},
		{`,"client_metadata":{"ws_request_header_traceparent":"01-` + own + `-` + ownSpan + `-01-x\r\nX: 1"}`, theirTrace, theirSpan, "a=1"},
		{`,"client_metadata":{"ws_request_header_traceparent":7}`, theirTrace, theirSpan, "a=1"},
		{`,"client_metadata":[]`, theirTrace, theirSpan, "a=1"},
	}
	got := served(t, gateway.Config{Upstream: base}, func(front string) {
		header := http.Header{"Traceparent": {"00-" + theirTrace + "-" + theirSpan + "-01"}, "Tracestate": {"a=1"}}
		conn, _, err := websocket.Dial(t.Context(), front+"/v1/responses", &websocket.DialOptions{HTTPHeader: header})
		if err != nil {
			t.Fatal(err)
		}
		defer conn.CloseNow()
		for _, turn := range turns {
			if err := conn.Write(t.Context(), websocket.MessageText, []byte(`{"type":"response.create","model":"m","input":"`+canary+`"`+turn.metadata+`}`)); err != nil {
				t.Fatal(err)
			}
			if _, event, err := conn.Read(t.Context()); err != nil || !strings.Contains(string(event), "response.completed") {
				t.Fatalf("%s: %v", event, err)
			}
		}
		_ = conn.Close(websocket.StatusNormalClosure, "")
	})
	roots, _ := got.exchanges()
	if len(roots) != len(turns) {
		t.Fatalf("%d spans of %d turns", len(roots), len(turns))
	}
	ids := map[string]bool{}
	for i, turn := range turns {
		trace, span := fmt.Sprintf("%x", roots[i].TraceId), fmt.Sprintf("%x", roots[i].SpanId)
		ids[said(roots[i])["sotto.exchange.id"]], ids[span] = true, true
		if parent := fmt.Sprintf("%x", roots[i].ParentSpanId); trace != turn.trace || parent != turn.parent {
			t.Errorf("turn %d is of the trace %s, below %s", i, trace, parent)
		}
		if h := <-sent; h.Get("Traceparent") != "00-"+trace+"-"+span+"-01" || h.Get("Tracestate") != turn.state {
			t.Errorf("turn %d: the upstream got %q %q", i, h.Get("Traceparent"), h.Get("Tracestate"))
		}
	}
	if len(ids) != 2*len(turns) {
		t.Errorf("%d ids of exchanges and spans, for %d turns", len(ids), len(turns))
	}
}
