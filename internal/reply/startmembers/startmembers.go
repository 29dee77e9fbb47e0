// Package startmembers lists the members of requests that matter for where a reply begins.
package startmembers

// An Effect says what a member of a request does to the beginning of the reply.
type Effect uint8

const (
	ChangesPrompt Effect = 1 + iota // it changes how the prompt is made, or what the server does to a thought
	BringsPrompt                    // … and it is the prompt, or a part of it
	CutsReply                       // it can end a reply, or keep the model from closing a thought
	// MayRender: a server may render the prompt of a request with it in another way. What it
	// does to the reply is known otherwise: by the switch of thinking, or from the prompt.
	MayRender
)

// A Member is a member of requests that matters for where a reply begins.
type Member struct {
	Path   string
	Effect Effect
	// Usual are the values that change nothing, besides null, false, 0 and empty ones.
	Usual  []string
	Source string
}

// All are all members. One that no row has changes nothing, as a temperature does: servers
// have hundreds of members, and this list is of those that render a prompt, parse a thought
// or stop a reply. A value that a row does not name counts as a change, on every server,
// since it is not known which one answers.
var All = []Member{
	{"separate_reasoning", ChangesPrompt, []string{"true"}, "SGLang: false leaves thoughts in the text"},
	{"reasoning_format", ChangesPrompt, []string{"auto", "deepseek", "deepseek-legacy", "parsed", "hidden"}, "llama.cpp: none leaves thoughts in the text without their opener; Groq: raw"},
	{"reasoning_in_content", ChangesPrompt, nil, "llama.cpp: thoughts in the text of a stream"},
	{"thinking_forced_open", ChangesPrompt, nil, "llama.cpp: the prompt opens the block"},
	{"chat_template", ChangesPrompt, nil, "vLLM, SGLang: another template"},
	{"template", ChangesPrompt, nil, "Ollama, generate: another template"},
	{"context", BringsPrompt, nil, "Ollama, generate: tokens before the prompt"},
	{"suffix", ChangesPrompt, nil, "completions: a text is filled in, without the template of a chat"},
	{"echo", ChangesPrompt, nil, "completions: the reply begins with the prompt"},
	{"prompt_embeds", BringsPrompt, nil, "vLLM: a prompt that is not a text"},
	{"input_ids", BringsPrompt, nil, "SGLang: a prompt of tokens"},
	{"input_embeds", BringsPrompt, nil, "SGLang: a prompt that is not a text"},
	{"add_generation_prompt", ChangesPrompt, []string{"true"}, "vLLM: the turn of the assistant is not begun"},
	{"continue_final_message", ChangesPrompt, nil, "vLLM, SGLang: the last message is resumed"},
	{"nvext.use_raw_prompt", ChangesPrompt, nil, "NVIDIA NIM: no template"},
	{"use_raw_prompt", ChangesPrompt, nil, "NVIDIA NIM: no template"},
	{"custom_chat_template", ChangesPrompt, nil, "LiteLLM, Hugging Face: another template"},
	{"stop", CutsReply, nil, "chat completions, completions, llama.cpp, Ollama"},
	{"options.stop", CutsReply, nil, "Ollama"},
	{"stop_sequences", CutsReply, nil, "Messages, Cohere, TGI"},
	{"parameters.stop", CutsReply, nil, "TGI"},
	{"generationConfig.stopSequences", CutsReply, nil, "Gemini"},
	{"generation_config.stop_sequences", CutsReply, nil, "Gemini, snake case"},
	{"inferenceConfig.stopSequences", CutsReply, nil, "Bedrock"},
	{"additionalModelRequestFields.stop_sequences", CutsReply, nil, "Bedrock"},
	{"stop_token_ids", CutsReply, nil, "vLLM, SGLang"},
	{"stop_regex", CutsReply, nil, "SGLang"},
	{"include_stop_str_in_output", CutsReply, nil, "vLLM"},
	{"logit_bias", CutsReply, nil, "OpenAI, vLLM, llama.cpp: can forbid the close"},
	{"logits_processors", CutsReply, nil, "vLLM: can forbid the close"},
	{"custom_logit_processor", CutsReply, nil, "SGLang: can forbid the close"},
	{"bad_words", CutsReply, nil, "vLLM: can forbid the close"},
	{"allowed_token_ids", CutsReply, nil, "vLLM: can forbid the close"},
	{"grammar", CutsReply, nil, "llama.cpp: can forbid the close"},
	{"guided_regex", CutsReply, nil, "vLLM: can forbid the close"},
	{"guided_grammar", CutsReply, nil, "vLLM: can forbid the close"},
	{"guided_choice", CutsReply, nil, "vLLM: can forbid the close"},
	{"structured_outputs", CutsReply, nil, "vLLM: can forbid the close"},
	{"regex", CutsReply, nil, "SGLang: can forbid the close"},
	{"ebnf", CutsReply, nil, "SGLang: can forbid the close"},
	{"thinking", MayRender, nil, "Messages, DeepSeek, GLM, Kimi: the switch"},
	{"thinking_budget", MayRender, nil, "Qwen: the switch"},
	{"reasoning", MayRender, nil, "Responses, OpenRouter: the switch"},
	{"reasoning_split", MayRender, nil, "MiniMax: whether thoughts are in the text"},
	{"include_reasoning", MayRender, nil, "vLLM, OpenRouter: whether thoughts are given"},
	{"stream_reasoning", MayRender, nil, "SGLang: whether thoughts are given piece by piece"},
	{"output_config", MayRender, nil, "Messages: the effort"},
	{"generationConfig", MayRender, nil, "Gemini: the switch"},
	{"additionalModelRequestFields", MayRender, nil, "Bedrock: the switch"},
	{"raw", MayRender, nil, "Ollama, generate: no template"},
	{"options", MayRender, nil, "Ollama: its member think is the switch"},
	{"prompt", MayRender, nil, "completions, Ollama: the prompt"},
	{"prompt_token_ids", MayRender, nil, "vLLM: the prompt"},
	{"response_prefix", MayRender, nil, "Cohere: the beginning of the reply"},
	{"documents", MayRender, nil, "vLLM, Cohere: a part of the prompt"},
	{"mm_processor_kwargs", MayRender, nil, "vLLM"},
	{"parallel_reasoning", MayRender, nil, "templates with several thoughts"},
	{"task", MayRender, nil, "templates of several tasks"},
	{"bot_task", MayRender, nil, "Hunyuan: the switch"},
	{"custom_params", MayRender, nil, "SGLang"},
	{"builtin_tools", MayRender, nil, "Harmony: tools of the server"},
}
