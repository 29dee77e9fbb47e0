package interop_test

import (
	"context"
	"testing"

	"github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/option"
)

func newAnthropic(base string) anthropic.Client {
	return anthropic.NewClient(option.WithBaseURL(base), option.WithAPIKey("client-key"), option.WithMaxRetries(0))
}

func messageParams(model string) anthropic.MessageNewParams {
	return anthropic.MessageNewParams{
		Model: model, MaxTokens: 1024,
		Messages: []anthropic.MessageParam{anthropic.NewUserMessage(anthropic.NewTextBlock("What is it?"))},
	}
}

func askMessages(t *testing.T, base, model string, stream bool) heard {
	t.Helper()
	m := message(t, newAnthropic(base), messageParams(model), stream)
	var h heard
	for _, b := range m.Content {
		switch b := b.AsAny().(type) {
		case anthropic.TextBlock:
			h.text += b.Text
		case anthropic.ThinkingBlock:
			h.thought += b.Thinking
		}
	}
	if m.StopReason == "" {
		t.Error("no stop reason")
	}
	return h
}

func message(t *testing.T, c anthropic.Client, params anthropic.MessageNewParams, stream bool) *anthropic.Message {
	t.Helper()
	if !stream {
		m, err := c.Messages.New(t.Context(), params)
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
	s := c.Messages.NewStreaming(t.Context(), params)
	var m anthropic.Message
	for s.Next() {
		if err := m.Accumulate(s.Current()); err != nil {
			t.Fatalf("%v at %s", err, s.Current().RawJSON())
		}
	}
	if err := s.Err(); err != nil {
		t.Fatal(err)
	}
	return &m
}

func failMessages(base, model string) error {
	c := newAnthropic(base)
	s := c.Messages.NewStreaming(context.Background(), messageParams(model))
	for s.Next() {
	}
	return s.Err()
}

// TestToolLoopMessages calls a tool and answers. Claude refuses a thinking block
// that is missing or that it did not sign. The blocks that the gateway made for the
// other models do not reach their upstream.
func TestToolLoopMessages(t *testing.T) {
	for _, model := range []string{"claude", "qwen3:8b", "plain"} {
		for _, stream := range []bool{false, true} {
			name := model + "/whole"
			if stream {
				name = model + "/streamed"
			}
			t.Run(name, func(t *testing.T) {
				c := newAnthropic(serveScripted(t))
				params := messageParams(model)
				params.Tools = []anthropic.ToolUnionParam{{OfTool: &anthropic.ToolParam{
					Name:        "get_weather",
					InputSchema: anthropic.ToolInputSchemaParam{Properties: map[string]any{"city": map[string]any{"type": "string"}}},
				}}}
				first := message(t, c, params, stream)
				id := ""
				for _, b := range first.Content {
					if call, ok := b.AsAny().(anthropic.ToolUseBlock); ok {
						id = call.ID
					}
				}
				if id == "" {
					t.Fatalf("no call in %s", first.RawJSON())
				}
				params.Messages = append(params.Messages, first.ToParam(),
					anthropic.NewUserMessage(anthropic.NewToolResultBlock(id, "4 °C, rain", false)))
				second := message(t, c, params, stream)
				text := ""
				for _, b := range second.Content {
					text += b.Text
				}
				if text == "" {
					t.Errorf("no text in %s", second.RawJSON())
				}
			})
		}
	}
}
