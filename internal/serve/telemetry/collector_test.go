package telemetry

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/protobuf/encoding/protowire"
)

// counted returns how many spans were sent, dropped and failed.
func counted(t *testing.T, reg *prometheus.Registry) map[string]float64 {
	t.Helper()
	families, err := reg.Gather()
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]float64{}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			all[m.GetLabel()[0].GetValue()] = m.GetCounter().GetValue()
		}
	}
	return all
}

// spans ends n spans of a tracer.
func spans(tracer *Telemetry, n int) {
	for range n {
		_, s := tracer.tracer.Start(context.Background(), "x")
		s.End()
	}
}

// TestCollectorHangs: a collector that does not answer holds up nobody. What the queue has
// no room for is lost and counted, and Close ends when its context does.
func TestCollectorHangs(t *testing.T) {
	held := make(chan struct{})
	hung := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		select {
		case <-r.Context().Done():
		case <-held:
		}
	}))
	defer hung.Close()
	defer close(held)
	base, err := url.Parse(hung.URL)
	if err != nil {
		t.Fatal(err)
	}
	reg := prometheus.NewRegistry()
	tracer, err := Open(Config{Signals: Signals{Traces: Signal{URL: base}}, Registry: reg, Queue: 10, Every: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	spans(tracer, 2000) // returns, although nobody takes them
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_ = tracer.Close(ctx) // its error is that of the context
	got := counted(t, reg)
	if got["dropped"] == 0 || got["sent"] != 0 || got["dropped"]+got["failed"] != 2000 {
		t.Errorf("of 2000 spans: %v", got)
	}
	spans(tracer, 3)
	if after := counted(t, reg); after["dropped"] != got["dropped"]+3 {
		t.Errorf("after the end: %v", after)
	}
}

// TestCollectorFails: a request that may succeed later is sent again, and others are not.
// What is lost is counted, and the log says once that it is and once that it is over.
func TestCollectorFails(t *testing.T) {
	c := collect(t)
	c.answer = func(n int) int {
		return map[int]int{1: http.StatusServiceUnavailable, 3: http.StatusBadRequest, 4: http.StatusUnauthorized}[n] + map[bool]int{true: 200}[n == 2 || n > 4]
	}
	reg := prometheus.NewRegistry()
	var log strings.Builder
	config := c.config()
	config.Registry, config.Log, config.Every = reg, slog.New(slog.NewTextHandler(&log, nil)), time.Millisecond
	tracer, err := Open(config)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []map[string]float64{
		{"sent": 1, "dropped": 0, "failed": 0, "refused": 0}, // 503, then 200
		{"sent": 1, "dropped": 0, "failed": 1, "refused": 0}, // 400
		{"sent": 1, "dropped": 0, "failed": 2, "refused": 0}, // 401
		{"sent": 2, "dropped": 0, "failed": 2, "refused": 0},
	} {
		spans(tracer, 1)
		for until := time.Now().Add(time.Minute); fmt.Sprint(counted(t, reg)) != fmt.Sprint(want); time.Sleep(time.Millisecond) {
			if time.Now().After(until) {
				t.Fatalf("%v, want %v", counted(t, reg), want)
			}
		}
	}
	if err := tracer.Close(t.Context()); err != nil {
		t.Error(err)
	}
	if strings.Count(log.String(), "traces are lost") != 1 || strings.Count(log.String(), "traces are sent again") != 1 || !strings.Contains(log.String(), "answers 400") {
		t.Errorf("the log: %s", &log)
	}
}

// A roundTrip answers requests without a network, so that a test has a clock of its own.
type roundTrip func(*http.Request) *http.Response

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) {
	_, _ = io.Copy(io.Discard, r.Body)
	return f(r), nil
}

// response returns one.
func response(status int, header http.Header, body []byte) *http.Response {
	if header == nil {
		header = http.Header{}
	}
	return &http.Response{StatusCode: status, Header: header, Body: io.NopCloser(bytes.NewReader(body))}
}

// replaced opens a tracer whose requests a function answers.
func replaced(t *testing.T, c Config, answer roundTrip) *Telemetry {
	c.Traces.URL, c.through = &url.URL{Scheme: "http", Host: "collector.example"}, answer
	tracer, err := Open(c)
	if err != nil {
		t.Fatal(err)
	}
	return tracer
}

// TestCollectorAsksToWait: nothing is sent before the time that a collector asks for. A wait
// of up to a minute is waited; during a longer one what is to be sent is lost at once, so
// that memory stays bounded, and what comes after it is sent.
func TestCollectorAsksToWait(t *testing.T) {
	for _, tt := range []struct {
		status       int
		after        string
		sent, failed float64       // of the first 20 minutes, with a span a minute
		first        time.Duration // when the second request comes
	}{
		{429, "30", 20, 0, 31 * time.Second}, {503, "60", 20, 0, 61 * time.Second}, {503, "600", 11, 9, 601 * time.Second}, {429, "9e99", 0, 20, 0},
		{400, "600", 19, 1, 61 * time.Second}, {500, "600", 19, 1, 61 * time.Second}, // not to be sent again, and not a reason to wait
	} {
		t.Run(fmt.Sprint(tt.status, " ", tt.after), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				begin, requests, second := time.Now(), 0, time.Duration(0)
				reg := prometheus.NewRegistry()
				tracer := replaced(t, Config{Registry: reg, Every: time.Second}, func(*http.Request) *http.Response {
					if requests++; requests == 1 {
						return response(tt.status, http.Header{"Retry-After": {tt.after}}, nil)
					}
					if requests == 2 {
						second = time.Since(begin)
					}
					return response(200, nil, nil)
				})
				time.Sleep(500 * time.Millisecond)
				for range 20 {
					spans(tracer, 1)
					time.Sleep(time.Minute)
				}
				got := counted(t, reg)
				if got["sent"] != tt.sent || got["failed"] != tt.failed || got["dropped"] != 0 || second != tt.first {
					t.Errorf("%v; the second request after %v", got, second)
				}
				if err := tracer.Close(t.Context()); err != nil {
					t.Error(err)
				}
			})
		})
	}
}

// TestCollectorStatuses: only the requests that OTLP lets a client send again are.
func TestCollectorStatuses(t *testing.T) {
	for status, want := range map[int]int{200: 1, 202: 1, 301: 1, 307: 1, 400: 1, 404: 1, 408: 1, 413: 1, 429: 4, 500: 1, 501: 1, 502: 4, 503: 4, 504: 4} {
		synctest.Test(t, func(t *testing.T) {
			requests := 0
			c := newClient(Signal{URL: &url.URL{Scheme: "http", Host: "c"}}, roundTrip(func(*http.Request) *http.Response {
				requests++
				return response(status, http.Header{"Location": {"http://c/"}}, nil)
			}))
			if err := (spanClient{c}).UploadTraces(t.Context(), nil); (err == nil) != (status < 300) || requests != want {
				t.Errorf("%d: %d requests, want %d; %v", status, requests, want, err)
			}
		})
	}
}

// success is the answer of a collector that refuses some.
func success(refused int64, says string) []byte {
	p := protowire.AppendVarint(protowire.AppendTag(nil, 1, protowire.VarintType), uint64(refused))
	p = protowire.AppendString(protowire.AppendTag(p, 2, protowire.BytesType), says)
	return protowire.AppendBytes(protowire.AppendTag(nil, 1, protowire.BytesType), p)
}

// TestPartialSuccess: what a collector refuses of a request that it took is counted, and the
// log says why, once a minute. The text is the collector's, and may repeat its key.
func TestPartialSuccess(t *testing.T) {
	for _, tt := range []struct {
		name          string
		answer        []byte
		refused, sent float64
		log           string // empty if there is nothing to say
	}{
		{"nothing", nil, 0, 10, ""},
		{"empty", protowire.AppendBytes(protowire.AppendTag(nil, 1, protowire.BytesType), nil), 0, 10, ""},
		{"some", success(3, "too old"), 3, 7, "refused=3 says=\"too old\""},
		{"a warning", success(0, "old client"), 0, 10, "refused=0 says=\"old client\""},
		{"more than all", success(1<<40, "no"), 10, 0, "refused=10 says=no"},
		{"a negative count", success(-5, "no"), 0, 10, "refused=0 says=no"},
		{"the key", success(1, "s3cret is over its quota\x1b[2J"), 1, 9, `says="[secret] is over its quota\\x1b[2J"`},
		{"not a message", []byte("<html>"), 0, 10, ""},
		{"cut", success(3, "too old")[:6], 0, 10, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var log strings.Builder
				reg := prometheus.NewRegistry()
				c := Config{Signals: Signals{Traces: Signal{Header: http.Header{"Api-Key": {"s3cret"}}}}, Registry: reg, Every: time.Second, Log: slog.New(slog.NewTextHandler(&log, nil))}
				tracer := replaced(t, c, func(*http.Request) *http.Response { return response(200, nil, tt.answer) })
				spans(tracer, 10)
				time.Sleep(2 * time.Second)
				if got := counted(t, reg); got["sent"] != tt.sent || got["refused"] != tt.refused || got["failed"] != 0 {
					t.Errorf("%v", got)
				}
				spans(tracer, 10)
				time.Sleep(2 * time.Second)
				synctest.Wait() // until what was logged can be read
				lines := strings.Count(log.String(), "\n")
				if want := min(len(tt.log), 1); lines != want || !strings.Contains(log.String(), tt.log) {
					t.Errorf("the log: %s", &log)
				}
				if err := tracer.Close(t.Context()); err != nil {
					t.Error(err)
				}
			})
		})
	}
}

// An endless body never ends, and counts what is read of it.
type endless struct{ read atomic.Int64 }

func (e *endless) Read(p []byte) (int, error) { e.read.Add(int64(len(p))); return len(p), nil }
func (e *endless) Close() error               { return nil }

// stalled is a body of which nothing comes until the request has ended.
type stalled struct{ ctx context.Context }

func (s stalled) Read([]byte) (int, error) { <-s.ctx.Done(); return 0, s.ctx.Err() }
func (s stalled) Close() error             { return nil }

// TestCollectorAnswers: an answer without an end costs a bounded amount of memory, and one
// that does not come a bounded time. The spans are not sent a second time: the status says
// that the collector has them.
func TestCollectorAnswers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		body, requests := &endless{}, 0
		c := newClient(Signal{URL: &url.URL{Scheme: "http", Host: "c"}}, roundTrip(func(r *http.Request) *http.Response {
			requests++
			resp := response(200, nil, nil)
			if resp.Body = body; requests == 2 {
				resp.Body = stalled{r.Context()}
			}
			return resp
		}))
		for n := 1; n <= 2; n++ {
			if err := (spanClient{c}).UploadTraces(t.Context(), nil); err != nil || requests != n {
				t.Errorf("%d requests: %v", requests, err)
			}
		}
		if n := body.read.Load(); n > 2*mostAnswer {
			t.Errorf("%d bytes were read", n)
		}
	})
}
