package openai_test

import (
	"os"
	"strings"
	"testing"

	"github.com/sotto-llm/sotto/wire/internal/turntest"
	"github.com/sotto-llm/sotto/wire/openai"
	"github.com/sotto-llm/sotto/wire/turn"
)

// A request that was read and written is the same JSON, whatever stands in it.
func TestTurnIsSame(t *testing.T) {
	all, err := os.ReadFile("testdata/requests.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	for body := range strings.Lines(string(all)) {
		turntest.Same(t, openai.Chat, body, normal)
	}
}

// normal brings the forms of a request that mean the same into one.
func normal(v any) any {
	root, ok := v.(map[string]any)
	if !ok {
		return v
	}
	if root["stream"] == false {
		delete(root, "stream")
	}
	if s, ok := root["stop"].(string); ok {
		root["stop"] = []any{s}
	}
	list, _ := root["messages"].([]any)
	for _, m := range list {
		m, ok := m.(map[string]any)
		if !ok {
			continue
		}
		switch content := m["content"].(type) {
		case string:
			m["content"] = []any{map[string]any{"type": "text", "text": content}}
		case []any:
			if len(content) == 0 {
				delete(m, "content")
			}
		}
		for _, c := range listOf(m["tool_calls"]) {
			withType(c, "function")
			withArguments(c, "function", "arguments")
			withArguments(c, "custom", "input")
		}
	}
	for _, tool := range listOf(root["tools"]) {
		withType(tool, "function")
	}
	return root
}

func listOf(v any) []any {
	list, _ := v.([]any)
	return list
}

// withType gives an object its type where it has none: servers take it so.
func withType(v any, kind string) {
	if m, ok := v.(map[string]any); ok && m["type"] == nil && m[kind] != nil {
		m["type"] = kind
	}
}

// withArguments gives a call empty arguments where it has none.
func withArguments(v any, kind, name string) {
	m, _ := v.(map[string]any)
	if of, ok := m[kind].(map[string]any); ok && of[name] == nil {
		of[name] = ""
	}
}

// TestListsAreJoined: the elements of several lists of thoughts of one message are one list, in order.
func TestListsAreJoined(t *testing.T) {
	thought := func(list string) turn.Part {
		return turn.Part{Kind: turn.Thought, Name: "reasoning_details", Extra: turn.Extra{API: openai.Chat.Name(), Whole: list}}
	}
	body, err := openai.Chat.WriteTurn(nil, &turn.Request{Model: "m", Messages: []turn.Message{{Role: turn.Assistant, Parts: []turn.Part{
		thought(`[{"data":"A"},{"data":"B"}]`), {Kind: turn.Text, Text: "So."}, thought(`[{"data":"C"}]`),
	}}}})
	if err != nil || !strings.Contains(string(body), `"reasoning_details":[{"data":"A"},{"data":"B"},{"data":"C"}]`) {
		t.Errorf("%s: %v", body, err)
	}
}
