package honest

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"

	"github.com/sotto-llm/sotto/gateway"
	"github.com/sotto-llm/sotto/gateway/routing"
)

// A world is a model server, a gateway before it, and the requests of its clients in
// their order. It is data, so that it can be repeated, printed and made smaller.
type world struct {
	Server, Model, Script string
	Parser                bool // the server separates thoughts
	Shows                 bool // the server answers questions about its template
	Display               routing.Display
	NoAnswer              routing.NoAnswerAction `json:",omitempty"`
	Tokens                bool                   // alice and bob have tokens
	Seed                  uint64
	Requests              []request
	Judged                string `json:",omitempty"` // if set, only the replies to this caller matter
	Restart               bool   `json:",omitempty"` // of the gateway, before the first request of bob
	Bridge                string `json:",omitempty"` // if set, the API of the upstream, to which requests of others are translated
}

// A request is one of alice, who tries everything, or of bob, who is an ordinary client.
type request struct {
	Who, API string
	Stream   bool     `json:",omitempty"`
	Socket   bool     `json:",omitempty"`
	Batch    bool     `json:",omitempty"`
	Tweaks   []string `json:",omitempty"`
}

func (w world) String() string { return string(encode(w)) }

func kindNamed(name string) kind {
	return kinds[slices.IndexFunc(kinds, func(k kind) bool { return k.name == name })]
}

func scriptNamed(name string) script {
	return scripts[slices.IndexFunc(scripts, func(s script) bool { return s.name == name })]
}

func pick[T any](r *rand.Rand, list []T) T { return list[r.IntN(len(list))] }

// worldOf is the world of a seed.
func worldOf(seed uint64) world {
	r := rand.New(rand.NewPCG(seed, 33))
	k := pick(r, kinds)
	w := world{
		Server: k.name, Model: pick(r, families).model, Script: pick(r, scripts).name, Parser: r.IntN(3) == 0, Shows: r.IntN(2) == 0,
		Display:  pick(r, []routing.Display{routing.DisplayHide, routing.DisplayHide, routing.DisplayField, routing.DisplayTags}),
		NoAnswer: pick(r, []routing.NoAnswerAction{routing.NoAnswerEmpty, routing.NoAnswerError}),
		Tokens:   r.IntN(2) == 0, Seed: seed,
	}
	asks := k.apis
	if seed%3 == 0 {
		w.Bridge, asks = pick(r, slices.DeleteFunc(slices.Clone(k.apis), func(name string) bool { return bridged[name] == "" })), slices.Sorted(maps.Keys(bridged))
	}
	for range 1 + r.IntN(5) {
		q := request{Who: "alice", API: pick(r, asks), Stream: r.IntN(2) == 0}
		q.Socket = q.API == "responses" && r.IntN(3) == 0
		q.Batch = w.Bridge == "" && k.name == "vllm" && (q.API == "chat" || q.API == "completions") && r.IntN(6) == 0
		a := named(q.API)
		fitting := slices.DeleteFunc(slices.Clone(tweaks), func(t tweak) bool { return !t.fits(a) })
		for range r.IntN(4) {
			if t := pick(r, fitting); !q.sets(t.what) {
				q.Tweaks = append(q.Tweaks, t.name)
			}
		}
		w.Requests = append(w.Requests, q)
		if r.IntN(2) == 0 {
			w.Requests = append(w.Requests, ordinary(r, asks))
		}
	}
	w.Requests = append(w.Requests, ordinary(r, asks))
	return w
}

// bridged are the APIs whose requests are conversations, with their names in the gateway's settings.
var bridged = map[string]string{
	"chat": "chat", "responses": "responses", "messages": "messages", "ollama.chat": "ollama", "gemini": "gemini", "cohere": "cohere", "bedrock": "bedrock",
}

// ordinary is a request of bob.
func ordinary(r *rand.Rand, apis []string) request {
	return request{Who: "bob", API: pick(r, apis), Stream: r.IntN(4) > 0}
}

// sets reports whether a tweak of a request sets something.
func (q request) sets(what string) bool {
	return slices.ContainsFunc(q.Tweaks, func(name string) bool { return tweakNamed(name).what == what })
}

// A fault is a reply that shows what it should not.
type fault struct {
	at   int // the request
	what string
	got  *got
}

// run plays a world and returns the first fault.
func (w world) run(t testing.TB) *fault {
	p := w.open(t)
	defer func() { p.close() }()
	for i, q := range w.Requests {
		if w.Restart && q.Who == "bob" && !p.again {
			p = p.restarted()
		}
		g := p.ask(q)
		if w.Judged != "" && w.Judged != q.Who {
			continue
		}
		if what := g.fault(w.Display); what != "" && !w.mayShow(q) {
			return &fault{i, what, g}
		}
	}
	return nil
}

// mayShow reports whether a reply looks like an answer: it has no marker, it
// ended by itself, and neither the request nor the server says how it began. Then a display
// that is not hide gives it as content. So does it if nothing at all is known of the model,
// or if the request turns thinking off, in words that the server ignores.
func (w world) mayShow(q request) bool {
	a, sc, k := named(q.API), scriptNamed(w.Script), kindNamed(w.Server)
	if w.Bridge != "" {
		a = named(w.Bridge)
	}
	if w.Display == routing.DisplayHide {
		return false
	}
	if find(w.Model).unknown || slices.ContainsFunc(q.Tweaks, func(name string) bool { return slices.Contains(turnOff, name) }) {
		return true
	}
	if q.Batch || a.name == "completions" && (slices.Contains(q.Tweaks, "closed prompt") || slices.Contains(q.Tweaks, "echo")) {
		return true // the request is not known; a rendered prompt is believed; the prompt's markers count
	}
	if sc.eos == "" || w.Shows && k.shows != nil && w.Server != "ollama" && a.name == "chat" && len(q.Tweaks) == 0 { // which shows a template and renders none
		return false
	}
	if a.name == "chat" && (sc.eos != "stop" || sc.calls && slices.Contains(q.Tweaks, "tools")) {
		return false // it did not stop by itself, or calls a tool
	}
	readable := a.raw
	for _, name := range q.Tweaks {
		if tweakNamed(name).starts {
			return q.Batch // its results come without the request
		}
		readable = readable && !tweakNamed(name).opaque
	}
	return !readable && (sc.eos != "" || q.Batch && slices.ContainsFunc(q.Tweaks, func(name string) bool { return tweakNamed(name).opaque }))
}

// turnOff are the tweaks that turn thinking off.
var turnOff = []string{"think=false", "enable_thinking=false", "kwargs enable_thinking=false", "kwargs thinking=false", "thinkingBudget 0", "thinking disabled", "reasoning effort none", "reasoning_effort none", "thinking_budget 0", "/no_think", "/nothink"}

// A play is a world that runs.
type play struct {
	t         testing.TB
	w         world
	up, front *httptest.Server
	gate      *gateway.Handler
	client    *http.Client
	data      string
	again     bool // it was restarted
}

func (w world) open(t testing.TB) *play {
	return w.openWith(t, scriptNamed(w.Script))
}

func (w world) openWith(t testing.TB, sc script) *play {
	t.Helper()
	s := &server{kind: kindNamed(w.Server), family: find(w.Model), parser: w.Parser, shows: w.Shows, script: sc, seed: w.Seed}
	p := &play{t: t, w: w, up: httptest.NewServer(s), client: &http.Client{Timeout: time.Minute, Transport: &http.Transport{}}}
	if w.Restart {
		p.data = t.TempDir()
	}
	p.serve()
	return p
}

// restarted is the same world with a new gateway, which has the data of the old one.
func (p *play) restarted() *play {
	p.again = true
	p.end()
	p.serve()
	return p
}

// serve starts the gateway.
func (p *play) serve() {
	t, w := p.t, p.w
	u, err := url.Parse(p.up.URL)
	if err != nil {
		t.Fatal(err)
	}
	c := gateway.Config{Upstream: u, Data: p.data, Templates: true, Default: routing.Route{Display: w.Display, OnNoAnswer: w.NoAnswer}}
	c.UpstreamAPI = bridged[w.Bridge]
	if w.Tokens {
		c.Tokens = []gateway.Token{{Name: "alice", Secret: "alice-secret-0123456789"}, {Name: "bob", Secret: "bob-secret-0123456789ab"}}
	}
	g, err := gateway.New(c)
	if err != nil {
		t.Fatal(err)
	}
	p.gate, p.front = g, httptest.NewServer(g)
}

func (p *play) end() {
	p.client.CloseIdleConnections()
	p.front.Close()
	if err := p.gate.Close(); err != nil {
		p.t.Error(err)
	}
}

func (p *play) close() {
	p.end()
	p.up.Close()
}

func (p *play) token(who string) string {
	if !p.w.Tokens {
		return ""
	}
	return map[string]string{"alice": "alice-secret-0123456789", "bob": "bob-secret-0123456789ab"}[who]
}

// bodyOf is the body of a request.
func (p *play) bodyOf(q request) object {
	a, f := named(q.API), find(p.w.Model)
	body := a.base(f)
	if !a.inPath() {
		body["stream"] = q.Stream
	}
	for _, name := range q.Tweaks {
		tweakNamed(name).do(a, f, body)
	}
	return body
}

// ask sends a request to the gateway.
func (p *play) ask(q request) *got {
	body := p.bodyOf(q)
	if q.Socket {
		return p.talk(q, body)
	}
	if q.Batch {
		return p.batch(q, body)
	}
	return p.send(q, "POST", named(q.API).at(p.w.Model, q.Stream), "application/json", encode(body))
}

// send sends a body to the gateway, and reads the response.
func (p *play) send(q request, method, path, kind string, body []byte) *got {
	r, err := http.NewRequest(method, p.front.URL+path, bytes.NewReader(body))
	if err != nil {
		p.t.Fatal(err)
	}
	if kind != "" {
		r.Header.Set("Content-Type", kind)
	}
	if token := p.token(q.Who); token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	resp, err := p.client.Do(r)
	if err != nil {
		p.t.Fatalf("%s: %v", p.w, err)
	}
	defer resp.Body.Close()
	all, err := io.ReadAll(resp.Body)
	if err != nil && len(all) == 0 {
		return hear(resp.StatusCode, resp.Header, err.Error())
	}
	return hear(resp.StatusCode, resp.Header, string(all))
}

// talk sends a request over a WebSocket, and reads until its turn ends.
func (p *play) talk(q request, body object) *got {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	h := http.Header{}
	if token := p.token(q.Who); token != "" {
		h.Set("Authorization", "Bearer "+token)
	}
	conn, resp, err := websocket.Dial(ctx, p.front.URL+"/v1/responses", &websocket.DialOptions{HTTPHeader: h})
	if err != nil {
		p.t.Fatalf("%s: %v", p.w, err)
	}
	defer conn.CloseNow()
	conn.SetReadLimit(-1)
	delete(body, "stream")
	body["type"] = "response.create"
	if err := conn.Write(ctx, websocket.MessageText, encode(body)); err != nil {
		p.t.Fatal(err)
	}
	var all strings.Builder
	for {
		_, data, err := conn.Read(ctx)
		if err != nil {
			break
		}
		fmt.Fprintf(&all, "%s\n", data)
		var e struct{ Type string }
		if json.Unmarshal(data, &e) != nil || slices.Contains([]string{"response.completed", "response.incomplete", "response.failed", "error"}, e.Type) {
			break
		}
	}
	return hear(resp.StatusCode, resp.Header, all.String())
}
