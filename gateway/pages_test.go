package gateway_test

import (
	"bytes"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sotto-llm/sotto/gateway"
)

// preflight is what a browser asks before a page of an origin may send its request.
func preflight(origin string) visit {
	return visit{method: http.MethodOptions, header: header("Origin", origin, "Access-Control-Request-Method", "POST", "Access-Control-Request-Private-Network", "true")}
}

// TestPrivateNetwork: the browser of an allowed page that is on the internet is told
// that it may reach a machine that is not. It is told nothing else, and no one else.
func TestPrivateNetwork(t *testing.T) {
	const name = "Access-Control-Allow-Private-Network"
	allowed := gateway.Config{AllowOrigins: []string{"https://good.example"}}
	if w, _ := preflight("https://good.example").call(t, allowed); w.Code != http.StatusNoContent || w.Header().Get(name) != "true" {
		t.Errorf("%d %v", w.Code, w.Header())
	}
	if w, _ := preflight("https://evil.example").call(t, allowed); w.Code != http.StatusForbidden || w.Header().Get(name) != "" {
		t.Errorf("another page: %d %v", w.Code, w.Header())
	}
	v := preflight("https://good.example")
	v.header.Del("Access-Control-Request-Private-Network")
	if w, _ := v.call(t, allowed); w.Code != http.StatusNoContent || w.Header().Get(name) != "" {
		t.Errorf("not asked: %d %v", w.Code, w.Header())
	}
}

// TestNullOrigin: pages without an origin come in only with a token, since any page
// can make one.
func TestNullOrigin(t *testing.T) {
	open := gateway.Config{Upstream: &url.URL{Scheme: "http", Host: "127.0.0.1"}, AllowOrigins: []string{"null"}}
	if _, err := gateway.New(open); err == nil || !strings.Contains(err.Error(), "allow-origins") || !strings.Contains(err.Error(), "token") {
		t.Errorf("without a token: %v", err)
	}
	guarded := gateway.Config{AllowOrigins: []string{"null"}, Token: "tok"}
	if w, _ := preflight("null").call(t, guarded); w.Code != http.StatusNoContent || w.Header().Get("Access-Control-Allow-Origin") != "null" {
		t.Errorf("preflight: %d %v", w.Code, w.Header())
	}
	if w, reached := (visit{header: header("Origin", "null", "X-Api-Key", "tok")}).call(t, guarded); w.Code != 200 || reached == nil {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	if w, _ := preflight("null").call(t, gateway.Config{Token: "tok"}); w.Code != http.StatusForbidden {
		t.Errorf("not allowed: %d", w.Code)
	}
}

// TestRefusedPagesLogged: the log says which flag would let a page in, once a minute,
// however often the page asks.
func TestRefusedPagesLogged(t *testing.T) {
	for _, c := range []struct {
		public bool
		host   string
		header http.Header
		want   string
	}{
		{false, "localhost", header("Origin", "https://chat.example"), `origin=https://chat.example to_allow="--allow-origin https://chat.example"`},
		{false, "localhost", header("Origin", "null"), `origin=null to_allow="--allow-origin null --token-file FILE"`},
		{false, "evil.example:8383", nil, `host=evil.example:8383 to_allow="--allow-host evil.example"`},
		{true, "evil.example", nil, `host=evil.example to_allow="--allow-host evil.example"`},
		{false, "localhost", header("Sec-Fetch-Site", "cross-site"), `site=cross-site`},
		{false, "localhost", header("Origin", "https://a\x1b[31m.example"), `origin=malformed to_allow=none`},
	} {
		synctest.Test(t, func(t *testing.T) {
			var log bytes.Buffer
			g := handler(t, gateway.Config{Public: c.public, Logger: slog.New(slog.NewTextHandler(&log, nil))}, answering(nil))
			visit := func(times int) {
				for range times {
					r := httptest.NewRequest("POST", "/v1/chat/completions", strings.NewReader("{}"))
					r.Host, r.Header = c.host, c.header.Clone()
					w := httptest.NewRecorder()
					if g.ServeHTTP(w, r); w.Code != http.StatusForbidden {
						t.Fatalf("%d %s", w.Code, w.Body)
					}
				}
			}
			visit(3)
			if got := log.String(); strings.Count(got, "a page is refused") != 1 || !strings.Contains(got, c.want) {
				t.Errorf("%v:\n%s\nwant %s", c.header, got, c.want)
			}
			time.Sleep(time.Minute)
			visit(2)
			if n := strings.Count(log.String(), "a page is refused"); n != 2 {
				t.Errorf("%d lines after a minute", n)
			}
		})
	}
}
