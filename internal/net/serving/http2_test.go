package serving

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

// speaking serves a handler over HTTP/1 and clear-text HTTP/2.
func speaking(t *testing.T, b Bounds, h http.Handler) *Listener {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := NewServer(h)
	server.ErrorLog = log.New(io.Discard, "", 0)
	OfferHTTP2(server, true, time.Minute)
	bounded := Bound(l, b)
	go server.Serve(bounded)
	t.Cleanup(func() { server.Close() })
	return bounded
}

// clientOf is a client of HTTP/2 without TLS, which has one connection.
func clientOf(t *testing.T) *http.Client {
	t.Helper()
	tr := &http.Transport{Protocols: new(http.Protocols)}
	tr.Protocols.SetUnencryptedHTTP2(true)
	t.Cleanup(tr.CloseIdleConnections)
	return &http.Client{Transport: tr}
}

// TestHTTP2: a client that begins with HTTP/2 is served, and one of HTTP/1 at the same
// address too. Other servers of this package do not speak it.
func TestHTTP2(t *testing.T) {
	h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r, done := Body(w, r, Pace{})
		defer done()
		body, err := io.ReadAll(r.Body)
		fmt.Fprint(w, r.Proto, " ", string(body), " ", err, " ", r.Header.Get("Cookie"))
	})
	l := speaking(t, Bounds{}, h)
	for _, c := range []struct {
		client *http.Client
		proto  string
	}{{clientOf(t), "HTTP/2.0"}, {http.DefaultClient, "HTTP/1.1"}} {
		for range 3 {
			resp, err := c.client.Post("http://"+l.Addr().String(), "text/plain", strings.NewReader("hello"))
			if err != nil {
				t.Fatal(err)
			}
			got, _ := io.ReadAll(resp.Body)
			resp.Body.Close()
			if want := c.proto + " hello <nil> "; string(got) != want {
				t.Errorf("%q, want %q", got, want)
			}
		}
	}
	plain, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := NewServer(h)
	go server.Serve(Bound(plain, Bounds{}))
	t.Cleanup(func() { server.Close() })
	if resp, err := clientOf(t).Get("http://" + plain.Addr().String()); err == nil {
		t.Errorf("a server without HTTP/2 answered %s", resp.Proto)
	}
}

// TestStreamsCount: requests of one connection of HTTP/2 count as connections do, and give
// their places back.
func TestStreamsCount(t *testing.T) {
	begun, wait := make(chan bool, 8), make(chan bool)
	var refused, accepted atomic.Int32
	l := speaking(t, Bounds{Connections: 3, Refused: func() { refused.Add(1) }, Accepted: func() { accepted.Add(1) }}, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		begun <- true
		<-wait
	}))
	client := clientOf(t)
	codes := make(chan int, 4)
	get := func() {
		resp, err := client.Get("http://" + l.Addr().String())
		if err != nil {
			codes <- 0
			return
		}
		resp.Body.Close()
		codes <- resp.StatusCode
	}
	for range 3 {
		go get()
		<-begun
	}
	if l.Open() != 3 {
		t.Errorf("%d are open, want 3", l.Open())
	}
	resp, err := client.Get("http://" + l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	if resp.Body.Close(); resp.StatusCode != http.StatusServiceUnavailable || resp.Header.Get("Retry-After") == "" || refused.Load() != 1 || l.Refused() != 1 {
		t.Errorf("one more: %d, %d refused", resp.StatusCode, refused.Load())
	}
	closedByServer(t, dial(t, l)) // and a connection finds no place either
	wait <- true                  // one ends, whichever, and another one finds its place
	if code := <-codes; code != http.StatusOK {
		t.Errorf("%d", code)
	}
	opens(t, l, 2)
	go get()
	<-begun
	close(wait)
	for range 3 {
		if code := <-codes; code != http.StatusOK {
			t.Errorf("%d", code)
		}
	}
	opens(t, l, 1)
	if accepted.Load() != 4 {
		t.Errorf("%d were accepted, want 4", accepted.Load())
	}
}

// opens waits until as many connections and requests count as open.
func opens(t *testing.T, l *Listener, want int) {
	t.Helper()
	for end := time.Now().Add(10 * time.Second); l.Open() != want; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%d are open, want %d", l.Open(), want)
		}
	}
}

// TestStreamDeadlines: a body that does not come fails by its pace, and the connection
// goes on; a deadline that is set after the end does nothing.
func TestStreamDeadlines(t *testing.T) {
	late := make(chan http.ResponseWriter, 2)
	failed := make(chan error, 2)
	l := speaking(t, Bounds{}, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost {
			r, done := Body(w, r, Pace{Idle: 50 * time.Millisecond})
			defer done()
			_, err := io.ReadAll(r.Body)
			failed <- err
		}
		late <- w
	}))
	client := clientOf(t)
	pr, pw := io.Pipe()
	defer pw.Close()
	go client.Post("http://"+l.Addr().String(), "text/plain", pr)
	if err := <-failed; !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("the body: %v", err)
	}
	resp, err := client.Get("http://" + l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if l.Open() != 1 {
		t.Errorf("%d connections", l.Open())
	}
	for range 2 {
		c := http.NewResponseController(<-late)
		for end := time.Now().Add(10 * time.Second); c.SetWriteDeadline(time.Now()) == nil || c.SetReadDeadline(time.Now()) == nil; time.Sleep(time.Millisecond) {
			if time.Now().After(end) {
				t.Fatal("a deadline can be set after the end")
			}
		}
	}
}

// A peer speaks HTTP/2 frame by frame.
type peer struct {
	*http2.Framer
	c       net.Conn
	headers bytes.Buffer
	encoder *hpack.Encoder
}

func peerOf(t *testing.T, l net.Listener) *peer {
	t.Helper()
	p := &peer{c: dial(t, l)}
	p.c.SetDeadline(time.Now().Add(time.Minute))
	io.WriteString(p.c, http2.ClientPreface)
	p.Framer, p.encoder = http2.NewFramer(p.c, p.c), hpack.NewEncoder(&p.headers)
	p.AllowIllegalWrites = true
	p.WriteSettings()
	return p
}

// block is a request's header.
func (p *peer) block(more ...hpack.HeaderField) []byte {
	p.headers.Reset()
	for _, f := range append([]hpack.HeaderField{{Name: ":method", Value: "GET"}, {Name: ":scheme", Value: "http"}, {Name: ":authority", Value: "localhost"}, {Name: ":path", Value: "/"}}, more...) {
		p.encoder.WriteField(f)
	}
	return bytes.Clone(p.headers.Bytes())
}

// drain reads what the server sends until the connection ends.
func (p *peer) drain() (ended chan error) {
	ended = make(chan error, 1)
	go func() {
		_, err := io.Copy(io.Discard, p.c)
		ended <- err
	}()
	return ended
}

// TestHTTP2Attacks: what has brought other servers down ends the connection, or does no more
// than the bounds allow.
func TestHTTP2Attacks(t *testing.T) {
	for name, attack := range map[string]struct {
		run  func(p *peer) error
		ends bool // the server ends the connection
	}{
		// CVE-2023-44487: requests that are taken back at once. Their handlers count until they end.
		"rapid reset": {func(p *peer) (err error) {
			block := p.block()
			for id := uint32(1); id < 20_000 && err == nil; id += 2 {
				if err = p.WriteHeaders(http2.HeadersFrameParam{StreamID: id, BlockFragment: block, EndStream: true, EndHeaders: true}); err == nil {
					err = p.WriteRSTStream(id, http2.ErrCodeCancel)
				}
			}
			return err
		}, false},
		// CVE-2023-45288: a header that never ends.
		"continuation flood": {func(p *peer) (err error) {
			if err = p.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: p.block()}); err != nil {
				return err
			}
			for range 10_000 {
				if err = p.WriteContinuation(1, false, p.block(hpack.HeaderField{Name: "x-fill", Value: strings.Repeat("x", 4000)})); err != nil {
					return err
				}
			}
			return nil
		}, true},
		// A header beyond the limit, in small bytes: a field of the table, again and again.
		"header bomb": {func(p *peer) (err error) {
			field := hpack.HeaderField{Name: "x-bomb", Value: strings.Repeat("b", 3900)}
			var list []hpack.HeaderField
			for range 3000 {
				list = append(list, field)
			}
			return p.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: p.block(list...), EndStream: true, EndHeaders: true})
		}, false},
		// CVE-2019-9512 and 9515: frames that each need an answer, which the peer does not read.
		"ping flood": {func(p *peer) (err error) {
			p.c.(*net.TCPConn).SetReadBuffer(4096)
			var pings bytes.Buffer
			framer := http2.NewFramer(&pings, nil)
			for range 10_000 {
				framer.WritePing(false, [8]byte{})
			}
			for range 200 { // more than the buffers of two sockets
				if _, err = p.c.Write(pings.Bytes()); err != nil {
					return err
				}
			}
			return nil
		}, true},
		// CVE-2019-9518: frames without anything in them.
		"empty frames": {func(p *peer) (err error) {
			if err = p.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: p.block(), EndHeaders: true}); err != nil {
				return err
			}
			for range 100_000 {
				if err = p.WriteData(1, false, nil); err != nil {
					return err
				}
			}
			return nil
		}, false},
		// More requests at once than the server said it takes.
		"too many streams": {func(p *peer) (err error) {
			block := p.block()
			for id := uint32(1); id < 2*10*maxStreams && err == nil; id += 2 {
				err = p.WriteHeaders(http2.HeadersFrameParam{StreamID: id, BlockFragment: block, EndHeaders: true})
			}
			return err
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var open, most atomic.Int32
			l := speaking(t, Bounds{}, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				n := open.Add(1)
				defer open.Add(-1)
				for old := most.Load(); n > old && !most.CompareAndSwap(old, n); old = most.Load() {
				}
				size := 0
				for name, values := range r.Header {
					for _, v := range values {
						size += len(name) + len(v)
					}
				}
				if size > MaxHeader+4096 {
					t.Errorf("a header of %d bytes", size)
				}
				select {
				case <-r.Context().Done():
				case <-time.After(100 * time.Millisecond):
				}
			}))
			p := peerOf(t, l)
			var ended chan error
			if name != "ping flood" {
				ended = p.drain()
			}
			err := attack.run(p)
			if attack.ends {
				if ended == nil {
					ended = p.drain()
				}
				select {
				case <-ended:
				case <-time.After(30 * time.Second):
					t.Errorf("the connection goes on (%v)", err)
				}
			}
			if n := most.Load(); n > maxStreams {
				t.Errorf("%d requests at once", n)
			}
			ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
			defer cancel()
			r, _ := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+l.Addr().String(), nil)
			resp, err := clientOf(t).Do(r) // another client is served
			if err != nil {
				t.Fatal(err)
			}
			resp.Body.Close()
		})
	}
}
