package debugserver

import (
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/sotto-llm/sotto/internal/base/loglevel"
	"github.com/sotto-llm/sotto/internal/net/access"
)

// A request to a debug server, and what must come of it.
type request struct {
	method, path, body string
	header             map[string]string
	want               int
	has                string // in the answer
}

// ask sends a request to a handler, and checks its answer.
func ask(t *testing.T, h http.Handler, q request) string {
	t.Helper()
	r := httptest.NewRequest(q.method, "http://127.0.0.1:6060"+q.path, strings.NewReader(q.body))
	for name, value := range q.header {
		r.Header.Set(name, value)
		if name == "Host" {
			r.Host = value
		}
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	if w.Code != q.want || !strings.Contains(w.Body.String(), q.has) {
		t.Errorf("%s %s %q %v: %d %.200q, want %d %q", q.method, q.path, q.body, q.header, w.Code, w.Body, q.want, q.has)
	}
	return w.Body.String()
}

// server returns a debug server, the level of its log, and its log.
func server(tokens ...access.Token) (http.Handler, *loglevel.Switch, *strings.Builder) {
	out := new(strings.Builder)
	level := loglevel.NewSwitch(slog.LevelInfo)
	log := slog.New(slog.NewTextHandler(out, &slog.HandlerOptions{Level: level}))
	return New(Config{Level: level, Settings: func() []byte { return []byte("listen: 127.0.0.1:8383\n") }, Tokens: tokens, Log: log}), level, out
}

// TestLevel: the level is read, and set by a word. Anything else changes nothing.
func TestLevel(t *testing.T) {
	h, level, out := server()
	ask(t, h, request{method: "GET", path: "/debug/log-level", want: 200, has: "info\n"})
	ask(t, h, request{method: "PUT", path: "/debug/log-level", body: "DEBUG\n", want: 200, has: "debug\n"})
	if level.Level() != slog.LevelDebug || !strings.Contains(out.String(), "from=info to=debug by=/debug/log-level\n") {
		t.Errorf("the level is %v, and the log: %s", level.Level(), out)
	}
	for _, body := range []string{"", "trace", "\x1b[31m", strings.Repeat("x", 65), strings.Repeat("debug ", 1<<20), "debug" + strings.Repeat("x", 100)} {
		answer := ask(t, h, request{method: "PUT", path: "/debug/log-level", body: body, want: 400})
		if strings.Contains(answer, "\x1b") || len(answer) > 1000 {
			t.Errorf("%.200q", answer)
		}
	}
	ask(t, h, request{method: "DELETE", path: "/debug/log-level", want: 405})
	ask(t, h, request{method: "POST", path: "/debug/log-level", body: "warn", want: 405})
	if level.Level() != slog.LevelDebug {
		t.Errorf("the level is %v", level.Level())
	}
}

// TestPaths: the index names the paths that there are, and no other is served.
func TestPaths(t *testing.T) {
	h, _, _ := server()
	text := ask(t, h, request{method: "GET", path: "/debug/", want: 200})
	for line := range strings.Lines(text) {
		if words := strings.Fields(line); words[0] == "GET" {
			ask(t, h, request{method: "GET", path: words[1], want: 200})
		}
	}
	var built struct{ GoVersion string }
	if err := json.Unmarshal([]byte(ask(t, h, request{method: "GET", path: "/debug/build", want: 200})), &built); err != nil || !strings.HasPrefix(built.GoVersion, "go") {
		t.Errorf("%+v %v", built, err)
	}
	ask(t, h, request{method: "GET", path: "/debug/pprof/goroutine?debug=1", want: 200, has: "goroutine profile:"})
	ask(t, h, request{method: "GET", path: "/debug/pprof/heap", want: 200, has: "\x1f\x8b"}) // gzip, as go tool pprof reads it
	for path, want := range map[string]int{"/": 404, "/debug": 307, "/debug/vars": 404, "/metrics": 404, "/v1/models": 404, "/debug/pprof/../build": 400} {
		ask(t, h, request{method: "GET", path: path, want: want})
	}
}

// TestAccess: a page cannot use the server, under any name, and with tokens nobody can
// without one that opens the console.
func TestAccess(t *testing.T) {
	open, level, _ := server()
	for _, header := range []map[string]string{
		{"Origin": "https://evil.example"}, {"Sec-Fetch-Site": "cross-site"}, {"Host": "evil.example"},
	} {
		ask(t, open, request{method: "GET", path: "/debug/pprof/heap", header: header, want: 403})
		ask(t, open, request{method: "PUT", path: "/debug/log-level", body: "error", header: header, want: 403})
	}
	if level.Level() != slog.LevelInfo {
		t.Errorf("a page set the level to %v", level.Level())
	}
	guarded, level, out := server(
		access.Token{Name: "ops", Secret: "s-console", Scopes: []access.Scope{access.Console}},
		access.Token{Name: "app", Secret: "s-models", Scopes: []access.Scope{access.Models}})
	for key, want := range map[string]int{"": 401, "s-wrong": 401, "s-models": 403} {
		for _, path := range []string{"/debug/", "/debug/log-level", "/debug/build", "/debug/pprof/", "/debug/pprof/heap", "/debug/nothing"} {
			ask(t, guarded, request{method: "GET", path: path, header: map[string]string{"Authorization": "Bearer " + key}, want: want})
		}
		ask(t, guarded, request{method: "PUT", path: "/debug/log-level", body: "error", header: map[string]string{"X-Api-Key": key}, want: want})
	}
	if level.Level() != slog.LevelInfo {
		t.Errorf("without a token, the level was set to %v", level.Level())
	}
	ask(t, guarded, request{method: "PUT", path: "/debug/log-level", body: "warn", header: map[string]string{"Authorization": "Bearer s-console"}, want: 200})
	if level.Level() != slog.LevelWarn || !strings.Contains(out.String(), "caller=ops") || strings.Contains(out.String(), "s-console") {
		t.Errorf("the level is %v, and the log: %s", level.Level(), out)
	}
}
