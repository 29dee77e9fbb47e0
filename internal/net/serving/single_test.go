package serving

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// smuggled is a request that hides in or after the body of another one.
const smuggled = "GET /smuggled HTTP/1.1\r\nHost: h\r\n\r\n"

// framings are requests whose end a proxy may see elsewhere than net/http does: the second
// request is a part of the first one's body, or follows it.
func framings() map[string]string {
	const chunks = "3\r\nabc\r\n0\r\n\r\n"
	whole := len(chunks) + len(smuggled)
	all := map[string]string{
		"chunks alone": "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n" + chunks,
		"no chunks":    "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 9\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
		"a GET":        "GET / HTTP/1.1\r\nHost: h\r\nContent-Length: 9\r\nTransfer-Encoding: chunked\r\n\r\n" + chunks,
		"1.0, chunks":  "POST / HTTP/1.0\r\nHost: h\r\nConnection: keep-alive\r\nTransfer-Encoding: chunked\r\n\r\n",
		"1.0, both":    "POST / HTTP/1.0\r\nHost: h\r\nConnection: keep-alive\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\nabc",
	}
	for i, te := range []string{
		"Transfer-Encoding: chunked", "transfer-encoding: chunked", "TRANSFER-ENCODING: CHUNKED", "Transfer-Encoding:chunked", "Transfer-Encoding:\tchunked", "Transfer-Encoding: chunked ",
		"Transfer-Encoding : chunked", "Transfer-Encoding: xchunked", "Transfer-Encoding: identity", "Transfer-Encoding: gzip, chunked", "Transfer-Encoding: chunked, identity", "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked",
		"Transfer-Encoding: \x0bchunked", "Transfer-Encoding:\r\n chunked", "Transfer_Encoding: chunked\r\nTransfer-Encoding: chunked", "X: y\rTransfer-Encoding: chunked", "Transfer-Encoding: \"chunked\"",
	} {
		for name, cl := range map[string]string{
			"the whole": fmt.Sprintf("Content-Length: %d", whole), "twice": fmt.Sprintf("Content-Length: %d\r\nContent-Length: %[1]d", whole),
			"different": fmt.Sprintf("Content-Length: %d\r\nContent-Length: 5", whole), "zero": "Content-Length: 0", "signed": "Content-Length: +5", "listed": "Content-Length: 5, 5",
		} {
			all[fmt.Sprint(name, ", then coding ", i)] = "POST / HTTP/1.1\r\nHost: h\r\n" + cl + "\r\n" + te + "\r\n\r\n" + chunks
			all[fmt.Sprint("coding ", i, ", then ", name)] = "POST / HTTP/1.1\r\nHost: h\r\n" + te + "\r\n" + cl + "\r\n\r\n" + chunks
		}
	}
	return all
}

// TestOneReading: a connection ends with a request whose end two programs may see in
// different places, so that what one of them takes for a part of its body is never the
// next request of the other.
func TestOneReading(t *testing.T) {
	var second atomic.Int32
	handle := map[string]http.HandlerFunc{
		"reads": func(w http.ResponseWriter, r *http.Request) { io.Copy(io.Discard, r.Body); io.WriteString(w, "ok") },
		"empty": func(_ http.ResponseWriter, r *http.Request) { io.Copy(io.Discard, r.Body) },
		"left":  func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "ok") },
		"clear": func(w http.ResponseWriter, r *http.Request) { // as a reverse proxy after an early hint
			w.WriteHeader(http.StatusEarlyHints)
			clear(w.Header())
			io.Copy(io.Discard, r.Body)
			w.WriteHeader(http.StatusAccepted)
			http.NewResponseController(w).Flush()
		},
	}
	for kind, h := range handle {
		s := serve(t, func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/smuggled" {
				second.Add(1)
			}
			h(w, r)
		})
		for name, request := range framings() {
			c := dial(t, s)
			c.SetDeadline(time.Now().Add(time.Minute))
			io.WriteString(c, request+smuggled+strings.Replace(smuggled, "Host", "Connection: close\r\nHost", 1))
			if n, told := answersOn(t, c); n != 1 || !told {
				t.Errorf("%s, %s: %d answers; the last says that the connection ends: %v", kind, name, n, told)
			}
			c.Close()
		}
	}
	if n := second.Load(); n > 0 {
		t.Errorf("%d hidden requests reached the handler", n)
	}
}

// TestKeptConnections: other requests leave the connection open.
func TestKeptConnections(t *testing.T) {
	s := serve(t, func(w http.ResponseWriter, r *http.Request) { io.Copy(w, r.Body) })
	c := dial(t, s)
	c.SetDeadline(time.Now().Add(time.Minute))
	for range 3 {
		io.WriteString(c, "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\n\r\nabc"+smuggled)
	}
	io.WriteString(c, "GET / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n")
	if n, told := answersOn(t, c); n != 7 || !told {
		t.Errorf("%d answers of 7", n)
	}
}

// answersOn counts the answers on a connection until it ends, and reports whether the last
// one says that it does.
func answersOn(t *testing.T, c net.Conn) (n int, told bool) {
	t.Helper()
	in := bufio.NewReader(c)
	for {
		resp, err := http.ReadResponse(in, nil)
		if err != nil {
			if !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) && !strings.Contains(err.Error(), "reset") {
				t.Fatal(err)
			}
			return n, told
		}
		if resp.StatusCode >= 200 {
			n, told = n+1, resp.Close
		}
		io.Copy(io.Discard, resp.Body)
		resp.Body.Close()
	}
}

// BenchmarkChunked: what a client pays for a connection of its own for each request whose
// body is in chunks, compared with one that says how long the body is.
func BenchmarkChunked(b *testing.B) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	s := NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { io.Copy(w, r.Body) }))
	go s.Serve(Bound(l, Bounds{}))
	defer s.Close()
	text := strings.Repeat("a", 2000)
	for name, body := range map[string]func() io.Reader{
		"length": func() io.Reader { return strings.NewReader(text) },
		"chunks": func() io.Reader { return struct{ io.Reader }{strings.NewReader(text)} },
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				resp, err := http.Post("http://"+l.Addr().String(), "text/plain", body())
				if err != nil {
					b.Fatal(err)
				}
				io.Copy(io.Discard, resp.Body)
				resp.Body.Close()
			}
		})
	}
}
