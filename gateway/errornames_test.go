package gateway_test

import (
	"bytes"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/gateway"
	"github.com/sotto-llm/sotto/gateway/routing"
	"github.com/sotto-llm/sotto/wire"
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

// TestErrorNamesInStreams: a stream that ends with an error of the gateway's says its name, for
// each API, in the comment before the error or in the error, once; one that the upstream
// ends well, or with an error of its own, has none.
func TestErrorNamesInStreams(t *testing.T) {
	own := map[string]string{"openai.chat": `data: {"error":{"message":"busy"}}` + "\n\n", "ollama.chat": `{"error":"busy"}` + "\n"}
	for _, s := range speakers {
		begun, ended := s.open+s.say("<think>a"), s.stream([]string{"<think>a</think>Yes."}, sotto.EndStopped)
		for _, display := range routing.Displays() {
			for _, c := range []struct {
				reply string
				err   error
				route routing.Route
				want  string
			}{
				{begun, io.ErrUnexpectedEOF, routing.Route{}, "upstream-failed"},
				{begun + frameOfGarbage(s), io.EOF, routing.Route{}, "reply-unreadable"},
				{s.stream([]string{"<think>a</think>"}, sotto.EndStopped), io.EOF, routing.Route{OnNoAnswer: routing.NoAnswerError}, "no-visible-answer"},
				{ended, io.EOF, routing.Route{}, ""},
				{begun + own[s.name()], io.EOF, routing.Route{}, ""},
			} {
				if display == routing.DisplayKeep && c.want != "upstream-failed" || c.reply == begun && c.want == "" {
					continue // nothing is judged, or the API has no row
				}
				c.route.Display = display
				g := handler(t, gateway.Config{Default: c.route}, answering(func(*http.Request) *http.Response {
					return response(s.kind(true), breaking([]byte(c.reply), c.err))
				}))
				out := ask(g, s.path, `{"model":"m","stream":true,"messages":[]}`).Body.String()
				h := s.listen(t, []byte(out))
				said := regexp.MustCompile(`(?:(?:^|\n): Sotto-Error: |"sotto_error":"|google\.rpc\.ErrorInfo","reason":")([a-z-]+)`).FindAllStringSubmatch(out, -1)
				switch {
				case c.want == "" && len(said) == 0:
				case c.want == "", len(said) != 1, said[0][1] != c.want, h.failed == "":
					t.Errorf("%s %s: the error %q is called %q, want %q:\n%s", s.name(), display, h.failed, said, c.want, out)
				}
			}
		}
	}
}

// frameOfGarbage is a frame of broken JSON.
func frameOfGarbage(s speaker) string {
	if s.codec.Framing() == wire.NDJSON {
		return "{\"a\":\n"
	}
	return "data: {\"a\":\n\n"
}
