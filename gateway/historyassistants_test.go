package gateway_test

import (
	"encoding/json"
	"fmt"
	"strings"
)

// An assistant is how the upstream of one API replies, and how a client of it sends a
// conversation.
type assistant struct {
	name, path string
	// styles are the places in which its upstream sends reasoning: in the text, in a
	// place of its own, or signed.
	styles []string
	// reply is a whole reply. A call has an id; text or call may be empty.
	reply func(style, thought, text, call string) any
	// said takes the part of a reply that a client sends back.
	said func(reply map[string]any) []any
	// keep drops from it what a client drops. A nil item is left out.
	keep   func(item map[string]any, thoughts, calls bool) map[string]any
	user   func(text string) any
	result func(call string) any
	// body is the member with the conversation.
	body string
	// adds says that reasoning can be added to a message in a place of its own, blank
	// that a message that calls tools may have a blank text.
	adds, blank bool
}

func inline(style, thought, text string) string {
	if style == "inline" {
		return "<think>\n" + thought + "\n</think>\n\n" + text
	}
	return text
}

// without returns a copy of an object without some members.
func without(o map[string]any, names ...string) map[string]any {
	c := map[string]any{}
	for k, v := range o {
		c[k] = v
	}
	for _, n := range names {
		delete(c, n)
	}
	return c
}

// keepMember is the keep of APIs whose messages have members.
func keepMember(field string) func(map[string]any, bool, bool) map[string]any {
	return func(m map[string]any, thoughts, calls bool) map[string]any {
		if !thoughts {
			m = without(m, field)
		}
		if !calls {
			m = without(m, "tool_calls")
		}
		if text, _ := m["content"].(string); text == "" && m["tool_calls"] == nil {
			return nil
		}
		return m
	}
}

func chatUser(text string) any { return map[string]any{"role": "user", "content": text} }

func chatReply(style, thought, text, call string) map[string]any {
	m := map[string]any{"role": "assistant", "content": inline(style, thought, text)}
	if style == "member" {
		m["reasoning_content"] = thought
	}
	if call != "" {
		m["tool_calls"] = []any{map[string]any{"id": call, "type": "function", "function": map[string]any{"name": "look", "arguments": "{}"}}}
	}
	return m
}

var assistants = []assistant{
	{
		name: "openai.chat", path: "/v1/chat/completions", styles: []string{"inline", "member"}, body: "messages", adds: true, blank: true,
		reply: func(style, thought, text, call string) any {
			return map[string]any{"choices": []any{map[string]any{"index": 0, "message": chatReply(style, thought, text, call), "finish_reason": "stop"}}}
		},
		said: func(reply map[string]any) []any { return []any{list(reply["choices"])[0]["message"]} },
		keep: keepMember("reasoning_content"), user: chatUser,
		result: func(call string) any {
			return map[string]any{"role": "tool", "tool_call_id": call, "content": "found"}
		},
	},
	{
		name: "ollama.chat", path: "/api/chat", styles: []string{"inline", "member"}, body: "messages", adds: true, blank: true,
		reply: func(style, thought, text, call string) any {
			m := without(chatReply("", "", inline(style, thought, text), ""))
			if style == "member" {
				m["thinking"] = thought
			}
			if call != "" {
				m["tool_calls"] = []any{map[string]any{"function": map[string]any{"name": call, "arguments": map[string]any{}}}}
			}
			return map[string]any{"model": "m", "message": m, "done": true, "done_reason": "stop"}
		},
		said: func(reply map[string]any) []any { return []any{reply["message"]} },
		keep: keepMember("thinking"), user: chatUser,
		result: func(call string) any {
			return map[string]any{"role": "tool", "tool_name": call, "content": "found"}
		},
	},
	{
		name: "anthropic.messages", path: "/v1/messages", styles: []string{"inline", "member", "signed"}, body: "messages",
		reply: func(style, thought, text, call string) any {
			var content []any
			switch style {
			case "member":
				content = append(content, map[string]any{"type": "thinking", "thinking": thought, "signature": ""})
			case "signed":
				content = append(content, map[string]any{"type": "thinking", "thinking": thought, "signature": "c2lnbmVk"})
			}
			if text = inline(style, thought, text); text != "" {
				content = append(content, map[string]any{"type": "text", "text": text})
			}
			if call != "" {
				content = append(content, map[string]any{"type": "tool_use", "id": call, "name": "look", "input": map[string]any{}})
			}
			return map[string]any{"id": "msg_1", "type": "message", "role": "assistant", "model": "m", "content": content, "stop_reason": "end_turn"}
		},
		said: func(reply map[string]any) []any {
			return []any{map[string]any{"role": "assistant", "content": reply["content"]}}
		},
		keep: func(m map[string]any, thoughts, calls bool) map[string]any {
			var content []any
			for _, b := range list(m["content"]) {
				kind := str(b["type"])
				if kind == "text" && str(b["text"]) == "" || kind == "thinking" && !thoughts || kind == "tool_use" && !calls {
					continue
				}
				content = append(content, b)
			}
			if len(content) == 0 {
				return nil
			}
			return map[string]any{"role": "assistant", "content": content}
		},
		user: chatUser,
		result: func(call string) any {
			return map[string]any{"role": "user", "content": []any{map[string]any{"type": "tool_result", "tool_use_id": call, "content": "found"}}}
		},
	},
	{
		name: "cohere.chat", path: "/v2/chat", styles: []string{"inline", "member"}, body: "messages",
		reply: func(style, thought, text, call string) any {
			m := map[string]any{"role": "assistant"}
			var content []any
			if style == "member" {
				content = append(content, map[string]any{"type": "thinking", "thinking": thought})
			}
			if text = inline(style, thought, text); text != "" {
				content = append(content, map[string]any{"type": "text", "text": text})
			}
			if len(content) > 0 {
				m["content"] = content
			}
			if call != "" {
				m["tool_calls"] = []any{map[string]any{"id": call, "type": "function", "function": map[string]any{"name": "look", "arguments": "{}"}}}
			}
			return map[string]any{"id": "m1", "finish_reason": "COMPLETE", "message": m}
		},
		said: func(reply map[string]any) []any { return []any{reply["message"]} },
		keep: func(m map[string]any, thoughts, calls bool) map[string]any {
			var content []any
			for _, part := range list(m["content"]) {
				if kind := str(part["type"]); kind == "thinking" && thoughts || kind == "text" && str(part["text"]) != "" {
					content = append(content, part)
				}
			}
			m = without(m, "content")
			if len(content) > 0 {
				m["content"] = content
			}
			if !calls {
				m = without(m, "tool_calls")
			}
			if len(content) == 0 && m["tool_calls"] == nil {
				return nil
			}
			return m
		},
		user: chatUser,
		result: func(call string) any {
			return map[string]any{"role": "tool", "tool_call_id": call, "content": "found"}
		},
	},
	{
		name: "openai.responses", path: "/v1/responses", styles: []string{"inline", "signed"}, body: "input",
		reply: func(style, thought, text, call string) any {
			var output []any
			if style == "signed" {
				output = append(output, map[string]any{"type": "reasoning", "id": "rs_up", "summary": []any{}, "encrypted_content": "ZW5j",
					"content": []any{map[string]any{"type": "reasoning_text", "text": thought}}})
			}
			if text = inline(style, thought, text); text != "" {
				output = append(output, map[string]any{"type": "message", "id": "msg_up", "role": "assistant", "status": "completed",
					"content": []any{map[string]any{"type": "output_text", "annotations": []any{}, "text": text}}})
			}
			if call != "" {
				output = append(output, map[string]any{"type": "function_call", "id": "fc_" + call, "call_id": call, "name": "look", "arguments": "{}", "status": "completed"})
			}
			return map[string]any{"id": "resp_1", "object": "response", "model": "m", "status": "completed", "output": output}
		},
		said: func(reply map[string]any) []any {
			var all []any
			for _, item := range list(reply["output"]) {
				all = append(all, item)
			}
			return all
		},
		keep: func(item map[string]any, thoughts, calls bool) map[string]any {
			switch kind := str(item["type"]); {
			case kind == "reasoning" && !thoughts, kind == "function_call" && !calls:
				return nil
			case kind == "message":
				if parts := list(item["content"]); len(parts) == 0 || str(parts[0]["text"]) == "" {
					return nil
				}
			}
			return item
		},
		user: func(text string) any {
			return map[string]any{"type": "message", "role": "user", "content": []any{map[string]any{"type": "input_text", "text": text}}}
		},
		result: func(call string) any {
			return map[string]any{"type": "function_call_output", "call_id": call, "output": "found"}
		},
	},
}

func geminiContent(role string, parts ...any) map[string]any {
	return map[string]any{"role": role, "parts": parts}
}

func init() {
	assistants = append(assistants, assistant{
		name: "gemini.generate", path: geminiPath, styles: []string{"inline", "member", "signed"}, body: "contents",
		reply: func(style, thought, text, call string) any {
			var parts []any
			switch style {
			case "member":
				parts = append(parts, map[string]any{"text": thought, "thought": true})
			case "signed":
				parts = append(parts, map[string]any{"text": thought, "thought": true, "thoughtSignature": "c2lnbmVk"})
			}
			if text = inline(style, thought, text); text != "" {
				parts = append(parts, map[string]any{"text": text})
			}
			if call != "" {
				parts = append(parts, map[string]any{"functionCall": map[string]any{"id": call, "name": "look", "args": map[string]any{}}})
			}
			return map[string]any{"candidates": []any{map[string]any{"content": geminiContent("model", parts...), "finishReason": "STOP"}}}
		},
		said: func(reply map[string]any) []any { return []any{list(reply["candidates"])[0]["content"]} },
		keep: func(m map[string]any, thoughts, calls bool) map[string]any {
			var parts []any
			for _, p := range list(m["parts"]) {
				if p["text"] == "" || p["thought"] == true && !thoughts || p["functionCall"] != nil && !calls {
					continue
				}
				parts = append(parts, p)
			}
			if len(parts) == 0 {
				return nil
			}
			return geminiContent("model", parts...)
		},
		user: func(text string) any { return geminiContent("user", map[string]any{"text": text}) },
		result: func(call string) any {
			return geminiContent("user", map[string]any{"functionResponse": map[string]any{"id": call, "name": "look", "response": map[string]any{"x": "found"}}})
		},
	})
}

func encoded(v any) string {
	b, _ := json.Marshal(v)
	return string(b)
}

func bedrockMessage(role string, blocks ...any) map[string]any {
	return map[string]any{"role": role, "content": blocks}
}

func init() {
	assistants = append(assistants, assistant{
		name: "bedrock.converse", path: bedrockPath, styles: []string{"inline", "member", "signed"}, body: "messages",
		reply: func(style, thought, text, call string) any {
			var blocks []any
			reasoning := map[string]any{"text": thought}
			if style == "signed" {
				reasoning["signature"] = "c2lnbmVk"
			}
			if style != "inline" {
				blocks = append(blocks, map[string]any{"reasoningContent": map[string]any{"reasoningText": reasoning}})
			}
			if text = inline(style, thought, text); text != "" {
				blocks = append(blocks, map[string]any{"text": text})
			}
			if call != "" {
				blocks = append(blocks, map[string]any{"toolUse": map[string]any{"toolUseId": call, "name": "look", "input": map[string]any{}}})
			}
			return map[string]any{"output": map[string]any{"message": bedrockMessage("assistant", blocks...)}, "stopReason": "end_turn"}
		},
		said: func(reply map[string]any) []any { return []any{obj(reply["output"])["message"]} },
		keep: func(m map[string]any, thoughts, calls bool) map[string]any {
			var blocks []any
			for _, b := range list(m["content"]) {
				if b["text"] == "" || b["reasoningContent"] != nil && !thoughts || b["toolUse"] != nil && !calls {
					continue
				}
				blocks = append(blocks, b)
			}
			if len(blocks) == 0 {
				return nil
			}
			return bedrockMessage("assistant", blocks...)
		},
		user: func(text string) any { return bedrockMessage("user", map[string]any{"text": text}) },
		result: func(call string) any {
			return bedrockMessage("user", map[string]any{"toolResult": map[string]any{"toolUseId": call, "content": []any{map[string]any{"text": "found"}}}})
		},
	})
}

// clock is a message at the beginning that changes with each request.
func (a assistant) clock(n int) any {
	text := fmt.Sprintf("It is %d o'clock.", n)
	if a.body == "contents" || a.name == "bedrock.converse" { // it has no messages of the system
		return a.user(text)
	}
	return map[string]any{"role": "system", "content": text}
}

// streamed is a reply as a stream of its API.
func (a assistant) streamed(reply any) string {
	r := decodeValue(reply)
	var b strings.Builder
	frame := func(kind string, data map[string]any) {
		if a.name == "ollama.chat" {
			_ = json.NewEncoder(&b).Encode(data)
			return
		}
		if kind != "" {
			data["type"] = kind
			fmt.Fprintf(&b, "event: %s\n", kind)
		}
		out, _ := json.Marshal(data)
		fmt.Fprintf(&b, "data: %s\n\n", out)
	}
	switch a.name {
	case "gemini.generate":
		frame("", r)
	case "bedrock.converse":
		b.WriteString(bedrockOpen)
		for i, block := range list(obj(obj(r["output"])["message"])["content"]) {
			send := func(delta map[string]any) { b.WriteString(bedrockDelta(fmt.Sprint(i), encoded(delta))) }
			switch reasoning := obj(obj(block["reasoningContent"])["reasoningText"]); {
			case block["toolUse"] != nil:
				b.WriteString(named("contentBlockStart", fmt.Sprintf(`{"contentBlockIndex":%d,"start":%s}`, i, encoded(map[string]any{"toolUse": without(obj(block["toolUse"]), "input")}))))
				send(map[string]any{"toolUse": map[string]any{"input": "{}"}})
			case block["reasoningContent"] != nil:
				for _, member := range []string{"text", "signature"} {
					if reasoning[member] != nil {
						send(map[string]any{"reasoningContent": map[string]any{member: reasoning[member]}})
					}
				}
			default:
				send(block)
			}
			b.WriteString(named("contentBlockStop", fmt.Sprintf(`{"contentBlockIndex":%d}`, i)))
		}
		b.WriteString(bedrockEnd("end_turn"))
	case "openai.chat":
		choice := list(r["choices"])[0]
		for i, call := range list(obj(choice["message"])["tool_calls"]) {
			call["index"] = i
		}
		frame("", map[string]any{"choices": []any{map[string]any{"index": 0, "delta": choice["message"], "finish_reason": nil}}})
		frame("", map[string]any{"choices": []any{map[string]any{"index": 0, "delta": map[string]any{}, "finish_reason": "stop"}}})
		b.WriteString("data: [DONE]\n\n")
	case "ollama.chat":
		frame("", map[string]any{"model": "m", "message": r["message"], "done": false})
		frame("", map[string]any{"model": "m", "message": map[string]any{"role": "assistant", "content": ""}, "done": true, "done_reason": "stop"})
	case "anthropic.messages":
		frame("message_start", map[string]any{"message": map[string]any{"id": "msg_1", "type": "message", "role": "assistant", "model": "m", "content": []any{}, "usage": map[string]any{"input_tokens": 1, "output_tokens": 1}}})
		for i, block := range list(r["content"]) {
			begun, delta := without(block), map[string]any{"type": "input_json_delta", "partial_json": "{}"}
			if str(block["type"]) == "text" {
				begun["text"], delta = "", map[string]any{"type": "text_delta", "text": block["text"]}
			}
			frame("content_block_start", map[string]any{"index": i, "content_block": begun})
			frame("content_block_delta", map[string]any{"index": i, "delta": delta})
			frame("content_block_stop", map[string]any{"index": i})
		}
		frame("message_delta", map[string]any{"delta": map[string]any{"stop_reason": "tool_use"}, "usage": map[string]any{"output_tokens": 9}})
		frame("message_stop", map[string]any{})
	case "cohere.chat":
		m := obj(r["message"])
		frame("message-start", map[string]any{"id": "m1", "delta": map[string]any{"message": map[string]any{"role": "assistant"}}})
		for i, part := range list(m["content"]) {
			frame("content-start", map[string]any{"index": i, "delta": map[string]any{"message": map[string]any{"content": with(part, str(part["type"]), "")}}})
			frame("content-delta", map[string]any{"index": i, "delta": map[string]any{"message": map[string]any{"content": without(part, "type")}}})
			frame("content-end", map[string]any{"index": i})
		}
		for i, call := range list(m["tool_calls"]) {
			frame("tool-call-start", map[string]any{"index": i, "delta": map[string]any{"message": map[string]any{"tool_calls": call}}})
			frame("tool-call-end", map[string]any{"index": i})
		}
		frame("message-end", map[string]any{"delta": map[string]any{"finish_reason": "COMPLETE"}})
	case "openai.responses":
		frame("response.created", map[string]any{"response": map[string]any{"id": "resp_1", "status": "in_progress", "output": []any{}}})
		for i, item := range list(r["output"]) {
			at := map[string]any{"output_index": i, "item_id": item["id"], "content_index": 0}
			if str(item["type"]) == "message" {
				part := list(item["content"])[0]
				blank := without(part)
				blank["text"] = ""
				begun := without(item)
				begun["content"] = []any{}
				frame("response.output_item.added", map[string]any{"output_index": i, "item": begun})
				frame("response.content_part.added", with(at, "part", blank))
				frame("response.output_text.delta", with(at, "delta", part["text"]))
				frame("response.output_text.done", with(at, "text", part["text"]))
				frame("response.content_part.done", with(at, "part", part))
			} else {
				frame("response.output_item.added", map[string]any{"output_index": i, "item": item})
			}
			frame("response.output_item.done", map[string]any{"output_index": i, "item": item})
		}
		frame("response.completed", map[string]any{"response": r})
	}
	return b.String()
}

func with(o map[string]any, key string, value any) map[string]any {
	c := without(o)
	c[key] = value
	return c
}

// decodeValue returns a value as its JSON reads.
func decodeValue(v any) map[string]any {
	b, _ := json.Marshal(v)
	var m map[string]any
	_ = json.Unmarshal(b, &m)
	return m
}
