package gateway_test

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/gateway"
	"github.com/sotto-llm/sotto/gateway/routing"
	"github.com/sotto-llm/sotto/record"
)

// An exchange may allocate so many bytes, and so many for each byte that a peer
// sent. Ordinary ones take a tenth of it; what grows faster than the input does
// not stay below it.
const (
	allocated        = 1 << 20
	allocatedPerByte = 2000
)

// allocates fails the test if do allocates more than an exchange of n bytes may.
func allocates(t *testing.T, n int, do func()) {
	t.Helper()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	do()
	runtime.ReadMemStats(&after)
	if got, max := after.TotalAlloc-before.TotalAlloc, uint64(allocated+n*allocatedPerByte); got > max {
		t.Fatalf("%d bytes of a peer's made the gateway allocate %d, at most %d are right", n, got, max)
	}
}

// memory is a recorder that keeps nothing, so that only the gateway's own
// memory counts.
type memory struct{}

func (memory) Enqueue(record.Event) bool { return true }
func (memory) Dropped() uint64           { return 0 }

// warmUp asks every API once, so that what the first exchange of a process builds
// for all of them, such as the compiled dialects, is not counted.
func warmUp(f *testing.F) {
	f.Helper()
	for _, s := range speakers {
		g := handler(f, gateway.Config{Recorder: memory{}}, answering(func(*http.Request) *http.Response {
			return response("application/json", strings.NewReader(s.whole("<think>r</think>Hi", sotto.EndStopped)))
		}))
		ask(g, s.path, `{"model":"m","stream":false,"messages":[]}`)
	}
}

// FuzzRequest gives any bytes as the body of a request to every API, recorded
// and with every display. The gateway answers, in the memory that its size
// allows, and a body that it refuses does not reach the upstream.
func FuzzRequest(f *testing.F) {
	warmUp(f)
	for display := range uint8(4) {
		f.Add([]byte(`{"model":"qwen3:8b","stream":true,"messages":[{"role":"assistant","content":"<think>a</think>b","reasoning_content":"c"},{"role":"user","content":[{"type":"text","text":"d"}]}]}`), display)
	}
	f.Add([]byte(`{"model":"m","model":"n","input":[{"type":"reasoning","summary":[]},{"type":"message","content":"x"}],"think":true}`), uint8(1))
	f.Add([]byte(`{"prompt":"<think>\n","stream":false,"tools":[{}],"n":3}`), uint8(2))
	f.Add([]byte(strings.Repeat("[", 5000)), uint8(3))
	f.Add([]byte(`{"messages":[`+strings.Repeat(`{"role":"assistant","tool_calls":[{"id":"a"}],"content":"</think>"},`, 50)+`{}]}`), uint8(0))
	f.Fuzz(func(t *testing.T, body []byte, display uint8) {
		route := routing.Route{Display: routing.Displays()[int(display)%len(routing.Displays())]}
		for _, s := range speakers {
			reached := false
			g := handler(t, gateway.Config{Default: route, Recorder: memory{}}, answering(func(r *http.Request) *http.Response {
				_, _ = io.Copy(io.Discard, r.Body)
				reached = true
				return response("application/json", strings.NewReader(s.whole("<think>r</think>Hi", sotto.EndStopped)))
			}))
			var w *httptest.ResponseRecorder
			allocates(t, len(body), func() { w = ask(g, s.path, string(body)) })
			if w.Code >= 400 && w.Code < 500 && reached {
				t.Fatalf("%s: answered %d, and the upstream got the request", s.name(), w.Code)
			}
			if !reached && w.Code < 400 {
				t.Fatalf("%s: answered %d by itself", s.name(), w.Code)
			}
		}
	})
}

// FuzzReply gives any bytes as an upstream's reply, streamed and whole, under any
// content type, to every API, recorded and with every display. The gateway ends
// the reply in the memory that its size allows.
func FuzzReply(f *testing.F) {
	warmUp(f)
	for _, s := range speakers {
		f.Add([]byte(s.stream(faultReply, sotto.EndStopped)), s.kind(true), uint8(0))
		f.Add([]byte(s.whole("<think>r</think>a", sotto.EndStopped)), "application/json", uint8(1))
	}
	f.Add([]byte("data: "+strings.Repeat("{\"a\":", 2000)+"\n\n"), "text/event-stream", uint8(2))
	f.Add([]byte(`{"choices":[{"index":900,"delta":{"content":"</think>","tool_calls":[{"id":"a"},{"id":"a"}]}}]}`), "application/json", uint8(3))
	f.Fuzz(func(t *testing.T, reply []byte, kind string, display uint8) {
		route := routing.Route{Display: routing.Displays()[int(display)%len(routing.Displays())]}
		for _, s := range speakers {
			for _, q := range []string{`{"model":"m","stream":true,"messages":[]}`, `{"model":"m","stream":false,"messages":[]}`} {
				g := handler(t, gateway.Config{Default: route, Recorder: memory{}}, answering(func(*http.Request) *http.Response {
					return response(kind, bytes.NewReader(reply))
				}))
				allocates(t, len(reply), func() { ask(g, s.path, q) })
			}
		}
	})
}
