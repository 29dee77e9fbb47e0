package access_test

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/a2aserver"
	"github.com/sotto-llm/sotto/gateway"
	"github.com/sotto-llm/sotto/internal/net/access"
)

// A mind answers with a word.
type mind struct{}

func (mind) Answer(context.Context, a2aserver.Turn, func(a2aserver.Event) error) (a2aserver.Outcome, error) {
	return a2aserver.Outcome{Text: "Yes.", End: sotto.EndStopped}, nil
}

// servers starts a gateway before an upstream, and an agent, on one address, as
// sotto serve does.
func servers(t *testing.T, tokens []access.Token) string {
	t.Helper()
	up := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"object":"list","data":[]}`)
	}))
	t.Cleanup(up.Close)
	base, err := url.Parse(up.URL)
	if err != nil {
		t.Fatal(err)
	}
	origins := []string{"https://chat.example"}
	g, err := gateway.New(gateway.Config{Upstream: base, Tokens: tokens, AllowOrigins: origins, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	a, err := a2aserver.New(a2aserver.Config{Mind: mind{}, Tokens: tokens, AllowOrigins: origins})
	if err != nil {
		t.Fatal(err)
	}
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if a2aserver.IsProtocolPath(r.URL.Path) {
			a.ServeHTTP(w, r)
			return
		}
		g.ServeHTTP(w, r)
	}))
	t.Cleanup(func() {
		if err := a.Close(); err != nil {
			t.Error(err)
		}
		web.Close()
		if err := g.Close(); err != nil {
			t.Error(err)
		}
	})
	return web.URL
}

func ask(t *testing.T, method, url, body string, headers ...string) (int, http.Header, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res.StatusCode, res.Header, string(text)
}

// paths are what the servers of one address have, and the scope that each needs.
var paths = []struct {
	method, path, body string
	scope              access.Scope // if empty, no token is needed
	form               string       // where the reason stands in the API's own errors
}{
	{"GET", "/healthz", "", "", ""},
	{"GET", "/readyz", "", "", ""},
	{"GET", "/metrics", "", access.Metrics, "error.message"},
	{"GET", "/v1/models", "", access.Models, "error.message"},
	{"POST", "/v1/chat/completions", `{"model":"m","messages":[]}`, access.Models, "error.message"},
	{"POST", "/v1/completions", `{"model":"m","prompt":""}`, access.Models, "error.message"},
	{"POST", "/v1/responses", `{"model":"m","input":""}`, access.Models, "error.message"},
	{"POST", "/v1/messages", `{"model":"m","messages":[]}`, access.Models, "error.message"},
	{"POST", "/api/chat", `{"model":"m","messages":[]}`, access.Models, "error"},
	{"POST", "/api/generate", `{"model":"m","prompt":""}`, access.Models, "error"},
	{"DELETE", "/api/delete", "", access.Operator, "error"},
	{"GET", "/a/path/of/the/upstream", "", access.Operator, "error.message"},
	{"GET", "/.well-known/agent-card.json", "", "", ""},
	{"GET", "/.well-known/agent.json", "", "", ""},
	{"POST", "/a2a", `{"jsonrpc":"2.0","id":1,"method":"ListTasks","params":{}}`, access.Agent, "error.message"},
	{"GET", "/a2a/rest/tasks", "", access.Agent, "error.message"},
	{"GET", "/a2a/rest/extendedAgentCard", "", access.Agent, "error.message"},
	{"POST", "/a2a/v0.3", `{"jsonrpc":"2.0","id":1,"method":"tasks/get","params":{"id":"x"}}`, access.Agent, "error.message"},
}

// TestScopes: a token opens the paths of its scopes and no others, on the gateway
// and on the agent alike. A wrong token opens nothing, and no page needs a token to
// ask whether it may send one.
func TestScopes(t *testing.T) {
	tokens := []access.Token{{Name: "everything", Secret: "s-everything"}}
	for _, s := range access.Scopes() {
		tokens = append(tokens, access.Token{Name: string(s) + "-only", Secret: "s-" + string(s), Scopes: []access.Scope{s}})
	}
	tokens = append(tokens, access.Token{Name: "two", Secret: "s-two", Scopes: []access.Scope{access.Models, access.Agent}})
	base := servers(t, tokens)
	for _, p := range paths {
		for _, token := range tokens {
			status, header, text := ask(t, p.method, base+p.path, p.body, "Authorization", "Bearer "+token.Secret)
			opens := p.scope == "" || len(token.Scopes) == 0 || slices.Contains(token.Scopes, p.scope) ||
				p.scope == access.Metrics && slices.Contains(token.Scopes, access.Console)
			if opens != (status == http.StatusOK) || !opens && status != http.StatusForbidden {
				t.Errorf("%s %s with the token %s: %d %s", p.method, p.path, token.Name, status, text)
			}
			if opens {
				continue
			}
			if why := message(t, text, p.form); !strings.Contains(why, `"`+token.Name+`"`) || !strings.Contains(why, `"`+string(p.scope)+`"`) || strings.Contains(text, token.Secret) {
				t.Errorf("%s %s with the token %s: %s", p.method, p.path, token.Name, text)
			}
			if got := header.Get("WWW-Authenticate"); !strings.Contains(got, `scope="`+string(p.scope)+`"`) {
				t.Errorf("%s %s: WWW-Authenticate %s", p.method, p.path, got)
			}
		}
		for _, wrong := range []string{"", "s-everythin", "s-everything2", "S-EVERYTHING", "everything", "s-models s-agent"} {
			status, header, text := ask(t, p.method, base+p.path, p.body, "X-Api-Key", wrong)
			want := map[bool]int{true: http.StatusOK, false: http.StatusUnauthorized}[p.scope == ""]
			if status != want {
				t.Errorf("%s %s with the key %q: %d %s", p.method, p.path, wrong, status, text)
			}
			if want == http.StatusUnauthorized && (message(t, text, p.form) == "" || header.Get("WWW-Authenticate") == "") {
				t.Errorf("%s %s with the key %q: %s", p.method, p.path, wrong, text)
			}
		}
		preflight(t, base, p.method, p.path)
	}
}

// preflight asks as a browser does, before it sends a page's request. The page's
// token is not in it.
func preflight(t *testing.T, base, method, path string) {
	t.Helper()
	status, header, _ := ask(t, "OPTIONS", base+path, "", "Origin", "https://chat.example",
		"Access-Control-Request-Method", method, "Access-Control-Request-Headers", "authorization")
	if status != http.StatusNoContent || header.Get("Access-Control-Allow-Origin") != "https://chat.example" ||
		header.Get("Access-Control-Allow-Headers") != "authorization" {
		t.Errorf("preflight of %s %s: %d %v", method, path, status, header)
	}
	for _, token := range []string{"", "Bearer s-everything"} { // a token does not make a page welcome
		status, header, text := ask(t, "OPTIONS", base+path, "", "Origin", "https://evil.example", "Authorization", token,
			"Access-Control-Request-Method", method, "Access-Control-Request-Headers", "authorization")
		if status != http.StatusForbidden || header.Get("Access-Control-Allow-Origin") != "" {
			t.Errorf("preflight of another page, %s %s: %d %s", method, path, status, text)
		}
	}
}

// TestPreflightMethods: a page may use the methods that the server's API has.
func TestPreflightMethods(t *testing.T) {
	base := servers(t, nil)
	for path, want := range map[string]string{"/v1/models": "GET, POST, OPTIONS", "/a2a/rest/tasks": "GET, POST, DELETE, OPTIONS"} {
		_, header, _ := ask(t, "OPTIONS", base+path, "", "Origin", "https://chat.example", "Access-Control-Request-Method", "GET")
		if got := header.Get("Access-Control-Allow-Methods"); got != want {
			t.Errorf("%s: %s, want %s", path, got, want)
		}
	}
}

// message returns the text of an error at a path of its JSON.
func message(t *testing.T, text, path string) string {
	t.Helper()
	var at any
	if err := json.Unmarshal([]byte(text), &at); err != nil {
		t.Errorf("%s: %v", text, err)
	}
	for name := range strings.SplitSeq(path, ".") {
		members, _ := at.(map[string]any)
		at = members[name]
	}
	s, _ := at.(string)
	return s
}

// TestCheck: the faults of tokens are found, and none contains a secret.
func TestCheck(t *testing.T) {
	for _, c := range []struct {
		tokens []access.Token
		want   string
	}{
		{nil, ""},
		{[]access.Token{{Name: "a", Secret: "canary1"}, {Name: "b", Secret: "canary2", Scopes: access.Scopes()}}, ""},
		{[]access.Token{{Secret: "canary1"}}, `token "": its name must have`},
		{[]access.Token{{Name: "a b", Secret: "canary1"}}, `token "a b": its name must have`},
		{[]access.Token{{Name: strings.Repeat("a", 65), Secret: "canary1"}}, "its name must have"},
		{[]access.Token{{Name: "a"}}, `token "a": it has no value`},
		{[]access.Token{{Name: "a", Secret: "canary1", Scopes: []access.Scope{access.Agent, access.Models}}, {Name: "a", Hash: access.HashOf("canary2"), Scopes: []access.Scope{access.Models, access.Agent}}}, ""},
		{[]access.Token{{Name: "a", Secret: "canary1"}, {Name: "a", Secret: "canary2", Scopes: []access.Scope{access.Models}}}, `token "a": two tokens have this name, and differ`},
		{[]access.Token{{Name: "a", Secret: "canary1"}, {Name: "a", Hash: access.HashOf("canary1")}}, `token "a": one of its values is there twice`},
		{[]access.Token{{Name: "a", Secret: "canary1"}, {Name: "b", Hash: access.HashOf("canary1")}}, `token "b": it has the same value as the token "a"`},
		{[]access.Token{{Name: "a", Secret: "canary1", Hash: access.HashOf("canary1")}}, `token "a": it has a secret and a hash`},
		{[]access.Token{{Name: "a", Hash: "canary1"}}, `token "a": its hash is not sha256: and 64 hexadecimal digits`},
		{[]access.Token{{Name: "a", Hash: access.HashOf("canary1")[:70]}}, `token "a": its hash is not sha256:`},
		{[]access.Token{{Name: "a", Secret: "canary1"}, {Name: "b", Secret: "canary1"}}, `token "b": it has the same value as the token "a"`},
		{[]access.Token{{Name: "a", Secret: "canary1", Scopes: []access.Scope{"modles"}}}, `token "a": unknown scope "modles": did you mean "models"?`},
		{[]access.Token{{Name: "a", Secret: "canary1", Scopes: []access.Scope{""}}}, `token "a": unknown scope ""`},
	} {
		var got string
		for _, err := range access.Check(c.tokens) {
			got += err.Error()
		}
		if !strings.Contains(got, c.want) || c.want == "" && got != "" || strings.Contains(got, "canary") {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}
