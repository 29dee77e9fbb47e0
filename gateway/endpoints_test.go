package gateway_test

import (
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/sotto-llm/sotto/gateway"
	"github.com/sotto-llm/sotto/gateway/routing"
	"github.com/sotto-llm/sotto/internal/check/scripted"
)

// sample is a path and method that a row of the table is about.
func sample(e gateway.Endpoint) (method, path string) {
	path = strings.NewReplacer("{...}", "a/b", "{}:{}", "m:rawPredict", "{}", "m").Replace(e.Path)
	switch methods := strings.Fields(e.Methods); {
	case len(methods) > 0:
		return methods[0], path
	case e.Kind == "unread":
		return http.MethodGet, path
	}
	return http.MethodPost, path
}

// sampleBody is a body of a request for a row, where only that tells it from another API's at the same path.
func sampleBody(e gateway.Endpoint) string {
	if e.Kind == "unread" && strings.HasPrefix(e.Path, "/v1/conversations") {
		return `{"metadata":{}}`
	}
	return ""
}

// TestEndpoints is the rule for each row of the table, also for rows to come: what
// it is decides whether its requests come in from other machines, and whether they
// pass where reasoning is hidden.
func TestEndpoints(t *testing.T) {
	hide := routing.Route{Display: routing.DisplayHide}
	for _, e := range gateway.Endpoints() {
		method, path := sample(e)
		v := visit{method: method, path: path, body: sampleBody(e)}
		status := func(c gateway.Config) int {
			w, reached := v.call(t, c)
			if reached != nil {
				return http.StatusOK // what the upstream says does not matter here
			}
			if own := e.Kind == "own" || e.Kind == "probe"; w.Code == http.StatusOK && !own {
				t.Errorf("%s %s is answered by the gateway", method, path)
			}
			return w.Code
		}
		want := map[string][4]int{ // on this machine, hidden there, for others, hidden and all passes
			"replies": {200, 200, 200, 200}, "harmless": {200, 200, 200, 200}, "local": {200, 200, 404, 200},
			"unread": {200, 403, 404, 403}, "stored": {200, 200, 404, 200}, "results": {200, 200, 404, 200}, "audio": {200, 403, 200, 403}, "own": {200, 200, 200, 200}, "probe": {200, 200, 200, 200},
		}[e.Kind]
		got := [4]int{
			status(gateway.Config{}), status(gateway.Config{Routes: []routing.Route{{Models: []string{"other"}, Display: routing.DisplayHide}}}),
			status(gateway.Config{Public: true}), status(gateway.Config{Default: hide, PassAll: true}),
		}
		if got != want {
			t.Errorf("%s %s is %s: %v, want %v", method, path, e.Kind, got, want)
		}
		if w, _ := v.call(t, gateway.Config{Token: "tok"}); (w.Code == 401) == (e.Kind == "probe") {
			t.Errorf("%s %s without the token: %d", method, path, w.Code)
		}
		v.header = header("Connection", "Upgrade", "Upgrade", "websocket")
		if w, reached := v.call(t, gateway.Config{}); slices.Contains([]string{"replies", "unread", "stored", "results", "audio"}, e.Kind) && (w.Code != http.StatusUpgradeRequired || reached != nil) {
			t.Errorf("%s %s as a WebSocket: %d", method, path, w.Code)
		}
	}
}

// TestEndpointRows: each row can be reached, and is not hidden by one before it.
func TestEndpointRows(t *testing.T) {
	rows := gateway.Endpoints()
	for i, e := range rows {
		method, path := sample(e)
		for _, other := range rows[:i] {
			if fitsRow(other, method, path) && other.Kind != e.Kind {
				t.Errorf("%s %s (%s) is hidden by %s %s (%s)", e.Methods, e.Path, e.Kind, other.Methods, other.Path, other.Kind)
			}
		}
	}
}

// TestCodecsHaveEndpoints: a codec that no row names would never read a reply, and
// one in a row that is not of the list could not be configured.
func TestCodecsHaveEndpoints(t *testing.T) {
	named := map[string]bool{}
	for _, e := range gateway.Endpoints() {
		if e.Kind == "replies" {
			if e.Codec == nil || e.Methods != "POST" || !slices.Contains(gateway.Codecs(), e.Codec) {
				t.Errorf("%s %s: no codec of the list reads it, or not only POST", e.Methods, e.Path)
				continue
			}
			named[e.Codec.Name()] = true
		}
	}
	for _, c := range gateway.Codecs() {
		if !named[c.Name()] {
			t.Errorf("%s has no endpoint", c.Name())
		}
	}
}

// TestRefusalShapes: whatever is refused, and for what reason, is an error in the
// JSON of the API that was asked for.
func TestRefusalShapes(t *testing.T) {
	reasons := map[string]func(v *visit) gateway.Config{
		"host": func(v *visit) gateway.Config { v.host = "evil.example"; return gateway.Config{} },
		"origin": func(v *visit) gateway.Config {
			v.header = header("Origin", "https://evil.example")
			return gateway.Config{}
		},
		"token":   func(*visit) gateway.Config { return gateway.Config{Token: "tok"} },
		"method":  func(v *visit) gateway.Config { v.method = "TRACE"; return gateway.Config{} },
		"path":    func(v *visit) gateway.Config { v.path += "/%2e%2e/x"; return gateway.Config{} },
		"upgrade": func(v *visit) gateway.Config { v.header = header("Upgrade", "websocket"); return gateway.Config{} },
	}
	for _, s := range speakers {
		for name, reason := range reasons {
			v := visit{path: s.path}
			c := reason(&v)
			w, reached := v.call(t, c)
			if reached != nil || w.Code < 400 {
				t.Errorf("%s, %s: %d", s.name(), name, w.Code)
			}
			if name != "path" { // what a broken path asks for is not known
				refused(t, s, w, w.Code)
			}
		}
	}
	for _, e := range gateway.Endpoints() {
		if e.Kind != "unread" {
			continue
		}
		method, path := sample(e)
		w, _ := visit{method: method, path: path, body: sampleBody(e)}.call(t, gateway.Config{Default: routing.Route{Display: routing.DisplayHide}})
		for _, s := range speakers {
			if e.Codec != nil && e.Codec.Name() == s.name() {
				refused(t, s, w, http.StatusForbidden)
			}
		}
		if !strings.Contains(w.Body.String(), "/v1/chat/completions") {
			t.Errorf("%s %s: what to do instead is not said: %s", method, path, w.Body)
		}
	}
}

// fitsRow reports whether a path is of a row, by a reading of its own.
func fitsRow(e gateway.Endpoint, method, path string) bool {
	if method == http.MethodHead {
		method = http.MethodGet
	}
	if e.Methods != "" && !slices.Contains(strings.Fields(e.Methods), method) {
		return false
	}
	if re, ok := rowPatterns.Load(e.Path); ok {
		return re.(*regexp.Regexp).MatchString(path)
	}
	expr := regexp.QuoteMeta(e.Path)
	for _, r := range [][2]string{{`\{\.\.\.\}`, `.+`}, {`\{\}:\{\}`, `[^/]+:[^/]+`}, {`\{\}`, `[^/]+`}} {
		expr = strings.ReplaceAll(expr, r[0], r[1])
	}
	re := regexp.MustCompile("^" + expr + "/?$")
	rowPatterns.Store(e.Path, re)
	return re.MatchString(path)
}

var rowPatterns sync.Map // by their paths

// TestReadByItsEnd: the end of a path says that a reply is read, whatever precedes it.
func TestReadByItsEnd(t *testing.T) {
	replies := scripted.New(scripted.Options{})
	canonical := map[string]string{"/chat/completions": "/v1/chat/completions", "/responses": "/v1/responses", "/messages": "/v1/messages", "/api/chat": "/api/chat"}
	upstream := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for end, path := range canonical {
			if strings.HasSuffix(strings.TrimSuffix(r.URL.Path, "/"), end) {
				r.URL.Path = path
				break
			}
		}
		replies.ServeHTTP(w, r)
	})
	base := start(t, upstream, gateway.Config{Default: routing.Route{Display: routing.DisplayHide}})
	for _, path := range []string{
		"/chat/completions", "/v1/chat/completions/", "/openai/deployments/d/chat/completions?api-version=2024-10-21", "/api/v3/chat/completions",
		"/models/chat/completions", "/models/org/name/v1/chat/completions", "/v1beta/openai/chat/completions", "/client/v4/accounts/a/ai/v1/chat/completions",
		"/responses", "/openai/responses?api-version=2025-03-01-preview", "/api/v3/responses", "/x/responses/",
		"/messages", "/anthropic/messages", "/anthropic/v1/messages/", "/proxy/api/chat",
	} {
		body := `{"model":"minimax-m2","stream":false,"max_tokens":9,"messages":[{"role":"user","content":"q"}],"input":"q"}`
		resp, got := post(t, base+path, body, nil)
		if resp.StatusCode != http.StatusOK || !strings.Contains(string(got), "Ottawa") || strings.Contains(string(got), "Short question") {
			t.Errorf("%s: %d %s", path, resp.StatusCode, got)
		}
	}
}
