package gateway_test

import (
	"context"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/http/httptrace"
	"net/textproto"
	"os"
	"strings"
	"testing"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/gateway"
	"github.com/sotto-llm/sotto/gateway/routing"
)

// thoughtValue is what no header may carry: words with white space between them.
const thoughtValue = "the secret " + canary + " is what the model thought"

// unlisted are headers that no client may get from an upstream, under any display.
var unlisted = []string{
	"X-Thought", "X-Any", "Reasoning", "Content-Thought", "X-Request", "X-Request-Id-2", "Openai", "Ratelimits",
	"Sotto-Diagnostics", "Sotto-History", "Sotto-Thinking", "Sotto-Figures", "Sotto-Exchange-Id", "Sotto-Conversation", "Sotto-Upstreams-Failed", "Sotto-X",
	"sotto_diagnostics", "SOTTO-HISTORY", "Llm_provider-Sotto-History", "Llm_provider-X-Thought", "Llm_provider-Llm_provider-X-Request-Id",
	"Access-Control-Allow-Origin", "Access-Control-Expose-Headers", "Alt-Svc", "Clear-Site-Data", "Strict-Transport-Security", "X-Accel-Redirect",
	"X-Sendfile", "Refresh", "Via", "Warning", "Server-Timing", "Report-To", "Nel", "Proxy-Authenticate", "Forwarded", "Traceparent",
}

// listedNames are names of all groups, with one for each beginning.
func listedNames(g gateway.ListedHeaders) (names []string) {
	for name := range strings.FieldsSeq(g.Names) {
		name = http.CanonicalHeaderKey(strings.ReplaceAll(name, "*", "any"))
		names = append(names, name, http.CanonicalHeaderKey("llm_provider-"+name))
	}
	return names
}

// replies asks a gateway for what all kinds of requests are answered with: whole, streamed,
// with an error, on routes that pass.
func replies(t *testing.T, s speaker, c gateway.Config, with func(http.Header), check func(what string, w *httptest.ResponseRecorder)) {
	t.Helper()
	for _, status := range []int{http.StatusOK, http.StatusFound, http.StatusUnauthorized, http.StatusTooManyRequests, http.StatusInternalServerError} {
		for _, streamed := range []bool{false, true} {
			g := handler(t, c, answering(func(*http.Request) *http.Response {
				body := s.whole("<think>a</think>Hi", sotto.EndStopped)
				if streamed {
					body = s.stream([]string{"<think>a</think>Hi"}, sotto.EndStopped)
				}
				if status != http.StatusOK {
					body = `{"error":{"message":"no"}}`
				}
				resp := response(s.kind(streamed && status == http.StatusOK), strings.NewReader(body))
				resp.StatusCode = status
				with(resp.Header)
				return resp
			}))
			for _, path := range []string{s.path, "/v1/embeddings", "/v1/files/f1/content", "/v1/messages/batches/b1/results"} {
				body := `{"model":"m","input":"x"}`
				if path == s.path {
					body = (&conversation{s: s}).request("m", streamed, "")
				}
				method := "POST"
				if strings.Contains(path, "f1/") || strings.Contains(path, "b1/") {
					method = "GET"
				}
				r := httptest.NewRequest(method, addressed(path, body), strings.NewReader(body))
				r.Host = "localhost"
				r.Header.Set("Content-Type", "application/json")
				r.Header.Set("TE", "trailers")
				w := httptest.NewRecorder()
				g.ServeHTTP(w, r)
				check(fmt.Sprintf("%s, status %d, streamed %v, display %q", path, status, streamed, c.Default.Display), w)
			}
		}
	}
}

var displays = []routing.Display{routing.DisplayHide, routing.DisplayField, routing.DisplayKeep}

// TestUnlistedHeaders: what an upstream writes into a header that is not listed reaches no
// client; under hide it does not in a listed one either, unless it has the form of it.
func TestUnlistedHeaders(t *testing.T) {
	each(t, func(t *testing.T, s speaker) {
		for _, display := range displays {
			c := gateway.Config{Default: routing.Route{Display: display}}
			with := func(h http.Header) {
				for _, name := range unlisted {
					h[name] = []string{thoughtValue, "1"}
				}
				if display == routing.DisplayHide {
					h.Set("Set-Cookie", thoughtValue)
					for _, g := range gateway.ListedHeaderGroups() {
						for _, name := range listedNames(g) {
							switch name {
							case "Content-Type", "Content-Length", "Content-Encoding", "Connection", "Upgrade":
							default:
								h[name] = []string{thoughtValue}
							}
						}
					}
					h.Set("Content-Type", h.Get("Content-Type")+`; note="`+thoughtValue+`"`)
				}
			}
			replies(t, s, c, with, func(what string, w *httptest.ResponseRecorder) {
				if got := fmt.Sprint(w.Header(), w.Result().Trailer); strings.Contains(got, canary) {
					t.Errorf("%s: %s", what, got)
				}
				for _, name := range unlisted {
					if got := w.Header().Values(name); len(got) > 0 && (got[0] == "1" || len(got) > 1) {
						t.Errorf("%s: %s is %q", what, name, got)
					}
				}
			})
		}
	})
}

// sampleOf is a value of a header that has the form of its group.
func sampleOf(g gateway.ListedHeaders) string {
	switch {
	case strings.HasPrefix(g.Hidden, "a number"):
		return "6m0s"
	case strings.HasPrefix(g.Hidden, "an id"):
		return "req_011CSHoEeqs5C35K2UUqR7Fy"
	case strings.HasPrefix(g.Hidden, "a type"):
		return "application/json"
	case strings.HasPrefix(g.Hidden, "an address"):
		return "https://upstream.example/upload?upload_id=AbC%2D1&part=2"
	case strings.HasPrefix(g.Hidden, "`"):
		return strings.Split(g.Hidden, "`")[1]
	}
	return "any text: <of the provider's>"
}

// TestListedHeaders: each listed header passes, also where reasoning is hidden if the
// value has the form that is stated.
func TestListedHeaders(t *testing.T) {
	for _, display := range displays {
		c := gateway.Config{Default: routing.Route{Display: display}}
		want := http.Header{}
		for _, g := range gateway.ListedHeaderGroups() {
			for _, name := range listedNames(g) {
				switch name {
				case "Content-Type", "Content-Length", "Content-Encoding", "Connection", "Upgrade", "Content-Range", "Accept-Ranges":
					continue // they describe the body, and not this one
				}
				want.Set(name, sampleOf(g))
			}
		}
		with := func(h http.Header) {
			for name := range want {
				h[name] = want[name]
			}
		}
		replies(t, speakers[0], c, with, func(what string, w *httptest.ResponseRecorder) {
			for _, g := range gateway.ListedHeaderGroups() {
				for _, name := range listedNames(g) {
					switch got := w.Header().Get(name); {
					case display == routing.DisplayHide && g.Hidden == "not shown":
						if got != "" {
							t.Errorf("%s: %s is %q", what, name, got)
						}
					case strings.Contains(strings.ToLower(name), "digest"), name == "Content-Md5", name == "Etag": // a body that is rewritten has others
					case want.Get(name) != "" && got != want.Get(name):
						t.Errorf("%s: %s is %q, want %q", what, name, got, want.Get(name))
					}
				}
			}
		})
	}
}

// TestHeadersOfSDKs: headers that the providers' SDKs and common clients read are there,
// under every display.
func TestHeadersOfSDKs(t *testing.T) {
	read := map[string]string{
		"X-Request-Id": "req_8f6c2b", "Request-Id": "req_011CSHoEeqs5C35K2UUqR7Fy", "Openai-Processing-Ms": "412", "Openai-Version": "2020-10-01",
		"Openai-Organization": "org-abc", "Openai-Model": "gpt-5", "Anthropic-Organization-Id": "0b1d-22", "Retry-After": "Wed, 21 Oct 2026 07:28:00 GMT", "Retry-After-Ms": "1500",
		"X-Should-Retry": "false", "X-Ratelimit-Limit-Requests": "60", "X-Ratelimit-Reset-Tokens": "6m0s", "X-Ratelimit-Remaining-Tokens": "149984",
		"Anthropic-Ratelimit-Requests-Reset": "2026-11-24T01:00:00Z", "Anthropic-Ratelimit-Tokens-Remaining": "39000", "Ratelimit-Policy": "100;w=60",
		"Ratelimit": "limit=100, remaining=50, reset=5", "X-Amzn-Requestid": "b1c5-4e", "X-Amzn-Errortype": "ThrottlingException:http://internal.amazon.com/coral/",
		"Apim-Request-Id": "a1-b2", "X-Ms-Region": "West-Europe", "Cf-Ray": "8a1b2c3d4e5f-FRA", "X-Envoy-Upstream-Service-Time": "120", "Llm_provider-X-Request-Id": "abc",
		"X-Litellm-Model-Id": "m1", "X-Litellm-Response-Cost": "1.5e-05", "X-Groq-Region": "us-west-1", "X-Ds-Trace-Id": "aa11", "Mistral-Correlation-Id": "0198-aa",
		"X-Goog-Upload-Status": "active", "X-Goog-Upload-Url": "https://g.example/upload/v1beta/files?upload_id=AP_w&upload_protocol=resumable",
		"X-Inference-Time": "12", "X-Compute-Type": "1-a10-24g", "Location": "/v1/files/1?x=1", "Date": "Wed, 21 Oct 2026 07:28:00 GMT",
		"Cache-Control": "no-cache, max-age=0", "Vary": "Origin, Accept-Encoding", "X-Codex-Primary-Used-Percent": "12.5", "X-Trial-Endpoint-Call-Remaining": "9",
	}
	each(t, func(t *testing.T, s speaker) {
		for _, display := range displays {
			with := func(h http.Header) {
				for name, value := range read {
					h.Set(name, value)
				}
			}
			replies(t, s, gateway.Config{Default: routing.Route{Display: display}}, with, func(what string, w *httptest.ResponseRecorder) {
				for name, value := range read {
					if got := w.Header().Get(name); got != value {
						t.Errorf("%s: %s is %q, not %q", what, name, got, value)
					}
				}
			})
		}
	})
}

// TestHiddenHeaderForms: values that are near the form of a header do not pass under hide.
func TestHiddenHeaderForms(t *testing.T) {
	long := strings.Repeat("a", 129)
	for _, c := range []struct{ name, value string }{
		{"X-Request-Id", "a b"}, {"X-Request-Id", "a\tb"}, {"X-Request-Id", long}, {"X-Request-Id", "gedächtnis"}, {"X-Request-Id", "a%20b"}, {"Date", "a-day"}, {"Date", "Wed, 21 Oct 2026 a thought"},
		{"Retry-After", "soon"}, {"Retry-After", strings.Repeat("1", 40)}, {"X-Ratelimit-Limit-Requests", "sixty"}, {"Ratelimit", "limit=the thought"},
		{"Ratelimit", strings.Repeat("limit=1,", 17)}, {"Cache-Control", "no-cache, thought"}, {"Vary", "Thought"}, {"Location", "/a?thought=a%20b"}, {"Location", "/a?thought=a+b"},
		{"Location", "/a%20thought"}, {"Location", "/a#thought"}, {"Location", "//thought@host/"}, {"Location", "/" + strings.Repeat("a", 512)}, {"Allow", "GET, THOUGHT"}, {"Www-Authenticate", `Basic realm="thought"`}, {"Server", "a thought"},
		{"X-Litellm-" + strings.Repeat("a", 60), "1"},
	} {
		for _, display := range displays[:2] {
			g := handler(t, gateway.Config{Default: routing.Route{Display: display}}, answering(func(*http.Request) *http.Response {
				resp := response("application/json", strings.NewReader(speakers[0].whole("Hi", sotto.EndStopped)))
				resp.Header.Set(c.name, c.value)
				return resp
			}))
			got := ask(g, speakers[0].path, `{"model":"m","messages":[]}`).Header().Get(c.name)
			if hidden := display == routing.DisplayHide; hidden && got != "" || !hidden && got != c.value {
				t.Errorf("%s, %s: %q is %q", display, c.name, c.value, got)
			}
		}
	}
	for value, want := range map[string]string{
		"application/json": "application/json", `application/json; charset=utf-8; thought="a b"`: "application/json; charset=utf-8",
		"application/json; charset=\"a thought\"": "application/json",
	} {
		g := handler(t, gateway.Config{Default: routing.Route{Display: routing.DisplayHide}}, answering(func(*http.Request) *http.Response {
			resp := response(value, strings.NewReader(speakers[0].whole("Hi", sotto.EndStopped)))
			resp.Header["X-Request-Id"] = []string{"a", "b", "c", "d", "e"}
			return resp
		}))
		if w := ask(g, speakers[0].path, `{"model":"m","messages":[]}`); w.Header().Get("Content-Type") != want || w.Header().Get("X-Request-Id") != "" {
			t.Errorf("%s: %v", value, w.Header())
		}
	}
}

// TestCookiesOfUpstreams: a cookie passes if there is one upstream and nothing is hidden.
func TestCookiesOfUpstreams(t *testing.T) {
	for _, display := range displays {
		for _, path := range []string{"/v1/chat/completions", "/v1/embeddings"} {
			g := handler(t, gateway.Config{Default: routing.Route{Display: display}}, answering(func(*http.Request) *http.Response {
				resp := response("application/json", strings.NewReader(speakers[0].whole("Hi", sotto.EndStopped)))
				resp.Header.Set("Set-Cookie", "a=b")
				return resp
			}))
			if got := ask(g, path, `{"model":"m","messages":[]}`).Header().Get("Set-Cookie"); (got == "") != (display == routing.DisplayHide) {
				t.Errorf("%s, %s: %q", display, path, got)
			}
		}
	}
}

// TestInformational: a response of status 1xx passes with its listed headers, and not at
// all where reasoning is hidden, except 100. The gateway's own headers stay in the reply.
func TestInformational(t *testing.T) {
	upstream := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		h := w.Header()
		for _, name := range []string{"Sotto-Diagnostics", "Access-Control-Allow-Origin", "X-Thought", "Link"} {
			h.Set(name, thoughtValue)
		}
		if r.Header.Get("X-Test") != "hide" {
			h.Set("Link", "</a>; rel=preload")
		}
		h.Set("X-Request-Id", "early-1")
		w.WriteHeader(http.StatusProcessing)
		w.WriteHeader(http.StatusEarlyHints)
		clear(h)
		h.Set("Content-Type", "application/json")
		fmt.Fprint(w, speakers[0].whole("Hi", sotto.EndStopped))
	})
	for _, display := range displays {
		base := start(t, upstream, gateway.Config{Default: routing.Route{Display: display, Start: sotto.BeginOutside}, AllowOrigins: []string{"https://chat.example"}})
		for _, path := range []string{"/v1/chat/completions", "/v1/embeddings"} {
			var early []string
			ctx := httptrace.WithClientTrace(context.Background(), &httptrace.ClientTrace{Got1xxResponse: func(status int, h textproto.MIMEHeader) error {
				early = append(early, fmt.Sprint(status, " ", http.Header(h)))
				return nil
			}})
			r, err := http.NewRequestWithContext(ctx, "POST", base+path, strings.NewReader(`{"model":"m","messages":[]}`))
			if err != nil {
				t.Fatal(err)
			}
			r.Header.Set("Content-Type", "application/json")
			r.Header.Set("Origin", "https://chat.example")
			r.Header.Set("X-Test", string(display))
			resp, err := http.DefaultClient.Do(r)
			if err != nil {
				t.Fatal(err)
			}
			body, _ := io.ReadAll(resp.Body)
			resp.Body.Close()
			want := "[102 map[Link:[</a>; rel=preload] X-Request-Id:[early-1]] 103 map[Link:[</a>; rel=preload] X-Request-Id:[early-1]]]"
			if display == routing.DisplayHide {
				want = "[]"
			}
			if got := fmt.Sprint(early); got != want {
				t.Errorf("%s, %s: %s", display, path, got)
			}
			if resp.StatusCode != http.StatusOK || resp.Header.Get("Access-Control-Allow-Origin") != "https://chat.example" || resp.Header.Get("X-Request-Id") != "" || !strings.Contains(string(body), "Hi") {
				t.Errorf("%s, %s: %d %v %s", display, path, resp.StatusCode, resp.Header, body)
			}
		}
	}
}

// TestHeadersInAClient: in a Go client, an upstream cannot speak for the gateway, and where
// reasoning is hidden only listed headers pass.
func TestHeadersInAClient(t *testing.T) {
	for _, display := range displays {
		tr, err := gateway.NewTransport(gateway.TransportConfig{Default: routing.Route{Display: display}, Transport: answering(func(*http.Request) *http.Response {
			resp := response("application/json", strings.NewReader(speakers[0].whole("Hi", sotto.EndStopped)))
			resp.Header.Set("Sotto-History", canary)
			resp.Header.Set("X-Mine", "the program's own")
			resp.Header.Set("X-Request-Id", "r1")
			return resp
		})})
		if err != nil {
			t.Fatal(err)
		}
		resp, err := (&http.Client{Transport: tr}).Post("http://upstream/v1/chat/completions", "application/json", strings.NewReader(`{"model":"m","messages":[]}`))
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if h := resp.Header; strings.Contains(fmt.Sprint(h), canary) || h.Get("X-Request-Id") != "r1" || (h.Get("X-Mine") == "") != (display == routing.DisplayHide) {
			t.Errorf("%s: %v", display, h)
		}
	}
}

// TestUndeliveredHeaders: the log says at level debug which headers do not pass, by their
// names alone.
func TestUndeliveredHeaders(t *testing.T) {
	for _, path := range []string{"/v1/chat/completions", "/v1/embeddings"} {
		var log journal
		g := handler(t, gateway.Config{Logger: slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))}, answering(func(*http.Request) *http.Response {
			resp := response("application/json", strings.NewReader(speakers[0].whole("Hi", sotto.EndStopped)))
			for _, name := range []string{"X-Thought", "Sotto-History", strings.Repeat("X", 5000)} {
				resp.Header.Set(name, thoughtValue)
			}
			return resp
		}))
		ask(g, path, `{"model":"m","messages":[]}`)
		if got := log.String(); !strings.Contains(got, `names="Sotto-History X-Thought X`) || strings.Contains(got, canary) || len(got) > 4<<10 {
			t.Errorf("%s: %s", path, got)
		}
	}
}

var updateHeaders = flag.Bool("update-headers", false, "write the table of headers to docs/reference/headers.md")

// TestHeadersInTheGuide: docs/reference/headers.md has the table of the headers that pass.
func TestHeadersInTheGuide(t *testing.T) {
	const page, begins = "../docs/reference/headers.md", "| headers | what they say | under `hide` |\n| --- | --- | --- |\n"
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, found := strings.Cut(string(text), begins)
	had, after, ended := strings.Cut(rest, "\n\n")
	if !found || !ended {
		t.Fatal("the guide has no table of headers")
	}
	var rows []string
	for _, g := range gateway.ListedHeaderGroups() {
		rows = append(rows, "| `"+strings.Join(strings.Fields(g.Names), "`, `")+"` | "+g.Why+" | "+g.Hidden+" |")
	}
	table := strings.Join(rows, "\n")
	if *updateHeaders {
		if err := os.WriteFile(page, []byte(before+begins+table+"\n\n"+after), 0o644); err != nil {
			t.Fatal(err)
		}
	} else if had != table {
		t.Error("docs/reference/headers.md has another table of headers: go test ./gateway -run TestHeadersInTheGuide -update-headers")
	}
}
