package sayings

import "strings"

var readers = map[string]func(*Saying, obj){
	"chat": readChat, "responses": readResponses, "messages": readMessages, "ollama": readOllama, "gemini": readGemini, "bedrock": readBedrock, "cohere": readCohere,
}

// content says the parts of a content of chat completions, and of Cohere's API.
func content(s *Saying, role string, v any) {
	if said, ok := v.(string); ok {
		s.say(role, "text", said)
		return
	}
	each(v, func(p obj) {
		switch p["type"] {
		case "text":
			s.knows("part", p, "type text")
			s.say(role, "text", p["text"])
		case "thinking":
			s.knows("part", p, "type thinking")
			s.thought("thinking", p["thinking"], nil)
		case "image_url":
			s.say(role, "image", dataURL(at(p, "image_url", "url")))
		default:
			s.Unknown = append(s.Unknown, "part of type "+str(p["type"]))
		}
	})
}

func roleOf(m obj) string {
	if m["role"] == "developer" {
		return "system"
	}
	return str(m["role"])
}

func functions(s *Saying, v any) {
	each(v, func(t obj) {
		s.tool(at(t, "function", "name"), at(t, "function", "description"), at(t, "function", "parameters"))
	})
}

// calls says those of a message with members.
func calls(s *Saying, v any) {
	each(v, func(c obj) {
		s.knows("call", c, "id type index function extra_content")
		f, _ := c["function"].(obj)
		s.knows("function", f, "index name arguments")
		s.call(c["id"], f["name"], f["arguments"], at(c, "extra_content", "google", "thought_signature"))
	})
}

func thinks(s *Saying, on bool) {
	s.set("thinking", map[bool]string{true: "on", false: "off"}[on])
}

func readChat(s *Saying, q obj) {
	s.knows("request", q, "model stream stream_options messages tools tool_choice max_tokens max_completion_tokens stop temperature top_p response_format reasoning_effort parallel_tool_calls thinking thinking_budget enable_thinking chat_template_kwargs reasoning")
	each(q["messages"], func(m obj) {
		s.begin()
		role := roleOf(m)
		if role == "tool" {
			s.knows("result", m, "role tool_call_id content")
			s.result(m["tool_call_id"], nil, joinedText(m["content"], "text"))
			return
		}
		s.knows("message", m, "role content reasoning_content reasoning reasoning_details tool_calls refusal")
		for _, place := range []string{"reasoning_content", "reasoning"} {
			s.thought(place, m[place], nil)
		}
		each(m["reasoning_details"], func(d obj) {
			s.knows("detail", d, "type text signature data summary format index")
			s.thought("detail "+str(d["type"]), str(d["text"])+str(d["summary"]), str(d["signature"])+str(d["data"]))
		})
		content(s, role, m["content"])
		calls(s, m["tool_calls"])
	})
	functions(s, q["tools"])
	s.set("choice", q["tool_choice"])
	if name := at(q["tool_choice"], "function", "name"); name != nil {
		s.set("choice", list{"required", name})
	}
	s.set("limit", q["max_tokens"])
	s.set("limit", q["max_completion_tokens"])
	s.set("stop", q["stop"])
	s.set("temperature", q["temperature"])
	s.set("top_p", q["top_p"])
	s.set("format", at(q["response_format"], "json_schema", "schema"))
	for _, path := range []string{"thinking.type", "enable_thinking", "chat_template_kwargs.enable_thinking", "chat_template_kwargs.thinking", "reasoning.enabled"} {
		if on := s.switched(q, strings.Split(path, ".")...); on != nil {
			thinks(s, on != false && on != "disabled")
		}
	}
	for _, path := range []string{"reasoning_effort", "thinking_budget", "chat_template_kwargs.reasoning_effort", "reasoning.effort", "reasoning.max_tokens"} {
		if effort := s.switched(q, strings.Split(path, ".")...); effort != nil {
			thinks(s, effort != "none")
		}
	}
}

func readResponses(s *Saying, q obj) {
	s.knows("request", q, "model stream store include input instructions tools tool_choice max_output_tokens temperature top_p text reasoning parallel_tool_calls")
	if i := str(q["instructions"]); i != "" {
		s.say("system", "text", i)
	}
	if i, ok := q["input"].(string); ok {
		s.begin()
		s.say("user", "text", i)
	}
	each(q["input"], func(i obj) {
		s.begin()
		switch i["type"] {
		case "function_call":
			s.knows("call", i, "type id status call_id name arguments")
			s.call(i["call_id"], i["name"], i["arguments"], nil)
		case "function_call_output":
			s.knows("result", i, "type id status call_id output")
			s.result(i["call_id"], nil, joinedText(i["output"], "text"))
		case "reasoning":
			s.knows("reasoning", i, "type id status summary content encrypted_content")
			s.thought("reasoning", joinedText(i["content"], "text")+joinedText(i["summary"], "text"), i["encrypted_content"])
		default:
			s.knows("message", i, "type id status role content")
			if said, ok := i["content"].(string); ok {
				s.say(roleOf(i), "text", said)
			}
			each(i["content"], func(p obj) {
				if p["type"] == "input_image" {
					s.say(roleOf(i), "image", dataURL(p["image_url"]))
				} else {
					s.knows("part", p, "type text annotations logprobs")
					s.say(roleOf(i), "text", p["text"])
				}
			})
		}
	})
	each(q["tools"], func(t obj) { s.tool(t["name"], t["description"], t["parameters"]) })
	s.set("choice", q["tool_choice"])
	if name := at(q["tool_choice"], "name"); name != nil {
		s.set("choice", list{"required", name})
	}
	s.set("limit", q["max_output_tokens"])
	s.set("temperature", q["temperature"])
	s.set("top_p", q["top_p"])
	s.set("format", at(q, "text", "format", "schema"))
	if effort := s.switched(q, "reasoning", "effort"); effort != nil {
		thinks(s, effort != "none")
	}
}

func readMessages(s *Saying, q obj) {
	s.knows("request", q, "model stream max_tokens system messages tools tool_choice stop_sequences temperature top_p output_config thinking")
	blocks := func(role string, v any) {
		if said, ok := v.(string); ok {
			s.say(role, "text", said)
		}
		each(v, func(b obj) {
			switch b["type"] {
			case "text":
				s.knows("text", b, "type text")
				s.say(role, "text", b["text"])
			case "thinking":
				s.knows("thinking", b, "type thinking signature")
				s.thought("thinking", b["thinking"], b["signature"])
			case "redacted_thinking":
				s.knows("redacted_thinking", b, "type data")
				s.thought("redacted_thinking", nil, b["data"])
			case "image":
				s.say(role, "image", media(at(b, "source", "media_type"), at(b, "source", "data")))
			case "tool_use":
				s.knows("call", b, "type id name input")
				s.call(b["id"], b["name"], b["input"], nil)
			case "tool_result":
				s.knows("result", b, "type tool_use_id content is_error")
				s.result(b["tool_use_id"], nil, joinedText(b["content"], "text"))
			default:
				s.Unknown = append(s.Unknown, "block of type "+str(b["type"]))
			}
		})
	}
	if q["system"] != nil {
		blocks("system", q["system"])
	}
	each(q["messages"], func(m obj) {
		s.begin()
		s.knows("message", m, "role content")
		blocks(str(m["role"]), m["content"])
	})
	each(q["tools"], func(t obj) { s.tool(t["name"], t["description"], t["input_schema"]) })
	switch at(q, "tool_choice", "type") {
	case "any":
		s.set("choice", "required")
	case "tool":
		s.set("choice", list{"required", at(q, "tool_choice", "name")})
	case "none":
		s.set("choice", "none")
	}
	s.set("limit", q["max_tokens"])
	s.set("stop", q["stop_sequences"])
	s.set("temperature", q["temperature"])
	s.set("top_p", q["top_p"])
	s.set("format", at(q, "output_config", "format", "schema"))
	if kind := s.switched(q, "thinking", "type"); kind != nil {
		thinks(s, kind != "disabled")
	}
	s.switched(q, "thinking", "budget_tokens")
	s.switched(q, "output_config", "effort")
}

func readOllama(s *Saying, q obj) {
	s.knows("request", q, "model stream messages tools options format think")
	each(q["messages"], func(m obj) {
		s.begin()
		role := str(m["role"])
		if role == "tool" {
			s.knows("result", m, "role tool_name tool_call_id content")
			s.add(Said{Role: "user", Kind: "result", What: m["content"], Name: str(m["tool_name"]), ID: str(m["tool_call_id"])})
			return
		}
		s.knows("message", m, "role content thinking images tool_calls")
		s.thought("thinking", m["thinking"], nil)
		s.say(role, "text", m["content"])
		images, _ := m["images"].(list)
		for _, data := range images {
			s.say(role, "image", media("image/png", data))
		}
		calls(s, m["tool_calls"])
	})
	functions(s, q["tools"])
	s.set("limit", at(q, "options", "num_predict"))
	s.set("stop", at(q, "options", "stop"))
	s.set("temperature", at(q, "options", "temperature"))
	s.set("top_p", at(q, "options", "top_p"))
	s.set("format", q["format"])
	if think := s.switched(q, "think"); think != nil {
		thinks(s, think != false)
	}
}

func readGemini(s *Saying, q obj) {
	s.knows("request", q, "systemInstruction contents tools toolConfig generationConfig")
	parts := func(role string, v any) {
		each(v, func(p obj) {
			s.knows("part", p, "text thought thoughtSignature functionCall functionResponse inlineData")
			call, result, data := at(p, "functionCall"), at(p, "functionResponse"), at(p, "inlineData")
			switch {
			case call != nil:
				s.call(at(call, "id"), at(call, "name"), at(call, "args"), p["thoughtSignature"])
			case result != nil:
				what := at(result, "response")
				if response, _ := what.(obj); len(response) == 1 && response["output"] != nil {
					what = response["output"]
				}
				s.result(at(result, "id"), at(result, "name"), what)
			case data != nil:
				s.say(role, "image", media(at(data, "mimeType"), at(data, "data")))
			case p["thought"] == true:
				s.thought("thought", p["text"], p["thoughtSignature"])
			case p["thoughtSignature"] != nil && p["text"] == "":
				s.thought("signature", nil, p["thoughtSignature"])
			default:
				s.add(Said{Role: role, Kind: "text", What: p["text"], Proof: str(p["thoughtSignature"])})
			}
		})
	}
	parts("system", at(q, "systemInstruction", "parts"))
	each(q["contents"], func(c obj) {
		s.begin()
		s.knows("content", c, "role parts")
		parts(strings.ReplaceAll(str(c["role"]), "model", "assistant"), c["parts"])
	})
	each(q["tools"], func(t obj) {
		each(t["functionDeclarations"], func(f obj) {
			schema := f["parametersJsonSchema"]
			if schema == nil {
				schema = f["parameters"]
			}
			s.tool(f["name"], f["description"], schema)
		})
	})
	config := at(q, "toolConfig", "functionCallingConfig")
	switch names, _ := at(config, "allowedFunctionNames").(list); {
	case at(config, "mode") == "ANY" && names != nil:
		s.set("choice", append(list{"required"}, names...))
	case at(config, "mode") == "ANY":
		s.set("choice", "required")
	case at(config, "mode") == "NONE":
		s.set("choice", "none")
	}
	in := at(q, "generationConfig")
	s.set("limit", at(in, "maxOutputTokens"))
	s.set("stop", at(in, "stopSequences"))
	s.set("temperature", at(in, "temperature"))
	s.set("top_p", at(in, "topP"))
	s.set("format", at(in, "responseJsonSchema"))
	if budget := s.switched(in, "thinkingConfig", "thinkingBudget"); budget != nil {
		thinks(s, budget != float64(0))
	}
	if s.switched(in, "thinkingConfig", "thinkingLevel") != nil {
		thinks(s, true)
	}
}

func readBedrock(s *Saying, q obj) {
	s.knows("request", q, "system messages toolConfig inferenceConfig outputConfig additionalModelRequestFields")
	blocks := func(role string, v any) {
		each(v, func(b obj) {
			call, result := at(b, "toolUse"), at(b, "toolResult")
			switch reasoning := at(b, "reasoningContent"); {
			case b["image"] != nil:
				s.say(role, "image", media("image/"+str(at(b, "image", "format")), at(b, "image", "source", "bytes")))
			case at(reasoning, "redactedContent") != nil:
				s.thought("redactedContent", nil, at(reasoning, "redactedContent"))
			case reasoning != nil:
				of, _ := at(reasoning, "reasoningText").(obj)
				s.knows("reasoningText", of, "text signature")
				s.thought("reasoningText", of["text"], of["signature"])
			case call != nil:
				s.call(at(call, "toolUseId"), at(call, "name"), at(call, "input"), nil)
			case result != nil:
				s.result(at(result, "toolUseId"), nil, joinedText(at(result, "content"), "text"))
			default:
				s.knows("text", b, "text")
				s.say(role, "text", b["text"])
			}
		})
	}
	blocks("system", q["system"])
	each(q["messages"], func(m obj) {
		s.begin()
		s.knows("message", m, "role content")
		blocks(str(m["role"]), m["content"])
	})
	each(at(q, "toolConfig", "tools"), func(t obj) {
		spec := at(t, "toolSpec")
		s.tool(at(spec, "name"), at(spec, "description"), at(spec, "inputSchema", "json"))
	})
	choice, _ := at(q, "toolConfig", "toolChoice").(obj)
	if choice["any"] != nil {
		s.set("choice", "required")
	} else if choice["tool"] != nil {
		s.set("choice", list{"required", at(choice["tool"], "name")})
	}
	in := at(q, "inferenceConfig")
	s.set("limit", at(in, "maxTokens"))
	s.set("stop", at(in, "stopSequences"))
	s.set("temperature", at(in, "temperature"))
	s.set("top_p", at(in, "topP"))
	if schema := str(at(q, "outputConfig", "textFormat", "structure", "jsonSchema", "schema")); schema != "" {
		s.set("format", schema)
	}
	if kind := s.switched(q, "additionalModelRequestFields", "thinking", "type"); kind != nil {
		thinks(s, kind != "disabled")
	}
	s.switched(q, "additionalModelRequestFields", "thinking", "budget_tokens")
}

func readCohere(s *Saying, q obj) {
	s.knows("request", q, "model stream messages tools tool_choice max_tokens stop_sequences temperature p response_format thinking strict_tools")
	each(q["messages"], func(m obj) {
		s.begin()
		role := str(m["role"])
		if role == "tool" {
			s.knows("result", m, "role tool_call_id content")
			s.result(m["tool_call_id"], nil, joinedText(m["content"], "text"))
			return
		}
		s.knows("message", m, "role content tool_plan tool_calls")
		content(s, role, m["content"])
		s.thought("tool_plan", m["tool_plan"], nil)
		calls(s, m["tool_calls"])
	})
	functions(s, q["tools"])
	if choice := str(q["tool_choice"]); choice != "" {
		s.set("choice", strings.ToLower(choice))
	}
	s.set("limit", q["max_tokens"])
	s.set("stop", q["stop_sequences"])
	s.set("temperature", q["temperature"])
	s.set("top_p", q["p"])
	s.set("format", at(q["response_format"], "json_schema"))
	if kind := s.switched(q, "thinking", "type"); kind != nil {
		thinks(s, kind != "disabled")
	}
	s.switched(q, "thinking", "token_budget")
}
