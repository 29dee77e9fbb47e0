package gateway_test

import (
	"bytes"
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/tidwall/gjson"
)

// A ledgerAPI is an API as a client of it continues a conversation: how it asks, what it keeps of a reply, and
// how it sends that back.
type ledgerAPI struct {
	name, title string
	path        func(model string, stream bool) string
	list        string // the member of a request that has the conversation
	more        string // further members of a request, and those that offer a tool, as JSON
	tools       string
	// join makes of a reply the message that a client keeps. Where messages are items, they are its blocks.
	join func(t testing.TB, body []byte, stream bool) map[string]any
	// blocks is the member of a message that has its blocks. It is empty if messages have members.
	blocks string
	// read says what a block is, text makes one of a text, and empty takes the words out of one.
	read   func(b map[string]any) ledgerPart
	text   func(text string) map[string]any
	empty  func(b map[string]any)
	user   func(text string) any
	result func(call ledgerPart) any
}

// A ledgerPart is a text, a thought, a call, or something else of a message.
type ledgerPart struct {
	kind      string // text, thought, call, other
	place     string // of a thought: the member or the kind of block that holds it
	text      string // or the arguments of a call
	proof     string // the provider's signature, or what it encrypted
	id, name  string // of a call
	addressed string // of an item
}

const (
	weather    = "get_weather"
	schemaJSON = `{"type":"object","properties":{"city":{"type":"string"}}}`
)

func at(path string) func(string, bool) string { return func(string, bool) string { return path } }

func chatResult(c ledgerPart) any {
	return map[string]any{"role": "tool", "tool_call_id": c.id, "tool_name": c.name, "content": "4 °C"}
}

var ledgerAPIs = []*ledgerAPI{
	{
		name: "openai.chat", title: "Chat completions", path: at("/v1/chat/completions"), list: "messages",
		tools: `"tools":[{"type":"function","function":{"name":"get_weather","parameters":` + schemaJSON + `}}]`,
		join:  joinChat, user: chatUser,
		result: func(c ledgerPart) any {
			return map[string]any{"role": "tool", "tool_call_id": c.id, "content": "4 °C"}
		},
	},
	{
		name: "ollama.chat", title: "Ollama's chat", path: at("/api/chat"), list: "messages",
		tools: `"tools":[{"type":"function","function":{"name":"get_weather","parameters":` + schemaJSON + `}}]`,
		join:  joinOllama, user: chatUser, result: chatResult,
	},
	{
		name: "anthropic.messages", title: "Messages", path: at("/v1/messages"), list: "messages",
		more: `"max_tokens":4000,"thinking":{"type":"enabled","budget_tokens":2000}`, tools: `"tools":[{"name":"get_weather","input_schema":` + schemaJSON + `}]`,
		join: joinMessages, blocks: "content", read: readMessagesBlock,
		text:  func(text string) map[string]any { return map[string]any{"type": "text", "text": text} },
		empty: func(b map[string]any) { b["thinking"] = "" },
		user:  chatUser,
		result: func(c ledgerPart) any {
			return map[string]any{"role": "user", "content": []any{map[string]any{"type": "tool_result", "tool_use_id": c.id, "content": "4 °C"}}}
		},
	},
	{
		name: "bedrock.converse", title: "Converse (Amazon Bedrock)", list: "messages",
		path: func(model string, stream bool) string {
			return "/model/" + model + map[bool]string{false: "/converse", true: "/converse-stream"}[stream]
		},
		more:  `"inferenceConfig":{"maxTokens":4000}`,
		tools: `"toolConfig":{"tools":[{"toolSpec":{"name":"get_weather","inputSchema":{"json":` + schemaJSON + `}}}]}`,
		join:  joinConverse, blocks: "content", read: readConverseBlock,
		text: func(text string) map[string]any { return map[string]any{"text": text} },
		empty: func(b map[string]any) {
			if of := obj(obj(b["reasoningContent"])["reasoningText"]); of != nil {
				of["text"] = ""
			}
		},
		user:   func(text string) any { return bedrockMessage("user", map[string]any{"text": text}) },
		result: func(c ledgerPart) any { return converseResult(c) },
	},
	{
		name: "openai.responses", title: "Responses", path: at("/v1/responses"), list: "input",
		more:  `"store":false,"include":["reasoning.encrypted_content"]`,
		tools: `"tools":[{"type":"function","name":"get_weather","parameters":` + schemaJSON + `}]`,
		join:  joinResponses, blocks: "items", read: readItem,
		text: func(text string) map[string]any {
			return map[string]any{"type": "message", "role": "assistant", "content": []any{map[string]any{"type": "output_text", "text": text, "annotations": []any{}}}}
		},
		empty: func(b map[string]any) {
			delete(b, "content")
			delete(b, "encrypted_content")
			b["summary"] = []any{}
		},
		user: func(text string) any { return map[string]any{"role": "user", "content": text} },
		result: func(c ledgerPart) any {
			return map[string]any{"type": "function_call_output", "call_id": c.id, "output": "4 °C"}
		},
	},
	{
		name: "gemini.generate", title: "Gemini", list: "contents",
		path: func(model string, stream bool) string {
			return "/v1beta/models/" + model + map[bool]string{false: ":generateContent", true: ":streamGenerateContent?alt=sse"}[stream]
		},
		tools: `"tools":[{"functionDeclarations":[{"name":"get_weather","parameters":` + schemaJSON + `}]}]`,
		join:  joinGemini, blocks: "parts", read: readPart,
		text:  func(text string) map[string]any { return map[string]any{"text": text} },
		empty: func(b map[string]any) { b["text"] = "" },
		user:  func(text string) any { return geminiContent("user", map[string]any{"text": text}) },
		result: func(c ledgerPart) any {
			return geminiContent("user", map[string]any{"functionResponse": map[string]any{"id": c.id, "name": c.name, "response": map[string]any{"output": "4 °C"}}})
		},
	},
	{
		name: "cohere.chat", title: "Cohere's chat", path: at("/v2/chat"), list: "messages",
		tools: `"tools":[{"type":"function","function":{"name":"get_weather","parameters":` + schemaJSON + `}}]`,
		join:  joinCohere, blocks: "content", read: readMessagesBlock,
		text:  func(text string) map[string]any { return map[string]any{"type": "text", "text": text} },
		empty: func(b map[string]any) { b["thinking"] = "" },
		user:  chatUser,
		result: func(c ledgerPart) any {
			return map[string]any{"role": "tool", "tool_call_id": c.id, "content": "4 °C"}
		},
	},
}

func converseResult(c ledgerPart) any {
	return bedrockMessage("user", map[string]any{"toolResult": map[string]any{"toolUseId": c.id, "content": []any{map[string]any{"text": "4 °C"}}}})
}

// request is what the client asks.
func (a *ledgerAPI) request(model string, stream, tools bool, talk []any) string {
	body := map[string]any{"model": model, "stream": stream, a.list: talk}
	if a.list == "contents" || a.name == "bedrock.converse" { // they are in the path
		delete(body, "model")
		delete(body, "stream")
	}
	for _, more := range []string{a.more, map[bool]string{true: a.tools}[tools]} {
		maps.Copy(body, obj(decodedJSON("{"+more+"}")))
	}
	return encoded(body)
}

func decodedJSON(text string) (v any) {
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		panic(err)
	}
	return v
}

// data calls f for the data of each event of a stream.
func data(body []byte, f func(v gjson.Result)) {
	for line := range strings.Lines(string(body)) {
		if text, ok := strings.CutPrefix(line, "data: "); ok && gjson.Valid(text) {
			f(gjson.Parse(text))
		}
	}
}

// grow adds the members of a delta to an object: strings are joined, lists are extended.
func grow(to map[string]any, delta gjson.Result) {
	delta.ForEach(func(key, v gjson.Result) bool {
		switch name := key.Str; {
		case v.Type == gjson.Null:
		case v.Type == gjson.String && name != "role" && name != "type":
			to[name] = str(to[name]) + v.Str
		case v.IsArray():
			all, _ := to[name].([]any)
			to[name] = append(all, v.Value().([]any)...)
		default:
			to[name] = v.Value()
		}
		return true
	})
}

func joinChat(_ testing.TB, body []byte, stream bool) map[string]any {
	if !stream {
		return obj(gjson.GetBytes(body, "choices.0.message").Value())
	}
	m, calls := map[string]any{}, []any{}
	data(body, func(v gjson.Result) {
		delta := v.Get("choices.0.delta")
		bare := obj(delta.Value())
		delete(bare, "tool_calls")
		grow(m, gjson.Parse(encoded(bare)))
		for _, piece := range delta.Get("tool_calls").Array() {
			i := int(piece.Get("index").Int())
			if i == len(calls) {
				calls = append(calls, map[string]any{"type": "function", "function": map[string]any{}})
			}
			call := obj(calls[i])
			for _, name := range []string{"id", "extra_content"} {
				if v := piece.Get(name); v.Exists() {
					call[name] = v.Value()
				}
			}
			grow(obj(call["function"]), piece.Get("function"))
		}
	})
	if len(calls) > 0 {
		m["tool_calls"] = calls
	}
	return m
}

func joinOllama(_ testing.TB, body []byte, _ bool) map[string]any {
	m := map[string]any{}
	for line := range strings.Lines(string(body)) {
		grow(m, gjson.Get(line, "message"))
	}
	return m
}

func joinMessages(t testing.TB, body []byte, stream bool) map[string]any {
	var blocks []any
	for _, b := range loopers[0].said(t.(*testing.T), body, stream) {
		blocks = append(blocks, b)
	}
	return map[string]any{"role": "assistant", "content": blocks}
}

func joinConverse(t testing.TB, body []byte, stream bool) map[string]any {
	if !stream {
		return obj(gjson.GetBytes(body, "output.message").Value())
	}
	blocks, inputs := []any{}, map[int]string{}
	data(namedEvents(t, body), func(v gjson.Result) {
		i := int(v.Get("contentBlockIndex").Int())
		if !v.Get("start").Exists() && !v.Get("delta").Exists() {
			return
		}
		for len(blocks) <= i {
			blocks = append(blocks, map[string]any{})
		}
		b := obj(blocks[i])
		grow(b, gjson.Parse(encoded(map[string]any{"text": v.Get("delta.text").Value()})))
		if use := v.Get("start.toolUse"); use.Exists() {
			b["toolUse"] = use.Value()
		}
		inputs[i] += v.Get("delta.toolUse.input").Str
		if of := v.Get("delta.reasoningContent"); of.Exists() {
			inside := obj(b["reasoningContent"])
			if inside == nil {
				inside = map[string]any{}
				b["reasoningContent"] = inside
			}
			if hidden := of.Get("redactedContent"); hidden.Exists() {
				grow(inside, of)
				return
			}
			if inside["reasoningText"] == nil {
				inside["reasoningText"] = map[string]any{}
			}
			grow(obj(inside["reasoningText"]), of)
		}
	})
	for i, b := range blocks {
		if use := obj(obj(b)["toolUse"]); use != nil {
			use["input"] = decodedJSON(cmp.Or(inputs[i], "{}"))
		}
	}
	return bedrockMessage("assistant", blocks...)
}

func joinResponses(_ testing.TB, body []byte, stream bool) map[string]any {
	output := gjson.GetBytes(body, "output")
	if stream {
		data(body, func(v gjson.Result) {
			if kind := v.Get("type").Str; kind == "response.completed" || kind == "response.incomplete" {
				output = v.Get("response.output")
			}
		})
	}
	return map[string]any{"items": output.Value()}
}

// joinGemini joins what follows each other and is of one kind, as chats do.
func joinGemini(_ testing.TB, body []byte, stream bool) map[string]any {
	parts := []any{}
	add := func(v gjson.Result) {
		for _, p := range v.Get("candidates.0.content.parts").Array() {
			part := obj(p.Value())
			if n := len(parts); n > 0 {
				last := obj(parts[n-1])
				_, both := last["text"]
				_, text := part["text"]
				if both && text && last["thought"] == part["thought"] && last["thoughtSignature"] == nil && part["thoughtSignature"] == nil {
					last["text"] = str(last["text"]) + str(part["text"])
					continue
				}
			}
			parts = append(parts, part)
		}
	}
	if add(gjson.ParseBytes(body)); stream {
		data(body, add)
	}
	parts = slices.DeleteFunc(parts, func(p any) bool { return encoded(p) == `{"text":""}` })
	return geminiContent("model", parts...)
}

func joinCohere(_ testing.TB, body []byte, stream bool) map[string]any {
	if !stream {
		return obj(gjson.GetBytes(body, "message").Value())
	}
	m, content, calls := map[string]any{"role": "assistant"}, []any{}, []any{}
	data(bytes.ReplaceAll(body, []byte("\r\n"), []byte("\n")), func(v gjson.Result) {
		message := v.Get("delta.message")
		switch v.Get("type").Str {
		case "content-start":
			content = append(content, message.Get("content").Value())
		case "content-delta":
			grow(obj(content[v.Get("index").Int()]), message.Get("content"))
		case "tool-plan-delta":
			grow(m, message)
		case "tool-call-start":
			calls = append(calls, message.Get("tool_calls").Value())
		case "tool-call-delta":
			function := obj(obj(calls[v.Get("index").Int()])["function"])
			function["arguments"] = str(function["arguments"]) + message.Get("tool_calls.function.arguments").Str
		}
	})
	if len(content) > 0 {
		m["content"] = content
	}
	if len(calls) > 0 {
		m["tool_calls"] = calls
	}
	return m
}
