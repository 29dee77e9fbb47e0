package model_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/internal/testing/pipeserver"
	"github.com/sotto-llm/sotto/model"
)

// inBubble runs f in a bubble with a client of a server.
func inBubble(t *testing.T, c model.Config, h http.HandlerFunc, f func(t *testing.T, m model.Model)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s := pipeserver.New(h)
		defer s.Close()
		c.Model, c.URL, c.Transport = "m", "http://server.test", s.Transport()
		f(t, open(t, c))
	})
}

const tokens = `{"choices":[],"usage":{"prompt_tokens":7,"completion_tokens":1}}`

// A reply that is finished is given at once, or after a short wait for the numbers
// of tokens that may follow, whatever else the server sends or leaves out.
func TestFinishedReply(t *testing.T) {
	anthropic := []string{
		`{"type":"message_start","message":{"model":"m"}}`, `{"type":"content_block_start","index":0,"content_block":{"type":"text","text":"hello"}}`,
		`{"type":"content_block_stop","index":0}`, `{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"input_tokens":7,"output_tokens":1}}`,
	}
	for _, c := range []struct {
		name, provider string
		reply          string
		every          time.Duration // a comment follows
		then           string        // after a second
		most           time.Duration
		input          int64
	}{
		{"[DONE], then pings", "openai", chunks(hello, stop, tokens, done), 60 * time.Millisecond, "", 500 * time.Millisecond, 7},
		{"[DONE], then silence", "openai", chunks(hello, stop, tokens, done), 0, "", 500 * time.Millisecond, 7},
		{"no [DONE]", "openai", chunks(hello, stop), 0, "", 3 * time.Second, 0},
		{"no [DONE], and pings", "openai", chunks(hello, stop), 60 * time.Millisecond, "", 3 * time.Second, 0},
		{"tokens that come late", "openai", chunks(hello, stop), 0, chunks(tokens), 3 * time.Second, 7},
		{"tokens and [DONE] that come late", "openai", chunks(hello, stop), 60 * time.Millisecond, chunks(tokens, done), 2 * time.Second, 7},
		{"no message_stop", "anthropic", chunks(anthropic...), 60 * time.Millisecond, "", 3 * time.Second, 7},
		{"message_stop, then pings", "anthropic", chunks(append(anthropic, `{"type":"message_stop"}`)...), 60 * time.Millisecond, "", 500 * time.Millisecond, 7},
		{"done, then empty lines", "ollama", `{"model":"m","message":{"content":"hello"},"done":true,"done_reason":"stop","prompt_eval_count":7}` + "\n", 60 * time.Millisecond, "", 500 * time.Millisecond, 7},
	} {
		t.Run(c.name, func(t *testing.T) {
			inBubble(t, model.Config{Provider: c.provider}, func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Content-Type", "text/event-stream")
				fmt.Fprint(w, c.reply)
				late := time.After(time.Second)
				for {
					w.(http.Flusher).Flush()
					tick := time.After(c.every)
					if c.every == 0 {
						tick = nil
					}
					select {
					case <-r.Context().Done():
						return
					case <-tick:
						fmt.Fprint(w, map[bool]string{true: "\n", false: ": ping\n\n"}[c.provider == "ollama"])
					case <-late:
						fmt.Fprint(w, c.then)
					}
				}
			}, func(t *testing.T, m model.Model) {
				from := time.Now()
				r := invoke(t, m, asked("?"))
				r.consistent(t)
				if r.err != nil || r.reply.Raw != "hello" || r.reply.End != sotto.EndStopped || r.reply.Usage.Input != c.input {
					t.Errorf("%+v, %v", r.reply, r.err)
				}
				if took := time.Since(from); took > c.most {
					t.Errorf("it took %v, want %v at most", took, c.most)
				}
			})
		})
	}
}

// A reply without a finish reason is not finished, however long its server pings.
func TestPingsAreNoReply(t *testing.T) {
	inBubble(t, model.Config{Provider: "openai", Retries: -1}, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprint(w, chunks(hello))
		for range 100 {
			fmt.Fprint(w, ": ping\n\n")
			w.(http.Flusher).Flush()
			time.Sleep(time.Minute)
		}
		fmt.Fprint(w, chunks(strings.ReplaceAll(hello, "hello", " there"), stop, done))
	}, func(t *testing.T, m model.Model) {
		if r := invoke(t, m, asked("?")); r.err != nil || r.reply.Raw != "hello there" {
			t.Errorf("%+v, %v", r.reply, r.err)
		}
	})
}
