package interop_test

import (
	"encoding/json"
	"testing"

	"github.com/anthropics/anthropic-sdk-go"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/bedrockruntime/document"
	"github.com/aws/aws-sdk-go-v2/service/bedrockruntime/types"
	ollama "github.com/ollama/ollama/api"
	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/packages/param"
	"github.com/openai/openai-go/v3/responses"
	"github.com/openai/openai-go/v3/shared"
	"google.golang.org/genai"

	"github.com/sotto-llm/sotto/interop/internal/displays"
)

// A talk is a conversation by a Go SDK. Its program runs a tool until the model answers, and sends
// back what the SDK gave it.
type talk struct {
	*testing.T
	base, model string
	stream      bool
	prompts     []string
	turns       []displays.Turn
}

const toolName, toolResult = "get_weather", "4 °C, rain"

var toolSchema = map[string]any{"type": "object", "properties": map[string]any{"city": map[string]any{"type": "string"}}}

// ask begins a turn.
func (t *talk) ask() { t.turns = append(t.turns, displays.Turn{}) }

// read notes what the SDK showed of a reply.
func (t *talk) read(h heard, calls int) {
	t.Helper()
	turn := &t.turns[len(t.turns)-1]
	turn.Text, turn.Thought, turn.Calls = turn.Text+h.text, turn.Thought+h.thought, turn.Calls+calls
	if turn.Calls > 2*displays.Calls {
		t.Fatalf("the model calls on and on: %+v", t.turns)
	}
}

func (t *talk) chat() {
	params := chatParams(t.model)
	params.Messages = nil
	params.Tools = []openai.ChatCompletionToolUnionParam{openai.ChatCompletionFunctionTool(shared.FunctionDefinitionParam{Name: toolName, Parameters: toolSchema})}
	for _, prompt := range t.prompts {
		t.ask()
		params.Messages = append(params.Messages, openai.UserMessage(prompt))
		for calls := 1; calls > 0; {
			m, thought := chatWithThought(t, params)
			calls = len(m.ToolCalls)
			t.read(heard{m.Content, thought}, calls)
			params.Messages = append(params.Messages, m.ToParam())
			for _, c := range m.ToolCalls {
				params.Messages = append(params.Messages, openai.ToolMessage(toolResult, c.ID))
			}
		}
	}
}

func chatWithThought(t *talk, params openai.ChatCompletionNewParams) (m openai.ChatCompletionMessage, thought string) {
	t.Helper()
	c := newOpenAI(t.base)
	if !t.stream {
		r, err := c.Chat.Completions.New(t.Context(), params)
		if err != nil {
			t.Fatal(err)
		}
		m = r.Choices[0].Message
		return m, field(m.JSON.ExtraFields, "reasoning_content")
	}
	s := c.Chat.Completions.NewStreaming(t.Context(), params)
	var acc openai.ChatCompletionAccumulator
	for s.Next() {
		acc.AddChunk(s.Current())
		for _, choice := range s.Current().Choices {
			thought += field(choice.Delta.JSON.ExtraFields, "reasoning_content")
		}
	}
	if err := s.Err(); err != nil {
		t.Fatal(err)
	}
	return acc.Choices[0].Message, thought
}

func (t *talk) responses() {
	params := responses.ResponseNewParams{
		Model: t.model, Store: openai.Bool(false), Include: []responses.ResponseIncludable{responses.ResponseIncludableReasoningEncryptedContent},
		Tools: []responses.ToolUnionParam{responses.ToolParamOfFunction(toolName, toolSchema, false)},
	}
	var input responses.ResponseInputParam
	for _, prompt := range t.prompts {
		t.ask()
		input = append(input, responses.ResponseInputItemParamOfMessage(prompt, responses.EasyInputMessageRoleUser))
		for calls := 1; calls > 0; {
			params.Input = responses.ResponseNewParamsInputUnion{OfInputItemList: input}
			r := oneResponse(t, params)
			calls = 0
			var results responses.ResponseInputParam
			for _, item := range r.Output {
				input = append(input, param.Override[responses.ResponseInputItemUnionParam](json.RawMessage(item.RawJSON())))
				if call, ok := item.AsAny().(responses.ResponseFunctionToolCall); ok {
					calls++
					result := responses.ResponseInputItemParamOfFunctionCallOutput(toolResult)
					result.OfFunctionCallOutput.CallID = openai.String(call.CallID)
					results = append(results, result)
				}
			}
			input = append(input, results...)
			t.read(heard{r.OutputText(), thoughtOf(r.Output)}, calls)
		}
	}
}

func oneResponse(t *talk, params responses.ResponseNewParams) (r *responses.Response) {
	t.Helper()
	c := newOpenAI(t.base)
	if !t.stream {
		r, err := c.Responses.New(t.Context(), params)
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	s := c.Responses.NewStreaming(t.Context(), params)
	for s.Next() {
		if e, ok := s.Current().AsAny().(responses.ResponseCompletedEvent); ok {
			r = &e.Response
		}
	}
	if s.Err() != nil || r == nil {
		t.Fatalf("the stream has no end: %v", s.Err())
	}
	return r
}

func (t *talk) messages() {
	c, params := newAnthropic(t.base), messageParams(t.model)
	params.Messages = nil
	params.Tools = []anthropic.ToolUnionParam{{OfTool: &anthropic.ToolParam{Name: toolName, InputSchema: anthropic.ToolInputSchemaParam{Properties: toolSchema["properties"]}}}}
	for _, prompt := range t.prompts {
		t.ask()
		params.Messages = append(params.Messages, anthropic.NewUserMessage(anthropic.NewTextBlock(prompt)))
		for calls := 1; calls > 0; {
			m := message(t.T, c, params, t.stream)
			var h heard
			var results []anthropic.ContentBlockParamUnion
			for _, b := range m.Content {
				switch b := b.AsAny().(type) {
				case anthropic.TextBlock:
					h.text += b.Text
				case anthropic.ThinkingBlock:
					h.thought += b.Thinking
				case anthropic.ToolUseBlock:
					results = append(results, anthropic.NewToolResultBlock(b.ID, toolResult, false))
				}
			}
			calls = len(results)
			t.read(h, calls)
			if params.Messages = append(params.Messages, m.ToParam()); calls > 0 {
				params.Messages = append(params.Messages, anthropic.NewUserMessage(results...))
			}
		}
	}
}

func (t *talk) content() {
	config := &genai.GenerateContentConfig{Tools: []*genai.Tool{{FunctionDeclarations: []*genai.FunctionDeclaration{{Name: toolName, ParametersJsonSchema: toolSchema}}}}}
	chat, err := newGemini(t.T, t.base).Chats.Create(t.Context(), t.model, config, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, prompt := range t.prompts {
		t.ask()
		for parts := []genai.Part{{Text: prompt}}; len(parts) > 0; {
			h, calls := sendParts(t, chat, parts)
			t.read(h, len(calls))
			parts = nil
			for _, c := range calls {
				parts = append(parts, genai.Part{FunctionResponse: &genai.FunctionResponse{ID: c.ID, Name: c.Name, Response: map[string]any{"output": toolResult}}})
			}
		}
	}
}

func sendParts(t *talk, chat *genai.Chat, parts []genai.Part) (h heard, calls []*genai.FunctionCall) {
	t.Helper()
	read := func(r *genai.GenerateContentResponse, err error) {
		if err != nil {
			t.Fatal(err)
		}
		h.content(r)
		calls = append(calls, r.FunctionCalls()...)
	}
	if !t.stream {
		read(chat.SendMessage(t.Context(), parts...))
		return h, calls
	}
	for r, err := range chat.SendMessageStream(t.Context(), parts...) {
		read(r, err)
	}
	return h, calls
}

func (t *talk) converse() {
	c, end := newBedrock(t.base)
	defer end()
	tools := &types.ToolConfiguration{Tools: []types.Tool{&types.ToolMemberToolSpec{Value: types.ToolSpecification{
		Name: aws.String(toolName), InputSchema: &types.ToolInputSchemaMemberJson{Value: document.NewLazyDocument(toolSchema)},
	}}}}
	var talk []types.Message
	for _, prompt := range t.prompts {
		t.ask()
		for content := []types.ContentBlock{&types.ContentBlockMemberText{Value: prompt}}; len(content) > 0; {
			talk = append(talk, types.Message{Role: types.ConversationRoleUser, Content: content})
			m, err := converse(t.Context(), c, t.model, t.stream, talk, tools)
			if err != nil {
				t.Fatal(err)
			}
			talk, content = append(talk, m), nil
			for _, b := range m.Content {
				if call, ok := b.(*types.ContentBlockMemberToolUse); ok {
					content = append(content, &types.ContentBlockMemberToolResult{Value: types.ToolResultBlock{
						ToolUseId: call.Value.ToolUseId, Content: []types.ToolResultContentBlock{&types.ToolResultContentBlockMemberText{Value: toolResult}},
					}})
				}
			}
			var h heard
			h.hearBlocks(m)
			t.read(h, len(content))
		}
	}
}

func (t *talk) ollamaChat() {
	c := newOllama(t.base)
	var messages []ollama.Message
	tools := ollama.Tools{{Type: "function", Function: ollama.ToolFunction{Name: toolName, Description: "The weather."}}}
	for _, prompt := range t.prompts {
		t.ask()
		messages = append(messages, ollama.Message{Role: "user", Content: prompt})
		for calls := 1; calls > 0; {
			var all ollama.Message
			err := c.Chat(t.Context(), &ollama.ChatRequest{Model: t.model, Stream: &t.stream, Messages: messages, Tools: tools}, func(r ollama.ChatResponse) error {
				all.Role = r.Message.Role
				all.Content += r.Message.Content
				all.Thinking += r.Message.Thinking
				all.ToolCalls = append(all.ToolCalls, r.Message.ToolCalls...)
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
			calls = len(all.ToolCalls)
			t.read(heard{all.Content, all.Thinking}, calls)
			messages = append(messages, all)
			for range all.ToolCalls {
				messages = append(messages, ollama.Message{Role: "tool", ToolName: toolName, Content: toolResult})
			}
		}
	}
}

// once asks in an API without tools.
func once(ask func(t *testing.T, base, model string, stream bool) heard) func(*talk) {
	return func(t *talk) {
		t.ask()
		t.read(ask(t.T, t.base, t.model, t.stream), 0)
	}
}
