package gateway_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"strings"

	"github.com/sotto-llm/sotto"
)

// A modelReply is what a model says, in no API's words.
type modelReply struct {
	thought  string
	redacted bool // a thought that the provider has blacked out follows
	text     string
	calls    []modelCall
	end      sotto.Ending
}

type modelCall struct{ name, arguments string }

// detailsOnly is the place of thoughts of a chat server that has them in reasoning_details, and in no other member.
const detailsOnly = "reasoning_details alone"

// A modelWriter writes a reply as the server of an API does that has the thoughts of the model in some place. n is the
// number of the reply, and ids says whether the server gives ids to calls where its API leaves that open.
type modelWriter struct {
	place  string
	signed bool
	ids    bool
}

func (w *modelWriter) seal(n int, what string) string {
	return fmt.Sprintf("c2VhbGVk%s%02dAA==", what, n)
}

// tagged is a text with its thought, if that has no place of its own.
func (w *modelWriter) tagged(r *modelReply, cut bool) (thought, text string) {
	if w.place != "tags" || r.thought == "" {
		return r.thought, r.text
	}
	if cut {
		return "", "<think>\n" + r.thought
	}
	return "", "<think>\n" + r.thought + "\n</think>\n\n" + r.text
}

// object is JSON of members and their values, which keep their order.
func object(members ...any) json.RawMessage {
	var b strings.Builder
	for i := 0; i < len(members); i += 2 {
		b.WriteString(map[bool]string{true: "{", false: ","}[i == 0] + encoded(members[i]) + ":" + encoded(members[i+1]))
	}
	return json.RawMessage(b.String() + "}")
}

// A modelBody is a reply under way: a body, or the frames of a stream. If it is aborted, its last text stops in the middle,
// and nothing follows.
type modelBody struct {
	w       *modelWriter
	r       *modelReply
	n       int
	stream  bool
	aborted bool
	model   string

	thought, text string
	out           strings.Builder
}

// pieces are those in which a text is streamed.
func (b *modelBody) pieces(text string) (list []string) {
	for len(text) > 0 {
		n := min(len(text), 7)
		for n < len(text) && text[n]&0xc0 == 0x80 {
			n++
		}
		list, text = append(list, text[:n]), text[n:]
	}
	return list
}

// said are the pieces of the answer.
func (b *modelBody) said() []string {
	all := b.pieces(b.text)
	if b.aborted {
		all = all[:len(all)-2]
	}
	return all
}

func (b *modelBody) event(name string, data any) {
	fmt.Fprintf(&b.out, "event: %s\ndata: %s\n\n", name, encoded(data))
}

func (b *modelBody) line(data any) { fmt.Fprintf(&b.out, "data: %s\n\n", encoded(data)) }

func (b *modelBody) id(prefix string, i int) string { return fmt.Sprintf("%s%d%d", prefix, b.n, i) }

// modelWriters write replies, by the names of the APIs' codecs.
var modelWriters = map[string]func(b *modelBody){
	"openai.chat": (*modelBody).chat, "openai.responses": (*modelBody).responses, "anthropic.messages": (*modelBody).messages, "ollama.chat": (*modelBody).ollama,
	"gemini.generate": (*modelBody).gemini, "bedrock.converse": (*modelBody).bedrock, "cohere.chat": (*modelBody).cohere,
}

// write returns the reply and its media type.
func (w *modelWriter) write(api, model string, n int, r *modelReply, stream, aborted bool) (body, kind string) {
	b := &modelBody{w: w, r: r, n: n, stream: stream, aborted: aborted, model: model}
	b.thought, b.text = w.tagged(r, r.end == sotto.EndCut)
	modelWriters[api](b)
	kind = "application/json"
	if stream {
		kind = map[string]string{"ollama.chat": "application/x-ndjson", "bedrock.converse": eventStreamType}[api]
		if kind == "" {
			kind = "text/event-stream"
		}
	}
	if stream && api == "bedrock.converse" {
		return eventStream(b.out.String()), kind
	}
	return b.out.String(), kind
}

func (b *modelBody) chat() {
	var thought func(text string) json.RawMessage
	sign := ""
	switch place := b.w.place; place {
	case "reasoning_details":
		thought = func(text string) json.RawMessage {
			return object("reasoning", text, "reasoning_details", []any{object("type", "reasoning.text", "text", text, "format", "anthropic-claude-v1", "index", 0)})
		}
		if b.w.signed && b.r.end != sotto.EndCut {
			sign = b.w.seal(b.n, "thought")
		}
	case detailsOnly:
		thought = func(text string) json.RawMessage {
			return object("reasoning_details", []any{object("type", "reasoning.text", "text", text, "format", "an-example-v1", "index", 0)})
		}
	case "calls": // the thought is not shown, and calls are signed
		b.thought = ""
	default:
		thought = func(text string) json.RawMessage { return object(place, text) }
	}
	var calls []any
	for i, c := range b.r.calls {
		call := []any{"index", i, "id", b.id("call_", i), "type", "function", "function", object("name", c.name, "arguments", c.arguments)}
		if b.w.place == "calls" && i == 0 {
			call = append(call, "extra_content", object("google", object("thought_signature", b.w.seal(b.n, "call"))))
		}
		calls = append(calls, object(call...))
	}
	reason := "stop"
	if calls != nil {
		reason = "tool_calls"
	}
	if b.r.end == sotto.EndCut {
		reason = "length"
	}
	if !b.stream {
		m := obj(decodedJSON(string(object("role", "assistant", "content", b.text))))
		if b.thought != "" {
			maps.Copy(m, obj(decodedJSON(string(thought(b.thought)))))
		}
		if sign != "" {
			list(m["reasoning_details"])[0]["signature"] = sign
		}
		if calls != nil {
			m["tool_calls"] = calls
		}
		b.out.WriteString(encoded(object("id", "c1", "object", "chat.completion", "created", 1760000000, "model", b.model, "choices", []any{object("index", 0, "message", m, "finish_reason", reason)})))
		return
	}
	delta := func(d any, reason any) {
		b.line(object("id", "c1", "object", "chat.completion.chunk", "created", 1760000000, "model", b.model, "choices", []any{object("index", 0, "delta", d, "finish_reason", reason)}))
	}
	delta(object("role", "assistant", "content", ""), nil)
	for _, p := range b.pieces(b.thought) {
		delta(thought(p), nil)
	}
	if sign != "" {
		delta(object("reasoning_details", []any{object("type", "reasoning.text", "signature", sign, "format", "anthropic-claude-v1", "index", 0)}), nil)
	}
	for _, p := range b.said() {
		delta(object("content", p), nil)
	}
	if b.aborted {
		return
	}
	for _, c := range calls {
		delta(object("tool_calls", []any{c}), nil)
	}
	delta(object("content", ""), reason)
	b.out.WriteString("data: [DONE]\n\n")
}

func (b *modelBody) ollama() {
	line := func(message, rest string) {
		fmt.Fprintf(&b.out, `{"model":%q,"created_at":"2026-11-21T00:00:00.123456Z","message":%s,%s}`+"\n", b.model, message, rest)
	}
	var calls []any
	for i, c := range b.r.calls {
		call := []any{"function", object("name", c.name, "arguments", json.RawMessage(c.arguments))}
		if b.w.ids {
			call = append([]any{"id", b.id("call_", i)}, call...)
		}
		calls = append(calls, object(call...))
	}
	reason := map[bool]string{false: "stop", true: "length"}[b.r.end == sotto.EndCut]
	end := `"done":true,"done_reason":"` + reason + `","prompt_eval_count":5,"eval_count":9`
	if !b.stream {
		m := []any{"role", "assistant", "content", b.text}
		if b.thought != "" {
			m = append(m, "thinking", b.thought)
		}
		if calls != nil {
			m = append(m, "tool_calls", calls)
		}
		line(string(object(m...)), end)
		return
	}
	for _, p := range b.pieces(b.thought) {
		line(string(object("role", "assistant", "content", "", "thinking", p)), `"done":false`)
	}
	for _, p := range b.said() {
		line(string(object("role", "assistant", "content", p)), `"done":false`)
	}
	if b.aborted {
		return
	}
	if calls != nil {
		line(string(object("role", "assistant", "content", "", "tool_calls", calls)), `"done":false`)
	}
	line(`{"role":"assistant","content":""}`, end)
}

func (b *modelBody) messages() {
	reason := "end_turn"
	switch {
	case b.r.end == sotto.EndCut:
		reason = "max_tokens"
	case b.r.calls != nil:
		reason = "tool_use"
	}
	sign := ""
	if b.w.signed && b.r.end != sotto.EndCut {
		sign = b.w.seal(b.n, "thought")
	}
	message := func(content []any, reason any) json.RawMessage {
		return object("id", "msg_1", "type", "message", "role", "assistant", "model", b.model, "content", content, "stop_reason", reason, "stop_sequence", nil, "usage", object("input_tokens", 5, "output_tokens", 9))
	}
	var blocks []any
	block := func(whole, start json.RawMessage, stops bool, deltas ...json.RawMessage) {
		i := len(blocks)
		if blocks = append(blocks, whole); !b.stream {
			return
		}
		b.event("content_block_start", object("type", "content_block_start", "index", i, "content_block", start))
		for _, d := range deltas {
			b.event("content_block_delta", object("type", "content_block_delta", "index", i, "delta", d))
		}
		if stops {
			b.event("content_block_stop", object("type", "content_block_stop", "index", i))
		}
	}
	if b.stream {
		b.event("message_start", object("type", "message_start", "message", message([]any{}, nil)))
	}
	if b.thought != "" {
		var deltas []json.RawMessage
		for _, p := range b.pieces(b.thought) {
			deltas = append(deltas, object("type", "thinking_delta", "thinking", p))
		}
		if sign != "" {
			deltas = append(deltas, object("type", "signature_delta", "signature", sign))
		}
		block(object("type", "thinking", "thinking", b.thought, "signature", sign), object("type", "thinking", "thinking", "", "signature", ""), true, deltas...)
	}
	if b.r.redacted && b.w.signed {
		hidden := object("type", "redacted_thinking", "data", b.w.seal(b.n, "hidden"))
		block(hidden, hidden, true)
	}
	if b.text != "" {
		var deltas []json.RawMessage
		for _, p := range b.said() {
			deltas = append(deltas, object("type", "text_delta", "text", p))
		}
		block(object("type", "text", "text", b.text), object("type", "text", "text", ""), !b.aborted, deltas...)
	}
	if b.aborted {
		return
	}
	for i, c := range b.r.calls {
		use := func(input string) json.RawMessage {
			return object("type", "tool_use", "id", b.id("toolu_", i), "name", c.name, "input", json.RawMessage(input))
		}
		block(use(c.arguments), use("{}"), true, object("type", "input_json_delta", "partial_json", c.arguments))
	}
	if !b.stream {
		b.out.WriteString(encoded(message(blocks, reason)))
		return
	}
	b.event("message_delta", object("type", "message_delta", "delta", object("stop_reason", reason, "stop_sequence", nil), "usage", object("output_tokens", 9)))
	b.event("message_stop", object("type", "message_stop"))
}

func (b *modelBody) bedrock() {
	reason := "end_turn"
	switch {
	case b.r.end == sotto.EndCut:
		reason = "max_tokens"
	case b.r.calls != nil:
		reason = "tool_use"
	}
	sign := ""
	if b.w.signed && b.r.end != sotto.EndCut {
		sign = b.w.seal(b.n, "thought")
	}
	var blocks []any
	block := func(whole json.RawMessage, start any, stops bool, deltas ...json.RawMessage) {
		i := len(blocks)
		if blocks = append(blocks, whole); !b.stream {
			return
		}
		if start != nil {
			b.event("contentBlockStart", object("contentBlockIndex", i, "start", start))
		}
		for _, d := range deltas {
			b.event("contentBlockDelta", object("contentBlockIndex", i, "delta", d))
		}
		if stops {
			b.event("contentBlockStop", object("contentBlockIndex", i))
		}
	}
	if b.stream {
		b.event("messageStart", object("role", "assistant"))
	}
	if b.thought != "" {
		var deltas []json.RawMessage
		for _, p := range b.pieces(b.thought) {
			deltas = append(deltas, object("reasoningContent", object("text", p)))
		}
		of := []any{"text", b.thought}
		if sign != "" {
			of = append(of, "signature", sign)
			deltas = append(deltas, object("reasoningContent", object("signature", sign)))
		}
		block(object("reasoningContent", object("reasoningText", object(of...))), nil, true, deltas...)
	}
	if b.r.redacted && b.w.signed {
		hidden := object("reasoningContent", object("redactedContent", b.w.seal(b.n, "hidden")))
		block(hidden, nil, true, hidden)
	}
	if b.text != "" {
		var deltas []json.RawMessage
		for _, p := range b.said() {
			deltas = append(deltas, object("text", p))
		}
		block(object("text", b.text), nil, !b.aborted, deltas...)
	}
	if b.aborted {
		return
	}
	for i, c := range b.r.calls {
		id := b.id("tooluse_", i)
		block(object("toolUse", object("toolUseId", id, "name", c.name, "input", json.RawMessage(c.arguments))), object("toolUse", object("toolUseId", id, "name", c.name)), true, object("toolUse", object("input", c.arguments)))
	}
	if !b.stream {
		b.out.WriteString(encoded(object("output", object("message", object("role", "assistant", "content", blocks)), "stopReason", reason, "usage", object("inputTokens", 5, "outputTokens", 9, "totalTokens", 14), "metrics", object("latencyMs", 12))))
		return
	}
	b.event("messageStop", object("stopReason", reason))
	b.event("metadata", object("usage", object("inputTokens", 5, "outputTokens", 9, "totalTokens", 14), "metrics", object("latencyMs", 12)))
}

func (b *modelBody) responses() {
	status, details := "completed", any(nil)
	if b.r.end == sotto.EndCut {
		status, details = "incomplete", object("reason", "max_output_tokens")
	}
	var output []any
	response := func(status string, details any) json.RawMessage {
		return object("id", "resp_1", "object", "response", "created_at", 1760000000, "model", b.model, "status", status, "error", nil, "incomplete_details", details, "output", append([]any{}, output...), "usage", object("input_tokens", 5, "output_tokens", 9, "total_tokens", 14))
	}
	if b.stream {
		b.event("response.created", object("type", "response.created", "response", response("in_progress", nil)))
	}
	// item says an item whose text is in deltas of some kind.
	item := func(whole, begun json.RawMessage, kind, place string, part func(text string) json.RawMessage, pieces []string, ends bool) {
		i, id := len(output), obj(decodedJSON(string(whole)))["id"]
		if !b.stream {
			output = append(output, whole)
			return
		}
		at := func(kind string, more ...any) {
			members := append([]any{"type", kind, "item_id", id, "output_index", i}, more...)
			if place != "" {
				members = append(members, place, 0)
			}
			b.event(kind, object(members...))
		}
		b.event("response.output_item.added", object("type", "response.output_item.added", "output_index", i, "item", begun))
		partKind := map[string]string{"content_index": "response.content_part", "summary_index": "response.reasoning_summary_part"}[place]
		text := strings.Join(pieces, "")
		if part != nil {
			at(partKind+".added", "part", part(""))
		}
		for _, p := range pieces {
			at(kind+".delta", "delta", p)
		}
		if !ends {
			return
		}
		if part == nil {
			at(kind+".done", "arguments", text)
		} else {
			at(kind+".done", "text", text)
			at(partKind+".done", "part", part(text))
		}
		output = append(output, whole)
		b.event("response.output_item.done", object("type", "response.output_item.done", "output_index", i, "item", whole))
	}
	if b.thought != "" {
		id := b.id("rs_", 0)
		if b.w.signed && b.r.end != sotto.EndCut {
			part := func(text string) json.RawMessage { return object("type", "summary_text", "text", text) }
			proof := b.w.seal(b.n, "thought")
			item(object("id", id, "type", "reasoning", "encrypted_content", proof, "summary", []any{part(b.thought)}), object("id", id, "type", "reasoning", "encrypted_content", proof, "summary", []any{}),
				"response.reasoning_summary_text", "summary_index", part, b.pieces(b.thought), true)
		} else {
			part := func(text string) json.RawMessage { return object("type", "reasoning_text", "text", text) }
			item(object("id", id, "type", "reasoning", "summary", []any{}, "content", []any{part(b.thought)}, "status", status), object("id", id, "type", "reasoning", "summary", []any{}, "content", []any{}, "status", "in_progress"),
				"response.reasoning_text", "content_index", part, b.pieces(b.thought), true)
		}
	}
	if b.text != "" {
		id := b.id("msg_", 0)
		part := func(text string) json.RawMessage {
			return object("type", "output_text", "annotations", []any{}, "logprobs", []any{}, "text", text)
		}
		item(object("id", id, "type", "message", "role", "assistant", "status", status, "content", []any{part(b.text)}), object("id", id, "type", "message", "role", "assistant", "status", "in_progress", "content", []any{}),
			"response.output_text", "content_index", part, b.said(), !b.aborted)
	}
	if b.aborted {
		return
	}
	for i, c := range b.r.calls {
		begun := []any{"id", b.id("fc_", i), "type", "function_call", "status", "in_progress", "call_id", b.id("call_", i), "name", c.name, "arguments", ""}
		whole := append(append([]any{}, begun[:len(begun)-1]...), c.arguments)
		whole[5] = status
		item(object(whole...), object(begun...), "response.function_call_arguments", "", nil, b.pieces(c.arguments), true)
	}
	if !b.stream {
		b.out.WriteString(encoded(response(status, details)))
		return
	}
	b.event("response."+status, object("type", "response."+status, "response", response(status, details)))
}

func (b *modelBody) gemini() {
	reason := map[bool]string{false: "STOP", true: "MAX_TOKENS"}[b.r.end == sotto.EndCut]
	var last []any
	for i, c := range b.r.calls {
		call := []any{"name", c.name, "args", json.RawMessage(c.arguments)}
		if b.w.ids {
			call = append(call, "id", b.id("fc", i))
		}
		part := []any{"functionCall", object(call...)}
		if b.w.signed && i == 0 {
			part = append(part, "thoughtSignature", b.w.seal(b.n, "call"))
		}
		last = append(last, object(part...))
	}
	if last == nil && b.w.signed && b.r.end != sotto.EndCut {
		last = append(last, object("text", "", "thoughtSignature", b.w.seal(b.n, "text")))
	}
	thought := func(text string) json.RawMessage { return object("text", text, "thought", true) }
	reply := func(parts []any, reason any) json.RawMessage {
		candidate := []any{"content", object("role", "model", "parts", parts), "index", 0}
		if reason != nil {
			candidate = append(candidate, "finishReason", reason)
		}
		return object("candidates", []any{object(candidate...)}, "usageMetadata", object("promptTokenCount", 5, "candidatesTokenCount", 9, "totalTokenCount", 14), "modelVersion", b.model, "responseId", "r1")
	}
	if !b.stream {
		parts := []any{}
		if b.thought != "" {
			parts = append(parts, thought(b.thought))
		}
		if b.text != "" {
			parts = append(parts, object("text", b.text))
		}
		b.out.WriteString(encoded(reply(append(parts, last...), reason)))
		return
	}
	for _, p := range b.pieces(b.thought) {
		b.line(reply([]any{thought(p)}, nil))
	}
	for _, p := range b.said() {
		b.line(reply([]any{object("text", p)}, nil))
	}
	if b.aborted {
		return
	}
	if last == nil {
		last = append(last, object("text", ""))
	}
	b.line(reply(last, reason))
}

func (b *modelBody) cohere() {
	reason := "COMPLETE"
	switch {
	case b.r.end == sotto.EndCut:
		reason = "MAX_TOKENS"
	case b.r.calls != nil:
		reason = "TOOL_CALL"
	}
	plan := ""
	if b.w.place == "tool_plan" && b.r.calls != nil {
		plan, b.thought = b.thought, ""
	}
	usage := object("tokens", object("input_tokens", 5, "output_tokens", 9))
	call := func(i int, arguments string) json.RawMessage {
		return object("id", b.id(b.r.calls[i].name+"_", i), "type", "function", "function", object("name", b.r.calls[i].name, "arguments", arguments))
	}
	if !b.stream {
		m := []any{"role", "assistant"}
		var content, calls []any
		if b.thought != "" {
			content = append(content, object("type", "thinking", "thinking", b.thought))
		}
		if b.text != "" {
			content = append(content, object("type", "text", "text", b.text))
		}
		if content != nil {
			m = append(m, "content", content)
		}
		if plan != "" {
			m = append(m, "tool_plan", plan)
		}
		for i, c := range b.r.calls {
			calls = append(calls, call(i, c.arguments))
		}
		if calls != nil {
			m = append(m, "tool_calls", calls)
		}
		b.out.WriteString(encoded(object("id", "m1", "message", object(m...), "finish_reason", reason, "usage", usage)))
		return
	}
	event := func(kind string, index int, message any) {
		members := []any{"type", kind}
		if index >= 0 {
			members = append(members, "index", index)
		}
		if message != nil {
			members = append(members, "delta", object("message", message))
		}
		b.event(kind, object(members...))
	}
	b.event("message-start", object("type", "message-start", "id", "m1", "delta", object("message", object("role", "assistant", "content", []any{}, "tool_plan", "", "tool_calls", []any{}, "citations", []any{}))))
	index := 0
	for _, part := range []struct {
		kind   string
		pieces []string
	}{{"thinking", b.pieces(b.thought)}, {"text", b.said()}} {
		if len(part.pieces) == 0 {
			continue
		}
		event("content-start", index, object("content", object("type", part.kind, part.kind, "")))
		for _, p := range part.pieces {
			event("content-delta", index, object("content", object(part.kind, p)))
		}
		if b.aborted && part.kind == "text" {
			return
		}
		event("content-end", index, nil)
		index++
	}
	for _, p := range b.pieces(plan) {
		event("tool-plan-delta", -1, object("tool_plan", p))
	}
	for i, c := range b.r.calls {
		event("tool-call-start", i, object("tool_calls", call(i, "")))
		for _, p := range b.pieces(c.arguments) {
			event("tool-call-delta", i, object("tool_calls", object("function", object("arguments", p))))
		}
		event("tool-call-end", i, nil)
	}
	b.event("message-end", object("type", "message-end", "id", "m1", "delta", object("finish_reason", reason, "usage", usage)))
}
