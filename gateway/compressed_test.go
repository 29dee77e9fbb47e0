package gateway_test

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/gateway"
)

// TestCompressed reads replies of servers that compress though nobody asked.
func TestCompressed(t *testing.T) {
	raw := "<think>I add.</think>It is 4."
	for encoding, open := range encodings {
		t.Run(encoding, func(t *testing.T) {
			each(t, func(t *testing.T, s speaker) {
				for _, stream := range []bool{true, false} {
					text := s.whole(raw, sotto.EndStopped)
					if stream {
						text = s.stream(byteByByte(raw), sotto.EndStopped)
					}
					var packed bytes.Buffer
					z := open(&packed)
					io.WriteString(z, text)
					z.Close()
					n := packed.Len()
					g := handler(t, gateway.Config{}, answering(func(r *http.Request) *http.Response {
						if r.Header.Get("Accept-Encoding") != "identity" {
							t.Errorf("asked for %q", r.Header.Get("Accept-Encoding"))
						}
						resp := response(s.kind(stream), bytes.NewReader(packed.Bytes()[:n]))
						resp.Header.Set("Content-Encoding", encoding)
						resp.Header.Set("Content-Length", strconv.Itoa(n))
						resp.ContentLength = int64(n)
						return resp
					}))
					request := fmt.Sprintf(`{"model":"m","stream":%v,"messages":[]}`, stream)
					w := ask(g, s.path, request)
					if w.Header().Get("Content-Encoding") != "" {
						t.Errorf("headers %v", w.Header())
					}
					if stream {
						s.listen(t, w.Body.Bytes()).wants(t, "It is 4.", "I add.")
					} else {
						s.listenWhole(t, w.Body.Bytes()).wants(t, "It is 4.", "I add.")
					}
					n /= 2 // and cut off
					if w = ask(g, s.path, request); w.Code == 200 {
						if h := s.listen(t, w.Body.Bytes()); h.failed == "" {
							t.Errorf("stream=%v: a half looks complete: %s", stream, w.Body)
						}
					} else if h := s.listenWhole(t, w.Body.Bytes()); h.failed == "" {
						t.Errorf("%d %s", w.Code, w.Body)
					}
				}
			})
		})
	}
}

// TestUnknownEncoding is refused: what cannot be read would leak.
func TestUnknownEncoding(t *testing.T) {
	each(t, func(t *testing.T, s speaker) {
		for _, encoding := range []string{"br", "zstd", "gzip, gzip", "compress"} {
			g := handler(t, gateway.Config{}, answering(func(r *http.Request) *http.Response {
				resp := response(s.kind(true), strings.NewReader("canary"))
				resp.Header.Set("Content-Encoding", encoding)
				return resp
			}))
			w := ask(g, s.path, `{"model":"m","stream":true,"messages":[]}`)
			if h := s.listenWhole(t, w.Body.Bytes()); w.Code != http.StatusBadGateway || h.failed == "" || strings.Contains(h.failed, "canary") {
				t.Errorf("%s: %d %s", encoding, w.Code, w.Body)
			}
		}
	})
}

// TestCompressedStreamsAtOnce: a frame that a server compressed and flushed is
// not kept for the next.
func TestCompressedStreamsAtOnce(t *testing.T) {
	s := speakers[0]
	heard := make(chan struct{})
	base := start(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		w.Header().Set("Content-Encoding", "gzip")
		z := gzip.NewWriter(w)
		io.WriteString(z, s.open+s.say("Hello"))
		z.Flush()
		http.NewResponseController(w).Flush()
		select {
		case <-heard:
		case <-r.Context().Done():
		}
		io.WriteString(z, s.finish("Hello", sotto.EndStopped))
		z.Close()
	}), gateway.Config{})
	resp, err := http.Post(base+s.path, "application/json", strings.NewReader(`{"model":"m","stream":true}`))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	var got []byte
	buf := make([]byte, 4096)
	for !bytes.Contains(got, []byte("Hello")) {
		n, err := resp.Body.Read(buf)
		if got = append(got, buf[:n]...); err != nil {
			t.Fatalf("%v after %q", err, got)
		}
	}
	close(heard)
	rest, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	s.listen(t, append(got, rest...)).wants(t, "Hello", "")
}
