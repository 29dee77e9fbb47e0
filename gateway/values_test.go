package gateway_test

import (
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/gateway"
	"github.com/sotto-llm/sotto/internal/base/effort"
	"github.com/sotto-llm/sotto/record"
)

// peerHeaders are headers that the gateway, net/http or httputil look at.
var peerHeaders = []string{
	"Host", "Origin", "Sec-Fetch-Site", "Authorization", "X-Api-Key", "Cookie", "Content-Encoding", "Content-Type", "Content-Length", "Transfer-Encoding",
	"Connection", "Upgrade", "Sec-Websocket-Protocol", "Expect", "Te", "Trailer", "Accept-Encoding", "X-Http-Method-Override", "Access-Control-Request-Headers",
	"Location", "Etag", "Set-Cookie", "Alt-Svc", "Retry-After", "X-Any",
}

// TestPeerValues gives 60 KB of control characters and a word to every header, of
// the client and of the upstream: no log, metric or record at level off has the
// word, and what is answered in the place of a reply is short and printable.
func TestPeerValues(t *testing.T) {
	value := canary + strings.Repeat("\x1b[31m\r\x00\u202e\xff", 6000) + canary
	chosen := effort.OneIn(5, "headers")
	for _, side := range []string{"client", "upstream", "switching upstream"} {
		for _, name := range peerHeaders {
			for _, path := range []string{"/v1/chat/completions", "/api/chat", "/v1/messages", "/v1/models", "/v1/responses/x", "/queue"} {
				if !chosen() {
					continue
				}
				valuesOf(t, side, name, path, value)
			}
		}
	}
}

func valuesOf(t *testing.T, side, name, path, value string) {
	t.Helper()
	var log journal
	rec, dir := openRecord(t, record.Options{Reasoning: record.Off, Answer: record.Off})
	g := handler(t, gateway.Config{Recorder: rec, Logger: slog.New(slog.NewJSONHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug - 4}))},
		answering(func(*http.Request) *http.Response {
			resp := response("application/json", strings.NewReader(speakers[0].whole("Hi", sotto.EndStopped)))
			switch side {
			case "upstream":
				resp.Header.Set(name, value)
			case "switching upstream":
				resp.StatusCode = http.StatusSwitchingProtocols
				resp.Header.Set("Connection", "Upgrade")
				resp.Header.Set(name, value)
			}
			return resp
		}))
	r := httptest.NewRequest("POST", path, strings.NewReader(`{"model":"m","messages":[]}`))
	r.Host = "localhost"
	switch {
	case side == "client" && name == "Host":
		r.Host = value
	case side == "client":
		r.Header.Set(name, value)
	}
	w := httptest.NewRecorder()
	g.ServeHTTP(w, r)
	m := httptest.NewRecorder()
	q := httptest.NewRequest("GET", "/metrics", nil)
	q.Host = "localhost"
	g.ServeHTTP(m, q)
	where := fmt.Sprintf("%s, %s, %s", side, name, path)
	if strings.Contains(log.String(), canary) || len(log.String()) > 8<<10 {
		t.Errorf("%s: the log has %d bytes: %.300s", where, len(log.String()), log.String())
	}
	if strings.Contains(m.Body.String(), canary) {
		t.Errorf("%s: a metric has the word", where)
	}
	body := strings.TrimSuffix(w.Body.String(), "\n")
	if raw := strings.ContainsFunc(body, func(r rune) bool { return !strconv.IsPrint(r) }); w.Code >= 400 && (raw || len(body) > 4<<10) {
		t.Errorf("%s: %d answers %d bytes: %.300q", where, w.Code, len(body), body)
	}
	if side != "client" && w.Code >= 400 && strings.Contains(body, canary) {
		t.Errorf("%s: %d answers with the upstream's word: %.300q", where, w.Code, body)
	}
	exchanges(t, rec, dir)
	mustLack(t, dir, canary)
}

// TestQuotedValues: one function shows what a peer wrote, and bounds it.
func TestQuotedValues(t *testing.T) {
	for host, want := range map[string]string{
		"evil.example":                        `\"evil.example\"`,
		"a\x1b]0;t\a\u202eb.example":          `\\x1b]0;t\\a\\u202eb.example`,
		strings.Repeat("x", 70) + ".example":  strings.Repeat("x", 64) + `\"... (78 bytes)`,
		strings.Repeat("\u202e", 2) + "\xff.": `\\u202e\\u202e\\xff.`,
	} {
		w, _ := visit{host: host}.call(t, gateway.Config{})
		if !strings.Contains(w.Body.String(), want) || w.Code != http.StatusForbidden {
			t.Errorf("%q: %d %s", host, w.Code, w.Body)
		}
	}
}
