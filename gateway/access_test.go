package gateway_test

import (
	"bufio"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/sotto-llm/sotto/gateway"
)

// A visit is a request to the gateway, and what came of it.
type visit struct {
	method, path, host string
	header             http.Header
	body               string // a request of chat completions, if it is empty
}

// call makes a visit to a gateway whose upstream notes what reaches it.
func (v visit) call(t *testing.T, c gateway.Config) (w *httptest.ResponseRecorder, reached *http.Request) {
	t.Helper()
	g := handler(t, c, answering(func(r *http.Request) *http.Response {
		reached = r
		resp := response("application/json", strings.NewReader(`{}`))
		resp.Header.Set("Access-Control-Allow-Origin", "*")
		resp.Header.Set("Access-Control-Allow-Credentials", "true")
		resp.Header.Set("Connection", "X-Hop")
		resp.Header.Set("X-Hop", "1")
		return resp
	}))
	method := v.method
	if method == "" {
		method = "POST"
	}
	path := v.path
	if path == "" {
		path = "/v1/chat/completions"
	}
	body := v.body
	if body == "" {
		body = `{"model":"m","messages":[]}`
	}
	r := httptest.NewRequest(method, path, strings.NewReader(body))
	r.Host = "127.0.0.1:8383"
	if v.host != "" {
		r.Host = v.host
	}
	for k, l := range v.header {
		r.Header[k] = l
	}
	w = httptest.NewRecorder()
	g.ServeHTTP(w, r)
	return w, reached
}

func header(pairs ...string) http.Header {
	h := http.Header{}
	for i := 0; i < len(pairs); i += 2 {
		h.Add(pairs[i], pairs[i+1])
	}
	return h
}

// TestForeignPages: a page of another site is refused, and no request of it reaches
// the upstream, whatever the API.
func TestForeignPages(t *testing.T) {
	for _, h := range []http.Header{
		header("Origin", "https://evil.example"),
		header("Origin", "null"),
		header("Origin", "http://127.0.0.1:9999"),
		header("Origin", "http://localhost.evil.example:8383"),
		header("Origin", "http://127.0.0.1:8383.evil.example"),
		header("Origin", "http://127.0.0.1:8383@evil.example"),
		header("Origin", "file://"),
		header("Sec-Fetch-Site", "cross-site"),
		header("Sec-Fetch-Site", "same-site"),
	} {
		for _, path := range []string{"/v1/chat/completions", "/api/delete", "/metrics", "/v1/models", "/v1/messages", "/api/chat"} {
			for _, method := range []string{"POST", "GET", "DELETE", "OPTIONS"} {
				w, reached := visit{method: method, path: path, header: h}.call(t, gateway.Config{AllowOrigins: []string{"https://good.example"}, UpstreamKey: "sk-canary"})
				if w.Code != http.StatusForbidden || reached != nil || w.Header().Get("Access-Control-Allow-Origin") != "" {
					t.Errorf("%s %s %v: %d, reached %v", method, path, h, w.Code, reached != nil)
				}
				if !strings.Contains(w.Body.String(), `"error"`) {
					t.Errorf("%s", w.Body)
				}
			}
		}
	}
}

// TestAllowedPages: an origin that is allowed comes in, and its browser is told
// so once, whatever the upstream says of origins.
func TestAllowedPages(t *testing.T) {
	allowed := gateway.Config{AllowOrigins: []string{"https://good.example"}}
	for _, c := range []gateway.Config{allowed, {AllowOrigins: []string{"*"}}} {
		w, reached := visit{header: header("Origin", "https://good.example", "Sec-Fetch-Site", "cross-site", "Referer", "https://good.example/x")}.call(t, c)
		if w.Code != 200 || reached == nil {
			t.Fatalf("%d %s", w.Code, w.Body)
		}
		if got := w.Header()["Access-Control-Allow-Origin"]; len(got) != 1 || got[0] != "https://good.example" {
			t.Errorf("allowed %q", got)
		}
		if w.Header().Get("Access-Control-Allow-Credentials") != "" || w.Header().Get("Vary") != "Origin" {
			t.Errorf("headers %v", w.Header())
		}
		for _, name := range []string{"Origin", "Referer", "Sec-Fetch-Site"} {
			if reached.Header.Get(name) != "" {
				t.Errorf("the upstream got %s", name)
			}
		}
		w, reached = visit{method: "OPTIONS", header: header("Origin", "https://good.example", "Access-Control-Request-Method", "POST", "Access-Control-Request-Headers", "authorization, x-api-key")}.call(t, c)
		if w.Code != http.StatusNoContent || reached != nil || w.Header().Get("Access-Control-Allow-Headers") != "authorization, x-api-key" || !strings.Contains(w.Header().Get("Access-Control-Allow-Methods"), "POST") {
			t.Errorf("preflight: %d %v", w.Code, w.Header())
		}
	}
	// The gateway's own pages need no leave, and no one else learns of it.
	w, reached := visit{header: header("Origin", "http://127.0.0.1:8383")}.call(t, gateway.Config{})
	if w.Code != 200 || reached == nil || w.Header().Get("Access-Control-Allow-Origin") != "" {
		t.Errorf("own origin: %d %v", w.Code, w.Header())
	}
	// A preflight has no token.
	allowed.Token = "tok"
	w, _ = visit{method: "OPTIONS", header: header("Origin", "https://good.example", "Access-Control-Request-Method", "POST")}.call(t, allowed)
	if w.Code != http.StatusNoContent {
		t.Errorf("preflight before a token: %d", w.Code)
	}
}

// TestPreflightKept: a page may delete what the gateway keeps, by the client of OpenAI in a browser. It gets no other method on
// other routes, and a page that is not allowed gets none.
func TestPreflightKept(t *testing.T) {
	const usual, more = "GET, POST, OPTIONS", "GET, POST, OPTIONS, DELETE"
	for path, want := range map[string]string{
		"/v1/responses/resp_1": more, "/responses/resp_1": more, "/v1/conversations/conv_1": more, "/v1/conversations/conv_1/items/msg_1": more,
		"/v1/responses": usual, "/v1/responses/resp_1/cancel": usual, "/v1/conversations": usual, "/v1/conversations/conv_1/items": usual,
		"/api/delete": usual, "/v1/models/m": usual, "/v1/files/f": usual, "/v1/threads/t": usual, "/unknown": usual,
		"/v1/Responses/resp_1": usual, "/v1/responses%2fresp_1": usual,
	} {
		allowed := gateway.Config{AllowOrigins: []string{"https://good.example"}}
		for origin, want := range map[string]string{"https://good.example": want, "https://evil.example": ""} {
			w, reached := visit{method: "OPTIONS", path: path, header: header("Origin", origin, "Access-Control-Request-Method", "DELETE")}.call(t, allowed)
			if got := w.Header().Get("Access-Control-Allow-Methods"); got != want || reached != nil {
				t.Errorf("%s from %s: a page may use %q, want %q", path, origin, got, want)
			}
		}
	}
}

// TestHost: a name that was made to resolve to this machine is not it.
func TestHost(t *testing.T) {
	for host, ok := range map[string]bool{
		"127.0.0.1:8383": true, "localhost": true, "LOCALHOST:80": true, "[::1]:8383": true, "[::1]": true, "localhost.": true,
		"127.9.9.9": true, "app.localhost:8383": true, "[::ffff:127.0.0.1]:1": true,
		"evil.example": false, "evil.example:8383": false, "127.0.0.1.evil.example": false, "localhost.evil.example": false,
		"0.0.0.0:8383": false, "192.168.1.7": false, "127.0.0.1@evil.example": false, "evillocalhost": false, "[::]:8383": false,
	} {
		w, reached := visit{host: host}.call(t, gateway.Config{})
		if (w.Code == 200) != ok || (reached != nil) != ok {
			t.Errorf("%s: %d", host, w.Code)
		}
		if w, _ := (visit{host: host, header: header("X-Api-Key", "tok")}).call(t, gateway.Config{Public: true, Token: "tok"}); w.Code != 200 {
			t.Errorf("public with a token, %s: %d", host, w.Code)
		}
	}
}

// TestToken: it is taken in each of the ways that clients send keys, wrong ones
// are refused in the provider's words, and it goes no further.
func TestToken(t *testing.T) {
	const token, own = "tok-canary", "sk-own"
	ways := []visit{
		{header: header("Authorization", "Bearer "+token)},
		{header: header("Authorization", "bearer "+token)},
		{header: header("X-Api-Key", token)},
		{header: header("Api-Key", token)},
		{header: header("X-Goog-Api-Key", token)},
		{path: "/v1beta/models/m:generateContent?key=" + token + "&a=b%20c"},
	}
	for _, v := range ways {
		for _, key := range []string{"", own} {
			w, reached := v.call(t, gateway.Config{Token: token, UpstreamKey: key})
			if w.Code != 200 {
				t.Fatalf("%v %s: %d %s", v.header, v.path, w.Code, w.Body)
			}
			var b strings.Builder
			reached.Header.Write(&b)
			b.WriteString(reached.URL.String())
			if strings.Contains(b.String(), token) {
				t.Errorf("the upstream got the token: %s", b.String())
			}
			if got := strings.Contains(b.String(), own); got != (key != "") {
				t.Errorf("the upstream's key came: %v: %s", got, b.String())
			}
			if v.path != "" && reached.URL.Query().Get("a") != "b c" {
				t.Errorf("query %s", reached.URL.RawQuery)
			}
		}
	}
	for _, v := range []visit{
		{}, {header: header("Authorization", "Bearer tok")}, {header: header("Authorization", token+"x")}, {header: header("Authorization", "Basic "+token)},
		{header: header("X-Api-Key", "")}, {path: "/v1/messages?key=x"}, {path: "/v1/chat/completions?key=" + token}, {path: "/v1/chat/completions?token=" + token}, {header: header("Cookie", "key="+token)},
		{method: "GET", path: "/v1/models"}, {method: "GET", path: "/metrics"}, {method: "GET", path: "/metrics?key=" + token}, {method: "GET", path: "/v1/models?key=" + token}, {path: "/v1/responses?key=" + token}, {path: "/a/path?key=" + token}, {method: "POST", path: "/healthz"},
	} {
		w, reached := v.call(t, gateway.Config{Token: token})
		if w.Code != http.StatusUnauthorized || reached != nil || w.Header().Get("WWW-Authenticate") == "" {
			t.Errorf("%v %s: %d", v.header, v.path, w.Code)
		}
		if !strings.Contains(w.Body.String(), "authentication_error") {
			t.Errorf("%s", w.Body)
		}
		if strings.Contains(w.Body.String(), token) {
			t.Errorf("the answer tells the token: %s", w.Body)
		}
	}
	for _, path := range []string{"/healthz", "/readyz"} {
		if w, _ := (visit{method: "GET", path: path}).call(t, gateway.Config{Token: token}); w.Code != 200 {
			t.Errorf("%s: %d", path, w.Code)
		}
	}
}

// TestUpstreamKey is sent as the API wants it, in the place of whatever keys the
// client sent.
func TestUpstreamKey(t *testing.T) {
	mine := header("Authorization", "Bearer client", "X-Api-Key", "client", "Api-Key", "client", "Cookie", "s=client", "Proxy-Authorization", "Basic client")
	for _, test := range []struct {
		path      string
		header    http.Header
		anthropic bool
	}{
		{"/v1/chat/completions?key=client", header("Authorization", "Bearer client", "Cookie", "s=client"), false},
		{"/api/chat", nil, false},
		{"/v1/messages", header("Authorization", "Bearer client"), true},
		{"/v1/messages?beta=true&key=client", mine, true},
		{"/v1/messages/count_tokens", header("Authorization", "Bearer client"), true},
		{"/v1/models", header("X-Api-Key", "client"), true},
	} {
		_, reached := visit{path: test.path, header: test.header}.call(t, gateway.Config{UpstreamKey: "sk-own"})
		if reached == nil {
			t.Fatalf("%s: not reached", test.path)
		}
		want := header("Authorization", "Bearer sk-own")
		if test.anthropic {
			want = header("X-Api-Key", "sk-own")
		}
		for _, name := range []string{"Authorization", "X-Api-Key", "Api-Key", "Cookie", "Proxy-Authorization"} {
			if got := reached.Header.Get(name); got != want.Get(name) {
				t.Errorf("%s: %s is %q, want %q", test.path, name, got, want.Get(name))
			}
		}
		if strings.Contains(reached.URL.RawQuery, "client") {
			t.Errorf("query %s", reached.URL.RawQuery)
		}
	}
	// Without a key or token of its own it changes none.
	_, reached := visit{path: "/v1/chat/completions?key=client", header: mine}.call(t, gateway.Config{})
	for _, name := range []string{"Authorization", "X-Api-Key", "Api-Key", "Cookie"} {
		if reached.Header.Get(name) != mine.Get(name) {
			t.Errorf("%s is %q", name, reached.Header.Get(name))
		}
	}
	if reached.URL.RawQuery != "key=client" {
		t.Errorf("query %s", reached.URL.RawQuery)
	}
}

// TestPublic: what other machines can reach are the routes of models.
func TestPublic(t *testing.T) {
	for _, test := range []struct {
		method, path string
		ok           bool
	}{
		{"POST", "/v1/chat/completions", true}, {"POST", "/api/generate", true}, {"GET", "/v1/models", true}, {"HEAD", "/v1/models", true},
		{"GET", "/v1/models/meta/llama", true}, {"GET", "/api/tags", true}, {"POST", "/api/show", true}, {"POST", "/v1/embeddings", true},
		{"POST", "/v1/messages/count_tokens", true},
		{"DELETE", "/api/delete", false}, {"POST", "/api/pull", false}, {"POST", "/api/create", false}, {"POST", "/api/copy", false},
		{"POST", "/api/push", false}, {"GET", "/slots", false}, {"GET", "/props", false}, {"GET", "/", true}, {"HEAD", "/", true}, {"POST", "/", false}, {"DELETE", "/v1/models/x", false},
		{"POST", "/v1/models/x", false}, {"GET", "/v1/chat/completions", false}, {"PUT", "/v1/chat/completions", false},
		{"GET", "/v1/models/../../slots", false}, {"GET", "/v1/models/%2e%2e/%2e%2e/slots", false}, {"GET", "/v1/models/..%2f..%2fslots", false},
		{"GET", "/slots/../v1/models", false}, {"POST", "/api/pull/../show", false},
	} {
		w, reached := visit{method: test.method, path: test.path, host: "gw.example"}.call(t, gateway.Config{Public: true, AllowHosts: []string{"gw.example"}})
		if (reached != nil) != test.ok {
			t.Errorf("%s %s: %d", test.method, test.path, w.Code)
		}
		if strings.Contains(test.path, "..") || strings.Contains(test.path, "%2e") {
			continue // no mode passes it
		}
		if w, reached = (visit{method: test.method, path: test.path, host: "gw.example", header: header("X-Api-Key", "tok")}).call(t, gateway.Config{Public: true, PassAll: true, Token: "tok", AllowHosts: []string{"gw.example"}}); reached == nil {
			t.Errorf("pass all, %s %s: %d", test.method, test.path, w.Code)
		}
		if _, reached = (visit{method: test.method, path: test.path}).call(t, gateway.Config{}); reached == nil {
			t.Errorf("on loopback, %s %s: not reached", test.method, test.path)
		}
	}
}

// TestHopByHop: headers of one connection stay on it, both ways.
func TestHopByHop(t *testing.T) {
	w, reached := visit{header: header("Connection", "X-Mine, keep-alive", "X-Mine", "1", "Keep-Alive", "5", "Te", "trailers", "Upgrade", "h2c",
		"Proxy-Connection", "x", "Expect", "100-continue", "X-Forwarded-For", "6.6.6.6", "Forwarded", "for=6.6.6.6", "Accept-Encoding", "br", "X-Kept", "1")}.call(t, gateway.Config{})
	for _, name := range []string{"Connection", "X-Mine", "Keep-Alive", "Upgrade", "Proxy-Connection", "Expect", "X-Forwarded-For", "Forwarded"} {
		if got := reached.Header.Get(name); got != "" {
			t.Errorf("%s: %q", name, got)
		}
	}
	if reached.Header.Get("X-Kept") != "1" || reached.Header.Get("Accept-Encoding") != "identity" || reached.Host != "upstream" {
		t.Errorf("%v, host %s", reached.Header, reached.Host)
	}
	if w.Header().Get("X-Hop") != "" {
		t.Errorf("the upstream's hop-by-hop header came through")
	}
}

// TestUpstreamIsFixed: no request chooses another server.
func TestUpstreamIsFixed(t *testing.T) {
	hit := false
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { hit = true }))
	t.Cleanup(other.Close)
	base := start(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, `{"ok":true}`) }), gateway.Config{})
	at, _ := url.Parse(base)
	elsewhere, _ := url.Parse(other.URL)
	for _, line := range []string{
		"GET " + other.URL + "/v1/models HTTP/1.1\r\nHost: localhost\r\n",
		"GET //" + elsewhere.Host + "/v1/models HTTP/1.1\r\nHost: localhost\r\n",
		"POST @" + elsewhere.Host + "/v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n",
		"CONNECT " + elsewhere.Host + " HTTP/1.1\r\nHost: localhost\r\n",
	} {
		c, err := dial(at.Host)
		if err != nil {
			t.Fatal(err)
		}
		io.WriteString(c, line+"Connection: close\r\n\r\n")
		if resp, err := http.ReadResponse(bufio.NewReader(c), nil); err == nil {
			io.Copy(io.Discard, resp.Body)
			resp.Body.Close()
		}
		c.Close()
	}
	if hit {
		t.Error("another server was reached")
	}
}
