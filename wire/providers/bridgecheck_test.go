package providers_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/internal/data/jsonedit"
	"github.com/sotto-llm/sotto/wire"
	"github.com/sotto-llm/sotto/wire/providers"
)

// A checker follows a stream as the parser of a strict client does, and says what is wrong with it. It
// knows the documents of the APIs, and nothing of the codecs.
type checker struct {
	began, ended bool
	next         int
	open         map[int]string // blocks, parts or items that are open, with what was joined of a call
	calls        map[int]bool
	counts       int // what comes after the end
}

// wrong is what is wrong with a stream of an API; "" if nothing is.
func wrong(api providers.API, stream []byte) string {
	check := map[string]func(*checker, string, gjson.Result) string{
		"chat": (*checker).chat, "responses": (*checker).responses, "messages": (*checker).messages, "ollama": (*checker).ollama,
		"gemini": (*checker).gemini, "bedrock": (*checker).bedrock, "cohere": (*checker).cohere,
	}[api.Name]
	c := &checker{open: map[int]string{}, calls: map[int]bool{}}
	for f := range frames(api.Codec, stream) {
		if f.Data == nil {
			continue
		}
		if said := check(c, string(f.Type), jsonedit.Parse(f.Data)); said != "" {
			return fmt.Sprintf("%s in %s", said, f.Data)
		}
	}
	return ""
}

// hasError reports whether a frame is an error with a message.
func hasError(v gjson.Result) bool {
	return v.Get("error.message").Type == gjson.String || v.Get("error").Type == gjson.String
}

func (c *checker) chat(_ string, v gjson.Result) string {
	switch {
	case c.ended:
		return "something after the end"
	case v.Raw == "[DONE]", strings.TrimSpace(v.Raw) == "[DONE]":
		c.ended = true
	case hasError(v):
		c.ended = true
	case !v.Get("id").Exists() || v.Get("object").Str != "chat.completion.chunk" || !v.Get("choices").IsArray():
		return "no chunk"
	}
	for _, choice := range v.Get("choices").Array() {
		if !choice.Get("delta").IsObject() || !choice.Get("index").Exists() {
			return "a choice without a delta"
		}
		for _, call := range choice.Get("delta.tool_calls").Array() {
			at := int(call.Get("index").Int())
			if !c.calls[at] && (call.Get("function.name").Type != gjson.String || call.Get("id").Str == "") || call.Get("function.arguments").Type != gjson.String {
				return "a call without a beginning"
			}
			c.calls[at] = true
		}
	}
	return ""
}

func (c *checker) ollama(_ string, v gjson.Result) string {
	switch {
	case c.ended:
		return "something after the end"
	case v.Get("error").Type == gjson.String:
		c.ended = true
		return ""
	case !v.Get("message").IsObject() || !v.Get("done").Exists() || v.Get("created_at").Str == "":
		return "no frame"
	}
	for _, call := range v.Get("message.tool_calls").Array() {
		if !call.Get("function.arguments").IsObject() || call.Get("function.name").Type != gjson.String {
			return "a call without an object"
		}
	}
	c.ended = v.Get("done").Bool()
	return ""
}

func (c *checker) gemini(_ string, v gjson.Result) string {
	switch {
	case c.ended && !v.Get("usageMetadata").Exists():
		return "something after the end"
	case v.Get("error").Exists():
		if c.ended = true; !v.Get("error.code").Exists() || !hasError(v) {
			return "an error without a code"
		}
		return ""
	}
	for _, candidate := range v.Get("candidates").Array() {
		for _, p := range candidate.Get("content.parts").Array() {
			if call := p.Get("functionCall"); call.Exists() && (!call.Get("args").IsObject() || call.Get("name").Type != gjson.String) || !call.Exists() && p.Get("text").Type != gjson.String {
				return "a part that is none"
			}
		}
		c.ended = c.ended || candidate.Get("finishReason").Exists()
	}
	return ""
}

// block follows the blocks of an API that numbers them.
func (c *checker) block(at int, what, text string) string {
	_, open := c.open[at]
	switch what {
	case "start":
		if at != c.next || len(c.open) > 0 {
			return "a block out of its order"
		}
		c.next++
		c.open[at] = text
	case "piece":
		if !open {
			return "a piece of no block"
		}
		c.open[at] += text
	case "stop":
		if !open {
			return "the end of no block"
		}
		delete(c.open, at)
	}
	return ""
}

// arguments are those of a call that is complete. They may be cut if the reply is.
func arguments(text string) string {
	var object map[string]any
	if text != "" && json.Unmarshal([]byte(text), &object) != nil {
		return fmt.Sprintf("the arguments %q", text)
	}
	return ""
}

func (c *checker) messages(name string, v gjson.Result) string {
	at := int(v.Get("index").Int())
	kind := v.Get("type").Str
	switch {
	case c.ended:
		return "something after the end"
	case name != kind:
		return "another type"
	case kind == "error":
		c.ended = true
		if !hasError(v) || v.Get("error.type").Str == "" {
			return "no error"
		}
	case kind == "message_start":
		if c.began || v.Get("message.id").Str == "" || !v.Get("message.content").IsArray() || !v.Get("message.usage.input_tokens").Exists() {
			return "no start"
		}
		c.began = true
	case kind == "ping":
	case !c.began:
		return "something before the start"
	case kind == "content_block_start":
		c.calls[at] = v.Get("content_block.type").Str == "tool_use"
		if c.calls[at] && (v.Get("content_block.id").Str == "" || v.Get("content_block.name").Type != gjson.String) {
			return "a call without an id"
		}
		return c.block(at, "start", "")
	case kind == "content_block_delta":
		return c.block(at, "piece", v.Get("delta.partial_json").Str)
	case kind == "content_block_stop":
		return c.block(at, "stop", "")
	case kind == "message_delta":
		if len(c.open) > 0 || v.Get("delta.stop_reason").Str == "" || !v.Get("usage.output_tokens").Exists() {
			return "no end"
		}
	case kind == "message_stop":
		c.ended = true
	default:
		return "an unknown event"
	}
	return ""
}

func (c *checker) bedrock(name string, v gjson.Result) string {
	at := int(v.Get("contentBlockIndex").Int())
	switch {
	case name == "keepAlive":
	case strings.HasPrefix(name, "exception/"):
		if v.Get("message").Type != gjson.String || c.ended {
			return "no exception"
		}
		c.ended = true
	case c.ended && name != "metadata":
		return "something after the end"
	case name == "metadata":
		if c.counts++; c.counts > 1 || !v.Get("usage.totalTokens").Exists() {
			return "no counts"
		}
	case name == "messageStart":
		if c.began {
			return "a second start"
		}
		c.began = true
	case !c.began:
		return "something before the start"
	case name == "contentBlockStart":
		if v.Get("start.toolUse.name").Type != gjson.String {
			return "a start of no call"
		}
		c.calls[at] = true
		return c.block(at, "start", "")
	case name == "contentBlockDelta":
		if _, open := c.open[at]; !open { // a text begins with its first piece
			if said := c.block(at, "start", ""); said != "" {
				return said
			}
		}
		return c.block(at, "piece", v.Get("delta.toolUse.input").Str)
	case name == "contentBlockStop":
		return c.block(at, "stop", "")
	case name == "messageStop":
		if c.ended = true; len(c.open) > 0 || v.Get("stopReason").Str == "" {
			return "no end"
		}
	default:
		return "an unknown event"
	}
	return ""
}

func (c *checker) cohere(name string, v gjson.Result) string {
	at := int(v.Get("index").Int())
	switch {
	case c.ended:
		return "something after the end"
	case name != v.Get("type").Str:
		return "another type"
	case name == "message-start":
		if c.began || v.Get("id").Str == "" {
			return "no start"
		}
		c.began = true
	case !c.began:
		return "something before the start"
	case name == "content-start" || name == "tool-call-start":
		if name == "tool-call-start" {
			at += 1 << 20
			if at-1<<20 != len(c.calls) || v.Get("delta.message.tool_calls.function.name").Type != gjson.String {
				return "a call out of its order"
			}
			c.calls[at] = true
		}
		if len(c.open) > 0 {
			return "a part inside another"
		}
		c.open[at] = ""
	case name == "content-delta" || name == "content-end":
		return c.block(at, map[bool]string{true: "piece", false: "stop"}[name == "content-delta"], "")
	case name == "tool-call-delta" || name == "tool-call-end":
		return c.block(at+1<<20, map[bool]string{true: "piece", false: "stop"}[name == "tool-call-delta"], "")
	case name == "message-end":
		if c.ended = true; len(c.open) > 0 {
			return "an end with parts that are open"
		}
	default:
		return "an unknown event"
	}
	return ""
}

func (c *checker) responses(name string, v gjson.Result) string {
	at := int(v.Get("output_index").Int())
	kind := v.Get("type").Str
	_, open := c.open[at]
	if !v.Get("sequence_number").Exists() || int(v.Get("sequence_number").Int()) != c.counts {
		return "a number out of its order"
	}
	c.counts++
	switch {
	case c.ended:
		return "something after the end"
	case name != kind:
		return "another type"
	case kind == "error":
		c.ended = true
	case kind == "response.created":
		if c.began || v.Get("response.id").Str == "" || v.Get("response.status").Str == "" {
			return "no start"
		}
		c.began = true
	case !c.began:
		return "something before the start"
	case kind == "response.output_item.added":
		if at != c.next || v.Get("item.id").Str == "" {
			return "an item out of its order"
		}
		c.next++
		c.open[at] = v.Get("item.id").Str
	case kind == "response.output_item.done":
		if !open || v.Get("item.id").Str != c.open[at] {
			return "the end of no item"
		}
		delete(c.open, at)
	case slices.Contains([]string{"response.completed", "response.incomplete", "response.failed"}, kind):
		if c.ended = true; len(c.open) > 0 || len(v.Get("response.output").Array()) != c.next || v.Get("response.status").Str != strings.TrimPrefix(kind, "response.") {
			return "no end"
		}
	case kind == "response.in_progress":
	case !open || v.Get("item_id").Str != c.open[at]:
		return "a piece of no item"
	}
	return ""
}

// completeCalls says what is wrong with the calls of a stream that ends as the model wanted.
func completeCalls(api providers.API, stream []byte) string {
	c := newClient()
	feed(api.Codec, api.Codec.Reply(wire.Settings{Request: &wire.Request{Stream: true}}), stream, c)
	if !c.ended || !api.Codec.Capabilities().ObjectCalls {
		return ""
	}
	for i, call := range c.list {
		if i == len(c.list)-1 && c.end != sotto.EndStopped {
			break // it may be cut
		}
		if _, text, ok := strings.Cut(call, "{"); ok {
			if said := arguments("{" + text); said != "" {
				return said
			}
		}
	}
	return ""
}
