package doctor

import (
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/sotto-llm/sotto/wire"
	"github.com/sotto-llm/sotto/wire/anthropic"
	"github.com/sotto-llm/sotto/wire/ollama"
	"github.com/sotto-llm/sotto/wire/openai"
	"github.com/sotto-llm/sotto/wire/switches"
)

// A way is one way to ask the model.
type way struct {
	name   string
	stream bool
	think  string // "on", "off", or "" for what the server does by itself
	tools  bool
	json   bool
}

// ways are asked in this order. The stream comes after the whole reply, so that no
// server loads its model while the stream is timed.
var ways = []way{
	{name: "whole"},
	{name: "stream", stream: true},
	{name: "thinking on", think: "on"},
	{name: "thinking off", think: "off"},
	{name: "tools", stream: true, tools: true},
	{name: "JSON", json: true},
}

const (
	question     = "How many prime numbers lie between 20 and 40? Answer in one short sentence."
	toolQuestion = "What is the weather in Oslo? Call the tool to find out."
	jsonQuestion = `How many prime numbers lie between 20 and 40? Answer with a JSON object that has the member "count".`
	toolResult   = `{"celsius":4,"sky":"light rain"}`
	toolName     = "get_weather"
	// promptTokens is more than any of the prompts has, with the tool.
	promptTokens = 250
)

func (w way) question() string {
	switch {
	case w.tools:
		return toolQuestion
	case w.json:
		return jsonQuestion
	}
	return question
}

type object = map[string]any

// An api is how questions are asked in one of the APIs.
type api struct {
	name  string
	codec wire.Codec
	path  string // of the requests, below the version
	body  func(q asking) object
	// result appends to a request the model's call and the result of the tool, without
	// the reasoning.
	result func(body object, r *reply) object
}

// An asking is a question with all that its request depends on.
type asking struct {
	way
	model  string
	tokens int
	server string // the name of the server
	long   bool   // the server takes only the long name of the limit
}

var apis = []*api{
	{name: "openai", codec: openai.Chat, path: "/v1/chat/completions", body: openaiBody, result: openaiResult},
	{name: "ollama", codec: ollama.Chat, path: "/api/chat", body: ollamaBody, result: ollamaResult},
	{name: "anthropic", codec: anthropic.Messages, path: "/v1/messages", body: anthropicBody, result: anthropicResult},
}

// APIs are the names of the APIs in which questions can be asked.
func APIs() []string {
	var names []string
	for _, a := range apis {
		names = append(names, a.name)
	}
	return names
}

func findAPI(name string) *api {
	i := slices.IndexFunc(apis, func(a *api) bool { return a.name == name })
	if i < 0 {
		return nil
	}
	return apis[i]
}

func openaiBody(q asking) object {
	limit := "max_tokens"
	if q.long {
		limit = "max_completion_tokens"
	}
	body := object{"model": q.model, "messages": []object{{"role": "user", "content": q.question()}}, "stream": q.stream, limit: q.tokens}
	if q.think != "" {
		maps.Copy(body, openaiSwitch(q.server, q.think == "on"))
	}
	if q.tools {
		body["tools"] = []object{{"type": "function", "function": object{"name": toolName, "description": "The weather in a city now.", "parameters": toolSchema}}}
	}
	switch {
	case q.json && q.server == LMStudio: // which knows no other form
		body["response_format"] = object{"type": "json_schema", "json_schema": object{"name": "count", "schema": object{
			"type": "object", "properties": object{"count": object{"type": "integer"}}, "required": []string{"count"},
		}}}
	case q.json:
		body["response_format"] = object{"type": "json_object"}
	}
	return body
}

// openaiWords are the words in which a server reads whether to think.
func openaiWords(server string) switches.Words {
	switch server {
	case VLLM, SGLang, LlamaCPP: // the names that chat templates read
		return switches.ChatTemplateKwargs
	case OpenRouter:
		return switches.Reasoning
	}
	return switches.ReasoningEffort
}

// openaiSwitch are the members that turn thinking on or off. Each server has its own.
func openaiSwitch(server string, on bool) object {
	switch openaiWords(server) {
	case switches.ChatTemplateKwargs:
		return object{"chat_template_kwargs": object{"enable_thinking": on, "thinking": on}}
	case switches.Reasoning:
		return object{"reasoning": object{"enabled": on}}
	}
	effort := "none"
	if on {
		effort = "high"
	}
	return object{"reasoning_effort": effort}
}

var toolSchema = object{
	"type": "object", "properties": object{"city": object{"type": "string"}}, "required": []string{"city"},
}

func openaiResult(body object, r *reply) object {
	call := object{"id": r.calls[0].id, "type": "function", "function": object{"name": r.calls[0].name, "arguments": r.calls[0].arguments}}
	messages := append(slices.Clone(body["messages"].([]object)),
		object{"role": "assistant", "content": r.text, "tool_calls": []object{call}},
		object{"role": "tool", "tool_call_id": r.calls[0].id, "content": toolResult})
	return with(body, object{"messages": messages, "stream": false})
}

// with returns a request with other members in the place of some.
func with(body, members object) object {
	body = maps.Clone(body)
	maps.Copy(body, members)
	return body
}

func ollamaBody(q asking) object {
	body := object{
		"model": q.model, "messages": []object{{"role": "user", "content": q.question()}}, "stream": q.stream,
		"options": object{"num_predict": q.tokens},
	}
	if q.think != "" {
		body["think"] = q.think == "on"
	}
	if q.tools {
		body["tools"] = []object{{"type": "function", "function": object{"name": toolName, "description": "The weather in a city now.", "parameters": toolSchema}}}
	}
	if q.json {
		body["format"] = "json"
	}
	return body
}

func ollamaResult(body object, r *reply) object {
	call := object{"function": object{"name": r.calls[0].name, "arguments": rawOr(r.calls[0].arguments)}}
	messages := append(slices.Clone(body["messages"].([]object)),
		object{"role": "assistant", "content": r.text, "tool_calls": []object{call}},
		object{"role": "tool", "tool_name": r.calls[0].name, "content": toolResult})
	return with(body, object{"messages": messages, "stream": false})
}

func anthropicBody(q asking) object {
	body := object{"model": q.model, "messages": []object{{"role": "user", "content": q.question()}}, "stream": q.stream, "max_tokens": q.tokens}
	switch q.think {
	case "on": // 1,024 is the smallest budget, and it must leave room for the answer
		body["thinking"], body["max_tokens"] = object{"type": "enabled", "budget_tokens": thinkingBudget}, max(q.tokens, 2*thinkingBudget)
	case "off":
		body["thinking"] = object{"type": "disabled"}
	}
	if q.tools {
		body["tools"] = []object{{"name": toolName, "description": "The weather in a city now.", "input_schema": toolSchema}}
	}
	return body
}

const thinkingBudget = 1024

func anthropicResult(body object, r *reply) object {
	messages := append(slices.Clone(body["messages"].([]object)),
		object{"role": "assistant", "content": []object{{"type": "tool_use", "id": r.calls[0].id, "name": r.calls[0].name, "input": rawOr(r.calls[0].arguments)}}},
		object{"role": "user", "content": []object{{"type": "tool_result", "tool_use_id": r.calls[0].id, "content": toolResult}}})
	return with(body, object{"messages": messages, "stream": false})
}

// header are the headers of an API's requests.
func (a *api) header(key string) http.Header {
	h := http.Header{}
	if a.name == "anthropic" {
		h.Set("Anthropic-Version", "2023-06-01")
		if key != "" {
			h.Set("X-Api-Key", key)
		}
	}
	return h
}

// below returns where a path is at a server with this base URL: the version is sent
// once, and routes that servers have beside the version are not below it.
func below(base *url.URL, path string) *url.URL {
	u := *base
	segments := strings.FieldsFunc(u.Path, func(c rune) bool { return c == '/' })
	switch versioned := slices.ContainsFunc(segments, isVersion); {
	case strings.HasPrefix(path, "/v1/") && versioned:
		path = strings.TrimPrefix(path, "/v1")
	case !strings.HasPrefix(path, "/v1/") && len(segments) > 0 && isVersion(segments[len(segments)-1]):
		segments = segments[:len(segments)-1]
	}
	u.Path, u.RawPath = "/"+strings.Join(append(segments, strings.TrimPrefix(path, "/")), "/"), ""
	return &u
}

// isVersion reports whether a segment of a path is the version of an API: v1, v1beta.
func isVersion(s string) bool {
	return len(s) > 1 && s[0] == 'v' && s[1] >= '0' && s[1] <= '9'
}
