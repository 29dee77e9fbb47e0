package gateway_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/sotto-llm/sotto/gateway"
)

// ended waits until the other side has closed a connection, and returns what it
// sent before.
func ended(t *testing.T, c net.Conn) string {
	t.Helper()
	c.SetReadDeadline(time.Now().Add(time.Minute))
	got, err := io.ReadAll(c)
	if ne, ok := err.(net.Error); ok && ne.Timeout() {
		t.Errorf("the connection is open after %.200q", got)
	}
	return string(got)
}

func dialed(t *testing.T, base string) net.Conn {
	t.Helper()
	c, err := net.Dial("tcp", strings.TrimPrefix(base, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

// TestHalfSentRequests: bodies that do not come hold no connection: before
// authentication, behind it, on routes of models and on those that pass.
func TestHalfSentRequests(t *testing.T) {
	_, base := served(t, gateway.Config{Token: "sotto-token-1", Silence: 200 * time.Millisecond},
		http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if _, err := io.Copy(io.Discard, r.Body); err != nil {
				w.WriteHeader(http.StatusBadRequest)
			}
		}))
	for _, key := range []string{"sotto-token-1", "wrong"} {
		for _, path := range []string{"/v1/chat/completions", "/v1/embeddings", "/upload"} {
			for _, length := range []string{"Content-Length: 1000", "Content-Length: 50000000", "Transfer-Encoding: chunked"} {
				c := dialed(t, base)
				fmt.Fprintf(c, "POST %s HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer %s\r\n%s\r\n\r\n4\r\nab", path, key, length)
				got := ended(t, c)
				want := map[bool]string{true: "HTTP/1.1 401", false: "HTTP/1.1 "}[key == "wrong"]
				if !strings.HasPrefix(got, want) || strings.HasPrefix(got, "HTTP/1.1 200") {
					t.Errorf("%s %s %s: %.100q", key, path, length, got)
				}
			}
		}
	}
}

// TestSilenceOfPassages: where nothing moves the exchange ends, also on routes
// that pass: an upstream that never answers, one that stops, a connection that
// was upgraded, and a client that takes nothing. Where something moves it goes on: the
// pauses there are a tenth of the silence, because the machine may have other work.
func TestSilenceOfPassages(t *testing.T) {
	const silence, pause, pauses = time.Second, 100 * time.Millisecond, 15
	upstream := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/never":
			<-r.Context().Done()
		case "/stops":
			io.WriteString(w, "begun")
			w.(http.Flusher).Flush()
			<-r.Context().Done()
		case "/floods":
			for chunk := make([]byte, 1<<20); r.Context().Err() == nil; {
				w.Write(chunk)
			}
		case "/goes-on":
			for range pauses {
				io.WriteString(w, "x")
				w.(http.Flusher).Flush()
				time.Sleep(pause)
			}
		case "/socket":
			c, rw, err := http.NewResponseController(w).Hijack()
			if err != nil {
				return
			}
			defer c.Close()
			rw.WriteString("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n")
			rw.Flush()
			for {
				b, err := rw.ReadByte()
				if err != nil {
					return
				}
				rw.WriteByte(b)
				rw.Flush()
			}
		}
	})
	g, base := served(t, gateway.Config{Silence: silence / 5}, upstream)
	patient, patientBase := served(t, gateway.Config{Silence: silence}, upstream)
	get := func(base, path string) (int, string) {
		resp, err := http.Get(base + path)
		if err != nil {
			return 0, err.Error()
		}
		defer resp.Body.Close()
		got, err := io.ReadAll(resp.Body)
		return resp.StatusCode, fmt.Sprint(string(got), " ", err)
	}
	if code, got := get(base, "/never"); code != http.StatusGatewayTimeout {
		t.Errorf("an upstream that never answers: %d %s", code, got)
	}
	if _, got := get(base, "/stops"); !strings.HasPrefix(got, "begun") || strings.HasSuffix(got, "<nil>") {
		t.Errorf("an upstream that stops: %s", got)
	}
	if code, got := get(patientBase, "/goes-on"); code != 200 || got != strings.Repeat("x", pauses)+" <nil>" {
		t.Errorf("an upstream that is slow: %d %s", code, got)
	}
	c := dialed(t, base)
	io.WriteString(c, "GET /floods HTTP/1.1\r\nHost: localhost\r\n\r\n")
	returned(t, g) // the client has taken nothing
	c = dialed(t, patientBase)
	io.WriteString(c, "GET /socket HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n")
	r := bufio.NewReader(c)
	if resp, err := http.ReadResponse(r, nil); err != nil || resp.StatusCode != http.StatusSwitchingProtocols {
		t.Fatalf("%v, %v", resp, err)
	}
	for range pauses {
		time.Sleep(pause)
		c.SetDeadline(time.Now().Add(time.Minute))
		io.WriteString(c, "x")
		if b, err := r.ReadByte(); b != 'x' || err != nil {
			t.Fatalf("an upgraded connection in use: %q, %v", b, err)
		}
	}
	ended(t, c)
	returned(t, patient)
}

// TestHeaderBombs: what an upstream sends before a reply is bounded: the header,
// and informational responses, of which a few pass.
func TestHeaderBombs(t *testing.T) {
	for name, v := range map[string]struct {
		head string
		want int
	}{
		"fine":          {"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", 200},
		"header":        {"HTTP/1.1 200 OK\r\nX: " + strings.Repeat("x", 200<<10) + "\r\nContent-Length: 0\r\n\r\n", 502},
		"informational": {strings.Repeat("HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n", 200) + "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", 502},
	} {
		t.Run(name, func(t *testing.T) {
			l, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			defer l.Close()
			go func() {
				for {
					c, err := l.Accept()
					if err != nil {
						return
					}
					go func() {
						defer c.Close()
						if _, err := http.ReadRequest(bufio.NewReader(c)); err == nil {
							io.WriteString(c, v.head)
						}
					}()
				}
			}()
			srv := httptest.NewServer(inFront(t, "http://"+l.Addr().String(), gateway.Config{}))
			defer srv.Close()
			for _, method := range []string{"GET", "POST"} {
				r, _ := http.NewRequest(method, srv.URL+"/v1/chat/completions", strings.NewReader("{}"))
				resp, err := http.DefaultClient.Do(r)
				if err != nil {
					t.Fatal(err)
				}
				resp.Body.Close()
				if got := resp.StatusCode; got != v.want && !(v.want == 200 && method == "POST") {
					t.Errorf("%s: %d, want %d", method, got, v.want)
				}
			}
		})
	}
}
