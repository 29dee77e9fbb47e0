package scripted

// A chatWire is one provider's form of chat completions: which members it has, in
// which order, and which field has the thoughts.
type chatWire struct {
	comment    string // sent while the client waits
	callPrefix string // of a tool call's id
	wholeCalls bool   // a tool call comes in one frame
	noText     any    // the content beside a whole tool call

	frame  func(c *chat, kind string, choices array) object
	choice func(i int, key string, body object, finish any) object

	first   object // the delta before all others; nil for none
	text    func(delta string) object
	thought func(delta string) object          // a nil object is not sent
	seal    func(model, thought string) object // the delta after a thought; nil for none
	last    object                             // the delta with the finish reason

	message func(c *chat, p *performance, calls array) object
}

// wires maps the values of Model.Wire to forms.
var wires = map[string]*chatWire{
	"":           &plainWire,
	"moonshot":   &plainWire,
	"litellm":    &plainWire,
	"deepseek":   &deepseekWire,
	"openrouter": &openrouterWire,
	"routed":     &routedWire,
	"ollama":     &ollamaWire,
	"google":     &googleWire,
	"openai":     &plainWire,
}

var plainWire = chatWire{
	callPrefix: "call_",
	frame:      frameWith("chatcmpl-", "fp_scripted"),
	choice:     plainChoice,
	first:      object{{"role", "assistant"}, {"content", ""}},
	text:       func(t string) object { return object{{"content", t}} },
	thought:    func(t string) object { return object{{"reasoning_content", t}} },
	last:       object{},
	message: func(c *chat, p *performance, calls array) object {
		m := object{{"role", "assistant"}, {"content", contentBeside(p, calls)}, {"refusal", nil}}
		if t := p.text(thoughtPart); t != "" {
			m = append(m, member{"reasoning_content", t})
		}
		return withCalls(m, calls)
	},
}

var deepseekWire = chatWire{
	callPrefix: "call_00_",
	frame:      frameWith("", "fp_ffc7281d48_prod0820_fp8_kvcache"),
	choice:     plainChoice,
	first:      object{{"role", "assistant"}, {"content", nil}, {"reasoning_content", ""}},
	text:       func(t string) object { return object{{"content", t}, {"reasoning_content", nil}} },
	thought:    func(t string) object { return object{{"content", nil}, {"reasoning_content", t}} },
	last:       object{{"content", ""}, {"reasoning_content", nil}},
	message: func(c *chat, p *performance, calls array) object {
		m := object{{"role", "assistant"}, {"content", p.text(textPart)}}
		if t := p.text(thoughtPart); t != "" {
			m = append(m, member{"reasoning_content", t})
		}
		return withCalls(m, calls)
	},
}

var openrouterWire = chatWire{
	comment:    ": OPENROUTER PROCESSING\n\n",
	callPrefix: "call_",
	frame: func(c *chat, kind string, choices array) object {
		return object{
			{"id", c.id("gen-", "reply", 24)}, {"provider", "Scripted"}, {"model", c.name}, {"object", kind},
			{"created", int(c.now.Unix())}, {"choices", choices},
		}
	},
	choice: func(i int, key string, body object, finish any) object {
		return object{
			{"index", i}, {key, body}, {"finish_reason", finish}, {"native_finish_reason", finish}, {"logprobs", nil},
		}
	},
	text: func(t string) object { return object{{"role", "assistant"}, {"content", t}} },
	thought: func(t string) object {
		return object{{"role", "assistant"}, {"content", ""}, {"reasoning", t}, {"reasoning_details", reasoningDetails(t)}}
	},
	last: object{{"role", "assistant"}, {"content", ""}},
	message: func(c *chat, p *performance, calls array) object {
		m := object{{"role", "assistant"}, {"content", p.text(textPart)}, {"refusal", nil}, {"reasoning", nil}}
		if t := p.text(thoughtPart); t != "" {
			m[len(m)-1].value = t
			m = append(m, member{"reasoning_details", reasoningDetails(t)})
		}
		return withCalls(m, calls)
	},
}

func reasoningDetails(text string) array {
	return array{object{{"type", "reasoning.text"}, {"text", text}, {"format", "unknown"}, {"index", 0}}}
}

// routedWire is OpenRouter's in front of a provider that signs thoughts.
var routedWire = func() chatWire {
	w := openrouterWire
	w.seal = func(model, thought string) object {
		return object{{"role", "assistant"}, {"content", ""}, {"reasoning_details", array{signedDetail(model, thought, nil)}}}
	}
	w.message = func(c *chat, p *performance, calls array) object {
		m := openrouterWire.message(c, p, nil)
		if t := p.text(thoughtPart); t != "" {
			m[len(m)-1].value = array{signedDetail(c.model.Name, t, &t)}
		}
		return withCalls(m, calls)
	}
	return w
}()

// signedDetail is an element with the signature of a thought, and with a text if there is one.
func signedDetail(model, thought string, text *string) object {
	o := object{{"type", "reasoning.text"}}
	if text != nil {
		o = append(o, member{"text", *text})
	}
	return append(o, object{{"signature", sign(model, thought)}, {"format", "anthropic-claude-v1"}, {"index", 0}}...)
}

var ollamaWire = chatWire{
	callPrefix: "call_",
	wholeCalls: true,
	noText:     "",
	frame:      frameWith("chatcmpl-", "fp_ollama"),
	choice: func(i int, key string, body object, finish any) object {
		return object{{"index", i}, {key, body}, {"finish_reason", finish}}
	},
	text: func(t string) object { return object{{"role", "assistant"}, {"content", t}} },
	thought: func(t string) object {
		return object{{"role", "assistant"}, {"content", ""}, {"reasoning", t}}
	},
	last: object{{"role", "assistant"}, {"content", ""}},
	message: func(c *chat, p *performance, calls array) object {
		m := object{{"role", "assistant"}, {"content", p.text(textPart)}}
		if t := p.text(thoughtPart); t != "" {
			m = append(m, member{"reasoning", t})
		}
		return withCalls(m, calls)
	},
}

// googleWire has its members in the order of their names.
var googleWire = chatWire{
	callPrefix: "function-call-",
	wholeCalls: true,
	frame: func(c *chat, kind string, choices array) object {
		return object{
			{"choices", choices}, {"created", int(c.now.Unix())}, {"id", c.id("", "reply", 22)},
			{"model", c.name}, {"object", kind},
		}
	},
	choice: func(i int, key string, body object, finish any) object {
		if key == "delta" && finish == nil {
			return object{{key, body}, {"index", i}}
		}
		if key == "delta" {
			return object{{key, body}, {"finish_reason", finish}, {"index", i}}
		}
		return object{{"finish_reason", finish}, {"index", i}, {key, body}}
	},
	text:    func(t string) object { return object{{"content", t}, {"role", "assistant"}} },
	thought: func(string) object { return nil },
	last:    object{{"role", "assistant"}},
	message: func(c *chat, p *performance, calls array) object {
		if calls != nil {
			return object{{"role", "assistant"}, {"tool_calls", calls}}
		}
		return object{{"content", p.text(textPart)}, {"role", "assistant"}}
	},
}

// frameWith returns the members of a frame in OpenAI's order.
func frameWith(prefix, fingerprint string) func(c *chat, kind string, choices array) object {
	return func(c *chat, kind string, choices array) object {
		return object{
			{"id", c.id(prefix, "reply", 32)}, {"object", kind}, {"created", int(c.now.Unix())}, {"model", c.name},
			{"system_fingerprint", fingerprint}, {"choices", choices},
		}
	}
}

func plainChoice(i int, key string, body object, finish any) object {
	return object{{"index", i}, {key, body}, {"logprobs", nil}, {"finish_reason", finish}}
}

// contentBeside returns the content of a message. It is null if there are only tool
// calls.
func contentBeside(p *performance, calls array) any {
	if t := p.text(textPart); t != "" || calls == nil {
		return t
	}
	return nil
}

func withCalls(m object, calls array) object {
	if calls != nil {
		m = append(m, member{"tool_calls", calls})
	}
	return m
}
