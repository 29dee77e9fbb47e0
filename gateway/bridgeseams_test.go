package gateway_test

import (
	"bytes"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/sotto-llm/sotto/gateway"
	"github.com/sotto-llm/sotto/gateway/guard"
	"github.com/sotto-llm/sotto/gateway/routing"
	"github.com/sotto-llm/sotto/internal/base/effort"
	"github.com/sotto-llm/sotto/record"
)

// A crossing is a client of one API and an upstream of another.
type crossing struct {
	as       *ledgerAPI
	upstream speaker
}

// crossings runs a test with each pair of APIs, or with some of them.
func crossings(t *testing.T, f func(t *testing.T, c crossing)) {
	of := func(name string) speaker {
		return speakers[slices.IndexFunc(speakers, func(s speaker) bool { return s.name() == name })]
	}
	chosen := effort.OneIn(3, t.Name())
	for i, as := range ledgerAPIs {
		for j, api := range ledgerAPIs {
			if as != api && (chosen() || i == 0 && j == 1) {
				t.Run(as.name+" to "+api.name, func(t *testing.T) { f(t, crossing{as, of(api.name)}) })
			}
		}
	}
}

// ask asks one question, with headers by pairs.
func (c crossing) ask(g http.Handler, model string, stream bool, header ...string) *httptest.ResponseRecorder {
	as := *c.as
	if strings.Contains(as.more, "max_tokens") {
		as.more = `"max_tokens":4000` // without a switch of thinking, which not every API has
	}
	body := as.request(model, stream, false, []any{as.user("What is it?")})
	return request(g, "POST", c.as.path(model, stream), body, header...)
}

// hear returns the text that the client reads in a response.
func (c crossing) hear(t *testing.T, w *httptest.ResponseRecorder, stream bool) string {
	t.Helper()
	if w.Code != http.StatusOK {
		t.Fatalf("%d %s", w.Code, w.Body)
	}
	text := ""
	for _, p := range c.as.parts(c.as.join(t, w.Body.Bytes(), stream)) {
		if p.kind == "text" {
			text += p.text
		}
	}
	return text
}

// TestBridgeHeaders: no header of a client goes to an upstream of another API, and none of that
// upstream's to the client, but those that say the same in all.
func TestBridgeHeaders(t *testing.T) {
	clients := []string{
		"Authorization", "Bearer canary", "X-Api-Key", "canary", "X-Goog-Api-Key", "canary", "Anthropic-Version", "canary", "Anthropic-Beta", "canary",
		"X-Stainless-Lang", "canary", "Openai-Organization", "canary", "Cookie", "a=canary", "User-Agent", "canary", "X-Own", "canary",
	}
	goesOn := []string{"Content-Type", "Content-Length", "Accept", "Accept-Encoding", "Anthropic-Version", "Authorization", "X-Api-Key", "X-Goog-Api-Key"}
	comesBack := []string{"Content-Type", "Content-Length", "Date", "Retry-After"}
	crossings(t, func(t *testing.T, c crossing) {
		p := newPlace(t, "a")
		var asked http.Header
		p.answers(func(w http.ResponseWriter, r *http.Request) bool {
			asked = r.Header.Clone()
			for name, values := range asked { // an upstream that says all that it hears
				w.Header()["X-Echo-"+name] = values
				if name != "Content-Length" {
					w.Header()[name] = values
				}
			}
			for _, name := range []string{"X-Ratelimit-Remaining-Requests", "Anthropic-Organization-Id", "Openai-Organization", "X-Amzn-Requestid", "Server"} {
				w.Header().Set(name, "upstream")
			}
			w.Header().Set("Retry-After", "7")
			return speaking(c.upstream, "Yes.")(w, r)
		})
		for _, key := range []string{"", "key-of-the-upstream"} {
			g := gatewayOf(t, gateway.Config{Upstream: p.at(t), UpstreamAPI: c.upstream.name(), UpstreamKey: key})
			for _, stream := range []bool{false, true} {
				w := c.ask(g, "m", stream, clients...)
				if h := c.hear(t, w, stream); h != "Yes." {
					t.Errorf("stream %v: the client reads %q of %s", stream, h, w.Body)
				}
				all := strings.Join(p.heard(), "")
				if strings.Contains(all, "canary") || strings.Contains(all, "key-of") != (key != "") {
					t.Errorf("stream %v: the upstream got\n%s", stream, all)
				}
				for name := range asked {
					if !slices.Contains(goesOn, name) {
						t.Errorf("stream %v: the upstream got %s: %s", stream, name, asked[name])
					}
				}
				for name, values := range w.Header() {
					if !slices.Contains(comesBack, name) && !strings.HasPrefix(name, "Sotto-") {
						t.Errorf("stream %v: the client got %s: %s", stream, name, values)
					}
				}
				if w.Header().Get("Retry-After") != "7" {
					t.Error("Retry-After is lost")
				}
			}
		}
	})
}

// TestBridgeShown: the log, the metrics and the record name both sides, and the record has both
// requests, and where the text stood that the client got.
func TestBridgeShown(t *testing.T) {
	crossings(t, func(t *testing.T, c crossing) {
		for _, stream := range []bool{false, true} {
			p := newPlace(t, "a")
			p.answers(speaking(c.upstream, "<think>A thought.</think>An answer."))
			kept, reg, log := &eventList{}, prometheus.NewRegistry(), &bytes.Buffer{}
			g, err := gateway.New(gateway.Config{
				Upstream: p.at(t), UpstreamAPI: c.upstream.name(), Recorder: kept, Observers: []gateway.Observer{gateway.Metrics(reg)},
				Logger: slog.New(slog.NewTextHandler(log, nil)),
			})
			if err != nil {
				t.Fatal(err)
			}
			h := c.hear(t, c.ask(g, "m", stream), stream)
			if err := g.Close(); err != nil {
				t.Fatal(err)
			}
			for _, want := range []string{"api=" + c.as.name, "upstream_api=" + c.upstream.name()} {
				if !strings.Contains(log.String(), want) {
					t.Errorf("the log has no %s: %s", want, log)
				}
			}
			families, err := reg.Gather()
			if err != nil {
				t.Fatal(err)
			}
			counted := ""
			for _, f := range families {
				if f.GetName() == "sotto_bridged_exchanges_total" {
					counted = fmt.Sprint(f.GetMetric())
				}
			}
			if !strings.Contains(counted, c.as.name) || !strings.Contains(counted, c.upstream.name()) {
				t.Errorf("the metrics have %s", counted)
			}
			if len(kept.list) != 1 {
				t.Fatalf("%d events", len(kept.list))
			}
			x := kept.list[0].Payload.(record.Exchange)
			if x.API != c.as.name || x.UpstreamAPI != c.upstream.name() {
				t.Errorf("the record says %s and %s", x.API, x.UpstreamAPI)
			}
			for what, messages := range map[string][]record.Message{"sent": x.Messages, "asked": x.Asked} {
				if n := len(messages); n != 1 || string(messages[n-1].Text.Text) != "What is it?" {
					t.Errorf("the messages %s are %+v", what, messages)
				}
			}
			text, ok := x.ClientText(0)
			if !ok || text != h || text != "An answer." {
				t.Errorf("the client reads %q, and by the record %q, %v: %+v", h, text, ok, x.Delivered)
			}
		}
	})
}

// TestBridgeLeftOut: what was left out of a request is named in the response, the log and the record.
func TestBridgeLeftOut(t *testing.T) {
	p := newPlace(t, "a")
	p.answers(speaking(speakers[0], "Yes."))
	kept, log := &eventList{}, &bytes.Buffer{}
	g, err := gateway.New(gateway.Config{Upstream: p.at(t), UpstreamAPI: "chat", Recorder: kept, Logger: slog.New(slog.NewTextHandler(log, nil))})
	if err != nil {
		t.Fatal(err)
	}
	w := request(g, "POST", "/v1/messages", `{"model":"m","max_tokens":9,"metadata":{"user_id":"u-1"},"messages":[{"role":"user","content":[{"type":"text","text":"Hi","cache_control":{"type":"ephemeral"}}]}]}`)
	if err := g.Close(); err != nil {
		t.Fatal(err)
	}
	x := kept.list[0].Payload.(record.Exchange)
	if w.Code != 200 || len(x.LeftOut) == 0 || w.Header().Get("Sotto-Left-Out") != strings.Join(x.LeftOut, ", ") || !strings.Contains(log.String(), "left_out=") {
		t.Errorf("%d %v, the record has %q, the log %s", w.Code, w.Header(), x.LeftOut, log)
	}
	if x.IDs["metadata.user_id"] != "u-1" {
		t.Errorf("the ids of the client are %v", x.IDs)
	}
}

// TestBridgeGuard: a guard judges what the upstream says, and what it cuts does not reach a client of
// another API.
func TestBridgeGuard(t *testing.T) {
	crossings(t, func(t *testing.T, c crossing) {
		for _, stream := range []bool{false, true} {
			p := newPlace(t, "a")
			p.answers(speaking(c.upstream, "<think>A canary.</think>An answer."))
			var judged strings.Builder
			cut := &judgeFunc{judge: func(p guard.Piece) (guard.Verdict, error) {
				if p.Channel == guard.Reasoning {
					judged.WriteString(p.Text)
					return guard.Verdict{Action: guard.Cut}, nil
				}
				return guard.Verdict{Action: guard.Pass}, nil
			}}
			g := gatewayOf(t, gateway.Config{Upstream: p.at(t), UpstreamAPI: c.upstream.name(), Default: routing.Route{Guard: guard.Rule{Guard: cut}}})
			w := c.ask(g, "m", stream)
			if h := c.hear(t, w, stream); h != "An answer." || strings.Contains(w.Body.String(), "canary") || !strings.Contains(judged.String(), "canary") {
				t.Errorf("stream %v: the guard judged %q, the client got %s", stream, judged.String(), w.Body)
			}
		}
	})
}

// TestBridgeRefusals: a limit of a token, an upstream that is busy, and one that cannot be reached are
// errors in the client's own form, with the time to wait.
func TestBridgeRefusals(t *testing.T) {
	crossings(t, func(t *testing.T, c crossing) {
		p := newPlace(t, "a")
		busy := 0
		p.answers(func(w http.ResponseWriter, r *http.Request) bool {
			_, _ = io.Copy(io.Discard, r.Body)
			busy++
			w.Header().Set("Retry-After", "1")
			w.WriteHeader(http.StatusTooManyRequests)
			_, _ = w.Write([]byte(`{"error":{"message":"too busy now"}}`))
			return true
		})
		config := gateway.Config{Upstream: p.at(t), UpstreamAPI: c.upstream.name(), Tokens: limitedTo(gateway.CallerLimits{Requests: 1})}
		g := gatewayOf(t, config)
		for i, said := range []string{"too busy now", "requests a minute"} {
			w := c.ask(g, "m", true, "Authorization", "Bearer the-token-of-alice")
			if w.Code != http.StatusTooManyRequests || w.Header().Get("Retry-After") == "" || !strings.Contains(w.Body.String(), said) {
				t.Errorf("%d: %d %v %s", i, w.Code, w.Header(), w.Body)
			}
			if i == 0 && busy != 1 {
				t.Errorf("the upstream was asked %d times", busy)
			}
		}
		if w := c.ask(g, "m", false, "Authorization", "Bearer the-token-of-bob"); !strings.Contains(w.Body.String(), "too busy now") {
			t.Errorf("another caller: %d %s", w.Code, w.Body)
		}
	})
}

// TestBridgeRetries: a request is sent again across two APIs as within one.
func TestBridgeRetries(t *testing.T) {
	p := newPlace(t, "a")
	asked := 0
	p.answers(func(w http.ResponseWriter, r *http.Request) bool {
		if asked++; asked == 1 {
			w.WriteHeader(http.StatusBadGateway)
			return true
		}
		return speaking(speakers[0], "Yes.")(w, r)
	})
	g := gatewayOf(t, gateway.Config{Upstream: p.at(t), UpstreamAPI: "chat", UpstreamRetries: 1})
	w := request(g, "POST", "/v1/messages", `{"model":"m","max_tokens":9,"messages":[{"role":"user","content":"Hi"}]}`)
	if got := p.heard(); w.Code != 200 || len(got) != 2 || got[0] != got[1] || !strings.Contains(w.Body.String(), "Yes.") {
		t.Errorf("%d %s, the upstream got %q", w.Code, w.Body, got)
	}
}

// TestBridgeSeveral: behind one gateway, each upstream is asked in its own API, by the route of the model
// and of the client's API.
func TestBridgeSeveral(t *testing.T) {
	of := func(name string) speaker {
		return speakers[slices.IndexFunc(speakers, func(s speaker) bool { return s.name() == name })]
	}
	p := newPlaces(t)
	p.a.answers(speaking(of("openai.chat"), "of a"))
	p.b.answers(speaking(of("anthropic.messages"), "of b"))
	p.c.answers(speaking(of("ollama.chat"), "of c"))
	c := p.config(t)
	c.UpstreamAPI = "chat"
	c.Upstreams = map[string]gateway.Upstream{"b": {URL: p.b.at(t), Key: "canary-key-of-b", API: "messages"}, "c": {URL: p.c.at(t), API: "ollama"}}
	c.Routes = append(c.Routes, routing.Route{APIs: []string{"gemini"}, Upstream: "c"})
	g := gatewayOf(t, c)
	for _, as := range ledgerAPIs {
		for model, want := range map[string]*place{"other": p.a, "b-1": p.b, "c-1": p.c} {
			if as.name == "gemini.generate" && model == "other" {
				want = p.c
			}
			x := crossing{as: as}
			w := x.ask(g, model, false)
			h := x.hear(t, w, false)
			got := p.only(t, want)
			path := map[*place]string{p.a: "/v1/chat/completions", p.b: "/v1/messages", p.c: "/api/chat"}[want]
			if h != "of "+want.name || !strings.Contains(got, "POST "+path+" ") {
				t.Errorf("%s, %s: the client reads %q, the upstream got %s", as.name, model, h, got)
			}
			for key, whose := range map[string]*place{"canary-key-of-a": p.a, "canary-key-of-b": p.b} {
				if strings.Contains(got, key) != (whose == want) {
					t.Errorf("%s, %s: the key %s is in %s", as.name, model, key, got)
				}
			}
		}
	}
}

// TestBridgeReplicas: a conversation across two APIs goes on at another replica.
func TestBridgeReplicas(t *testing.T) {
	of := func(name string) *ledgerAPI {
		return ledgerAPIs[slices.IndexFunc(ledgerAPIs, func(a *ledgerAPI) bool { return a.name == name })]
	}
	for _, stream := range []bool{false, true} {
		r := ledgerRun{
			api: of("openai.chat"), as: of("anthropic.messages"), thought: "apart", model: ledgerModels("openai.chat", "apart")[0],
			client: "echo", display: routing.DisplayField, server: "replica", stream: stream, tools: true,
		}
		if wrong := r.play(t); wrong != "" {
			t.Errorf("%s: %s", &r, wrong)
		}
	}
}

// TestBridgeReload: a new API of an upstream holds for the next request.
func TestBridgeReload(t *testing.T) {
	p := newPlace(t, "a")
	c := gateway.Config{Upstream: p.at(t), UpstreamAPI: "chat"}
	g := gatewayOf(t, c)
	for _, api := range []struct{ name, path, codec string }{{"chat", "/v1/chat/completions", "openai.chat"}, {"ollama", "/api/chat", "ollama.chat"}, {"", "/v1/messages", "anthropic.messages"}} {
		c.UpstreamAPI = api.name
		if err := g.Reload(c); err != nil {
			t.Fatal(err)
		}
		p.answers(speaking(speakers[slices.IndexFunc(speakers, func(s speaker) bool { return s.name() == api.codec })], "Yes."))
		w := request(g, "POST", "/v1/messages", `{"model":"m","max_tokens":9,"messages":[{"role":"user","content":"Hi"}]}`)
		if got := strings.Join(p.heard(), ""); w.Code != 200 || !strings.Contains(got, "POST "+api.path) || !strings.Contains(w.Body.String(), "Yes.") {
			t.Errorf("%s: %d %s, the upstream got %s", api.name, w.Code, w.Body, got)
		}
	}
	c.UpstreamAPI = "grpc"
	if err := g.Reload(c); err == nil || !strings.Contains(err.Error(), `"grpc" is not the name of an API: want one of chat, responses, messages`) {
		t.Errorf("a wrong name: %v", err)
	}
}
