package gateway_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tidwall/gjson"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/gateway"
	"github.com/sotto-llm/sotto/gateway/routing"
	"github.com/sotto-llm/sotto/history"
	"github.com/sotto-llm/sotto/internal/base/effort"
	"github.com/sotto-llm/sotto/record"
)

// A hook calls a function before each read.
type hook struct {
	io.Reader
	before func()
}

func (h *hook) Read(p []byte) (int, error) {
	h.before()
	return h.Reader.Read(p)
}

// reload replaces the configuration of a gateway.
func reload(t testing.TB, g *gateway.Handler, c gateway.Config, up http.RoundTripper) {
	t.Helper()
	c.Upstream, c.Transport = &url.URL{Scheme: "http", Host: "upstream"}, up
	if err := g.Reload(c); err != nil {
		t.Error(err)
	}
}

// TestReloadLeavesStreams: a stream during which the configuration is replaced before
// every read, by ones that would deliver it otherwise or refuse it, has the bytes that it
// has without that.
func TestReloadLeavesStreams(t *testing.T) {
	raw, _, _ := guardReply()
	others := []gateway.Config{
		{Default: routing.Route{Display: routing.DisplayHide}, Token: "another-token-of-16"},
		{Default: routing.Route{Display: routing.DisplayTags, Narration: routing.NarrationDrop}, Limits: gateway.Limits{Frame: 1, Exchanges: 1, MemoryBytes: 1, Body: 1}},
		{Routes: []routing.Route{{Dialect: "harmony", Start: sotto.BeginAuto, Display: routing.DisplayKeep, ThinkingLimit: 1}}, Silence: time.Nanosecond},
	}
	each(t, func(t *testing.T, s speaker) {
		for _, display := range routing.Displays() {
			c := gateway.Config{Default: routing.Route{Display: display}}
			body := s.stream(inPieces(raw, 100), sotto.EndStopped)
			v := &conversation{s: s}
			ask := func(before func()) string {
				var g *gateway.Handler
				var up answering
				reloads := 0
				up = func(*http.Request) *http.Response {
					return response(s.kind(true), &hook{slowly(body), func() {
						if before != nil {
							reload(t, g, others[reloads%len(others)], up)
							reloads++
						}
					}})
				}
				g = handler(t, c, up)
				w := ask(g, s.path, v.request("m", true, ""))
				if before != nil && (reloads < 10 || w.Code != 200) {
					t.Errorf("%s: %d reloads, status %d", display, reloads, w.Code)
				}
				return w.Body.String()
			}
			want, got := ask(nil), ask(func() {})
			if got != want {
				t.Errorf("%s: with reloads:\n%.1000s\nwithout:\n%.1000s", display, got, want)
			}
		}
	})
}

// slowly reads a text in pieces of 300 bytes.
func slowly(text string) io.Reader {
	var parts []io.Reader
	for _, piece := range inPieces(text, 300) {
		parts = append(parts, strings.NewReader(piece))
	}
	return io.MultiReader(parts...)
}

// echo is an upstream that says its name. It fails the test if it gets another's key.
func echo(t *testing.T) answering {
	return func(r *http.Request) *http.Response {
		if key := r.Header.Get("Authorization"); key != "Bearer key-"+r.URL.Host {
			t.Errorf("the upstream %s got %q", r.URL.Host, key)
		}
		resp := response("application/json", strings.NewReader(`{"choices":[{"index":0,"message":{"role":"assistant","content":"<think>a</think>b"},"finish_reason":"stop"}]}`))
		resp.Header.Set("X-Request-Id", r.URL.Host)
		_, _ = io.Copy(io.Discard, r.Body)
		return resp
	}
}

// configNamed is a configuration whose token, upstream, key and form of reasoning have its name.
func configNamed(name string, up http.RoundTripper) gateway.Config {
	return gateway.Config{
		Upstream: &url.URL{Scheme: "http", Host: name}, UpstreamKey: "key-" + name, Token: "token-" + name, AllowOrigins: []string{"https://chat.example"},
		Default: routing.Route{ReasoningFields: []string{"field_" + name}}, Transport: up,
	}
}

// askNamed asks with the token of one configuration, and reports whether it is in force.
// If so, all else must be of that configuration.
func askNamed(t *testing.T, g *gateway.Handler, path, name string, body io.Reader) bool {
	return askNamedOf(t, g, path, name, body, func() {})
}

// A headed calls a function when the header of the response is first written to.
type headed struct {
	*httptest.ResponseRecorder
	before func()
}

func (w headed) Header() http.Header {
	w.before()
	return w.ResponseRecorder.Header()
}

// askNamedOf is askNamed with a function that the admission of the request calls: as the
// request comes from a page of another origin, it sets headers of the response.
func askNamedOf(t *testing.T, g *gateway.Handler, path, name string, body io.Reader, admitted func()) bool {
	r := httptest.NewRequest("POST", path, body)
	r.Host = "localhost"
	r.Header.Set("Authorization", "Bearer token-"+name)
	r.Header.Set("Origin", "https://chat.example")
	w := httptest.NewRecorder()
	g.ServeHTTP(headed{w, admitted}, r)
	if w.Code == http.StatusUnauthorized {
		return false
	}
	message := gjson.Get(w.Body.String(), "choices.0.message")
	if w.Code != 200 || w.Header().Get("X-Request-Id") != name || strings.Contains(path, "chat") && message.Get("field_"+name).Str != "a" {
		t.Errorf("token of %s: %d %v %s", name, w.Code, w.Header(), w.Body)
	}
	return true
}

// TestReloadBetween: a configuration that comes while a request is admitted, while its body
// is read, or while its upstream is asked, changes nothing for that request, whether it is one for a
// model or one that passes.
func TestReloadBetween(t *testing.T) {
	const body = `{"model":"m","messages":[]}`
	for _, path := range []string{"/v1/chat/completions", "/v1/embeddings"} {
		for _, where := range []string{"admission", "body", "upstream"} {
			var g *gateway.Handler
			replace := func() {
				if err := g.Reload(configNamed("b", echo(t))); err != nil {
					t.Error(err)
				}
			}
			up := answering(func(r *http.Request) *http.Response {
				if where == "upstream" {
					replace()
				}
				return echo(t)(r)
			})
			var err error
			g, err = gateway.New(configNamed("a", up))
			if err != nil {
				t.Fatal(err)
			}
			from := io.Reader(strings.NewReader(body))
			if where == "body" {
				from = &hook{from, sync.OnceFunc(replace)}
			}
			admitted := func() {}
			if where == "admission" {
				admitted = sync.OnceFunc(replace)
			}
			if !askNamedOf(t, g, path, "a", from, admitted) || askNamed(t, g, path, "a", strings.NewReader(body)) || !askNamed(t, g, path, "b", strings.NewReader(body)) {
				t.Errorf("%s, %s: the tokens of both are in force, or of none", path, where)
			}
			if err := g.Close(); err != nil {
				t.Error(err)
			}
		}
	}
}

// TestReloadNeverMixes: while two configurations replace each other all the time, each
// request has the token, the upstream, the key and the form of one of them.
func TestReloadNeverMixes(t *testing.T) {
	up := echo(t)
	g, err := gateway.New(configNamed("a", up))
	if err != nil {
		t.Fatal(err)
	}
	defer g.Close()
	times := 100 * effort.Times()
	if effort.Brief() {
		times = 20
	}
	ctx, stop := context.WithCancel(t.Context())
	var reloading, asking sync.WaitGroup
	for _, name := range []string{"a", "b"} {
		reloading.Go(func() {
			for ctx.Err() == nil {
				if err := g.Reload(configNamed(name, up)); err != nil {
					t.Error(err)
				}
			}
		})
	}
	for _, name := range []string{"a", "b", "a", "b"} {
		asking.Go(func() {
			for range times {
				askNamed(t, g, "/v1/chat/completions", name, strings.NewReader(`{"model":"m","messages":[]}`))
			}
		})
	}
	asking.Wait()
	stop()
	reloading.Wait()
}

// TestReloadRefuses: all faults of a wrong configuration are reported, and the old one
// stays. A closed gateway takes none.
func TestReloadRefuses(t *testing.T) {
	v := converse(t, speakers[0], gateway.Config{Default: routing.Route{ReasoningFields: []string{"own"}}})
	err := v.Reload(gateway.Config{Default: routing.Route{Display: "nowhere"}, PathPrefix: "/"})
	var wrong *gateway.ConfigError
	if !errors.As(err, &wrong) || !strings.Contains(err.Error(), "upstream") || !strings.Contains(err.Error(), "display") || !strings.Contains(err.Error(), "path-prefix") {
		t.Errorf("%v", err)
	}
	v.raw = "<think>a</think>b"
	if w := ask(v, speakers[0].path, v.request("m", false, "")); gjson.Get(w.Body.String(), "choices.0.message.own").Str != "a" {
		t.Errorf("%s", w.Body)
	}
	if err := v.Close(); err != nil {
		t.Fatal(err)
	}
	if err := v.Reload(gateway.Config{Upstream: &url.URL{Scheme: "http", Host: "upstream"}}); err == nil {
		t.Error("a closed gateway takes a configuration")
	}
}

// TestReloadStaysClosed: a gateway that needed a token needs one after any reload, and says
// so where everybody may ask while none is valid.
func TestReloadStaysClosed(t *testing.T) {
	up := &url.URL{Scheme: "http", Host: "upstream"}
	v := converse(t, speakers[0], gateway.Config{Tokens: []gateway.Token{{Name: "alice", Secret: "secret-of-alice"}}})
	check := func(what, key string, want int, ready string) {
		t.Helper()
		r := httptest.NewRequest(http.MethodPost, "http://localhost"+speakers[0].path, strings.NewReader(v.request("m", false, "")))
		r.Header.Set("Authorization", "Bearer "+key)
		w := httptest.NewRecorder()
		if v.ServeHTTP(w, r); w.Code != want {
			t.Errorf("%s: %d, want %d", what, w.Code, want)
		}
		w = httptest.NewRecorder()
		if v.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "http://localhost/readyz", http.NoBody)); w.Code != http.StatusOK || !strings.HasPrefix(w.Body.String(), ready) {
			t.Errorf("%s: /readyz: %d %q", what, w.Code, w.Body)
		}
	}
	check("with the token", "secret-of-alice", http.StatusOK, "ready\n")
	for range 2 { // also the reload after the one that took the token
		if err := v.Reload(gateway.Config{Upstream: up}); err != nil {
			t.Fatal(err)
		}
		check("without any token", "secret-of-alice", http.StatusUnauthorized, "ready, but no token is valid")
	}
	if err := v.Reload(gateway.Config{Upstream: up, Tokens: []gateway.Token{{Name: "bob", Secret: "secret-of-bob"}}}); err != nil {
		t.Fatal(err)
	}
	check("with a new token", "secret-of-bob", http.StatusBadGateway, "ready\n") // admitted: there is no such upstream
}

// TestReloadKeepsKnowledge: what was learned, what is to be restored, and the counters
// stay, whatever the new configuration says of their bounds.
func TestReloadKeepsKnowledge(t *testing.T) {
	s := speakers[0]
	rule := gateway.Config{Default: routing.Route{History: history.Restore}}
	v := converse(t, s, rule)
	up := answering(func(r *http.Request) *http.Response {
		b, _ := io.ReadAll(r.Body)
		v.got = string(b)
		return response(s.kind(false), strings.NewReader(s.whole(v.raw, sotto.EndStopped)))
	})
	v.raw = "<think>THOUGHT</think>The answer."
	for range 2 {
		if w := ask(v, s.path, v.request("m", false, "")); w.Code != 200 {
			t.Fatal(w.Body)
		}
	}
	learned := fmt.Sprint(v.Learned().Starts())
	rule.Limits = gateway.Limits{Restored: 1, RestoredBytes: 1, RestoredFor: 1, Learned: 1, Labels: 1}
	for range 3 {
		reload(t, v.Handler, rule, up)
	}
	if got := fmt.Sprint(v.Learned().Starts()); got != learned || !strings.Contains(got, "outside") {
		t.Errorf("learned %s, then %s", learned, got)
	}
	ask(v, s.path, `{"model":"m","messages":[{"role":"user","content":"What is it?"},{"role":"assistant","content":"The answer."},{"role":"user","content":"And?"}]}`)
	if !strings.Contains(v.got, "THOUGHT") {
		t.Errorf("not restored: %s", v.got)
	}
	if got := asked(v, "GET", "/metrics").Body.String(); !strings.Contains(got, `sotto_exchanges_total{api="openai.chat",model="m",outcome="answered"} 3`) {
		t.Errorf("%s", got)
	}
}

// TestReloadLowersBounds: with less room than is in use, what is under way ends well, new
// requests are refused, and there is room again when enough has ended.
func TestReloadLowersBounds(t *testing.T) {
	s := speakers[0]
	for name, low := range map[string]gateway.Limits{"exchanges": {Exchanges: 1}, "memory": {MemoryBytes: 100_000}} {
		t.Run(name, func(t *testing.T) {
			entered, proceed := make(chan bool), make(chan bool)
			body := s.stream([]string{"<think>a</think>", strings.Repeat("b", 200_000)}, sotto.EndStopped)
			waits := true
			var up answering = func(*http.Request) *http.Response {
				if !waits {
					return response(s.kind(true), strings.NewReader(s.stream([]string{"b"}, sotto.EndStopped)))
				}
				return response(s.kind(true), &hook{strings.NewReader(body), sync.OnceFunc(func() { entered <- true; <-proceed })})
			}
			g := handler(t, gateway.Config{}, up)
			v := &conversation{s: s}
			var running sync.WaitGroup
			for range 3 {
				running.Go(func() {
					if w := ask(g, s.path, v.request("m", true, "")); w.Code != 200 || !strings.Contains(w.Body.String(), "[DONE]") || strings.Contains(w.Body.String(), `"error"`) {
						t.Errorf("%d %.500s", w.Code, w.Body)
					}
				})
				<-entered
			}
			reload(t, g, gateway.Config{Limits: low}, up)
			if w := ask(g, s.path, v.request("m", true, "")); w.Code != http.StatusServiceUnavailable {
				t.Errorf("%d %s", w.Code, w.Body)
			}
			close(proceed)
			running.Wait()
			waits = false
			if w := ask(g, s.path, v.request("m", true, "")); w.Code != 200 {
				t.Errorf("%d %s", w.Code, w.Body)
			}
			if g.Open() != 0 || g.Held() != 0 {
				t.Errorf("%d exchanges, %d bytes are held", g.Open(), g.Held())
			}
		})
	}
}

// TestReloadRecordsNoSecret: a credential that came with a reload is in no event, nor is
// one of the configuration before it.
func TestReloadRecordsNoSecret(t *testing.T) {
	dir := t.TempDir()
	kept, err := record.Open(dir, record.Options{})
	if err != nil {
		t.Fatal(err)
	}
	s := speakers[0]
	const before, after = "upstream-key-before", "upstream-key-after"
	said := "<think>" + before + " " + after + "</think>"
	var up answering = func(r *http.Request) *http.Response {
		return response(s.kind(false), strings.NewReader(s.whole(said+strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer "), sotto.EndStopped)))
	}
	v := &conversation{s: s}
	g := handler(t, gateway.Config{Recorder: kept, UpstreamKey: before}, up)
	said = ""
	ask(g, s.path, v.request("m", false, ""))
	reload(t, g, gateway.Config{UpstreamKey: after}, up)
	ask(g, s.path, v.request("m", false, ""))
	g.HandOver()
	list := exchanges(t, kept, dir)
	mustLack(t, dir, before, after)
	if len(list) != 2 || list[1].Outcome != "answered" {
		t.Errorf("%v", list)
	}
}
