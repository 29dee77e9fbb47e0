package gateway_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/gateway"
	"github.com/sotto-llm/sotto/record"
)

// attempts are an upstream whose attempts go as planned; the last plan holds for all
// further ones. It notes the bodies that it gets.
type attempts struct {
	s      speaker
	plans  []string
	bodies []string
	times  []time.Time
}

var (
	errAway   = &net.OpError{Op: "dial", Net: "tcp", Addr: &net.TCPAddr{IP: net.IPv4(10, 1, 2, 3), Port: 8000}, Err: os.NewSyscallError("connect", syscall.ECONNREFUSED)}
	errBroken = &net.OpError{Op: "read", Net: "tcp", Source: &net.TCPAddr{IP: net.IPv4(10, 9, 9, 9), Port: 1}, Addr: &net.TCPAddr{IP: net.IPv4(10, 1, 2, 3), Port: 8000}, Err: os.NewSyscallError("read", syscall.ECONNRESET)}
)

func (a *attempts) RoundTrip(r *http.Request) (*http.Response, error) {
	var body []byte
	if r.Body != nil {
		body, _ = io.ReadAll(r.Body)
		r.Body.Close()
	}
	plan, after, _ := strings.Cut(a.plans[min(len(a.bodies), len(a.plans)-1)], " after ")
	a.bodies, a.times = append(a.bodies, string(body)), append(a.times, time.Now())
	stream := strings.Contains(string(body), `"stream":true`)
	switch plan {
	case "refused":
		return nil, errAway
	case "reset":
		return nil, errBroken
	case "eof":
		return nil, io.EOF
	case "breaks":
		resp := response(a.s.kind(true), breaking([]byte(a.s.open+a.s.say("a")), errBroken))
		resp.Request = r
		return resp, nil
	case "waits":
		<-r.Context().Done()
		return nil, r.Context().Err()
	case "ok":
		text := a.s.whole("b", sotto.EndStopped)
		if stream {
			text = a.s.stream([]string{"b"}, sotto.EndStopped)
		}
		resp := response(a.s.kind(stream), strings.NewReader(text))
		resp.Request = r
		return resp, nil
	}
	resp := response("application/json", strings.NewReader(`{"error":{"message":"no"}}`))
	_, _ = fmt.Sscan(plan, &resp.StatusCode)
	if after != "" {
		resp.Header.Set("Retry-After", after)
	}
	resp.Request = r
	return resp, nil
}

// TestRetries: a request whose response has not begun is sent again, whole, as often as
// the settings say, and no other is.
func TestRetries(t *testing.T) {
	each(t, func(t *testing.T, s speaker) {
		for _, tt := range []struct {
			plans    string
			retries  int
			attempts int
			status   int
		}{
			{"ok", 2, 1, 200},
			{"refused, ok", 0, 1, 502},
			{"refused, ok", 1, 2, 200},
			{"refused", 2, 3, 502},
			{"reset, ok", 2, 2, 200},
			{"eof, ok", 2, 2, 200},
			{"502, 503, 504, ok", 3, 4, 200},
			{"503", 2, 3, 503},
			{"503 after 2, ok", 2, 2, 200},
			{"503 after 11, ok", 2, 1, 503},
			{"429 after 2, ok", 2, 2, 200},
			{"429 after 11, ok", 2, 1, 429},
			{"429, ok", 2, 1, 429},
			{"500, ok", 2, 1, 500},
			{"400, ok", 2, 1, 400},
			{"breaks, ok", 2, 1, 0}, // a byte has come
		} {
			for _, stream := range []bool{false, true} {
				if tt.status == 0 && !stream {
					continue
				}
				synctest.Test(t, func(t *testing.T) {
					up := &attempts{s: s, plans: strings.Split(tt.plans, ", ")}
					g := handler(t, gateway.Config{UpstreamRetries: tt.retries}, up)
					w := ask(g, s.path, (&conversation{s: s}).request("m", stream, ""))
					if len(up.bodies) != tt.attempts || tt.status != 0 && w.Code != tt.status {
						t.Errorf("%s with %d retries, stream %v: %d attempts, status %d: %s", tt.plans, tt.retries, stream, len(up.bodies), w.Code, w.Body)
					}
					for i, b := range up.bodies {
						if b != up.bodies[0] || b == "" {
							t.Errorf("attempt %d had the body %q, the first %q", i, b, up.bodies[0])
						}
						if i > 0 && up.times[i].Sub(up.times[i-1]) < 100*time.Millisecond {
							t.Errorf("attempt %d came %v after the one before", i, up.times[i].Sub(up.times[i-1]))
						}
					}
					if said := w.Body.String(); strings.Contains(said, "10.1.2.3") || strings.Contains(said, "10.9.9.9") {
						t.Errorf("%s: the client learns an address: %s", tt.plans, said)
					}
				})
			}
		}
	})
}

// TestRetriesTold: the log, the record and the metrics say how often a request was sent
// again, and why, and to which upstream.
func TestRetriesTold(t *testing.T) {
	p := newPlaces(t)
	s := speakers[0]
	left := 2
	p.b.answers(func(w http.ResponseWriter, r *http.Request) bool {
		if left--; left >= 0 {
			w.WriteHeader(http.StatusServiceUnavailable)
			return true
		}
		return speaking(s, "b")(w, r)
	})
	var logged lockedText
	events := &eventList{}
	c := p.config(t)
	b := c.Upstreams["b"]
	b.Retries = 2
	c.Upstreams["b"] = b
	c.Logger, c.Recorder = slog.New(slog.NewTextHandler(&logged, nil)), events
	g := gatewayOf(t, c)
	draining(t, events, g)
	if w := ask(g, s.path, (&conversation{s: s}).request("b-1", false, "")); w.Code != 200 {
		t.Fatal(w.Body)
	}
	drain(events)
	if n := len(p.b.heard()); n != 3 {
		t.Errorf("%d attempts", n)
	}
	x, ok := events.list[0].Payload.(record.Exchange)
	if !ok || x.Retries != 2 || x.UpstreamName != "b" || x.Upstream != p.b.URL {
		t.Errorf("recorded: %+v", events.list[0].Payload)
	}
	if text := logged.String(); !strings.Contains(text, "upstream=b") || !strings.Contains(text, "retries=2") {
		t.Error(text)
	}
	metrics := get(g, "GET", "/metrics", "").Body.String()
	for _, line := range []string{`sotto_upstream_retries_total{upstream="b",why="503"} 2`, `sotto_upstream_exchanges_total{outcome="answered",upstream="b"} 1`, `sotto_upstream_header_seconds_count{upstream="b"} 1`} {
		if !strings.Contains(metrics, line) {
			t.Errorf("the metrics have no %s", line)
		}
	}
}

// TestRetriesEnd: a client that leaves, or a request with a deadline, ends the waiting.
func TestRetriesEnd(t *testing.T) {
	for name, end := range map[string]func(context.Context) (context.Context, func()){
		"left": func(ctx context.Context) (context.Context, func()) {
			ctx, cancel := context.WithCancel(ctx)
			time.AfterFunc(time.Second, cancel)
			return ctx, cancel
		},
		"deadline": func(ctx context.Context) (context.Context, func()) { return context.WithTimeout(ctx, time.Second) },
	} {
		synctest.Test(t, func(t *testing.T) {
			s := speakers[0]
			up := &attempts{s: s, plans: []string{"503 after 8"}}
			g := handler(t, gateway.Config{UpstreamRetries: 3}, up)
			r := httptest.NewRequest("POST", s.path, strings.NewReader((&conversation{s: s}).request("m", false, "")))
			r.Host = "localhost"
			ctx, cancel := end(r.Context())
			defer cancel()
			w := httptest.NewRecorder()
			began := time.Now()
			g.ServeHTTP(w, r.WithContext(ctx))
			if took := time.Since(began); took > time.Second || len(up.bodies) != 1 {
				t.Errorf("%s: %d attempts, %v", name, len(up.bodies), took)
			}
			if name == "deadline" && w.Code != 503 {
				t.Errorf("the client has %d, not what the upstream answered", w.Code)
			}
		})
	}
}

// TestRetriesOfPassages: of requests that are not to a model, those that may have changed
// something are sent again only if they cannot have, and never those whose body was
// streamed through.
func TestRetriesOfPassages(t *testing.T) {
	for _, tt := range []struct {
		method, path, body, plans string
		attempts                  int
	}{
		{"GET", "/v1/files/file-1", "", "reset, 503, ok", 3},
		{"POST", "/v1/embeddings", `{"model":"m"}`, "reset, 503, ok", 3},
		{"POST", "/v1/files", `{"model":"m"}`, "refused, ok", 2},
		{"POST", "/v1/files", `{"model":"m"}`, "reset, ok", 1},
		{"POST", "/v1/files", `{"model":"m"}`, "503, ok", 1},
		{"DELETE", "/v1/files/file-1", "", "503, ok", 1},
		{"POST", "/v1/responses/resp_1/cancel", "", "503, ok", 1},
		{"POST", "/v1/embeddings", strings.Repeat("x", 2<<20), "refused, ok", 1},
	} {
		synctest.Test(t, func(t *testing.T) {
			up := &attempts{s: speakers[0], plans: strings.Split(tt.plans, ", ")}
			g := handler(t, gateway.Config{UpstreamRetries: 5}, up)
			w := get(g, tt.method, tt.path, tt.body)
			if len(up.bodies) != tt.attempts {
				t.Errorf("%s %s, %s: %d attempts, %d %.200s", tt.method, tt.path, tt.plans, len(up.bodies), w.Code, w.Body)
			}
			for _, b := range up.bodies {
				if b != tt.body {
					t.Errorf("%s %s: an attempt had %d bytes, not %d", tt.method, tt.path, len(b), len(tt.body))
				}
			}
		})
	}
}

// TestHeaderTimeout: an upstream that does not begin to answer in its time gives 504, and
// one that has begun may take longer.
func TestHeaderTimeout(t *testing.T) {
	each(t, func(t *testing.T, s speaker) {
		synctest.Test(t, func(t *testing.T) {
			up := &attempts{s: s, plans: []string{"waits"}}
			g := handler(t, gateway.Config{UpstreamHeaderTimeout: time.Minute, UpstreamRetries: 2}, up)
			began := time.Now()
			w := ask(g, s.path, (&conversation{s: s}).request("m", true, ""))
			if took := time.Since(began); w.Code != http.StatusGatewayTimeout || took != time.Minute || len(up.bodies) != 1 || !strings.Contains(w.Body.String(), "it sent no response within 1m0s") {
				t.Errorf("%d after %v and %d attempts: %s", w.Code, took, len(up.bodies), w.Body)
			}
			slow := answering(func(*http.Request) *http.Response {
				pieces := &hook{strings.NewReader(s.stream([]string{"a", "b"}, sotto.EndStopped)), func() { time.Sleep(2 * time.Minute) }}
				return response(s.kind(true), pieces)
			})
			g = handler(t, gateway.Config{UpstreamHeaderTimeout: time.Minute}, slow)
			if h := s.listen(t, ask(g, s.path, (&conversation{s: s}).request("m", true, "")).Body.Bytes()); string(h.text) != "ab" {
				t.Errorf("the slow stream has %q", h.text)
			}
		})
	})
}

// TestErrorsWithoutAddresses: a client learns why its request failed, and neither an
// address nor a name of the network behind the gateway. The log has them.
func TestErrorsWithoutAddresses(t *testing.T) {
	var named error = &net.OpError{Op: "dial", Net: "tcp", Err: &net.DNSError{Err: "no such host", Name: "secret.internal", Server: "10.0.0.53:53", IsNotFound: true}}
	for _, tt := range []struct {
		err  error
		want string
	}{
		{errAway, "dial: connection refused"}, {errBroken, "read: connection reset by peer"}, {named, "its name could not be resolved"},
		{fmt.Errorf("secret.internal: %w", errors.Join(errBroken)), "read: connection reset by peer"},
	} {
		each(t, func(t *testing.T, s speaker) {
			for _, broken := range []bool{false, true} {
				var logged lockedText
				c := gateway.Config{Logger: slog.New(slog.NewTextHandler(&logged, nil))}
				up := roundTrip(func(r *http.Request) (*http.Response, error) {
					if !broken {
						return nil, tt.err
					}
					resp := response(s.kind(true), breaking([]byte(s.open+s.say("a")), tt.err))
					resp.Request = r
					return resp, nil
				})
				g := handler(t, c, up)
				said := ask(g, s.path, (&conversation{s: s}).request("m", true, "")).Body.String()
				if strings.Contains(said, "10.") && strings.Contains(said, ":8000") || strings.Contains(said, "10.0.0.53") || tt.err == named && strings.Contains(said, "secret.internal") || !strings.Contains(said, tt.want) {
					t.Errorf("broken %v, %v: the client has %s", broken, tt.err, said)
				}
				if text := logged.String(); !strings.Contains(text, "10.") {
					t.Errorf("broken %v: the log has %s", broken, text)
				}
			}
		})
	}
}
