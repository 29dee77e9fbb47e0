package hostile

import (
	"encoding/json"
	"fmt"
	"strings"
)

// An api is one of the APIs that the gateway reads, in the few frames that an
// attack needs.
type api struct {
	name, path string
	kind       string                   // the content type of a stream
	open       string                   // what a stream begins with
	say        func(text string) string // a frame with a text
	frame      func(json string) string // a frame with any JSON
	end        string                   // what a stream ends with
	whole      func(text string) string // the body of a reply that is not streamed
	asks       string                   // the members of a request that hold the prompt
}

// request is the body of a request for a model.
func (a api) request(model string, stream bool) string {
	return fmt.Sprintf(`{"model":%s,"stream":%t,%s}`, quote(model), stream, a.asks)
}

func quote(s string) string {
	b := &strings.Builder{}
	e := json.NewEncoder(b)
	e.SetEscapeHTML(false)
	_ = e.Encode(s)
	return strings.TrimSpace(b.String())
}

func data(json string) string { return "data: " + json + "\n\n" }
func line(json string) string { return json + "\n" }

func event(kind, members string) string {
	return "event: " + kind + "\n" + data(`{"type":"`+kind+`"`+members+`}`)
}

const (
	sse    = "text/event-stream"
	ndjson = "application/x-ndjson"
	turns  = `"messages":[{"role":"user","content":"Hi"}]`
)

var apis = []api{
	{
		name: "openai.chat", path: "/v1/chat/completions", kind: sse, asks: turns, frame: data,
		say: func(text string) string {
			return data(`{"id":"c","object":"chat.completion.chunk","choices":[{"index":0,"delta":{"content":` + quote(text) + `},"finish_reason":null}]}`)
		},
		end: data(`{"id":"c","object":"chat.completion.chunk","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}`) + data("[DONE]"),
		whole: func(text string) string {
			return `{"id":"c","object":"chat.completion","choices":[{"index":0,"message":{"role":"assistant","content":` + quote(text) + `},"finish_reason":"stop"}]}`
		},
	},
	{
		name: "openai.completions", path: "/v1/completions", kind: sse, asks: `"prompt":"Hi"`, frame: data,
		say: func(text string) string {
			return data(`{"id":"c","object":"text_completion","choices":[{"index":0,"text":` + quote(text) + `,"finish_reason":null}]}`)
		},
		end: data(`{"id":"c","object":"text_completion","choices":[{"index":0,"text":"","finish_reason":"stop"}]}`) + data("[DONE]"),
		whole: func(text string) string {
			return `{"id":"c","object":"text_completion","choices":[{"index":0,"text":` + quote(text) + `,"finish_reason":"stop"}]}`
		},
	},
	{
		name: "llamacpp.completion", path: "/completion", kind: sse, asks: `"prompt":"Hi"`, frame: data,
		say: func(text string) string { return data(`{"index":0,"content":` + quote(text) + `,"stop":false}`) },
		end: data(`{"index":0,"content":"","stop":true,"stop_type":"eos"}`),
		whole: func(text string) string {
			return `{"index":0,"content":` + quote(text) + `,"stop":true,"stop_type":"eos"}`
		},
	},
	{
		name: "cohere.chat", path: "/v2/chat", kind: sse, asks: turns, frame: data,
		open: event("message-start", `,"id":"m","delta":{"message":{"role":"assistant"}}`) +
			event("content-start", `,"index":0,"delta":{"message":{"content":{"type":"text","text":""}}}`),
		say: func(text string) string {
			return event("content-delta", `,"index":0,"delta":{"message":{"content":{"text":`+quote(text)+`}}}`)
		},
		end: event("content-end", `,"index":0`) + event("message-end", `,"delta":{"finish_reason":"COMPLETE"}`),
		whole: func(text string) string {
			return `{"id":"m","finish_reason":"COMPLETE","message":{"role":"assistant","content":[{"type":"text","text":` + quote(text) + `}]}}`
		},
	},
	{
		name: "openai.responses", path: "/v1/responses", kind: sse, asks: `"input":"Hi"`, frame: data,
		open: event("response.created", `,"response":{"id":"r","object":"response","status":"in_progress","output":[]}`) +
			event("response.output_item.added", `,"output_index":0,"item":{"id":"m","type":"message","role":"assistant","content":[]}`) +
			event("response.content_part.added", `,"item_id":"m","output_index":0,"content_index":0,"part":{"type":"output_text","text":""}`),
		say: func(text string) string {
			return event("response.output_text.delta", `,"item_id":"m","output_index":0,"content_index":0,"delta":`+quote(text))
		},
		end: event("response.completed", `,"response":{"id":"r","object":"response","status":"completed","output":[]}`),
		whole: func(text string) string {
			return `{"id":"r","object":"response","status":"completed","output":[{"id":"m","type":"message","role":"assistant","content":[{"type":"output_text","text":` + quote(text) + `}]}]}`
		},
	},
	{
		name: "ollama.chat", path: "/api/chat", kind: ndjson, asks: turns, frame: line,
		say: func(text string) string {
			return line(`{"model":"m","message":{"role":"assistant","content":` + quote(text) + `},"done":false}`)
		},
		end: line(`{"model":"m","message":{"role":"assistant","content":""},"done":true,"done_reason":"stop"}`),
		whole: func(text string) string {
			return `{"model":"m","message":{"role":"assistant","content":` + quote(text) + `},"done":true,"done_reason":"stop"}`
		},
	},
	{
		name: "ollama.generate", path: "/api/generate", kind: ndjson, asks: `"prompt":"Hi"`, frame: line,
		say: func(text string) string { return line(`{"model":"m","response":` + quote(text) + `,"done":false}`) },
		end: line(`{"model":"m","response":"","done":true,"done_reason":"stop"}`),
		whole: func(text string) string {
			return `{"model":"m","response":` + quote(text) + `,"done":true,"done_reason":"stop"}`
		},
	},
	{
		name: "anthropic.messages", path: "/v1/messages", kind: sse, asks: `"max_tokens":100,` + turns, frame: data,
		open: event("message_start", `,"message":{"id":"m","type":"message","role":"assistant","model":"m","content":[],"usage":{"input_tokens":1,"output_tokens":1}}`) +
			event("content_block_start", `,"index":0,"content_block":{"type":"text","text":""}`),
		say: func(text string) string {
			return event("content_block_delta", `,"index":0,"delta":{"type":"text_delta","text":`+quote(text)+`}`)
		},
		end: event("content_block_stop", `,"index":0`) + event("message_delta", `,"delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":2}`) + event("message_stop", ""),
		whole: func(text string) string {
			return `{"id":"m","type":"message","role":"assistant","model":"m","content":[{"type":"text","text":` + quote(text) + `}],"stop_reason":"end_turn","usage":{"input_tokens":1,"output_tokens":2}}`
		},
	},
	{
		name: "bedrock.converse", path: "/model/m/converse-stream", kind: sse, asks: `"messages":[{"role":"user","content":[{"text":"Hi"}]}]`, frame: data,
		open: "event: messageStart\n" + data(`{"role":"assistant"}`),
		say: func(text string) string {
			return "event: contentBlockDelta\n" + data(`{"contentBlockIndex":0,"delta":{"text":`+quote(text)+`}}`)
		},
		end: "event: contentBlockStop\n" + data(`{"contentBlockIndex":0}`) + "event: messageStop\n" + data(`{"stopReason":"end_turn"}`),
		whole: func(text string) string {
			return `{"output":{"message":{"role":"assistant","content":[{"text":` + quote(text) + `}]}},"stopReason":"end_turn"}`
		},
	},
	{
		name: "gemini.generate", path: "/v1beta/models/m:streamGenerateContent", kind: sse, asks: `"contents":[{"role":"user","parts":[{"text":"Hi"}]}]`, frame: data,
		say: func(text string) string {
			return data(`{"candidates":[{"content":{"parts":[{"text":` + quote(text) + `}],"role":"model"},"index":0}],"modelVersion":"m"}`)
		},
		end: data(`{"candidates":[{"content":{"parts":[{"text":""}],"role":"model"},"finishReason":"STOP","index":0}],"modelVersion":"m"}`),
		whole: func(text string) string {
			return `{"candidates":[{"content":{"parts":[{"text":` + quote(text) + `}],"role":"model"},"finishReason":"STOP","index":0}],"modelVersion":"m"}`
		},
	},
}

// ollamaText joins the texts of a stream of Ollama's chat API.
func ollamaText(stream []byte) string {
	var text strings.Builder
	for l := range strings.Lines(string(stream)) {
		var f struct{ Message struct{ Content string } }
		if json.Unmarshal([]byte(l), &f) == nil {
			text.WriteString(f.Message.Content)
		}
	}
	return text.String()
}
