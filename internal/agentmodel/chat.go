package agentmodel

import "github.com/sotto-llm/sotto/internal/chatjson"

// A chat writes chat completions.
type chat struct{ *answer }

func newChat(x *answer) form { return chat{x} }

type object = map[string]any

func (chat) kind() string { return "text/event-stream" }

// event writes data of a stream.
func event(v any) []byte {
	return append(append([]byte("data: "), encode(v)...), "\n\n"...)
}

func (c chat) chunk(choices []any) object {
	return object{"id": c.id, "object": "chat.completion.chunk", "created": c.created.Unix(), "model": c.model(), "choices": choices}
}

func (c chat) delta(delta object, finish any) []byte {
	return event(c.chunk([]any{object{"index": 0, "delta": delta, "finish_reason": finish}}))
}

func (c chat) first() []byte { return c.delta(object{"role": "assistant", "content": ""}, nil) }

func (c chat) thought(text string) []byte {
	return c.delta(object{"reasoning_content": text}, nil)
}

func (c chat) text(text string) []byte { return c.delta(object{"content": text}, nil) }

func (c chat) narration(text string) []byte {
	return c.delta(object{chatjson.NarrationField: text}, nil)
}

func (chat) alive() []byte { return []byte(":\n\n") }

func (c chat) last() []byte {
	out := c.delta(object{}, c.finish())
	if c.usage {
		v := c.chunk([]any{})
		v["usage"] = c.tokens()
		out = append(out, event(v)...)
	}
	return append(out, "data: [DONE]\n\n"...)
}

func (chat) fail(message []byte) []byte {
	return append(append([]byte("data: "), message...), "\n\n"...)
}

func (c chat) tokens() object {
	m := c.outcome.Metrics
	return object{"prompt_tokens": m.InputTokens, "completion_tokens": m.OutputTokens, "total_tokens": m.InputTokens + m.OutputTokens,
		"completion_tokens_details": c.reasoningTokens()}
}

func (c chat) whole() []byte {
	message := object{"role": "assistant", "content": c.said.String()}
	if c.thoughts.Len() > 0 {
		message["reasoning_content"] = c.thoughts.String()
	}
	if c.narrated.Len() > 0 {
		message[chatjson.NarrationField] = c.narrated.String()
	}
	return encode(object{
		"id": c.id, "object": "chat.completion", "created": c.created.Unix(), "model": c.model(), "usage": c.tokens(),
		"choices": []any{object{"index": 0, "message": message, "finish_reason": c.finish()}},
	})
}
