package gateway_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tidwall/gjson"

	"github.com/sotto-llm/sotto/gateway"
	"github.com/sotto-llm/sotto/gateway/routing"
	"github.com/sotto-llm/sotto/internal/testing/waiting"
)

const plainRequest = `{"model":"qwen3","messages":[{"role":"user","content":"CANARY of the user"}]}`

// A llamaServer renders as llama.cpp's server does: thinking is on unless the arguments of
// the template turn it off (tools/server/README.md, POST /apply-template).
type llamaServer struct {
	t     *testing.T
	asked atomic.Int32
	keys  sync.Map // values of Authorization
	block chan struct{}
}

func (s *llamaServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body := readAll(s.t, r.Body)
	s.keys.Store(r.Header.Get("Authorization"), true)
	if r.URL.Path != "/apply-template" {
		http.NotFound(w, r)
		return
	}
	s.asked.Add(1)
	if strings.Contains(body, "CANARY") {
		s.t.Errorf("the server got %s", body)
	}
	if s.block != nil {
		<-s.block
	}
	tail := "<think>\n"
	if v := gjson.Get(body, "chat_template_kwargs.enable_thinking"); v.Exists() && !v.Bool() {
		tail += "\n</think>\n\n"
	}
	w.Header().Set("Content-Type", "application/json")
	fmt.Fprintf(w, `{"prompt":%s}`, quoted("<|im_start|>user\n"+gjson.Get(body, "messages.0.content").Str+"<|im_end|>\n<|im_start|>assistant\n"+tail))
}

func (s *llamaServer) start() *httptest.Server {
	up := httptest.NewServer(s)
	s.t.Cleanup(up.Close)
	return up
}

func serverStart(t *testing.T, g *gateway.Handler, body string, header http.Header) string {
	t.Helper()
	start, mayOpen, separates, err := gateway.ServerStart(g, body, header)
	if err != nil {
		t.Fatal(err)
	}
	got := string(start)
	if mayOpen {
		got += " may open"
	}
	if separates {
		got += " separates"
	}
	return got
}

func withMember(member string) string { return strings.Replace(plainRequest, `{`, `{`+member+`,`, 1) }

// TestPromptIsAskedOnce asks for each model and switch once, however many wait; what it
// shows is of that switch. A known family's model is asked too.
func TestPromptIsAskedOnce(t *testing.T) {
	s := &llamaServer{t: t, block: make(chan struct{})}
	g := inFront(t, s.start().URL, withTemplates(gateway.Config{}))
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			if got := serverStart(t, g, plainRequest, nil); got != "inside:think" {
				t.Errorf("%q", got)
			}
		})
	}
	waiting.Until(t, "a question to the server", func() bool { return s.asked.Load() > 0 })
	close(s.block)
	all.Wait()
	for range 2 {
		if got := serverStart(t, g, withMember(`"chat_template_kwargs":{"enable_thinking":false}`), nil); got != "outside" {
			t.Errorf("thinking off: %q", got)
		}
		if got := serverStart(t, g, withMember(`"temperature":0.5`), nil); got != "inside:think" {
			t.Errorf("another member: %q", got)
		}
	}
	if n := s.asked.Load(); n != 2 {
		t.Errorf("asked %d times", n)
	}
	gateway.AgePrompts(g, time.Hour)
	serverStart(t, g, plainRequest, nil)
	if n := s.asked.Load(); n != 3 {
		t.Errorf("asked %d times after an hour", n)
	}
	if err := g.Reload(reloaded(t, s, withTemplates(gateway.Config{}))); err != nil {
		t.Fatal(err)
	}
	serverStart(t, g, plainRequest, nil)
	if n := s.asked.Load(); n != 4 {
		t.Errorf("asked %d times after a reload", n)
	}
}

// reloaded is a configuration with another server of the same kind.
func reloaded(t *testing.T, s *llamaServer, c gateway.Config) gateway.Config {
	t.Helper()
	u, err := url.Parse(s.start().URL)
	if err != nil {
		t.Fatal(err)
	}
	c.Upstream = u
	return c
}

// TestPromptSettings: which servers are asked is the operator's choice, and a start in
// the configuration needs no evidence.
func TestPromptSettings(t *testing.T) {
	for _, tt := range []struct {
		name   string
		config gateway.Config
		tls    bool
		want   string
	}{
		{"auto", gateway.Config{Templates: true}, false, "inside:think"},
		{"never", gateway.Config{Templates: true, AskUpstream: gateway.AskNever}, false, ""},
		{"not at all", gateway.Config{}, false, ""},
		{"configured", gateway.Config{Templates: true, Default: routing.Route{Start: "outside"}}, false, ""},
		{"TLS, auto", gateway.Config{Templates: true}, true, ""},
		{"TLS, always", gateway.Config{Templates: true, AskUpstream: gateway.AskAlways}, true, "inside:think"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := &llamaServer{t: t}
			up := s.start()
			c := tt.config
			target := up.URL
			if tt.tls { // by a name that is not this machine's
				target = "https://models.example"
				c.Transport = redirected{up}
			}
			got := serverStart(t, inFront(t, target, c), plainRequest, nil)
			if got != tt.want || tt.want == "" && s.asked.Load() != 0 {
				t.Errorf("%q after %d questions, want %q", got, s.asked.Load(), tt.want)
			}
		})
	}
	c := gateway.Config{AskUpstream: "sometimes", Upstream: &url.URL{Scheme: "http", Host: "localhost"}}
	if faults := c.Check(); len(faults) != 1 || !strings.Contains(faults[0].Error(), "ask-upstream") {
		t.Errorf("%v", faults)
	}
}

// Redirected sends every request to a server of the test.
type redirected struct{ to *httptest.Server }

func (r redirected) RoundTrip(req *http.Request) (*http.Response, error) {
	out := req.Clone(req.Context())
	out.URL.Scheme, out.URL.Host = "http", strings.TrimPrefix(r.to.URL, "http://")
	return http.DefaultTransport.RoundTrip(out)
}

// TestPromptKeys: the question carries the key of the upstream that it goes to, or the
// client's own, and no other.
func TestPromptKeys(t *testing.T) {
	first, second, own := &llamaServer{t: t}, &llamaServer{t: t}, &llamaServer{t: t}
	at := func(s *llamaServer) *url.URL {
		u, err := url.Parse(s.start().URL)
		if err != nil {
			t.Fatal(err)
		}
		return u
	}
	g := inFront(t, at(first).String(), gateway.Config{
		Templates: true, UpstreamKey: "key-of-first",
		Upstreams: map[string]gateway.Upstream{"b": {URL: at(second), Key: "key-of-second"}, "c": {URL: at(own)}},
		Routes:    []routing.Route{{Models: []string{"qwen3-b"}, Upstream: "b"}, {Models: []string{"qwen3-c"}, Upstream: "c"}},
	})
	header := http.Header{"Authorization": {"Bearer client"}}
	for model, s := range map[string]*llamaServer{"qwen3": first, "qwen3-b": second, "qwen3-c": own} {
		if got := serverStart(t, g, strings.Replace(plainRequest, `"qwen3"`, `"`+model+`"`, 1), header.Clone()); got != "inside:think" {
			t.Errorf("%s: %q", model, got)
		}
		want := map[*llamaServer]string{first: "Bearer key-of-first", second: "Bearer key-of-second", own: "Bearer client"}[s]
		s.keys.Range(func(key, _ any) bool {
			if key != want {
				t.Errorf("%s got the key %q, want %q", model, key, want)
			}
			return true
		})
	}
}

// TestPromptHostile: an upstream that answers too much, too deep, too late or wrongly
// shows nothing, makes no request wait for long, and leaves no memory reserved.
func TestPromptHostile(t *testing.T) {
	const prompt = `Hi<|im_end|><|im_start|>assistant\n<think>\n`
	slow := make(chan struct{})
	t.Cleanup(func() { close(slow) })
	for name, answer := range map[string]func(w http.ResponseWriter, r *http.Request){
		"huge": func(w http.ResponseWriter, _ *http.Request) {
			fmt.Fprint(w, `{"prompt":"`, strings.Repeat("x", 5<<20), prompt, `"}`)
		},
		"deep": func(w http.ResponseWriter, _ *http.Request) {
			fmt.Fprint(w, `{"x":`, strings.Repeat("[", 100_000), strings.Repeat("]", 100_000), `,"prompt":"`, prompt, `"}`)
		},
		"not JSON":   func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, prompt) },
		"other type": func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, `{"prompt":{"a":"`, prompt, `"}}`) },
		"not asked":  func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, `{"prompt":"<think>"}`) },
		"elsewhere": func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "/apply-template?again", http.StatusTemporaryRedirect)
		},
		"hangs up": func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) },
		"slow": func(w http.ResponseWriter, r *http.Request) {
			w.(http.Flusher).Flush()
			select {
			case <-r.Context().Done():
			case <-slow:
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			up := httptest.NewServer(http.HandlerFunc(answer))
			t.Cleanup(up.Close)
			g := inFront(t, up.URL, withTemplates(gateway.Config{}))
			before := gateway.Used(g)
			began := time.Now()
			if got := serverStart(t, g, plainRequest, nil); got != "" {
				t.Errorf("%q", got)
			}
			if took := time.Since(began); took > time.Minute {
				t.Errorf("it took %s", took)
			}
			if used := gateway.Used(g); used != before {
				t.Errorf("%d bytes stay reserved", used-before)
			}
		})
	}
}

// TestPromptsAreBounded: models are chosen by clients, and answers about them do not
// collect.
func TestPromptsAreBounded(t *testing.T) {
	s := &llamaServer{t: t}
	c := withTemplates(gateway.Config{})
	c.Limits.Learned = 4
	g := inFront(t, s.start().URL, c)
	for i := range 20 {
		serverStart(t, g, strings.Replace(plainRequest, `"qwen3"`, fmt.Sprintf(`"m%d"`, i), 1), nil)
		if n := gateway.PromptsAsked(g); n > 4 {
			t.Fatalf("%d answers are kept", n)
		}
	}
}

// TestPromptsOfDoctor reads what sotto doctor kept for a server that is not asked. What
// the server answers itself takes precedence, and what is old does not count.
func TestPromptsOfDoctor(t *testing.T) {
	folder := func(entry string) string {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "prompts.json"), []byte(`{"v":1,"prompts":[`+entry+`]}`), 0o600); err != nil {
			t.Fatal(err)
		}
		return dir
	}
	now := time.Now().UTC().Format(time.RFC3339)
	entry := `{"upstream":"models.example","model":"qwen3","start":"outside","seen":"` + now + `"}`
	for _, tt := range []struct{ name, entry, body, want string }{
		{"kept", entry, plainRequest, "outside"},
		{"another switch", entry, withMember(`"chat_template_kwargs":{"enable_thinking":true}`), ""},
		{"this switch", strings.Replace(entry, `"start"`, `"members":"{\"chat_template_kwargs\":{\"enable_thinking\":true}}","start"`, 1), withMember(`"chat_template_kwargs":{"enable_thinking":true}`), "outside"},
		{"altered", entry, withMember(`"chat_template":"x"`), " may open"},
		{"another model", strings.Replace(entry, "qwen3", "qwen2", 1), plainRequest, ""},
		{"another upstream", strings.Replace(entry, "models", "other", 1), plainRequest, ""},
		{"old", strings.Replace(entry, now, "2020-01-01T00:00:00Z", 1), plainRequest, ""},
		{"an unknown block", strings.Replace(entry, "outside", "inside:frob", 1), plainRequest, " may open"},
		{"no start", strings.Replace(entry, "outside", "sideways", 1), plainRequest, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			g := inFront(t, "https://models.example/v1", gateway.Config{Templates: true, Data: folder(tt.entry)})
			if got := serverStart(t, g, tt.body, nil); got != tt.want {
				t.Errorf("%q, want %q", got, tt.want)
			}
		})
	}
	s := &llamaServer{t: t}
	up := s.start()
	own := strings.Replace(entry, "models.example", strings.TrimPrefix(up.URL, "http://"), 1)
	if got := serverStart(t, inFront(t, up.URL, gateway.Config{Templates: true, Data: folder(own)}), plainRequest, nil); got != "inside:think" {
		t.Errorf("the server's own answer: %q", got)
	}
	if _, err := gateway.New(gateway.Config{Upstream: &url.URL{Scheme: "http", Host: "localhost"}, Data: folder(`{`)}); err == nil || !strings.Contains(err.Error(), "prompts.json") {
		t.Errorf("a damaged file: %v", err)
	}
}
