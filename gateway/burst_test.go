package gateway_test

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sotto-llm/sotto/gateway"
)

// A burstUpstream answers each request with pieces, and waits for the client between two.
func burstUpstream(t *testing.T, pieces []string, next <-chan bool) *url.URL {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				r := bufio.NewReader(c)
				for {
					q, err := http.ReadRequest(r)
					if err != nil {
						return
					}
					_, _ = io.Copy(io.Discard, q.Body)
					for i, p := range pieces {
						if i > 0 && next != nil {
							<-next
						}
						_, _ = io.WriteString(c, p)
					}
				}
			}()
		}
	}()
	u, _ := url.Parse("http://" + l.Addr().String())
	return u
}

const burstHead = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"

func burstFrame(i int) string {
	return fmt.Sprintf("data: {\"id\":\"c\",\"object\":\"chat.completion.chunk\",\"created\":1,\"model\":\"m\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\"w%06d,\"},\"finish_reason\":null}]}\n\n", i)
}

func chunkOf(s string) string { return fmt.Sprintf("%x\r\n%s\r\n", len(s), s) }

// writes counts what a handler writes.
type writes struct {
	http.ResponseWriter
	sizes []int
}

func (w *writes) Write(b []byte) (int, error) {
	w.sizes = append(w.sizes, len(b))
	return w.ResponseWriter.Write(b)
}
func (w *writes) Unwrap() http.ResponseWriter { return w.ResponseWriter }

func askBurst(t *testing.T, g http.Handler) *http.Response {
	s := httptest.NewServer(g)
	t.Cleanup(s.Close)
	resp, err := s.Client().Post(s.URL+"/v1/chat/completions", "application/json", strings.NewReader(`{"model":"m","stream":true,"messages":[{"role":"user","content":"q"}]}`))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { resp.Body.Close() })
	return resp
}

// A burst is written in fewer writes than it is long in the proxy's buffers.
func TestBurstIsWrittenAtOnce(t *testing.T) {
	var reply, text strings.Builder
	reply.WriteString(burstHead)
	for i := range 140 {
		f := burstFrame(i)
		reply.WriteString(chunkOf(f))
		text.WriteString(f)
	}
	reply.WriteString(chunkOf("data: [DONE]\n\n") + "0\r\n\r\n")
	g, err := gateway.New(gateway.Config{Upstream: burstUpstream(t, []string{reply.String()}, nil)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { g.Close() })
	for range 50 { // the kernel may cut the reply
		w := &writes{}
		resp := askBurst(t, http.HandlerFunc(func(to http.ResponseWriter, r *http.Request) {
			w.ResponseWriter = to
			g.ServeHTTP(w, r)
		}))
		got, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Fatal(err)
		}
		if want := text.String() + "data: [DONE]\n\n"; string(got) != want {
			t.Fatalf("got %d bytes, want %d", len(got), len(want))
		}
		if slices.Max(w.sizes) > 2*4096 {
			return
		}
	}
	t.Error("of a reply of 22 kB no more was written at once than the proxy's buffer holds")
}

// No complete frame is held back when its upstream pauses, wherever in a burst that is.
func TestBurstHoldsNothingBack(t *testing.T) {
	const frames = 120
	var all strings.Builder
	for i := range frames {
		all.WriteString(chunkOf(burstFrame(i)))
	}
	after := chunkOf(burstFrame(frames)) + chunkOf("data: [DONE]\n\n") + "0\r\n\r\n"
	for _, cut := range []int{0, 1, 2, 3, 4, 5, 60, 150} { // in the head of the chunk, and in the frame
		frames := frames
		if cut >= 4 { // net/http waits for all of a chunk, with what it has in its buffer
			frames -= 4096/len(burstFrame(0)) + 1
		}
		next := make(chan bool)
		g, err := gateway.New(gateway.Config{Upstream: burstUpstream(t, []string{burstHead + all.String() + after[:cut], after[cut:]}, next)})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { g.Close() })
		resp := askBurst(t, g)
		var got []byte
		held := time.AfterFunc(10*time.Second, func() { resp.Body.Close() }) // fails, and does not wait for ever
		p := make([]byte, 4096)
		for bytes.Count(got, []byte("\n\n")) < frames {
			n, err := resp.Body.Read(p)
			if got = append(got, p[:n]...); err != nil {
				t.Fatalf("cut at %d: %d of %d frames are here (%v)", cut, bytes.Count(got, []byte("\n\n")), frames, err)
			}
		}
		held.Stop()
		next <- true
		rest, err := io.ReadAll(resp.Body)
		if err != nil || !strings.HasSuffix(string(rest), "data: [DONE]\n\n") {
			t.Errorf("cut at %d: the rest is %q, %v", cut, rest, err)
		}
	}
}
