package serving

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/sotto-llm/sotto/internal/testing/waiting"
)

// A served is a handler that is being served, on a bounded listener.
type served struct {
	*Listener
	url string
}

func serve(t *testing.T, h http.HandlerFunc) served {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	bounded := Bound(l, Bounds{})
	s := NewServer(h)
	go s.Serve(bounded)
	t.Cleanup(func() { s.Close() })
	return served{bounded, "http://" + l.Addr().String()}
}

// reads is a handler that reads the body and reports the result.
func reads(p Pace, came chan<- error) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		r, done := Body(w, r, p)
		defer done()
		_, err := io.Copy(io.Discard, r.Body)
		came <- err
		if err != nil {
			w.WriteHeader(http.StatusRequestTimeout)
		}
	}
}

// refuses is a handler that answers without reading the body.
func refuses(w http.ResponseWriter, r *http.Request) {
	_, done := Body(w, r, Pace{})
	defer done()
	w.WriteHeader(http.StatusUnauthorized)
	io.WriteString(w, "no\n")
}

// halfSent is a request whose body stops after 4 bytes.
func halfSent(length string) string {
	return "POST / HTTP/1.1\r\nHost: h\r\n" + length + "\r\n\r\n4\r\nab"
}

var lengths = map[string]string{
	"short": "Content-Length: 1000", "long": "Content-Length: 60000000", "unknown": "Transfer-Encoding: chunked",
}

// TestHalfSentBodies: bodies that never arrive hold no connection, whether the
// handler reads them or refuses them unread.
func TestHalfSentBodies(t *testing.T) {
	came := make(chan error, 100)
	for name, h := range map[string]http.HandlerFunc{
		"read": reads(Pace{Idle: 100 * time.Millisecond}, came), "refused": refuses,
	} {
		for size, length := range lengths {
			t.Run(name+" "+size, func(t *testing.T) {
				s := serve(t, h)
				var all []net.Conn
				for range 20 {
					c := dial(t, s)
					io.WriteString(c, halfSent(length))
					all = append(all, c)
				}
				for _, c := range all {
					c.SetReadDeadline(time.Now().Add(time.Minute))
					answer, err := io.ReadAll(c)
					if err != nil || !bytes.HasPrefix(answer, []byte("HTTP/1.1 4")) {
						t.Fatalf("%q, %v", answer, err)
					}
					if name == "read" {
						if err := <-came; !errors.Is(err, os.ErrDeadlineExceeded) {
							t.Fatalf("the body ended with %v", err)
						}
					}
				}
				waiting.Until(t, "the end of the connections", func() bool { return s.Open() == 0 })
			})
		}
	}
}

// slowly writes a chunked body of n pieces of a given size, with pauses.
func slowly(t *testing.T, c net.Conn, n, size int, pause time.Duration) {
	t.Helper()
	io.WriteString(c, "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n")
	for range n {
		if _, err := fmt.Fprintf(c, "%x\r\n%s\r\n", size, strings.Repeat("x", size)); err != nil {
			return
		}
		time.Sleep(pause)
	}
	io.WriteString(c, "0\r\n\r\n")
}

// TestPace: a body that makes progress may take longer than any single wait. A body
// below the rate, or beyond the total time, is ended.
func TestPace(t *testing.T) {
	for name, v := range map[string]struct {
		pace  Pace
		size  int
		fails bool
	}{
		"progress":     {Pace{Idle: time.Second, Grace: 200 * time.Millisecond, Rate: 1000}, 1000, false},
		"too slow":     {Pace{Idle: time.Second, Grace: 200 * time.Millisecond, Rate: 100_000}, 10, true},
		"all too long": {Pace{Idle: time.Second, Grace: time.Second, Rate: 10, Total: 300 * time.Millisecond}, 1000, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			came := make(chan error, 1)
			s := serve(t, reads(v.pace, came))
			go slowly(t, dial(t, s), 20, v.size, 40*time.Millisecond)
			if err := <-came; (err != nil) != v.fails {
				t.Errorf("%v", err)
			}
		})
	}
}

// TestDeadlineEnds: if the deadline of a body passes after the body was read, it
// does not cut the reply or cancel the request's context. The departure of the
// client is still noticed.
func TestDeadlineEnds(t *testing.T) {
	const short = 50 * time.Millisecond
	left := make(chan error, 1)
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		r, done := Body(w, r, Pace{Idle: short, Grace: short, Total: short})
		defer done()
		io.Copy(io.Discard, r.Body)
		for range 10 {
			time.Sleep(short)
			if r.Context().Err() != nil {
				break
			}
			io.WriteString(w, "x")
			http.NewResponseController(w).Flush()
		}
		if r.URL.Path == "/wait" {
			select {
			case <-r.Context().Done():
			case <-time.After(time.Minute):
			}
		}
		left <- r.Context().Err()
	})
	resp, err := http.Post(s.url, "text/plain", strings.NewReader("body"))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if got, err := io.ReadAll(resp.Body); string(got) != "xxxxxxxxxx" || err != nil {
		t.Errorf("%q, %v", got, err)
	}
	if err := <-left; err != nil {
		t.Errorf("the context ended: %v", err)
	}
	ctx, leave := context.WithCancel(t.Context())
	r, _ := http.NewRequestWithContext(ctx, "POST", s.url+"/wait", strings.NewReader("body"))
	if resp, err := http.DefaultClient.Do(r); err == nil {
		defer resp.Body.Close()
		io.ReadFull(resp.Body, make([]byte, 10))
	}
	leave()
	if err := <-left; err == nil {
		t.Error("the departure of the client was not noticed")
	}
}

// TestRefusedUnread: a client that sends a whole body and is refused sees the
// answer, even if the body is large. After a small body, its connection serves the
// next request.
func TestRefusedUnread(t *testing.T) {
	for size, keeps := range map[int]bool{2_000: true, 100_000: true, 8_000_000: false} {
		s := serve(t, refuses)
		client := &http.Client{Transport: &http.Transport{}}
		for range 4 {
			resp, err := client.Post(s.url, "text/plain", strings.NewReader(strings.Repeat("x", size)))
			if err != nil {
				t.Fatalf("%d bytes: %v", size, err)
			}
			got, err := io.ReadAll(resp.Body)
			resp.Body.Close()
			if resp.StatusCode != http.StatusUnauthorized || string(got) != "no\n" || err != nil {
				t.Errorf("%d bytes: %d %q %v", size, resp.StatusCode, got, err)
			}
			if resp.Close == keeps {
				t.Errorf("%d bytes: the answer says close: %v", size, resp.Close)
			}
		}
		if keeps && s.Open() != 1 {
			t.Errorf("%d bytes: %d connections for 4 requests", size, s.Open())
		}
		client.CloseIdleConnections()
	}
}

// TestExpectContinue: a refused client is not told to send its body and gets the
// answer at once, and no part of the body can be taken for another request. An
// accepted client is told to send it.
func TestExpectContinue(t *testing.T) {
	ask := func(s served) (net.Conn, *bufio.Reader) {
		c := dial(t, s)
		c.SetDeadline(time.Now().Add(time.Minute))
		io.WriteString(c, "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 5000\r\nExpect: 100-continue\r\n\r\n")
		return c, bufio.NewReader(c)
	}
	c, r := ask(serve(t, refuses))
	if line, err := r.ReadString('\n'); !strings.HasPrefix(line, "HTTP/1.1 401") {
		t.Errorf("%q, %v", line, err)
	}
	io.WriteString(c, "GET /smuggled HTTP/1.1\r\nHost: h\r\n\r\n")
	rest, _ := io.ReadAll(r)
	if bytes.Contains(rest, []byte("HTTP/1.1")) || !bytes.Contains(rest, []byte("Connection: close")) {
		t.Errorf("after the answer: %q", rest)
	}
	came := make(chan error, 1)
	c, r = ask(serve(t, reads(Pace{}, came)))
	if line, err := r.ReadString('\n'); !strings.HasPrefix(line, "HTTP/1.1 100") {
		t.Errorf("%q, %v", line, err)
	}
	io.WriteString(c, strings.Repeat("x", 5000))
	if err := <-came; err != nil {
		t.Error(err)
	}
}

// TestNoSmuggling: the rest of a body that came too late is not taken for the next
// request.
func TestNoSmuggling(t *testing.T) {
	asked := make(chan string, 10)
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		asked <- r.URL.Path
		refuses(w, r)
	})
	c := dial(t, s)
	c.SetDeadline(time.Now().Add(time.Minute))
	io.WriteString(c, halfSent("Content-Length: 5000"))
	if _, err := bufio.NewReader(c).ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	io.WriteString(c, "GET /smuggled HTTP/1.1\r\nHost: h\r\n\r\n")
	closedByServer(t, c)
	if first := <-asked; first != "/" || len(asked) > 0 {
		t.Errorf("%q was asked, and %d more", first, len(asked))
	}
}

// TestNoHTTP2 checks that a client cannot start HTTP/2 in clear text.
func TestNoHTTP2(t *testing.T) {
	s := serve(t, func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, r.Proto) })
	protocols := new(http.Protocols)
	protocols.SetUnencryptedHTTP2(true)
	client := &http.Client{Transport: &http.Transport{Protocols: protocols}}
	if resp, err := client.Get(s.url); err == nil {
		resp.Body.Close()
		t.Errorf("%s was spoken", resp.Proto)
	}
	r, _ := http.NewRequest("GET", s.url, nil)
	r.Header = http.Header{"Connection": {"Upgrade, HTTP2-Settings"}, "Upgrade": {"h2c"}, "HTTP2-Settings": {"AAMAAABkAAQAAP__"}}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK || resp.ProtoMajor != 1 {
		t.Errorf("an upgrade to h2c: %d %s", resp.StatusCode, resp.Proto)
	}
}
