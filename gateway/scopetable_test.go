package gateway_test

import (
	"crypto/tls"
	"flag"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/sotto-llm/sotto/gateway"
	"github.com/sotto-llm/sotto/internal/base/effort"
	"github.com/sotto-llm/sotto/internal/net/access"
)

var update = flag.Bool("update", false, "rewrite the generated parts of the documents")

// operatorRoutes are the routes that administer a server, show its settings or what others
// do there, or lead past what the gateway reads. A path of no row is one, too.
const operatorRoutes = `/of/no/row
/v1/realtime /v1/realtime/{...} /realtime /openai/realtime /v1/chatkit/{...}
/v1/fine_tuning/{...} /v1/images/{...} /v1/organization/{...} /v1/organizations/{...} /v1/messages/{...} /messages/{...}
/api/blobs/{} /api/copy /api/create /api/delete /api/me /api/pull /api/push /api/signin /api/signout /api/web_fetch /api/web_search
/slots /slots/{...} /async-invoke /async-invoke/{...}
/info /load /props /lora-adapters /models/load /models/unload /v1/load_lora_adapter /v1/unload_lora_adapter /get_server_info /server_info /chat_tokenize`

// ownRoutes are those of things that callers make: all of them, or one.
const (
	allThings = `/v1/chat/completions /chat/completions /v1/responses /responses /v1/conversations /v1/batch/jobs /v1/batches /batches /v1/containers
/v1/threads/runs /v1/threads /v1/evals /v1/assistants /files /v1/files /v1/fine_tuning/jobs /v1/uploads /v1/vector_stores /v1/videos
/v1/messages/batches /messages/batches /v1/sessions /v1/skills /v1beta/batches /v1beta/files /upload/v1beta/files /v1beta/cachedContents
/v1/predictions /v1/models/{...}/predictions`
	oneThing = `/v1/chat/completions/{...} /chat/completions/{...} /v1/completions/{...} /v1/responses/{} /responses/{} /v1/responses/{}/cancel /responses/{}/cancel
/v1/responses/{}/input_items /responses/{}/input_items /v1/conversations/{} /v1/conversations/{}/items /v1/conversations/{}/items/{}
/v1/conversations/{}/restart /v1/conversations/{}/messages /v1/conversations/{}/history
/v1/responses/{...} /responses/{...} /v1/conversations/{...} /v1/batch/jobs/{...} /v1/batches/{...} /batches/{...} /v1/files/{}/content /files/{}/content
/v1/containers/{...} /v1/threads/{...} /v1/evals/{...} /v1/assistants/{...} /files/{} /v1/files/{} /v1/fine_tuning/jobs/{...} /v1/uploads/{...}
/v1/vector_stores/{...} /v1/videos/{...} /v1/messages/batches/{}/results /messages/batches/{}/results /v1/messages/batches/{...} /messages/batches/{...}
/v1/sessions/{...} /v1/skills/{...} /v1beta/batches/{}:{} /v1beta/batches/{...} /v1beta/files/{}:{} /v1beta/files/{...} /v1beta/interactions/{...} /v1/interactions/{...} /v1alpha/interactions/{...}
/v1beta/operations/{...} /v1beta/models/{}/operations/{...} /v1beta/cachedContents/{...} /v1/predictions/{...} /v1/chat/deferred-completion/{}`
)

// callsBeside are rows of models that stand at a path of ownRoutes.
var callsBeside = []string{"replies", "harmless"}

// isOf reports whether a row is in a list of routes.
func isOf(e gateway.Endpoint, list string) bool {
	if slices.Contains(callsBeside, e.Kind) && e.Path != "/v1/conversations/{}/restart" { // which continues a thing
		return false
	}
	if e.Methods == "DELETE" && e.Path == "/v1/models/{...}" {
		return list == operatorRoutes
	}
	if strings.HasSuffix(e.Path, ":batchGenerateContent") { // it makes a batch
		return list == allThings
	}
	return slices.Contains(strings.Fields(list), e.Path)
}

// A way is how requests come to a gateway.
type way struct {
	name   string
	config gateway.Config
	host   string
	tls    *tls.ConnectionState
}

var ways = []way{
	{"loopback", gateway.Config{}, "127.0.0.1:8383", nil},
	{"proxy", gateway.Config{AllowHosts: []string{"llm.example"}}, "llm.example", nil},
	{"TLS", gateway.Config{}, "127.0.0.1:8383", &tls.ConnectionState{HandshakeComplete: true}},
	{"public", gateway.Config{Public: true}, "127.0.0.1:8383", nil},
	{"public, all routes", gateway.Config{Public: true, PassAll: true}, "127.0.0.1:8383", nil},
}

// A gate is a gateway of a way, whose upstream notes whether it was reached.
type gate struct {
	way
	g       http.Handler
	reached bool
}

// newGate makes a gateway with a token for each scope, and one for all, or without tokens.
func newGate(t *testing.T, w way, guarded bool) *gate {
	g := &gate{way: w}
	c := w.config
	if guarded {
		for _, s := range access.Scopes() {
			c.Tokens = append(c.Tokens, gateway.Token{Name: string(s), Secret: "secret-of-" + string(s), Scopes: []gateway.Scope{s}})
		}
		c.Tokens = append(c.Tokens, gateway.Token{Name: "all", Secret: "secret-of-all"})
	}
	g.g = handler(t, c, answering(func(*http.Request) *http.Response {
		g.reached = true
		return response("application/json", strings.NewReader(`{}`))
	}))
	return g
}

// ask returns the status that a caller gets, and whether the upstream was reached.
func (g *gate) ask(method, path, caller string) (status int, reached bool) {
	g.reached = false
	body := `{"model":"m","messages":[]}`
	if path == "/v1/conversations" || path == "/v1/conversations/m" {
		body = `{"metadata":{}}` // as OpenAI's clients send it: others get replies there
	}
	r := httptest.NewRequest(method, path, strings.NewReader(body))
	r.Host, r.TLS = g.host, g.tls
	r.Header.Set("Content-Type", "application/json")
	if caller != "" {
		r.Header.Set("Authorization", "Bearer secret-of-"+caller)
	}
	w := httptest.NewRecorder()
	g.g.ServeHTTP(w, r)
	return w.Code, g.reached
}

// wanted is the rule, written without a look at the gateway's code: which status a caller
// gets from a route.
func wanted(e gateway.Endpoint, method string, w way, guarded bool, caller string) int {
	open := slices.Contains([]string{"replies", "harmless", "audio", "own", "probe"}, e.Kind)
	closed := w.name == "public" && !open
	has := func(scopes ...string) bool { return slices.Contains(append(scopes, "all"), caller) }
	operators := isOf(e, operatorRoutes)
	switch {
	case e.Kind == "probe":
		return 200
	case !guarded && closed:
		return 404
	case !guarded && operators && w.name == "proxy":
		return 403
	case !guarded:
		return 200
	case caller == "" || caller == "nobody":
		return 401
	case e.Kind == "own" && has("metrics", "console"):
		return 200
	case e.Kind == "own":
		return 403
	case closed && has("models"):
		return 404
	case closed:
		return 403
	case has("operator") && (operators || isOf(e, allThings) || isOf(e, oneThing)):
		return 200
	case operators || !has("models"):
		return 403
	case has(), !isOf(e, oneThing) && !isOf(e, allThings):
		return 200
	case isOf(e, oneThing):
		return 404
	case method != "GET" && method != "POST":
		return 403
	}
	return 200
}

// rows returns the table, and a path of no row.
func rows() []gateway.Endpoint {
	return append(gateway.Endpoints(), gateway.Endpoint{Path: "/of/no/row", Kind: "unknown"})
}

func methodsOf(e gateway.Endpoint) []string {
	if list := strings.Fields(e.Methods); len(list) > 0 {
		return list
	}
	return []string{"GET", "POST", "DELETE"}
}

// TestEndpointScopes: each row of the table, for each caller, over each way in. A request
// that is refused does not reach the upstream.
func TestEndpointScopes(t *testing.T) { synctest.Test(t, testEndpointScopes) } // answers to many wrong tokens wait

func testEndpointScopes(t *testing.T) {
	callers := []string{"", "nobody", "all"}
	for _, s := range access.Scopes() {
		callers = append(callers, string(s))
	}
	for _, w := range ways {
		for _, guarded := range []bool{true, false} {
			g := newGate(t, w, guarded)
			chosen := effort.OneIn(5, w.name)
			for _, e := range rows() {
				_, path := sample(e)
				for _, method := range methodsOf(e) {
					for _, caller := range callers {
						if !guarded && caller != "" || !chosen() {
							continue
						}
						status, reached := g.ask(method, path, caller)
						want := wanted(e, method, w, guarded, caller)
						if status != want || reached != (want == 200 && e.Kind != "own" && e.Kind != "probe") {
							t.Errorf("%s, tokens %v, %s %s (%s) for %q: %d, reached %v, want %d", w.name, guarded, method, path, e.Kind, caller, status, reached, want)
						}
					}
				}
			}
		}
	}
	known := map[string]bool{}
	for _, e := range rows() {
		known[e.Path] = true
	}
	for _, path := range strings.Fields(operatorRoutes + " " + allThings + " " + oneThing) {
		if !known[path] {
			t.Errorf("no row has the path %s", path)
		}
	}
}

// TestAccessDocument compares the table in docs/reference/access.md with what a gateway answers.
func TestAccessDocument(t *testing.T) {
	const document, begin, end = "../docs/reference/access.md", "<!-- from: go test ./gateway -run TestAccessDocument -update -->\n", "<!-- end -->\n"
	data, err := os.ReadFile(document)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, ok := strings.Cut(string(data), begin)
	old, after, closed := strings.Cut(rest, end)
	if !ok || !closed {
		t.Fatalf("%s has no table", document)
	}
	table := accessTable(t)
	if old == table {
		return
	}
	if !*update {
		t.Fatalf("%s has another table than the gateway (go test ./gateway -run TestAccessDocument -update):\n%s", document, table)
	}
	if err := os.WriteFile(document, []byte(before+begin+table+end+after), 0o644); err != nil {
		t.Fatal(err)
	}
}

// accessTable has a row for each route, as gateways answer.
func accessTable(t *testing.T) string {
	gates := map[string]*gate{}
	for _, w := range ways {
		gates[w.name] = newGate(t, w, true)
		gates[w.name+" open"] = newGate(t, w, false)
	}
	var b strings.Builder
	b.WriteString("| route | methods | scope | without tokens, with `allow-hosts` | from other machines |\n| --- | --- | --- | --- | --- |\n")
	seen := map[string]bool{}
	for _, e := range rows() {
		_, path := sample(e)
		method := methodsOf(e)[0]
		scope := gates["loopback"].scope(t, method, path)
		for _, name := range []string{"proxy", "TLS", "public, all routes"} {
			if other := gates[name].scope(t, method, path); other != scope {
				t.Errorf("%s %s: %s on loopback, %s over %s", method, path, scope, other, name)
			}
		}
		named, public := "open", "yes"
		if status, _ := gates["proxy open"].ask(method, path, ""); status != 200 {
			named = fmt.Sprint(status)
		}
		if status, _ := gates["public"].ask(method, path, "all"); status != 200 {
			public = fmt.Sprintf("%d; `--pass-all`", status)
		}
		route := "`" + e.Path + "`"
		if e.Kind == "unknown" {
			route = "any other"
		}
		row := fmt.Sprintf("| %s | %s | %s | %s | %s |\n", route, strings.ReplaceAll(orAny(e.Methods), " ", ", "), scope, named, public)
		if !seen[row] {
			b.WriteString(row)
		}
		seen[row] = true
	}
	return b.String()
}

func orAny(methods string) string {
	if methods == "" {
		return "any"
	}
	return methods
}

// scope says which token opens a route.
func (g *gate) scope(t *testing.T, method, path string) string {
	var open []string
	if status, _ := g.ask(method, path, ""); status == 200 {
		return "none"
	}
	for _, s := range access.Scopes() {
		if status, _ := g.ask(method, path, string(s)); status == 200 {
			open = append(open, "`"+string(s)+"`")
		}
	}
	one, _ := g.ask(method, path, "models")
	switch text := strings.Join(open, ", "); {
	case one == 404 && text == "`operator`":
		return "`models`: its own; `operator`: all"
	case text == "`models`, `operator`":
		return "`models`: its own; `operator`: all"
	case text != "":
		return text
	}
	t.Errorf("%s %s: nothing opens it", method, path)
	return ""
}

// TestOperatorSockets: a WebSocket on a route of no model is read by nobody, so it needs
// the scope of operators.
func TestOperatorSockets(t *testing.T) {
	tokens := []gateway.Token{{Name: "m", Secret: "secret-of-m", Scopes: []gateway.Scope{gateway.ScopeModels}}, {Name: "o", Secret: "secret-of-o", Scopes: []gateway.Scope{gateway.ScopeOperator}}}
	for _, c := range []struct {
		config gateway.Config
		caller string
		want   int
	}{
		{gateway.Config{}, "", 200}, {gateway.Config{AllowHosts: []string{"llm.example"}}, "", 403},
		{gateway.Config{Tokens: tokens}, "m", 403}, {gateway.Config{Tokens: tokens}, "o", 200}, {gateway.Config{Tokens: tokens, Public: true}, "m", 403},
	} {
		h := header("Upgrade", "websocket", "Connection", "Upgrade", "Authorization", "Bearer secret-of-"+c.caller)
		if w, reached := (visit{method: "GET", path: "/health", header: h}).call(t, c.config); w.Code != c.want || (reached != nil) != (c.want == 200) {
			t.Errorf("%+v, %s: %d", c.config, c.caller, w.Code)
		}
	}
}
