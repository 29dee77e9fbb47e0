package js

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os/exec"
	"testing"

	"github.com/sotto-llm/sotto/history"
	"github.com/sotto-llm/sotto/internal/base/effort"
	"github.com/sotto-llm/sotto/internal/reply/nextrequest"
)

// TestForNextPrompt compares forNextPrompt with package history, on random requests for every
// family of the table.
func TestForNextPrompt(t *testing.T) {
	built(t)
	var models []string
	for _, r := range history.Rules() {
		for _, m := range r.Models {
			models = append(models, string(bytes.ReplaceAll([]byte(m), []byte("*"), []byte("x"))))
		}
	}
	models = append(models, "", "frobnicator", "granite-3.2", "hf.co/unsloth/Qwen3-30B-A3B-Thinking-2507-GGUF:Q4_K_M", "models--Qwen--QwQ-32B", `C:\m\DeepSeek-R1/`)
	var input bytes.Buffer
	for seed := range uint64(4000 * effort.Times()) {
		w := world{rand.New(rand.NewPCG(seed, 47)), "chat", 0}
		w.api = one(w.Rand, "chat", "chat", "messages", "ollama")
		request := map[string]any{"model": one(w.Rand, models...), "messages": w.messages()}
		body, err := json.Marshal(request)
		if err != nil {
			t.Fatal(err)
		}
		want, err := nextrequest.Body(w.api, body)
		if err != nil {
			t.Fatalf("%s: %v", body, err)
		}
		fmt.Fprintf(&input, `{"api":%q,"request":%s,"want":%s}`+"\n", w.api, body, want)
	}
	cmd := exec.CommandContext(t.Context(), "node", "testdata/history.mjs")
	cmd.Stdin = &input
	out, err := cmd.CombinedOutput()
	if t.Logf("%s", out); err != nil {
		t.Fatal(err)
	}
}

// A world makes random messages of an API.
type world struct {
	*rand.Rand
	api string
	n   int
}

func one[T any](r *rand.Rand, all ...T) T { return all[r.IntN(len(all))] }

func (w *world) messages() []any {
	list := make([]any, 0, 8)
	for range w.IntN(8) {
		list = append(list, w.message())
	}
	return list
}

func (w *world) thought() string {
	w.n++
	return one(w.Rand, "", " \n", fmt.Sprint("thought ", w.n), fmt.Sprint("thought ", w.n), "the same", "says `</think>`", "</think> or", "long\n\n 😀 end ")
}

func (w *world) text() string {
	return one(w.Rand, "", " ", "answer", "use `<think>`", "<think>\n"+w.thought()+"\n</think>\n\nanswer", "<think>"+w.thought(), w.thought()+"\n</think>\n\nlate",
		"é😀\n</think>\nlate", "[THINK]x[/THINK]y", "<tool_call>{\"name\":\"f\"}</tool_call>", "a</think>b</think>c", "<narrate>n</narrate>t", "◁think▷a◁/think▷b",
		"<think>a</think><think>b</think>", "<thi<think>x</think>nk>y", "<|channel|>analysis<|message|>a<|end|><|start|>assistant<|channel|>final<|message|>b")
}

func (w *world) id() string { return fmt.Sprint("c", w.IntN(3)) }

func (w *world) message() map[string]any {
	if w.api == "messages" {
		return w.blocks()
	}
	switch w.IntN(7) {
	case 0, 1:
		return map[string]any{"role": "user", "content": w.text()}
	case 2:
		if w.api == "ollama" {
			return map[string]any{"role": "tool", "content": w.text()}
		}
		return map[string]any{"role": "tool", "tool_call_id": w.id(), "content": w.text()}
	case 3:
		return map[string]any{"role": one(w.Rand, "system", "developer"), "content": "s"}
	}
	m := map[string]any{"role": "assistant"}
	switch w.IntN(5) {
	case 0:
		m["content"] = nil
	case 1:
		m["content"] = []any{map[string]any{"type": "text", "text": w.text()}, w.block(), map[string]any{"type": "text", "text": w.text()}}
	case 2:
		if w.IntN(3) > 0 {
			break
		}
		fallthrough
	default:
		m["content"] = w.text()
	}
	for _, name := range []string{"reasoning_content", "reasoning", "thinking"} {
		if w.IntN(4) == 0 {
			m[name] = w.thought()
		}
	}
	if w.IntN(6) == 0 {
		m["reasoning_details"] = []any{one(w.Rand, map[string]any{"type": "reasoning.encrypted", "data": w.thought()}, map[string]any{"type": "reasoning.text", "text": w.thought()})}
	}
	switch w.IntN(5) {
	case 0, 1:
		m["tool_calls"] = []any{map[string]any{"id": one(w.Rand, "", w.id()), "type": "function", "function": map[string]any{"name": "f", "arguments": "{}"}}}
	case 2:
		if w.IntN(4) == 0 {
			m["function_call"] = map[string]any{"name": "f", "arguments": "{}"}
		}
	}
	return m
}

func (w *world) block() map[string]any {
	switch w.IntN(4) {
	case 0:
		return map[string]any{"type": "thinking", "thinking": w.thought(), "signature": one(w.Rand, "", "c2ln", "sotto-made-this-block", "sotto-signed-this-block")}
	case 1:
		return map[string]any{"type": "redacted_thinking", "data": "ZGF0YQ"}
	}
	return map[string]any{"type": "thinking", "thinking": w.thought()}
}

func (w *world) blocks() map[string]any {
	list := []any{}
	if w.IntN(2) == 0 {
		if w.IntN(3) == 0 {
			list = append(list, map[string]any{"type": "tool_result", "tool_use_id": w.id(), "content": "4"})
		} else if w.IntN(3) == 0 {
			return map[string]any{"role": "user", "content": w.text()}
		}
		return map[string]any{"role": "user", "content": append(list, map[string]any{"type": "text", "text": w.text()})}
	}
	if w.IntN(5) == 0 {
		return map[string]any{"role": "assistant", "content": w.text()}
	}
	for range w.IntN(3) {
		list = append(list, w.block())
	}
	for range w.IntN(3) {
		list = append(list, map[string]any{"type": "text", "text": w.text()})
	}
	if w.IntN(3) == 0 {
		list = append(list, map[string]any{"type": one(w.Rand, "tool_use", "tool_use", "server_tool_use"), "id": w.id(), "name": "f", "input": map[string]any{}})
	}
	return map[string]any{"role": "assistant", "content": list}
}
