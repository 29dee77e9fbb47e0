package gateway_test

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/sotto-llm/sotto/gateway"
	"github.com/sotto-llm/sotto/internal/testing/waiting"
)

// answersYes is an upstream that reads all of a request.
var answersYes = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
	if _, err := io.Copy(io.Discard, r.Body); err != nil {
		panic(http.ErrAbortHandler)
	}
	w.Header().Set("Content-Type", "application/json")
	io.WriteString(w, `{"choices":[{"index":0,"message":{"role":"assistant","content":"Yes."}}]}`)
})

// halfSent are requests whose body stops before its end, on every kind of route: read at
// once, passed whole, and passed while they arrive.
func halfSent(t *testing.T, base string, n int) {
	t.Helper()
	for i := range n {
		c := dialed(t, base)
		method := "POST"
		if i%7 == 6 {
			method = "GET"
		}
		path := []string{"/v1/chat/completions", "/v1/embeddings", "/upload", "/v1/messages", "/v1/files", "/api/chat"}[i%6]
		length := []string{"Content-Length: 1000", "Content-Length: 3000000", "Transfer-Encoding: chunked"}[i%3]
		fmt.Fprintf(c, "%s %s HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer the-token-of-alice\r\n%s\r\n\r\n4\r\n{\"", method, path, length)
	}
}

// TestHalfSentBodies: bodies that never come to an end hold no exchange, of the gateway or
// of their caller, on any route. Beyond as many as may be on their way, the oldest is cut
// off.
func TestHalfSentBodies(t *testing.T) {
	config := gateway.Config{Tokens: limitedTo(gateway.CallerLimits{Exchanges: 2}), Limits: gateway.Limits{Exchanges: 40, MemoryBytes: 64 << 20}}
	g, base := served(t, config, answersYes)
	halfSent(t, base, 300)
	waiting.Until(t, "256 bodies on their way", func() bool { return g.Arriving() >= 256 })
	if n := g.Arriving(); n > 256 {
		t.Errorf("%d bodies are on their way", n)
	}
	for range 5 {
		for _, path := range []string{"/v1/chat/completions", "/v1/embeddings", "/upload"} {
			for _, body := range []io.Reader{strings.NewReader(`{"model":"m","messages":[]}`), struct{ io.Reader }{strings.NewReader(`{"model":"m","messages":[]}`)}, strings.NewReader(`{"model":"m","messages":[]}` + strings.Repeat(" ", 2<<20))} {
				r, _ := http.NewRequest("POST", base+path, body)
				r.Header.Set("Authorization", "Bearer the-token-of-alice")
				resp, err := http.DefaultClient.Do(r)
				if err != nil {
					t.Fatal(err)
				}
				text, _ := io.ReadAll(resp.Body)
				resp.Body.Close()
				if resp.StatusCode != http.StatusOK {
					t.Fatalf("%s beside half-sent bodies: %d %s", path, resp.StatusCode, text)
				}
			}
		}
	}
}

// TestUploadsTakePlaces: a body that passes while it arrives takes its place before the
// upstream has all of it. If there is none, the upstream does not get the rest, and the
// client is told.
func TestUploadsTakePlaces(t *testing.T) {
	begun, release, whole := make(chan string, 10), make(chan struct{}), make(chan error, 10)
	upstream := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		begun <- r.URL.Path
		if r.URL.Path == "/v1/chat/completions" {
			<-release
		}
		_, err := io.Copy(io.Discard, r.Body)
		if r.URL.Path == "/upload" {
			whole <- err
		}
		answersYes(w, r)
	})
	for _, c := range []struct {
		limits gateway.Limits
		caller gateway.CallerLimits
		status int
	}{
		{gateway.Limits{Exchanges: 1}, gateway.CallerLimits{}, http.StatusServiceUnavailable},
		{gateway.Limits{}, gateway.CallerLimits{Exchanges: 1}, http.StatusTooManyRequests},
	} {
		g, base := served(t, gateway.Config{Tokens: limitedTo(c.caller), Limits: c.limits}, upstream)
		from, to := io.Pipe()
		got := make(chan *http.Response, 1)
		go func() {
			r, _ := http.NewRequest("POST", base+"/upload", from)
			r.Header.Set("Authorization", "Bearer the-token-of-alice")
			resp, err := http.DefaultClient.Do(r)
			if err != nil {
				t.Error(err)
			}
			got <- resp
		}()
		io.WriteString(to, "the first part")
		<-begun // the upload is under way, and holds nothing
		if n := g.Open(); n != 0 {
			t.Errorf("%d exchanges are under way", n)
		}
		other := make(chan int, 1)
		go func() { other <- askOver(base, `{"model":"m","messages":[]}`) }()
		select {
		case <-begun: // it has the only place
		case status := <-other:
			t.Fatalf("the upload keeps another request out: %d", status)
		}
		to.Close()
		resp := <-got
		resp.Body.Close()
		if resp.StatusCode != c.status || resp.Header.Get("Retry-After") == "" {
			t.Errorf("an upload without a place: %d %v", resp.StatusCode, resp.Header)
		}
		if err := <-whole; err == nil {
			t.Error("the upstream got all of it")
		}
		release <- struct{}{}
		if status := <-other; status != http.StatusOK {
			t.Errorf("the other request: %d", status)
		}
		waiting.For(t, "the end of all", func() error {
			if g.Open() != 0 || g.Arriving() != 0 {
				return fmt.Errorf("%d exchanges and %d bodies are left", g.Open(), g.Arriving())
			}
			return nil
		})
	}
}

// askOver asks over the network, and returns the status.
func askOver(base, body string) int {
	r, _ := http.NewRequest("POST", base+"/v1/chat/completions", strings.NewReader(body))
	r.Header.Set("Authorization", "Bearer the-token-of-alice")
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		return 0
	}
	resp.Body.Close()
	return resp.StatusCode
}
