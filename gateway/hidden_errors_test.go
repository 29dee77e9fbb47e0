package gateway_test

import (
	"math/rand/v2"
	"net/http"
	"strings"
	"testing"

	"github.com/tidwall/gjson"

	"github.com/sotto-llm/sotto/gateway"
)

// TestHiddenErrors holds the same of errors: of a status, in a stream, in a reply of
// status 200, in a body that is not JSON.
func TestHiddenErrors(t *testing.T) {
	const fault = `{"error":{"message":"too busy","type":"overloaded","code":"busy","param":null,"failed_generation":"canary text","metadata":{"raw":"canary"}},"thought":"canary","type":"error"}`
	for _, h := range hiddenReplies {
		for _, status := range []int{http.StatusBadRequest, http.StatusInternalServerError} {
			if got := hiddenAnswer(t, h.path, false, "application/json", fault, status); !strings.Contains(got, "too busy") {
				t.Errorf("%s: %s", h.path, got)
			}
			for kind, body := range map[string]string{
				"text/html": "<p>canary", "application/json": `["canary"]`, "text/plain": `{"canary":`, "text/event-stream": "data: canary\n\n",
			} {
				if got := hiddenAnswer(t, h.path, true, kind, body, status); !isFault(got) {
					t.Errorf("%s: %s", h.path, got)
				}
			}
		}
		if got := hiddenAnswer(t, h.path, false, "application/json", fault, http.StatusOK); !strings.Contains(got, "too busy") {
			t.Errorf("%s: %s", h.path, got)
		}
		kind, frame := "text/event-stream", "data: "+fault+"\n\n"
		if strings.HasPrefix(h.path, "/api") {
			kind, frame = "application/x-ndjson", fault+"\n"
		}
		if got := hiddenAnswer(t, h.path, true, kind, frame, http.StatusOK); !strings.Contains(got, "too busy") {
			t.Errorf("%s: %s", h.path, got)
		}
	}
}

// TestHiddenShapes holds that a reply of which nobody can say what it is fails where
// reasoning is hidden: a body without the members of a reply, and one in which a
// member stands twice, of which gateway and client could read different ones.
func TestHiddenShapes(t *testing.T) {
	for _, h := range hiddenReplies {
		for _, body := range []string{
			`{}`, `{"text":"canary"}`, `{"reply":{"content":"canary"}}`, `{"choices":"canary","output":"canary","content":"canary","message":"canary","response":["canary"]}`,
		} {
			if got := hiddenAnswer(t, h.path, false, "application/json", body, http.StatusOK); !isFault(got) {
				t.Errorf("%s, %s: %s", h.path, body, got)
			}
		}
	}
	// In a reply that is written from what was read, no member stands twice.
	const twice = `{"choices":[{"index":0,"message":{"content":"a"}}],"choices":[{"index":0,"message":{"content":"<think>canary</think>"}}]}`
	if got := hiddenAnswer(t, "/v1/chat/completions", false, "application/json", twice, http.StatusOK); strings.Contains(got, "canary") || strings.Count(got, `"choices"`) != 1 {
		t.Error(got)
	}
	const frame = `data: {"choices":[{"index":0,"delta":{"content":"<think>canary</think>b"},"delta":{"content":"canary"},"finish_reason":null}]}` + "\n\n"
	if got := hiddenAnswer(t, "/v1/chat/completions", true, "text/event-stream", frame, http.StatusOK); strings.Contains(got, "canary") || strings.Count(got, `"delta"`) != 1 {
		t.Error(got)
	}
}

// TestHiddenIndices holds that blocks and items that are left out leave no gap in
// the indices of the others: clients keep them by these.
func TestHiddenIndices(t *testing.T) {
	for _, h := range hiddenReplies {
		if h.path != "/v1/messages" && h.path != "/v1/responses" {
			continue
		}
		got := hiddenAnswer(t, h.path, true, "text/event-stream", strings.Join(h.frames, ""), http.StatusOK)
		begun, events := -1, 0
		for line := range strings.Lines(got) {
			data, ok := strings.CutPrefix(line, "data: ")
			if !ok {
				continue
			}
			root := gjson.Parse(data)
			index := root.Get("output_index")
			if h.path == "/v1/messages" {
				index = root.Get("index")
			} else if n := root.Get("sequence_number").Int(); n != int64(events) {
				t.Errorf("event %d has the number %d: %s", events, n, data)
			}
			events++
			switch kind := root.Get("type").Str; {
			case kind == "content_block_start", kind == "response.output_item.added":
				begun++
				fallthrough
			case index.Exists():
				if index.Int() != int64(begun) {
					t.Errorf("%s has the index %d, want %d:\n%s", kind, index.Int(), begun, got)
				}
			}
		}
		if begun != 2 {
			t.Errorf("%s: %d blocks or items:\n%s", h.path, begun+1, got)
		}
	}
}

// TestUnknownMembersPass holds the other side: where reasoning is shown, members
// that nobody knows pass byte for byte.
func TestUnknownMembersPass(t *testing.T) {
	seen := 0
	for _, h := range hiddenReplies {
		rng := rand.New(rand.NewPCG(7, 7))
		body := planted(t, rng, h.whole)
		g := handler(t, gateway.Config{}, answering(func(*http.Request) *http.Response {
			return response("application/json", strings.NewReader(body))
		}))
		got := ask(g, h.path, `{"model":"m","stream":false,"messages":[]}`).Body.String()
		for _, name := range []string{"thinking_blocks", "content_blocks", "raw_output", "Unknown"} {
			if a, b := strings.Count(body, name), strings.Count(got, name); a != b {
				t.Errorf("%s: of %d times %s %d are left:\n%s", h.path, a, name, b, got)
			}
			seen += strings.Count(got, name)
		}
	}
	if seen < 20 {
		t.Errorf("only %d unknown members", seen)
	}
}
