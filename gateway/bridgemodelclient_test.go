package gateway_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/tidwall/gjson"

	"github.com/sotto-llm/sotto/wire/switches"
)

// What clients of each API send in the conversations with models.

func parsed(v any) gjson.Result { return gjson.Parse(encoded(v)) }

const windJSON = `{"type":"object","properties":{}}`

// modelSwitches are how clients of each API turn thinking off, or ask for little or for much of it. Bedrock's has the words
// of Claude.
var modelSwitches = map[string]map[string]string{
	"openai.chat":        {"off": `"reasoning_effort":"none"`, "low": `"reasoning_effort":"low"`, "high": `"reasoning_effort":"high"`},
	"openai.responses":   {"off": `"reasoning":{"effort":"none"}`, "low": `"reasoning":{"effort":"low"}`, "high": `"reasoning":{"effort":"high"}`},
	"anthropic.messages": {"off": disabled, "low": `"thinking":{"type":"enabled","budget_tokens":1024}`, "high": `"thinking":{"type":"enabled","budget_tokens":24576}`},
	"ollama.chat":        {"off": `"think":false`, "low": `"think":"low"`, "high": `"think":"high"`},
	"gemini.generate": {
		"off": `"generationConfig":{"thinkingConfig":{"thinkingBudget":0}}`, "low": `"generationConfig":{"thinkingConfig":{"thinkingBudget":1024}}`,
		"high": `"generationConfig":{"thinkingConfig":{"thinkingBudget":24576}}`,
	},
	"bedrock.converse": {
		"off": `"additionalModelRequestFields":{` + disabled + `}`, "low": `"additionalModelRequestFields":{"thinking":{"type":"enabled","budget_tokens":1024}}`,
		"high": `"additionalModelRequestFields":{"thinking":{"type":"enabled","budget_tokens":24576}}`,
	},
	"cohere.chat": {"off": disabled, "low": `"thinking":{"type":"enabled","token_budget":1024}`, "high": `"thinking":{"type":"enabled","token_budget":24576}`},
}

const disabled = `"thinking":{"type":"disabled"}`

// modelWords are the words of servers that read others than those of their API, by the family and the API, as the route says
// them; and how a client says them.
var modelWords = map[[2]string]struct {
	words switches.Words
	says  map[string]string
}{
	{"deepseek-echo", "openai.chat"}: {switches.Thinking, map[string]string{"off": disabled, "low": enabled, "high": enabled}}, // without an amount
	{"kimi-keep", "openai.chat"}:     {switches.Thinking, map[string]string{"off": disabled, "low": enabled, "high": enabled}},
	{"glm-keep", "openai.chat"}: {switches.ThinkingAndEffort, map[string]string{
		"off": disabled, "low": `"reasoning_effort":"low"`, "high": `"reasoning_effort":"high"`, // it thinks unless it is told not to
	}},
	{"qwen3-strip", "openai.chat"}: {switches.ChatTemplateKwargs, map[string]string{
		"off":  `"chat_template_kwargs":{"enable_thinking":false,"thinking":false}`,
		"low":  `"chat_template_kwargs":{"enable_thinking":true,"thinking":true,"reasoning_effort":"low"}`,
		"high": `"chat_template_kwargs":{"enable_thinking":true,"thinking":true,"reasoning_effort":"high"}`,
	}},
	{"qwen3.6-keep", "openai.chat"}: {switches.EnableThinking, map[string]string{
		"off": `"enable_thinking":false`, "low": `"enable_thinking":true,"thinking_budget":1024`, "high": `"enable_thinking":true,"thinking_budget":24576`,
	}},
	{"claude-sealed", "openai.chat"}: {switches.Reasoning, map[string]string{
		"off": `"reasoning":{"enabled":false}`, "low": `"reasoning":{"effort":"low"}`, "high": `"reasoning":{"effort":"high"}`,
	}},
	{"claude-sealed", "anthropic.messages"}: {switches.Adaptive, map[string]string{
		"off": disabled, "low": `"thinking":{"type":"adaptive"},"output_config":{"effort":"low"}`, "high": `"thinking":{"type":"adaptive"},"output_config":{"effort":"high"}`,
	}},
	{"gemini-sealed", "gemini.generate"}: {switches.ThinkingLevel, map[string]string{
		"low": `"generationConfig":{"thinkingConfig":{"thinkingLevel":"low"}}`, "high": `"generationConfig":{"thinkingConfig":{"thinkingLevel":"high"}}`,
	}},
}

const enabled = `"thinking":{"type":"enabled"}`

// merge adds members to an object, and to the objects in it.
func merge(to, more map[string]any) {
	for name, v := range more {
		if inner, ok := to[name].(map[string]any); ok && obj(v) != nil {
			merge(inner, obj(v))
			continue
		}
		to[name] = v
	}
}

// ask is a request with a prompt, tools, a limit of tokens and further members.
func (a *ledgerAPI) ask(model string, stream bool, talk []any, more string) string {
	const prompt = "Answer in one sentence."
	members := map[string]string{
		"openai.chat":        `"max_completion_tokens":64000`,
		"openai.responses":   `"max_output_tokens":64000,"instructions":"` + prompt + `","store":false,"include":["reasoning.encrypted_content"]`,
		"anthropic.messages": `"max_tokens":64000,"system":"` + prompt + `"`,
		"ollama.chat":        `"options":{"num_predict":64000}`,
		"gemini.generate":    `"generationConfig":{"maxOutputTokens":64000},"systemInstruction":{"parts":[{"text":"` + prompt + `"}]}`,
		"bedrock.converse":   `"inferenceConfig":{"maxTokens":64000},"system":[{"text":"` + prompt + `"}]`,
		"cohere.chat":        `"max_tokens":64000`,
	}
	if a.list == "messages" && !strings.Contains(members[a.name], prompt) {
		talk = append([]any{map[string]any{"role": "system", "content": prompt}}, talk...)
	}
	own := *a
	own.more = members[a.name]
	own.tools = strings.ReplaceAll(a.tools, `"name":"get_weather"`, `"name":"get_weather","description":"The weather of a city."`)
	body := obj(decodedJSON(own.request(model, stream, true, talk)))
	wind := obj(decodedJSON("{" + strings.ReplaceAll(strings.ReplaceAll(a.tools, weather, "get_wind"), schemaJSON, windJSON) + "}"))
	for name, tools := range wind {
		to, more := body[name], tools
		if name == "toolConfig" {
			o, w := obj(to), obj(more)
			o["tools"] = append(o["tools"].([]any), w["tools"].([]any)...)
			continue
		}
		if declared := obj(to.([]any)[0])["functionDeclarations"]; declared != nil {
			obj(to.([]any)[0])["functionDeclarations"] = append(declared.([]any), obj(more.([]any)[0])["functionDeclarations"].([]any)...)
			continue
		}
		body[name] = append(to.([]any), more.([]any)...)
	}
	merge(body, obj(decodedJSON("{"+more+"}")))
	return encoded(body)
}

// results are the messages with the results of calls: one with all of them, where results are blocks.
func (a *ledgerAPI) results(calls []ledgerPart) (all []any) {
	for _, c := range calls {
		m := a.result(c)
		if n := len(all); n > 0 && (a.blocks == "content" || a.blocks == "parts") && a.name != "cohere.chat" {
			last := obj(all[n-1])
			last[a.blocks] = append(last[a.blocks].([]any), obj(m)[a.blocks].([]any)...)
			continue
		}
		all = append(all, m)
	}
	return all
}

// alternating are messages of which none has the role of the one before: where an API demands that, its client
// joins them.
func (a *ledgerAPI) alternating(talk []any) (all []any) {
	if a.name != "bedrock.converse" {
		return talk
	}
	for _, v := range talk {
		m := obj(decodedJSON(encoded(v)))
		if n := len(all) - 1; n >= 0 && obj(all[n])["role"] == m["role"] {
			last := obj(all[n])
			last[a.blocks] = append(last[a.blocks].([]any), m[a.blocks].([]any)...)
			continue
		}
		all = append(all, m)
	}
	return all
}

// answer is a message of the model that is only a text.
func (a *ledgerAPI) answer(text string) []any {
	role := "assistant"
	switch a.blocks {
	case "items":
		return []any{a.text(text)}
	case "":
		return []any{map[string]any{"role": role, "content": text}}
	case "parts":
		role = "model"
	}
	return []any{map[string]any{"role": role, a.blocks: []any{a.text(text)}}}
}

// partial is the answer in a stream that stops in the middle.
func (a *ledgerAPI) partial(t testing.TB, body []byte) (text string) {
	if a.name == "openai.responses" {
		data(body, func(v gjson.Result) {
			if v.Get("type").Str == "response.output_text.delta" {
				text += v.Get("delta").Str
			}
		})
		return text
	}
	for _, p := range a.parts(a.join(t, body, true)) {
		if p.kind == "text" {
			text += p.text
		}
	}
	return text
}

// itemParts are the parts of an element of a conversation.
func (a *ledgerAPI) itemParts(m map[string]any) []ledgerPart {
	if a.blocks == "items" {
		m = map[string]any{"items": []any{m}}
	}
	return slices.DeleteFunc(a.parts(m), func(p ledgerPart) bool { return p.kind == "other" })
}

// bare is a message without its thoughts; nil if nothing is left. What signs a call stays.
func (a *ledgerAPI) bare(m map[string]any) map[string]any {
	if a.blocks == "items" {
		if m["type"] == "reasoning" {
			return nil
		}
		m = map[string]any{"items": []any{m}}
	}
	for _, name := range append(thoughtMembers, "reasoning_details") {
		delete(m, name)
	}
	shown := func(text string) string {
		if thought, rest, ok := inTags(text); ok && thought != "" {
			return rest
		}
		if strings.HasPrefix(text, "<think>") {
			return "" // it was cut
		}
		return text
	}
	if text, ok := m["content"].(string); ok {
		m["content"] = shown(text)
	}
	if a.blocks != "" {
		var kept []any
		for _, b := range list(m[a.blocks]) {
			p := a.read(b)
			if p.kind == "text" && shown(p.text) != p.text {
				b = a.text(shown(p.text))
			}
			if p = a.read(b); !isThoughtPart(p) && (p.kind != "text" || p.text != "" && p.text != "\n\n") {
				kept = append(kept, b)
			}
		}
		m[a.blocks] = kept
	}
	if !slices.ContainsFunc(a.parts(m), func(p ledgerPart) bool { return p.text != "" }) {
		return nil
	}
	if a.blocks == "items" {
		return obj(m["items"].([]any)[0])
	}
	return m
}
