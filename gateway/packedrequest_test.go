package gateway_test

import (
	"bytes"
	"compress/gzip"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/gateway"
)

func packed(t *testing.T, encoding, text string) []byte {
	t.Helper()
	var b bytes.Buffer
	var z io.WriteCloser = gzip.NewWriter(&b)
	if encoding == "zstd" {
		var err error
		if z, err = zstd.NewWriter(&b, zstd.WithWindowSize(1<<20)); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := io.WriteString(z, text); err != nil {
		t.Fatal(err)
	}
	z.Close()
	return b.Bytes()
}

// TestPackedRequest: a request that is compressed reaches the upstream as if it were not, and
// is read as well as it is: the history has no thoughts.
func TestPackedRequest(t *testing.T) {
	each(t, func(t *testing.T, s speaker) {
		for _, encoding := range []string{"gzip", "x-gzip", "zstd", "ZSTD"} {
			const body = `{"model":"m","stream":false,"messages":[]}`
			var got string
			var sent *http.Request
			g := handler(t, gateway.Config{}, answering(func(r *http.Request) *http.Response {
				sent, got = r, readAll(t, r.Body)
				return response(s.kind(false), strings.NewReader(s.whole("<think>I add.</think>It is 4.", sotto.EndStopped)))
			}))
			ask(g, s.path, body)
			plain := got
			r := httptest.NewRequest(http.MethodPost, "http://localhost"+s.path, bytes.NewReader(packed(t, strings.ToLower(encoding), body)))
			r.Header = header("Content-Type", "application/json", "Content-Encoding", encoding)
			w := httptest.NewRecorder()
			g.ServeHTTP(w, r)
			s.listenWhole(t, w.Body.Bytes()).wants(t, "It is 4.", "I add.")
			if got != plain || sent.Header.Get("Content-Encoding") != "" || sent.ContentLength != int64(len(plain)) {
				t.Errorf("%s: the upstream got %q (%d bytes) %v, want %q", encoding, got, sent.ContentLength, sent.Header, plain)
			}
		}
	})
}

// TestPackedBombs: what is small only while it is packed is refused at the limit, and what cannot be
// unpacked is a fault of the request.
func TestPackedBombs(t *testing.T) {
	g := handler(t, gateway.Config{Limits: gateway.Limits{Body: 1 << 20, MemoryBytes: 64 << 20}}, answering(func(r *http.Request) *http.Response {
		t.Error("it reached the upstream")
		return response("application/json", strings.NewReader("{}"))
	}))
	large := `{"model":"m","messages":[],"user":"` + strings.Repeat("x", 8<<20) + `"}`
	whole := `{"model":"m","messages":[]}`
	cut := func(b []byte) []byte { return b[:len(b)/2] }
	wide := func() []byte {
		var b bytes.Buffer
		z, err := zstd.NewWriter(&b, zstd.WithWindowSize(64<<20), zstd.WithSingleSegment(false))
		if err != nil {
			t.Fatal(err)
		}
		io.WriteString(z, strings.Repeat("y", 80<<20))
		z.Close()
		return b.Bytes()
	}
	for _, c := range []struct {
		name, encoding string
		body           []byte
		status         int
		says           string
	}{
		{"a bomb of gzip", "gzip", packed(t, "gzip", large), 413, "larger than"},
		{"a bomb of zstd", "zstd", packed(t, "zstd", large), 413, "larger than"},
		{"half of gzip", "gzip", cut(packed(t, "gzip", whole)), 400, "broke off"},
		{"half of zstd", "zstd", cut(packed(t, "zstd", whole)), 400, "broke off"},
		{"no gzip", "gzip", []byte(whole), 400, "compressed body"},
		{"no zstd", "zstd", []byte(whole), 400, "compressed body"},
		{"a wide window", "zstd", wide(), 400, "compressed body"},
		{"twice", "gzip, gzip", packed(t, "gzip", whole), 415, "gzip or zstd"},
		{"another", "br", []byte(whole), 415, "compressed as br"},
	} {
		r := httptest.NewRequest(http.MethodPost, "http://localhost/v1/chat/completions", bytes.NewReader(c.body))
		r.Header = header("Content-Type", "application/json", "Content-Encoding", c.encoding)
		w := httptest.NewRecorder()
		g.ServeHTTP(w, r)
		if w.Code != c.status || !strings.Contains(w.Body.String(), c.says) {
			t.Errorf("%s: %d %s, want %d and %q", c.name, w.Code, w.Body, c.status, c.says)
		}
		if n := gateway.Used(g); n != 0 {
			t.Errorf("%s: %d bytes are held", c.name, n)
		}
	}
}
