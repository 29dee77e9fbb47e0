package gateway_test

import (
	"bytes"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"strings"
	"testing"

	"github.com/coder/websocket"
	"github.com/tidwall/gjson"

	"github.com/sotto-llm/sotto/gateway"
	"github.com/sotto-llm/sotto/record"
)

// limitedTo is a token with limits.
func limitedTo(m gateway.CallerLimits) []gateway.Token {
	return []gateway.Token{{Name: "alice", Secret: "the-token-of-alice", Limits: m}, {Name: "bob", Secret: "the-token-of-bob"}}
}

// askAs sends a request with a token.
func askAs(g http.Handler, token, method, path, body string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, path, strings.NewReader(body))
	r.Host = "127.0.0.1:8383"
	r.Header.Set("Authorization", "Bearer "+token)
	w := httptest.NewRecorder()
	g.ServeHTTP(w, r)
	return w
}

// TestLimitsOfAllAPIs: on every route of the table, a request beyond the limit gets 429, in
// the API's own form of an error, with the time to wait. Reading does not count, and one
// caller's limit is not another's.
func TestLimitsOfAllAPIs(t *testing.T) {
	kinds := map[string]string{ // by the codec
		"openai": "rate_limit_error", "anthropic": "rate_limit_error", "gemini": "RESOURCE_EXHAUSTED", "bedrock": "ThrottlingException",
	}
	for _, e := range gateway.Endpoints() {
		if e.Kind == "own" || e.Kind == "probe" {
			continue
		}
		method, path := sample(e)
		g := handler(t, gateway.Config{Tokens: limitedTo(gateway.CallerLimits{Requests: 1})}, answering(func(*http.Request) *http.Response {
			return response("application/json", strings.NewReader(`{}`))
		}))
		const body = `{"model":"m","messages":[]}`
		askAs(g, "the-token-of-alice", method, path, body)
		w := askAs(g, "the-token-of-alice", method, path, body)
		if free := method == http.MethodGet || e.Kind == "stored"; free == (w.Code == http.StatusTooManyRequests) {
			t.Errorf("%s %s: the second request gets %d", method, path, w.Code)
			continue
		} else if free {
			continue
		}
		if after, err := strconv.Atoi(w.Header().Get("Retry-After")); err != nil || after < 1 || after > 60 {
			t.Errorf("%s %s: Retry-After: %s", method, path, w.Header().Get("Retry-After"))
		}
		if !gjson.Valid(w.Body.String()) || !strings.Contains(w.Body.String(), `requests a minute: try again in`) {
			t.Errorf("%s %s: %s", method, path, w.Body)
		}
		if e.Codec != nil {
			api, _, _ := strings.Cut(e.Codec.Name(), ".")
			if want := kinds[api]; want != "" && !strings.Contains(w.Body.String()+w.Header().Get("X-Amzn-Errortype"), want) {
				t.Errorf("%s %s: %s", method, path, w.Body)
			}
		}
		if w := askAs(g, "the-token-of-bob", method, path, body); w.Code == http.StatusTooManyRequests {
			t.Errorf("%s %s: another caller gets %d", method, path, w.Code)
		}
	}
}

// TestLimitHeaders: the headers of an API say what is left to the caller, not what is left
// of the gateway's own key.
func TestLimitHeaders(t *testing.T) {
	g := handler(t, gateway.Config{Tokens: limitedTo(gateway.CallerLimits{Requests: 60, Tokens: 6000})}, answering(func(*http.Request) *http.Response {
		resp := response("application/json", strings.NewReader(`{"choices":[{"index":0,"message":{"role":"assistant","content":"Yes."}}],"usage":{"prompt_tokens":1000,"completion_tokens":500}}`))
		resp.Header.Set("X-Ratelimit-Remaining-Requests", "9999")
		resp.Header.Set("Anthropic-Ratelimit-Requests-Remaining", "9999")
		return resp
	}))
	const body = `{"model":"m","messages":[{"role":"user","content":"Is it?"}],"max_tokens":9}`
	askAs(g, "the-token-of-alice", "POST", "/v1/chat/completions", body)
	w := askAs(g, "the-token-of-alice", "POST", "/v1/chat/completions", body)
	for name, want := range map[string]string{
		"X-Ratelimit-Limit-Requests": "60", "X-Ratelimit-Remaining-Requests": "58", "X-Ratelimit-Limit-Tokens": "6000",
	} {
		if got := w.Header().Get(name); got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
	if left, err := strconv.Atoi(w.Header().Get("X-Ratelimit-Remaining-Tokens")); err != nil || left < 4400 || left > 4800 {
		t.Errorf("after 1500 of 6000 tokens: %d, %v", left, err)
	}
	w = askAs(g, "the-token-of-alice", "POST", "/v1/messages", body)
	if got := w.Header().Get("Anthropic-Ratelimit-Requests-Remaining"); got != "57" {
		t.Errorf("the messages API: %s, %s", got, w.Body)
	}
}

// TestTokenLimit: the tokens that the provider counted are charged; without a count, an
// estimate. What the upstream refused costs nothing. The refusals are counted, are not in
// the record, and are once in the log.
func TestTokenLimit(t *testing.T) {
	for _, c := range []struct {
		name, reply string
		status      int
		refused     bool
	}{
		{"counted", `{"choices":[{"index":0,"message":{"content":"Yes."}}],"usage":{"prompt_tokens":70,"completion_tokens":40}}`, 200, true},
		{"little", `{"choices":[{"index":0,"message":{"content":"Yes."}}],"usage":{"prompt_tokens":7,"completion_tokens":4}}`, 200, false},
		{"estimated", `{"choices":[{"index":0,"message":{"content":"` + strings.Repeat("word ", 100) + `"}}]}`, 200, true},
		{"refused by the upstream", `{"error":{"message":"no"}}`, 400, false},
	} {
		var log bytes.Buffer
		kept, dir := openRecord(t, record.Options{})
		g := handler(t, gateway.Config{Tokens: limitedTo(gateway.CallerLimits{Tokens: 100}), Logger: slog.New(slog.NewTextHandler(&log, nil)), Recorder: kept}, answering(func(*http.Request) *http.Response {
			resp := response("application/json", strings.NewReader(c.reply))
			resp.StatusCode = c.status
			return resp
		}))
		ask := func() int {
			return askAs(g, "the-token-of-alice", "POST", "/v1/chat/completions", `{"model":"m","messages":[{"role":"user","content":"Is it?"}]}`).Code
		}
		if got := ask(); got != c.status {
			t.Errorf("%s: %d", c.name, got)
		}
		second, third := ask(), ask()
		if c.refused != (second == http.StatusTooManyRequests) || c.refused != (third == http.StatusTooManyRequests) {
			t.Errorf("%s: then %d and %d", c.name, second, third)
		}
		if !c.refused {
			continue
		}
		if lines := strings.Count(log.String(), "has reached a limit"); lines != 1 {
			t.Errorf("%s: %d lines in the log", c.name, lines)
		}
		text := askAs(g, "the-token-of-bob", "GET", "/metrics", "").Body.String()
		for _, want := range []string{`sotto_caller_limited_total{caller="alice",limit="tokens"} 2`, `sotto_caller_exchanges_total{caller="alice",outcome="answered"} 1`} {
			if !strings.Contains(text, want+"\n") {
				t.Errorf("%s: the metrics lack %s", c.name, want)
			}
		}
		if c.name == "counted" && !strings.Contains(text, `sotto_caller_tokens_total{caller="alice",kind="output",source="provider"} 40`+"\n") {
			t.Errorf("the metrics lack the tokens")
		}
		only(t, kept, dir) // the exchange, and no refusal
	}
}

// TestCallerExchanges: a caller has so many exchanges at the same time; a reload raises that,
// and keeps count.
func TestCallerExchanges(t *testing.T) {
	release, begun := make(chan struct{}), make(chan struct{}, 2)
	config := gateway.Config{Tokens: limitedTo(gateway.CallerLimits{Exchanges: 1})}
	g := handler(t, config, answering(func(*http.Request) *http.Response {
		begun <- struct{}{}
		<-release
		return response("application/json", strings.NewReader(`{"choices":[]}`))
	}))
	ask := func() int {
		return askAs(g, "the-token-of-alice", "POST", "/v1/chat/completions", `{"model":"m","messages":[]}`).Code
	}
	ended := make(chan int, 2)
	go func() { ended <- ask() }()
	<-begun
	if got := ask(); got != http.StatusTooManyRequests {
		t.Errorf("the second: %d", got)
	}
	next := gateway.Config{Upstream: &url.URL{Scheme: "http", Host: "upstream"}, Tokens: limitedTo(gateway.CallerLimits{Exchanges: 2}), Transport: answering(func(*http.Request) *http.Response {
		return response("application/json", strings.NewReader(`{"choices":[]}`))
	})}
	if err := g.Reload(next); err != nil {
		t.Fatal(err)
	}
	go func() { ended <- ask() }()
	if got := <-ended; got != http.StatusOK {
		t.Errorf("after the reload: %d", got)
	}
	close(release)
	if got := <-ended; got != http.StatusOK {
		t.Errorf("the first: %d", got)
	}
}

// TestSocketLimits: each turn of a WebSocket counts, and the next one beyond the limit gets
// the API's event of an error with 429. A token that was taken away ends the connection at
// the next turn.
func TestSocketLimits(t *testing.T) {
	config := gateway.Config{Tokens: limitedTo(gateway.CallerLimits{Requests: 2})}
	transport := answering(func(*http.Request) *http.Response {
		return response("application/json", io.NopCloser(strings.NewReader(`{"id":"r","object":"response","status":"completed","output":[{"type":"message","role":"assistant","content":[{"type":"output_text","text":"Yes."}]}]}`)))
	})
	g := handler(t, config, transport)
	srv := httptest.NewServer(g)
	defer srv.Close()
	for _, token := range []string{"the-token-of-alice", "the-token-of-bob"} {
		c, _, err := connect(t, srv.URL, http.Header{"Authorization": {"Bearer " + token}})
		if err != nil {
			t.Fatal(err)
		}
		for turn := range 3 {
			c.create(fmt.Sprintf(`"input":"question %d"`, turn))
			event := c.hear()
			limited := event.Get("type").Str == "error" && event.Get("status").Int() == http.StatusTooManyRequests &&
				event.Get("error.code").Str == "rate_limit_exceeded"
			if want := turn == 2 && token == "the-token-of-alice"; limited != want {
				t.Errorf("%s, turn %d: %s", token, turn, event)
			}
		}
		if token == "the-token-of-bob" {
			next := gateway.Config{Upstream: &url.URL{Scheme: "http", Host: "upstream"}, Tokens: limitedTo(gateway.CallerLimits{})[:1], Transport: transport}
			if err := g.Reload(next); err != nil {
				t.Fatal(err)
			}
			c.create(`"input":"one more"`)
			if event := c.hear(); event.Get("type").Str != "error" {
				t.Errorf("a turn with a token that was taken away: %s", event)
			}
			if code := c.closed(); code != websocket.StatusPolicyViolation {
				t.Errorf("the connection closes with %d", code)
			}
		}
	}
}
