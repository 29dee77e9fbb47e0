package gateway_test

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tidwall/gjson"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/gateway"
	"github.com/sotto-llm/sotto/gateway/routing"
	"github.com/sotto-llm/sotto/history"
)

// A place is one of several upstreams: a real server that notes what it gets, byte for
// byte, and answers with its name.
type place struct {
	*httptest.Server
	name   string
	mu     sync.Mutex
	got    []string // whole requests
	answer func(w http.ResponseWriter, r *http.Request) bool
	open   int           // connections
	closed chan struct{} // something is sent when there are no more
}

func newPlace(t testing.TB, name string) *place {
	t.Helper()
	p := &place{name: name, closed: make(chan struct{}, 100)}
	p.Server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		text, err := httputil.DumpRequest(r, true)
		if err != nil {
			t.Error(err)
		}
		p.mu.Lock()
		p.got = append(p.got, string(text))
		answer := p.answer
		p.mu.Unlock()
		w.Header().Set("X-Request-Id", name)
		w.Header().Set("Set-Cookie", "session=of-"+name)
		if answer == nil || !answer(w, r) {
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprintf(w, `{"id":"made-by-%s-1","object":"thing","place":%q}`, name, name)
		}
	}))
	p.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		p.mu.Lock()
		defer p.mu.Unlock()
		switch state {
		case http.StateNew:
			p.open++
		case http.StateClosed:
			if p.open--; p.open == 0 && len(p.closed) < cap(p.closed) {
				p.closed <- struct{}{}
			}
		}
	}
	p.Start()
	t.Cleanup(p.Close)
	return p
}

// answers sets how the place answers. A function that returns false leaves it to the place.
func (p *place) answers(f func(w http.ResponseWriter, r *http.Request) bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.answer = f
}

// heard returns the requests so far, and forgets them.
func (p *place) heard() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	got := p.got
	p.got = nil
	return got
}

func (p *place) at(t testing.TB) *url.URL {
	t.Helper()
	u, err := url.Parse(p.URL)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

// places are three upstreams: a serves what no route takes, b the models b-…, and c the
// models c-… and has no key.
type places struct{ a, b, c *place }

func newPlaces(t testing.TB) *places {
	return &places{newPlace(t, "a"), newPlace(t, "b"), newPlace(t, "c")}
}

// config is a configuration with the three upstreams.
func (p *places) config(t testing.TB) gateway.Config {
	return gateway.Config{
		Upstream: p.a.at(t), UpstreamKey: "canary-key-of-a",
		Upstreams: map[string]gateway.Upstream{"b": {URL: p.b.at(t), Key: "canary-key-of-b"}, "c": {URL: p.c.at(t)}},
		Routes:    []routing.Route{{Name: "to-b", Models: []string{"b-*"}, Upstream: "b"}, {Name: "to-c", Models: []string{"c-*"}, Upstream: "c"}},
	}
}

func (p *places) all() []*place { return []*place{p.a, p.b, p.c} }

// only requires that one place alone was asked, and returns what it got.
func (p *places) only(t testing.TB, want *place) string {
	t.Helper()
	var got []string
	for _, one := range p.all() {
		heard := one.heard()
		if one != want && len(heard) > 0 {
			t.Errorf("%s was asked, not %s:\n%.600s", one.name, want.name, heard[0])
		}
		if one == want {
			got = heard
		}
	}
	if len(got) == 0 {
		t.Fatalf("%s was not asked", want.name)
	}
	return strings.Join(got, "\n")
}

// speaking answers as an upstream of one API.
func speaking(s speaker, raw string) func(w http.ResponseWriter, r *http.Request) bool {
	return func(w http.ResponseWriter, r *http.Request) bool {
		body, _ := io.ReadAll(r.Body)
		stream := gjson.GetBytes(body, "stream").Bool() || strings.Contains(r.URL.Path, "tream") || s.codec.Name() == "ollama.chat" && !gjson.GetBytes(body, "stream").Exists()
		w.Header().Set("Content-Type", s.kind(stream))
		if stream {
			_, _ = io.WriteString(w, s.stream(inPieces(raw, 7), sotto.EndStopped))
		} else {
			_, _ = io.WriteString(w, s.whole(raw, sotto.EndStopped))
		}
		return true
	}
}

// credentialsOfClient are the ways in which a client sends a key.
func credentialsOfClient(key string) map[string]func(r *http.Request) {
	header := func(name, value string) func(r *http.Request) {
		return func(r *http.Request) { r.Header.Set(name, value) }
	}
	return map[string]func(r *http.Request){
		"bearer": header("Authorization", "Bearer "+key), "x-api-key": header("X-Api-Key", key), "google": header("X-Goog-Api-Key", key),
		"azure": header("Api-Key", key), "unknown": header("X-Unknown-Header", "a="+key), "cookie": header("Cookie", "session="+key),
		"query": func(r *http.Request) { r.URL.RawQuery = url.Values{"whatever": {key}}.Encode() },
	}
}

// TestUpstreamKeys: whatever a client asks for, in any API, and whatever it sends, no
// upstream gets the key of another, a token of the gateway, or a cookie; an upstream with
// a key of its own gets no key of the client.
func TestUpstreamKeys(t *testing.T) {
	p := newPlaces(t)
	ask := func(t *testing.T, g http.Handler, s speaker, model string, stream bool, with func(r *http.Request)) {
		t.Helper()
		v := &conversation{s: s}
		body := v.request(model, stream, "")
		r := httptest.NewRequest("POST", addressed(s.path, body), strings.NewReader(body))
		r.Host = "localhost"
		r.Header.Set("Content-Type", "application/json")
		with(r)
		w := httptest.NewRecorder()
		g.ServeHTTP(w, r)
		if w.Code != http.StatusOK || w.Header().Get("Set-Cookie") != "" {
			t.Errorf("%s: %d %v %s", model, w.Code, w.Header(), w.Body)
		}
	}
	each(t, func(t *testing.T, s speaker) {
		for _, one := range p.all() {
			one.answers(speaking(s, "<think>a</think>b"))
		}
		for _, token := range []string{"", "canary-token-of-the-gateway"} {
			c := p.config(t)
			c.Token = token
			g := gatewayOf(t, c)
			for _, key := range []string{"canary-key-of-a", "canary-key-of-b", "canary-own-key"} {
				for how, with := range credentialsOfClient(key) {
					for model, want := range map[string]*place{"other": p.a, "b-1": p.b, "c-1": p.c} {
						ask(t, g, s, model, how == "bearer", func(r *http.Request) {
							with(r)
							if token != "" {
								r.Header.Set("Authorization", "Bearer "+token)
							}
						})
						got := p.only(t, want)
						for _, secret := range []string{"canary-key-of-a", "canary-key-of-b", "canary-token", "session="} {
							own := secret == "canary-key-of-"+want.name
							if strings.Contains(got, secret) != own {
								t.Errorf("token %q, %s as %s, to %s: %q is there: %v\n%s", token, key, how, want.name, secret, !own, got)
							}
						}
						if n := strings.Count(got, "canary-key-of-"+want.name); n > 2 { // as two headers, if the client's stays beside it
							t.Errorf("%s got its key %d times:\n%s", want.name, n, got)
						}
						named := how != "unknown" && how != "query" && how != "cookie"
						passes := token == "" && want == p.c && key == "canary-own-key"
						if named && strings.Contains(got, "canary-own-key") != passes {
							t.Errorf("token %q, %s as %s, to %s: the client's own key passes: %v\n%s", token, key, how, want.name, !passes, got)
						}
					}
				}
			}
		}
	})
}

// gatewayOf is a gateway of a configuration, which is closed at the end.
func gatewayOf(t testing.TB, c gateway.Config) *gateway.Handler {
	t.Helper()
	g, err := gateway.New(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := g.Close(); err != nil {
			t.Error(err)
		}
	})
	return g
}

// get sends a request without a model.
func get(g http.Handler, method, path, body string, header ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, path, strings.NewReader(body))
	if body == "" {
		r = httptest.NewRequest(method, path, http.NoBody)
	}
	r.Host = "localhost"
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	g.ServeHTTP(w, r)
	return w
}

// TestUpstreamOfARequest: what names a model goes to the model's upstream, and what names
// none goes where a model of any name would go.
func TestUpstreamOfARequest(t *testing.T) {
	p := newPlaces(t)
	g := gatewayOf(t, p.config(t))
	const form = "--X\r\nContent-Disposition: form-data; name=\"file\"; filename=\"a.wav\"\r\n\r\nb-\r\n--X\r\nContent-Disposition: form-data; name=\"model\"\r\n\r\nb-whisper\r\n--X--\r\n"
	for _, tt := range []struct {
		method, path, body string
		want               *place
	}{
		{"POST", "/v1/embeddings", `{"model":"b-embed","input":"x"}`, p.b},
		{"POST", "/v1/embeddings", `{"model":"org/B-Embed:1","input":"x"}`, p.b},
		{"POST", "/v1/embeddings", `{"model":"other"}`, p.a},
		{"POST", "/v1/embeddings", `{"model":7}`, p.a},
		{"POST", "/v1/embeddings", `not JSON`, p.a},
		{"POST", "/v1/embeddings", `{"model":"c-large","input":"` + strings.Repeat("x", 2<<20) + `"}`, p.c},
		{"POST", "/api/show", `{"name":"b-8b"}`, p.b},
		{"POST", "/v1/messages/count_tokens", `{"model":"c-1"}`, p.c},
		{"POST", "/v1/messages/batches", `{"requests":[{"custom_id":"1","params":{"model":"b-1"}}]}`, p.b},
		{"POST", "/v1beta/models/c-flash:countTokens", `{}`, p.c},
		{"POST", "/v1beta/models/c-flash:embedContent", `{}`, p.c},
		{"POST", "/model/b-claude/count-tokens", `{}`, p.b},
		{"POST", "/openai/deployments/b-azure/chat/completions", `{"messages":[{"role":"user","content":"x"}]}`, p.b},
		{"GET", "/v1/models/b-1", "", p.b},
		{"GET", "/v1/models/org/c-1", "", p.c},
		{"GET", "/v1/models/other", "", p.a},
		{"GET", "/health", "", p.a},
		{"GET", "/nothing/known", "", p.a},
		{"POST", "/v1/audio/transcriptions", form, p.b},
		{"GET", "/v1/responses/resp_unknown_1", "", p.a},
	} {
		kind := "application/json"
		if tt.body == form {
			kind = "multipart/form-data; boundary=X"
		}
		if w := get(g, tt.method, tt.path, tt.body, "Content-Type", kind); w.Header().Get("X-Request-Id") != tt.want.name {
			t.Errorf("%s %s %.40s: %d from %q, not %s: %s", tt.method, tt.path, tt.body, w.Code, w.Header().Get("X-Request-Id"), tt.want.name, w.Body)
		}
		if got := p.only(t, tt.want); tt.body != "" && !strings.Contains(got, tt.body) {
			t.Errorf("%s %s: the upstream got %.300s", tt.method, tt.path, got)
		}
	}
}

// TestUpstreamOfAnAPI: a route with an API and without models takes what names no model.
func TestUpstreamOfAnAPI(t *testing.T) {
	p := newPlaces(t)
	c := p.config(t)
	c.Routes = append(c.Routes, routing.Route{APIs: []string{"openai.responses"}, Upstream: "c"})
	g := gatewayOf(t, c)
	for path, want := range map[string]*place{"/v1/responses/resp_unknown_1": p.c, "/v1/conversations/conv_unknown_1": p.c, "/v1/files/file-unknown-1": p.a} {
		get(g, "GET", path, "")
		p.only(t, want)
	}
}

// A lockedText is a log that several goroutines write.
type lockedText struct {
	mu sync.Mutex
	b  strings.Builder
}

func (l *lockedText) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(b)
}

func (l *lockedText) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// TestUpstreamTurns: over one WebSocket, each turn goes where its model leads, with the key
// of that upstream alone.
func TestUpstreamTurns(t *testing.T) {
	p := newPlaces(t)
	s := speakerOf(t, "openai.responses")
	for _, one := range p.all() {
		one.answers(speaking(s, "<think>a</think>b"))
	}
	srv := httptest.NewServer(gatewayOf(t, p.config(t)))
	t.Cleanup(srv.Close)
	talk, _, err := connect(t, srv.URL, http.Header{"Authorization": {"Bearer canary-key-of-b"}})
	if err != nil {
		t.Fatal(err)
	}
	for _, turn := range []struct {
		model string
		want  *place
	}{{"b-1", p.b}, {"other", p.a}, {"c-1", p.c}, {"b-1", p.b}} {
		talk.send(`{"type":"response.create","model":"` + turn.model + `","store":false,"input":"x"}`)
		for ended := false; !ended; {
			e := talk.hear()
			if ended = e.Get("type").Str == "response.completed"; e.Get("type").Str == "error" {
				t.Fatalf("%s: %s", turn.model, e.Raw)
			}
		}
		got := p.only(t, turn.want)
		for _, secret := range []string{"canary-key-of-a", "canary-key-of-b"} {
			if strings.Contains(got, secret) != (secret == "canary-key-of-"+turn.want.name) {
				t.Errorf("%s got:\n%s", turn.want.name, got)
			}
		}
	}
}

// TestUpstreamReload: requests follow the configuration in force, a stream that has begun
// stays with its upstream, and the connections to an upstream that is gone are closed.
func TestUpstreamReload(t *testing.T) {
	p := newPlaces(t)
	s := speakers[0]
	next := make(chan struct{})
	p.b.answers(func(w http.ResponseWriter, r *http.Request) bool {
		w.Header().Set("Content-Type", s.kind(true))
		_, _ = io.WriteString(w, s.open+s.say("one "))
		w.(http.Flusher).Flush()
		<-next
		_, _ = io.WriteString(w, s.say("two")+s.finish("one two", sotto.EndStopped))
		return true
	})
	g := gatewayOf(t, p.config(t))
	srv := httptest.NewServer(g)
	t.Cleanup(srv.Close)
	resp, err := http.Post(srv.URL+s.path, "application/json", strings.NewReader((&conversation{s: s}).request("b-1", true, "")))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	first := make([]byte, 1)
	if _, err := io.ReadFull(resp.Body, first); err != nil {
		t.Fatal(err)
	}
	c := p.config(t)
	c.Upstreams["b"] = gateway.Upstream{URL: p.c.at(t), Key: "canary-key-of-new-b"}
	if err := g.Reload(c); err != nil {
		t.Fatal(err)
	}
	p.only(t, p.b)
	p.c.answers(speaking(s, "new"))
	if w := ask(g, s.path, (&conversation{s: s}).request("b-1", true, "")); w.Code != 200 {
		t.Error(w.Body)
	}
	if got := p.only(t, p.c); !strings.Contains(got, "canary-key-of-new-b") || strings.Contains(got, "canary-key-of-b") {
		t.Errorf("the new upstream got:\n%s", got)
	}
	close(next)
	rest, err := io.ReadAll(resp.Body)
	if h := s.listen(t, append(first, rest...)); err != nil || string(h.text) != "one two" {
		t.Errorf("the stream has %q, %v", h.text, err)
	}
	select {
	case <-p.b.closed:
	case <-time.After(time.Minute):
		t.Error("a connection to the upstream that is gone is open")
	}
}

// TestUpstreamFaults: what is wrong with upstreams is said where it is.
func TestUpstreamFaults(t *testing.T) {
	good := &url.URL{Scheme: "http", Host: "b"}
	for want, c := range map[string]gateway.Config{
		`routes[0].upstream: "d" is not the name of an upstream: want one of b`: {Upstreams: map[string]gateway.Upstream{"b": {URL: good}}, Routes: []routing.Route{{Upstream: "d"}}},
		`upstream: "d" is not the name of an upstream`:                          {Default: routing.Route{Upstream: "d"}},
		`upstreams.default: this is the name of the upstream`:                   {Upstreams: map[string]gateway.Upstream{"default": {URL: good}}},
		`upstreams.B: "B": want up to 32 lower-case`:                            {Upstreams: map[string]gateway.Upstream{"B": {URL: good}}},
		`upstreams.b.url: none is given`:                                        {Upstreams: map[string]gateway.Upstream{"b": {}}},
		`upstreams.b.silence: is negative`:                                      {Upstreams: map[string]gateway.Upstream{"b": {URL: good, Silence: -1}}},
		`upstreams.b.header-timeout: is negative`:                               {Upstreams: map[string]gateway.Upstream{"b": {URL: good, HeaderTimeout: -1}}},
		`upstreams.b.retries: 11: want 0 to 10`:                                 {Upstreams: map[string]gateway.Upstream{"b": {URL: good, Retries: 11}}},
		`upstream-retries: -1: want 0 to 10`:                                    {UpstreamRetries: -1},
	} {
		c.Upstream = &url.URL{Scheme: "http", Host: "a"}
		if _, err := gateway.New(c); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, not %s", err, want)
		}
	}
}

// TestUpstreamFacts: what is learned and what is remembered of a model belong to one
// upstream, also of two with one address.
func TestUpstreamFacts(t *testing.T) {
	p := newPlaces(t)
	s := speakers[0]
	for _, one := range p.all() {
		one.answers(speaking(s, "a\n</think>\nb"))
	}
	c := p.config(t)
	one, two := p.b.at(t), p.b.at(t)
	one.Path, two.Path = "/one/v1", "/two/v1"
	c.Upstreams = map[string]gateway.Upstream{"b": {URL: one}, "c": {URL: two}}
	g := gatewayOf(t, c)
	for _, model := range []string{"b-1", "c-1", "other"} {
		ask(g, s.path, (&conversation{s: s}).request(model, true, ""))
	}
	var facts []string
	for _, l := range g.Learned().Starts() {
		facts = append(facts, l.Upstream+" "+l.Model)
	}
	want := []string{one.Host + "/one/v1 b-1", one.Host + "/two/v1 c-1", p.a.at(t).Host + " other"}
	slices.Sort(facts)
	slices.Sort(want)
	if !slices.Equal(facts, want) {
		t.Errorf("learned of %q, not %q", facts, want)
	}
}

// TestUpstreamRestore: the reasoning of one upstream's model is put back for it, and not
// for another upstream that serves the model later.
func TestUpstreamRestore(t *testing.T) {
	const talk = `{"role":"user","content":"hi"},{"role":"assistant","content":"",%s"tool_calls":[{"id":"call_01ab23CD","type":"function","function":{"name":"look","arguments":"{}"}}]}`
	p := newPlaces(t)
	for _, one := range p.all() {
		one.answers(func(w http.ResponseWriter, _ *http.Request) bool {
			w.Header().Set("Content-Type", "application/json")
			_, message, _ := strings.Cut(talk, "},")
			fmt.Fprintf(w, `{"choices":[{"index":0,"message":%s,"finish_reason":"tool_calls"}]}`, fmt.Sprintf(message, `"reasoning_content":"canary-thought",`))
			return true
		})
	}
	c := p.config(t)
	c.Default.History = history.Restore
	g := gatewayOf(t, c)
	second := `{"model":"b-1","messages":[` + fmt.Sprintf(talk, "") + `,{"role":"tool","tool_call_id":"call_01ab23CD","content":"4"}]}`
	ask(g, "/v1/chat/completions", `{"model":"b-1","messages":[{"role":"user","content":"hi"}]}`)
	ask(g, "/v1/chat/completions", second)
	if got := p.only(t, p.b); !strings.Contains(got, "canary-thought") {
		t.Errorf("it is not restored for its own upstream:\n%s", got)
	}
	c.Routes[0].Upstream = "c"
	if err := g.Reload(c); err != nil {
		t.Fatal(err)
	}
	ask(g, "/v1/chat/completions", second)
	if got := p.only(t, p.c); strings.Contains(got, "canary-thought") {
		t.Errorf("another upstream got it:\n%s", got)
	}
}
