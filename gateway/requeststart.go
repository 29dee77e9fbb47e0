package gateway

import (
	"errors"
	"net/http"
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/internal/jsonedit"
	"github.com/sotto-llm/sotto/wire"
)

// A requestEvidence is what a request shows about where its reply begins.
type requestEvidence struct {
	start sotto.Start // "" if it does not show it
	// sure says that the server is known to read the request so, and likely that most do:
	// others put a prompt into the model's template, or begin a new turn after a text that
	// begins the reply.
	sure, likely bool
	// unusual says that the request changes how its prompt is made, so what the family, the
	// upstream and earlier replies show does not hold for it.
	unusual bool
	echoes  bool // the reply begins with the prompt
	cuts    bool // it can end a thought before the close
	off     bool // it turns thinking off, in words that some servers honour
	resumed bool // the reply goes on with a text of the client's
}

// settles reports whether a start can be believed. That the block is open is believed in any
// case; that it is not, where reasoning is hidden, only if it is sure.
func (s requestEvidence) settles(hides bool) bool {
	return s.start != "" && (s.start != sotto.StartOutside || s.sure || s.likely && !hides && !s.unusual)
}

// teaches reports whether the reply says anything about replies to other requests.
func (s requestEvidence) teaches() bool { return !s.unusual && !s.cuts && !s.resumed }

// An effect says what a member of a request does to the beginning of the reply.
type effect uint8

const (
	changesPrompt effect = 1 + iota // it changes how the prompt is made, or what the server does to a thought
	bringsPrompt                    // … and it is the prompt, or a part of it
	cutsReply                       // it can end a reply, or keep the model from closing a thought
)

// A startMember is a member of requests that matters for where a reply begins.
type startMember struct {
	path   string
	effect effect
	// usual are the values that change nothing, besides null, false, 0 and empty ones.
	usual  []string
	source string
}

// startMembers are all of them. A member that no row has changes nothing, as a temperature
// does: servers have hundreds of members, and this list is of those that render a prompt,
// parse a thought or stop a reply. A value that a row does not name counts as a change, on
// every server, since it is not known which one answers.
var startMembers = []startMember{
	{"separate_reasoning", changesPrompt, []string{"true"}, "SGLang: false leaves thoughts in the text"},
	{"reasoning_format", changesPrompt, []string{"auto", "deepseek", "deepseek-legacy", "parsed", "hidden"}, "llama.cpp: none leaves thoughts in the text without their opener; Groq: raw"},
	{"reasoning_in_content", changesPrompt, nil, "llama.cpp: thoughts in the text of a stream"},
	{"thinking_forced_open", changesPrompt, nil, "llama.cpp: the prompt opens the block"},
	{"chat_template", changesPrompt, nil, "vLLM, SGLang: another template"},
	{"template", changesPrompt, nil, "Ollama, generate: another template"},
	{"context", bringsPrompt, nil, "Ollama, generate: tokens before the prompt"},
	{"suffix", changesPrompt, nil, "completions: a text is filled in, without the template of a chat"},
	{"echo", changesPrompt, nil, "completions: the reply begins with the prompt"},
	{"prompt_embeds", bringsPrompt, nil, "vLLM: a prompt that is not a text"},
	{"input_ids", bringsPrompt, nil, "SGLang: a prompt of tokens"},
	{"input_embeds", bringsPrompt, nil, "SGLang: a prompt that is not a text"},
	{"add_generation_prompt", changesPrompt, []string{"true"}, "vLLM: the turn of the assistant is not begun"},
	{"continue_final_message", changesPrompt, nil, "vLLM, SGLang: the last message is resumed"},
	{"nvext.use_raw_prompt", changesPrompt, nil, "NVIDIA NIM: no template"},
	{"use_raw_prompt", changesPrompt, nil, "NVIDIA NIM: no template"},
	{"custom_chat_template", changesPrompt, nil, "LiteLLM, Hugging Face: another template"},
	{"stop", cutsReply, nil, "chat completions, completions, llama.cpp, Ollama"},
	{"options.stop", cutsReply, nil, "Ollama"},
	{"stop_sequences", cutsReply, nil, "Messages, Cohere, TGI"},
	{"parameters.stop", cutsReply, nil, "TGI"},
	{"generationConfig.stopSequences", cutsReply, nil, "Gemini"},
	{"generation_config.stop_sequences", cutsReply, nil, "Gemini, snake case"},
	{"inferenceConfig.stopSequences", cutsReply, nil, "Bedrock"},
	{"additionalModelRequestFields.stop_sequences", cutsReply, nil, "Bedrock"},
	{"stop_token_ids", cutsReply, nil, "vLLM, SGLang"},
	{"stop_regex", cutsReply, nil, "SGLang"},
	{"include_stop_str_in_output", cutsReply, nil, "vLLM"},
	{"logit_bias", cutsReply, nil, "OpenAI, vLLM, llama.cpp: can forbid the close"},
	{"logits_processors", cutsReply, nil, "vLLM: can forbid the close"},
	{"custom_logit_processor", cutsReply, nil, "SGLang: can forbid the close"},
	{"bad_words", cutsReply, nil, "vLLM: can forbid the close"},
	{"allowed_token_ids", cutsReply, nil, "vLLM: can forbid the close"},
	{"grammar", cutsReply, nil, "llama.cpp: can forbid the close"},
	{"guided_regex", cutsReply, nil, "vLLM: can forbid the close"},
	{"guided_grammar", cutsReply, nil, "vLLM: can forbid the close"},
	{"guided_choice", cutsReply, nil, "vLLM: can forbid the close"},
	{"structured_outputs", cutsReply, nil, "vLLM: can forbid the close"},
	{"regex", cutsReply, nil, "SGLang: can forbid the close"},
	{"ebnf", cutsReply, nil, "SGLang: can forbid the close"},
}

// knownKwargs are the variables of templates that every model's switch of thinking covers.
var knownKwargs = []string{"enable_thinking", "thinking", "reasoning_effort", "thinking_budget"}

// maxNested bounds how deep members stand in members that clients or proxies merge.
const maxNested = 3

// nestedMembers hold members of the request itself.
var nestedMembers = []string{"extra_body", "extra_args", "nvext", "sampling_params", "parameters"}

// evidenceOf returns what the request of an exchange shows.
func evidenceOf(x *exchange) requestEvidence {
	var s requestEvidence
	root := jsonedit.Parse(x.body)
	s.members(root, maxNested)
	s.off = turnsOff(x.request.Switch)
	s.prompt(x, root.Get("prompt"))
	if list := x.request.Messages; len(list) > 0 && list[len(list)-1].Role == "assistant" && !list[len(list)-1].Calls {
		s.begun(x, list[len(list)-1])
	}
	return s
}

// turnsOff reports whether a switch turns thinking off. A part that only hides thoughts
// does not.
func turnsOff(word string) bool {
	for part := range strings.SplitSeq(word, ",") {
		path, value, _ := strings.Cut(part, "=")
		hides := slices.Contains([]string{"include_reasoning", "reasoning_split", "reasoning.exclude", "generationConfig.thinkingConfig.includeThoughts"}, path)
		if !hides && slices.Contains([]string{"false", "off", "no", "none", "disabled", "0"}, value) {
			return true
		}
	}
	return false
}

// errEcho refuses a reply that begins with the prompt: the prompt's markers would pass for
// those of the reply.
var errEcho = &requestError{http.StatusBadRequest, errors.New("echo gives the prompt as the beginning of the reply, so nothing shows what in it is a thought: where reasoning is hidden, leave it out")}

// members notes the members of an object.
func (s *requestEvidence) members(object gjson.Result, depth int) {
	for _, m := range startMembers {
		if v := object.Get(m.path); v.Exists() && !isUsual(v, m.usual) {
			s.unusual = s.unusual || m.effect != cutsReply
			s.resumed = s.resumed || m.effect == bringsPrompt
			s.echoes = s.echoes || m.path == "echo"
			s.cuts = s.cuts || m.effect == cutsReply
		}
	}
	object.Get("chat_template_kwargs").ForEach(func(key, _ gjson.Result) bool {
		s.unusual = s.unusual || !slices.Contains(knownKwargs, key.Str)
		return !s.unusual
	})
	for _, name := range nestedMembers {
		if inner := object.Get(name); inner.IsObject() && depth > 0 {
			s.members(inner, depth-1)
		}
	}
}

// isUsual reports whether a value changes nothing.
func isUsual(v gjson.Result, usual []string) bool {
	switch {
	case v.Type == gjson.Null, v.Type == gjson.False && !slices.Contains(usual, "true"), v.Type == gjson.String && v.Str == "", v.Type == gjson.Number && v.Num == 0:
		return true
	case v.IsArray():
		return len(v.Array()) == 0
	case v.IsObject():
		return len(v.Map()) == 0
	}
	return slices.Contains(usual, strings.ToLower(v.String()))
}

// prompt notes what a rendered prompt shows. A list of prompts has as many beginnings, and
// tokens show none.
func (s *requestEvidence) prompt(x *exchange, prompt gjson.Result) {
	s.resumed = s.resumed || x.request.Prompt != ""
	if prompt.IsArray() && len(prompt.Array()) > 0 && (len(prompt.Array()) > 1 || prompt.Get("0").Type != gjson.String) {
		s.unusual, s.resumed = true, true
		return
	}
	if x.request.Prompt == "" {
		return
	}
	s.start, _ = x.family.grammar.StartOf(x.request.Prompt)
	s.likely = true
	s.sure = x.codec.Capabilities().RawPrompts
}

// begun notes what a last message of the assistant shows. A server either goes on with it
// or begins another turn.
func (s *requestEvidence) begun(x *exchange, last wire.Message) {
	if strings.TrimSpace(strings.Join(last.Texts, "")) == "" && len(last.Thoughts) == 0 {
		return
	}
	s.resumed = true
	if len(last.Thoughts) > 0 {
		s.unusual = true // it may go on with the thought
		return
	}
	s.start, _ = x.family.grammar.StartOf("<|assistant|>" + x.request.Prefill)
	s.sure = x.codec.Capabilities().Resumes || jsonedit.Parse(x.body).Get("continue_final_message").Bool()
}
