package gateway_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/gateway"
	"github.com/sotto-llm/sotto/gateway/routing"
	"github.com/sotto-llm/sotto/history"
	"github.com/sotto-llm/sotto/internal/base/effort"
	"github.com/sotto-llm/sotto/internal/testing/waiting"
	"github.com/sotto-llm/sotto/record"
)

type holder interface{ Held() int64 }

// returned waits until nothing is held for exchanges.
func returned(t *testing.T, g holder) {
	t.Helper()
	waiting.For(t, "the memory of exchanges that ended", func() error {
		if n := g.Held(); n != 0 {
			return fmt.Errorf("%d bytes are held", n)
		}
		return nil
	})
}

// served is a gateway on loopback, before an upstream on loopback.
func served(t *testing.T, c gateway.Config, upstream http.Handler) (*gateway.Handler, string) {
	t.Helper()
	up := httptest.NewServer(upstream)
	t.Cleanup(up.Close)
	g := inFront(t, up.URL, c)
	srv := httptest.NewUnstartedServer(g)
	srv.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError) // of panics that the tests make
	srv.Start()
	t.Cleanup(srv.Close)
	return g, srv.URL
}

// abuse is an upstream that ends replies in the ways that upstreams do. The model
// of a request names the way.
func abuse(s speaker) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		stream := bytes.Contains(body, []byte(`"stream":true`))
		w.Header().Set("Content-Type", s.kind(stream))
		switch {
		case bytes.Contains(body, []byte("refuses")):
			w.WriteHeader(http.StatusBadRequest)
			io.WriteString(w, `{"error":{"message":"no"}}`)
		case bytes.Contains(body, []byte("breaks")):
			io.WriteString(w, s.open+s.say("<think>r"))
			w.(http.Flusher).Flush()
			panic(http.ErrAbortHandler)
		case bytes.Contains(body, []byte("large")):
			io.WriteString(w, strings.Repeat("x", 200_000))
		case bytes.Contains(body, []byte("waits")):
			io.WriteString(w, s.open+s.say("<think>r"))
			w.(http.Flusher).Flush()
			<-r.Context().Done()
		case stream:
			io.WriteString(w, s.stream([]string{"<think>r</think>Hi"}, sotto.EndStopped))
		default:
			io.WriteString(w, s.whole("<think>r</think>Hi", sotto.EndStopped))
		}
	}
}

// TestMemoryReturns: whatever way an exchange ends, all that was reserved for it
// goes back, once: the budget is at zero, with a record and without one.
func TestMemoryReturns(t *testing.T) {
	for i, recorded := range []bool{false, true} {
		n := 0
		each(t, func(t *testing.T, s speaker) {
			if n++; effort.Brief() && (n+i)%2 > 0 {
				return
			}
			c := gateway.Config{Limits: gateway.Limits{Body: 100_000}, Silence: 300 * time.Millisecond}
			if recorded {
				w, _ := openRecord(t, record.Options{})
				c.Recorder = w
			}
			g, base := served(t, c, abuse(s))
			for _, model := range []string{"answers", "refuses", "breaks", "large", "waits"} {
				for _, stream := range []bool{false, true} {
					body := fmt.Sprintf(`{"model":%q,"stream":%v,"messages":[{"role":"assistant","content":"<think>r</think>"}]}`, model, stream)
					resp, err := http.Post(base+s.path, "application/json", strings.NewReader(body))
					if err == nil {
						io.Copy(io.Discard, resp.Body)
						resp.Body.Close()
					}
				}
			}
			for _, body := range []string{"", "{", `{"messages":7}`, "{" + strings.Repeat(" ", 200_000)} {
				if resp, err := http.Post(base+s.path, "application/json", strings.NewReader(body)); err == nil {
					resp.Body.Close()
				}
			}
			ctx, leave := context.WithCancel(t.Context())
			r, _ := http.NewRequestWithContext(ctx, "POST", base+s.path, strings.NewReader(`{"model":"waits","stream":true,"messages":[]}`))
			if resp, err := http.DefaultClient.Do(r); err == nil {
				leave() // in the middle of a stream
				resp.Body.Close()
			}
			leave()
			c1, err := net.Dial("tcp", strings.TrimPrefix(base, "http://"))
			if err != nil {
				t.Fatal(err)
			}
			fmt.Fprintf(c1, "POST %s HTTP/1.1\r\nHost: localhost\r\nContent-Length: 50000\r\n\r\n{", s.path)
			time.Sleep(10 * time.Millisecond)
			c1.Close() // in the middle of a body
			if resp, err := http.Post(base+"/v1/embeddings", "application/json", strings.NewReader("{}")); err == nil {
				resp.Body.Close()
			}
			returned(t, g)
		})
	}
}

// TestMemoryReturnsAfterPanic: a handler that panics returns what it held too.
func TestMemoryReturnsAfterPanic(t *testing.T) {
	w, _ := openRecord(t, record.Options{})
	g := handler(t, gateway.Config{Recorder: w}, answering(func(*http.Request) *http.Response { panic("upstream") }))
	for _, path := range []string{"/v1/chat/completions", "/v1/embeddings"} {
		func() {
			defer func() {
				if recover() == nil {
					t.Error("no panic")
				}
			}()
			ask(g, path, chatBody("m", true))
		}()
	}
	returned(t, g)
}

// TestTransportMemory: the transport has the limits and the budget of the
// gateway, and returns what it reserved where its client closes a reply early.
func TestTransportMemory(t *testing.T) {
	s := speakers[0]
	up := httptest.NewServer(abuse(s))
	defer up.Close()
	tr, err := gateway.NewTransport(gateway.TransportConfig{Limits: gateway.Limits{Body: 100_000, MemoryBytes: 1 << 20}})
	if err != nil {
		t.Fatal(err)
	}
	defer tr.Close()
	client := &http.Client{Transport: tr}
	for body, fails := range map[string]bool{
		`{"model":"answers","messages":[]}`: false,
		`{"model":"large","messages":[]}`:   true,
		`{"model":"answers","messages":[{"role":"user","content":"` + strings.Repeat("x", 100_000) + `"}]}`: true,
		`{"model":"answers","x":[` + strings.TrimSuffix(strings.Repeat("{},", 5000), ",") + `]}`:            true,
		`{"model":"waits","stream":true,"messages":[]}`:                                                     false,
	} {
		resp, err := client.Post(up.URL+s.path, "application/json", strings.NewReader(body))
		if (err != nil) != fails {
			t.Errorf("%.60s: %v", body, err)
		}
		if err == nil {
			resp.Body.Close()
		}
	}
	returned(t, tr)
}

// TestMemoryRefuses: where the budget is spent, new requests get 503 in their
// API's shape, with Retry-After; what runs goes on; when it has ended, requests
// are served again. The log says so once, and the metrics count.
func TestMemoryRefuses(t *testing.T) {
	each(t, func(t *testing.T, s speaker) {
		var log bytes.Buffer
		next := make(chan struct{})
		begun := make(chan struct{}, 10)
		c := gateway.Config{Limits: gateway.Limits{MemoryBytes: 1 << 20}, Logger: slog.New(slog.NewTextHandler(&log, nil))}
		g := handler(t, c, answering(func(r *http.Request) *http.Response {
			io.Copy(io.Discard, r.Body)
			begun <- struct{}{}
			return response(s.kind(true), io.MultiReader(strings.NewReader(s.open+s.say("Hi")), silent(next), strings.NewReader(s.finish("Hi", sotto.EndStopped))))
		}))
		body := `{"stream":true,"messages":[],"pad":"` + strings.Repeat("x", 300_000) + `"}`
		var first [2]*httptest.ResponseRecorder
		var streams sync.WaitGroup
		for i := range first {
			streams.Go(func() { first[i] = ask(g, s.path, body) })
			<-begun
		}
		for range 3 {
			w := ask(g, s.path, body)
			refused(t, s, w, http.StatusServiceUnavailable)
			if w.Header().Get("Retry-After") == "" {
				t.Error("no Retry-After")
			}
		}
		if used := g.Held(); used > 1<<20 {
			t.Errorf("%d bytes are held", used)
		}
		close(next)
		streams.Wait()
		for _, w := range first {
			if h := s.listen(t, w.Body.Bytes()); string(h.text) != "Hi" || h.failed != "" {
				t.Errorf("a stream that ran: %q, %q", h.text, h.failed)
			}
		}
		if w := ask(g, s.path, body); w.Code != 200 {
			t.Errorf("later: %d %s", w.Code, w.Body)
		}
		returned(t, g)
		if text := log.String(); strings.Count(text, "requests are refused") != 1 {
			t.Errorf("the log: %s", text)
		}
		r := httptest.NewRequest("GET", "/metrics", nil)
		r.Host = "localhost"
		w := httptest.NewRecorder()
		g.ServeHTTP(w, r)
		for _, line := range []string{"\nsotto_memory_bytes 0\n", "\nsotto_memory_limit_bytes 1.048576e+06\n", "\nsotto_memory_refused_total 3\n"} {
			if !strings.Contains(w.Body.String(), line) {
				t.Errorf("no %q in the metrics", line)
			}
		}
	})
}

// silent is a reader that brings nothing, and ends with a channel.
type silent <-chan struct{}

func (w silent) Read([]byte) (int, error) { <-w; return 0, io.EOF }

// TestWaitingBodies: a body reserves what has come of it, not what it says will
// come, so that bodies that never come cannot spend the budget.
func TestWaitingBodies(t *testing.T) {
	g, base := served(t, gateway.Config{Limits: gateway.Limits{MemoryBytes: 16 << 20}}, abuse(speakers[0]))
	for range 50 {
		c, err := net.Dial("tcp", strings.TrimPrefix(base, "http://"))
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		io.WriteString(c, "POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nContent-Length: 60000000\r\n\r\n{\"a\"")
	}
	waiting.Until(t, "50 bodies", func() bool { return g.Held() >= 50*(50<<10) })
	if used := g.Held(); used > 50*(64<<10) {
		t.Errorf("%d bytes for 50 bodies of 4 bytes", used)
	}
}

// TestOverdraft: a stream may need more than the budget has left, by half of it;
// one that needs more ends with an error that its client sees, after all that it
// had shown.
func TestOverdraft(t *testing.T) {
	for hold, fails := range map[int]bool{600_000: false, 4_000_000: true} {
		s := speakers[0]
		held := strings.Repeat("word ", hold/5)
		g := handler(t, gateway.Config{Default: routing.Route{History: history.Preserve}, Limits: gateway.Limits{MemoryBytes: 1 << 20, Hold: 8 << 20}}, answering(func(*http.Request) *http.Response {
			deltas := append([]string{}, byteByWord(held)...)
			return response(s.kind(true), strings.NewReader(s.stream(append(deltas, "</think>Hi"), sotto.EndStopped)))
		}))
		w := ask(g, s.path, `{"model":"deepseek-r1","stream":true,"messages":[]}`)
		h := s.listen(t, w.Body.Bytes())
		if (h.failed != "") != fails || fails && !strings.Contains(h.failed, "memory") {
			t.Errorf("%d bytes held: failed %q", hold, h.failed)
		}
		if !fails && string(h.text) != "Hi" {
			t.Errorf("text %.40q", h.text)
		}
		returned(t, g)
	}
}

// byteByWord cuts a text into pieces of 1000 bytes.
func byteByWord(text string) []string {
	var list []string
	for len(text) > 1000 {
		list, text = append(list, text[:1000]), text[1000:]
	}
	return append(list, text)
}

// heap runs a function and returns the most memory that was live at a time.
func heap(run func()) int64 {
	var most uint64
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	before := m.HeapAlloc
	end, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		for {
			runtime.GC() // so that garbage does not count
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			most = max(most, m.HeapAlloc)
			select {
			case <-end:
				return
			case <-time.After(time.Millisecond):
			}
		}
	}()
	run()
	close(end)
	<-done
	return int64(most) - int64(before)
}

// TestHistoryMemory: twelve histories of a million closing tags at once do not
// hold more than the budget says: what does not fit is refused, and nothing else
// happens to it.
func TestHistoryMemory(t *testing.T) {
	if effort.Brief() {
		t.Skip("half a minute under the race detector: SOTTO_EFFORT=1 runs it")
	}
	const memory = 192 << 20
	s := speakers[0]
	g := handler(t, gateway.Config{Limits: gateway.Limits{MemoryBytes: memory}}, answering(func(r *http.Request) *http.Response {
		io.Copy(io.Discard, r.Body)
		return response(s.kind(false), strings.NewReader(s.whole("Hi", sotto.EndStopped)))
	}))
	body := `{"model":"qwen3","messages":[{"role":"assistant","content":"` + strings.Repeat("</think>", 1<<17) + `"},{"role":"user","content":"x"}]}`
	codes := map[int]int{}
	var mu sync.Mutex
	most := heap(func() {
		var all sync.WaitGroup
		for range 12 {
			all.Go(func() {
				code := ask(g, s.path, body).Code
				mu.Lock()
				defer mu.Unlock()
				codes[code]++
			})
		}
		all.Wait()
	})
	if codes[200] == 0 || codes[200]+codes[503] != 12 {
		t.Errorf("answers: %v", codes)
	}
	if most > memory*3/2 {
		t.Errorf("%d MiB live, with a budget of %d MiB", most>>20, memory>>20)
	}
	returned(t, g)
	if w := ask(g, s.path, strings.Replace(body, "</think>", strings.Repeat("<", 1<<20), 1)); w.Code != http.StatusRequestEntityTooLarge {
		t.Errorf("a request that needs more than the whole budget: %d %.100s", w.Code, w.Body)
	}
}

// TestEveryRouteIsLimited: limits.body holds for every kind of body on every
// route, and what is said to be too large is refused unread.
func TestEveryRouteIsLimited(t *testing.T) {
	const limit = 2 << 20
	seen := make(chan int64, 100)
	g, base := served(t, gateway.Config{Limits: gateway.Limits{Body: limit}}, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n, _ := io.Copy(io.Discard, r.Body)
		seen <- n
	}))
	for _, path := range []string{"/v1/chat/completions", "/api/chat", "/v1/embeddings", "/upload", "/healthz", "/metrics"} {
		for _, header := range []http.Header{{}, {"Content-Encoding": {"gzip"}}} {
			for name, body := range map[string]io.Reader{
				"length": bytes.NewReader(make([]byte, limit+1)), "chunked": io.MultiReader(bytes.NewReader(make([]byte, limit+1))),
			} {
				r, _ := http.NewRequest("POST", base+path, body)
				r.Header = header.Clone()
				r.Header.Set("Content-Type", "application/json")
				resp, err := http.DefaultClient.Do(r)
				if err != nil {
					t.Errorf("%s %s: %v", path, name, err)
					continue
				}
				resp.Body.Close()
				unread := name == "chunked" && len(header) > 0 && resp.StatusCode == http.StatusBadRequest // no gzip: its first bytes say so
				if resp.StatusCode != http.StatusRequestEntityTooLarge && !unread {
					t.Errorf("%s %s %v: %d", path, name, header, resp.StatusCode)
				}
			}
		}
	}
	for len(seen) > 0 {
		if n := <-seen; n > limit {
			t.Errorf("the upstream got %d bytes", n)
		}
	}
	r, _ := http.NewRequest("POST", base+"/upload", bytes.NewReader(make([]byte, limit)))
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if n := <-seen; resp.StatusCode != 200 || n != limit {
		t.Errorf("a body of just the limit: %d, %d bytes", resp.StatusCode, n)
	}
	returned(t, g)
}

// TestSmallBodies: a body takes the memory of its bytes, however small it is. Thousands
// of slow streams hold their bodies.
func TestSmallBodies(t *testing.T) {
	var g *gateway.Handler
	var held []int64
	g = handler(t, gateway.Config{}, answering(func(*http.Request) *http.Response {
		held = append(held, g.Held())
		return response("application/json", strings.NewReader(`{"choices":[]}`))
	}))
	const more = 1000
	for _, n := range []int{0, more} {
		ask(g, "/v1/chat/completions", `{"model":"m","user":"`+strings.Repeat("u", n)+`","messages":[]}`)
	}
	if len(held) != 2 || held[1]-held[0] != more {
		t.Errorf("held %d for bodies that differ by %d bytes", held, more)
	}
}
