package ollama_test

import (
	"os"
	"strings"
	"testing"

	"github.com/sotto-llm/sotto/wire/internal/turntest"
	"github.com/sotto-llm/sotto/wire/ollama"
)

// A request that was read and written is the same JSON, whatever stands in it.
func TestTurnIsSame(t *testing.T) {
	all, err := os.ReadFile("testdata/requests.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	for body := range strings.Lines(string(all)) {
		turntest.Same(t, ollama.Chat, body, normal)
	}
}

// normal brings the forms of a request that mean the same into one.
func normal(v any) any {
	root, ok := v.(map[string]any)
	if !ok {
		return v
	}
	if root["stream"] == nil {
		root["stream"] = true
	}
	if o, ok := root["options"].(map[string]any); ok {
		if s, ok := o["stop"].(string); ok {
			o["stop"] = []any{s}
		}
		if len(o) == 0 {
			delete(root, "options")
		}
	}
	for _, list := range []string{"messages", "tools"} {
		all, _ := root[list].([]any)
		for _, v := range all {
			if m, ok := v.(map[string]any); ok && list == "tools" && m["type"] == nil && m["function"] != nil {
				m["type"] = "function"
			}
		}
	}
	return root
}
