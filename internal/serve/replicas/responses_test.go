package replicas

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/tidwall/gjson"

	"github.com/sotto-llm/sotto/gateway"
	"github.com/sotto-llm/sotto/internal/testing/redisserver"
)

// TestResponses: a conversation of the Responses API that one replica keeps goes on at another. The store sees none of
// its text. If the store has forgotten it, or cannot be reached, the client hears so.
func TestResponses(t *testing.T) {
	r := redisserver.Run(t)
	asked := ""
	up := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		body, _ := io.ReadAll(req.Body)
		asked = string(body)
		w.Header().Set("Content-Type", "application/json")
		io.WriteString(w, `{"model":"m","choices":[{"index":0,"finish_reason":"stop","message":{"role":"assistant","content":"Said: `+canary+`"}}]}`)
	}))
	t.Cleanup(up.Close)
	address, err := url.Parse(up.URL)
	if err != nil {
		t.Fatal(err)
	}
	replica := func() func(previous string) (int, gjson.Result) {
		store := open(t, r.Address(), patient)
		g, err := gateway.New(gateway.Config{Upstream: address, UpstreamAPI: "chat", Shared: store, SharedSecret: secret})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { g.Close() })
		return func(previous string) (int, gjson.Result) {
			q := httptest.NewRequest("POST", "/v1/responses", strings.NewReader(fmt.Sprintf(`{"model":"m","input":"Asked: %s","previous_response_id":%q}`, canary, previous)))
			q.Host = "localhost"
			q.Header.Set("Content-Type", "application/json")
			w := httptest.NewRecorder()
			g.ServeHTTP(w, q)
			return w.Code, gjson.Parse(w.Body.String())
		}
	}
	one, two := replica(), replica()
	id := ""
	for i, ask := range []func(string) (int, gjson.Result){one, two, one, two} {
		status, reply := ask(id)
		if id = reply.Get("id").Str; status != 200 || !reply.Get("store").Bool() || strings.Count(asked, "Asked: ") != i+1 || strings.Count(asked, "Said: ") != i {
			t.Fatalf("turn %d: %d %s, after %s", i, status, reply.Raw, asked)
		}
	}
	for _, key := range strings.Fields(r.Command("KEYS", "*")) {
		for _, command := range [][]string{{"LRANGE", key, "0", "-1"}, {"GET", key}, {"HGETALL", key}} {
			if strings.Contains(r.Command(command...), canary) {
				t.Errorf("%s shows a text", key)
			}
		}
	}
	r.Command("FLUSHALL")
	if status, body := two(id); status != 400 || body.Get("error.code").Str != "previous_response_not_found" {
		t.Errorf("of a store that has forgotten: %d %s", status, body.Raw)
	}
	_, reply := one("")
	r.Kill()
	if status, body := one(reply.Get("id").Str); status != 503 {
		t.Errorf("without the store: %d %s", status, body.Raw)
	}
	if status, body := one(""); status != 200 || body.Get("store").Bool() {
		t.Errorf("a new conversation without the store: %d %s", status, body.Raw)
	}
}
