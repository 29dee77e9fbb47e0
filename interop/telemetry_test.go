package interop

import (
	"compress/gzip"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/collector/pdata/pmetric"
	"go.opentelemetry.io/collector/pdata/pmetric/pmetricotlp"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.opentelemetry.io/collector/pdata/ptrace/ptraceotlp"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/sotto-llm/sotto/gateway"
	"github.com/sotto-llm/sotto/internal/check/scripted"
	"github.com/sotto-llm/sotto/internal/serve/telemetry"
)

// A receiver reads and answers as the OpenTelemetry Collector does, by its own code.
type receiver struct {
	t       *testing.T
	refuses bool // some of what comes
	fails   bool

	mu      sync.Mutex
	spans   []ptrace.Span
	metrics map[string]pmetric.Metric
}

func (c *receiver) ServeHTTP(w http.ResponseWriter, r *http.Request) {
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
	w.Header().Set("Content-Type", "application/x-protobuf")
	if c.fails {
		answer, _ := proto.Marshal(status.New(codes.InvalidArgument, "the collector's own words").Proto())
		w.WriteHeader(http.StatusBadRequest)
		_, _ = w.Write(answer)
		return
	}
	var answer []byte
	switch r.URL.Path {
	case "/v1/traces":
		answer, err = c.traces(body)
	case "/v1/metrics":
		answer, err = c.points(body)
	default:
		err = fmt.Errorf("%s is not a path of OTLP", r.URL.Path)
	}
	if err != nil {
		c.t.Error(err)
	}
	_, _ = w.Write(answer)
}

func (c *receiver) traces(body []byte) ([]byte, error) {
	q := ptraceotlp.NewExportRequest()
	if err := q.UnmarshalProto(body); err != nil {
		return nil, err
	}
	for _, rs := range q.Traces().ResourceSpans().All() {
		for _, ss := range rs.ScopeSpans().All() {
			for _, s := range ss.Spans().All() {
				c.spans = append(c.spans, s)
			}
		}
	}
	answer := ptraceotlp.NewExportResponse()
	if c.refuses {
		answer.PartialSuccess().SetRejectedSpans(2)
		answer.PartialSuccess().SetErrorMessage("two spans are too old")
	}
	return answer.MarshalProto()
}

func (c *receiver) points(body []byte) ([]byte, error) {
	q := pmetricotlp.NewExportRequest()
	if err := q.UnmarshalProto(body); err != nil {
		return nil, err
	}
	for _, rm := range q.Metrics().ResourceMetrics().All() {
		for _, sm := range rm.ScopeMetrics().All() {
			for _, m := range sm.Metrics().All() {
				c.metrics[m.Name()] = m
			}
		}
	}
	answer := pmetricotlp.NewExportResponse()
	if c.refuses {
		answer.PartialSuccess().SetRejectedDataPoints(3)
		answer.PartialSuccess().SetErrorMessage("three points are too old")
	}
	return answer.MarshalProto()
}

// TestCollector: the code by which the OpenTelemetry Collector reads and writes OTLP reads
// what the gateway sends, and the gateway reads its answers: a success, a partial one, and an
// error.
func TestCollector(t *testing.T) {
	for _, tt := range []struct {
		name                  string
		refuses, fails        bool
		refusedSpans, refused float64
		log                   []string
	}{
		{"takes all", false, false, 0, 0, nil},
		{"refuses some", true, false, 2, 3, []string{"two spans are too old", "three points are too old"}},
		{"fails", false, true, 0, 0, []string{"answers 400: the collector's own words"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := &receiver{t: t, refuses: tt.refuses, fails: tt.fails, metrics: map[string]pmetric.Metric{}}
			reg := prometheus.NewRegistry()
			log := exchangeFor(t, c, reg)
			counts := map[string]float64{}
			families, err := reg.Gather()
			if err != nil {
				t.Fatal(err)
			}
			for _, f := range families {
				for _, m := range f.GetMetric() {
					if strings.HasPrefix(f.GetName(), "sotto_otel_") {
						counts[f.GetName()+" "+m.GetLabel()[0].GetValue()] = m.GetCounter().GetValue()
					}
				}
			}
			if counts["sotto_otel_spans_total refused"] != tt.refusedSpans || counts["sotto_otel_points_total refused"] != tt.refused || tt.fails != (counts["sotto_otel_spans_total failed"] > 0) {
				t.Errorf("%v", counts)
			}
			for _, want := range tt.log {
				if !strings.Contains(log, want) {
					t.Errorf("the log lacks %q: %s", want, log)
				}
			}
			if !tt.fails {
				c.check()
			}
		})
	}
}

// exchangeFor sends one exchange with a scripted model to a collector, and returns the log.
func exchangeFor(t *testing.T, c *receiver, reg *prometheus.Registry) string {
	t.Helper()
	srv, up := httptest.NewServer(c), httptest.NewServer(scripted.New(scripted.Options{}))
	defer srv.Close()
	defer up.Close()
	base, err := url.Parse(up.URL)
	if err != nil {
		t.Fatal(err)
	}
	to, err := url.Parse(srv.URL)
	if err != nil {
		t.Fatal(err)
	}
	signals, err := telemetry.ReadEnvironment(to, func(string) string { return "" })
	if err != nil {
		t.Fatal(err)
	}
	var log strings.Builder
	tele, err := telemetry.Open(telemetry.Config{Signals: signals, Registry: reg, Content: true, Log: slog.New(slog.NewTextHandler(&log, nil))})
	if err != nil {
		t.Fatal(err)
	}
	g, err := gateway.New(gateway.Config{Upstream: base, Recorder: tele.Recorder(nil, nil), Observers: []gateway.Observer{gateway.Metrics(reg), tele.Observer()}})
	if err != nil {
		t.Fatal(err)
	}
	front := httptest.NewServer(g)
	resp, err := http.Post(front.URL+"/v1/chat/completions", "application/json", strings.NewReader(`{"model":"minimax-m2","stream":true,"messages":[{"role":"user","content":"hi"}]}`))
	if err != nil {
		t.Fatal(err)
	}
	_, _ = io.Copy(io.Discard, resp.Body)
	resp.Body.Close()
	front.Close()
	if err := g.Close(); err != nil {
		t.Error(err)
	}
	if err := tele.Close(t.Context()); err != nil {
		t.Error(err)
	}
	return log.String()
}

// check compares what the collector has with what was sent.
func (c *receiver) check() {
	c.t.Helper()
	names := map[string]ptrace.Span{}
	for _, s := range c.spans {
		names[s.Name()] = s
	}
	root, ok := names["chat minimax-m2"]
	if !ok || root.Kind() != ptrace.SpanKindClient || root.StartTimestamp() >= root.EndTimestamp() {
		c.t.Fatalf("%v", names)
	}
	for _, key := range []string{"gen_ai.input.messages", "gen_ai.output.messages", "gen_ai.provider.name"} {
		if v, ok := root.Attributes().Get(key); !ok || v.Str() == "" {
			c.t.Errorf("the span has no %s", key)
		}
	}
	for _, part := range []string{"upstream wait", "reasoning", "answer"} {
		if s, ok := names[part]; !ok || s.ParentSpanID() != root.SpanID() || s.TraceID() != root.TraceID() {
			c.t.Errorf("%s is not below the exchange", part)
		}
	}
	for name, kind := range map[string]pmetric.MetricType{
		"gen_ai.client.operation.duration": pmetric.MetricTypeHistogram, "gen_ai.server.time_to_first_token": pmetric.MetricTypeHistogram,
		"sotto_exchanges_total": pmetric.MetricTypeSum, "sotto_open_exchanges": pmetric.MetricTypeGauge, "sotto_exchange_seconds": pmetric.MetricTypeHistogram,
	} {
		if m, ok := c.metrics[name]; !ok || m.Type() != kind {
			c.t.Errorf("%s is not a %v", name, kind)
		}
	}
	if m, ok := c.metrics["gen_ai.client.operation.duration"]; ok {
		if d := m.Histogram().DataPoints().At(0); d.Count() != 1 || d.BucketCounts().Len() != d.ExplicitBounds().Len()+1 || d.Exemplars().Len() != 1 || d.Exemplars().At(0).TraceID() != root.TraceID() {
			c.t.Errorf("%d exchanges, %d exemplars", d.Count(), d.Exemplars().Len())
		}
	}
}
