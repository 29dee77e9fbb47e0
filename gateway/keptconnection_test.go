package gateway_test

import (
	"bufio"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/sotto-llm/sotto/gateway"
)

// A closing upstream answers the first request of each connection, and does something else with the
// second, which it reads.
type closing struct {
	net.Listener
	second func(c net.Conn) // what it does with a second request

	mu    sync.Mutex
	asked []string // the bodies, by arrival
	conns int
}

func closingServer(t *testing.T, second func(net.Conn)) *closing {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &closing{Listener: l, second: second}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			s.mu.Lock()
			s.conns++
			s.mu.Unlock()
			go s.serve(c)
		}
	}()
	return s
}

func (s *closing) serve(c net.Conn) {
	defer c.Close()
	in := bufio.NewReader(c)
	for n := 0; ; n++ {
		r, err := http.ReadRequest(in)
		if err != nil {
			return
		}
		body, _ := io.ReadAll(r.Body)
		s.mu.Lock()
		s.asked = append(s.asked, string(body))
		s.mu.Unlock()
		if r.Header["X-Idempotency-Key"] != nil {
			return // the upstream must not see it
		}
		if n == 1 {
			s.second(c)
			return
		}
		reply := `{"id":"r","model":"m","choices":[{"index":0,"finish_reason":"stop","message":{"role":"assistant","content":"Hi."}}],"output":[]}`
		fmt.Fprintf(c, "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", len(reply), reply)
	}
}

// TestKeptConnection: a server that closes a kept connection at the moment in which the next
// request comes gets that request again on another connection, if it leaves nothing there and nothing
// of a reply has come. A request on a new connection is never sent again.
func TestKeptConnection(t *testing.T) {
	const chat = "/v1/chat/completions"
	plain := `{"model":"m","messages":[{"role":"user","content":"a"}]}`
	closes := func(net.Conn) {}
	begins := func(c net.Conn) { io.WriteString(c, "HTTP/1.1 200") }
	for _, tt := range []struct {
		name, path, body string
		second           func(net.Conn)
		status, asked    int
	}{
		{"a chat", chat, plain, closes, 200, 3},
		{"a reply had begun", chat, plain, begins, 502, 2},
		{"a completion that is kept", chat, strings.Replace(plain, "{", `{"store":true,`, 1), closes, 502, 2},
		{"a response that is not kept", "/v1/responses", `{"model":"m","store":false,"input":"a"}`, closes, 200, 3},
		{"a response", "/v1/responses", `{"model":"m","input":"a"}`, closes, 502, 2},
		{"embeddings", "/v1/embeddings", `{"model":"m","input":"a"}`, closes, 200, 3},
		{"a file", "/v1/files", `{"purpose":"batch"}`, closes, 502, 2},
	} {
		t.Run(tt.name, func(t *testing.T) {
			up := closingServer(t, tt.second)
			reg := prometheus.NewRegistry()
			base := before(t, "http://"+up.Addr().String(), gateway.Config{Observers: []gateway.Observer{gateway.Metrics(reg)}, Logger: slog.New(slog.DiscardHandler)})
			var last int
			for range 2 {
				resp, err := http.Post(base+tt.path, "application/json", strings.NewReader(tt.body))
				if err != nil {
					t.Fatal(err)
				}
				io.Copy(io.Discard, resp.Body)
				resp.Body.Close()
				last = resp.StatusCode
			}
			up.mu.Lock()
			defer up.mu.Unlock()
			if last != tt.status || len(up.asked) != tt.asked {
				t.Errorf("%d, the upstream was asked %d times, want %d and %d", last, len(up.asked), tt.status, tt.asked)
			}
			for _, body := range up.asked {
				if body != up.asked[0] {
					t.Errorf("it got %q and %q", up.asked[0], body)
				}
			}
			if up.conns != tt.asked-1 {
				t.Errorf("%d connections for %d requests", up.conns, tt.asked)
			}
			if n := retriesCounted(t, reg); n != tt.asked-2 {
				t.Errorf("%d retries are counted, want %d", n, tt.asked-2)
			}
		})
	}
}

// TestIdleConnection: a connection without TLS is closed before servers close it.
func TestIdleConnection(t *testing.T) {
	closed := make(chan time.Time, 1)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go func() {
		c, err := l.Accept()
		if err != nil {
			return
		}
		defer c.Close()
		in := bufio.NewReader(c)
		r, err := http.ReadRequest(in)
		if err != nil {
			return
		}
		io.Copy(io.Discard, r.Body)
		io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}")
		in.ReadByte() // until the gateway closes it
		closed <- time.Now()
	}()
	base := before(t, "http://"+l.Addr().String(), gateway.Config{})
	resp, err := http.Get(base + "/v1/models")
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	select {
	case <-closed:
	case <-time.After(30 * time.Second):
		t.Error("the connection stays open")
	}
}

// retriesCounted is what sotto_upstream_retries_total says.
func retriesCounted(t *testing.T, reg *prometheus.Registry) (n int) {
	t.Helper()
	families, err := reg.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		if f.GetName() == "sotto_upstream_retries_total" {
			for _, m := range f.Metric {
				n += int(m.GetCounter().GetValue())
			}
		}
	}
	return n
}
