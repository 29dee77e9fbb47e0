package gateway_test

import (
	"bytes"
	"errors"
	"log/slog"
	"net/http"
	"strings"
	"testing"

	"github.com/sotto-llm/sotto/gateway"
	"github.com/sotto-llm/sotto/gateway/routing"
)

// TestErrorNames: an error that the gateway answers with has its name in the header, whoever
// refuses the request; and a reply that is not an error has none.
func TestErrorNames(t *testing.T) {
	type bad struct {
		visit
		config gateway.Config
		want   string
	}
	for name, c := range map[string]bad{
		"right":        {},
		"no token":     {config: gateway.Config{Token: "secret-of-sixteen"}, want: "token-missing"},
		"host":         {visit: visit{host: "evil.example"}, want: "host-not-served"},
		"origin":       {visit: visit{header: header("Origin", "https://evil.example")}, want: "origin-not-allowed"},
		"method":       {visit: visit{method: "TRACE"}, want: "method-not-served"},
		"path":         {visit: visit{path: "/v1//chat/completions"}, want: "path-malformed"},
		"not JSON":     {visit: visit{body: `{"model":"m",}`}, want: "body-not-json"},
		"twice":        {visit: visit{body: `{"model":"m","model":"n","messages":[]}`}, want: "request-unreadable"},
		"charset":      {visit: visit{header: header("Content-Type", "application/json; charset=utf-16")}, want: "charset-unsupported"},
		"compression":  {visit: visit{header: header("Content-Encoding", "br")}, want: "compression-unsupported"},
		"gzip":         {visit: visit{header: header("Content-Encoding", "gzip")}, want: "compression-broken"},
		"large":        {config: gateway.Config{Limits: gateway.Limits{Body: 10}}, want: "body-too-large"},
		"public route": {visit: visit{path: "/api/pull"}, config: gateway.Config{Public: true, Token: "secret-of-sixteen"}, want: "token-missing"},
		"hidden route": {visit: visit{path: "/generate"}, config: gateway.Config{Default: routing.Route{Display: routing.DisplayHide}}, want: "route-not-read"},
	} {
		w, _ := c.call(t, c.config)
		if got := w.Header().Get("Sotto-Error"); got != c.want || (w.Code == http.StatusOK) != (c.want == "") {
			t.Errorf("%s: %q, status %d, want %q: %s", name, got, w.Code, c.want, w.Body)
		}
	}
}

// TestErrorNamesOfReplies: a reply that fails has the name of its error in the header and in
// the log.
func TestErrorNamesOfReplies(t *testing.T) {
	whole := func(content string) func(*http.Request) *http.Response {
		return func(*http.Request) *http.Response {
			return response("application/json", strings.NewReader(`{"id":"c","choices":[{"index":0,"message":{"role":"assistant","content":`+quoted(content)+`},"finish_reason":"stop"}]}`))
		}
	}
	for name, c := range map[string]struct {
		config gateway.Config
		reply  func(*http.Request) *http.Response
		want   string
	}{
		"away": {gateway.Config{}, nil, "upstream-failed"},
		"broken": {gateway.Config{}, func(*http.Request) *http.Response {
			return response("application/json", strings.NewReader(`{"choices":`))
		}, "reply-unreadable"},
		"no answer": {gateway.Config{Default: routing.Route{OnNoAnswer: routing.NoAnswerError}}, whole("<think>a</think>"), "no-visible-answer"},
		"withheld":  {gateway.Config{Default: routing.Route{Display: routing.DisplayHide}}, failing(http.StatusTeapot, "short and stout"), "upstream-refused"},
		"own words": {gateway.Config{}, failing(http.StatusTeapot, `{"error":{"message":"short"}}`), ""},
	} {
		var log bytes.Buffer
		c.config.Logger = slog.New(slog.NewTextHandler(&log, nil))
		var up http.RoundTripper = answering(c.reply)
		if c.reply == nil {
			up = roundTrip(func(*http.Request) (*http.Response, error) { return nil, errors.New("dial: nobody is there") })
		}
		w := ask(handler(t, c.config, up), "/v1/chat/completions", `{"model":"m","messages":[]}`)
		if got := w.Header().Get("Sotto-Error"); got != c.want {
			t.Errorf("%s: %q, status %d, want %q: %s", name, got, w.Code, c.want, w.Body)
		}
		failed := c.want != "" && name != "withheld" // an answer of the upstream's is no failure
		if strings.Contains(log.String(), "explain=") != failed || failed && !strings.Contains(log.String(), "explain="+c.want) {
			t.Errorf("%s: the log lacks the name: %s", name, log.String())
		}
	}
}

func failing(status int, body string) func(*http.Request) *http.Response {
	return func(*http.Request) *http.Response {
		r := response("application/json", strings.NewReader(body))
		r.StatusCode = status
		return r
	}
}
