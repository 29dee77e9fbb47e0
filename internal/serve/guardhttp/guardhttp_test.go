package guardhttp_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tidwall/gjson"

	"github.com/sotto-llm/sotto/gateway/guard"
	"github.com/sotto-llm/sotto/internal/serve/guardhttp"
)

// guardOf returns a guard that asks a handler.
func guardOf(t *testing.T, token string, h http.HandlerFunc) *guardhttp.Guard {
	t.Helper()
	server := httptest.NewServer(h)
	t.Cleanup(server.Close)
	u, err := guardhttp.ParseURL(server.URL + "/judge")
	if err != nil {
		t.Fatal(err)
	}
	return guardhttp.New(u, token)
}

// TestRequest: the server gets each member of the piece, by POST, with the token.
func TestRequest(t *testing.T) {
	var head http.Header
	var line, body string
	g := guardOf(t, "s3cret", func(w http.ResponseWriter, r *http.Request) {
		data, _ := io.ReadAll(r.Body)
		head, line, body = r.Header, r.Method+" "+r.URL.Path, string(data)
		fmt.Fprint(w, `{"action":"cut","reason":"a name","unknown":[1]}`)
	})
	v, err := g.Judge(t.Context(), guard.Piece{
		Exchange: "x1", API: "openai.chat", Model: "m", Caller: "alice", Streamed: true, Choice: 2, Channel: guard.Answer,
		Before: "<b>", Text: "é\"\xff", Offset: 7, Last: true,
	})
	if err != nil || v != (guard.Verdict{Action: guard.Cut, Reason: "a name"}) {
		t.Errorf("%+v, %v", v, err)
	}
	const want = `{"v":1,"exchange":"x1","api":"openai.chat","model":"m","caller":"alice","streamed":true,"choice":2,"channel":"answer","offset":7,"last":true,"before":"\u003cb\u003e","text":"é\"\ufffd"}`
	if line != "POST /judge" || body != want {
		t.Errorf("%s\n%s\nwant:\n%s", line, body, want)
	}
	if head.Get("Authorization") != "Bearer s3cret" || head.Get("Content-Type") != "application/json" || head.Values("Idempotency-Key") != nil {
		t.Errorf("%v", head)
	}
}

// TestURL: only http and https, and no secrets.
func TestURL(t *testing.T) {
	for text, want := range map[string]string{
		"http://localhost:9000":           "",
		"https://guard.example/judge":     "",
		"ftp://guard.example":             "want a URL",
		"guard.example":                   "want a URL",
		"http://":                         "want a URL",
		"file:///etc/passwd":              "want a URL",
		"http://u:hunter2@guard.example":  "user name or password",
		"http://guard.example/?k=hunter2": "query",
		"http://guard.example/#hunter2":   "fragment",
	} {
		_, err := guardhttp.ParseURL(text)
		switch {
		case (err == nil) != (want == ""), err != nil && !strings.Contains(err.Error(), want), err != nil && strings.Contains(err.Error(), "hunter2"):
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}

// TestHostile: whatever else a server answers is no decision, and costs little. What it
// wrote is not in the error, except for a few bytes of an action.
func TestHostile(t *testing.T) {
	elsewhere := false
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { elsewhere = true }))
	defer other.Close()
	says := func(text string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, text) }
	}
	endless := func(kind, begin string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", kind)
			fmt.Fprint(w, begin)
			for part := strings.Repeat("canary ", 1<<10); r.Context().Err() == nil; {
				if _, err := io.WriteString(w, part); err != nil {
					return
				}
			}
		}
	}
	for name, tt := range map[string]struct {
		serve http.HandlerFunc
		want  string
	}{
		"endless":        {endless("application/json", `{"action":"pass","reason":"`), "longer than 65536 bytes"},
		"endless event":  {endless("text/event-stream", "data: "), "longer than 65536 bytes"},
		"deep":           {says(`{"action":"pass","x":` + strings.Repeat("[", 20) + strings.Repeat("]", 20) + `}`), "nests deeper than 16 levels"},
		"crowded":        {says(`{"action":"pass","x":[` + strings.Repeat("0,", 5000) + `0]}`), "more than 1000 members"},
		"malformed":      {says(`{"action":"pass"`), "the guard's response"},
		"empty":          {says(""), "the guard's response"},
		"a list":         {says(`["pass"]`), "is not an object"},
		"no action":      {says(`{"reason":"canary"}`), "no action"},
		"action no text": {says(`{"action":true}`), "action is not a text"},
		"null action":    {says(`{"action":null}`), "action is not a text"},
		"reason no text": {says(`{"action":"pass","reason":{"canary":1}}`), "reason is not a text"},
		"two actions":    {says(`{"action":"end","action":"pass"}`), "action twice"},
		"a redirect": {func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, other.URL, http.StatusTemporaryRedirect)
		}, "redirects are not followed"},
		"a status":          {func(w http.ResponseWriter, _ *http.Request) { http.Error(w, `{"action":"pass"}`, 500) }, "status 500: want 200"},
		"no content":        {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) }, "status 204: want 200"},
		"a large header":    {func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("X", strings.Repeat("canary", 1<<14)) }, "header"},
		"a broken response": {func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, "EOF"},
	} {
		t.Run(name, func(t *testing.T) {
			g := guardOf(t, "s3cret", tt.serve)
			v, err := g.Judge(t.Context(), guard.Piece{Text: "canary"})
			if err == nil || v != (guard.Verdict{}) || !strings.Contains(err.Error(), tt.want) {
				t.Fatalf("%+v, %v, want %q", v, err, tt.want)
			}
			if s := err.Error(); strings.Contains(s, "canary") || strings.Contains(s, "s3cret") || len(s) > 200 {
				t.Errorf("the error: %s", s)
			}
		})
	}
	if elsewhere {
		t.Error("a redirect was followed")
	}
}

// TestTime: a server that does not answer, or never finishes, holds a call until its
// time is over, and no longer.
func TestTime(t *testing.T) {
	for name, begins := range map[string]bool{"silent": false, "slow": true} {
		g := guardOf(t, "", func(w http.ResponseWriter, r *http.Request) {
			if begins {
				fmt.Fprint(w, `{"action":`)
				_ = http.NewResponseController(w).Flush()
			}
			_, _ = io.Copy(io.Discard, r.Body) // else the server does not see that the client is gone
			<-r.Context().Done()
		})
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
		defer cancel()
		if v, err := g.Judge(ctx, guard.Piece{}); err == nil {
			t.Errorf("%s: %+v", name, v)
		}
	}
}

// TestCalls: no more calls are under way than 64. Those that wait leave when their time
// is over, and the connections are used again.
func TestCalls(t *testing.T) {
	var running, most, connections atomic.Int64
	release := make(chan struct{})
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		n := running.Add(1)
		defer running.Add(-1)
		for old := most.Load(); n > old && !most.CompareAndSwap(old, n); old = most.Load() {
		}
		<-release
		fmt.Fprint(w, `{"action":"pass"}`)
	}))
	server.Listener = &guardhttp.Counted{Listener: server.Listener, N: &connections}
	server.Start()
	defer server.Close()
	u, _ := url.Parse(server.URL)
	g := guardhttp.New(u, "")
	done := make(chan error)
	const calls = 200
	for range calls {
		go func() {
			_, err := g.Judge(t.Context(), guard.Piece{})
			done <- err
		}()
	}
	for running.Load() < 64 {
		time.Sleep(time.Millisecond)
	}
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := g.Judge(gone, guard.Piece{}); err == nil || !strings.Contains(err.Error(), "64 calls of the guard are under way") {
		t.Errorf("a call beyond the bound: %v", err)
	}
	close(release)
	for range calls {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
	if most.Load() != 64 || connections.Load() != 64 {
		t.Errorf("%d calls at once, %d connections", most.Load(), connections.Load())
	}
}

// FuzzVerdict: a response is one of the documented verdicts, or an error.
func FuzzVerdict(f *testing.F) {
	for _, s := range []string{`{"action":"pass"}`, `{"action":"end","reason":"x"}`, `{"action":1}`, `[]`, `{"a\u0063tion":"cut"}`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		v, err := guardhttp.Verdict(data)
		if err == nil && !gjson.GetBytes(data, "action").Exists() && !strings.Contains(string(data), `\`) {
			t.Errorf("%q: %+v", data, v)
		}
		if err != nil && v != (guard.Verdict{}) {
			t.Errorf("%q: %+v, %v", data, v, err)
		}
	})
}
