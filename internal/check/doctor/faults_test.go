package doctor

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sotto-llm/sotto/internal/check/checks"
	"github.com/sotto-llm/sotto/internal/check/scripted"
	"github.com/sotto-llm/sotto/internal/testing/pipeserver"
)

func write(t *testing.T, file, text string) {
	t.Helper()
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestErrors: each thing that is wrong is said in plain words, with what to do.
func TestErrors(t *testing.T) {
	good := &fake{say: always(separated)}
	tls := httptest.NewUnstartedServer(good)
	tls.Config.ErrorLog = log.New(io.Discard, "", 0)
	tls.StartTLS()
	t.Cleanup(tls.Close)
	plain := started(t, good.ServeHTTP)
	model := func(status int, body string) string {
		return started(t, func(w http.ResponseWriter, r *http.Request) {
			if strings.HasSuffix(r.URL.Path, "/chat/completions") {
				w.WriteHeader(status)
				io.WriteString(w, body)
				return
			}
			good.ServeHTTP(w, r)
		})
	}
	page := `<!doctype html><title>Sign in</title>`
	notHTTP, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer notHTTP.Close()
	go func() {
		for {
			c, err := notHTTP.Accept()
			if err != nil {
				return
			}
			c.Read(make([]byte, 1))
			io.WriteString(c, "500 no such command\r\n")
			c.Close()
		}
	}()
	for name, c := range map[string]struct {
		url         string
		model       string
		check       string
		detail, do  string
		status      checks.Status
		unreachable bool
	}{
		"refused":                {url: "http://127.0.0.1:1", check: "reachable", detail: "nothing listens at 127.0.0.1:1", do: "start the model server", status: checks.Skipped, unreachable: true},
		"an unknown name":        {url: "http://no-such-host.invalid", check: "reachable", do: "the URL", status: checks.Skipped, unreachable: true},
		"a certificate":          {url: tls.URL, check: "reachable", detail: "certificate is refused", do: "SSL_CERT_FILE", status: checks.Finding},
		"HTTP instead of HTTPS":  {url: strings.Replace(tls.URL, "https", "http", 1), check: "reachable", detail: "speaks HTTPS", do: "https://", status: checks.Finding},
		"HTTPS instead of HTTP":  {url: strings.Replace(plain, "http", "https", 1), check: "reachable", detail: "speaks HTTP", do: "http://", status: checks.Finding},
		"not HTTP":               {url: "http://" + notHTTP.Addr().String(), check: "reachable", detail: "HTTP", status: checks.Finding},
		"a wrong path":           {url: plain + "/wrong", check: "base URL", detail: "it is below " + plain + "/v1", do: "the URL " + plain + "/v1", status: checks.Finding},
		"a web page":             {url: started(t, func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, page) }), check: "reachable", detail: "a web page", do: "base URL", status: checks.Finding},
		"nothing there":          {url: started(t, http.NotFound), check: "reachable", detail: "status 404", do: "base URL", status: checks.Finding},
		"a proxy without server": {url: started(t, func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(502); io.WriteString(w, page) }), check: "reachable", detail: "status 502", do: "not ready", status: checks.Finding},
		"a busy server":          {url: started(t, func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(429) }), check: "reachable", detail: "busy", do: "later", status: checks.Unknown},
		"no such model":          {url: plain, model: "mistery", check: "model", detail: "does not list mistery", do: "did you mean --model mystery?", status: checks.Finding},
		"no model by the answer": {url: model(404, `{"error":{"message":"The model does not exist"}}`), check: "whole", detail: "no such model", do: "--model", status: checks.Finding},
		"no route":               {url: model(404, `{"detail":"Not Found"}`), check: "whole", detail: "there is no ", do: "/v1", status: checks.Finding},
		"a key for questions":    {url: model(401, `{"error":{"message":"No auth credentials found"}}`), check: "API key", detail: "wants an API key", do: "SOTTO_UPSTREAM_KEY", status: checks.Finding},
		"busy":                   {url: model(429, `{"error":{"message":"Rate limit"}}`), check: "whole", detail: "busy", do: "later", status: checks.Unknown},
		"an error":               {url: model(500, `{"error":{"message":"CUDA out of memory"}}`), check: "whole", detail: "CUDA out of memory", do: "log", status: checks.Finding},
		"not JSON":               {url: model(200, "\xff\x00 garbage"), check: "whole", detail: "not JSON", do: "log", status: checks.Finding},
		"an empty body":          {url: model(200, ""), check: "whole", detail: "it is empty", status: checks.Finding},
		"a login page":           {url: model(200, page), check: "whole", detail: "a web page", do: "the URL", status: checks.Finding},
		"an empty reply":         {url: model(200, `{"choices":[{"index":0,"message":{"content":""},"finish_reason":"stop"}]}`), check: "whole", detail: "the reply is empty", status: checks.Finding},
	} {
		t.Run(name, func(t *testing.T) {
			transport := http.DefaultTransport.(*http.Transport).Clone()
			defer transport.CloseIdleConnections()
			r, err := Run(t.Context(), c.url, Options{Model: c.model, Transport: transport, Time: 20 * time.Second})
			if errors.Is(err, checks.ErrUnreachable) != c.unreachable || r == nil {
				t.Fatalf("%v", err)
			}
			for _, got := range r.Checks {
				if got.Name == c.check {
					if got.Status != c.status || !strings.Contains(got.Detail, c.detail) || !strings.Contains(got.Do, c.do) {
						t.Errorf("%+v", got)
					}
					return
				}
			}
			t.Errorf("no check %q: %+v", c.check, r.Checks)
		})
	}
}

// TestHostile: whatever a server sends, the diagnosis ends within its requests, and the
// report is small and safe to print.
func TestHostile(t *testing.T) {
	huge := strings.Repeat("x", 1<<18)
	strange := "\x1b[2J\u202e\n\r" + huge
	quoted, _ := json.Marshal(strange)
	for name, answer := range map[string]func(w http.ResponseWriter){
		"endless": func(w http.ResponseWriter) {
			for range 64 {
				if _, err := io.WriteString(w, huge); err != nil {
					return
				}
			}
		},
		"endless stream": func(w http.ResponseWriter) {
			w.Header().Set("Content-Type", "text/event-stream")
			for range 64 {
				if _, err := io.WriteString(w, "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\""+strings.Repeat("word ", 20_000)+"\"}}]}\n\n"); err != nil {
					return
				}
			}
		},
		"deep": func(w http.ResponseWriter) { io.WriteString(w, strings.Repeat(`{"data":[`, 1<<17)) },
		"many calls": func(w http.ResponseWriter) {
			io.WriteString(w, `{"choices":[{"message":{"content":"x","tool_calls":[`+strings.Repeat(`{"id":"1"},`, 20_000)+`{}]}}]}`)
		},
		"many fields": func(w http.ResponseWriter) {
			w.Header().Set("Content-Type", "text/event-stream")
			for range 2000 {
				io.WriteString(w, "data: {\"choices\":[{\"index\":0,\"delta\":{\"reasoning\":\"r\",\"content\":"+string(quoted[:20])+"\"}}]}\n\n")
			}
		},
		"an error": func(w http.ResponseWriter) {
			w.WriteHeader(500)
			w.Write(append(append([]byte(`{"error":{"message":`), quoted...), "}}"...))
		},
		"a redirect": func(w http.ResponseWriter) { w.Header().Set("Location", "http://169.254.169.254/"); w.WriteHeader(302) },
		"text": func(w http.ResponseWriter) {
			w.Write(append(append([]byte(`{"choices":[{"message":{"content":`), quoted...), `},"finish_reason":"\u001b[31m"}]}`...))
		},
		"half a frame": func(w http.ResponseWriter) {
			w.Header().Set("Content-Type", "text/event-stream")
			io.WriteString(w, "data: {\"choices\":[{\"delta\":{\"content\":\"Fo")
		},
	} {
		for _, listed := range []bool{true, false} {
			t.Run(name, func(t *testing.T) {
				url := started(t, func(w http.ResponseWriter, r *http.Request) {
					if listed && r.URL.Path == "/v1/models" {
						io.WriteString(w, `{"data":[{"id":`+string(quoted[:60])+`"}]}`)
						return
					}
					answer(w)
				})
				r, _ := examine(t, url, Options{Model: "", Key: "canary-of-the-key"})
				data, err := json.Marshal(r)
				var text bytes.Buffer
				r.Print(&text)
				if err != nil || len(data) > 30_000 || r.Findings == 0 || strings.ContainsAny(text.String(), "\x1b\r\u202e") || strings.Contains(text.String()+string(data), "canary") {
					t.Errorf("%d bytes, %d findings, %v: %.2000q", len(data), r.Findings, err, text.String())
				}
			})
		}
	}
}

// paced is an upstream that writes a token every 20 ms, in the clock of a bubble.
func paced() http.Handler { return scripted.New(scripted.Options{Pause: 20 * time.Millisecond}) }

// buffering answers with the whole response of another server once it is complete, as a
// proxy does that buffers.
func buffering(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		whole := httptest.NewRecorder()
		h.ServeHTTP(whole, r)
		for name, values := range whole.Header() {
			w.Header()[name] = values
		}
		w.Header().Set("Server", "nginx/1.27.0")
		w.WriteHeader(whole.Code)
		w.Write(whole.Body.Bytes())
	})
}

// cutting breaks responses off after some bytes, as a proxy with a limit does.
func cutting(h http.Handler, after int) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h.ServeHTTP(&cutter{w, after}, r)
	})
}

type cutter struct {
	http.ResponseWriter
	left int
}

func (c *cutter) Write(p []byte) (int, error) {
	if !strings.HasPrefix(c.Header().Get("Content-Type"), "text/event-stream") {
		return c.ResponseWriter.Write(p)
	}
	n := min(len(p), c.left)
	c.ResponseWriter.Write(p[:n])
	if c.left -= n; c.left == 0 {
		http.NewResponseController(c.ResponseWriter).Flush()
		panic(http.ErrAbortHandler)
	}
	return n, nil
}

func (c *cutter) Unwrap() http.ResponseWriter { return c.ResponseWriter }

// TestBetween: a proxy that buffers is found, with what the headers say about it; a
// stream that comes as it is made is not suspected. A stream that a proxy cuts is found.
// A server that hangs ends the diagnosis after one question.
func TestBetween(t *testing.T) {
	hanging := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/v1/chat/completions" {
			_, _ = io.Copy(io.Discard, r.Body)
			<-r.Context().Done()
			return
		}
		paced().ServeHTTP(w, r)
	})
	for name, c := range map[string]struct {
		server http.Handler
		check  string
		want   checks.Check
	}{
		"streaming": {paced(), "delivery", checks.Check{Status: checks.OK, Detail: "48 pieces over"}},
		"buffering": {buffering(paced()), "delivery", checks.Check{Status: checks.Finding, Detail: "something between collects the stream; the headers show nginx", Do: "proxy_buffering"}},
		"cutting":   {cutting(paced(), 700), "stream", checks.Check{Status: checks.Finding, Detail: "broke off", Do: "the last bytes came after"}},
		"hanging":   {hanging, "whole", checks.Check{Status: checks.Finding, Detail: "no answer within 30s", Do: "--time"}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				server := pipeserver.New(c.server)
				defer server.Close()
				began := time.Now()
				r, made := examine(t, "http://model.example", Options{Model: "qwen3:8b", API: "openai", Time: 30 * time.Second, Transport: server.Transport()})
				got := made[c.check]
				if got.Status != c.want.Status || !strings.Contains(got.Detail, c.want.Detail) || !strings.Contains(got.Do, c.want.Do) {
					t.Errorf("%+v", r.Checks)
				}
				if name == "hanging" && (time.Since(began) > time.Minute || made["stream"].Status != checks.Skipped) {
					t.Errorf("%s: %+v", time.Since(began), r.Checks)
				}
			})
		})
	}
}

// TestDelivery: a stream is suspected only if it has many pieces that came at once after
// a silence. Anything else is said to be unknown.
func TestDelivery(t *testing.T) {
	for name, c := range map[string]struct {
		pieces      int
		first, last time.Duration
		want        checks.Status
	}{
		"as it is made":      {100, 300 * time.Millisecond, 2300 * time.Millisecond, checks.OK},
		"at once":            {100, 2 * time.Second, 2010 * time.Millisecond, checks.Finding},
		"at once, and soon":  {100, 40 * time.Millisecond, 45 * time.Millisecond, checks.Unknown},
		"few pieces":         {5, 2 * time.Second, 2 * time.Second, checks.Unknown},
		"a slow first token": {100, 30 * time.Second, 31 * time.Second, checks.OK},
	} {
		if got := delivery(c.pieces, 1, c.first, c.last); got.status != c.want || got.detail == "" || (got.name == "") != (c.want == checks.OK) {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

// TestTime: the whole diagnosis is bounded.
func TestTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := pipeserver.New(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body)
			select {
			case <-time.After(9 * time.Second):
			case <-r.Context().Done():
			}
			paced().ServeHTTP(w, r)
		}))
		defer server.Close()
		r, made := examine(t, "http://model.example", Options{Model: "qwen3:8b", Time: 10 * time.Second, Whole: 40 * time.Second, Transport: server.Transport()})
		if made["time"].Status != checks.Finding {
			t.Errorf("%+v", r.Checks)
		}
	})
}

// TestFindLocal: the usual ports are looked at, and only read. OLLAMA_HOST moves one of
// them, if it is on this machine.
func TestFindLocal(t *testing.T) {
	byHost := map[string]http.Handler{
		"127.0.0.1:11500": scripted.New(scripted.Options{}),
		"127.0.0.1:8000":  &fake{extra: map[string]string{"/version": `{"version":"0.11.0"}`}},
		"127.0.0.1:8080":  http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, "<html>Jenkins</html>") }),
	}
	transport := transportFunc(func(r *http.Request) (*http.Response, error) {
		if r.Method != http.MethodGet {
			t.Errorf("%s %s", r.Method, r.URL)
		}
		h := byHost[r.URL.Host]
		if h == nil {
			return nil, &net.OpError{Op: "dial", Err: errors.New("connection refused")}
		}
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		return w.Result(), nil
	})
	found := FindLocal(t.Context(), transport, func(name string) string {
		if name == "OLLAMA_HOST" {
			return "0.0.0.0:11500"
		}
		return ""
	})
	if len(found) != 2 || found[0].URL != "http://127.0.0.1:11500" || found[0].Server.Name != Ollama || len(found[0].Models) < 10 || found[1].Server != (Server{VLLM, "0.11.0", "GET /version"}) {
		t.Errorf("%+v", found)
	}
	for host, want := range map[string]string{
		"": "http://127.0.0.1:11434", "127.0.0.1": "http://127.0.0.1:11434", "http://localhost:99/": "http://127.0.0.1:99",
		"[::1]:5": "http://[::1]:5", "ollama.example:11434": "http://127.0.0.1:11434", "0.0.0.0:99999": "http://127.0.0.1:11434", "10.0.0.1": "http://127.0.0.1:11434",
	} {
		if got := Addresses(func(string) string { return host })[0][1]; got != want {
			t.Errorf("OLLAMA_HOST=%s: %s, want %s", host, got, want)
		}
	}
}

type transportFunc func(*http.Request) (*http.Response, error)

func (f transportFunc) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }
