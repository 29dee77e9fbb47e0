package gateway_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sotto-llm/sotto/gateway"
)

// talk sends a request over a connection of its own, and returns the answer and
// what may follow it.
func talk(t *testing.T, base, request string) (*http.Response, net.Conn, *bufio.Reader) {
	t.Helper()
	at, err := url.Parse(base)
	if err != nil {
		t.Fatal(err)
	}
	c, err := net.Dial("tcp", at.Host)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	c.SetDeadline(time.Now().Add(time.Minute))
	io.WriteString(c, request)
	r := bufio.NewReader(c)
	resp, err := http.ReadResponse(r, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { resp.Body.Close() })
	return resp, c, r
}

const askH2C = "Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQCAAAAAAIAAAAA\r\n\r\n"

// unencrypted is HTTP/2 without TLS.
func unencrypted() *http.Protocols {
	p := &http.Protocols{}
	p.SetUnencryptedHTTP2(true)
	return p
}

// speaksH2C is an upstream that switches to HTTP/2 where it is asked to, and notes
// what it hears then.
func speaksH2C(t *testing.T, heard *atomic.Int64) string {
	conns := make(handed, 16)
	tunnelled := &http.Server{Protocols: unencrypted(), Handler: http.HandlerFunc(func(http.ResponseWriter, *http.Request) { heard.Add(1) })}
	go tunnelled.Serve(conns)
	up := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Upgrade") != "h2c" {
			fmt.Fprintf(w, `{"proto":%q}`, r.Proto)
			return
		}
		c, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		io.WriteString(c, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n\r\n")
		conns <- c
	}))
	t.Cleanup(func() { up.Close(); tunnelled.Close() })
	return up.URL
}

// handed is a listener of connections that are handed to it.
type handed chan net.Conn

func (h handed) Accept() (net.Conn, error) {
	c, ok := <-h
	if !ok {
		return nil, net.ErrClosed
	}
	return c, nil
}
func (h handed) Close() error   { defer func() { recover() }(); close(h); return nil }
func (h handed) Addr() net.Addr { return &net.TCPAddr{} }

// TestH2C has an upstream that speaks HTTP/2 without TLS to whoever asks. It does
// to the test, and not through the gateway, on no route and in no mode.
func TestH2C(t *testing.T) {
	var heard atomic.Int64
	up := speaksH2C(t, &heard)
	resp, c, _ := talk(t, up, "GET /v1/models HTTP/1.1\r\nHost: localhost\r\n"+askH2C)
	inside := &http.Transport{Protocols: unencrypted(), DialContext: func(context.Context, string, string) (net.Conn, error) { return c, nil }}
	defer inside.CloseIdleConnections()
	deletes, _ := http.NewRequest("DELETE", up+"/api/delete", nil)
	if gone, err := inside.RoundTrip(deletes); resp.StatusCode != http.StatusSwitchingProtocols || err != nil || heard.Load() != 1 {
		t.Fatalf("the upstream itself: %s, %v, %v", resp.Status, gone, err)
	}
	for _, c := range []gateway.Config{{}, {Public: true}, {Public: true, PassAll: true}, {Public: true, Token: "tok"}} {
		base := before(t, up, c)
		for _, line := range []string{"GET /v1/models", "GET /api/tags", "POST /v1/chat/completions", "GET /v1/responses"} {
			resp, _, _ := talk(t, base, line+" HTTP/1.1\r\nHost: localhost\r\nX-Api-Key: tok\r\n"+askH2C)
			body, _ := io.ReadAll(resp.Body)
			if resp.StatusCode == http.StatusSwitchingProtocols || strings.Contains(string(body), "h2c") || strings.Contains(string(body), "HTTP/2") {
				t.Errorf("%s, public %v: %s %s", line, c.Public, resp.Status, body)
			}
			if line == "GET /v1/models" && resp.StatusCode != http.StatusOK {
				t.Errorf("%s is not served without the upgrade: %s %s", line, resp.Status, body)
			}
		}
	}
	if heard.Load() != 1 {
		t.Error("something was tunnelled")
	}
}

// switching is an upstream that switches to a protocol, asked or not, and then
// says what it hears.
func switching(t *testing.T, protocol string) string {
	up := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c, both, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		defer c.Close()
		c.SetDeadline(time.Now().Add(time.Minute))
		fmt.Fprintf(c, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\n%s\r\n", protocol)
		line, _ := both.ReadString('\n')
		io.WriteString(c, "heard "+line)
	}))
	t.Cleanup(up.Close)
	return up.URL
}

const askWebSocket = " HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"

// TestWebSocket: a WebSocket that brings no model's text goes through on this
// machine, both ways.
func TestWebSocket(t *testing.T) {
	base := before(t, switching(t, "Upgrade: websocket\r\n"), gateway.Config{})
	resp, c, r := talk(t, base, "GET /queue"+askWebSocket)
	if resp.StatusCode != http.StatusSwitchingProtocols || resp.Header.Get("Upgrade") != "websocket" {
		t.Fatalf("%s %v", resp.Status, resp.Header)
	}
	io.WriteString(c, "ping\n")
	if line, err := r.ReadString('\n'); line != "heard ping\n" {
		t.Errorf("%q, %v", line, err)
	}
	for _, route := range []string{"GET /v1/chat/completions", "GET /v1/realtime", "POST /v1/responses", "GET /v1/responses/resp_1"} {
		resp, _, _ = talk(t, base, route+askWebSocket)
		if resp.StatusCode != http.StatusUpgradeRequired || resp.Header.Get("Upgrade") == "" {
			t.Errorf("%s: %s %v", route, resp.Status, resp.Header)
		}
	}
}

// TestUnaskedSwitch: an upstream that switches to what it was not asked for gets no
// connection to the client, and its words are not in the answer.
func TestUnaskedSwitch(t *testing.T) {
	for _, protocol := range []string{"", "Upgrade: h2c\r\n", "Upgrade: " + canary + "\r\n", "Upgrade: websocket\r\nUpgrade: h2c\r\n"} {
		base := before(t, switching(t, protocol), gateway.Config{})
		for _, request := range []string{
			"GET /v1/models HTTP/1.1\r\nHost: localhost\r\n\r\n", "GET /v1/models HTTP/1.1\r\nHost: localhost\r\n" + askH2C,
			"POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\n\r\n{}", "GET /queue" + askWebSocket,
		} {
			resp, _, _ := talk(t, base, request)
			body, _ := io.ReadAll(resp.Body)
			if resp.StatusCode != http.StatusBadGateway || strings.Contains(string(body), canary) {
				t.Errorf("%q, %q: %s %s", protocol, request, resp.Status, body)
			}
		}
	}
}

// TestWebSocketKey: the token in a WebSocket's list of protocols is taken, and does
// not go on; nor does a client's key where the gateway has its own.
func TestWebSocketKey(t *testing.T) {
	list := "realtime, openai-insecure-api-key.tok-canary , openai-beta.v1"
	h := header("Connection", "Upgrade", "Upgrade", "websocket", "Sec-Websocket-Protocol", list)
	for _, c := range []gateway.Config{{Token: "tok-canary"}, {Token: "tok-canary", UpstreamKey: "sk-own"}, {UpstreamKey: "sk-own"}} {
		w, reached := visit{method: "GET", path: "/queue", header: h.Clone()}.call(t, c)
		if reached == nil || reached.Header.Get("Sec-Websocket-Protocol") != "realtime, openai-beta.v1" {
			t.Errorf("%d, %v", w.Code, reached)
		}
	}
	w, reached := visit{method: "GET", path: "/queue", header: h.Clone()}.call(t, gateway.Config{Token: "other"})
	if w.Code != http.StatusUnauthorized || reached != nil || strings.Contains(w.Body.String(), "canary") {
		t.Errorf("another token: %d %s", w.Code, w.Body)
	}
	if _, reached = (visit{method: "GET", path: "/queue", header: h.Clone()}).call(t, gateway.Config{}); reached == nil || reached.Header.Get("Sec-Websocket-Protocol") != list {
		t.Errorf("without a key of the gateway the client's goes on: %v", reached)
	}
}

// TestTokenStaysHere: the token goes on in no header and no parameter, whatever its
// name.
func TestTokenStaysHere(t *testing.T) {
	const token = "tok-canary"
	h := header("Authorization", "Bearer "+token, "X-Auth-Token", token, "X-Litellm-Key", "Bearer "+token, "Cookie", "a="+token, "Subscription", `key="`+token+`"`, "X-Kept", "1")
	h["X_Api_Key"] = []string{token}
	_, reached := visit{path: "/v1/chat/completions?access_token=" + token + "&api_key=x&Key=" + token + "&odd=" + token + "&a=1", header: h}.call(t, gateway.Config{Token: token})
	if reached == nil || reached.URL.RawQuery != "a=1" || reached.Header.Get("X-Kept") != "1" {
		t.Fatalf("%v", reached)
	}
	var b strings.Builder
	reached.Header.Write(&b)
	if strings.Contains(b.String(), token) {
		t.Errorf("the upstream got the token: %s", b.String())
	}
}

// TestPublicHosts: without a token a page cannot come in by a name of its own,
// whichever the API; with one, names are looked at where they are listed.
func TestPublicHosts(t *testing.T) {
	for host, want := range map[string][4]int{ // without a token; with names; with a token; with both
		"192.168.1.7:8383": {200, 200, 200, 200}, "[fe80::1%25eth0]:8383": {200, 200, 200, 200}, "[2001:db8::1]": {200, 200, 200, 200}, "localhost": {200, 200, 200, 200},
		"evil.example": {403, 403, 200, 403}, "evil.example:8383": {403, 403, 200, 403}, "192.168.1.7.evil.example": {403, 403, 200, 403},
		"chat.example": {403, 200, 200, 200}, "CHAT.example.:443": {403, 200, 200, 200}, "x.chat.example": {403, 403, 200, 403}, "127.0.0.1@evil.example": {403, 403, 200, 403},
	} {
		names := []string{"Chat.Example"}
		for i, c := range []gateway.Config{{}, {AllowHosts: names}, {Token: "tok"}, {Token: "tok", AllowHosts: names}} {
			c.Public = true
			w, reached := visit{host: host, header: header("X-Api-Key", "tok")}.call(t, c)
			if w.Code != want[i] || (reached != nil) != (want[i] == 200) {
				t.Errorf("%s, %d: %d, want %d", host, i, w.Code, want[i])
			}
			// The page of that name is of the same origin for its browser.
			w, _ = visit{host: host, header: header("Origin", "http://"+host, "Sec-Fetch-Site", "same-origin")}.call(t, c)
			if want[0] == 403 && w.Code == 200 && c.Token == "" && c.AllowHosts == nil {
				t.Errorf("%s: its page came in", host)
			}
		}
		if w, _ := (visit{host: host}).call(t, gateway.Config{Public: true, AllowHosts: []string{"*"}}); w.Code != 200 {
			t.Errorf("%s: %d though any is allowed", host, w.Code)
		}
	}
	if w, _ := (visit{host: "chat.example"}).call(t, gateway.Config{AllowHosts: []string{"chat.example"}}); w.Code != 200 {
		t.Errorf("a listed name on loopback: %d", w.Code)
	}
	for _, name := range []string{"https://x", "x:80", "x/y", "", "*.x"} {
		c := gateway.Config{Upstream: &url.URL{Scheme: "http", Host: "up"}, AllowHosts: []string{name}}
		if len(c.Check()) == 0 {
			t.Errorf("%q is a name", name)
		}
	}
}
