package honest

// Replies of OpenAI's APIs, as the servers write them.

func theCall(name string) []any {
	return []any{object{"index": 0, "id": "call_1", "type": "function", "function": object{"name": name, "arguments": "{}"}}}
}

func chatReason(r reply) string {
	if r.call {
		return "tool_calls"
	}
	return r.reason
}

func chatWhole(model string, replies []reply) object {
	var list []any
	for _, r := range replies {
		m := object{"role": "assistant", "content": r.content}
		if r.parsed && r.thought != "" {
			m["reasoning_content"] = r.thought
		}
		if r.call {
			m["tool_calls"] = theCall("w")
		}
		list = append(list, object{"index": r.index, "message": m, "finish_reason": chatReason(r)})
	}
	return object{"id": "c", "object": "chat.completion", "created": 1, "model": model, "choices": list, "usage": object{"prompt_tokens": 1, "completion_tokens": 9, "total_tokens": 10}}
}

func chatFrames(model string, replies []reply, cut func(string) []string) (list []string) {
	for _, r := range replies {
		frame := func(delta object, reason any) {
			list = append(list, data(object{"id": "c", "object": "chat.completion.chunk", "created": 1, "model": model, "choices": []any{
				object{"index": r.index, "delta": delta, "finish_reason": reason},
			}}))
		}
		frame(object{"role": "assistant", "content": ""}, nil)
		for _, p := range cut(r.thought) {
			frame(object{"reasoning_content": p}, nil)
		}
		for _, p := range cut(r.content) {
			frame(object{"content": p}, nil)
		}
		if r.call {
			frame(object{"tool_calls": theCall("w")}, nil)
		}
		frame(object{}, chatReason(r))
	}
	return append(list, "data: [DONE]\n\n")
}

func completionsWhole(model string, replies []reply) object {
	var list []any
	for _, r := range replies {
		list = append(list, object{"index": r.index, "text": r.content, "finish_reason": r.reason})
	}
	return object{"id": "c", "object": "text_completion", "created": 1, "model": model, "choices": list}
}

func completionsFrames(model string, replies []reply, cut func(string) []string) (list []string) {
	for _, r := range replies {
		frame := func(text string, reason any) {
			list = append(list, data(object{"id": "c", "object": "text_completion", "created": 1, "model": model, "choices": []any{
				object{"index": r.index, "text": text, "finish_reason": reason},
			}}))
		}
		for _, p := range cut(r.content) {
			frame(p, nil)
		}
		frame("", r.reason)
	}
	return append(list, "data: [DONE]\n\n")
}

// llama.cpp's /completion has one reply; a list of prompts gives a list of them, which
// the scripts do not use.
func completionWhole(model string, replies []reply) object {
	r := replies[0]
	return object{"index": 0, "model": model, "content": r.content, "stop": true, "stop_type": stopType(r), "stopping_word": r.word}
}

func stopType(r reply) string {
	switch {
	case r.reason == "length":
		return "limit"
	case r.word != "":
		return "word"
	}
	return "eos"
}

func completionFrames(model string, replies []reply, cut func(string) []string) (list []string) {
	r := replies[0]
	for _, p := range cut(r.content) {
		list = append(list, data(object{"index": 0, "content": p, "stop": false}))
	}
	return append(list, data(object{"index": 0, "model": model, "content": "", "stop": true, "stop_type": stopType(r), "stopping_word": r.word}))
}

func responseOf(model string, r reply) object {
	o := object{"id": "resp_1", "object": "response", "created_at": 1, "model": model, "status": "completed", "output": responseItems(r)}
	if r.reason == "length" {
		o["status"], o["incomplete_details"] = "incomplete", object{"reason": "max_output_tokens"}
	}
	return o
}

func responseItems(r reply) (list []any) {
	list = []any{}
	if r.thought != "" {
		list = append(list, object{"id": "rs_1", "type": "reasoning", "summary": []any{}, "content": []any{object{"type": "reasoning_text", "text": r.thought}}})
	}
	if r.content != "" || r.thought == "" {
		list = append(list, object{"id": "msg_1", "type": "message", "role": "assistant", "status": "completed", "content": []any{
			object{"type": "output_text", "text": r.content, "annotations": []any{}},
		}})
	}
	return list
}

func responsesWhole(model string, replies []reply) object { return responseOf(model, replies[0]) }

func responsesFrames(model string, replies []reply, cut func(string) []string) (list []string) {
	r := replies[0]
	add := func(kind string, o object) { list = append(list, event(kind, o)) }
	add("response.created", object{"response": object{"id": "resp_1", "object": "response", "created_at": 1, "model": model, "status": "in_progress", "output": []any{}}})
	for i, item := range responseItems(r) {
		id, part, delta, text := "msg_1", "output_text", "response.output_text", r.content
		if item.(object)["type"] == "reasoning" {
			id, part, delta, text = "rs_1", "reasoning_text", "response.reasoning_text", r.thought
		}
		at := func(more object) object {
			more["item_id"], more["output_index"], more["content_index"] = id, i, 0
			return more
		}
		empty := object{"id": id, "type": item.(object)["type"], "role": "assistant", "status": "in_progress", "content": []any{}}
		if part == "reasoning_text" {
			delete(empty, "role")
			empty["summary"] = []any{}
		}
		add("response.output_item.added", object{"output_index": i, "item": empty})
		add("response.content_part.added", at(object{"part": object{"type": part, "text": ""}}))
		for _, p := range cut(text) {
			add(delta+".delta", at(object{"delta": p}))
		}
		add(delta+".done", at(object{"text": text}))
		add("response.content_part.done", at(object{"part": object{"type": part, "text": text}}))
		add("response.output_item.done", object{"output_index": i, "item": item})
	}
	end := "response.completed"
	if r.reason == "length" {
		end = "response.incomplete"
	}
	add(end, object{"response": responseOf(model, r)})
	return list
}
