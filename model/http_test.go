package model_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/internal/check/scripted"
	"github.com/sotto-llm/sotto/model"
)

const hello = `{"choices":[{"index":0,"delta":{"content":"hello"}}]}`

// A request is retried while nothing has come, as often as is allowed, and
// not after a word.
func TestRetries(t *testing.T) {
	for _, c := range []struct {
		name    string
		fail    func(w http.ResponseWriter)
		retries int
		tries   int32
		ok      bool
	}{
		{"429, then a reply", func(w http.ResponseWriter) { w.Header().Set("Retry-After-Ms", "5"); w.WriteHeader(429) }, 0, 3, true},
		{"503, then a reply", func(w http.ResponseWriter) { w.WriteHeader(503) }, 2, 3, true},
		{"503, too often", func(w http.ResponseWriter) { w.WriteHeader(503) }, 1, 2, false},
		{"never", func(w http.ResponseWriter) { w.WriteHeader(503) }, -1, 1, false},
		{"a connection that breaks", func(w http.ResponseWriter) { panic(http.ErrAbortHandler) }, 0, 3, true},
		{"a limit that no waiting lifts", func(w http.ResponseWriter) {
			w.WriteHeader(429)
			io.WriteString(w, `{"error":{"message":"pay","type":"insufficient_quota","code":"insufficient_quota"}}`)
		}, 0, 1, false},
		{"an error for good", func(w http.ResponseWriter) { w.WriteHeader(400) }, 0, 1, false},
		{"longer than one waits", func(w http.ResponseWriter) { w.Header().Set("Retry-After", "3600"); w.WriteHeader(429) }, 0, 1, false},
		{"an error in the stream, before a word", func(w http.ResponseWriter) {
			w.Header().Set("Content-Type", "text/event-stream")
			io.WriteString(w, chunks(choice(`{"role":"assistant","content":""}`), `{"error":{"code":529,"message":"busy"}}`))
		}, 0, 3, true},
		{"after a word", func(w http.ResponseWriter) {
			w.Header().Set("Content-Type", "text/event-stream")
			io.WriteString(w, chunks(hello, `{"error":{"code":529,"message":"busy"}}`))
		}, 0, 1, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			var tries atomic.Int32
			var first atomic.Value
			url := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				b, _ := io.ReadAll(r.Body)
				if !first.CompareAndSwap(nil, string(b)) && first.Load() != string(b) {
					t.Errorf("another body: %s", b)
				}
				if tries.Add(1) < 3 {
					c.fail(w)
					return
				}
				w.Header().Set("Content-Type", "text/event-stream")
				io.WriteString(w, chunks(hello, stop, done))
			}))
			m := open(t, model.Config{Provider: "openai", URL: url, Model: "m", Retries: c.retries, Backoff: time.Millisecond})
			r := invoke(t, m, asked("?"))
			r.consistent(t)
			if (r.err == nil) != c.ok || tries.Load() != c.tries || c.ok && r.reply.Raw != "hello" {
				t.Errorf("%d tries, %v: %+v", tries.Load(), r.err, r.reply)
			}
		})
	}
}

// A request is sent exactly as often as the settings say, and never before the time
// that the server asked for. A wait that is longer than MaxWait is the caller's to
// decide about.
func TestRetryTimes(t *testing.T) {
	for _, c := range []struct {
		name   string
		config model.Config
		after  string // Retry-After
		want   int
		gap    time.Duration // between two requests, at least
		asks   time.Duration // what the error says of it
	}{
		{"seven, whatever the jitter", model.Config{Retries: 6, Backoff: time.Second, MaxWait: 2 * time.Second}, "", 7, time.Second / 2, 0},
		{"in seconds", model.Config{Retries: 2}, "42", 3, 42 * time.Second, 42 * time.Second},
		{"a date", model.Config{Retries: 1}, time.Date(2000, 1, 1, 0, 0, 50, 0, time.UTC).Format(http.TimeFormat), 2, 50 * time.Second, 0},
		{"longer than MaxWait", model.Config{Retries: 6, MaxWait: time.Minute}, "61", 1, 0, 61 * time.Second},
		{"two weeks", model.Config{Retries: 6}, "1209600", 1, 0, 14 * 24 * time.Hour},
		{"the total time", model.Config{Retries: 100, RetryTime: 150 * time.Second}, "60", 3, time.Minute, time.Minute},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var came []time.Time
				c.config.Provider, c.config.Model = "openai", "m"
				c.config.Transport = roundTrip(func(r *http.Request) *http.Response {
					came = append(came, time.Now())
					h := http.Header{}
					if c.after != "" {
						h.Set("Retry-After", c.after)
					}
					return &http.Response{StatusCode: 429, Header: h, Body: http.NoBody, Request: r}
				})
				r := invoke(t, open(t, c.config), asked("?"))
				var e *model.Error
				if !errors.As(r.err, &e) || e.RetryAfter != c.asks || len(came) != c.want {
					t.Errorf("%d requests, want %d; %v asks for %v, want %v", len(came), c.want, r.err, e.RetryAfter, c.asks)
				}
				for i := 1; i < len(came); i++ {
					if gap := came[i].Sub(came[i-1]); gap < c.gap {
						t.Errorf("request %d came after %v, want %v at least", i+1, gap, c.gap)
					}
				}
			})
		})
	}
}

// A roundTrip answers requests in this process.
type roundTrip func(*http.Request) *http.Response

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) {
	_, _ = io.Copy(io.Discard, r.Body)
	return f(r), nil
}

// A server that is not there is an error of the connection, after all tries.
func TestRefused(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	url := "http://" + l.Addr().String()
	l.Close()
	var log bytes.Buffer
	m := open(t, model.Config{Provider: "ollama", URL: url, Model: "m", Retries: 2, Backoff: time.Millisecond, Log: slog.New(slog.NewTextHandler(&log, nil))})
	r := invoke(t, m, asked("?"))
	var e *model.Error
	if !errors.Is(r.err, syscall.ECONNREFUSED) || !errors.As(r.err, &e) || !e.Retryable || r.reply.End != sotto.EndAborted {
		t.Errorf("%v", r.err)
	}
	if n := strings.Count(log.String(), "is retried"); n != 2 {
		t.Errorf("%d lines in the log:\n%s", n, &log)
	}
}

// Who waits for another try can be called off.
func TestCancelWhileWaiting(t *testing.T) {
	url := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(503) }))
	m := open(t, model.Config{Provider: "ollama", URL: url, Model: "m", Backoff: 30 * time.Second})
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	began := time.Now()
	if _, err := m.Invoke(ctx, asked("?"), nil); !errors.Is(err, context.DeadlineExceeded) || time.Since(began) > 10*time.Second {
		t.Errorf("%v after %v", err, time.Since(began))
	}
}

// stuck says a word, and then nothing until its client goes.
func stuck(before string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		if before != "" {
			w.Header().Set("Content-Type", "text/event-stream")
			io.WriteString(w, before)
			http.NewResponseController(w).Flush()
		}
		<-r.Context().Done()
	}
}

// Silence is bounded, before the reply and within it; the client's own time does
// not count, and a reply that had ended is whole.
func TestSilence(t *testing.T) {
	ask := func(before string) run {
		m := open(t, model.Config{Provider: "openai", URL: serve(t, stuck(before)), Model: "m", Silence: 60 * time.Millisecond})
		r := invoke(t, m, asked("?"))
		r.consistent(t)
		return r
	}
	for _, before := range []string{"", ": hm\n\n", chunks(hello)} {
		r := ask(before)
		var e *model.Error
		if !errors.Is(r.err, model.ErrSilent) || !errors.As(r.err, &e) || e.Retryable {
			t.Errorf("after %q: %v", before, r.err)
		}
		if strings.Contains(before, "hello") && r.reply.Raw != "hello" {
			t.Errorf("%+v", r.reply)
		}
	}
	if r := ask(chunks(hello, stop)); r.err != nil || r.reply.End != sotto.EndStopped {
		t.Errorf("%v: %+v", r.err, r.reply)
	}

	url := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		for _, f := range []string{hello, hello, stop, done} {
			io.WriteString(w, chunks(f))
			http.NewResponseController(w).Flush()
			time.Sleep(10 * time.Millisecond)
		}
	}))
	m := open(t, model.Config{Provider: "openai", URL: url, Model: "m", Silence: 60 * time.Millisecond})
	if _, err := m.Invoke(t.Context(), asked("?"), func(model.Delta) error { time.Sleep(100 * time.Millisecond); return nil }); err != nil {
		t.Errorf("a client that takes its time: %v", err)
	}
}

// A caller ends a reply by its context, or by an error of its own.
func TestEndedByTheCaller(t *testing.T) {
	m := open(t, model.Config{Provider: "openai", URL: serve(t, stuck(chunks(hello))), Model: "m"})
	ctx, cancel := context.WithCancelCause(t.Context())
	reply, err := m.Invoke(ctx, asked("?"), func(model.Delta) error { cancel(errors.New("the user left")); return nil })
	if !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), "the user left") || reply.Raw != "hello" || reply.End != sotto.EndAborted {
		t.Errorf("%v: %+v", err, reply)
	}
	enough := errors.New("enough")
	reply, err = m.Invoke(t.Context(), asked("?"), func(model.Delta) error { return enough })
	if err != enough || reply.Raw != "hello" || reply.End != sotto.EndAborted {
		t.Errorf("%v: %+v", err, reply)
	}
}

// The connection of a reply that ended is used for the next one.
func TestConnectionsAreKept(t *testing.T) {
	for _, provider := range providers {
		var conns atomic.Int32
		s := httptest.NewUnstartedServer(scripted.New(scripted.Options{}))
		s.Config.ConnState = func(_ net.Conn, state http.ConnState) {
			if state == http.StateNew {
				conns.Add(1)
			}
		}
		s.Start()
		m := open(t, model.Config{Provider: provider, URL: s.URL, Model: "plain"})
		for range 5 {
			if r := invoke(t, m, asked("?")); r.err != nil {
				t.Fatal(r.err)
			}
		}
		if n := conns.Load(); n != 1 {
			t.Errorf("%s: %d connections for 5 replies", provider, n)
		}
		s.Close()
	}
}

// A compressed reply is read, within its bounds.
func TestCompressed(t *testing.T) {
	url := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		w.Header().Set("Content-Encoding", "gzip")
		z := gzip.NewWriter(w)
		defer z.Close()
		if strings.Contains(r.Header.Get("X-Api-Key")+r.Header.Get("Authorization"), "bomb") {
			io.WriteString(z, "data: "+strings.Repeat(" ", 64<<20))
			return
		}
		io.WriteString(z, chunks(hello, stop, done))
	}))
	if r := invoke(t, open(t, model.Config{Provider: "openai", URL: url, Model: "m"}), asked("?")); r.err != nil || r.reply.Raw != "hello" {
		t.Errorf("%v: %+v", r.err, r.reply)
	}
	if r := invoke(t, open(t, model.Config{Provider: "openai", URL: url, Model: "m", Key: "bomb"}), asked("?")); !errors.Is(r.err, model.ErrTooLarge) {
		t.Errorf("%v", r.err)
	}
}

const secret = "sk-123-very-secret-key"

// A key goes to its server, in its provider's header, and shows up nowhere else,
// whatever the server says.
func TestKey(t *testing.T) {
	file := filepath.Join(t.TempDir(), "key")
	if err := os.WriteFile(file, []byte(secret+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	header := map[string]string{"openai": "Bearer " + secret, "ollama": "Bearer " + secret, "anthropic": secret}
	echo := func(key string) []http.HandlerFunc {
		return []http.HandlerFunc{
			func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("X-"+key, key)
				w.WriteHeader(401)
				fmt.Fprintf(w, `{"error":{"message":"no such key: %s","type":"%s","code":"%[1]s"}}`, key, key)
			},
			func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(500); fmt.Fprintf(w, "<p>%s</p>", key) },
			func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Content-Type", "text/event-stream")
				fmt.Fprintf(w, "data: {\"type\":\"error\",\"error\":{\"message\":%q}}\n\n", key)
			},
			func(w http.ResponseWriter, r *http.Request) {
				http.Redirect(w, r, "/"+key+"?key="+key, http.StatusTemporaryRedirect)
			},
			func(w http.ResponseWriter, r *http.Request) { hijack(w, "HTTP/1.1 "+key+"\r\n\r\n") },
			func(w http.ResponseWriter, r *http.Request) { hijack(w, "HTTP/1.1 200 OK\r\n"+key+"\r\n\r\n") },
			func(w http.ResponseWriter, r *http.Request) {
				hijack(w, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"+key+"\r\n")
			},
		}
	}
	for _, provider := range providers {
		for i, answer := range echo(secret) {
			url := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if got := r.Header.Get("Authorization") + r.Header.Get("X-Api-Key"); got != header[provider] {
					t.Errorf("%s: header %q", provider, got)
				}
				if b, _ := io.ReadAll(r.Body); bytes.Contains(b, []byte(secret)) || strings.Contains(r.URL.String(), secret) {
					t.Errorf("%s: the key is in %s %s", provider, r.URL, b)
				}
				answer(w, r)
			}))
			var log bytes.Buffer
			c := model.Config{
				Provider: provider, URL: url, Model: "m", KeyFile: file, Retries: 1, Backoff: time.Millisecond,
				Log: slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug})),
			}
			m := open(t, c)
			r := invoke(t, m, asked("?"))
			var e *model.Error
			if !errors.As(r.err, &e) {
				t.Errorf("%s, answer %d: %v", provider, i, r.err)
				continue
			}
			for _, shown := range []string{r.err.Error(), fmt.Sprintf("%+v %#v", e, e), log.String(), fmt.Sprintf("%+v", r.reply)} {
				if strings.Contains(shown, secret) {
					t.Errorf("%s, answer %d: the key shows: %s", provider, i, shown)
				}
			}
		}
	}
}

// hijack answers with bytes of its own.
func hijack(w http.ResponseWriter, answer string) {
	conn, _, err := http.NewResponseController(w).Hijack()
	if err == nil {
		io.WriteString(conn, answer)
		conn.Close()
	}
}

// However a secret is printed or encoded, it does not show.
func TestSecret(t *testing.T) {
	c := model.Config{Key: secret}
	var log bytes.Buffer
	slog.New(slog.NewJSONHandler(&log, nil)).Info("x", "config", c, "key", c.Key)
	slog.New(slog.NewTextHandler(&log, nil)).Info("x", "config", c, "key", c.Key)
	b, err := json.Marshal(c.Key)
	if err != nil {
		t.Fatal(err)
	}
	for _, shown := range []string{
		fmt.Sprintf("%v %+v %#v %s %q %x %d", c, c, c, c.Key, c.Key, c.Key, c.Key), log.String(), string(b),
	} {
		if strings.Contains(shown, secret) || strings.Contains(shown, fmt.Sprintf("%x", secret)) || !strings.Contains(shown, "[secret]") {
			t.Errorf("%s", shown)
		}
	}
}

// A conversation is for the server of the URL alone: a redirect is an error that
// says where it leads.
func TestRedirects(t *testing.T) {
	for _, status := range []int{301, 302, 303, 307, 308} {
		other := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { t.Errorf("%s came: %v", r.URL, r.Header) }))
		url := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, other+"/v1/chat/completions?token=x", status)
		}))
		r := invoke(t, open(t, model.Config{Provider: "openai", URL: url, Model: "m", Key: secret}), asked("?"))
		var e *model.Error
		if !errors.As(r.err, &e) || e.Status != status || e.Retryable || !strings.Contains(e.Message, other+"/v1/chat/completions") || strings.Contains(e.Message, "token") {
			t.Errorf("%d: %v", status, r.err)
		}
	}
}

// Where a client asks is where the API is, however the URL is written.
func TestURLs(t *testing.T) {
	var path atomic.Value
	base := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { path.Store(r.URL.Path); w.WriteHeader(400) }))
	for _, c := range []struct{ provider, url, want string }{
		{"openai", "", "/v1/chat/completions"}, {"openai", "/", "/v1/chat/completions"}, {"openai", "/v1", "/v1/chat/completions"},
		{"openai", "/api/v1/", "/api/v1/chat/completions"}, {"openai", "/v1beta/openai", "/v1beta/openai/chat/completions"},
		{"ollama", "", "/api/chat"}, {"ollama", "/below/", "/below/api/chat"},
		{"anthropic", "", "/v1/messages"}, {"anthropic", "/v1", "/v1/messages"}, {"anthropic", "/v1/", "/v1/messages"}, {"anthropic", "/anthropic", "/anthropic/v1/messages"},
	} {
		invoke(t, open(t, model.Config{Provider: c.provider, URL: base + c.url, Model: "m"}), asked("?"))
		if got := path.Load(); got != c.want {
			t.Errorf("%s %q: asked at %s, want %s", c.provider, c.url, got, c.want)
		}
	}
}

func TestOpenErrors(t *testing.T) {
	empty := filepath.Join(t.TempDir(), "empty")
	os.WriteFile(empty, []byte("\n"), 0o600)
	for _, c := range []struct {
		c    model.Config
		want string
	}{
		{model.Config{}, `provider "": want ollama, openai (or chat), anthropic (or messages), or scripted`},
		{model.Config{Provider: "openia"}, `provider "openia"`},
		{model.Config{Provider: "openai"}, "the name of the model is missing"},
		{model.Config{Provider: "openai", Model: "m", URL: "localhost:11434"}, "url: want a URL such as"},
		{model.Config{Provider: "openai", Model: "m", URL: "ftp://x"}, "url: want a URL such as"},
		{model.Config{Provider: "openai", Model: "m", URL: "http://me:" + secret + "@x"}, "url: has a user name or password"},
		{model.Config{Provider: "openai", Model: "m", URL: "http://x/?key=" + secret}, "url: has a query"},
		{model.Config{Provider: "openai", Model: "m", URL: "http://x/%zz" + secret}, "url: want a URL such as"},
		{model.Config{Provider: "openai", Model: "m", Key: "a", KeyFile: "b"}, "a key and a key file"},
		{model.Config{Provider: "openai", Model: "m", Key: secret + "\r\nX: y"}, "key: has a character"},
		{model.Config{Provider: "openai", Model: "m", KeyFile: empty}, "is empty"},
		{model.Config{Provider: "openai", Model: "m", KeyFile: empty + "x"}, "no such file"},
		{model.Config{Provider: "openai", Model: "m", Script: "x"}, "script x: only the provider scripted"},
		{model.Config{Provider: "openai", Model: "m", History: "drop"}, `history "drop": want auto`},
		{model.Config{Provider: "openai", Model: "m", Extra: []byte("[1]")}, "extra: is not a JSON object"},
		{model.Config{Provider: "openai", Model: "m", MaxTokens: -1}, "max tokens -1"},
		{model.Config{Provider: "scripted"}, "no script"},
		{model.Config{Provider: "scripted", Script: "x", URL: "http://x"}, "url: a scripted model has no server"},
		{model.Config{Provider: "scripted", Script: empty + ".yaml"}, "no such file"},
		{model.Config{Provider: "scripted", Script: empty}, "the script has no reply"},
	} {
		_, err := model.Open(c.c)
		if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), secret) {
			t.Errorf("got %v, want %s", err, c.want)
		}
	}
}

// A request that no API takes is refused here, by every model.
func TestRequestErrors(t *testing.T) {
	models := []model.Model{script(t, "s.yaml", "- text: a")}
	for _, p := range providers {
		models = append(models, open(t, model.Config{Provider: p, URL: "http://127.0.0.1:1", Model: "m"}))
	}
	for want, q := range map[string]model.Request{
		"no messages":              {},
		`think "maybe"`:            {Messages: asked("?").Messages, Think: "maybe"},
		`message 0: role "bot"`:    {Messages: []model.Message{{Role: "bot"}}},
		"tool 0 has no name":       {Messages: asked("?").Messages, Tools: []model.Tool{{}}},
		"tool f: the schema is no": {Messages: asked("?").Messages, Tools: []model.Tool{{Name: "f", Schema: []byte(`"x"`)}}},
		"its extra members are no": {Messages: []model.Message{{Role: model.Assistant, Calls: []model.Call{{Name: "f", Extra: []byte(`x`)}}}}},
		"-1 tokens at most":        {Messages: asked("?").Messages, MaxTokens: -1},
	} {
		for _, m := range models {
			if _, err := m.Invoke(t.Context(), q, nil); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v, want %s", m.Name(), err, want)
			}
		}
	}
}

// Extra members are in the body, objects member by member.
func TestExtra(t *testing.T) {
	var body atomic.Value
	url := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		body.Store(string(b))
		w.WriteHeader(400)
	}))
	m := open(t, model.Config{
		Provider: "ollama", URL: url, Model: "m", MaxTokens: 7, Extra: []byte(`{"keep_alive": "1h", "options": {"num_ctx": 16384, "big": 12345678901234567890}, "stream": true}`),
	})
	invoke(t, m, asked("<think>"))
	want := `{"keep_alive":"1h","messages":[{"role":"user","content":"<think>"}],"model":"m","options":{"big":12345678901234567890,"num_ctx":16384,"num_predict":7},"stream":true}`
	if got := body.Load(); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// Vectors come in the form of either API, in the order of the texts, in as many
// requests as they need.
func TestEmbed(t *testing.T) {
	for _, provider := range []string{"openai", "ollama"} {
		var tries atomic.Int32
		url := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if tries.Add(1) == 1 {
				w.WriteHeader(503)
				return
			}
			var q struct {
				Model string
				Input []string
			}
			if err := json.NewDecoder(r.Body).Decode(&q); err != nil || q.Model != "m" {
				t.Errorf("%v: %+v", err, q)
			}
			var list, data []any
			for i, text := range q.Input {
				v := []float64{float64(len(text)), 0.5}
				list, data = append(list, v), append(data, map[string]any{"index": i, "embedding": v})
			}
			w.Header().Set("Content-Type", "application/json")
			switch r.URL.Path {
			case "/v1/embeddings":
				json.NewEncoder(w).Encode(map[string]any{"data": data})
			case "/api/embed":
				json.NewEncoder(w).Encode(map[string]any{"embeddings": list})
			default:
				t.Error(r.URL.Path)
			}
		}))
		m := open(t, model.Config{Provider: provider, URL: url, Model: "m", Backoff: time.Millisecond})
		var texts []string
		var want [][]float32
		for i := range 300 {
			texts = append(texts, strings.Repeat("x", i))
			want = append(want, []float32{float32(i), 0.5})
		}
		got, err := m.(model.Embedder).Embed(t.Context(), texts)
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Error(provider, err, diff)
		}
		if n := tries.Load(); n != 4 {
			t.Errorf("%s: %d requests", provider, n)
		}
	}
	if _, ok := open(t, model.Config{Provider: "anthropic", Model: "m"}).(model.Embedder); ok {
		t.Error("Anthropic's API has no embeddings")
	}
}

func TestEmbedErrors(t *testing.T) {
	for body, want := range map[string]string{
		`{"embeddings":[[1,2]]}`:                                             "1 vectors for 2 texts",
		`{"embeddings":[[1,2],[1]]}`:                                         "vectors of different lengths, 2 and 1",
		`{"embeddings":[[1,2],[]]}`:                                          "vectors of different lengths, 2 and 0",
		`{"embeddings":[[1,2],[1,"\u001b"]]}`:                                "a vector holds",
		`{"embeddings":[[1,2],[1,1e99]]}`:                                    "a vector holds 1e99",
		`{"data":[{"index":1,"embedding":[1]},{"index":0,"embedding":[1]}]}`: "not in the order",
		`{"embeddings":`:                                                     "not valid JSON",
		`{"error":"this model does not embed"}`:                              "this model does not embed",
	} {
		url := serve(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, body) }))
		v, err := open(t, model.Config{Provider: "ollama", URL: url, Model: "m"}).(model.Embedder).Embed(t.Context(), []string{"a", "b"})
		var e *model.Error
		if !errors.As(err, &e) || !strings.Contains(err.Error(), want) || v != nil || strings.Contains(err.Error(), "\x1b") {
			t.Errorf("%s: %v, want %s", body, err, want)
		}
	}
}
