package interop_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/anthropics/anthropic-sdk-go"
	ollama "github.com/ollama/ollama/api"
	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/responses"
	"github.com/openai/openai-go/v3/shared"
	"google.golang.org/genai"

	"github.com/sotto-llm/sotto/gateway/routing"
)

// What the model below writes, and what its client gets of it.
const (
	textCall     = "<think>I ask.</think>Let me see.\n<tool_call>\n{\"name\": \"get_weather\", \"arguments\": {\"city\": \"Paris\"}}\n</tool_call>"
	textCallSays = "Let me see."
	textCallArgs = `{"city": "Paris"}`
	weather      = "4 °C, rain"
)

// A textCaller is a model server that reads no calls: its model writes one into its
// text, and answers once it has the result. It speaks the API of the path.
type textCaller struct {
	stream bool
	bodies []string // of the requests
}

func (u *textCaller) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	u.bodies = append(u.bodies, string(body))
	text := textCall
	for _, result := range []string{`"role":"tool"`, `"tool_result"`, `"function_call_output"`, `"functionResponse"`} {
		if strings.Contains(string(body), result) {
			text = "It rains."
		}
	}
	kind := "application/json"
	say := func(format string, text string) {
		quoted, _ := json.Marshal(text)
		fmt.Fprintln(w, strings.ReplaceAll(format, "TEXT", string(quoted)))
	}
	api := textCallAPIs[strings.Split(r.URL.Path, ":")[0]]
	switch {
	case !u.stream:
	case strings.HasPrefix(r.URL.Path, "/api/"):
		kind = "application/x-ndjson"
	default:
		kind = "text/event-stream"
	}
	w.Header().Set("Content-Type", kind)
	if !u.stream {
		say(api.whole, text)
		return
	}
	if api.begin != "" {
		say(api.begin, "")
	}
	for rest := text; rest != ""; {
		n := min(5, len(rest))
		say(api.piece, rest[:n])
		rest = rest[n:]
	}
	say(api.end, text)
}

// A textCallAPI is how a server of an API writes a text.
type textCallAPI struct{ whole, begin, piece, end string }

const textCallItem = `{"id":"msg_1","type":"message","status":"completed","role":"assistant","content":[{"type":"output_text","annotations":[],"text":TEXT}]}`

func textCallResponse(status, output string) string {
	return `{"id":"resp_1","object":"response","created_at":1,"model":"m","status":"` + status + `","error":null,"incomplete_details":null,"output":[` + output + `],"usage":{"input_tokens":5,"output_tokens":9,"total_tokens":14}}`
}

var textCallAPIs = map[string]textCallAPI{
	"/v1/chat/completions": {
		whole: `{"id":"c1","object":"chat.completion","created":1,"model":"m","choices":[{"index":0,"message":{"role":"assistant","content":TEXT},"finish_reason":"stop"}]}`,
		piece: `data: {"id":"c1","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":{"content":TEXT},"finish_reason":null}]}` + "\n",
		end:   `data: {"id":"c1","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}` + "\n\ndata: [DONE]\n",
	},
	"/v1/responses": {
		whole: textCallResponse("completed", textCallItem),
		begin: `data: {"type":"response.created","sequence_number":0,"response":` + textCallResponse("in_progress", "") + "}\n\n" +
			`data: {"type":"response.output_item.added","sequence_number":1,"output_index":0,"item":{"id":"msg_1","type":"message","status":"in_progress","role":"assistant","content":[]}}` + "\n\n" +
			`data: {"type":"response.content_part.added","sequence_number":2,"output_index":0,"item_id":"msg_1","content_index":0,"part":{"type":"output_text","annotations":[],"text":""}}` + "\n",
		piece: `data: {"type":"response.output_text.delta","output_index":0,"item_id":"msg_1","content_index":0,"delta":TEXT,"logprobs":[]}` + "\n",
		end: `data: {"type":"response.output_text.done","output_index":0,"item_id":"msg_1","content_index":0,"text":TEXT,"logprobs":[]}` + "\n\n" +
			`data: {"type":"response.output_item.done","output_index":0,"item":` + textCallItem + "}\n\n" +
			`data: {"type":"response.completed","response":` + textCallResponse("completed", textCallItem) + "}\n",
	},
	"/v1/messages": {
		whole: `{"id":"msg_1","type":"message","role":"assistant","model":"m","content":[{"type":"text","text":TEXT}],"stop_reason":"end_turn","stop_sequence":null,"usage":{"input_tokens":5,"output_tokens":9}}`,
		begin: "event: message_start\n" + `data: {"type":"message_start","message":{"id":"msg_1","type":"message","role":"assistant","model":"m","content":[],"stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":5,"output_tokens":1}}}` + "\n\n" +
			"event: content_block_start\n" + `data: {"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}` + "\n",
		piece: "event: content_block_delta\n" + `data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":TEXT}}` + "\n",
		end: "event: content_block_stop\n" + `data: {"type":"content_block_stop","index":0}` + "\n\n" +
			"event: message_delta\n" + `data: {"type":"message_delta","delta":{"stop_reason":"end_turn","stop_sequence":null},"usage":{"output_tokens":9}}` + "\n\n" +
			"event: message_stop\n" + `data: {"type":"message_stop"}` + "\n",
	},
	"/v1beta/models/qwen3": {
		whole: `{"candidates":[{"content":{"role":"model","parts":[{"text":TEXT}]},"finishReason":"STOP","index":0}],"modelVersion":"m"}`,
		piece: `data: {"candidates":[{"content":{"role":"model","parts":[{"text":TEXT}]},"index":0}],"modelVersion":"m"}` + "\n",
		end:   `data: {"candidates":[{"content":{"role":"model","parts":[{"text":""}]},"finishReason":"STOP","index":0}],"modelVersion":"m"}` + "\n",
	},
	"/api/chat": {
		whole: `{"model":"m","created_at":"2026-11-21T00:00:00Z","message":{"role":"assistant","content":TEXT},"done":true,"done_reason":"stop"}`,
		piece: `{"model":"m","created_at":"2026-11-21T00:00:00Z","message":{"role":"assistant","content":TEXT},"done":false}`,
		end:   `{"model":"m","created_at":"2026-11-21T00:00:00Z","message":{"role":"assistant","content":""},"done":true,"done_reason":"stop"}`,
	},
}

// A toolTalk is what an SDK read of the first reply, and of the one to the tool's result.
type toolTalk struct{ text, name, arguments, id, reason, answer string }

// TestTextCallsSDK runs a tool loop by each SDK with a model whose calls come as text.
// The SDK reads a call of its API; what it sends back is the call and its result, and no
// markup.
func TestTextCallsSDK(t *testing.T) {
	for name, talk := range map[string]func(*testing.T, string, bool) toolTalk{
		"chat": chatTalk, "responses": responsesTalk, "messages": messagesTalk, "gemini": geminiTalk, "ollama": ollamaTalk,
	} {
		for _, stream := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/stream=%v", name, stream), func(t *testing.T) {
				up := &textCaller{stream: stream}
				srv := httptest.NewServer(up)
				defer srv.Close()
				got := talk(t, serveRoute(t, srv.URL, routing.Route{Calls: routing.CallsField}), stream)
				var a, b map[string]any
				if json.Unmarshal([]byte(got.arguments), &a) != nil || json.Unmarshal([]byte(textCallArgs), &b) != nil || fmt.Sprint(a) != fmt.Sprint(b) {
					t.Errorf("arguments %s", got.arguments)
				}
				reason := map[string]string{"chat": "tool_calls", "responses": "completed", "messages": "tool_use", "gemini": "STOP", "ollama": "stop"}[name]
				if got.text != textCallSays || got.name != "get_weather" || !strings.HasPrefix(got.id, "S0") || got.reason != reason || got.answer != "It rains." {
					t.Errorf("the SDK read %+v", got)
				}
				if len(up.bodies) != 2 || strings.Contains(up.bodies[1], "tool_call>") || strings.Contains(up.bodies[1], `tool_call\u003e`) || strings.Count(up.bodies[1], got.id) < 2 || strings.Count(up.bodies[1], "I ask.") > 1 {
					t.Errorf("the model got %q", up.bodies)
				}
			})
		}
	}
}

func chatTalk(t *testing.T, base string, stream bool) (talk toolTalk) {
	c, params := newOpenAI(base), chatParams("qwen3")
	params.Tools = []openai.ChatCompletionToolUnionParam{openai.ChatCompletionFunctionTool(shared.FunctionDefinitionParam{Name: "get_weather"})}
	first := chatChoice(t, c, params, stream)
	for _, call := range first.Message.ToolCalls {
		talk.name, talk.arguments, talk.id = call.Function.Name, call.Function.Arguments, call.ID
	}
	talk.text, talk.reason = first.Message.Content, first.FinishReason
	params.Messages = append(params.Messages, first.Message.ToParam(), openai.ToolMessage(weather, talk.id))
	talk.answer = chatChoice(t, c, params, stream).Message.Content
	return talk
}

func chatChoice(t *testing.T, c openai.Client, params openai.ChatCompletionNewParams, stream bool) openai.ChatCompletionChoice {
	t.Helper()
	if !stream {
		r, err := c.Chat.Completions.New(t.Context(), params)
		if err != nil {
			t.Fatal(err)
		}
		return r.Choices[0]
	}
	s := c.Chat.Completions.NewStreaming(t.Context(), params)
	var acc openai.ChatCompletionAccumulator
	for s.Next() {
		acc.AddChunk(s.Current())
	}
	if err := s.Err(); err != nil {
		t.Fatal(err)
	}
	return acc.Choices[0]
}

func responsesTalk(t *testing.T, base string, stream bool) (talk toolTalk) {
	c, params := newOpenAI(base), responsesParams("qwen3")
	params.Tools = []responses.ToolUnionParam{responses.ToolParamOfFunction("get_weather", map[string]any{"type": "object"}, false)}
	first := respond(t, c, params, stream)
	input := responses.ResponseInputParam{responses.ResponseInputItemParamOfMessage("What is it?", responses.EasyInputMessageRoleUser)}
	for _, item := range first.Output {
		switch item := item.AsAny().(type) {
		case responses.ResponseOutputMessage:
			p := item.ToParam()
			input = append(input, responses.ResponseInputItemUnionParam{OfOutputMessage: &p})
		case responses.ResponseFunctionToolCall:
			talk.name, talk.arguments, talk.id = item.Name, item.Arguments, item.CallID
			p := item.ToParam()
			input = append(input, responses.ResponseInputItemUnionParam{OfFunctionCall: &p})
		}
	}
	talk.text, talk.reason = first.OutputText(), string(first.Status)
	result := responses.ResponseInputItemParamOfFunctionCallOutput(weather)
	result.OfFunctionCallOutput.CallID = openai.String(talk.id)
	params.Input = responses.ResponseNewParamsInputUnion{OfInputItemList: append(input, result)}
	talk.answer = respond(t, c, params, stream).OutputText()
	return talk
}

func respond(t *testing.T, c openai.Client, params responses.ResponseNewParams, stream bool) (r *responses.Response) {
	t.Helper()
	var err error
	if !stream {
		r, err = c.Responses.New(t.Context(), params)
	} else {
		s := c.Responses.NewStreaming(t.Context(), params)
		arguments := map[string]string{} // by item
		for s.Next() {
			switch e := s.Current().AsAny().(type) {
			case responses.ResponseFunctionCallArgumentsDeltaEvent:
				arguments[e.ItemID] += e.Delta
			case responses.ResponseFunctionCallArgumentsDoneEvent:
				if arguments[e.ItemID] != e.Arguments {
					t.Errorf("the arguments %q end as %q", arguments[e.ItemID], e.Arguments)
				}
			case responses.ResponseCompletedEvent:
				r = &e.Response
			}
		}
		err = s.Err()
	}
	if err != nil || r == nil {
		t.Fatal(err)
	}
	return r
}

func messagesTalk(t *testing.T, base string, stream bool) (talk toolTalk) {
	c, params := newAnthropic(base), messageParams("qwen3")
	params.Tools = []anthropic.ToolUnionParam{{OfTool: &anthropic.ToolParam{Name: "get_weather", InputSchema: anthropic.ToolInputSchemaParam{}}}}
	read := func() *anthropic.Message {
		m := message(t, c, params, stream)
		talk.text = ""
		for _, b := range m.Content {
			switch b := b.AsAny().(type) {
			case anthropic.TextBlock:
				talk.text += b.Text
			case anthropic.ToolUseBlock:
				talk.name, talk.arguments, talk.id = b.Name, string(b.Input), b.ID
			}
		}
		return m
	}
	first := read()
	text := talk.text
	talk.reason = string(first.StopReason)
	params.Messages = append(params.Messages, first.ToParam(), anthropic.NewUserMessage(anthropic.NewToolResultBlock(talk.id, weather, false)))
	read()
	talk.text, talk.answer = text, talk.text
	return talk
}

func geminiTalk(t *testing.T, base string, stream bool) (talk toolTalk) {
	config := &genai.GenerateContentConfig{Tools: []*genai.Tool{{FunctionDeclarations: []*genai.FunctionDeclaration{{Name: "get_weather"}}}}}
	chat, err := newGemini(t, base).Chats.Create(t.Context(), "qwen3", config, nil)
	if err != nil {
		t.Fatal(err)
	}
	call, text := send(t, chat, stream, genai.Part{Text: "How is the weather?"})
	if call == nil {
		t.Fatal("no call")
	}
	arguments, _ := json.Marshal(call.Args)
	talk = toolTalk{text: text, name: call.Name, arguments: string(arguments), id: call.ID, reason: "STOP"}
	result := genai.Part{FunctionResponse: &genai.FunctionResponse{ID: call.ID, Name: call.Name, Response: map[string]any{"output": weather}}}
	_, talk.answer = send(t, chat, stream, result)
	return talk
}

func ollamaTalk(t *testing.T, base string, stream bool) (talk toolTalk) {
	request := &ollama.ChatRequest{
		Model: "qwen3", Stream: &stream, Messages: []ollama.Message{{Role: "user", Content: "What is it?"}},
		Tools: ollama.Tools{{Type: "function", Function: ollama.ToolFunction{Name: "get_weather"}}},
	}
	read := func() (m ollama.Message) {
		m.Role = "assistant"
		err := newOllama(base).Chat(t.Context(), request, func(r ollama.ChatResponse) error {
			m.Content += r.Message.Content
			m.ToolCalls = append(m.ToolCalls, r.Message.ToolCalls...)
			talk.reason = r.DoneReason
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
	first := read()
	for _, call := range first.ToolCalls {
		talk.name, talk.arguments, talk.id = call.Function.Name, call.Function.Arguments.String(), call.ID
	}
	talk.text = first.Content
	request.Messages = append(request.Messages, first, ollama.Message{Role: "tool", Content: weather, ToolCallID: talk.id})
	talk.answer = read().Content
	return talk
}
