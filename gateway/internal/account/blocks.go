package account

import (
	"slices"
	"strings"

	"github.com/tidwall/gjson"
)

// message reads Anthropic's messages: an event, or a whole message.
func (a *Account) message(root gjson.Result, kind string) {
	if t := root.Get("type").Str; t != "" {
		kind = t
	}
	switch kind {
	case "message_start":
		a.tokens(root.Get("message.usage"))
	case "message_delta", "message":
		a.tokens(root.Get("usage"))
		n := -1
		root.Get("content").ForEach(func(_, b gjson.Result) bool {
			n++
			if b.Get("type").Str == "text" && b.Get("text").Str != "" {
				a.texts++
			}
			a.block(n, b)
			return true
		})
	case "content_block_start":
		a.block(int(root.Get("index").Int()), root.Get("content_block"))
	case "content_block_delta":
		a.blockDelta(int(root.Get("index").Int()), root.Get("delta"))
	}
}

func (a *Account) tokens(u gjson.Result) {
	a.count(&a.usage.Input, u.Get("input_tokens"))
	a.count(&a.usage.Output, u.Get("output_tokens"))
	a.count(&a.usage.Reasoning, u.Get("output_tokens_details.reasoning_tokens"))
}

// coming is the number of the text that will follow what comes now. latest is the
// number of the text before it.
func (a *Account) coming() int { return a.texts }
func (a *Account) latest() int { return max(a.texts-1, 0) }

// block reads a block, or its beginning. A thought belongs to the text that
// follows it, a call to the one before.
func (a *Account) block(index int, b gjson.Result) {
	switch kind := b.Get("type").Str; {
	case kind == "thinking":
		a.thought(key{a.coming(), index, kind}, b.Get("thinking"))
		a.signed(index, b.Get("signature"))
	case kind == "redacted_thinking":
		a.sealed(key{a.coming(), index, kind}, b.Get("data"))
	case strings.HasSuffix(kind, "tool_use"):
		p := a.add(key{a.latest(), index, ""}, true)
		a.called(p, b.Get("id").Str, b.Get("name").Str)
		if in := b.Get("input"); in.IsObject() && in.Raw != "{}" || in.IsArray() {
			a.say(p, textOf(in))
		}
	}
}

func (a *Account) blockDelta(index int, d gjson.Result) {
	switch d.Get("type").Str {
	case "thinking_delta":
		a.thought(key{a.coming(), index, "thinking"}, d.Get("thinking"))
	case "signature_delta":
		a.signed(index, d.Get("signature"))
	case "input_json_delta":
		for _, p := range slices.Backward(a.latestParts()) {
			if p.call && p.key.index == index {
				a.say(p, textOf(d.Get("partial_json")))
				return
			}
		}
	}
}

// signed notes the signature of a thought, which comes after the thought.
func (a *Account) signed(index int, signature gjson.Result) {
	if signature.Str == "" {
		return
	}
	if p := a.byKey[partKey{key{a.coming(), index, "thinking"}, false}]; p != nil {
		p.sealed = true
	}
	a.sealed(key{a.coming(), index, "signature"}, signature)
}
