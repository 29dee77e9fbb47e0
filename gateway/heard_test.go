package gateway_test

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/sotto-llm/sotto/gateway"
	"github.com/sotto-llm/sotto/gateway/guard"
	"github.com/sotto-llm/sotto/internal/testing/waiting"
)

// TestListen: a listener learns when an exchange begins and how it ended, and the headers that
// it returns go to the upstream in place of the client's.
func TestListen(t *testing.T) {
	const stream = `data: {"id":"r1","model":"m","choices":[{"index":0,"delta":{"content":"<think>abc</think>de"}}]}` + "\n\n" +
		`data: {"id":"r1","model":"m","choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"c1","type":"function","function":{"name":"look","arguments":"{}"}}]}}]}` + "\n\n" +
		`data: {"id":"r1","model":"m","choices":[{"index":0,"delta":{},"finish_reason":"length"}],"usage":{"prompt_tokens":7,"completion_tokens":5}}` + "\n\ndata: [DONE]\n\n"
	const whole = `{"id":"r2","model":"m","choices":[{"index":0,"message":{"role":"assistant","content":"<think>abc</think>de"},"finish_reason":"stop"}]}`
	var mu sync.Mutex
	var sent []http.Header
	upstream := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		mu.Lock()
		sent = append(sent, r.Header)
		mu.Unlock()
		switch text := string(body); {
		case strings.Contains(text, `"refuse"`):
			w.WriteHeader(http.StatusTooManyRequests)
			io.WriteString(w, `{"error":{"message":"slow down"}}`)
		case strings.Contains(text, `"stream":true`):
			w.Header().Set("Content-Type", "text/event-stream")
			io.WriteString(w, stream)
		default:
			w.Header().Set("Content-Type", "application/json")
			io.WriteString(w, whole)
		}
	})
	var began, ended []gateway.Exchange
	const trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
	listener := func(headers http.Header) gateway.Observer {
		return gateway.Listen(func(e gateway.Exchange, header http.Header) (http.Header, func(gateway.Exchange)) {
			mu.Lock()
			defer mu.Unlock()
			if header.Get("X-Client") != "c" {
				t.Errorf("the client's headers are %v", header)
			}
			began = append(began, e)
			if headers == nil {
				return nil, nil
			}
			return headers, func(e gateway.Exchange) {
				mu.Lock()
				defer mu.Unlock()
				ended = append(ended, e)
			}
		})
	}
	_, base := served(t, gateway.Config{Limits: gateway.Limits{Labels: 1}, Observers: []gateway.Observer{listener(http.Header{"traceparent": {trace}, "X-Client": {"listener"}}), listener(nil)}}, upstream)
	for _, body := range []string{`{"model":"m","stream":true,"messages":[{"role":"user","content":"x"}]}`, `{"model":"n","messages":[{"role":"user","content":"x"}]}`, `{"model":"m","messages":[{"role":"user","content":"refuse"}],"user":"refuse"}`} {
		r, _ := http.NewRequest("POST", base+"/v1/chat/completions", strings.NewReader(body))
		r.Header.Set("X-Client", "c")
		resp, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.Copy(io.Discard, resp.Body)
		resp.Body.Close()
	}
	waiting.Until(t, "the ends of three exchanges", func() bool {
		mu.Lock()
		defer mu.Unlock()
		return len(ended) == 3
	})
	mu.Lock()
	defer mu.Unlock()
	for _, h := range sent {
		if h.Get("Traceparent") != trace || len(h["X-Client"]) != 1 || h.Get("X-Client") != "listener" {
			t.Errorf("the upstream got %v", h)
		}
	}
	if len(began) != 6 || len(ended) != 3 || len(sent) != 3 {
		t.Fatalf("%d have begun, %d have ended, %d were sent", len(began), len(ended), len(sent))
	}
	for i, want := range []string{"m m true", "m m true", "n other false", "n other false", "m m false", "m m false"} {
		e := began[i]
		if got := fmt.Sprint(e.Model, " ", e.ModelLabel, " ", e.Streaming); got != want || e.API != "openai.chat" || e.Route != "default" || e.Upstream == nil || e.Began.IsZero() || e.ID == "" || e.Outcome != "" || !e.Ended.IsZero() {
			t.Errorf("exchange %d began as %+v, want %s", i, e, want)
		}
	}
	for i, want := range []string{"200 answered true 3 2 3 r1 [look] [cut] true", "200 answered false 3 2 3 r2 [] [stopped] false", "429 refused false 0 0 0  [] [] false"} {
		at := slices.IndexFunc(ended, func(e gateway.Exchange) bool { return e.ID == began[2*i].ID })
		if at < 0 {
			t.Fatalf("exchange %d has not ended", i)
		}
		e := ended[at]
		got := fmt.Sprint(e.Status, " ", e.Outcome, " ", e.Streamed, " ", e.Reasoning, " ", e.Text, " ", e.Leaked, " ", e.ResponseID, " ", e.Calls, " ", e.Ends, " ", e.Usage != nil)
		if got != want || e.Ended.Before(e.Began) || e.Replied.Before(e.Began) || e.FirstThought.IsZero() == e.Streamed || e.FirstAnswer.IsZero() == e.Streamed || e.FirstCall.IsZero() == e.Streamed {
			t.Errorf("exchange %d ended as %s, want %s: %+v", i, got, want, e)
		}
	}
	for _, e := range ended {
		if u := e.Usage; u != nil && (u.Input != 7 || u.Output != 5) {
			t.Errorf("%+v", u)
		}
	}
}

// TestReadiness: the gateway says whether it can serve, and why not.
func TestReadiness(t *testing.T) {
	var fault error
	_, base := served(t, gateway.Config{Ready: func() error { return fault }}, http.NotFoundHandler())
	for _, c := range []struct {
		fault  error
		status int
		text   string
	}{{nil, 200, "ready\n"}, {errors.New("the record is full"), 503, "the record is full\n"}, {fmt.Errorf("x: %w", &gateway.DegradedError{Text: "half of it"}), 200, "half of it\n"}} {
		fault = c.fault
		resp, err := http.Get(base + "/readyz")
		if err != nil {
			t.Fatal(err)
		}
		body, _ := io.ReadAll(resp.Body)
		resp.Body.Close()
		if resp.StatusCode != c.status || string(body) != c.text || resp.Header.Get("Content-Type") != "text/plain; charset=utf-8" {
			t.Errorf("%v: %d %v %s", c.fault, resp.StatusCode, resp.Header, body)
		}
	}
	if got := (&gateway.DegradedError{Text: "x"}).Error(); got != "x" || fmt.Sprint(guard.Channels()) != "[reasoning answer narration]" {
		t.Errorf("%s, %v", got, guard.Channels())
	}
}
