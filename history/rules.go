package history

import (
	"slices"

	"github.com/sotto-llm/sotto/internal/base/modelname"
)

// A Need is what happens to the reasoning of earlier turns under [Auto].
type Need string

const (
	// NeedNone is for models that want no reasoning of earlier turns.
	NeedNone Need = "strip"
	// NeedCalls is for models that must get the reasoning of every turn that calls
	// tools, as long as the turn is sent. The reasoning of other turns is removed.
	NeedCalls Need = "echo"
	// NeedAll is for models that do better with all of it.
	NeedAll Need = "keep"
	// NeedSealed is for providers that sign or encrypt reasoning, and refuse
	// reasoning that they have not made.
	NeedSealed Need = "sealed"
	// NeedUnknown is for models about which nothing is known: what the client
	// sends stays.
	NeedUnknown Need = "preserve"
)

// A Rule is a row of the table: what a family of models needs back.
type Rule struct {
	Name string
	// Models are patterns of model names, as in a dialect: lower case, without a
	// registry path, * for any run of bytes. APIs are names of codecs; if empty,
	// any.
	Models []string
	APIs   []string
	Need   Need
	// Demands reports that the provider refuses a turn with tool calls if its
	// reasoning is missing. The reasoning is put back, and no policy removes it.
	Demands bool
	// Signs reports that the provider signs calls, and refuses a call of the current
	// turn that comes back without its signature.
	Signs bool
	// Binds reports that a signature binds what precedes it: the provider refuses a signed
	// thought if the system prompt, a tool, an earlier message or a thought between has changed
	// since it was made. See [planner.bind].
	Binds bool
	// Field is the member that the provider's own API uses for reasoning, if the
	// upstream has not shown one.
	Field string
	// Why says what is lost without the rule, Source where that was read.
	Why, Source string
}

const unknownRule = "preserve"

// table has the families. If several patterns fit a name, the one with the most
// bytes besides its stars wins, so the order means nothing.
var table = []Rule{
	{
		Name:    "deepseek-echo",
		Models:  []string{"*deepseek*v3.2*", "*deepseek*v3p2*", "*deepseek*v3-2*", "*deepseek*v4*", "deepseek-reasoner", "deepseek-chat", "deepseek-flash*", "deepseek-pro*"},
		Need:    NeedCalls,
		Demands: true,
		Field:   "reasoning_content",
		Why:     "a turn between two user messages that calls tools must keep its reasoning_content in all later requests, else error 400; other turns' is ignored",
		Source:  "api-docs.deepseek.com/guides/thinking_mode",
	},
	{
		Name:   "deepseek-strip",
		Models: []string{"*deepseek*r1*", "r1-1776*", "*r1-distill*", "mai-ds-r1*", "*deepseek*v3*"},
		Need:   NeedNone,
		Why:    "the templates drop it, and the API of that time refused it; kept, it fills the context and quality drops",
		Source: "aider issue 3008, lmstudio-js issue 269",
	},
	{
		Name:   "qwen3-strip",
		Models: []string{"*qwen3*", "*qwq*"},
		Need:   NeedNone,
		Why:    "the templates drop what precedes the user's last message; kept, it fills the context and quality drops",
		Source: "Hugging Face blog, The 4 Things Qwen-3's Chat Template Teaches Us; lmstudio-js issue 269",
	},
	{
		Name:   "qwen3.6-keep",
		Models: []string{"*qwen3.6*", "*qwen3p6*", "*qwen3_6*", "*qwen3.7*", "*qwen3p7*", "*qwen3.8*", "*qwen3p8*"},
		Need:   NeedAll,
		Why:    "the template decides (preserve_thinking); if a client removes it, the cached prefix changes",
		Source: "Qwen3.8 issues 112 and 131, omlx issue 3525",
	},
	{
		Name:    "kimi-keep",
		Models:  []string{"*kimi*k2*", "*kimi*k3*", "kimi-for-coding*"},
		Need:    NeedAll,
		Demands: true,
		Field:   "reasoning_content",
		Why:     "error 400 if a message with tool calls has no reasoning_content while thinking is on; thinking.keep is all",
		Source:  "new-api issue 3121, opencode issue 16318, minpeter.v2 issue 78 (secondary)",
	},
	{
		Name:   "minimax-keep",
		Models: []string{"*minimax*m2*", "*minimax*m3*"},
		Need:   NeedAll,
		Why:    "answers get worse without its <think> in the content, or its reasoning_details",
		Source: "vellum-assistant issue 34556, novita.ai docs",
	},
	{
		Name:   "glm-keep",
		Models: []string{"*glm-4.7*", "*glm4.7*", "*glm-4p7*", "*glm-4-7*", "*glm-5*", "*glm5*"},
		Need:   NeedAll,
		Field:  "reasoning_content",
		Why:    "preserved thinking (clear_thinking: false) needs it complete and unmodified; else quality and cache hits drop",
		Source: "docs.z.ai/guides/capabilities/thinking-mode",
	},
	{
		Name:   "glm-strip",
		Models: []string{"*glm-4.5*", "*glm4.5*", "*glm-4p5*", "*glm-4-5*", "*glm-4.6*", "*glm4.6*", "*glm-4p6*", "*glm-4-6*"},
		Need:   NeedNone,
		Why:    "the template makes every block before the user's last message empty",
		Source: "GLM-4.5 chat template",
	},
	{
		Name:   "mimo-keep",
		Models: []string{"*mimo-*"},
		Need:   NeedAll,
		Field:  "reasoning_content",
		Why:    "all of it must be kept across tool calls; else the model loops",
		Source: "MiMo-V2-Flash README (secondary)",
	},
	{
		Name:   "gemma4-strip",
		Models: []string{"*gemma-4*", "*gemma4*"},
		Need:   NeedNone,
		Why:    "earlier output must hold only the final response, except within the calls of one turn",
		Source: "ai.google.dev/gemma/docs/core/prompt-formatting-gemma4",
	},
	{
		Name:   "harmony-keep",
		Models: []string{"*gpt-oss*", "*gptoss*", "*gpt_oss*", "*llm-jp-4*"},
		Need:   NeedAll,
		Why:    "the template drops what is no longer used, and needs the rest between calls",
		Source: "OpenAI harmony response format (secondary)",
	},
	{
		Name:   "magistral-strip",
		Models: []string{"*magistral*"},
		Need:   NeedNone,
		Why:    "as for most local templates: kept, it fills the context",
		Source: "lmstudio-js issue 269 (secondary)",
	},
	{
		Name:   "nemotron-strip",
		Models: []string{"*nemotron*"},
		Need:   NeedNone,
		Why:    "the template drops it (truncate_history_thinking is true unless set)",
		Source: "NVIDIA Nemotron 3 chat template (secondary)",
	},
	{
		Name:   "lfm2-strip",
		Models: []string{"*lfm2*", "*lfm-2*"},
		Need:   NeedNone,
		Why:    "the template drops it (keep_past_thinking is false unless set)",
		Source: "LFM2.5 Thinking chat template (read once)",
	},
	{
		Name:   "claude-sealed",
		Models: []string{"*claude*"},
		Need:   NeedSealed,
		Binds:  true,
		Why:    "error 400 if thinking or redacted_thinking of the tool loop is missing or changed, if a signature is not the provider's, or if what precedes a signed thought has changed since",
		Source: "platform.claude.com/docs, thinking in tool workflows; preserved thinking, prefix checks",
	},
	{
		Name:   "gemini-sealed",
		Models: []string{"*gemini*"},
		Need:   NeedSealed,
		Signs:  true,
		Why:    "error 400 if a functionCall has no thought_signature",
		Source: "ai.google.dev/gemini-api/docs/thought-signatures",
	},
	{
		Name:   "gemini-unsigned",
		Models: []string{"*gemini-1*", "*gemini-2.0*"},
		Need:   NeedUnknown,
		Why:    "these models do not think, and sign nothing",
		Source: "ai.google.dev/gemini-api/docs/thought-signatures",
	},
	{
		Name:   "openai-sealed",
		Models: []string{"gpt-5*", "o1*", "o3*", "o4*", "codex*"},
		Need:   NeedSealed,
		Why:    "encrypted items are sent back; those of others are refused",
		Source: "llmtrim issue 207",
	},
	{
		Name:   "grok-sealed",
		Models: []string{"*grok*"},
		Need:   NeedSealed,
		Why:    "encrypted items are sent back, else the cache misses; those of others are refused",
		Source: "llmtrim issue 207",
	},
}

// preserveRule is for models without a row.
var preserveRule = Rule{
	Name:   unknownRule,
	Need:   NeedUnknown,
	Why:    "nothing is known about this family, so what the client sends is not changed",
	Source: "design, section 7",
}

// Rules returns the table; the rule for unknown families comes last.
func Rules() []Rule {
	list := append(slices.Clone(table), preserveRule)
	for i := range list {
		list[i].Models, list[i].APIs = slices.Clone(list[i].Models), slices.Clone(list[i].APIs)
	}
	return list
}

// RuleFor returns the rule for a model, by its name as a provider or registry
// spells it, and for an API, by its codec's name. A name without a row gets the
// rule with the Need [NeedUnknown].
func RuleFor(model, api string) Rule {
	best, most := preserveRule, 0
	model = modelname.Normal(model)
	for i := range table {
		r := &table[i]
		if len(r.APIs) > 0 && !slices.Contains(r.APIs, api) {
			continue
		}
		if n := modelname.MatchNormal(r.Models, model); n > most {
			best, most = *r, n
		}
	}
	return best
}
