package gateway_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/sotto-llm/sotto/gateway"
	"github.com/sotto-llm/sotto/gateway/routing"
	"github.com/sotto-llm/sotto/internal/check/scripted"
	"github.com/sotto-llm/sotto/internal/net/serving"
)

// overHTTP2 serves a gateway over HTTP/1 and HTTP/2, as the command does.
func overHTTP2(t *testing.T, h http.Handler) (base string, client *http.Client) {
	t.Helper()
	s := httptest.NewUnstartedServer(nil)
	s.Config = serving.NewServer(h)
	serving.OfferHTTP2(s.Config, true, time.Minute)
	s.Start()
	t.Cleanup(s.Close)
	tr := &http.Transport{Protocols: unencrypted(), DisableCompression: true}
	t.Cleanup(tr.CloseIdleConnections)
	return s.URL, &http.Client{Transport: tr}
}

// TestOverHTTP2: a client of HTTP/2 gets the bytes that one of HTTP/1 gets, with the same headers.
func TestOverHTTP2(t *testing.T) {
	clock := func() time.Time { return time.Unix(1_790_000_000, 0) }
	up := httptest.NewServer(scripted.New(scripted.Options{Now: clock}))
	t.Cleanup(up.Close)
	for _, display := range displays {
		g := inFront(t, up.URL, gateway.Config{Default: routing.Route{Display: display}})
		base, client := overHTTP2(t, g)
		for _, a := range apis {
			for _, stream := range []bool{false, true} {
				var got [2]string
				for i, c := range []*http.Client{http.DefaultClient, client} {
					resp, err := c.Post(base+a.path, "application/json", strings.NewReader(a.body("qwen3:8b", stream)))
					if err != nil {
						t.Fatal(err)
					}
					body := readAll(t, resp.Body)
					resp.Body.Close()
					if resp.ProtoMajor != i+1 {
						t.Fatalf("%s, client %d", resp.Proto, i)
					}
					resp.Header.Del("Sotto-Exchange-Id")
					var h strings.Builder
					for _, name := range []string{"Content-Type", "Sotto-History", "Sotto-Diagnostics", "Content-Length"} {
						h.WriteString(name + ": " + resp.Header.Get(name) + "\n")
					}
					got[i] = resp.Status + "\n" + h.String() + body
				}
				if got[0] != got[1] {
					t.Errorf("%s, %s, stream %v: over HTTP/2\n%s\nover HTTP/1\n%s", display, a.name, stream, got[1], got[0])
				}
			}
		}
	}
}

// TestHTTP2Leaves: a client that takes a request back ends the exchange, and one that takes
// nothing of a reply too, after the silence; both go on to use the connection.
func TestHTTP2Leaves(t *testing.T) {
	begun, left := make(chan bool, 1), make(chan bool, 1)
	up := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/v1/chat/completions":
			io.Copy(io.Discard, r.Body)
			w.Header().Set("Content-Type", "text/event-stream")
			w.(http.Flusher).Flush()
			begun <- true
			<-r.Context().Done()
			left <- true
		case "/floods":
			for chunk := make([]byte, 1<<20); r.Context().Err() == nil; {
				w.Write(chunk)
			}
			left <- true
		}
	}))
	t.Cleanup(up.Close)
	g := inFront(t, up.URL, gateway.Config{Silence: 300 * time.Millisecond})
	base, client := overHTTP2(t, g)
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-begun
		cancel()
	}()
	r, _ := http.NewRequestWithContext(ctx, http.MethodPost, base+"/v1/chat/completions", strings.NewReader(chatBody("m", true)))
	if resp, err := client.Do(r); err == nil {
		io.Copy(io.Discard, resp.Body)
		resp.Body.Close()
	}
	wait := func(what string) {
		t.Helper()
		select {
		case <-left:
		case <-time.After(30 * time.Second):
			t.Fatal(what + ": the upstream's request goes on")
		}
	}
	wait("a request that was taken back")
	resp, err := client.Get(base + "/floods")
	if err != nil {
		t.Fatal(err)
	}
	wait("a reply of which nothing is taken")
	if _, err := io.Copy(io.Discard, resp.Body); err == nil {
		t.Error("the reply looks whole")
	}
	resp.Body.Close()
	if resp, err := client.Get(base + "/healthz"); err != nil || resp.StatusCode != http.StatusOK {
		t.Errorf("the connection does not go on: %v", err)
	} else {
		resp.Body.Close()
	}
}
