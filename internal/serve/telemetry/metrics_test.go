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

	"github.com/prometheus/client_golang/prometheus"
	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	metricspb "go.opentelemetry.io/proto/otlp/metrics/v1"
	"google.golang.org/protobuf/proto"

	"github.com/sotto-llm/sotto/gateway"
)

// points receives metrics, and decodes them with the official types.
type points struct {
	t      *testing.T
	mu     sync.Mutex
	bytes  []byte
	header http.Header
	sent   []map[string]*metricspb.Metric // of each request, by name
	about  []*commonpb.KeyValue
	status int // if not 0
}

// receive starts a receiver of metrics, and returns where it is.
func receive(t *testing.T) (*points, *url.URL) {
	p := &points{t: t}
	srv := httptest.NewServer(p)
	t.Cleanup(srv.Close)
	u, err := url.Parse(srv.URL)
	if err != nil {
		t.Fatal(err)
	}
	return p, u
}

func (p *points) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var from io.Reader = r.Body
	if r.Header.Get("Content-Encoding") == "gzip" {
		zip, err := gzip.NewReader(r.Body)
		if err != nil {
			p.t.Error(err)
			return
		}
		from = zip
	}
	body, err := io.ReadAll(from)
	p.mu.Lock()
	defer p.mu.Unlock()
	var data metricspb.MetricsData // the same bytes as an ExportMetricsServiceRequest
	if err != nil || proto.Unmarshal(body, &data) != nil || r.URL.Path != "/v1/metrics" || len(data.ResourceMetrics) != 1 {
		p.t.Errorf("%s: %v", r.URL, err)
		return
	}
	if p.status != 0 {
		w.WriteHeader(p.status)
		return
	}
	p.bytes, p.header, p.about = append(p.bytes, body...), r.Header, data.ResourceMetrics[0].Resource.Attributes
	all := map[string]*metricspb.Metric{}
	for _, s := range data.ResourceMetrics[0].ScopeMetrics {
		for _, m := range s.Metrics {
			if all[m.Name] != nil {
				p.t.Errorf("%s is there twice", m.Name)
			}
			all[m.Name] = m
		}
	}
	p.sent = append(p.sent, all)
}

// last are the metrics that came last.
func (p *points) last() map[string]*metricspb.Metric {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.sent) == 0 {
		p.t.Fatal("no metrics came")
	}
	return p.sent[len(p.sent)-1]
}

// labelsOf are the attributes of a data point, as text.
func labelsOf(list []*commonpb.KeyValue) string {
	var words []string
	for _, a := range list {
		v := a.Value.GetStringValue()
		if n := a.Value.GetIntValue(); n != 0 {
			v = "N"
		}
		if a.Key == "server.address" || a.Key == "server.port" {
			continue
		}
		words = append(words, a.Key+"="+v)
	}
	slices.Sort(words)
	return strings.Join(words, " ")
}

// measured runs a function with a gateway whose metrics are sent, and returns what came.
func measured(t *testing.T, config gateway.Config, s func(*Signals), do func(front string)) *points {
	t.Helper()
	p, base := receive(t)
	reg := prometheus.NewRegistry()
	signals := Signals{Metrics: Signal{URL: base.JoinPath("v1/metrics"), Header: http.Header{"Api-Key": {"k"}}}, Interval: time.Hour}
	if s != nil {
		s(&signals)
	}
	tele, err := Open(Config{Signals: signals, Version: "v1.2.3", Registry: reg})
	if err != nil {
		t.Fatal(err)
	}
	config.Observers = []gateway.Observer{gateway.Metrics(reg), tele.Observer()}
	g, err := gateway.New(config)
	if err != nil {
		t.Fatal(err)
	}
	front := httptest.NewServer(g)
	do(front.URL)
	front.Close()
	if err := g.Close(); err != nil {
		t.Error(err)
	}
	if err := tele.Close(t.Context()); err != nil {
		t.Error(err)
	}
	if strings.Contains(string(p.bytes), canary) {
		t.Errorf("text was sent: %q", p.bytes)
	}
	return p
}

// TestMetrics: what is sent of a stream, a whole reply and a refusal are the metrics of the
// conventions, with their units and buckets, and all of /metrics. Traces may be off.
func TestMetrics(t *testing.T) {
	n := 0
	up := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n++
		traced{stream: n == 1, status: []int{0, 200, 200, 429}[n]}.reply(w, nil)
	}))
	defer up.Close()
	base, err := url.Parse(up.URL)
	if err != nil {
		t.Fatal(err)
	}
	p := measured(t, gateway.Config{Upstream: base}, nil, func(front string) {
		for i := range 3 {
			traced{stream: i == 0}.ask(t, front)
		}
	})
	const about = "gen_ai.operation.name=chat gen_ai.provider.name=openai gen_ai.request.model=m"
	type want struct {
		unit  string
		least float64 // of the bounds
		most  float64
		sets  map[string]uint64
	}
	got := p.last()
	for name, w := range map[string]want{
		"gen_ai.client.operation.duration":            {"s", 0.01, 81.92, map[string]uint64{about: 2, "error.type=429 " + about: 1}},
		"gen_ai.server.request.duration":              {"s", 0.01, 81.92, map[string]uint64{about: 2, "error.type=429 " + about: 1}},
		"gen_ai.client.token.usage":                   {"{token}", 1, 67108864, map[string]uint64{about + " gen_ai.token.type=input": 2, about + " gen_ai.token.type=output": 2}},
		"gen_ai.client.operation.time_to_first_chunk": {"s", 0.01, 81.92, map[string]uint64{about: 1}},
		"gen_ai.server.time_to_first_token":           {"s", 0.001, 10, map[string]uint64{about: 1}},
		"gen_ai.server.time_per_output_token":         {"s", 0.01, 2.5, map[string]uint64{about: 1}},
	} {
		m := got[name]
		h := m.GetHistogram()
		if h == nil || m.Unit != w.unit || h.AggregationTemporality != metricspb.AggregationTemporality_AGGREGATION_TEMPORALITY_CUMULATIVE {
			t.Errorf("%s: %v", name, m)
			continue
		}
		sets := map[string]uint64{}
		for _, d := range h.DataPoints {
			sets[labelsOf(d.Attributes)] = d.Count
			if b := d.ExplicitBounds; b[0] != w.least || b[len(b)-1] != w.most || len(d.BucketCounts) != len(b)+1 || d.TimeUnixNano <= d.StartTimeUnixNano {
				t.Errorf("%s: %v", name, d)
			}
			if len(d.Exemplars) == 0 || fmt.Sprintf("%x", d.Exemplars[0].TraceId) != theirTrace {
				t.Errorf("%s has no exemplar of the client's trace: %v", name, d.Exemplars)
			}
		}
		if fmt.Sprint(sets) != fmt.Sprint(w.sets) {
			t.Errorf("%s: %v, want %v", name, sets, w.sets)
		}
	}
	for _, d := range got["gen_ai.client.token.usage"].GetHistogram().GetDataPoints() {
		if want := map[bool]float64{true: 22, false: 14}[strings.Contains(labelsOf(d.Attributes), "input")]; d.GetSum() != want {
			t.Errorf("%v tokens, want %v", d.GetSum(), want)
		}
	}
	checkRegistry(t, got)
	if p.header.Get("Api-Key") != "k" || !strings.Contains(labelsOf(p.about), "service.name=sotto") {
		t.Errorf("%v %v", p.header, p.about)
	}
}

// checkRegistry: the metrics of /metrics are there, as what they are.
func checkRegistry(t *testing.T, got map[string]*metricspb.Metric) {
	t.Helper()
	sum := got["sotto_exchanges_total"].GetSum()
	outcomes := map[string]float64{}
	for _, d := range sum.GetDataPoints() {
		outcomes[labelsOf(d.Attributes)] = d.GetAsDouble()
	}
	if want := map[string]float64{"api=openai.chat model=m outcome=answered": 2, "api=openai.chat model=m outcome=refused": 1}; fmt.Sprint(outcomes) != fmt.Sprint(want) || !sum.GetIsMonotonic() {
		t.Errorf("%v", sum)
	}
	if g := got["sotto_open_exchanges"].GetGauge(); len(g.GetDataPoints()) != 1 || g.DataPoints[0].GetAsDouble() != 0 {
		t.Errorf("%v", g)
	}
	if h := got["sotto_exchange_seconds"].GetHistogram(); len(h.GetDataPoints()) != 1 || h.DataPoints[0].Count != 3 {
		t.Errorf("%v", h)
	} else if e := h.DataPoints[0].Exemplars; len(e) == 0 || fmt.Sprintf("%x", e[0].TraceId) != theirTrace || len(e[0].SpanId) != 0 {
		t.Errorf("%v", e)
	}
	for _, d := range got["sotto_reply_bytes_total"].GetSum().GetDataPoints() { // the share of reasoning
		if strings.Contains(labelsOf(d.Attributes), "channel=reasoning") && d.GetAsDouble() != float64(2*len(canary)) {
			t.Errorf("%v", d)
		}
	}
}

// TestMetricsAreBounded: neither names of models nor statuses of an upstream make more data
// points than Limits.Labels lets them.
func TestMetricsAreBounded(t *testing.T) {
	n := 0
	up := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n++
		w.WriteHeader(600 + n)
	}))
	defer up.Close()
	base, err := url.Parse(up.URL)
	if err != nil {
		t.Fatal(err)
	}
	p := measured(t, gateway.Config{Upstream: base, Limits: gateway.Limits{Labels: 3}}, nil, func(front string) {
		for i := range 50 {
			resp, err := http.Post(front+"/v1/chat/completions", "application/json", strings.NewReader(fmt.Sprintf(`{"model":"m%d","messages":[]}`, i)))
			if err != nil {
				t.Fatal(err)
			}
			resp.Body.Close()
		}
	})
	sets := map[string]uint64{}
	for _, d := range p.last()["gen_ai.client.operation.duration"].GetHistogram().GetDataPoints() {
		sets[labelsOf(d.Attributes)] += d.Count
	}
	if len(sets) != 4 || sets["error.type=_OTHER gen_ai.operation.name=chat gen_ai.provider.name=openai gen_ai.request.model=other"] != 47 {
		t.Errorf("%v", sets)
	}
}

// TestMetricsCollectorFails: while the collector fails, counting goes on, and the log says so
// once. Cumulative points then have all that was counted since the start, and points of delta
// temporality what is new.
func TestMetricsCollectorFails(t *testing.T) {
	for _, delta := range []bool{false, true} {
		p, base := receive(t)
		p.status = http.StatusBadRequest
		var log strings.Builder
		reg := prometheus.NewRegistry()
		tele, err := Open(Config{
			Signals:  Signals{Metrics: Signal{URL: base.JoinPath("v1/metrics"), Plain: true}, Interval: time.Hour, Delta: delta},
			Registry: reg, Log: slog.New(slog.NewTextHandler(&log, nil)),
		})
		if err != nil {
			t.Fatal(err)
		}
		flush := func(status int) {
			p.mu.Lock()
			p.status = status
			p.mu.Unlock()
			now := time.Now()
			tele.meter.ended(t.Context(), gateway.Exchange{API: "openai.chat", Model: "m", ModelLabel: "m", Outcome: "answered", Began: now, Ended: now.Add(time.Second)})
			if err := tele.meter.provider.ForceFlush(t.Context()); err != nil {
				t.Error(err)
			}
		}
		for _, status := range []int{400, 404, 0, 0} {
			flush(status)
		}
		if got, want := p.last()["gen_ai.client.operation.duration"].GetHistogram().DataPoints[0].Count, map[bool]uint64{false: 4, true: 1}[delta]; got != want {
			t.Errorf("delta %v: %d exchanges, want %d", delta, got, want)
		}
		if strings.Count(log.String(), "metrics are lost") != 1 || strings.Count(log.String(), "metrics are sent again") != 1 {
			t.Errorf("the log: %s", &log)
		}
		if got := counted(t, reg); got["failed"] == 0 || got["sent"] == 0 {
			t.Errorf("%v", got)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		_ = tele.Close(ctx) // its error is that of the context
	}
}

// TestReadEnvironment: the variables of OpenTelemetry's specification.
func TestReadEnvironment(t *testing.T) {
	base := &url.URL{Scheme: "http", Host: "c:4318", Path: "/base"}
	for _, tt := range []struct{ name, variables, want string }{
		{"nothing", "", "http://c:4318/base/v1/traces map[] 0s false | http://c:4318/base/v1/metrics map[] 0s false | 0s false"},
		{"no metrics", "OTEL_METRICS_EXPORTER=none", "http://c:4318/base/v1/traces map[] 0s false |  | 0s false"},
		{"a list with otlp", "OTEL_METRICS_EXPORTER=prometheus, otlp", "http://c:4318/base/v1/traces map[] 0s false | http://c:4318/base/v1/metrics map[] 0s false | 0s false"},
		{"another exporter", "OTEL_TRACES_EXPORTER=console", " | http://c:4318/base/v1/metrics map[] 0s false | 0s false"},
		{"disabled", "OTEL_SDK_DISABLED=TRUE", " |  | 0s false"},
		{"an address as it is", "OTEL_EXPORTER_OTLP_METRICS_ENDPOINT=https://m/x", "http://c:4318/base/v1/traces map[] 0s false | https://m/x map[] 0s false | 0s false"},
		{"headers of one", "OTEL_EXPORTER_OTLP_HEADERS=a=1;OTEL_EXPORTER_OTLP_METRICS_HEADERS=b=%32,c=3", "http://c:4318/base/v1/traces map[A:[1]] 0s false | http://c:4318/base/v1/metrics map[B:[2] C:[3]] 0s false | 0s false"},
		{"times", "OTEL_EXPORTER_OTLP_TIMEOUT=1500;OTEL_EXPORTER_OTLP_TRACES_TIMEOUT=20;OTEL_METRIC_EXPORT_INTERVAL=5000", "http://c:4318/base/v1/traces map[] 20ms false | http://c:4318/base/v1/metrics map[] 1.5s false | 5s false"},
		{"plain", "OTEL_EXPORTER_OTLP_COMPRESSION=none;OTEL_EXPORTER_OTLP_TRACES_COMPRESSION=gzip", "http://c:4318/base/v1/traces map[] 0s false | http://c:4318/base/v1/metrics map[] 0s true | 0s false"},
		{"delta", "OTEL_EXPORTER_OTLP_METRICS_TEMPORALITY_PREFERENCE=Delta", "http://c:4318/base/v1/traces map[] 0s false | http://c:4318/base/v1/metrics map[] 0s false | 0s true"},
		{"a bad address", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT=c:4318", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT is not a whole URL such as http://localhost:4318/v1/traces, without a user name or password"},
		{"a key in it", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT=http://u:s3cret@c", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT is not a whole URL such as http://localhost:4318/v1/traces, without a user name or password"},
		{"bad headers", "OTEL_EXPORTER_OTLP_TRACES_HEADERS=s3cret", "OTEL_EXPORTER_OTLP_TRACES_HEADERS is not a list of headers: want name=value, with commas between"},
		{"a bad time", "OTEL_METRIC_EXPORT_INTERVAL=9e9", "OTEL_METRIC_EXPORT_INTERVAL is not a number of milliseconds from 0 to 86400000"},
		{"a bad temporality", "OTEL_EXPORTER_OTLP_METRICS_TEMPORALITY_PREFERENCE=x", "OTEL_EXPORTER_OTLP_METRICS_TEMPORALITY_PREFERENCE is not cumulative, delta or lowmemory"},
		{"a bad compression", "OTEL_EXPORTER_OTLP_COMPRESSION=zstd", "OTEL_EXPORTER_OTLP_COMPRESSION is not gzip or none"},
		{"a bad variable of a signal that is off", "OTEL_METRICS_EXPORTER=none;OTEL_EXPORTER_OTLP_METRICS_COMPRESSION=x", "http://c:4318/base/v1/traces map[] 0s false |  | 0s false"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			all := map[string]string{}
			for pair := range strings.SplitSeq(tt.variables, ";") {
				name, value, _ := strings.Cut(pair, "=")
				all[name] = value
			}
			s, err := ReadEnvironment(base, func(name string) string { return all[name] })
			text := func(s Signal) string {
				if s.URL == nil {
					return ""
				}
				return fmt.Sprint(s.URL, " ", s.Header, " ", s.Timeout, " ", s.Plain)
			}
			got := fmt.Sprint(text(s.Traces), " | ", text(s.Metrics), " | ", s.Interval, " ", s.Delta)
			if err != nil {
				got = err.Error()
			}
			if got != tt.want {
				t.Errorf("%s\nwant %s", got, tt.want)
			}
		})
	}
}
