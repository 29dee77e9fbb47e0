package honest

import (
	"strings"
)

// A kind is what a program that serves models does with a request.
type kind struct {
	name     string
	apis     []string
	includes bool // include_stop_str_in_output is known
	mixes    bool // texts and token ids may be mixed in a prompt
	embeds   bool // prompt_embeds is known; a prompt beside it is one more
	// understand reads the prompt, and the members of the request that change how the
	// reply begins and is read.
	understand func(s *server, a *api, q *ask)
	// parse separates a thought as the server's own reasoning parser does.
	parse func(f family, prompt string, q *ask, text string) (thought, content string)
	// shows answers a question about the template, or returns nil.
	shows func(s *server, path string, body object) object
}

var kinds = []kind{vllm, sglang, llamacpp, ollama, proxy}

// vllm is vLLM: docs/serving/openai_compatible_server.md (extra parameters of chat
// completions and completions), docs/features/reasoning_outputs.md,
// vllm/entrypoints/chat_utils.py, vllm/entrypoints/serve/tokenize.
var vllm = kind{
	name: "vllm", apis: []string{"chat", "completions", "responses", "messages"}, includes: true, embeds: true,
	understand: func(s *server, a *api, q *ask) {
		if a.raw {
			s.readRaw(q)
			return
		}
		kwargs(s.family, q)
		if include, ok := q.body["include_reasoning"].(bool); ok {
			q.drops = !include
		}
		turns := turnsOf(q.body)
		if last, ok := continued(q.body, turns); ok {
			if q.body["add_generation_prompt"] == nil || q.body["add_generation_prompt"] == true {
				q.refused = "Cannot set both `continue_final_message` and `add_generation_prompt` to True."
				return
			}
			prompt := s.family.render(turns[:len(turns)-1]) + s.family.header
			if last.thought != "" { // the template writes it before the text
				prompt += s.family.open + "\n" + last.thought
				if last.text != "" {
					prompt += "\n" + s.family.close + "\n\n"
				}
			}
			q.prompts = []string{prompt + last.text}
			return
		}
		end := s.family.generation(q.thinks)
		if own, ok := q.body["chat_template"].(string); ok { // --trust-request-chat-template
			end = endOfChosen(own)
		}
		if q.body["add_generation_prompt"] == false {
			end = ""
		}
		q.prompts = []string{s.family.render(turns) + end}
	},
	parse: parse,
	shows: func(s *server, path string, body object) object {
		if path != "/tokenize" {
			return nil
		}
		if prompt, ok := body["prompt"].(string); ok {
			return tokenized(prompt, body["return_token_strs"] == true)
		}
		q := &ask{body: body, thinks: s.family.thinks || s.family.kwarg == ""}
		s.kind.understand(s, &apis[0], q)
		if len(q.prompts) == 0 {
			return nil
		}
		return tokenized(q.prompts[0], body["return_token_strs"] == true)
	},
}

// tokenized is vLLM's TokenizeResponse, with a token for each special one and for each
// word.
func tokenized(prompt string, strs bool) object {
	var tokens []any
	for prompt != "" {
		n := 1 + strings.IndexAny(prompt[1:], "< \n")
		if end := strings.IndexByte(prompt, '>'); prompt[0] == '<' && end > 0 {
			n = end + 1
		}
		if n <= 0 {
			n = len(prompt)
		}
		tokens = append(tokens, strings.NewReplacer(" ", "Ġ", "\n", "Ċ").Replace(prompt[:n]))
		prompt = prompt[n:]
	}
	ids := make([]any, len(tokens))
	for i := range ids {
		ids[i] = i
	}
	answer := object{"count": len(tokens), "max_model_len": 32768, "tokens": ids, "token_strs": nil}
	if strs {
		answer["token_strs"] = tokens
	}
	return answer
}

// sglang is SGLang: docs/advanced_features/separate_reasoning.ipynb,
// docs/basic_usage/openai_api_completions.ipynb, and
// python/sglang/srt/entrypoints/openai/serving_chat.py, which puts a prefill after the
// generation prompt.
var sglang = kind{
	name: "sglang", apis: []string{"chat", "completions", "messages"},
	understand: func(s *server, a *api, q *ask) {
		if a.raw {
			s.readRaw(q)
			return
		}
		kwargs(s.family, q)
		if separate, ok := q.body["separate_reasoning"].(bool); ok && !separate {
			q.separate = false
		}
		turns := turnsOf(q.body)
		prefill := ""
		if last, ok := continued(q.body, turns); ok {
			turns, prefill = turns[:len(turns)-1], last.text
		}
		q.prompts = []string{s.family.render(turns) + s.family.generation(q.thinks) + prefill}
	},
	parse: parse,
}

// llamacpp is llama.cpp's server: tools/server/README.md (prompts, reasoning_format,
// chat_template_kwargs), tools/server/server-common.cpp: a last message of the assistant
// is put after the generation prompt, and is not read for reasoning.
var llamacpp = kind{
	name: "llamacpp", apis: []string{"chat", "completions", "completion", "responses", "messages"}, mixes: true,
	understand: func(s *server, a *api, q *ask) {
		if a.raw {
			s.readRaw(q)
			return
		}
		kwargs(s.family, q)
		if q.body["reasoning_format"] == "none" {
			q.separate = false
		}
		turns := turnsOf(q.body)
		prefill := ""
		if n := len(turns); n > 0 && turns[n-1].role == "assistant" {
			if q.thinks && s.family.kwarg != "" {
				q.refused = "Assistant response prefill is incompatible with enable_thinking."
				return
			}
			turns, prefill, q.separate = turns[:n-1], turns[n-1].text, false
		}
		q.prompts = []string{s.family.render(turns) + s.family.generation(q.thinks) + prefill}
	},
	parse: parse,
	shows: func(s *server, path string, body object) object {
		switch path {
		case "/props":
			return object{"chat_template": s.family.jinja(), "model_path": s.family.model}
		case "/tokenize": // of a text in content
			return object{"tokens": []any{}}
		case "/apply-template":
			q := &ask{body: body, thinks: s.family.thinks || s.family.kwarg == ""}
			s.kind.understand(s, &apis[0], q)
			if len(q.prompts) > 0 {
				return object{"prompt": q.prompts[0]}
			}
		}
		return nil
	},
}

// ollama is Ollama 0.17.4: docs/api.md, GenerateHandler and ChatHandler of
// server/routes.go, and thinking/parser.go. A model whose template has thoughts thinks
// unless the request says otherwise.
var ollama = kind{
	name: "ollama", apis: []string{"ollama.chat", "ollama.generate", "chat", "completions", "responses", "messages"},
	understand: func(s *server, a *api, q *ask) {
		set, isSet := q.body["think"].(bool)
		switch effort := q.body["reasoning_effort"]; {
		case strings.HasPrefix(a.name, "ollama.") && isSet:
			q.thinks = set
		case a.name == "chat" && effort == "none":
			q.thinks = false
		default:
			q.thinks = true
		}
		q.separate = s.parser && q.thinks && s.family.open != ""
		if a.name == "ollama.generate" || a.name == "completions" {
			ollamaGenerate(s, q)
			return
		}
		turns := turnsOf(q.body)
		prompt := s.family.render(turns)
		if n := len(turns); n > 0 && turns[n-1].role == "assistant" {
			last := turns[n-1]
			prompt = s.family.render(turns[:n-1]) + s.family.header
			if last.thought != "" && s.family.open != "" { // model/renderers: it stays open without a text
				prompt += s.family.open + "\n" + last.thought
				if last.text != "" {
					prompt += "\n" + s.family.close + "\n\n"
				}
			}
			prompt += last.text
		} else {
			prompt += s.family.generation(q.thinks)
		}
		q.prompts = []string{prompt}
	},
	parse: func(f family, prompt string, _ *ask, text string) (thought, content string) {
		if !strings.HasSuffix(strings.TrimSpace(prompt), f.open) {
			rest, opened := strings.CutPrefix(strings.TrimLeft(text, " \n"), f.open)
			if !opened {
				return "", text // thinkingState_ThinkingDone
			}
			text = rest
		}
		thought, content, _ = strings.Cut(text, f.close)
		return strings.TrimLeft(thought, " \n"), strings.TrimLeft(content, " \n")
	},
	shows: func(s *server, path string, _ object) object {
		if path != "/api/show" {
			return nil
		}
		capabilities := []string{"completion"}
		if s.parser && s.family.open != "" {
			capabilities = append(capabilities, "thinking")
		}
		return object{"template": s.family.goTemplate(), "capabilities": capabilities}
	},
}

// ollamaGenerate is the prompt of /api/generate.
func ollamaGenerate(s *server, q *ask) {
	text, ok := q.body["prompt"].(string)
	if !ok {
		q.refused = "json: cannot unmarshal into Go struct field CompletionRequest.prompt of type string"
		return
	}
	system, _ := q.body["system"].(string)
	own, _ := q.body["template"].(string)
	context, _ := q.body["context"].([]any)
	if q.body["raw"] == true {
		if own != "" || system != "" || len(context) > 0 {
			q.refused = "raw mode does not support template, system, or context"
		}
		q.prompts = []string{text}
		return
	}
	turns := []turn{{role: "user", text: text}}
	prompt := s.family.render(turns) + s.family.generation(q.thinks)
	if own != "" {
		var err error
		if prompt, err = execute(own, turns, system, q.thinks); err != nil {
			q.refused = err.Error()
		}
	}
	q.prompts = []string{s.family.decode(context) + prompt}
}

// proxy is a proxy such as LiteLLM, which offers the APIs of hosted providers for a
// server without a reasoning parser: docs/generateContent.md, docs/bedrock_converse.md,
// docs/pass_through/cohere.md.
var proxy = kind{
	name: "proxy", apis: []string{"gemini", "cohere", "bedrock"},
	understand: func(s *server, _ *api, q *ask) {
		q.separate = false
		q.prompts = []string{s.family.render(turnsOf(q.body)) + s.family.generation(q.thinks)}
	},
	parse: parse,
}

// kwargs reads the switch of a template.
func kwargs(f family, q *ask) {
	all, _ := q.body["chat_template_kwargs"].(object)
	if on, ok := all[f.kwarg].(bool); ok && f.kwarg != "" {
		q.thinks = on
	}
}

// continued returns the message that the reply continues.
func continued(body object, turns []turn) (turn, bool) {
	if n := len(turns); body["continue_final_message"] == true && n > 0 && turns[n-1].role == "assistant" {
		return turns[n-1], true
	}
	return turn{}, false
}

// parse separates at the close, as the parsers of vLLM, SGLang and llama.cpp do. Where
// the thought was switched off, all is content.
func parse(f family, prompt string, q *ask, text string) (thought, content string) {
	if f.open == "" || !q.thinks {
		return "", text
	}
	rest, opened := strings.CutPrefix(text, f.open)
	thought, content, closed := strings.Cut(rest, f.close)
	if !closed && !opened && f.on == "" {
		return "", text
	}
	return strings.TrimPrefix(thought, "\n"), strings.TrimLeft(content, "\n")
}
