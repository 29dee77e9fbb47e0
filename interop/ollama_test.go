package interop_test

import (
	"context"
	"net/http"
	"net/url"
	"testing"

	ollama "github.com/ollama/ollama/api"
)

func newOllama(base string) *ollama.Client {
	u, err := url.Parse(base)
	if err != nil {
		panic(err)
	}
	return ollama.NewClient(u, http.DefaultClient)
}

func askOllamaChat(t *testing.T, base, model string, stream bool) heard {
	t.Helper()
	var h heard
	done := false
	err := newOllama(base).Chat(t.Context(), &ollama.ChatRequest{
		Model: model, Stream: &stream, Messages: []ollama.Message{{Role: "user", Content: "What is it?"}},
	}, func(r ollama.ChatResponse) error {
		h.text += r.Message.Content
		h.thought += r.Message.Thinking
		done = r.Done
		return nil
	})
	if err != nil || !done {
		t.Fatalf("done %v: %v", done, err)
	}
	return h
}

func askOllamaGenerate(t *testing.T, base, model string, stream bool) heard {
	t.Helper()
	var h heard
	done := false
	err := newOllama(base).Generate(t.Context(), &ollama.GenerateRequest{
		Model: model, Stream: &stream, Prompt: "What is it?",
	}, func(r ollama.GenerateResponse) error {
		h.text += r.Response
		h.thought += r.Thinking
		done = r.Done
		return nil
	})
	if err != nil || !done {
		t.Fatalf("done %v: %v", done, err)
	}
	return h
}

func failOllama(base, model string) error {
	return newOllama(base).Chat(context.Background(), &ollama.ChatRequest{
		Model: model, Messages: []ollama.Message{{Role: "user", Content: "What is it?"}},
	}, func(ollama.ChatResponse) error { return nil })
}

// TestToolLoopOllama calls a tool and answers.
func TestToolLoopOllama(t *testing.T) {
	for _, model := range []string{"qwen3:8b", "ollama-native", "plain"} {
		for _, stream := range []bool{false, true} {
			name := model + "/whole"
			if stream {
				name = model + "/streamed"
			}
			t.Run(name, func(t *testing.T) {
				c := newOllama(serveScripted(t))
				messages := []ollama.Message{{Role: "user", Content: "What is the weather in Oslo?"}}
				tools := ollama.Tools{{Type: "function", Function: ollama.ToolFunction{Name: "get_weather", Description: "The weather."}}}
				ask := func() (all ollama.Message) {
					err := c.Chat(t.Context(), &ollama.ChatRequest{Model: model, Stream: &stream, Messages: messages, Tools: tools},
						func(r ollama.ChatResponse) error {
							all.Role = r.Message.Role
							all.Content += r.Message.Content
							all.Thinking += r.Message.Thinking
							all.ToolCalls = append(all.ToolCalls, r.Message.ToolCalls...)
							return nil
						})
					if err != nil {
						t.Fatal(err)
					}
					return all
				}
				first := ask()
				if len(first.ToolCalls) != 1 {
					t.Fatalf("calls %v", first.ToolCalls)
				}
				messages = append(messages, first, ollama.Message{Role: "tool", ToolName: "get_weather", Content: "4 °C, rain"})
				if second := ask(); second.Content == "" || len(second.ToolCalls) > 0 {
					t.Errorf("content %q, calls %v", second.Content, second.ToolCalls)
				}
			})
		}
	}
}
