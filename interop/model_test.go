package interop_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/anthropics/anthropic-sdk-go"
	ollama "github.com/ollama/ollama/api"
	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/shared"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/interop/engine"
	"github.com/sotto-llm/sotto/model"
)

// The conversation that every client sends: two calls at once and their results, a
// question after them, and text that JSON and HTML would escape.
var (
	temperature = 0.25
	seed        = int64(7)
	question    = model.Request{
		Messages: []model.Message{
			{Role: model.System, Text: "Be brief: a < b & \"c\"."},
			{Role: model.User, Text: "What is it?\n👍"},
			{Role: model.Assistant, Text: "I look.", Calls: []model.Call{
				{ID: "call_1", Name: "get_weather", Arguments: `{"city":"Oslo"}`},
				{ID: "call_2", Name: "get_weather", Arguments: `{"city":"Rome"}`},
			}},
			{Role: model.ToolRole, CallID: "call_1", Name: "get_weather", Text: "4 °C"},
			{Role: model.ToolRole, CallID: "call_2", Name: "get_weather", Text: "14 °C"},
			{Role: model.User, Text: "And now?"},
		},
		Tools: []model.Tool{{
			Name: "get_weather", Description: "The weather.",
			Schema: json.RawMessage(`{"type":"object","properties":{"city":{"type":"string","description":"a name"}},"required":["city"]}`),
		}},
		MaxTokens: 2048, Temperature: &temperature, Seed: &seed, Stop: []string{"END"}, Think: "high",
	}
	cityProperties = map[string]any{"city": map[string]any{"type": "string", "description": "a name"}}
)

// bodyOf returns the body of the request that ask makes.
func bodyOf(t *testing.T, ask func(url string)) []byte {
	t.Helper()
	var body []byte
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ = io.ReadAll(r.Body)
		w.WriteHeader(http.StatusBadRequest)
	}))
	defer srv.Close()
	ask(srv.URL)
	if body == nil {
		t.Fatal("no request came")
	}
	return body
}

func openModel(t *testing.T, provider, url, name string) model.Model {
	t.Helper()
	m, err := model.Open(model.Config{Provider: provider, URL: url, Model: name, Retries: -1})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// ours returns the body that our client sends.
func ours(t *testing.T, provider, name string, q model.Request) []byte {
	return bodyOf(t, func(url string) {
		var e *model.Error
		if _, err := openModel(t, provider, url, name).Invoke(t.Context(), q, nil); !errors.As(err, &e) || e.Status != 400 {
			t.Errorf("%v", err)
		}
	})
}

// alike compares two bodies as JSON.
func alike(t *testing.T, got, want []byte) {
	t.Helper()
	indent := func(b []byte) string {
		var v any
		if err := json.Unmarshal(b, &v); err != nil {
			t.Fatalf("%v in %s", err, b)
		}
		out, _ := json.MarshalIndent(v, "", " ")
		return string(out)
	}
	g, w := strings.Split(indent(got), "\n"), strings.Split(indent(want), "\n")
	for i := range max(len(g), len(w)) {
		if i >= len(g) || i >= len(w) || g[i] != w[i] {
			t.Fatalf("line %d differs:\n%s\nwant\n%s", i+1, got, want)
		}
	}
}

// TestModelOpenAI: OpenAI's own client sends the same request.
func TestModelOpenAI(t *testing.T) {
	call := func(id, city string) openai.ChatCompletionMessageToolCallUnionParam {
		return openai.ChatCompletionMessageToolCallUnionParam{OfFunction: &openai.ChatCompletionMessageFunctionToolCallParam{
			ID: id, Function: openai.ChatCompletionMessageFunctionToolCallFunctionParam{Name: "get_weather", Arguments: `{"city":"` + city + `"}`},
		}}
	}
	said := openai.AssistantMessage("I look.")
	said.OfAssistant.ToolCalls = []openai.ChatCompletionMessageToolCallUnionParam{call("call_1", "Oslo"), call("call_2", "Rome")}
	params := openai.ChatCompletionNewParams{
		Model: "some-model",
		Messages: []openai.ChatCompletionMessageParamUnion{
			openai.SystemMessage(question.Messages[0].Text), openai.UserMessage(question.Messages[1].Text), said,
			openai.ToolMessage("4 °C", "call_1"), openai.ToolMessage("14 °C", "call_2"), openai.UserMessage("And now?"),
		},
		Tools: []openai.ChatCompletionToolUnionParam{openai.ChatCompletionFunctionTool(shared.FunctionDefinitionParam{
			Name: "get_weather", Description: openai.String("The weather."),
			Parameters: shared.FunctionParameters{"type": "object", "properties": cityProperties, "required": []string{"city"}},
		})},
		MaxTokens: openai.Int(2048), Temperature: openai.Float(0.25), Seed: openai.Int(7),
		Stop:            openai.ChatCompletionNewParamsStopUnion{OfStringArray: []string{"END"}},
		ReasoningEffort: shared.ReasoningEffortHigh,
		StreamOptions:   openai.ChatCompletionStreamOptionsParam{IncludeUsage: openai.Bool(true)},
	}
	theirs := bodyOf(t, func(url string) {
		c := newOpenAI(url)
		for s := c.Chat.Completions.NewStreaming(t.Context(), params); s.Next(); {
		}
	})
	body := ours(t, "openai", "some-model", question)
	alike(t, body, theirs)

	var read openai.ChatCompletionNewParams
	if err := json.Unmarshal(body, &read); err != nil {
		t.Fatal(err)
	}
	again, err := json.Marshal(read)
	if err != nil {
		t.Fatal(err)
	}
	alike(t, without(t, body, "stream"), again)
}

// without removes a member.
func without(t *testing.T, body []byte, key string) []byte {
	t.Helper()
	var o map[string]json.RawMessage
	if err := json.Unmarshal(body, &o); err != nil {
		t.Fatal(err)
	}
	delete(o, key)
	b, err := json.Marshal(o)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// TestModelAnthropic: Anthropic's own client sends the same request, including
// thoughts that it got from the same stream.
func TestModelAnthropic(t *testing.T) {
	for name, thinking := range map[string]struct {
		config anthropic.ThinkingConfigParamUnion
		output anthropic.OutputConfigParam
	}{
		"claude-sonnet-4-5-20250929": {config: anthropic.ThinkingConfigParamOfEnabled(1024)},
		"claude-opus-4-8": {
			config: anthropic.ThinkingConfigParamUnion{OfAdaptive: &anthropic.ThinkingConfigAdaptiveParam{Display: anthropic.ThinkingConfigAdaptiveDisplaySummarized}},
			output: anthropic.OutputConfigParam{Effort: anthropic.OutputConfigEffortHigh},
		},
	} {
		t.Run(name, func(t *testing.T) {
			thought := func(raw string) model.Thought {
				var kind struct{ Type string }
				json.Unmarshal([]byte(raw), &kind)
				return model.Thought{Field: kind.Type, Raw: json.RawMessage(raw), Sealed: true}
			}
			q := question
			q.Messages = append([]model.Message(nil), q.Messages...)
			q.Messages[2].Thoughts = []model.Thought{
				thought(`{"type":"thinking","thinking":"Two <cities>.","signature":"c2ln"}`), thought(`{"type":"redacted_thinking","data":"ZGF0YQ=="}`),
			}
			result := func(id, text string) anthropic.ContentBlockParamUnion {
				return anthropic.ContentBlockParamUnion{OfToolResult: &anthropic.ToolResultBlockParam{
					ToolUseID: id, Content: []anthropic.ToolResultBlockParamContentUnion{{OfText: &anthropic.TextBlockParam{Text: text}}},
				}}
			}
			params := anthropic.MessageNewParams{
				Model: name, MaxTokens: 2048, Temperature: anthropic.Float(0.25), StopSequences: []string{"END"},
				System: []anthropic.TextBlockParam{{Text: q.Messages[0].Text}},
				Messages: []anthropic.MessageParam{
					anthropic.NewUserMessage(anthropic.NewTextBlock(q.Messages[1].Text)),
					anthropic.NewAssistantMessage(
						anthropic.NewThinkingBlock("c2ln", "Two <cities>."), anthropic.NewRedactedThinkingBlock("ZGF0YQ=="), anthropic.NewTextBlock("I look."),
						anthropic.NewToolUseBlock("call_1", json.RawMessage(`{"city":"Oslo"}`), "get_weather"),
						anthropic.NewToolUseBlock("call_2", json.RawMessage(`{"city":"Rome"}`), "get_weather")),
					anthropic.NewUserMessage(result("call_1", "4 °C"), result("call_2", "14 °C"), anthropic.NewTextBlock("And now?")),
				},
				Tools: []anthropic.ToolUnionParam{{OfTool: &anthropic.ToolParam{
					Name: "get_weather", Description: anthropic.String("The weather."),
					InputSchema: anthropic.ToolInputSchemaParam{Properties: cityProperties, Required: []string{"city"}},
				}}},
				Thinking: thinking.config, OutputConfig: thinking.output,
			}
			theirs := bodyOf(t, func(url string) {
				c := newAnthropic(url)
				for s := c.Messages.NewStreaming(t.Context(), params); s.Next(); {
				}
			})
			body := ours(t, "anthropic", name, q)
			alike(t, asLists(t, body), theirs)

			var read anthropic.MessageNewParams
			if err := json.Unmarshal(body, &read); err != nil {
				t.Fatal(err)
			}
			again, err := json.Marshal(read)
			if err != nil {
				t.Fatal(err)
			}
			alike(t, without(t, asLists(t, body), "stream"), again)
		})
	}
}

// TestModelOllama: Ollama's own types know every member of the request, and
// encode it as its client does.
func TestModelOllama(t *testing.T) {
	q := question
	q.Messages = append([]model.Message(nil), q.Messages...)
	q.Messages[2].Thoughts = []model.Thought{{Field: "thinking", Text: "Two cities."}}
	body := ours(t, "ollama", "some-model", q)
	d := json.NewDecoder(bytes.NewReader(body))
	d.DisallowUnknownFields()
	var read ollama.ChatRequest
	if err := d.Decode(&read); err != nil {
		t.Fatal(err)
	}
	if len(read.Messages) != 6 || read.Messages[2].Thinking != "Two cities." || len(read.Messages[2].ToolCalls) != 2 ||
		read.Messages[3].ToolName != "get_weather" || read.Messages[3].ToolCallID != "call_1" ||
		read.Options["num_predict"] != 2048.0 || read.Think.String() != "high" || !*read.Stream {
		t.Errorf("read as %+v", read)
	}
	if city, ok := read.Messages[2].ToolCalls[1].Function.Arguments.Get("city"); !ok || city != "Rome" {
		t.Errorf("arguments %v", city)
	}
	theirs := bodyOf(t, func(url string) {
		newOllama(url).Chat(t.Context(), &read, func(ollama.ChatResponse) error { return nil })
	})
	// Its client numbers each call. A server accepts calls with and without a
	// number.
	alike(t, body, bytes.ReplaceAll(theirs, []byte(`"index":0,`), nil))
}

// TestModelEngine requests a real model server through each client whose API it
// supports. It checks the text byte for byte, one token per delta, and the end.
func TestModelEngine(t *testing.T) {
	base := engine.Run(t).URL
	for _, m := range engine.Models() {
		for _, provider := range []string{"ollama", "openai"} {
			t.Run(provider+"/"+m.Name, func(t *testing.T) {
				var pieces []string
				reply, err := openModel(t, provider, base, m.Name).Invoke(t.Context(), model.Request{
					Messages: []model.Message{{Role: model.System, Text: "Be brief."}, {Role: model.User, Text: "Hi. What is 6 × 7?"}},
				}, func(d model.Delta) error {
					pieces = append(pieces, d.Text)
					return nil
				})
				if err != nil {
					t.Fatal(err)
				}
				end := map[string]sotto.Ending{"stop": sotto.EndStopped, "length": sotto.EndCut}[m.DoneReason]
				if reply.Raw != m.Text || fmt.Sprintf("%q", pieces) != fmt.Sprintf("%q", m.Pieces) || reply.End != end || reply.Finish != m.DoneReason {
					t.Errorf("%+v\npieces %q\n  want %q", reply, pieces, m.Pieces)
				}
				if reply.Usage.Input == 0 || reply.Usage.Output < int64(len(m.Pieces)) {
					t.Errorf("usage %+v for %d pieces", reply.Usage, len(m.Pieces))
				}
			})
		}
	}
}

// TestModelEngineSettings: the server obeys what a request sets.
func TestModelEngineSettings(t *testing.T) {
	m := engine.Inline()
	base := engine.Run(t, m).URL
	for _, provider := range []string{"ollama", "openai"} {
		c := openModel(t, provider, base, m.Name)
		q := model.Request{Messages: []model.Message{{Role: model.User, Text: "Hi."}}, MaxTokens: 5, Temperature: &temperature, Seed: &seed}
		reply, err := c.Invoke(t.Context(), q, nil)
		if want := strings.Join(m.Pieces[:5], ""); err != nil || reply.Raw != want || reply.End != sotto.EndCut {
			t.Errorf("%s: %v: %+v, want %q", provider, err, reply, want)
		}
		q.MaxTokens, q.Stop = 0, []string{"</think>"}
		reply, err = c.Invoke(t.Context(), q, nil)
		if want, _, _ := strings.Cut(m.Text, "</think>"); err != nil || reply.Raw != want || reply.End != sotto.EndStopped {
			t.Errorf("%s: %v: %+v, want %q", provider, err, reply, want)
		}
		// A whole conversation with tools is accepted, although this model has
		// none.
		q = question
		q.Tools, q.Think, q.Stop, q.MaxTokens = nil, "", nil, 0
		if reply, err = c.Invoke(t.Context(), q, nil); err != nil || reply.Raw != m.Text {
			t.Errorf("%s: %v: %+v", provider, err, reply)
		}
		var e *model.Error
		if _, err = openModel(t, provider, base, "no-such").Invoke(t.Context(), q, nil); !errors.As(err, &e) || e.Status != 404 || !strings.Contains(e.Message, "no-such") {
			t.Errorf("%s: %v", provider, err)
		}
	}
}

// TestModelEngineEmbeds: vectors come from the real server, over both APIs.
func TestModelEngineEmbeds(t *testing.T) {
	m := engine.Inline()
	base := engine.Run(t, m).URL
	texts := []string{"What is 6 × 7?", "What is 6 × 7?", "Paris"}
	for _, provider := range []string{"ollama", "openai"} {
		v, err := openModel(t, provider, base, m.Name).(model.Embedder).Embed(t.Context(), texts)
		if err != nil {
			t.Fatalf("%s: %v", provider, err)
		}
		if len(v) != len(texts) || len(v[0]) == 0 {
			t.Fatalf("%s: %d vectors of %d", provider, len(v), len(v[0]))
		}
		for i, x := range v[0] {
			if math.Abs(float64(x-v[1][i])) > 1e-6 {
				t.Fatalf("%s: the same text has another vector", provider)
			}
		}
	}
}

// asLists returns a request of Anthropic's with lists of one text in place of texts, as its SDK writes them.
func asLists(t *testing.T, body []byte) []byte {
	t.Helper()
	var v map[string]any
	if err := json.Unmarshal(body, &v); err != nil {
		t.Fatal(err)
	}
	list := func(of map[string]any, name string) {
		if text, ok := of[name].(string); ok {
			of[name] = []any{map[string]any{"type": "text", "text": text}}
		}
	}
	list(v, "system")
	for _, m := range v["messages"].([]any) {
		message := m.(map[string]any)
		list(message, "content")
		for _, b := range message["content"].([]any) {
			if block := b.(map[string]any); block["type"] == "tool_result" {
				list(block, "content")
			}
		}
	}
	out, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return out
}
