package honest

import (
	"encoding/base64"
	"maps"
	"slices"
	"strings"
)

// A tweak is a change to a request that any client may make.
type tweak struct {
	name   string
	what   string // it sets: a request has one tweak of each
	apis   string // the APIs that it is for, with spaces between them; empty for all
	do     func(a *api, f family, body object)
	starts bool // it begins the reply, or lets it end early, and can be read
	opaque bool // it may begin the reply, and cannot be read
}

// chats are the APIs with messages and extra members.
const chats = "chat responses messages ollama.chat"

var tweaks = slices.Concat(stopTweaks(), limitTweaks(), switchTweaks(), prefillTweaks(), promptTweaks(), ollamaTweaks())

func tweakNamed(name string) tweak {
	for _, t := range tweaks {
		if t.name == name {
			return t
		}
	}
	panic("no tweak " + name)
}

func (t tweak) fits(a *api) bool {
	return t.apis == "" || slices.Contains(strings.Fields(t.apis), a.name)
}

// has returns a tweak that sets members.
func has(name, apis string, members object) tweak {
	what := strings.Join(slices.Collect(maps.Keys(members)), " ")
	return tweak{name: name, what: what, apis: apis, do: func(_ *api, _ family, body object) {
		for k, v := range members {
			body[k] = v
		}
	}}
}

func stopTweaks() (list []tweak) {
	for _, w := range []string{"\n", "</think>", "</", "<", ".", " so", "We", "is the"} {
		list = append(list, tweak{what: "stop", name: "stop " + strings.ReplaceAll(w, "\n", `\n`), starts: true, do: func(a *api, _ family, body object) {
			set(body, a.stop, []any{w})
		}})
	}
	return append(list, has("include stop", "chat completions", object{"include_stop_str_in_output": true}))
}

func limitTweaks() (list []tweak) {
	for _, n := range []float64{1, 4, 11} {
		list = append(list, tweak{what: "limit", name: "limit " + string(rune('0'+int(n)%10)), do: func(a *api, _ family, body object) { set(body, a.limits[0], n) }})
	}
	tool := object{"type": "object", "properties": object{}}
	return append(list,
		has("n", "chat completions", object{"n": 2.0}),
		has("tools", "chat ollama.chat", object{"tools": []any{object{"type": "function", "function": object{"name": "w", "parameters": tool}}}}),
		has("tools of messages", "messages", object{"tools": []any{object{"name": "w", "input_schema": tool}}}),
		has("tools of responses", "responses", object{"tools": []any{object{"type": "function", "name": "w", "parameters": tool}}}),
	)
}

// switchTweaks are members that switch thoughts on or off on one server, and that other
// servers do not read.
func switchTweaks() []tweak {
	template := func(name, end string) tweak {
		return tweak{name: name, what: "template", apis: "chat", opaque: true, do: func(_ *api, f family, body object) {
			body["chat_template"] = f.chosenTemplate(f.header + end)
		}}
	}
	return []tweak{
		has("kwargs enable_thinking=false", "chat responses messages", object{"chat_template_kwargs": object{"enable_thinking": false}}),
		has("kwargs enable_thinking=true", "chat responses messages", object{"chat_template_kwargs": object{"enable_thinking": true}}),
		has("kwargs thinking=false", "chat", object{"chat_template_kwargs": object{"thinking": false}}),
		has("kwargs thinking=true", "chat", object{"chat_template_kwargs": object{"thinking": true}}),
		has("kwargs deep_thought=true", "chat", object{"chat_template_kwargs": object{"deep_thought": true}}),
		has("enable_thinking=false", "chat completions", object{"enable_thinking": false}),
		has("think=false", chats+" ollama.generate", object{"think": false}),
		has("think=true", "chat ollama.chat ollama.generate", object{"think": true}),
		has("thinking disabled", "chat messages", object{"thinking": object{"type": "disabled"}}),
		has("reasoning_effort none", "chat", object{"reasoning_effort": "none"}),
		has("reasoning effort none", "chat responses", object{"reasoning": object{"effort": "none"}}),
		has("thinking_budget 0", "chat completion", object{"thinking_budget": 0.0}),
		has("separate_reasoning=false", "chat", object{"separate_reasoning": false}),
		has("reasoning_format none", "chat completion", object{"reasoning_format": "none"}),
		has("include_reasoning=false", "chat", object{"include_reasoning": false}),
		has("no generation prompt", "chat", object{"add_generation_prompt": false}),
		template("a template that opens", "<think>\n"),
		template("a template that opens and goes on", "<think>\nok"),
		template("a template that closes", "<think>\n\n</think>\n\n"),
		{name: "/no_think", what: "text", apis: chats, do: func(_ *api, _ family, body object) {
			if _, ok := body["input"]; ok {
				body["input"] = question + " /no_think"
				return
			}
			body["messages"].([]any)[0].(object)["content"] = question + " /no_think"
		}},
		{name: "thinkingBudget 0", what: "budget", apis: "gemini", do: func(_ *api, _ family, body object) {
			set(body, "generationConfig.thinkingConfig", object{"thinkingBudget": 0.0})
		}},
	}
}

// prefillTweaks begin the reply.
func prefillTweaks() (list []tweak) {
	add := func(name, apis string, message, more object) {
		list = append(list, tweak{name: name, what: "prefill", apis: apis, starts: true, do: func(a *api, _ family, body object) {
			m := object{"role": "assistant"}
			for k, v := range message {
				m[k] = v
			}
			if a.name == "responses" {
				body["input"] = []any{object{"role": "user", "content": question}, m}
				return
			}
			body["messages"] = append(slices.Clone(body["messages"].([]any)), m)
			for k, v := range more {
				body[k] = v
			}
		}})
	}
	goesOn := object{"continue_final_message": true, "add_generation_prompt": false}
	for name, text := range map[string]string{"text": "So: ", "opener": "<think>\nok", "close": "</think>", "empty block": "<think>\n\n</think>\n\nSo: "} {
		add("prefill "+name, "chat messages ollama.chat cohere responses", object{"content": text}, nil)
		add("continued "+name, "chat", object{"content": text}, goesOn)
	}
	add("continued thought", "chat", object{"content": "", "reasoning_content": "ok"}, goesOn)
	add("continued reasoning", "chat", object{"content": "", "reasoning": "ok"}, goesOn)
	add("thinking prefill", "ollama.chat", object{"content": "", "thinking": "ok"}, nil)
	slices.SortFunc(list, func(a, b tweak) int { return strings.Compare(a.name, b.name) })
	return list
}

// promptTweaks are prompts of APIs without a template.
func promptTweaks() []tweak {
	prompt := func(name, apis string, make func(f family) any) tweak {
		opaque := strings.Contains(name, "token ids") || name == "plain prompt"
		return tweak{name: name, what: "prompt", apis: apis, starts: !opaque, opaque: opaque, do: func(_ *api, f family, body object) { body["prompt"] = make(f) }}
	}
	opened := func(f family) string {
		return f.render([]turn{{role: "user", text: question}}) + f.header + "<think>\n"
	}
	return []tweak{
		prompt("plain prompt", "completions completion", func(family) any { return question }),
		{name: "closed prompt", what: "prompt", apis: "completions", opaque: true, do: func(_ *api, f family, body object) { // a server may put it into a template
			body["prompt"] = f.header + "</think>"
		}},
		prompt("opened prompt", "completions completion", func(f family) any { return opened(f) }),
		prompt("opened prompt that goes on", "completions completion", func(f family) any { return opened(f) + "ok" }),
		prompt("prompts, last opened", "completions", func(f family) any { return []any{question, opened(f)} }),
		prompt("prompts, first opened", "completions", func(f family) any { return []any{opened(f), question} }),
		prompt("prompts, first closed", "completions", func(f family) any { return []any{f.header + "<think>\n\n</think>\n\n", opened(f)} }),
		prompt("token ids", "completions completion", func(f family) any { return f.openedIDs() }),
		prompt("lists of token ids", "completions", func(f family) any { return []any{f.openedIDs(), f.openedIDs()} }),
		prompt("text and token ids", "completion completions", func(f family) any { return []any{"Hi there.", f.id(f.open)} }),
		{name: "embeds", what: "prompt", apis: "completions", opaque: true, do: func(_ *api, f family, body object) {
			delete(body, "prompt")
			body["prompt_embeds"] = base64.StdEncoding.EncodeToString([]byte(opened(f)))
		}},
		{name: "embeds beside a prompt", what: "prompt", apis: "completions", opaque: true, do: func(_ *api, f family, body object) {
			body["prompt"] = f.header + "</think>"
			body["prompt_embeds"] = base64.StdEncoding.EncodeToString([]byte(opened(f)))
		}},
		has("echo", "completions", object{"echo": true}),
	}
}

func ollamaTweaks() []tweak {
	generate := func(name string, do func(f family, body object)) tweak {
		raw := strings.HasPrefix(name, "raw")
		return tweak{name: name, what: "prompt", apis: "ollama.generate", starts: raw, opaque: !raw, do: func(_ *api, f family, body object) { do(f, body) }}
	}
	return []tweak{
		generate("raw", func(f family, body object) { body["raw"], body["prompt"] = true, f.header+"<think>\n" }),
		generate("raw that goes on", func(f family, body object) { body["raw"], body["prompt"] = true, f.header+"<think>\nok" }),
		generate("raw text", func(_ family, body object) { body["raw"] = true }),
		generate("template", func(f family, body object) {
			body["template"] = f.user + "{{ .Prompt }}" + f.after + f.header + "<think>\n"
		}),
		generate("template that goes on", func(f family, body object) { body["template"] = "{{ .Prompt }}" + f.header + "<think>\nok" }),
		generate("context", func(f family, body object) {
			body["template"], body["context"] = "{{ .Prompt }}", f.openedIDs()
		}),
		generate("prompt in a template of its own", func(f family, body object) {
			body["template"], body["prompt"] = "{{ .Prompt }}", f.header+"<think>\nok"
		}),
	}
}
