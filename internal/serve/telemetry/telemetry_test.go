package telemetry

import (
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"github.com/sotto-llm/sotto/gateway"
	"github.com/sotto-llm/sotto/gateway/routing"
	"github.com/sotto-llm/sotto/record"
)

// A collector is an OTLP receiver that decodes what it gets with the official types.
type collector struct {
	t      *testing.T
	server *httptest.Server

	mu     sync.Mutex
	bytes  []byte // all bodies, decompressed
	header http.Header
	spans  []*tracepb.Span
	about  map[string]string // of the resource
	answer func(n int) int   // the status of request n
	asked  int
}

func collect(t *testing.T) *collector {
	c := &collector{t: t, answer: func(int) int { return http.StatusOK }}
	c.server = httptest.NewServer(c)
	t.Cleanup(c.server.Close)
	return c
}

func (c *collector) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	zip, err := gzip.NewReader(r.Body)
	if err != nil {
		c.t.Error(err)
		return
	}
	body, err := io.ReadAll(zip)
	if err != nil {
		c.t.Error(err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.asked++
	if status := c.answer(c.asked); status != http.StatusOK {
		w.WriteHeader(status)
		return
	}
	var data tracepb.TracesData // the same bytes as an ExportTraceServiceRequest
	if err := proto.Unmarshal(body, &data); err != nil || r.URL.Path != "/base/v1/traces" || r.Header.Get("Content-Type") != "application/x-protobuf" {
		c.t.Errorf("%s %v: %v", r.URL, r.Header, err)
	}
	c.bytes, c.header = append(c.bytes, body...), r.Header
	for _, rs := range data.ResourceSpans {
		c.about = map[string]string{}
		for _, a := range rs.Resource.Attributes {
			c.about[a.Key] = a.Value.GetStringValue()
		}
		for _, ss := range rs.ScopeSpans {
			c.spans = append(c.spans, ss.Spans...)
		}
	}
}

// config is that of a tracer to the collector.
func (c *collector) config() Config {
	u, err := url.Parse(c.server.URL + "/base")
	if err != nil {
		c.t.Fatal(err)
	}
	return Config{Signals: Signals{Traces: Signal{URL: u.JoinPath("v1/traces"), Header: http.Header{"Api-Key": {"k"}}}}, Version: "v1.2.3", Every: time.Hour}
}

// said returns the attributes of a span, as text.
func said(s *tracepb.Span) map[string]string {
	all := map[string]string{}
	for _, a := range s.Attributes {
		switch v := a.Value; {
		case v.GetArrayValue() != nil:
			var words []string
			for _, w := range v.GetArrayValue().Values {
				words = append(words, w.GetStringValue())
			}
			all[a.Key] = strings.Join(words, " ")
		case v.GetStringValue() != "":
			all[a.Key] = v.GetStringValue()
		default:
			text := v.String()
			all[a.Key] = text[strings.IndexByte(text, ':')+1:]
		}
	}
	return all
}

const (
	theirTrace = "4bf92f3577b34da6a3ce929d0e0e4736"
	theirSpan  = "00f067aa0ba902b7"
	canary     = "canaries"
)

// frame is an event of a stream of chat completions.
func frame(delta, finish string) string {
	return fmt.Sprintf("data: {\"id\":\"chatcmpl-7\",\"model\":\"m\",\"choices\":[{\"index\":0,\"delta\":%s,\"finish_reason\":%s}]}\n\n", delta, finish)
}

// streamed is a reply with a thought, an answer and a call.
var streamed = []string{
	frame(`{"content":"<think>`+canary+`</think>"}`, "null"), frame(`{"content":"`+canary+`!"}`, "null"),
	frame(`{"tool_calls":[{"index":0,"id":"call_1","type":"function","function":{"name":"look","arguments":"{\"q\":\"`+canary+`\"}"}}]}`, "null"),
	frame(`{}`, `"tool_calls"`), "data: {\"id\":\"chatcmpl-7\",\"choices\":[],\"usage\":{\"prompt_tokens\":11,\"completion_tokens\":7}}\n\n", "data: [DONE]\n\n",
}

const whole = `{"id":"chatcmpl-7","model":"m","choices":[{"index":0,"message":{"role":"assistant","content":"<think>` + canary + `</think>` + canary + `!"},"finish_reason":"stop"}],"usage":{"prompt_tokens":11,"completion_tokens":7}}`

// A traced exchange is a case of TestSpans.
type traced struct {
	name          string
	stream, leave bool
	status        int
	own           bool // the client has no trace
	children      string
	outcome       string
	failure       string // error.type
	recorded      bool
}

// TestSpans: each exchange is one span with the parts of a stream below it, in the client's
// trace. The upstream, the log and the record have the same trace and span. No text is in
// what is sent, wherever reasoning goes.
func TestSpans(t *testing.T) {
	for _, display := range routing.Displays() {
		for _, tt := range []traced{
			{name: "streamed", stream: true, status: 200, children: "upstream wait, reasoning, answer, tool call", outcome: "answered", recorded: true},
			{name: "whole", status: 200, children: "upstream wait", outcome: "answered", recorded: true},
			{name: "own trace", status: 200, own: true, children: "upstream wait", outcome: "answered", recorded: true},
			{name: "no record", stream: true, status: 200, children: "upstream wait, reasoning, answer, tool call", outcome: "answered"},
			{name: "upstream error", status: 429, children: "upstream wait", outcome: "refused", failure: "429", recorded: true},
			{name: "client leaves", stream: true, leave: true, status: 200, children: "upstream wait, reasoning", outcome: "canceled", failure: "canceled", recorded: true},
		} {
			t.Run(string(display)+" "+tt.name, func(t *testing.T) { tt.run(t, display) })
		}
	}
}

func (tt traced) run(t *testing.T, display routing.Display) {
	c := collect(t)
	tracer, err := Open(c.config())
	if err != nil {
		t.Fatal(err)
	}
	sent := make(chan http.Header, 1)
	gone := make(chan struct{})
	up := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		sent <- r.Header.Clone()
		tt.reply(w, gone)
	}))
	defer up.Close()
	base, err := url.Parse(up.URL)
	if err != nil {
		t.Fatal(err)
	}
	var log strings.Builder
	dir := t.TempDir()
	w, err := record.Open(dir, record.Options{})
	if err != nil {
		t.Fatal(err)
	}
	config := gateway.Config{
		Upstream: base, KeepAlive: 10 * time.Millisecond, Default: routing.Route{Display: display}, Observers: []gateway.Observer{tracer.Observer()},
		Logger: slog.New(slog.NewTextHandler(&log, nil)),
	}
	if tt.recorded {
		config.Recorder = w
	}
	g, err := gateway.New(config)
	if err != nil {
		t.Fatal(err)
	}
	front := httptest.NewServer(g)
	tt.ask(t, front.URL)
	front.Close() // waits for the exchange
	close(gone)
	if err := g.Close(); err != nil {
		t.Error(err)
	}
	if err := tracer.Close(t.Context()); err != nil {
		t.Error(err)
	}
	if err := w.Close(); err != nil {
		t.Error(err)
	}
	tt.check(t, c, (<-sent).Get("Traceparent"), log.String(), recorded(t, dir))
}

// reply is that of the upstream.
func (tt traced) reply(w http.ResponseWriter, gone <-chan struct{}) {
	switch {
	case tt.status != 200:
		w.WriteHeader(tt.status)
		io.WriteString(w, `{"error":{"message":"`+canary+`"}}`)
	case tt.leave:
		w.Header().Set("Content-Type", "text/event-stream")
		io.WriteString(w, streamed[0])
		http.NewResponseController(w).Flush()
		<-gone
	case tt.stream:
		w.Header().Set("Content-Type", "text/event-stream")
		for _, f := range streamed {
			io.WriteString(w, f)
			http.NewResponseController(w).Flush()
			time.Sleep(time.Millisecond) // so that the parts have a length
		}
	default:
		w.Header().Set("Content-Type", "application/json")
		io.WriteString(w, whole)
	}
}

func (tt traced) ask(t *testing.T, base string) {
	ctx, leave := context.WithCancel(t.Context())
	defer leave()
	body := fmt.Sprintf(`{"model":"m","stream":%v,"messages":[{"role":"user","content":%q}],"tools":[{"type":"function","function":{"name":"look"}}]}`, tt.stream, canary)
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, base+"/v1/chat/completions", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+canary)
	if !tt.own {
		r.Header.Set("Traceparent", "00-"+theirTrace+"-"+theirSpan+"-01")
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if tt.leave {
		if _, err := resp.Body.Read(make([]byte, 1)); err != nil {
			t.Fatal(err)
		}
		return
	}
	_, _ = io.Copy(io.Discard, resp.Body)
}

// recorded returns the identifiers of the one exchange in a record; nil if there is none.
func recorded(t *testing.T, dir string) (ids map[string]string) {
	r, err := record.OpenReader(dir, record.ReadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for e, err := range r.Events(record.Query{}) {
		if err != nil {
			t.Fatal(err)
		}
		if x, ok := e.Payload.(record.Exchange); ok {
			ids = x.IDs
			ids["exchange"] = x.ID
		}
	}
	return ids
}

// check compares the spans with what the upstream, the log and the record have.
func (tt traced) check(t *testing.T, c *collector, traceparent, log string, ids map[string]string) {
	t.Helper()
	if len(c.spans) == 0 {
		t.Fatal("no span came")
	}
	if strings.Contains(string(c.bytes), canary) {
		t.Errorf("text was sent: %q", c.bytes)
	}
	if c.header.Get("Api-Key") != "k" || c.about["service.name"] != "sotto" || c.about["service.version"] != "v1.2.3" {
		t.Errorf("%v %v", c.header, c.about)
	}
	i := slices.IndexFunc(c.spans, func(s *tracepb.Span) bool { return s.Name == "chat m" })
	if i < 0 {
		t.Fatal(c.spans)
	}
	root := c.spans[i]
	trace, span := fmt.Sprintf("%x", root.TraceId), fmt.Sprintf("%x", root.SpanId)
	if parent := fmt.Sprintf("%x", root.ParentSpanId); tt.own != (parent == "") || !tt.own && (trace != theirTrace || parent != theirSpan) {
		t.Errorf("the span is of the trace %s, below %s", trace, parent)
	}
	if traceparent != "00-"+trace+"-"+span+"-01" {
		t.Errorf("the upstream got %q, want the trace %s and the span %s", traceparent, trace, span)
	}
	if !strings.Contains(log, "trace_id="+trace+" span_id="+span) {
		t.Errorf("the log does not join: %s", log)
	}
	a := said(root)
	if tt.recorded && (ids[record.IDTrace] != trace || ids[record.IDSpan] != span || ids["exchange"] != a["sotto.exchange.id"]) {
		t.Errorf("the record has %v, the span %v", ids, a)
	}
	for key, want := range map[string]string{
		"gen_ai.operation.name": "chat", "gen_ai.provider.name": "openai", "gen_ai.request.model": "m", "server.address": "127.0.0.1",
		"sotto.outcome": tt.outcome, "error.type": tt.failure, "sotto.route": "default", "http.response.status_code": fmt.Sprint(tt.status),
	} {
		if a[key] != want {
			t.Errorf("%s is %q, want %q", key, a[key], want)
		}
	}
	if tt.outcome == "answered" && (a["gen_ai.usage.input_tokens"] != "11" || a["gen_ai.usage.output_tokens"] != "7" || a["gen_ai.response.id"] != "chatcmpl-7" ||
		a["gen_ai.response.finish_reasons"] != map[bool]string{true: "tool_call", false: "stop"}[tt.stream] || a["sotto.reply.reasoning.bytes"] != fmt.Sprint(len(canary))) {
		t.Errorf("%v", a)
	}
	if failed := root.Status.GetCode() == tracepb.Status_STATUS_CODE_ERROR; failed != (tt.outcome == "refused") {
		t.Errorf("the span has failed: %v", failed)
	}
	tt.checkParts(t, c, root)
}

// checkParts: the parts are below the span, follow each other, and are within it.
func (tt traced) checkParts(t *testing.T, c *collector, root *tracepb.Span) {
	t.Helper()
	var names []string
	for _, s := range c.spans {
		if s == root {
			continue
		}
		names = append(names, s.Name)
		if string(s.ParentSpanId) != string(root.SpanId) || s.StartTimeUnixNano < root.StartTimeUnixNano || s.EndTimeUnixNano > root.EndTimeUnixNano || s.EndTimeUnixNano < s.StartTimeUnixNano {
			t.Errorf("%s is not within the exchange: %v", s.Name, s)
		}
		if s.Name == "tool call" && said(s)["sotto.tools"] != "look" {
			t.Errorf("%v", s)
		}
	}
	if got := strings.Join(names, ", "); got != tt.children {
		t.Errorf("the parts are %s, want %s", got, tt.children)
	}
}
