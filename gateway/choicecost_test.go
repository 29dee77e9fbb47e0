package gateway_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/sotto-llm/sotto/gateway"
	"github.com/sotto-llm/sotto/gateway/routing"
	"github.com/sotto-llm/sotto/internal/base/effort"
)

// A stall is the body of a reply that says something, and then nothing until it is closed.
type stall struct {
	io.Reader
	idle, closed chan struct{}
	once, ends   sync.Once
}

// stalling is such a body. A zero byte stands where a read ends.
func stalling(text string) *stall {
	var reads []io.Reader
	for part := range strings.SplitSeq(text, "\x00") {
		reads = append(reads, strings.NewReader(part))
	}
	return &stall{Reader: io.MultiReader(reads...), idle: make(chan struct{}), closed: make(chan struct{})}
}

func (s *stall) Read(p []byte) (int, error) {
	if n, err := s.Reader.Read(p); err == nil {
		return n, nil
	}
	s.once.Do(func() { close(s.idle) }) // all that was said has been read, and has gone to the client
	<-s.closed
	return 0, io.ErrUnexpectedEOF
}

func (s *stall) Close() error {
	s.ends.Do(func() { close(s.closed) })
	return nil
}

// A sink is a client that reads what it gets, or none of it.
type sink struct {
	header http.Header
	blocks chan struct{} // closed when it reads; nil if it reads at once
	writes chan struct{} // gets a value when it first does not read
}

func (s *sink) Header() http.Header { return s.header }
func (s *sink) WriteHeader(int)     {}
func (s *sink) Flush()              {}

func (s *sink) Write(p []byte) (int, error) {
	if s.blocks != nil {
		select {
		case s.writes <- struct{}{}:
		default: // it has been noted
		}
		<-s.blocks
	}
	return len(p), nil
}

// costOf returns how much of the heap an exchange takes, and how much of limits.memory is
// reserved for it, when the upstream has said a text and says no more. If the client reads
// nothing, it is when the first of what it gets waits for it.
func costOf(t *testing.T, c gateway.Config, r *http.Request, kind, text string, reads bool) (heap, held int64) {
	t.Helper()
	c.Limits.MemoryBytes = 1 << 30
	up := stalling(text)
	g := handler(t, c, answering(func(*http.Request) *http.Response {
		res := response(kind, nil)
		res.Body = up
		return res
	}))
	client := &sink{header: http.Header{}}
	ready := up.idle
	if !reads {
		client.blocks, client.writes = make(chan struct{}), make(chan struct{}, 1)
		ready = client.writes
	}
	before := liveHeap()
	done := make(chan struct{})
	go func() {
		defer close(done)
		g.ServeHTTP(client, r)
	}()
	<-ready
	heap, held = liveHeap()-before, g.Held()
	up.Close()
	if client.blocks != nil {
		close(client.blocks)
	}
	<-done
	if left := g.Held(); left != 0 {
		t.Errorf("%d bytes are reserved after the exchange", left)
	}
	runtime.KeepAlive(text)
	return heap, held
}

// liveHeap is what is reachable. The second collection empties the pools.
func liveHeap() int64 {
	runtime.GC()
	return int64(heapInUse())
}

// near checks that what is counted is within a fifth of what is taken.
func near(t *testing.T, what string, taken, counted float64) {
	t.Helper()
	t.Logf("%s: %.0f bytes of the heap, and %.0f counted", what, taken, counted)
	if counted < 0.8*taken || counted > 1.2*taken {
		t.Errorf("%s: %.0f bytes of the heap, and %.0f are counted", what, taken, counted)
	}
}

// posting makes the request of a client.
func posting(path, body string) *http.Request {
	r := httptest.NewRequest("POST", path, strings.NewReader(body))
	r.Host = "localhost"
	r.Header.Set("Content-Type", "application/json")
	return r
}

// alone reports whether the test runs in a process of its own, and runs it in one if not: what
// other tests leave behind may be freed at any time.
func alone(t *testing.T) bool {
	t.Helper()
	if os.Getenv("SOTTO_MEASURES") != "" {
		return true
	}
	cmd := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$", "-test.v")
	cmd.Env = append(os.Environ(), "SOTTO_MEASURES=1")
	out, err := cmd.CombinedOutput()
	if t.Logf("%s", out); err != nil {
		t.Error(err)
	}
	return false
}

// TestChoiceCost: what limits.memory counts for each choice of a stream is within a fifth of
// what it takes of the heap.
func TestChoiceCost(t *testing.T) {
	effort.OneGoroutine(t)
	if !alone(t) {
		return
	}
	const choices = 1024
	for _, api := range []struct {
		name, path, body string
		frame            string
	}{
		{"chat", "/v1/chat/completions", `{"model":"m","stream":true,"messages":[]}`,
			`{"id":"c","object":"chat.completion.chunk","model":"m","choices":[{"index":%d,"delta":{"content":%q},"finish_reason":null}]}`},
		{"completions", "/v1/completions", `{"model":"m","stream":true,"prompt":"x"}`,
			`{"id":"c","object":"text_completion","model":"m","choices":[{"index":%d,"text":%q,"finish_reason":null}]}`},
		{"gemini", "/v1beta/models/m:streamGenerateContent?alt=sse", `{"contents":[]}`,
			`{"candidates":[{"index":%d,"content":{"role":"model","parts":[{"text":%q}]}}]}`},
	} {
		for _, display := range []routing.Display{routing.DisplayField, routing.DisplayHide, routing.DisplayTags} {
			for what, deltas := range map[string][]string{
				"a thought":             {"<think>", "Let me see."},
				"an answer":             {"<think>Hm.</think>\n\n", "It is four, ", "since two and two"},
				"an answer alone":       {"It is four, ", "since two and two"},
				"an answer in code":     {"It is `four`,\n```\n", "since two"},
				"an answer after a pad": {"<scratch_pad>Hm.<output>No.</output>", "</scratch_pad>", "It is", " four."},
				"a call":                {"<think>Hm.</think>", `<tool_call>{"name":"f",`, `"arguments":`},
				"a long delta":          {"<think>Hm.</think>", strings.Repeat("four ", 500)},
				"a long hold":           {"<think>Hm.</think>It is `<think>", strings.Repeat("four ", 500)},
			} {
				if display == routing.DisplayTags && api.name != "chat" || effort.Brief() && (api.name != "chat" || (display == routing.DisplayHide) != (what == "a thought" || what == "a long hold")) {
					continue
				}
				cost := func(choices int) (heap, held int64) {
					var text strings.Builder
					for _, d := range deltas {
						for i := range choices {
							fmt.Fprintf(&text, "data: "+api.frame+"\n\n", i, d)
						}
					}
					return costOf(t, gateway.Config{Default: routing.Route{Display: display}}, posting(api.path, api.body), "text/event-stream", text.String(), true)
				}
				heap1, held1 := cost(1)
				heap, held := cost(choices)
				near(t, fmt.Sprintf("a choice of %s, %v, %s", api.name, display, what), float64(heap-heap1)/(choices-1), float64(held-held1)/(choices-1))
			}
		}
	}
}
