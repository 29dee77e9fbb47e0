package agentmodel

import (
	"time"

	"github.com/sotto-llm/sotto/internal/chatjson"
)

// An ollamaChat writes Ollama's chat. Its requests ask for a stream unless they say
// otherwise.
type ollamaChat struct{ *answer }

func newOllama(x *answer) form { return ollamaChat{x} }

func (ollamaChat) kind() string { return "application/x-ndjson" }

func (o ollamaChat) line(message object) []byte {
	message["role"] = "assistant"
	if _, ok := message["content"]; !ok {
		message["content"] = ""
	}
	return append(encode(object{"model": o.model(), "created_at": time.Now().UTC(), "message": message, "done": false}), '\n')
}

func (ollamaChat) first() []byte { return nil }

func (o ollamaChat) thought(text string) []byte { return o.line(object{"thinking": text}) }

func (o ollamaChat) text(text string) []byte { return o.line(object{"content": text}) }

func (o ollamaChat) narration(text string) []byte {
	return o.line(object{chatjson.NarrationField: text})
}

func (o ollamaChat) alive() []byte { return o.line(object{}) }

// done is the end of a stream, or a whole reply.
func (o ollamaChat) done(message object) []byte {
	message["role"] = "assistant"
	took := time.Since(o.created).Nanoseconds()
	return append(encode(object{
		"model": o.model(), "created_at": time.Now().UTC(), "message": message, "done": true, "done_reason": o.finish(),
		"total_duration": took, "load_duration": 0, "prompt_eval_count": o.outcome.Metrics.InputTokens, "prompt_eval_duration": 0,
		"eval_count": o.outcome.Metrics.OutputTokens, "eval_duration": took,
	}), '\n')
}

func (o ollamaChat) last() []byte { return o.done(object{"content": ""}) }

func (ollamaChat) fail(message []byte) []byte { return append(message, '\n') }

func (o ollamaChat) whole() []byte {
	message := object{"content": o.said.String()}
	if o.thoughts.Len() > 0 {
		message["thinking"] = o.thoughts.String()
	}
	if o.narrated.Len() > 0 {
		message[chatjson.NarrationField] = o.narrated.String()
	}
	return o.done(message)
}
