package interop_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/sotto-llm/sotto/interop/engine"
	"github.com/sotto-llm/sotto/interop/gguf"
)

// The engine says what its models' scripts say, with tags inline, on every
// endpoint, whole and streamed. The other tests here read these replies.
func TestEngine(t *testing.T) {
	s := engine.Run(t)
	for _, m := range engine.Models() {
		for _, a := range apis {
			for name, stream := range map[string]bool{"whole": false, "streamed": true} {
				t.Run(m.Name+a.path+"/"+name, func(t *testing.T) {
					check(t, a.ask(t, s, m.Name, stream), m, stream)
				})
			}
		}
	}
}

// check compares a reply with m's expected one. A stream has one token per event.
func check(t *testing.T, got reply, m engine.Model, stream bool) {
	t.Helper()
	pieces := []string{m.Text}
	if stream {
		pieces = m.Pieces
	}
	if !slices.Equal(got.pieces, pieces) {
		t.Errorf("pieces %q\n  want %q", got.pieces, pieces)
	}
	if got.done != m.DoneReason {
		t.Errorf("done for %q, want %q", got.done, m.DoneReason)
	}
}

// A client's limit ends a reply in the same way as the model's own limit.
func TestEngineMaxTokens(t *testing.T) {
	s := engine.Run(t, engine.Inline())
	m := engine.Inline()
	m.Pieces, m.DoneReason = m.Pieces[:5], "length"
	m.Text = strings.Join(m.Pieces, "")
	for _, stream := range []bool{false, true} {
		got := post(t, s, "/v1/chat/completions", map[string]any{
			"model": m.Name, "stream": stream, "max_tokens": 5, "messages": hello,
		}, readOpenAI)
		check(t, got, m, stream)
	}
}

// A table picks the same token with every kind of sampling.
func TestEngineSampling(t *testing.T) {
	s := engine.Run(t, engine.Inline())
	m := engine.Inline()
	for _, options := range []map[string]any{
		{"temperature": 0},
		{"temperature": 2, "top_k": 0, "top_p": 1, "seed": 7},
		{"repeat_penalty": 2, "repeat_last_n": -1, "frequency_penalty": 2, "presence_penalty": 2},
	} {
		got := post(t, s, "/api/chat", map[string]any{
			"model": m.Name, "stream": true, "options": options, "messages": hello,
		}, readOllama)
		check(t, got, m, true)
	}
}

// The end of the prompt chooses the reply, even if a user wrote it.
func TestEngineCues(t *testing.T) {
	var c gguf.Cutter
	s := engine.Run(t, engine.Model{
		Name:     "cues",
		Template: "{{ .Prompt }}",
		Script: gguf.Script{Name: "cues", Replies: []gguf.Reply{
			{Cue: "<think>\n", Pieces: c.Cut("Opened.</think>Yes.")},
			{Cue: "<|user|>\n<think>\n", Pieces: c.Cut("<|other|>")},
			{Pieces: c.Cut("What do you mean?")},
		}},
	})
	for prompt, want := range map[string]string{
		"6 × 7?<think>\n":                    "Opened.</think>Yes.",
		"<think>\n6 × 7?<|user|>\n<think>\n": "<|other|>",
		"<think>\n6 × 7? 👍":                  "What do you mean?",
	} {
		got := post(t, s, "/api/generate", map[string]any{
			"model": "cues", "prompt": prompt, "stream": false,
		}, readOllama)
		if text := strings.Join(got.pieces, ""); text != want || got.done != "stop" {
			t.Errorf("after %q: %q, done for %q; want %q", prompt, text, got.done, want)
		}
	}
}

// An api is an endpoint: the request for it, and how to read its answer.
type api struct {
	path string
	key  string
	said any
	read func(t *testing.T, body io.Reader) reply
}

var hello = []map[string]string{
	{"role": "system", "content": "Be brief."},
	{"role": "user", "content": "Hi. What is 6 × 7?"},
}

var apis = []api{
	{"/api/generate", "prompt", "Hi. What is 6 × 7?", readOllama},
	{"/api/chat", "messages", hello, readOllama},
	{"/v1/chat/completions", "messages", hello, readOpenAI},
}

func (a api) ask(t *testing.T, s *engine.Server, model string, stream bool) reply {
	t.Helper()
	return post(t, s, a.path, map[string]any{"model": model, "stream": stream, a.key: a.said}, a.read)
}

// A reply is the pieces of text that came, or one piece for a whole answer, and why
// it ended.
type reply struct {
	pieces []string
	done   string
}

func (r *reply) add(text, done string) {
	if text != "" {
		r.pieces = append(r.pieces, text)
	}
	if done != "" {
		r.done = done
	}
}

func post(t *testing.T, s *engine.Server, path string, request any, read func(*testing.T, io.Reader) reply) reply {
	t.Helper()
	body, err := json.Marshal(request)
	if err != nil {
		t.Fatal(err)
	}
	res, err := http.Post(s.URL+path, "application/json", bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		said, _ := io.ReadAll(res.Body)
		t.Fatalf("%s: %s: %s", path, res.Status, said)
	}
	return read(t, res.Body)
}

// readOllama reads one line of JSON per event. A whole answer is one line.
func readOllama(t *testing.T, body io.Reader) (r reply) {
	t.Helper()
	for lines := bufio.NewScanner(body); lines.Scan(); {
		var event struct {
			Response   string
			Message    struct{ Content string }
			DoneReason string `json:"done_reason"`
		}
		decode(t, lines.Text(), &event)
		r.add(event.Response+event.Message.Content, event.DoneReason)
	}
	return r
}

// readOpenAI reads server-sent events up to [DONE], or a whole answer.
func readOpenAI(t *testing.T, body io.Reader) (r reply) {
	t.Helper()
	for lines := bufio.NewScanner(body); lines.Scan(); {
		data := strings.TrimPrefix(lines.Text(), "data: ")
		if data == "" || data == "[DONE]" {
			continue
		}
		var event struct {
			Choices []struct {
				Delta, Message struct{ Content string }
				FinishReason   string `json:"finish_reason"`
			}
		}
		decode(t, data, &event)
		for _, c := range event.Choices {
			r.add(c.Delta.Content+c.Message.Content, c.FinishReason)
		}
	}
	return r
}

func decode(t *testing.T, line string, event any) {
	t.Helper()
	if err := json.Unmarshal([]byte(line), event); err != nil {
		t.Fatalf("%s: %v", line, err)
	}
}
