package model_test

import (
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"net/http"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/sotto-llm/sotto/internal/base/effort"
	"github.com/sotto-llm/sotto/model"
)

// A counted response counts the bytes that the server could send.
type counted struct {
	http.ResponseWriter
	sent *atomic.Int64
}

func (c *counted) Write(p []byte) (int, error) {
	n, err := c.ResponseWriter.Write(p)
	c.sent.Add(int64(n))
	return n, err
}

// endless writes until the client leaves.
func endless(w io.Writer, piece string) {
	block := []byte(strings.Repeat(piece, 1+64<<10/len(piece)))
	for {
		if _, err := w.Write(block); err != nil {
			return
		}
	}
}

// TestEndless: whatever a server sends without end, in a frame, in frames or
// between them, the client leaves at a bound, and says which.
func TestEndless(t *testing.T) {
	empty := map[string]string{
		"openai": "data: {\"choices\":[{\"index\":0,\"delta\":{}}]}\n\n", "ollama": "{\"message\":{}}\n",
		"anthropic": "event: ping\ndata: {\"type\":\"ping\"}\n\n",
	}
	for provider, frame := range empty {
		for name, piece := range map[string]string{
			"a line": "x", "blank lines": "\n", "comments": ": x\n\n", "empty frames": frame,
			"other choices": "data: {\"choices\":[{\"index\":1000000000,\"delta\":{\"content\":\"x\"}}]}\n\n",
		} {
			if name == "other choices" && provider != "openai" || name == "comments" && provider == "ollama" {
				continue
			}
			if effort.Brief() && (name == "empty frames" || name == "blank lines" && provider != "openai") {
				continue // seconds of processor time each
			}
			t.Run(provider+" "+name, func(t *testing.T) {
				var sent atomic.Int64
				url := serve(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
					w.Header().Set("Content-Type", kindOf[provider])
					endless(&counted{w, &sent}, piece)
				}))
				r := invoke(t, open(t, model.Config{Provider: provider, URL: url, Model: "m", Retries: -1}), asked("?"))
				if !errors.Is(r.err, model.ErrTooLarge) && !errors.Is(r.err, model.ErrUnreadable) {
					t.Errorf("%v", r.err)
				}
				if sent.Load() > 40<<20 { // the bound, and what the sockets hold
					t.Errorf("the client took %d bytes", sent.Load())
				}
			})
		}
	}
}

// TestEndlessErrors: of an error's body the beginning is read, also of one that is
// compressed, and a header has a bound, with the interim responses before it.
func TestEndlessErrors(t *testing.T) {
	for name, answer := range map[string]func(w http.ResponseWriter, sent *atomic.Int64){
		"body": func(w http.ResponseWriter, sent *atomic.Int64) {
			w.WriteHeader(500)
			endless(&counted{w, sent}, "x")
		},
		"compressed": func(w http.ResponseWriter, sent *atomic.Int64) {
			w.Header().Set("Content-Encoding", "gzip")
			w.WriteHeader(500)
			z := gzip.NewWriter(&counted{w, sent})
			endless(z, "x")
		},
		"header": func(w http.ResponseWriter, sent *atomic.Int64) {
			for i := range 2000 {
				w.Header().Set(fmt.Sprintf("X-%d", i), strings.Repeat("x", 1000))
			}
			endless(&counted{w, sent}, "x")
		},
		"interim responses": func(w http.ResponseWriter, sent *atomic.Int64) {
			w.Header().Set("Link", strings.Repeat("x", 1000))
			for range 100_000 {
				w.WriteHeader(http.StatusEarlyHints)
				if sent.Add(1000) > 50<<20 {
					return
				}
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			var sent atomic.Int64
			url := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				defer func() { _ = recover() }() // a connection that is gone
				answer(w, &sent)
			}))
			var r run
			cost := allocated(func() {
				r = invoke(t, open(t, model.Config{Provider: "openai", URL: url, Model: "m", Retries: -1}), asked("?"))
			})
			if r.err == nil || len(r.err.Error()) > 2000 || cost > 64<<20 {
				t.Errorf("%d bytes allocated, %.300v", cost, r.err)
			}
			if name != "interim responses" && sent.Load() > 40<<20 {
				t.Errorf("the client took %d bytes", sent.Load())
			}
		})
	}
}

// allocated is how many bytes a call allocates, the server's among them.
func allocated(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// TestCrowdedFrames: a frame of many small things costs in proportion to its
// bytes, whatever they are: calls, parts, choices, members, details.
func TestCrowdedFrames(t *testing.T) {
	many := func(piece string, size int) string {
		return strings.TrimSuffix(strings.Repeat(piece+",", size/(len(piece)+1)), ",")
	}
	var members strings.Builder
	for i := 0; members.Len() < 2<<20; i++ {
		fmt.Fprintf(&members, `"k%d":"v",`, i)
	}
	names := members.String()
	for name, frame := range map[string]func(size int) string{
		"choices":  func(n int) string { return `{"choices":[` + many(`{"index":7}`, n) + `]}` },
		"calls":    func(n int) string { return choice(`{"tool_calls":[` + many(`{"index":1000000000}`, n) + `]}`) },
		"call ids": func(n int) string { return choice(`{"tool_calls":[` + many(`{"index":0,"id":"a"}`, n) + `]}`) },
		"parts":    func(n int) string { return choice(`{"content":[` + many(`{"type":"other"}`, n) + `]}`) },
		"texts": func(n int) string {
			return choice(`{"content":[{"type":"thinking","thinking":[` + many(`{"text":"abcdefgh"}`, n) + `]}]}`)
		},
		"members": func(n int) string {
			return choice(`{` + names[:strings.LastIndexByte(names[:n], ',')] + `}`)
		},
		"details": func(n int) string {
			return choice(`{"reasoning_details":[` + many(`{"type":"t","text":"abcdefgh"}`, n) + `]}`)
		},
	} {
		t.Run(name, func(t *testing.T) {
			cost := func(size int) uint64 {
				s := stream{provider: "openai", body: chunks(frame(size), stop, done)}
				url := serve(t, played(&s, func() int { return 1 << 20 }))
				m := open(t, model.Config{Provider: "openai", URL: url, Model: "m", Retries: -1})
				return allocated(func() { invoke(t, m, asked("?")) })
			}
			one, four := cost(256<<10), cost(1<<20)
			if four > 8*one+4<<20 || four > 64<<20 {
				t.Errorf("a frame of 256 KiB costs %d bytes, one of 1 MiB %d", one, four)
			}
		})
	}
}

// TestDetailsKeepNoFrame: what is kept of a detail does not keep the frame that it
// came in.
func TestDetailsKeepNoFrame(t *testing.T) {
	if effort.Brief() {
		t.Skip("50 MiB of frames: SOTTO_EFFORT=1 runs it")
	}
	var frames []string
	for i := range 100 {
		frames = append(frames, choice(fmt.Sprintf(`{"reasoning_details":[{"type":"t","index":%d%s,"text":"a"}]}`, i, strings.Repeat(" ", 500<<10))))
	}
	s := stream{provider: "openai", body: chunks(append(frames, stop, done)...)}
	url := serve(t, played(&s, func() int { return 1 << 20 }))
	m := open(t, model.Config{Provider: "openai", URL: url, Model: "m", Retries: -1})
	var most uint64
	base := inUse()
	_, err := m.Invoke(t.Context(), asked("?"), func(model.Delta) error {
		most = max(most, inUse()-min(base, inUse()))
		return nil
	})
	if err != nil || most > 20<<20 {
		t.Errorf("%d bytes are held, %v", most, err)
	}
}

// inUse is how many bytes of the heap are reachable.
func inUse() uint64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// TestOpenBlocks: blocks that begin and never end have a bound in number.
func TestOpenBlocks(t *testing.T) {
	var body strings.Builder
	for i := range 5000 {
		body.WriteString(events(fmt.Sprintf(`{"type":"content_block_start","index":%d,"content_block":{"type":"x"}}`, i)))
	}
	s := stream{provider: "anthropic", body: body.String() + events(`{"type":"message_stop"}`)}
	url := serve(t, played(&s, func() int { return 1 << 20 }))
	r := invoke(t, open(t, model.Config{Provider: "anthropic", URL: url, Model: "m", Retries: -1}), asked("?"))
	if !errors.Is(r.err, model.ErrTooLarge) || !strings.Contains(r.err.Error(), "blocks without an end") {
		t.Errorf("%v", r.err)
	}
}
