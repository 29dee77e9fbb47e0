package gateway_test

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"net/http"
	"strings"
	"testing"

	"github.com/sotto-llm/sotto/gateway"
	"github.com/sotto-llm/sotto/record"
)

// TestEndpointScopes: every row of the table needs a scope, except the probes. What
// goes to the upstream needs the models' scope, also a path of no row.
func TestEndpointScopes(t *testing.T) {
	scopes := []gateway.Scope{gateway.ScopeModels, gateway.ScopeRecord, gateway.ScopeConsole, gateway.ScopeAgent, gateway.ScopeMetrics, gateway.ScopeDebug}
	for _, e := range append(gateway.Endpoints(), gateway.Endpoint{Path: "/of/no/row", Kind: "unknown"}) {
		method, path := sample(e)
		for _, s := range scopes {
			v := visit{method: method, path: path, header: header("Authorization", "Bearer secret")}
			w, reached := v.call(t, gateway.Config{Tokens: []gateway.Token{{Name: "alice", Secret: "secret", Scopes: []gateway.Scope{s}}}})
			want := http.StatusForbidden
			switch {
			case e.Kind == "probe", e.Kind == "own" && (s == gateway.ScopeConsole || s == gateway.ScopeMetrics), e.Kind != "own" && s == gateway.ScopeModels:
				want = http.StatusOK
			}
			if w.Code != want || (reached != nil) != (want == http.StatusOK && e.Kind != "own" && e.Kind != "probe") {
				t.Errorf("%s %s with the scope %s: %d, reached %v, want %d", method, path, s, w.Code, reached != nil, want)
			}
		}
	}
}

// TestCallerIsNamed: the log and the record name the caller, and neither contains
// its token or another one. No token reaches the upstream.
func TestCallerIsNamed(t *testing.T) {
	tokens := []gateway.Token{{Name: "alice", Secret: "canary-alice"}, {Name: "bob", Secret: "canary-bob"}}
	for _, c := range []struct{ token, name string }{{"canary-alice", "alice"}, {"canary-bob", "bob"}, {"canary-single", "token"}} {
		var log bytes.Buffer
		kept, dir := openRecord(t, record.Options{})
		_, reached := visit{header: header("Authorization", "Bearer "+c.token, "X-Mine", "canary-bob", "Cookie", "t=canary-alice")}.call(t, gateway.Config{
			Token: "canary-single", Tokens: tokens, Logger: slog.New(slog.NewTextHandler(&log, nil)), Recorder: kept,
		})
		if reached == nil {
			t.Fatal("not reached")
		}
		for name, values := range reached.Header {
			if strings.Contains(strings.Join(values, " "), "canary") {
				t.Errorf("the upstream got %s: %s", name, values)
			}
		}
		if !strings.Contains(log.String(), "caller="+c.name) || strings.Contains(log.String(), "canary") {
			t.Errorf("log: %s", &log)
		}
		e := only(t, kept, dir)
		if e.Caller != c.name {
			t.Errorf("the record has the caller %q, want %q", e.Caller, c.name)
		}
		if text, err := json.Marshal(e); err != nil || strings.Contains(string(text), "canary") {
			t.Errorf("%s, %v", text, err)
		}
	}
}
