package interop_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/packages/respjson"
	"github.com/openai/openai-go/v3/responses"
	"github.com/openai/openai-go/v3/shared"
)

var judges = []judge{
	{"openai.chat", askChat, true},
	{"openai.completions", askCompletions, false},
	{"openai.responses", askResponses, true},
	{"ollama.chat", askOllamaChat, true},
	{"ollama.generate", askOllamaGenerate, true},
	{"anthropic.messages", askMessages, true},
	{"gemini.generate", askGemini, true},
	{"bedrock.converse", askBedrock, true},
}

// failing are ways to request a stream. They return the SDK's error.
var failing = map[string]func(base, model string) error{
	"openai.chat": func(base, model string) error {
		c := newOpenAI(base)
		s := c.Chat.Completions.NewStreaming(context.Background(), chatParams(model))
		for s.Next() {
		}
		return s.Err()
	},
	"openai.responses": func(base, model string) error {
		c := newOpenAI(base)
		s := c.Responses.NewStreaming(context.Background(), responsesParams(model))
		var failed error
		for s.Next() {
			if e := s.Current(); e.Type == "error" || e.Type == "response.failed" {
				failed = errors.New(e.RawJSON())
			}
		}
		return errors.Join(s.Err(), failed)
	},
	"ollama.chat":        failOllama,
	"anthropic.messages": failMessages,
	"gemini.generate":    failGemini,
	"bedrock.converse":   failBedrock,
}

func newOpenAI(base string) openai.Client {
	return openai.NewClient(option.WithBaseURL(base+"/v1"), option.WithAPIKey("client-key"), option.WithMaxRetries(0))
}

func chatParams(model string) openai.ChatCompletionNewParams {
	return openai.ChatCompletionNewParams{
		Model:    model,
		Messages: []openai.ChatCompletionMessageParamUnion{openai.UserMessage("What is it?")},
	}
}

// field returns a string member that the SDK does not know.
func field(extra map[string]respjson.Field, name string) string {
	var s string
	_ = json.Unmarshal([]byte(extra[name].Raw()), &s)
	return s
}

func askChat(t *testing.T, base, model string, stream bool) heard {
	t.Helper()
	return hearChat(t, newOpenAI(base), model, stream)
}

func hearChat(t *testing.T, c openai.Client, model string, stream bool) heard {
	t.Helper()
	if !stream {
		r, err := c.Chat.Completions.New(t.Context(), chatParams(model))
		if err != nil {
			t.Fatal(err)
		}
		m := r.Choices[0].Message
		return heard{m.Content, field(m.JSON.ExtraFields, "reasoning_content")}
	}
	s := c.Chat.Completions.NewStreaming(t.Context(), chatParams(model))
	var acc openai.ChatCompletionAccumulator
	var thought string
	for s.Next() {
		chunk := s.Current()
		if !acc.AddChunk(chunk) {
			t.Errorf("the accumulator refuses %s", chunk.RawJSON())
		}
		for _, choice := range chunk.Choices {
			thought += field(choice.Delta.JSON.ExtraFields, "reasoning_content")
		}
	}
	if err := s.Err(); err != nil {
		t.Fatal(err)
	}
	if acc.Choices[0].FinishReason == "" {
		t.Error("no finish reason")
	}
	return heard{acc.Choices[0].Message.Content, thought}
}

func askCompletions(t *testing.T, base, model string, stream bool) heard {
	t.Helper()
	c := newOpenAI(base)
	params := openai.CompletionNewParams{
		Model:  openai.CompletionNewParamsModel(model),
		Prompt: openai.CompletionNewParamsPromptUnion{OfString: openai.String("What is it?")},
	}
	if !stream {
		r, err := c.Completions.New(t.Context(), params)
		if err != nil {
			t.Fatal(err)
		}
		return heard{r.Choices[0].Text, field(r.Choices[0].JSON.ExtraFields, "reasoning_content")}
	}
	s := c.Completions.NewStreaming(t.Context(), params)
	var h heard
	for s.Next() {
		for _, choice := range s.Current().Choices {
			h.text += choice.Text
			h.thought += field(choice.JSON.ExtraFields, "reasoning_content")
		}
	}
	if err := s.Err(); err != nil {
		t.Fatal(err)
	}
	return h
}

func responsesParams(model string) responses.ResponseNewParams {
	return responses.ResponseNewParams{
		Model: model,
		Input: responses.ResponseNewParamsInputUnion{OfString: openai.String("What is it?")},
	}
}

func askResponses(t *testing.T, base, model string, stream bool) heard {
	t.Helper()
	c := newOpenAI(base)
	if !stream {
		r, err := c.Responses.New(t.Context(), responsesParams(model))
		if err != nil {
			t.Fatal(err)
		}
		return heard{r.OutputText(), thoughtOf(r.Output)}
	}
	s := c.Responses.NewStreaming(t.Context(), responsesParams(model))
	var h, final heard
	for s.Next() {
		switch e := s.Current().AsAny().(type) {
		case responses.ResponseTextDeltaEvent:
			h.text += e.Delta
		case responses.ResponseReasoningTextDeltaEvent:
			h.thought += e.Delta
		case responses.ResponseReasoningSummaryTextDeltaEvent:
			h.thought += e.Delta
		case responses.ResponseCompletedEvent:
			final = heard{e.Response.OutputText(), thoughtOf(e.Response.Output)}
		case responses.ResponseIncompleteEvent:
			final = heard{e.Response.OutputText(), thoughtOf(e.Response.Output)}
		}
	}
	if err := s.Err(); err != nil {
		t.Fatal(err)
	}
	same(t, final, h)
	return h
}

func thoughtOf(output []responses.ResponseOutputItemUnion) string {
	var all string
	for _, item := range output {
		r, ok := item.AsAny().(responses.ResponseReasoningItem)
		if !ok {
			continue
		}
		for _, s := range r.Summary {
			all += s.Text
		}
		for _, c := range r.Content {
			all += c.Text
		}
	}
	return all
}

// TestToolLoopChat calls a tool and answers, with models that require their
// reasoning back. This SDK does not send it, so the gateway restores it.
func TestToolLoopChat(t *testing.T) {
	for _, model := range []string{"qwen3:8b", "plain", "deepseek-v3.2", "kimi-k2.6"} {
		for _, stream := range []bool{false, true} {
			name := model + "/whole"
			if stream {
				name = model + "/streamed"
			}
			t.Run(name, func(t *testing.T) { toolLoop(t, serveScripted(t), model, stream) })
		}
	}
}

func toolLoop(t *testing.T, base, model string, stream bool) {
	c := newOpenAI(base)
	params := chatParams(model)
	params.Tools = []openai.ChatCompletionToolUnionParam{openai.ChatCompletionFunctionTool(shared.FunctionDefinitionParam{
		Name:       "get_weather",
		Parameters: shared.FunctionParameters{"type": "object", "properties": map[string]any{"city": map[string]any{"type": "string"}}},
	})}
	first := chat(t, c, params, stream)
	if len(first.ToolCalls) != 1 || first.ToolCalls[0].Function.Name != "get_weather" {
		t.Fatalf("calls %v", first.ToolCalls)
	}
	var args struct{ City string }
	if err := json.Unmarshal([]byte(first.ToolCalls[0].Function.Arguments), &args); err != nil || args.City == "" {
		t.Errorf("arguments %q: %v", first.ToolCalls[0].Function.Arguments, err)
	}
	params.Messages = append(params.Messages, first.ToParam(), openai.ToolMessage("4 °C, rain", first.ToolCalls[0].ID))
	second := chat(t, c, params, stream)
	if second.Content == "" || len(second.ToolCalls) > 0 {
		t.Errorf("content %q, calls %v", second.Content, second.ToolCalls)
	}
}

func chat(t *testing.T, c openai.Client, params openai.ChatCompletionNewParams, stream bool) openai.ChatCompletionMessage {
	t.Helper()
	if !stream {
		r, err := c.Chat.Completions.New(t.Context(), params)
		if err != nil {
			t.Fatal(err)
		}
		return r.Choices[0].Message
	}
	s := c.Chat.Completions.NewStreaming(t.Context(), params)
	var acc openai.ChatCompletionAccumulator
	for s.Next() {
		acc.AddChunk(s.Current())
	}
	if err := s.Err(); err != nil {
		t.Fatal(err)
	}
	return acc.Choices[0].Message
}
