package honest

// Replies of the other APIs, as the servers write them.

var messageReasons = map[string]string{"stop": "end_turn", "length": "max_tokens", "repetition": "end_turn"}

func messageReason(r reply) (reason string, word any) {
	if r.word != "" {
		return "stop_sequence", r.word
	}
	return reasonOf(r.reason, messageReasons), nil
}

func messagesWhole(model string, replies []reply) object {
	r := replies[0]
	content := []any{}
	if r.thought != "" {
		content = append(content, object{"type": "thinking", "thinking": r.thought, "signature": ""})
	}
	content = append(content, object{"type": "text", "text": r.content})
	reason, word := messageReason(r)
	return object{
		"id": "msg_1", "type": "message", "role": "assistant", "model": model, "content": content, "stop_reason": reason, "stop_sequence": word,
		"usage": object{"input_tokens": 1, "output_tokens": 9},
	}
}

func messagesFrames(model string, replies []reply, cut func(string) []string) (list []string) {
	r := replies[0]
	add := func(kind string, o object) { list = append(list, event(kind, o)) }
	add("message_start", object{"message": object{"id": "msg_1", "type": "message", "role": "assistant", "model": model, "content": []any{}, "usage": object{"input_tokens": 1, "output_tokens": 1}}})
	index := 0
	block := func(kind, member, text string) {
		add("content_block_start", object{"index": index, "content_block": object{"type": kind, member: ""}})
		for _, p := range cut(text) {
			add("content_block_delta", object{"index": index, "delta": object{"type": member + "_delta", member: p}})
		}
		add("content_block_stop", object{"index": index})
		index++
	}
	if r.thought != "" {
		block("thinking", "thinking", r.thought)
	}
	block("text", "text", r.content)
	reason, word := messageReason(r)
	add("message_delta", object{"delta": object{"stop_reason": reason, "stop_sequence": word}, "usage": object{"output_tokens": 9}})
	add("message_stop", object{})
	return list
}

var ollamaReasons = map[string]string{"repetition": "stop"}

// ollamaText is a piece of a reply of /api/chat or /api/generate.
func ollamaText(member, model, text, thought string) object {
	o := object{"model": model, "created_at": "2026-01-01T00:00:00Z", "done": false}
	in := object{"role": "assistant", "content": text}
	if member == "response" {
		in = o
		o["response"] = text
	} else {
		o["message"] = in
	}
	if thought != "" {
		in["thinking"] = thought
	}
	return o
}

func ollamaWhole(member string) func(string, []reply) object {
	return func(model string, replies []reply) object {
		r := replies[0]
		o := ollamaText(member, model, r.content, r.thought)
		o["done"], o["done_reason"] = true, reasonOf(r.reason, ollamaReasons)
		return o
	}
}

func ollamaFrames(member string) func(string, []reply, func(string) []string) []string {
	return func(model string, replies []reply, cut func(string) []string) (list []string) {
		r := replies[0]
		for _, p := range cut(r.thought) {
			list = append(list, line(ollamaText(member, model, "", p)))
		}
		for _, p := range cut(r.content) {
			list = append(list, line(ollamaText(member, model, p, "")))
		}
		o := ollamaText(member, model, "", "")
		o["done"], o["done_reason"] = true, reasonOf(r.reason, ollamaReasons)
		return append(list, line(o))
	}
}

var geminiReasons = map[string]string{"stop": "STOP", "length": "MAX_TOKENS", "repetition": "STOP"}

func geminiWhole(model string, replies []reply) object {
	r := replies[0]
	return geminiPart(model, r.content, reasonOf(r.reason, geminiReasons))
}

func geminiPart(model, text, reason string) object {
	c := object{"index": 0, "content": object{"role": "model", "parts": []any{object{"text": text}}}}
	if reason != "" {
		c["finishReason"] = reason
	}
	return object{"candidates": []any{c}, "modelVersion": model}
}

func geminiFrames(model string, replies []reply, cut func(string) []string) (list []string) {
	r := replies[0]
	for _, p := range cut(r.content) {
		list = append(list, data(geminiPart(model, p, "")))
	}
	return append(list, data(geminiPart(model, "", reasonOf(r.reason, geminiReasons))))
}

func cohereReason(r reply) string {
	if r.word != "" {
		return "STOP_SEQUENCE"
	}
	return reasonOf(r.reason, map[string]string{"stop": "COMPLETE", "length": "MAX_TOKENS", "repetition": "COMPLETE"})
}

func cohereWhole(_ string, replies []reply) object {
	r := replies[0]
	return object{"id": "m", "finish_reason": cohereReason(r), "message": object{"role": "assistant", "content": []any{object{"type": "text", "text": r.content}}}}
}

func cohereFrames(_ string, replies []reply, cut func(string) []string) (list []string) {
	r := replies[0]
	content := func(o object) object { return object{"index": 0, "delta": object{"message": object{"content": o}}} }
	list = append(list, event("message-start", object{"id": "m", "delta": object{"message": object{"role": "assistant"}}}),
		event("content-start", content(object{"type": "text", "text": ""})))
	for _, p := range cut(r.content) {
		list = append(list, event("content-delta", content(object{"text": p})))
	}
	return append(list, event("content-end", object{"index": 0}), event("message-end", object{"delta": object{"finish_reason": cohereReason(r)}}))
}

func bedrockReason(r reply) string {
	if r.word != "" {
		return "stop_sequence"
	}
	return reasonOf(r.reason, messageReasons)
}

func bedrockWhole(_ string, replies []reply) object {
	r := replies[0]
	return object{"output": object{"message": object{"role": "assistant", "content": []any{object{"text": r.content}}}}, "stopReason": bedrockReason(r)}
}

func bedrockFrames(_ string, replies []reply, cut func(string) []string) (list []string) {
	r := replies[0]
	add := func(kind string, o object) { list = append(list, "event: "+kind+"\n"+data(o)) }
	add("messageStart", object{"role": "assistant"})
	for _, p := range cut(r.content) {
		add("contentBlockDelta", object{"contentBlockIndex": 0, "delta": object{"text": p}})
	}
	add("contentBlockStop", object{"contentBlockIndex": 0})
	add("messageStop", object{"stopReason": bedrockReason(r)})
	return list
}
