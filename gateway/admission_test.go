package gateway_test

import (
	"bufio"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/sotto-llm/sotto/gateway"
	"github.com/sotto-llm/sotto/gateway/routing"
)

// TestAdmission has a row for each way of coming in: the status, and 200 alone says
// that the upstream was reached.
func TestAdmission(t *testing.T) {
	var (
		alone    = gateway.Config{}
		tokened  = gateway.Config{Public: true, Token: "tok"}
		insecure = gateway.Config{Public: true}
		prefixed = gateway.Config{Public: true, PathPrefix: "/openai"}
		hiding   = gateway.Config{Default: routing.Route{Display: routing.DisplayHide}}
		someHide = gateway.Config{Routes: []routing.Route{{Models: []string{"secret*"}, Display: routing.DisplayHide}}}
		openHide = gateway.Config{Public: true, PassAll: true, Default: routing.Route{Display: routing.DisplayHide}}
	)
	ws := []string{"Connection", "Upgrade", "Upgrade", "websocket"}
	h2c := []string{"Connection", "Upgrade, HTTP2-Settings", "Upgrade", "h2c", "HTTP2-Settings", "AAMAAABkAAQAAP__"}
	for _, c := range []struct {
		config       gateway.Config
		method, path string
		header       []string
		want         int
	}{
		// The whole path, not its end.
		{insecure, "POST", "/v1/chat/completions", nil, 200},
		{insecure, "POST", "/v1/chat/completions/", nil, 200},
		{insecure, "POST", "/api/delete/api/show", nil, 404},
		{insecure, "GET", "/admin/models?x", nil, 404},
		{insecure, "POST", "/admin/v1/chat/completions", nil, 404},
		{insecure, "POST", "/api/pull/v1/messages", nil, 404},
		{insecure, "GET", "/v1/models/org/name", nil, 200},
		{insecure, "GET", "/v1/models/org%2Fname", nil, 200},
		{insecure, "GET", "/x/v1/models/name", nil, 404},
		{insecure, "HEAD", "/v1/models", nil, 200},
		{insecure, "OPTIONS", "/v1/models", nil, 404},
		{alone, "POST", "/api/v1/chat/completions", nil, 200},
		{alone, "POST", "/api/delete/api/show", nil, 200},
		{prefixed, "POST", "/openai/v1/chat/completions", nil, 200},
		{prefixed, "POST", "/v1/chat/completions", nil, 200},
		{prefixed, "POST", "/openai/x/v1/chat/completions", nil, 404},
		{prefixed, "POST", "/other/v1/chat/completions", nil, 404},
		{prefixed, "POST", "/openai/api/pull", nil, 404},
		{prefixed, "POST", "/openai%2Fv1/chat/completions", nil, 400},
		// Retrieval of what others were answered.
		{tokened, "GET", "/v1/responses/resp_1", nil, 404},
		{tokened, "GET", "/v1/responses/resp_1/input_items", nil, 404},
		{tokened, "POST", "/v1/responses/resp_1/cancel", nil, 404},
		{tokened, "GET", "/v1/chat/completions", nil, 404},
		{tokened, "GET", "/v1/chat/completions/c1/messages", nil, 404},
		{tokened, "GET", "/v1/files/f/content", nil, 404},
		{tokened, "GET", "/v1/messages/batches/b/results", nil, 404},
		{alone, "GET", "/v1/responses/resp_1", nil, 200},
		{alone, "HEAD", "/v1/responses/resp_1", nil, 200},
		{tokened, "HEAD", "/v1/responses/resp_1", nil, 404},
		{prefixed, "GET", "/openai/v1/responses/resp_1", nil, 404},
		// What a client asks before anything else, sound and images.
		{insecure, "GET", "/", nil, 200},
		{insecure, "HEAD", "/", nil, 200},
		{insecure, "POST", "/", nil, 404},
		{insecure, "POST", "/v1/audio/speech", nil, 200},
		{insecure, "POST", "/v1/audio/transcriptions", nil, 200},
		{insecure, "POST", "/v1/images/generations", nil, 200},
		{insecure, "POST", "/v1/images/edits", nil, 200},
		{insecure, "GET", "/v1/images/generations", nil, 404},
		{insecure, "POST", "/x/v1/images/generations", nil, 404},
		{hiding, "POST", "/v1/audio/transcriptions", nil, 403}, // llama.cpp's server asks the chat model
		{hiding, "POST", "/v1/audio/speech", nil, 200},
		{hiding, "POST", "/v1/images/generations", nil, 200},
		{hiding, "GET", "/", nil, 200},
		{alone, "GET", "/v1/audio/transcriptions", ws, 426},
		// The end of the path says how a reply is read, the whole path who may ask.
		{insecure, "POST", "/models/org/name/v1/chat/completions", nil, 404},
		{insecure, "POST", "/api/v3/responses", nil, 404},
		{insecure, "POST", "/openai/responses?api-version=1", nil, 404},
		{hiding, "POST", "/v1/threads/t/messages", nil, 403},
		// Where reasoning is hidden, of any model.
		{hiding, "GET", "/v1/responses/resp_1/input_items", nil, 403},
		{hiding, "GET", "/proxy/v1/responses/resp_1/input_items", nil, 403},
		{hiding, "GET", "/V1/Responses/resp_1", nil, 400},
		{hiding, "GET", "/v1/responses/resp_1/input_items/", nil, 403},
		{hiding, "POST", "/v1/batches", nil, 403},
		{hiding, "GET", "/v1/files/f/content", nil, 200},
		{hiding, "POST", "/v1/files/f/content", nil, 403},
		{hiding, "GET", "/v1/files/f", nil, 200},
		{insecure, "POST", "/v1beta/models/gemini:streamGenerateContent?alt=sse", nil, 200},
		{insecure, "POST", "/v1beta/models/gemini%3AgenerateContent", nil, 200},
		{insecure, "POST", "/v1/projects/p/locations/l/publishers/google/models/m:generateContent", nil, 200},
		{hiding, "POST", "/v1/projects/p/locations/l/publishers/anthropic/models/m:rawPredict", nil, 403},
		{hiding, "POST", "/v1beta/models/gemini:batchGenerateContent", nil, 403},
		{hiding, "POST", "/v1beta/models/gemini:GenerateContent", nil, 400},
		{insecure, "POST", "/v1beta/models/gemini:generateContent", nil, 200},
		{insecure, "POST", "/v1/projects/p/locations/l/endpoints/1:streamGenerateContent", nil, 200},
		{insecure, "POST", "/v1beta/models/gemini:batchGenerateContent", nil, 404},
		{insecure, "POST", "/x/v1beta/models/gemini:generateContent", nil, 404},
		{someHide, "POST", "/model/anthropic.claude-v1%3A0/converse", nil, 200},
		{someHide, "POST", "/model/arn%3Aaws%3Abedrock%3A%3Aprofile%2Fx/converse-stream", nil, 200},
		{insecure, "POST", "/model/anthropic.claude/converse", nil, 200},
		{insecure, "POST", "/model/anthropic.claude/invoke", nil, 404},
		{hiding, "POST", "/model/arn%3Aaws%3Abedrock%3A%3Aprofile%2Fx/invoke", nil, 403},
		{hiding, "GET", "/v1/threads/t/messages", nil, 403},
		{hiding, "GET", "/completion", nil, 403},
		{hiding, "POST", "/generate", nil, 403},
		{hiding, "POST", "/generate_stream", nil, 403},
		{hiding, "GET", "/slots", nil, 403},
		{hiding, "POST", "/invocations", nil, 403},
		{hiding, "PUT", "/v1/chat/completions", nil, 403},
		{hiding, "GET", "/v1/unheard/of", nil, 403},
		{hiding, "GET", "/v1/models", nil, 200},
		{hiding, "DELETE", "/api/delete", nil, 200},
		{hiding, "GET", "/v1/realtime", ws, 426},
		{someHide, "GET", "/v1/responses/resp_1/input_items", nil, 403},
		{someHide, "POST", "/v1beta/models/gemini:generateContent", nil, 200},
		{openHide, "GET", "/v1/responses/resp_1/input_items", nil, 403},
		{openHide, "PUT", "/v1/chat/completions", nil, 403},
		{openHide, "GET", "/v1/unheard/of", nil, 200},
		{alone, "GET", "/v1/unheard/of", nil, 200},
		// Methods.
		{alone, "TRACE", "/v1/models", nil, 405},
		{alone, "CONNECT", "/v1/models", nil, 405},
		{alone, "TRACK", "/v1/models", nil, 405},
		{alone, "post", "/v1/chat/completions", nil, 405},
		{alone, "PATCH", "/v1/models", nil, 200},
		// Upgrades.
		{alone, "GET", "/v1/responses", ws, 426},
		{alone, "GET", "/responses", ws, 426},
		{alone, "POST", "/v1/chat/completions", ws, 426},
		{alone, "GET", "/v1/realtime?model=m", ws, 426},
		{alone, "GET", "/ws/service.BidiGenerateContent", ws, 426},
		{alone, "GET", "/queue", ws, 200},
		{tokened, "GET", "/v1/responses", ws, 426},
		{tokened, "GET", "/v1/models", ws, 403},
		{openHide, "GET", "/queue", ws, 403},
		{alone, "GET", "/v1/models", h2c, 200}, // without the upgrade
		{tokened, "GET", "/v1/models", h2c, 200},
		// Probes.
		{tokened, "GET", "/healthz", []string{"X-Api-Key", ""}, -200},
		{tokened, "HEAD", "/healthz", []string{"X-Api-Key", ""}, -200},
		{tokened, "HEAD", "/readyz", []string{"X-Api-Key", ""}, -200},
		{tokened, "HEAD", "/metrics", []string{"X-Api-Key", ""}, 401},
		{tokened, "DELETE", "/healthz", []string{"X-Api-Key", ""}, 401},
		{tokened, "GET", "/x/healthz", []string{"X-Api-Key", ""}, 401},
		{tokened, "GET", "/Healthz", []string{"X-Api-Key", ""}, 400},
	} {
		v := visit{method: c.method, path: c.path, header: header(c.header...)}
		if c.config.Token != "" && v.header["X-Api-Key"] == nil {
			v.header.Set("X-Api-Key", c.config.Token)
		}
		w, reached := v.call(t, c.config)
		answered := c.want < 0
		if w.Code != max(c.want, -c.want) || (reached != nil) != (c.want == 200) {
			t.Errorf("%s %s %q, public %v, all %v, display %q: %d, reached %v, want %d: %s", c.method, c.path, c.header,
				c.config.Public, c.config.PassAll, c.config.Default.Display, w.Code, reached != nil, c.want, w.Body)
		}
		if !answered && reached != nil && slices.Equal(c.header, h2c) && (reached.Header.Get("Upgrade") != "" || reached.Header.Get("Http2-Settings") != "") {
			t.Errorf("%s: the upgrade went on: %v", c.path, reached.Header)
		}
	}
}

// TestUnreadablePaths: a path that two servers may read in two ways reaches none, in
// no mode, and the answer does not say it back raw.
func TestUnreadablePaths(t *testing.T) {
	for _, p := range []string{
		"/v1/models/..%5c..%5cpull", "/v1/models/..%2f..%2fpull", "/v1/models/%2e%2e/%2e%2e/slots", "/v1/models/%2E%2E%2Fx",
		"/v1/models/../../slots", "/v1/models/./x", "/v1/models/x/.", "/v1/models/...", "/v1/models/x.", "/../v1/models",
		"/v1/models/%252e%252e%252fpull", "/v1/models/%25%32%65", "/v1/models/x%00", "/v1/models/x%0d%0aX:1", "/v1/models/x%7f", "/v1/models/x%20",
		"/v1/models;a=b", "/v1/models/..;/x", "/v1/models/%3b", "/v1/models/%c0%ae%c0%ae/x", "/v1/models/%ef%bc%8e%ef%bc%8e/x",
		"//v1/models", "/v1//models", "/v1/models//x", "//evil.example/v1/models", "/v1/models%3Fx", "/v1/models%23x",
		"/v1%2Fmodels", "/api%2fchat", "/api/delete%2fapi/show", "/v1/responses%2Fresp_1", "/x/v1%2Fresponses/resp_1",
		"/" + strings.Repeat("a/", 40), "/" + strings.Repeat("a", 2000), "/API/Chat", "/v1/CHAT/completions",
	} {
		for _, c := range []gateway.Config{{}, {Public: true}, {Public: true, PassAll: true}, {Default: routing.Route{Display: routing.DisplayHide}, PassAll: true}} {
			for _, method := range []string{"GET", "POST", "DELETE"} {
				w, reached := visit{method: method, path: p}.call(t, c)
				if w.Code != http.StatusBadRequest || reached != nil {
					t.Errorf("%s %s, public %v: %d, reached %v", method, p, c.Public, w.Code, reached)
				}
				if strings.ContainsFunc(strings.TrimSuffix(w.Body.String(), "\n"), func(r rune) bool { return r < ' ' || r > '~' }) {
					t.Errorf("%s: the answer is raw: %q", p, w.Body)
				}
			}
		}
	}
}

// TestUpstreamBase: a path that is admitted goes to the upstream below its base, as
// it is usually encoded.
func TestUpstreamBase(t *testing.T) {
	var reached *http.Request
	up, _ := url.Parse("http://upstream/base/")
	g, err := gateway.New(gateway.Config{Upstream: up, Transport: answering(func(r *http.Request) *http.Response {
		reached = r
		return response("application/json", strings.NewReader(`{}`))
	})})
	if err != nil {
		t.Fatal(err)
	}
	defer g.Close()
	for p, want := range map[string]string{
		"/v1/chat/completions": "/base/v1/chat/completions", "/%76%31/models": "/base/v1/models", "/v1/models/org%2fname": "/base/v1/models/org%2fname",
		"/v1/models/qwen3%3A8b": "/base/v1/models/qwen3:8b", "/": "/base/", "/v1/models/x?a=%2e%2e/": "/base/v1/models/x?a=%2e%2e/",
	} {
		reached = nil
		r := httptest.NewRequest("GET", p, nil)
		r.Host = "localhost"
		g.ServeHTTP(httptest.NewRecorder(), r)
		if reached == nil || reached.URL.RequestURI() != want {
			t.Errorf("%s: %v, want %s", p, reached, want)
		}
	}
}

// TestRoutingHeaders: a client's word on what its request really is does not reach
// the upstream, however it is spelled.
func TestRoutingHeaders(t *testing.T) {
	names := []string{
		"X-HTTP-Method-Override", "X-HTTP-Method", "X-Method-Override", "X-Original-URL", "X-Original-Uri", "X-Rewrite-URL", "X-Forwarded-Prefix",
		"X-Forwarded-Uri", "X-Forwarded-Path", "X-Forwarded-For", "X-Forwarded-Host", "X-Forwarded-Proto", "Forwarded", "X-Accel-Redirect", "X-Accel-Buffering",
		"X-Sendfile", "X-Real-IP", "X-Script-Name", "X-Remote-User", "X-Envoy-Original-Path", "X-Host", "X-Override-URL", "Proxy", "HTTP2-Settings",
	}
	for _, name := range names {
		for _, spelled := range []string{name, strings.ToLower(name), strings.ToUpper(name), strings.ReplaceAll(name, "-", "_"), strings.Replace(name, "-", "_", 1)} {
			for _, c := range []gateway.Config{{}, {Public: true, PassAll: true}} {
				for _, p := range []string{"/v1/chat/completions", "/v1/models"} {
					_, reached := visit{path: p, method: map[string]string{"/v1/models": "GET"}[p], header: http.Header{spelled: {"DELETE"}, "X-Kept": {"1"}}}.call(t, c)
					if reached == nil || reached.Header.Get("X-Kept") != "1" {
						t.Fatalf("%s: not reached", spelled)
					}
					for got := range reached.Header {
						if strings.EqualFold(strings.ReplaceAll(got, "_", "-"), name) {
							t.Errorf("%s %s went on", p, got)
						}
					}
				}
			}
		}
	}
}

// A hostile request as it comes over a connection, and the request that net/http
// makes of it; nil where it makes none.
func hostile(method, target, lines string) *http.Request {
	raw := method + " " + target + " HTTP/1.1\r\nHost: localhost\r\n" + lines + "Content-Length: 2\r\n\r\n{}"
	r, err := http.ReadRequest(bufio.NewReader(strings.NewReader(raw)))
	if err != nil {
		return nil
	}
	return r
}

// FuzzAdmission holds every request that reaches the upstream against the table by
// a reading of its own: the path decoded until nothing is left to decode, with
// backslashes as slashes, and cleaned.
func FuzzAdmission(f *testing.F) {
	for _, target := range []string{
		"/", "/v1/chat/completions", "/v1/models/..%5c..%5cpull", "/api/delete/api/show", "/admin/models?x", "/v1/models/%252e%252e", "/v1/models/a%2Fb",
		"/openai/v1/chat/completions", "http://other/v1/models", "//v1/models", "*", "/v1/models/x;y", "/v1/responses/r", "/model/a%2Fb/converse",
	} {
		f.Add("GET", target, "")
		f.Add("POST", target, "X-HTTP-Method-Override: DELETE\r\nUpgrade: h2c\r\nConnection: upgrade\r\n")
		f.Add("GET", target, "Connection: upgrade, x-api-key\r\nUpgrade: websocket\r\nX_Original_Url: /api/delete\r\n")
	}
	var reached *http.Request
	up, _ := url.Parse("http://upstream/base")
	make := func(c gateway.Config) *gateway.Handler {
		c.Upstream = up
		c.Transport = answering(func(r *http.Request) *http.Response {
			reached = r
			return response("application/json", strings.NewReader(`{}`))
		})
		g, err := gateway.New(c)
		if err != nil {
			f.Fatal(err)
		}
		f.Cleanup(func() { g.Close() })
		return g
	}
	alone := make(gateway.Config{})
	public := make(gateway.Config{Public: true, PathPrefix: "/openai"})
	hiding := make(gateway.Config{Default: routing.Route{Display: routing.DisplayHide}})
	rows := gateway.Endpoints()
	leads := func(method, p string, whole bool, kinds ...string) bool {
		return slices.ContainsFunc(rows, func(e gateway.Endpoint) bool {
			if !whole {
				e.Path = "{...}" + e.Path
			}
			return slices.Contains(kinds, e.Kind) && fitsRow(e, method, p)
		})
	}
	open := []string{"replies", "harmless", "audio"}
	reads := func(method, p string) bool { // by the end of its path, or a reply made earlier
		ends := slices.ContainsFunc(rows, func(e gateway.Endpoint) bool {
			return e.Kind == "replies" && strings.Count(e.Path, "/") > 1 && strings.HasSuffix(strings.TrimSuffix(p, "/"), e.Path)
		})
		return method == "POST" && ends || leads(method, p, true, "stored")
	}
	f.Fuzz(func(t *testing.T, method, target, lines string) {
		for name, g := range map[string]*gateway.Handler{"alone": alone, "public": public, "hiding": hiding} {
			r := hostile(method, target, lines)
			if r == nil {
				return
			}
			reached = nil
			w := httptest.NewRecorder()
			g.ServeHTTP(w, r)
			if reached == nil {
				continue
			}
			p, ok := strings.CutPrefix(fullyDecoded(reached.URL.EscapedPath())+"/", "/base/")
			if !ok {
				t.Fatalf("%s: %s leaves the base: %s", name, target, reached.URL)
			}
			p = path.Clean("/" + p)
			if err := badHeader(reached, name); err != nil {
				t.Fatalf("%s: %s %v", name, target, err)
			}
			inside := p
			if rest, ok := strings.CutPrefix(p, "/openai/"); ok {
				inside = "/" + rest
			}
			switch whole := leads(reached.Method, p, true, open...) || leads(reached.Method, inside, true, open...); {
			case name == "public" && !whole:
				t.Fatalf("%s %s is admitted as %s", method, target, p)
			case name == "hiding" && leads(reached.Method, p, true, "unread", "audio") && !reads(reached.Method, p):
				t.Fatalf("%s %s is admitted as %s, which nobody reads", method, target, p)
			}
		}
	})
}

// fullyDecoded is a path as the most obliging server would read it.
func fullyDecoded(p string) string {
	for range 8 {
		q, err := url.PathUnescape(p)
		if err != nil || q == p {
			break
		}
		p = q
	}
	var parts []string
	for part := range strings.SplitSeq(strings.ReplaceAll(p, `\`, "/"), "/") {
		part, _, _ = strings.Cut(part, ";")
		parts = append(parts, part)
	}
	return path.Clean("/" + strings.Join(parts, "/"))
}

// badHeader says which header should not have gone on.
func badHeader(r *http.Request, mode string) error {
	for name, values := range r.Header {
		n := strings.ReplaceAll(strings.ToLower(name), "_", "-")
		upgrades := n == "upgrade" && (mode == "public" || len(values) != 1 || values[0] != "websocket")
		if upgrades || n == "http2-settings" || strings.Contains(n, "method-override") || strings.HasPrefix(n, "x-original-") || strings.HasPrefix(n, "x-forwarded-") {
			return fmt.Errorf("passes on %s: %q", name, values)
		}
	}
	return nil
}
